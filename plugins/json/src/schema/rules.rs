//! The walk over a schema together with a value: keyword by keyword, up to the first that the
//! value breaks.
//!
//! Keywords that apply to one kind of value are in the files below; here are those that apply
//! to all and those that combine schemas. Each answer says which keys and items were looked
//! at, for the sake of `unevaluatedProperties` and `unevaluatedItems`; a schema without those
//! keeps no such lists.

mod arrays;
mod objects;
mod scalars;

use std::collections::BTreeSet;

use runner_plugin::json::{Map, Value, same};

use super::{Failure, Schema, formats};

/// How many schemas may apply to one place in a value by way of each other. A value is finite,
/// so a schema without end is one that goes on without moving into the value.
const STEPS: u16 = 128;

/// How many may be at work at once in all: what fits the stack of a guest, several times over.
const DEPTH: u16 = 1_500;

/// The longest value that a reason quotes.
const QUOTED_CHARACTERS: usize = 60;

pub(super) fn check(schema: &Schema<'_>, value: &Value) -> Result<(), Failure> {
    let spot = Spot {
        base: "",
        steps: 0,
        depth: 0,
        at: &At::Root,
    };
    Walk { schema }.check(schema.root, spot, value).map(|_| ())
}

/// Where in the value a schema is applied.
enum At<'a> {
    Root,
    Key(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl At<'_> {
    fn pointer(&self) -> String {
        match self {
            At::Root => String::new(),
            At::Key(above, key) => {
                format!(
                    "{}/{}",
                    above.pointer(),
                    key.replace('~', "~0").replace('/', "~1")
                )
            }
            At::Item(above, index) => format!("{}/{index}", above.pointer()),
        }
    }
}

/// A step of the walk: whose schema, how deep here and in all, where in the value.
#[derive(Clone, Copy)]
struct Spot<'a> {
    base: &'a str,
    steps: u16,
    depth: u16,
    at: &'a At<'a>,
}

impl<'a> Spot<'a> {
    /// A part of this schema, further into the value.
    fn within<'b>(self, at: &'b At<'b>) -> Spot<'b>
    where
        'a: 'b,
    {
        Spot {
            base: self.base,
            steps: 0,
            depth: self.depth,
            at,
        }
    }

    /// The value breaks a rule.
    fn broken<T>(self, why: impl AsRef<str>) -> Result<T, Failure> {
        let why = why.as_ref();
        Err(Failure::Value(match self.at.pointer() {
            root if root.is_empty() => why.to_owned(),
            pointer => format!("{pointer}: {why}"),
        }))
    }
}

/// What a schema has looked at in an object or a list.
#[derive(Debug, Default)]
struct Seen<'v> {
    keys: BTreeSet<&'v str>,
    items: BTreeSet<usize>,
}

impl Seen<'_> {
    fn add(&mut self, mut other: Self) {
        self.keys.append(&mut other.keys);
        self.items.append(&mut other.items);
    }
}

type Checked<'v> = Result<Seen<'v>, Failure>;

struct Walk<'w> {
    schema: &'w Schema<'w>,
}

