//! What a program said of one config, read from its results file, and how two of them differ.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

/// How far scores may lie apart: graders compute in different orders.
const TOLERANCE: f64 = 1e-6;

/// What is compared of a row, by its name in results files.
const FIELDS: [&str; 4] = ["success", "score", "failureReason", "output"];

/// Kept and compared besides, for reading only: it decides nothing about a row.
const NOTED: &str = "namedScores";

/// Test and column, each from 0.
type Place = (u64, u64);

/// What a program said of a config.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// It did not load it.
    Refused,
    /// Rows by place, each with the compared fields; `output` is missing where there was none.
    Rows(BTreeMap<Place, Map<String, Value>>),
}

/// One thing that two programs say of a config.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The row; none: the whole config.
    pub at: Option<Place>,
    /// What differs: `refused`, `row` (whether there is one), or a field of the row.
    pub field: &'static str,
    /// What promptfoo says.
    pub there: Value,
    /// What the program says.
    pub here: Value,
}

impl Said {
    /// Reads a results file in promptfoo's version 3 shape. `url` is the address of the server
    /// that the run had; it changes from run to run and is left out of outputs.
    pub fn of_results(document: &Value, url: &str) -> Self {
        let rows = document["results"]["results"].as_array();
        let rows = rows.into_iter().flatten();
        Self::Rows(rows.map(|row| of_row(row, url)).collect())
    }

    /// The lines that keep this, of the config with this name.
    pub fn to_lines(&self, config: &str) -> Vec<Value> {
        match self {
            Self::Refused => vec![json!({ "config": config, "refused": true })],
            Self::Rows(rows) if rows.is_empty() => vec![json!({ "config": config, "rows": 0 })],
            Self::Rows(rows) => {
                let line = |(place, row): (&Place, &Map<String, Value>)| {
                    let mut line = json!({ "config": config, "test": place.0, "prompt": place.1 });
                    for (field, value) in row {
                        line[field] = value.clone();
                    }
                    line
                };
                rows.iter().map(line).collect()
            }
        }
    }

    /// Adds what a line keeps.
    pub(super) fn add_line(&mut self, line: &Value) {
        match self {
            _ if line["refused"] == true => *self = Self::Refused,
            Self::Refused => {}
            Self::Rows(_) if line["rows"] == 0 => {}
            Self::Rows(rows) => {
                let fields = FIELDS.iter().chain([&NOTED]);
                let row = fields.filter_map(|field| Some((field, line.get(*field)?)));
                let row = row.map(|(field, value)| ((*field).to_owned(), value.clone()));
                rows.insert(place(line, "test", "prompt"), row.collect());
            }
        }
    }

    /// Named scores that differ, a line each for reading.
    pub fn notes(&self, here: &Self) -> Vec<String> {
        let (Self::Rows(there), Self::Rows(here)) = (self, here) else {
            return Vec::new();
        };
        let both = there
            .iter()
            .filter_map(|(at, row)| Some((at, row.get(NOTED), here.get(at)?.get(NOTED))));
        let differ = both.filter(|(_, there, here)| match (there, here) {
            (Some(there), Some(here)) => !same(there, here),
            // Verdicts that were stored without them say nothing.
            (there, _) => there.is_some(),
        });
        let shown = |value: Option<&Value>| value.map_or("none".to_owned(), ToString::to_string);
        differ
            .map(|((test, prompt), there, here)| {
                let (there, here) = (shown(there), shown(here));
                format!("test {test}, column {prompt}: {NOTED}: promptfoo {there}, runner {here}")
            })
            .collect()
    }

    /// What `here` says otherwise than this, which is promptfoo's.
    pub fn differences(&self, here: &Self) -> Vec<Difference> {
        let (there, here) = match (self, here) {
            (Self::Rows(there), Self::Rows(here)) => (there, here),
            (Self::Refused, Self::Refused) => return Vec::new(),
            (there, here) => {
                let refused = |said: &Self| json!(*said == Self::Refused);
                return vec![Difference {
                    at: None,
                    field: "refused",
                    there: refused(there),
                    here: refused(here),
                }];
            }
        };
        let mut differences = Vec::new();
        let both: std::collections::BTreeSet<&Place> = there.keys().chain(here.keys()).collect();
        for at in both {
            match (there.get(at), here.get(at)) {
                (Some(there), Some(here)) => of_rows(*at, there, here, &mut differences),
                (there, here) => differences.push(Difference {
                    at: Some(*at),
                    field: "row",
                    there: json!(there.is_some()),
                    here: json!(here.is_some()),
                }),
            }
        }
        differences
    }
}

impl Difference {
    /// The line that lists it, of the config with this name; its `why` is to be written.
    pub fn to_line(&self, config: &str) -> Value {
        let mut line = json!({ "config": config });
        if let Some((test, prompt)) = self.at {
            line["test"] = json!(test);
            line["prompt"] = json!(prompt);
        }
        line["field"] = json!(self.field);
        line["there"] = self.there.clone();
        line["here"] = self.here.clone();
        line["why"] = json!("");
        line
    }

