//! Keywords for objects. `dependencies` is draft-07's `dependentRequired` and
//! `dependentSchemas` in one.

use runner_plugin::json::{Map, Value};

use super::{At, Failure, Seen, Spot, Walk, counted, quoted};

impl Walk<'_> {
    pub(super) fn object<'v>(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        value: &'v Value,
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        let Some(entries) = value.as_object() else {
            return Ok(());
        };
        counted(
            keywords,
            ("minProperties", "maxProperties"),
            spot,
            entries.len(),
            "keys",
        )?;
        required(keywords.get("required"), spot, entries)?;
        for (key, entry) in entries {
            if self.entry(keywords, spot, key, entry)? && self.schema.tracks {
                seen.keys.insert(key);
            }
            if let Some(schema) = keywords.get("propertyNames") {
                let name = Value::from(key.as_str());
                if let Err(why) = self.tried(schema, spot, &name)? {
                    return spot.broken(format!("the key {} is not allowed: {why}", quoted(&name)));
                }
            }
        }
        self.dependent(keywords, spot, value, seen)
    }

    /// Checks one entry by its key; whether any keyword looked at it.
    fn entry(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        key: &str,
        entry: &Value,
    ) -> Result<bool, Failure> {
        let at = At::Key(spot.at, key);
        let mut looked = false;
        if let Some(schema) = keywords.get("properties").and_then(|map| map.get(key)) {
            self.check(schema, spot.within(&at), entry)?;
            looked = true;
        }
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        for (pattern, schema) in patterns.into_iter().flatten() {
            if self.matches(pattern, key) {
                self.check(schema, spot.within(&at), entry)?;
                looked = true;
            }
        }
        match keywords.get("additionalProperties") {
            Some(Value::Bool(false)) if !looked => spot.broken(format!(
                "the key {} is not allowed",
                quoted(&Value::from(key))
            )),
            Some(schema) if !looked => {
                self.check(schema, spot.within(&at), entry)?;
                Ok(true)
            }
            _ => Ok(looked),
        }
    }

    fn dependent<'v>(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        value: &'v Value,
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        let Some(entries) = value.as_object() else {
            return Ok(());
        };
        for keyword in ["dependencies", "dependentRequired", "dependentSchemas"] {
            let map = keywords.get(keyword).and_then(Value::as_object);
            for (key, needed) in map.into_iter().flatten() {
                if !entries.contains_key(key) {
                    continue;
                }
                if needed.is_array() {
                    required(Some(needed), spot, entries)?;
                } else {
                    seen.add(self.check(needed, spot, value)?);
                }
            }
        }
        Ok(())
    }
}

fn required(
    keys: Option<&Value>,
    spot: Spot<'_>,
    entries: &Map<String, Value>,
) -> Result<(), Failure> {
    for key in keys.and_then(Value::as_array).into_iter().flatten() {
        if !key.as_str().is_some_and(|key| entries.contains_key(key)) {
            return spot.broken(format!("the key {key} is missing"));
        }
    }
    Ok(())
}
