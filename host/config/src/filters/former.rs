//! `--filter-failing`, `--filter-failing-only`, `--filter-errors-only`: what a former run has.
//!
//! Cases are matched by what they test, as in promptfoo, not by number: the variables are equal,
//! and so is the description where both sides have one. So a config whose tests were reordered
//! or added to still finds its failures. Of a test that expands into many combinations of
//! variables only the ones that match are run; in promptfoo such a test matches nothing. All
//! columns are run, so that they can be compared.
//!
//! Where the cases come from (a kept run, a results file) is the caller's business.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::plan::{Tests, VarFiles};

/// A case of a former run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FormerCase {
    /// The variables it ran with.
    pub vars: Map<String, Value>,
    /// Its test's description.
    pub description: Option<String>,
}

/// The cases of a former run that are to be run again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FormerCases {
    /// The flag, for example `--filter-failing`.
    flag: String,
    /// The run's id or the file, as the user named it.
    source: String,
    /// Digests, two for each row: of the variables, and of them with the description, so that a
    /// row takes some tens of bytes whatever its texts.
    known: HashSet<[u8; 32]>,
    /// Rows that were added.
    rows: usize,
}

impl FormerCases {
    /// None yet; `flag` and `source` are for messages.
    pub fn new(flag: &str, source: &str) -> Self {
        Self {
            flag: flag.to_owned(),
            source: source.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a row of the former run.
    pub fn add(&mut self, case: &FormerCase) {
        self.rows += 1;
        let vars = digest(&case.vars);
        self.known.insert(vars);
        self.known
            .insert(described(vars, case.description.as_deref()));
    }

    /// How many rows were added.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether the former run had none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Leaves the tests, and of each test the combinations, that the former run has.
    pub(super) fn retain(&self, tests: &mut Tests, files: &VarFiles) {
        tests.retain_mut(|test| {
            let all = test.axes.combinations().unwrap_or(0);
            let has = |index: &u64| {
                let made = test.axes.combination(&test.vars, files, *index);
                self.has(&made.vars, test.description.as_deref())
            };
            let matching: Arc<[u64]> = (0..all).filter(has).collect();
            let any = !matching.is_empty();
            if (matching.len() as u64) < all {
                test.combinations = Some(matching);
            }
            any
        });
    }

    fn has(&self, vars: &Map<String, Value>, description: Option<&str>) -> bool {
        let vars = digest(vars);
        let has = |description| self.known.contains(&described(vars, description));
        match description {
            None => self.known.contains(&vars),
            known => has(None) || has(known),
        }
    }

    pub(super) fn help(&self) -> String {
        if self.is_empty() {
            return "the filter finds no case there: there is nothing to run again".to_owned();
        }
        let rows = match self.rows {
            1 => "the only row that the filter finds has variables or a description".to_owned(),
            rows => format!("the {rows} rows that the filter finds have variables or descriptions"),
        };
        format!("{rows} that no test has now: was a test, `defaultTest` or --var changed since?")
    }
}

/// As on the command line.
impl fmt::Display for FormerCases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flag, self.source)
    }
}

/// Names that a run adds to a case's variables by itself.
fn is_of_the_run(name: &str) -> bool {
    name.starts_with("__") || matches!(name, "_conversation" | "sessionId")
}

/// Equal for variables that are equal whatever the order of keys and the form of numbers.
fn digest(vars: &Map<String, Value>) -> [u8; 32] {
    let own = vars.iter().filter(|(name, _)| !is_of_the_run(name));
    let mut text = String::new();
    write_map(own, &mut text);
    Sha256::digest(text.as_bytes()).into()
}

/// The variables of this digest with a description, or with none.
fn described(vars: [u8; 32], description: Option<&str>) -> [u8; 32] {
    let tag = [u8::from(description.is_some())];
    let with = Sha256::new_with_prefix(vars).chain_update(tag);
    with.chain_update(description.unwrap_or_default())
        .finalize()
        .into()
}

fn write_map<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut String) {
    let mut fields: Vec<(&String, &Value)> = fields.collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    out.push('{');
    for (name, value) in fields {
        out.push_str(&Value::from(name.as_str()).to_string());
        out.push(':');
        write_value(value, out);
        out.push(',');
    }
    out.push('}');
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => write_map(map.iter(), out),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_value(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Number(number) => out.push_str(&plain(number)),
        other => out.push_str(&other.to_string()),
    }
}

/// `1.0` as `1`, as JavaScript writes it.
fn plain(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
            (float as i64).to_string()
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().expect("a map").clone()
    }

    #[test]
    fn variables_are_equal_whatever_the_order_and_the_form() {
        let cases = [
            (json!({"a": 1, "b": "x"}), json!({"b": "x", "a": 1.0}), true),
            (
                json!({"a": {"c": 1, "d": 2}}),
                json!({"a": {"d": 2, "c": 1}}),
                true,
            ),
            (
                json!({"a": 1}),
                json!({"a": 1, "_conversation": [], "__evalId": "e", "sessionId": "s"}),
                true,
            ),
            (json!({"a": 1}), json!({"a": "1"}), false),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]}), false),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
            (json!({"a": "b:1"}), json!({"a\":\"b": 1}), false),
            (json!({}), json!({}), true),
        ];
        for (one, other, expected) in cases {
            let equal = digest(&map(&one)) == digest(&map(&other));
            assert_eq!(equal, expected, "{one} {other}");
        }
    }

    #[test]
    fn descriptions_count_where_both_sides_have_one() {
        let cases = [
            (Some("a"), Some("a"), true),
            (Some("a"), Some("b"), false),
            (None, Some("b"), true),
            (Some("a"), None, true),
            (None, None, true),
        ];
        for (former, now, expected) in cases {
            let mut cases = FormerCases::new("--filter-failing", "run-1");
            let vars = map(&json!({"q": 1}));
            cases.add(&FormerCase {
                vars: vars.clone(),
                description: former.map(str::to_owned),
            });
            assert_eq!(cases.has(&vars, now), expected, "{former:?} {now:?}");
        }
    }

    #[test]
    fn a_row_takes_no_more_for_long_texts() {
        let case = FormerCase {
            vars: map(&json!({ "q": "x".repeat(1 << 20) })),
            description: Some("y".repeat(1 << 20)),
        };
        let mut cases = FormerCases::new("--filter-failing", "run-1");
        cases.add(&case);
        assert!(format!("{cases:?}").len() < 1 << 10);
        assert!(cases.has(&case.vars, case.description.as_deref()));
    }
}
