//! Tests that code makes: `file://gen.js[:function]`, alone or as `{ path, config }`.
//!
//! The code is called once, while the plan is made, and gives a list of tests. Each of them goes
//! through the same reader as one that was written; what is wrong with it is said with the file
//! and its place in the list. What it makes is data: the code may have it from anywhere.

use serde_json::Value;

use super::super::code;
use super::{Extra, Form, Sources};
use crate::elements::reading::Reading;
use crate::model::TextOrigin;
use crate::model::{Code, Script};
use crate::read::entry::Entry;
use crate::read::files::{FileContents, has_extension, path_named, without_scheme};
use crate::read::node::{Mark, Node};

/// How deep `config` is searched for the names of files.
const MAX_DEPTH: usize = 16;

impl Sources<'_, '_> {
    /// Reads `{ path: file://gen.js, config: … }`, `{ path: file://tests.csv, trust: config }`.
    pub(super) fn configured(&mut self, entry: &Entry<'_>) {
        let findings = self.reading.findings;
        entry.report_unknown(findings, &["path", "config", "trust"]);
        let Some(path) = entry.get("path") else {
            return;
        };
        let Some(text) = path.want_text(findings) else {
            return;
        };
        let config = entry.get("config").map(|config| {
            let mut value = config.node.json();
            load_files(&mut value, 0, &config, self.reading);
            value
        });
        let trusts = entry.get("trust").is_some_and(|trust| {
            let is_known = trust.text() == Some("config");
            if !is_known {
                let help = "trust: config gives the rows the rights of the config";
                findings.error_help(trust.at(), "must be `config`", help);
            }
            // Data can't vouch for itself, nor what was vouched for for others.
            is_known && matches!(entry.origin, TextOrigin::Person | TextOrigin::Config)
        });
        self.named(&text, &path, &Extra { config, trusts });
    }

    /// Adds the tests that the code of `text` makes.
    pub(super) fn generated(&mut self, text: &str, named: &Entry<'_>, extra: &Extra) {
        let (reading, at) = (self.reading, &named.at());
        let Some(script) = code::file(text, at, named.origin, reading.without_requests()) else {
            return;
        };
        let script = code::meant(script, code::CodePurpose::Tests);
        let config = extra.config.iter();
        let arguments: Vec<(&str, Value)> =
            config.map(|config| ("config", config.clone())).collect();
        if !reading.may_run(&script, at) {
            return;
        }
        let made = match reading.scripts.run(&script, &arguments) {
            Ok(made) => made,
            Err(reason) => {
                let message = format!("'{text}' made no tests: {reason}");
                return reading.findings.error(at.clone(), message);
            }
        };
        let Some(Value::Array(tests)) = made else {
            let message = format!(
                "'{text}' must give a list of tests, not {}",
                what(made.as_ref())
            );
            return reading.findings.error(at.clone(), message);
        };
        if tests.is_empty() {
            let message = format!("'{text}' made no tests: its list is empty");
            return reading.findings.warn(at.clone(), message, None);
        }
        let file = reading.files.shown(file_of(text, &script));
        let holds = if extra.trusts {
            FileContents::Vouched
        } else {
            FileContents::Generator
        };
        let origin = reading.files.origin_of(&file, holds, named.origin);
        let origin = extra.vouched(origin);
        for (index, test) in tests.into_iter().enumerate() {
            reading.files.read.count(test.to_string().len());
            let Some(mut node) = Node::made(test, Mark::default()) else {
                let message = format!("'{text}': test {index} is nested too deep");
                reading.findings.error(at.clone(), message);
                continue;
            };
            if !origin.is_data()
                && !reading
                    .declared
                    .fill_tests(&mut node, &file, reading.findings)
            {
                continue;
            }
            let entry = Entry {
                key: format!("tests[{index}]"),
                ..Entry::root(&node, &file, &origin)
            };
            self.test(&entry, Form::Test);
        }
    }
}

/// The path in `file://path[:function]`.
fn file_of<'t>(text: &'t str, script: &Script) -> &'t str {
    let rest = without_scheme(text);
    match &script.code {
        Code::File {
            entry: Some(entry), ..
        } => rest
            .strip_suffix(entry.as_str())
            .and_then(|path| path.strip_suffix(':'))
            .unwrap_or(rest),
        _ => rest,
    }
}

/// What a value is, with its article.
fn what(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// Replaces data files in a generator's `config` by what they hold: YAML and JSON by their value,
/// anything else by its text.
fn load_files(value: &mut Value, depth: usize, named: &Entry<'_>, reading: Reading<'_>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| load_files(item, depth + 1, named, reading)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| load_files(field, depth + 1, named, reading)),
        Value::String(text) => {
            let Some(path) = path_named(text) else {
                return;
            };
            if code::is_file(text) {
                let message = format!("'{text}': the config of a generator can't name code");
                return reading.findings.error(named.at(), message);
            }
            let (at, origin) = (&named.at(), named.origin);
            let shown = reading.files.shown(path);
            let content = if has_extension(&shown, &["yaml", "yml", "json"]) {
                let tree = reading.files.tree(&shown, at, origin, reading.findings);
                tree.map(|node| node.json())
            } else {
                let text = reading
                    .files
                    .read_named(&shown, at, origin, reading.findings);
                text.map(Value::from)
            };
            *value = content.unwrap_or_default();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