impl Walk<'_> {
    fn check<'v>(&self, schema: &Value, spot: Spot<'_>, value: &'v Value) -> Checked<'v> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => return spot.broken("is not allowed here"),
            _ => return Ok(Seen::default()),
        };
        if spot.steps >= STEPS {
            let problem = "it refers to itself without end";
            return Err(Failure::Schema(problem.to_owned()));
        }
        if spot.depth >= DEPTH {
            let problem = "it goes too deep for this value";
            return Err(Failure::Schema(problem.to_owned()));
        }
        let name = self.schema.names.get(&std::ptr::from_ref(schema));
        let spot = Spot {
            base: name.map_or(spot.base, String::as_str),
            steps: spot.steps + 1,
            depth: spot.depth + 1,
            at: spot.at,
        };
        general(keywords, spot, value)?;
        let mut seen = self.references(keywords, spot, value)?;
        match value {
            Value::Number(_) => scalars::number(keywords, spot, value)?,
            Value::String(text) => self.text(keywords, spot, text)?,
            Value::Array(items) => self.array(keywords, spot, items, &mut seen)?,
            Value::Object(_) => self.object(keywords, spot, value, &mut seen)?,
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(keywords, spot, value, &mut seen)?;
        if self.schema.tracks {
            self.unevaluated(keywords, spot, value, &mut seen)?;
        }
        Ok(seen)
    }

    fn references<'v>(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        value: &'v Value,
    ) -> Checked<'v> {
        let mut seen = Seen::default();
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = keywords.get(keyword).and_then(Value::as_str) else {
                continue;
            };
            let Some((target, base)) = self.schema.resolve(spot.base, reference) else {
                let problem = format!("`{reference}` is not in the schema");
                return Err(Failure::Schema(problem));
            };
            let spot = Spot {
                base: &base,
                ..spot
            };
            seen.add(self.check(target, spot, value)?);
        }
        Ok(seen)
    }

    /// Checks whether a value conforms, where not conforming is no failure of the whole.
    fn tried<'v>(
        &self,
        schema: &Value,
        spot: Spot<'_>,
        value: &'v Value,
    ) -> Result<Result<Seen<'v>, String>, Failure> {
        match self.check(schema, spot, value) {
            Ok(seen) => Ok(Ok(seen)),
            Err(Failure::Value(why)) => Ok(Err(why)),
            Err(failure) => Err(failure),
        }
    }

    fn combined<'v>(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        value: &'v Value,
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        for schema in schemas(keywords, "allOf") {
            seen.add(self.check(schema, spot, value)?);
        }
        if keywords.contains_key("anyOf") {
            self.any_of(schemas(keywords, "anyOf"), spot, value, seen)?;
        }
        if keywords.contains_key("oneOf") {
            self.one_of(schemas(keywords, "oneOf"), spot, value, seen)?;
        }
        if let Some(schema) = keywords.get("not")
            && self.tried(schema, spot, value)?.is_ok()
        {
            return spot.broken("conforms to the schema that `not` excludes");
        }
        if let Some(condition) = keywords.get("if") {
            let tried = self.tried(condition, spot, value)?;
            let branch = if tried.is_ok() { "then" } else { "else" };
            seen.add(tried.unwrap_or_default());
            if let Some(schema) = keywords.get(branch) {
                seen.add(self.check(schema, spot, value)?);
            }
        }
        Ok(())
    }

    /// Checks that any holds: one is enough, but all that hold have looked at something.
    fn any_of<'v>(
        &self,
        schemas: &[Value],
        spot: Spot<'_>,
        value: &'v Value,
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        let mut holds = false;
        let mut reasons = Vec::new();
        for schema in schemas {
            match self.tried(schema, spot, value)? {
                Ok(more) => {
                    holds = true;
                    seen.add(more);
                    if !self.schema.tracks {
                        break;
                    }
                }
                Err(why) => reasons.push(why),
            }
        }
        if holds {
            return Ok(());
        }
        spot.broken(format!(
            "conforms to none of `anyOf` ({})",
            reasons.join("; ")
        ))
    }

    fn one_of<'v>(
        &self,
        schemas: &[Value],
        spot: Spot<'_>,
        value: &'v Value,
        seen: &mut Seen<'v>,
    ) -> Result<(), Failure> {
        let mut held = 0;
        let mut reasons = Vec::new();
        for schema in schemas {
            match self.tried(schema, spot, value)? {
                Ok(more) => {
                    held += 1;
                    seen.add(more);
                }
                Err(why) => reasons.push(why),
            }
        }
        match held {
            1 => Ok(()),
            0 => spot.broken(format!(
                "conforms to none of `oneOf` ({})",
                reasons.join("; ")
            )),
            _ => spot.broken(format!("conforms to {held} of `oneOf` instead of one")),
        }
    }
}

/// Checks the keywords that apply to any value.
fn general(keywords: &Map<String, Value>, spot: Spot<'_>, value: &Value) -> Result<(), Failure> {
    if let Some(types) = keywords.get("type") {
        let nullable = keywords.get("nullable") == Some(&Value::Bool(true));
        let fits = match types {
            Value::Array(names) => names.iter().any(|name| is_a(value, name)),
            name => is_a(value, name),
        };
        if !(fits || nullable && value.is_null()) {
            return spot.broken(format!(
                "expected {}, found {}",
                named(types),
                quoted(value)
            ));
        }
    }
    if let Some(Value::Array(allowed)) = keywords.get("enum")
        && !allowed.iter().any(|allowed| same(allowed, value))
    {
        return spot.broken(format!(
            "{} is none of {}",
            quoted(value),
            quoted(&keywords["enum"])
        ));
    }
    if let Some(constant) = keywords.get("const")
        && !same(constant, value)
    {
        return spot.broken(format!("{} is not {}", quoted(value), quoted(constant)));
    }
    if let Some(Value::String(format)) = keywords.get("format")
        && !formats::fits(format, value)
    {
        return spot.broken(format!("{} is no `{format}`", quoted(value)));
    }
    Ok(())
}

fn is_a(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

fn named(types: &Value) -> String {
    match types {
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        name => name.as_str().unwrap_or_default().to_owned(),
    }
}

fn schemas<'k>(keywords: &'k Map<String, Value>, keyword: &str) -> &'k [Value] {
    keywords
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A value as compact JSON, cut where it is long.
fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED_CHARACTERS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A limit that is a count.
fn count(keywords: &Map<String, Value>, keyword: &str) -> Option<u64> {
    let limit = keywords.get(keyword)?;
    limit
        .as_u64()
        .or_else(|| limit.as_f64().map(|limit| limit as u64))
}

/// Checks how many there are of something.
fn counted(
    keywords: &Map<String, Value>,
    (min, max): (&str, &str),
    spot: Spot<'_>,
    found: usize,
    what: &str,
) -> Result<(), Failure> {
    let found = found as u64;
    if let Some(limit) = count(keywords, min)
        && found < limit
    {
        return spot.broken(format!("has {found} {what} instead of at least {limit}"));
    }
    if let Some(limit) = count(keywords, max)
        && found > limit
    {
        return spot.broken(format!("has {found} {what} instead of at most {limit}"));
    }
    Ok(())
}
