//! Keywords for lists. A list of schemas under `items` is draft-07's `prefixItems`, with
//! `additionalItems` for the rest.

use runner_plugin::json::{Map, Value, same};

use super::{At, Failure, Seen, Spot, Walk, count, counted, schemas};

impl Walk<'_> {
    pub(super) fn array<'v>(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        items: &'v [Value],
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        counted(
            keywords,
            ("minItems", "maxItems"),
            spot,
            items.len(),
            "items",
        )?;
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            for (index, item) in items.iter().enumerate() {
                if let Some(first) = items[..index].iter().position(|other| same(other, item)) {
                    return spot.broken(format!("items {first} and {index} are equal"));
                }
            }
        }
        let (first, rest) = match keywords.get("items") {
            Some(Value::Array(first)) => (&first[..], keywords.get("additionalItems")),
            rest => (schemas(keywords, "prefixItems"), rest),
        };
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or(rest) {
                let at = At::Item(spot.at, index);
                self.check(schema, spot.within(&at), item)?;
                if self.schema.tracks {
                    seen.items.insert(index);
                }
            }
        }
        self.contains(keywords, spot, items, seen)
    }

    fn contains<'v>(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        items: &'v [Value],
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        let Some(schema) = keywords.get("contains") else {
            return Ok(());
        };
        let mut found = 0;
        for (index, item) in items.iter().enumerate() {
            let at = At::Item(spot.at, index);
            if self.tried(schema, spot.within(&at), item)?.is_ok() {
                found += 1;
                if self.schema.tracks {
                    seen.items.insert(index);
                }
            }
        }
        let min = count(keywords, "minContains").unwrap_or(1);
        let max = count(keywords, "maxContains").unwrap_or(u64::MAX);
        if found < min {
            return spot.broken(format!(
                "has {found} items like `contains` instead of at least {min}"
            ));
        }
        if found > max {
            return spot.broken(format!(
                "has {found} items like `contains` instead of at most {max}"
            ));
        }
        Ok(())
    }

    /// Checks what no other keyword has looked at.
    pub(super) fn unevaluated<'v>(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        value: &'v Value,
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        if let (Some(schema), Value::Array(items)) = (keywords.get("unevaluatedItems"), value) {
            for (index, item) in items.iter().enumerate() {
                if seen.items.insert(index) {
                    let at = At::Item(spot.at, index);
                    self.check(schema, spot.within(&at), item)?;
                }
            }
        }
        if let (Some(schema), Value::Object(entries)) =
            (keywords.get("unevaluatedProperties"), value)
        {
            for (key, entry) in entries {
                if seen.keys.insert(key) {
                    let at = At::Key(spot.at, key);
                    self.check(schema, spot.within(&at), entry)?;
                }
            }
        }
        Ok(())
    }
}
