//! JSON Schema: draft-07, and 2020-12 where a schema says so or uses it.
//!
//! Written here, against the habit of taking a library. A grader runs in a fresh instance per
//! call, and the two libraries that are kept up both begin by compiling meta-schemas (0.15 to
//! 3 ms natively, more in a sandbox, for a check that takes 10 µs), and both seed hash maps from
//! the system, which would give this component an import and take its purity. What is left is
//! small: a schema is read once ([`survey`]) and walked together with the value ([`rules`]).
//! The tests compare it with one of those libraries.
//!
//! One vocabulary serves both drafts, since models and tools write `prefixItems` or
//! `dependentRequired` without saying `$schema`; where the drafts disagree (`items` with a
//! list, `$ref` with siblings) each form means what it means in the draft that knows it.
//! `format` asserts, as in promptfoo. Not served: references to other documents, and
//! `$dynamicRef` and `$recursiveRef` other than as plain references.

mod formats;
mod rules;
mod survey;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use regress::Regex;
use runner_plugin::json::Value;

pub(crate) use survey::meta_schema;

/// A schema that has been read: well-formed, all its references found.
#[derive(Debug)]
pub(crate) struct Schema<'s> {
    root: &'s Value,
    /// The absolute names of the schemas that have one, by name.
    resources: HashMap<String, &'s Value>,
    /// Their names by identity: the address of the schema.
    names: HashMap<*const Value, String>,
    /// Schemas by anchor, as `name#anchor`.
    anchors: HashMap<String, &'s Value>,
    patterns: HashMap<&'s str, Regex>,
    /// Whether any schema asks what others have looked at (`unevaluatedProperties`, …).
    tracks: bool,
}

/// Why a check did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The value does not conform: where and why.
    Value(String),
    /// The schema cannot be used after all: it refers to itself without end.
    Schema(String),
}

impl<'s> Schema<'s> {
    /// Reads a schema.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn read(root: &'s Value) -> Result<Self, String> {
        survey::survey(root)
    }

    /// Checks a value; the first thing that does not conform is reported.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) fn check(&self, value: &Value) -> Result<(), Failure> {
        rules::check(self, value)
    }

    /// Resolves what a `$ref` points to, seen from the schema called `base`; and that schema's base.
    fn resolve(&self, base: &str, reference: &str) -> Option<(&'s Value, String)> {
        let full = join(base, reference);
        let (name, fragment) = full.split_once('#').unwrap_or((&full, ""));
        let resource = *self.resources.get(name)?;
        let target = if fragment.is_empty() {
            resource
        } else if fragment.starts_with('/') {
            resource.pointer(&percent_decoded(fragment)?)?
        } else {
            *self.anchors.get(&full)?
        };
        let base = self.names.get(&std::ptr::from_ref(target));
        Some((target, base.map_or_else(|| name.to_owned(), Clone::clone)))
    }
}

/// A reference made absolute: as far as names of schemas need it, not all of RFC 3986.
fn join(base: &str, reference: &str) -> String {
    let absolute = reference
        .split_once(':')
        .is_some_and(|(scheme, _)| !scheme.is_empty() && !scheme.contains(['/', '#', '?']));
    if absolute {
        return reference.to_owned();
    }
    if reference.is_empty() || reference.starts_with('#') {
        return format!("{base}{reference}");
    }
    let host_end = base.find("://").map_or(0, |at| {
        base[at + 3..]
            .find('/')
            .map_or(base.len(), |slash| at + 3 + slash)
    });
    if reference.starts_with('/') {
        return format!("{}{reference}", &base[..host_end]);
    }
    match base.rfind('/') {
        Some(slash) if slash >= host_end => format!("{}{reference}", &base[..=slash]),
        _ if host_end > 0 => format!("{base}/{reference}"),
        _ => reference.to_owned(),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).ok()
}