    /// Does this line list it?
    pub fn is_listed_in(&self, line: &Value) -> bool {
        let at = (line.get("test").is_some()).then(|| place(line, "test", "prompt"));
        at == self.at
            && line["field"] == self.field
            && same(&line["there"], &self.there)
            && same(&line["here"], &self.here)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((test, prompt)) = self.at {
            write!(f, "test {test}, column {prompt}: ")?;
        }
        write!(
            f,
            "{}: promptfoo {}, runner {}",
            self.field, self.there, self.here
        )
    }
}

fn of_rows(
    at: Place,
    there: &Map<String, Value>,
    here: &Map<String, Value>,
    differences: &mut Vec<Difference>,
) {
    for field in FIELDS {
        let value = |row: &Map<String, Value>| row.get(field).cloned().unwrap_or(Value::Null);
        let (there_says, here_says) = (value(there), value(here));
        // promptfoo's error rows lose the answer; the program keeps it, always.
        let lost = field == "output" && there_says.is_null() && there["failureReason"] == 2;
        if !lost && !same(&there_says, &here_says) {
            differences.push(Difference {
                at: Some(at),
                field,
                there: there_says,
                here: here_says,
            });
        }
    }
}

/// Equal, numbers nearly.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let in_b = |(key, value)| b.get(key).is_some_and(|other| same(value, other));
            a.len() == b.len() && a.iter().all(in_b)
        }
        (Value::Number(a), Value::Number(b)) => {
            let apart = a.as_f64().zip(b.as_f64()).map(|(a, b)| (a - b).abs());
            a == b || apart.is_some_and(|apart| apart <= TOLERANCE)
        }
        _ => a == b,
    }
}

fn place(row: &Value, test: &str, prompt: &str) -> Place {
    let number = |key: &str| row[key].as_u64().expect("rows have a place");
    (number(test), number(prompt))
}

fn of_row(row: &Value, url: &str) -> (Place, Map<String, Value>) {
    let mut kept = Map::new();
    for field in ["success", "score", "failureReason"] {
        kept.insert(field.to_owned(), row[field].clone());
    }
    let output = &row["response"]["output"];
    if !output.is_null() {
        kept.insert("output".to_owned(), without(output, url));
    }
    let scores = &row[NOTED];
    if scores.as_object().is_some_and(|scores| !scores.is_empty()) {
        kept.insert(NOTED.to_owned(), scores.clone());
    }
    (place(row, "testIdx", "promptIdx"), kept)
}

/// The value with another word for the address.
fn without(value: &Value, url: &str) -> Value {
    match value {
        Value::String(text) => Value::from(text.replace(url, "http://server")),
        Value::Array(list) => list.iter().map(|item| without(item, url)).collect(),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| (key.clone(), without(value, url));
            Value::Object(map.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rows: &Value) -> Said {
        Said::of_results(
            &json!({ "results": { "results": rows } }),
            "http://127.0.0.1:1",
        )
    }

    fn row(test: u64, score: f64, output: &str) -> Value {
        json!({ "testIdx": test, "promptIdx": 0, "success": true, "score": score,
            "failureReason": 0, "response": { "output": output }, "latencyMs": 5 })
    }

    #[test]
    fn rows_are_matched_by_place_and_scores_nearly() {
        let there = said(&json!([
            row(1, 0.5, "b http://127.0.0.1:1/x"),
            row(0, 1.0, "a")
        ]));
        let here = said(&json!([
            row(0, 1.0, "a"),
            row(1, 0.500_000_4, "b http://server/x")
        ]));
        assert!(there.differences(&here).is_empty());
        let other = said(&json!([row(0, 1.0, "A"), row(2, 0.5, "b")]));
        let differences = there.differences(&other);
        let told: Vec<String> = differences.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "test 0, column 0: output: promptfoo \"a\", runner \"A\"",
                "test 1, column 0: row: promptfoo true, runner false",
                "test 2, column 0: row: promptfoo false, runner true",
            ]
        );
        let line = differences[0].to_line("g/n");
        assert!(differences[0].is_listed_in(&line) && !differences[1].is_listed_in(&line));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let rows = said(&json!([row(0, 1.0, "a"), row(1, 0.25, "b")]));
        for written in [rows, said(&json!([])), Said::Refused] {
            let mut read = Said::Rows(BTreeMap::new());
            for line in written.to_lines("g/n") {
                read.add_line(&line);
            }
            assert_eq!(read, written);
        }
    }

    #[test]
    fn an_answer_that_promptfoo_loses_is_no_difference_and_a_refusal_is_one() {
        let mut lost = row(0, 0.0, "");
        lost["failureReason"] = json!(2);
        let mut kept = lost.clone();
        lost["response"] = Value::Null;
        kept["response"]["output"] = json!("kept");
        let (lost, kept) = (said(&json!([lost])), said(&json!([kept])));
        assert!(lost.differences(&kept).is_empty());
        assert_eq!(kept.differences(&lost).len(), 1);
        assert_eq!(Said::Refused.differences(&kept)[0].field, "refused");
    }
}
