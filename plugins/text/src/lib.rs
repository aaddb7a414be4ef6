//! The assertions about the answer as text: equal to, containing, beginning with, matching,
//! as long as, as close as.
//!
//! Each type is one function in `comparisons`; this file says which there are and which values
//! they take. All are pure: the component imports no function. Regular expressions are those
//! of ECMAScript, since configs are written for it; a pattern that backtracks for ever is
//! stopped by the host's limit on time, not here.

mod comparisons;
mod fields;
mod scalar;

use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input};

/// The grader.
pub struct Text;

impl Assertion for Text {
    fn describe() -> Info {
        let info = runner_plugin::package_info!(
            "text",
            "Compares the answer as text: equals, contains, starts-with, regex and more."
        )
        .checks_values()
        .assertion("equals");
        let with_value = |info: Info, (name, schema): (&str, Value)| {
            info.assertion_type(AssertionType::new(name).value_schema(&schema))
        };
        value_schemas().into_iter().fold(info, with_value)
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        match input.type_.as_str() {
            "equals" => comparisons::equals(input),
            "contains" => comparisons::contains(input, comparisons::as_is),
            "icontains" => comparisons::contains(input, comparisons::lower_case),
            "contains-any" => comparisons::contains_any(input, comparisons::as_is),
            "icontains-any" => comparisons::contains_any(input, comparisons::lower_case),
            "contains-all" => comparisons::contains_all(input, comparisons::as_is),
            "icontains-all" => comparisons::contains_all(input, comparisons::lower_case),
            "starts-with" => comparisons::starts_with(input),
            "regex" => comparisons::regex(input),
            "word-count" => comparisons::word_count(input),
            "levenshtein" => comparisons::levenshtein(input),
            other => Err(Error::no_type("text", other)),
        }
    }

    fn check_value(type_: &str, value: &Value) -> Result<(), String> {
        match (type_, value) {
            ("regex", Value::String(pattern)) => comparisons::pattern(pattern).map(drop),
            ("contains-any" | "contains-all" | "icontains-any" | "icontains-all", value) => {
                comparisons::listed_needles(value).map(drop)
            }
            _ => Ok(()),
        }
    }
}

/// What each type takes as its value, except `equals`, which takes anything. A string is
/// accepted everywhere, because it may be a template or name a file. The title says it to
/// people.
fn value_schemas() -> Vec<(&'static str, Value)> {
    let text = json!({ "title": "a text that is not empty", "type": "string", "minLength": 1 });
    let needle = json!({
        "title": "a text that is not empty, or a number",
        "type": ["string", "number"],
        "minLength": 1
    });
    let needles = json!({
        "title": "a list of texts, or texts separated by commas",
        "type": ["array", "string"],
        "items": { "type": ["string", "number", "boolean"] }
    });
    let limit =
        json!({ "type": ["number", "string"], "minimum": 0, "pattern": "^\\s*[0-9.]+\\s*$" });
    vec![
        ("contains", needle.clone()),
        ("icontains", needle),
        ("contains-any", needles.clone()),
        ("icontains-any", needles.clone()),
        ("contains-all", needles.clone()),
        ("icontains-all", needles),
        ("starts-with", text.clone()),
        ("regex", text),
        (
            "word-count",
            json!({
                "title": "a number of words, or `min` and `max`",
                "type": ["number", "string", "object"],
                "minimum": 0,
                "properties": { "min": limit, "max": limit },
                "additionalProperties": false,
                "minProperties": 1
            }),
        ),
        (
            "levenshtein",
            json!({ "title": "a text", "type": "string" }),
        ),
    ]
}

runner_plugin::export_assertion!(Text);
