//! The schemas that a plugin's `describe` gives, and values held against them.
//!
//! The input is a schema and, after a `\0`, a value.

use runner_sandbox::problems_of;
use serde_json::Value;

/// Schemas.
pub(super) const WORDS: &[&str] = &[
    "{\"type\":\"object\"}",
    "\"properties\":{\"a\":",
    "\"additionalProperties\":",
    "\"patternProperties\":{\"^a\":",
    "\"items\":",
    "\"prefixItems\":[",
    "\"contains\":",
    "\"allOf\":[",
    "\"anyOf\":[",
    "\"oneOf\":[",
    "\"not\":",
    "\"if\":",
    "\"$ref\":\"#\"",
    "\"$ref\":\"#/$defs/a\"",
    "\"$defs\":{\"a\":",
    "\"$id\":\"https://a\"",
    "\"$anchor\":\"a\"",
    "\"$dynamicRef\":\"#a\"",
    "\"pattern\":\"(a+)+$\"",
    "\"format\":\"email\"",
    "\"uniqueItems\":true",
    "\"unevaluatedProperties\":false",
    "\"dependentSchemas\":{\"a\":",
    "\"enum\":[",
    "\"const\":",
    "\"multipleOf\":0.1",
    "\"maximum\":1e308",
    "{\"a\":[1,{}]}",
    "true",
    "false",
    "{}",
    "}",
    "]",
    ",",
    "\0",
];

pub(super) fn run(input: &[u8]) -> String {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let schema = String::from_utf8_lossy(part());
    let value: Value = serde_json::from_slice(part()).unwrap_or_default();
    match problems_of(&schema, &value) {
        Err(why) => why,
        Ok(problems) => {
            assert!(problems.len() <= 16, "{} problems", problems.len());
            let words: Vec<String> = problems.into_iter().map(|(_, why)| why).collect();
            assert!(words.iter().all(|why| !why.contains('\n')), "{words:?}");
            format!("a schema {}", words.concat())
        }
    }
}
