//! How much work a schema may make: of itself, and of a value.
//!
//! A schema of a few kilobytes can refer to itself in a way that doubles at each step. So the
//! schema is walked together with the value before the library does it, every branch taken and
//! every reference followed, and the steps are counted. That is an upper bound of what the
//! library visits, since it skips what a walk that never decides cannot skip; the walk itself
//! ends where the count does.

use serde_json::{Map, Value};

use crate::limits::{
    MAX_PATTERN_BYTES, MAX_SCHEMA_PATTERNS, MAX_SCHEMA_REFS, MAX_SCHEMA_STEPS, MAX_SCHEMA_VALUES,
};

/// Schemas inside each other on the way to one value, references followed. The library recurses.
const MAX_DEPTH: u32 = 256;

/// Steps up to which errors are collected: each may be one, and takes some hundred bytes.
const COLLECTED_STEPS: u64 = 100_000;

/// Bytes of keys, paths or constants that count as one step.
const BYTES_PER_STEP: usize = 64;

/// What a value makes of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Every error can be collected.
    Little,
    /// It can be decided.
    Much,
    /// Not even that.
    TooMuch,
}

/// How many patterns a schema has that may be compiled; else what it is.
pub(super) fn admit(schema: &Value) -> Result<usize, String> {
    let mut parts = SchemaParts::default();
    parts.count(schema)?;
    // Below the root it would change what references mean.
    if parts.ids > usize::from(schema.get("$id").is_some_and(Value::is_string)) {
        return Err("has an `$id` below its root".to_owned());
    }
    match work(schema, &Value::Null) {
        Work::Little => Ok(parts.patterns),
        Work::Much | Work::TooMuch => Err(
            "takes too many steps: its references multiply, or lead back without end".to_owned(),
        ),
    }
}

/// What `value` makes of `schema`.
pub(super) fn work(schema: &Value, value: &Value) -> Work {
    let mut walk = Walk {
        root: schema,
        left: MAX_SCHEMA_STEPS,
    };
    let at = WalkPlace {
        depth: 0,
        path_bytes: 0,
    };
    match walk.schema(schema, value, at) {
        None => Work::TooMuch,
        Some(()) if MAX_SCHEMA_STEPS - walk.left <= COLLECTED_STEPS => Work::Little,
        Some(()) => Work::Much,
    }
}

/// What a schema is made of.
#[derive(Default)]
struct SchemaParts {
    values: usize,
    refs: usize,
    patterns: usize,
    ids: usize,
}

impl SchemaParts {
    fn count(&mut self, value: &Value) -> Result<(), String> {
        self.values += 1;
        within(self.values, MAX_SCHEMA_VALUES, "values")?;
        match value {
            Value::Array(list) => list.iter().try_for_each(|one| self.count(one)),
            Value::Object(map) => map
                .iter()
                .try_for_each(|(word, rule)| self.word(word, rule).and_then(|()| self.count(rule))),
            _ => Ok(()),
        }
    }

    /// Looks at a keyword wherever it stands, also where it is a mere example: nobody needs these there.
    fn word(&mut self, word: &str, rule: &Value) -> Result<(), String> {
        match (word, rule) {
            ("$ref", Value::String(target)) => {
                self.refs += 1;
                within(self.refs, MAX_SCHEMA_REFS, "references")?;
                let local = target == "#" || target.starts_with("#/");
                if !local || target.contains('%') {
                    return Err("has a `$ref` that is not of the form `#/…`".to_owned());
                }
                Ok(())
            }
            ("$dynamicRef" | "$recursiveRef" | "$dynamicAnchor" | "$anchor", Value::String(_)) => {
                Err(format!("uses `{word}`, which this runner does not follow"))
            }
            ("$id", Value::String(_)) => {
                self.ids += 1;
                Ok(())
            }
            ("pattern", Value::String(pattern)) => self.pattern(pattern),
            ("patternProperties", Value::Object(map)) => {
                map.keys().try_for_each(|pattern| self.pattern(pattern))
            }
            _ => Ok(()),
        }
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), String> {
        self.patterns += 1;
        within(self.patterns, MAX_SCHEMA_PATTERNS, "patterns")?;
        within(pattern.len(), MAX_PATTERN_BYTES, "bytes in a pattern")
    }
}

fn within(count: usize, limit: usize, what: &str) -> Result<(), String> {
    if count <= limit {
        return Ok(());
    }
    Err(format!("has more than {limit} {what}"))
}

