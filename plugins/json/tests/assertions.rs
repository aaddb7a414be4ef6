//! What `is-json` and `contains-json` say of which answers, as tables.

use plugin_json::Json;
use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, Error, ErrorCode, Grade, testing};

fn grade(kind: &str, value: &Value, output: &str) -> Result<Grade, Error> {
    Json::evaluate(&testing::input(kind, value, output), &testing::context())
}

/// Each row: schema, answer, whether the type holds. `not-` must say the opposite.
fn table(kind: &str, rows: &[(Value, &str, bool)]) {
    for (value, output, holds) in rows {
        for (kind, expected) in [(kind.to_owned(), *holds), (format!("not-{kind}"), !holds)] {
            let grade = grade(&kind, value, output).expect("a grade");
            assert_eq!(grade.pass, expected, "{kind} {value} of {output:?}");
            let score = if expected { 1.0 } else { 0.0 };
            assert!((grade.score - score).abs() < f64::EPSILON);
        }
    }
}

fn person() -> Value {
    json!({
        "type": "object", "required": ["name"],
        "properties": { "name": { "type": "string" }, "mail": { "format": "email" } },
    })
}

#[test]
fn is_json_reads_the_whole_answer() {
    table(
        "is-json",
        &[
            (Value::Null, "{}", true),
            (Value::Null, " [1, \"a\"] \n", true),
            (Value::Null, "5", true),
            (Value::Null, "\"text\"", true),
            (Value::Null, "text", false),
            (Value::Null, "", false),
            (Value::Null, "{} trailing", false),
            (Value::Null, "{a: 1}", false),
            (Value::Null, "```json\n{}\n```", false),
            (person(), r#"{"name": "Ann"}"#, true),
            (person(), r#"{"name": "Ann", "mail": "ann@x.org"}"#, true),
            (person(), r#"{"name": "Ann", "mail": "nowhere"}"#, false),
            (person(), r#"{"name": 1}"#, false),
            (person(), "no json", false),
            (json!(true), "1", true),
            (json!(false), "1", false),
        ],
    );
}

#[test]
fn json_that_is_too_much_is_json_and_cannot_be_checked() {
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    for output in [&deep, r#"{"a": 1e999}"#] {
        table("is-json", &[(Value::Null, output, true)]);
        let error = grade("not-is-json", &person(), output).expect_err("it can't be checked");
        assert_eq!(error.code, ErrorCode::Unsupported);
    }
    table("is-json", &[(Value::Null, &deep[1..], false)]);
    let braces = format!("{} {{\"a\": 1}}", "{".repeat(100_000));
    let open = format!("x {}", "{\"a\":".repeat(100_000));
    for output in [&braces, &open] {
        for schema in [&Value::Null, &person()] {
            let error = grade("not-contains-json", schema, output).expect_err("there may be one");
            assert_eq!(error.code, ErrorCode::Unsupported, "{schema} {output:.20}");
        }
    }
}

#[test]
fn contains_json_looks_for_objects() {
    table(
        "contains-json",
        &[
            (Value::Null, "Sure! {\"a\": 1}", true),
            (Value::Null, "{a: 1}", true),
            (Value::Null, "[1, 2]", false),
            (Value::Null, "nothing", false),
            (person(), r#"first {"a": 1}, then {"name": "Ann"}"#, true),
            (person(), r#"only {"a": 1}"#, false),
            (person(), r#"cut off {"name": "Ann""#, true),
        ],
    );
}

#[test]
fn a_schema_may_be_text() {
    let yaml = "type: object\nrequired: [name]\nproperties:\n  name:\n    type: string\n";
    for schema in [json!(person().to_string()), json!(yaml)] {
        table(
            "is-json",
            &[
                (schema.clone(), r#"{"name": "Ann"}"#, true),
                (schema.clone(), r#"{"name": 1}"#, false),
            ],
        );
    }
}

#[test]
fn a_failing_grade_says_what_was_expected() {
    for (kind, value, output, reason) in [
        (
            "is-json",
            Value::Null,
            "no",
            "Expected output to be valid JSON (expected ident at line 1 column 2)",
        ),
        (
            "not-is-json",
            Value::Null,
            "1",
            "Expected output not to be valid JSON",
        ),
        (
            "is-json",
            person(),
            r#"{"name": 1}"#,
            "Expected output to conform to the JSON Schema (/name: expected string, found 1)",
        ),
        (
            "not-is-json",
            person(),
            r#"{"name": "x"}"#,
            "Expected output not to conform to the JSON Schema",
        ),
        (
            "contains-json",
            Value::Null,
            "no",
            "Expected output to contain a JSON object",
        ),
        (
            "contains-json",
            person(),
            "no",
            "Expected output to contain a JSON object that conforms to the JSON Schema \
             (it contains none)",
        ),
        (
            "contains-json",
            person(),
            r#"{"a": 1} {"name": 2}"#,
            "Expected output to contain a JSON object that conforms to the JSON Schema \
             (the first of 2 objects: the key \"name\" is missing)",
        ),
    ] {
        let grade = grade(kind, &value, output).expect("a grade");
        assert!(!grade.pass);
        assert_eq!(grade.reason, reason);
    }
}

#[test]
fn a_schema_that_cannot_be_used_is_no_grade() {
    for kind in ["is-json", "not-is-json", "contains-json"] {
        for value in [
            json!({ "type": "text" }),
            json!({ "$ref": "https://x.test/schema.json" }),
            json!({ "$ref": "#" }),
            json!("plain text"),
            json!(3),
            json!(["type"]),
        ] {
            let error = grade(kind, &value, r#"{"a": 1}"#).expect_err("no grade");
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{value}");
            let start = format!("the JSON Schema of `{}`", kind.trim_start_matches("not-"));
            assert!(error.message.starts_with(&start), "{}", error.message);
        }
    }
}

#[test]
fn the_schema_of_the_value_finds_slips_when_the_config_is_loaded() {
    let with_schema = |name: &str| ["is-json", "contains-json"].contains(&name);
    let kinds = Json::describe().assertion_types;
    for kind in kinds.into_iter().filter(|kind| with_schema(&kind.name)) {
        let schema = kind.value_schema_json.expect("a schema");
        let schema: Value = serde_json::from_str(&schema).expect("JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        for good in [
            person(),
            json!(true),
            json!("{{ schema }}"),
            json!("file://person.json"),
        ] {
            assert!(validator.is_valid(&good), "{good}");
        }
        for bad in [
            json!({ "type": "text" }),
            json!(3),
            json!([]),
            json!({ "required": "name" }),
            json!({ "properties": { "a": { "items": [{ "type": ["null", "nil"] }] } } }),
            json!({ "dependencies": { "a": { "minLength": -1 } } }),
        ] {
            assert!(!validator.is_valid(&bad), "{bad}");
        }
    }
}
