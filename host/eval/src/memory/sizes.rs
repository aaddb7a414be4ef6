//! What things take in memory, about: by their parts, and by how often a case holds them.

use runner_config::plan::Test;
use serde_json::{Map, Value};

/// What is not worth counting: any number of cases of this size may be in flight.
const FREE: u64 = 64 << 10;

/// How often the text of a prompt is in memory while its case is in flight. On our side as text, as
/// the message that is made of it, as a body on its way and in the row; in a component as what it
/// was given, as JSON and as a body, in a memory that grows by doubling.
const COPIES_OF_PROMPT: u64 = 16;

/// How often the variables of a case are in memory: in the case, twice in the JSON of its row, which
/// grows by doubling, and as JSON for graders and code.
const COPIES_OF_VARS: u64 = 8;

/// How often what a test brings is in memory: in the grades, twice in the JSON of its row, masked,
/// and as JSON for graders and code. The test itself is there once, whatever its cases.
const COPIES_OF_TEST: u64 = 6;

/// How often the value of an assertion is in memory that was filled in: as it was made, as JSON on both
/// sides of the boundary, in the grade and twice in the JSON of its row.
const COPIES_OF_FILLED: u64 = 6;

/// How often an answer is in memory: as it came, as text, in the row and in its JSON.
const COPIES_OF_ANSWER: u64 = 4;

/// How often the JSON of an answer is in memory that waits: as text of its row, masked and compared.
const COPIES_OF_WAITING: u64 = 3;

/// How often what a grader says is in memory: as it came, in its grade, in the row and in its JSON, and its
/// scores in sums.
const COPIES_OF_GRADE: u64 = 5;

/// Bytes that a case of this test, with these variables and this prompt, will probably take; 0 if it
/// is small.
pub(crate) fn of_case(test: &Test, vars: &Map<String, Value>, prompt: &str) -> u64 {
    let saved = test.output.as_ref().map_or(0, of_value);
    counted(
        COPIES_OF_TEST * (of_value(&test.json) + saved)
            + COPIES_OF_VARS * of_fields(vars)
            + COPIES_OF_PROMPT * prompt.len() as u64,
    )
}

/// Bytes that a case will probably take for variables of this size; 0 if it is little.
pub(crate) fn of_vars(bytes: u64) -> u64 {
    counted(COPIES_OF_VARS * bytes)
}

/// Bytes that a case will probably take for what it is given of earlier ones; 0 if it is small.
pub(crate) fn of_given<'a>(values: impl Iterator<Item = &'a Value>) -> u64 {
    of_vars(values.map(of_value).sum())
}

/// Bytes that values with names take, about.
pub(crate) fn of_fields(fields: &Map<String, Value>) -> u64 {
    const FIELD: u64 = 64;
    let field = |(name, value)| FIELD + String::len(name) as u64 + of_value(value);
    fields.iter().map(field).sum()
}

/// What an object takes beside its fields: a table of its own, with room for more.
const OBJECT: u64 = 512;

pub(crate) fn of_value(value: &Value) -> u64 {
    let more = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(fields) if fields.is_empty() => 0,
        Value::Object(fields) => OBJECT + of_fields(fields),
    };
    size_of::<Value>() as u64 + more
}

/// Bytes that an answer with this text takes until its row is written; 0 if it is small.
pub(crate) fn of_answer(text: &str) -> u64 {
    counted(COPIES_OF_ANSWER * text.len() as u64)
}

/// Bytes that the value of an assertion takes that was filled in, until its row is written; 0 if it is small.
pub(crate) fn of_filled(value: &Value) -> u64 {
    counted(COPIES_OF_FILLED * of_value(value))
}

/// Bytes that values of an answer take, beside their text, until its row is written; 0 if they are small.
pub(crate) fn of_values<'a>(values: impl IntoIterator<Item = &'a Value>) -> u64 {
    counted(values.into_iter().map(of_value).sum())
}

/// Bytes that an answer with this much JSON and these values takes while it waits to be compared.
pub(crate) fn of_waiting<'a>(json: usize, values: impl IntoIterator<Item = &'a Value>) -> u64 {
    COPIES_OF_WAITING * json as u64 + of_values(values)
}

/// Bytes that what a grader said takes until the row is written; 0 if it is small.
pub(crate) fn of_grade(bytes: usize) -> u64 {
    counted(COPIES_OF_GRADE * bytes as u64)
}

pub(super) fn counted(bytes: u64) -> u64 {
    if bytes > FREE { bytes } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_more_than_its_digit() {
        let case = crate::fixture::case("prompts: [p]\nproviders: [echo]");
        assert_eq!(of_case(&case.test, &Map::new(), ""), 0);
        let numbers = Map::from_iter([("a".to_owned(), Value::from(vec![0; 1 << 20]))]);
        assert!(of_case(&case.test, &numbers, "") >= COPIES_OF_VARS * (32 << 20));
    }

    #[test]
    fn what_a_test_brings_counts_for_each_of_its_cases() {
        let values = "{'': 0}, ".repeat(1000);
        for key in [
            "metadata: {a: [",
            "providerOutput: {a: [",
            "vars: {v: 1}, assert: [{type: equals, value: [",
        ] {
            let close = if key.ends_with("value: [") {
                "]}]"
            } else {
                "]}"
            };
            let test = format!("tests: [{{{key}{values}{close}}}]");
            let case = crate::fixture::case(&format!("prompts: [p]\nproviders: [echo]\n{test}"));
            let taken = of_case(&case.test, &Map::new(), "");
            assert!(taken > COPIES_OF_TEST * 512 * 1000, "{key}: {taken}");
        }
    }
}