/// Where the walk is.
#[derive(Clone, Copy)]
struct WalkPlace {
    depth: u32,
    /// Bytes of the keys on the way to the value: an error repeats them.
    path_bytes: usize,
}

impl WalkPlace {
    fn deeper(self, key_bytes: usize) -> Self {
        Self {
            depth: self.depth + 1,
            path_bytes: self.path_bytes + key_bytes,
        }
    }
}

/// Counts steps; `None` when there are none left.
struct Walk<'s> {
    root: &'s Value,
    left: u64,
}

type Afforded = Option<()>;

impl<'s> Walk<'s> {
    fn spend(&mut self, steps: usize) -> Afforded {
        self.left = self.left.checked_sub(steps as u64)?;
        Some(())
    }

    fn schema(&mut self, schema: &'s Value, value: &Value, at: WalkPlace) -> Afforded {
        if at.depth > MAX_DEPTH {
            return None;
        }
        self.spend(1 + at.path_bytes / BYTES_PER_STEP)?;
        let Value::Object(words) = schema else {
            return Some(());
        };
        // What other words have looked at is found out by looking once more.
        let looks_back = words.keys().any(|word| word.starts_with("unevaluated"));
        for _ in 0..=u8::from(looks_back) {
            for (word, rule) in words {
                self.spend(1 + at.path_bytes / BYTES_PER_STEP)?;
                self.word(word, rule, value, at)?;
            }
        }
        Some(())
    }

    fn word(&mut self, word: &str, rule: &'s Value, value: &Value, at: WalkPlace) -> Afforded {
        let here = at.deeper(0);
        match (word, rule) {
            ("$ref", Value::String(target)) => {
                let target = self.root.pointer(target.strip_prefix('#')?);
                target.map_or(Some(()), |target| self.schema(target, value, here))
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                all.iter().try_for_each(|one| self.schema(one, value, here))
            }
            ("not" | "if" | "then" | "else", one) => self.schema(one, value, here),
            ("dependentSchemas" | "dependencies", Value::Object(all)) => all
                .values()
                .try_for_each(|one| self.schema(one, value, here)),
            ("pattern" | "format", _) => self.spend(value.as_str().map_or(0, str::len)),
            ("enum" | "const" | "required" | "dependentRequired" | "type", _) => {
                self.spend(size(rule))
            }
            ("uniqueItems", _) => self.spend(size(value)),
            _ => match value {
                Value::Object(map) => self.members(word, rule, map, at),
                Value::Array(list) => self.items(word, rule, list, at),
                _ => Some(()),
            },
        }
    }

    fn members(
        &mut self,
        word: &str,
        rule: &'s Value,
        map: &Map<String, Value>,
        at: WalkPlace,
    ) -> Afforded {
        match (word, rule) {
            ("properties", Value::Object(rules)) => {
                self.spend(rules.len())?;
                rules.iter().try_for_each(|(key, rule)| {
                    let Some(member) = map.get(key) else {
                        return Some(());
                    };
                    self.schema(rule, member, at.deeper(key.len()))
                })
            }
            ("patternProperties", Value::Object(rules)) => {
                map.iter().try_for_each(|(key, member)| {
                    self.spend(rules.len() * key.len())?;
                    let there = at.deeper(key.len());
                    rules
                        .values()
                        .try_for_each(|rule| self.schema(rule, member, there))
                })
            }
            ("additionalProperties" | "unevaluatedProperties", _) => {
                map.iter().try_for_each(|(key, member)| {
                    self.spend(key.len() / BYTES_PER_STEP)?;
                    self.schema(rule, member, at.deeper(key.len()))
                })
            }
            ("propertyNames", _) => map.keys().try_for_each(|key| {
                let name = Value::from(key.as_str());
                self.schema(rule, &name, at.deeper(0))
            }),
            _ => Some(()),
        }
    }

    fn items(&mut self, word: &str, rule: &'s Value, list: &[Value], at: WalkPlace) -> Afforded {
        let there = at.deeper(1);
        match (word, rule) {
            ("prefixItems" | "items", Value::Array(rules)) => rules
                .iter()
                .zip(list)
                .try_for_each(|(rule, item)| self.schema(rule, item, there)),
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", _) => list
                .iter()
                .try_for_each(|item| self.schema(rule, item, there)),
            _ => Some(()),
        }
    }
}

/// A constant in steps: comparing or repeating it takes that much.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / BYTES_PER_STEP,
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(map) => {
            let member = |(key, value): (&String, &Value)| key.len() / BYTES_PER_STEP + size(value);
            1 + map.iter().map(member).sum::<usize>()
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
