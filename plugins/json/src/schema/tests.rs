//! Each keyword against values that keep and break it, side by side with a library that does
//! the same natively.

mod whole;

use runner_plugin::json::{Value, json};

use super::{Failure, Schema};

fn check(schema: &Value, value: &Value) -> Result<(), Failure> {
    Schema::read(schema).expect("a schema").check(value)
}

/// What the library says of the value; `format` asserts.
fn library(schema: &Value, value: &Value) -> bool {
    let draft = match schema.get("$schema") {
        None => jsonschema::Draft::Draft7,
        Some(_) => jsonschema::Draft::Draft202012,
    };
    let validator = jsonschema::options()
        .with_draft(draft)
        .should_validate_formats(true)
        .build(schema)
        .expect("a schema");
    validator.is_valid(value)
}

/// Each row: schema, values that conform, values that don't. The library must agree.
fn table(rows: &[(Value, Vec<Value>, Vec<Value>)]) {
    for (schema, good, bad) in rows {
        for (values, expected) in [(good, true), (bad, false)] {
            for value in values {
                let checked = check(schema, value);
                assert_eq!(
                    checked.is_ok(),
                    expected,
                    "{schema} of {value}: {checked:?}"
                );
                assert_eq!(
                    library(schema, value),
                    expected,
                    "library: {schema} of {value}"
                );
            }
        }
    }
}

/// These schemas, declared as 2020-12.
fn newer(mut schema: Value) -> Value {
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema
}

#[test]
fn keywords_for_any_value() {
    table(&[
        (json!(true), vec![json!(1)], vec![]),
        (json!({}), vec![json!(1), json!(null)], vec![]),
        (
            json!({ "type": "integer" }),
            vec![json!(1), json!(1.0)],
            vec![json!(1.5), json!("1"), json!(true)],
        ),
        (
            json!({ "type": ["null", "string"] }),
            vec![json!(null), json!("")],
            vec![json!(0)],
        ),
        (
            json!({ "type": "object" }),
            vec![json!({})],
            vec![json!([])],
        ),
        (
            json!({ "enum": [1, "a", [null]] }),
            vec![json!(1.0), json!("a"), json!([null])],
            vec![json!("1")],
        ),
        (
            json!({ "const": { "a": 1, "b": 2 } }),
            vec![json!({ "b": 2, "a": 1.0 })],
            vec![json!({ "a": 1 })],
        ),
        (
            json!({ "unknown": 1, "default": { "type": 7 } }),
            vec![json!(1)],
            vec![],
        ),
    ]);
    assert!(check(&json!(false), &json!(1)).is_err());
    let nullable = json!({ "type": "string", "nullable": true });
    assert!(check(&nullable, &json!(null)).is_ok());
    assert!(check(&nullable, &json!(1)).is_err());
}

#[test]
fn keywords_for_numbers_and_texts() {
    table(&[
        (
            json!({ "minimum": 2 }),
            vec![json!(2), json!(2.5), json!("1")],
            vec![json!(1), json!(1.9)],
        ),
        (
            json!({ "maximum": 2 }),
            vec![json!(2), json!(-5)],
            vec![json!(2.1)],
        ),
        (
            json!({ "exclusiveMinimum": 2 }),
            vec![json!(3)],
            vec![json!(2), json!(2.0)],
        ),
        (
            json!({ "exclusiveMaximum": 2.5 }),
            vec![json!(2)],
            vec![json!(2.5), json!(3)],
        ),
        (
            json!({ "minimum": 9_007_199_254_740_993_i64 }),
            vec![json!(9_007_199_254_740_993_i64)],
            vec![json!(9_007_199_254_740_992_i64)],
        ),
        (
            json!({ "multipleOf": 3 }),
            vec![json!(9), json!(0), json!(-3)],
            vec![json!(10)],
        ),
        (
            json!({ "multipleOf": 0.1 }),
            vec![json!(0.3), json!(1)],
            vec![json!(0.35)],
        ),
        (
            json!({ "minLength": 2 }),
            vec![json!("ab"), json!("äö"), json!(1)],
            vec![json!("a"), json!("😀")],
        ),
        (
            json!({ "maxLength": 2.0 }),
            vec![json!("😀😀")],
            vec![json!("abc")],
        ),
        (
            json!({ "pattern": "^a+$" }),
            vec![json!("aa"), json!(1)],
            vec![json!("ab")],
        ),
        (
            json!({ "pattern": r"^\p{Lu}" }),
            vec![json!("Äb")],
            vec![json!("äb")],
        ),
    ]);
}

#[test]
fn keywords_for_lists() {
    let tuple = json!([{ "type": "string" }, { "type": "number" }]);
    table(&[
        (
            json!({ "items": { "type": "string" } }),
            vec![json!([]), json!(["a"]), json!({})],
            vec![json!(["a", 1])],
        ),
        (json!({ "items": false }), vec![json!([])], vec![json!([1])]),
        (
            json!({ "items": tuple }),
            vec![json!(["a"]), json!(["a", 1, null])],
            vec![json!([1])],
        ),
        (
            json!({ "items": tuple, "additionalItems": false }),
            vec![json!(["a", 1])],
            vec![json!(["a", 1, 2])],
        ),
        (
            json!({ "minItems": 1, "maxItems": 2 }),
            vec![json!([1]), json!([1, 2])],
            vec![json!([]), json!([1, 2, 3])],
        ),
        (
            json!({ "uniqueItems": true }),
            vec![json!([1, "1", [1], { "a": 1 }])],
            vec![
                json!([1, 1.0]),
                json!([{ "a": 1, "b": 2 }, { "b": 2, "a": 1 }]),
            ],
        ),
        (
            json!({ "contains": { "const": 1 } }),
            vec![json!([0, 1]), json!(0)],
            vec![json!([]), json!([0])],
        ),
    ]);
}

#[test]
fn keywords_for_lists_of_2020() {
    let tuple = json!([{ "type": "string" }, { "type": "number" }]);
    table(&[
        (
            newer(json!({ "prefixItems": tuple, "items": false })),
            vec![json!(["a", 1])],
            vec![json!(["a", 1, 2]), json!([1])],
        ),
        (
            newer(json!({ "contains": { "const": 1 }, "minContains": 2, "maxContains": 3 })),
            vec![json!([1, 1]), json!([1, 1, 1, 0])],
            vec![json!([1]), json!([1, 1, 1, 1])],
        ),
        (
            newer(json!({ "contains": { "const": 1 }, "minContains": 0 })),
            vec![json!([]), json!([2])],
            vec![],
        ),
        (
            newer(json!({ "prefixItems": tuple, "unevaluatedItems": false })),
            vec![json!(["a", 1])],
            vec![json!(["a", 1, 2])],
        ),
        (
            newer(
                json!({ "allOf": [{ "prefixItems": [true] }], "contains": { "const": 7 }, "unevaluatedItems": { "type": "null" } }),
            ),
            vec![json!([1, 7, null])],
            vec![json!([1, 7, 8])],
        ),
    ]);
    let undeclared = json!({ "prefixItems": tuple, "items": false });
    assert!(check(&undeclared, &json!(["a", 1, 2])).is_err());
}

#[test]
fn keywords_for_objects() {
    table(&[
        (
            json!({ "properties": { "a": { "type": "string" } } }),
            vec![json!({}), json!({ "a": "x", "b": 1 }), json!([])],
            vec![json!({ "a": 1 })],
        ),
        (
            json!({ "properties": { "a": false } }),
            vec![json!({})],
            vec![json!({ "a": 1 })],
        ),
        (
            json!({ "required": ["a", "b"] }),
            vec![json!({ "a": 1, "b": null }), json!(1)],
            vec![json!({ "a": 1 })],
        ),
        (
            json!({ "properties": { "a": true }, "additionalProperties": false }),
            vec![json!({ "a": 1 })],
            vec![json!({ "b": 1 })],
        ),
        (
            json!({ "additionalProperties": { "type": "number" } }),
            vec![json!({ "x": 1 })],
            vec![json!({ "x": "1" })],
        ),
        (
            json!({ "patternProperties": { "^x-": { "type": "string" } }, "additionalProperties": false }),
            vec![json!({ "x-a": "b" })],
            vec![json!({ "x-a": 1 }), json!({ "a": "b" })],
        ),
        (
            json!({ "propertyNames": { "maxLength": 2 } }),
            vec![json!({ "ab": 1 })],
            vec![json!({ "abc": 1 })],
        ),
        (
            json!({ "minProperties": 1, "maxProperties": 1 }),
            vec![json!({ "a": 1 })],
            vec![json!({}), json!({ "a": 1, "b": 2 })],
        ),
    ]);
}

#[test]
fn keywords_for_objects_that_depend() {
    table(&[
        (
            json!({ "dependencies": { "a": ["b"], "c": { "required": ["d"] } } }),
            vec![
                json!({ "a": 1, "b": 2 }),
                json!({ "c": 1, "d": 2 }),
                json!({}),
            ],
            vec![json!({ "a": 1 }), json!({ "c": 1 })],
        ),
        (
            newer(
                json!({ "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "c": { "required": ["d"] } } }),
            ),
            vec![json!({ "a": 1, "b": 2 })],
            vec![json!({ "a": 1 }), json!({ "c": 1 })],
        ),
        (
            newer(
                json!({ "allOf": [{ "properties": { "a": true } }], "unevaluatedProperties": false }),
            ),
            vec![json!({ "a": 1 })],
            vec![json!({ "a": 1, "b": 1 })],
        ),
        (
            newer(
                json!({ "if": { "required": ["a"], "properties": { "a": true } }, "then": { "properties": { "b": true } }, "unevaluatedProperties": false }),
            ),
            vec![json!({ "a": 1, "b": 1 }), json!({})],
            vec![json!({ "b": 1 })],
        ),
        (
            newer(
                json!({ "dependentSchemas": { "a": { "properties": { "b": true } } }, "properties": { "a": true }, "unevaluatedProperties": false }),
            ),
            vec![json!({ "a": 1, "b": 1 })],
            vec![json!({ "b": 1 })],
        ),
    ]);
}

#[test]
fn keywords_that_combine() {
    let small = json!({ "maximum": 5 });
    let even = json!({ "multipleOf": 2 });
    table(&[
        (
            json!({ "allOf": [small, even] }),
            vec![json!(4)],
            vec![json!(3), json!(6)],
        ),
        (
            json!({ "anyOf": [small, even] }),
            vec![json!(3), json!(6)],
            vec![json!(7)],
        ),
        (
            json!({ "oneOf": [small, even] }),
            vec![json!(3), json!(6)],
            vec![json!(4), json!(7)],
        ),
        (json!({ "not": small }), vec![json!(6)], vec![json!(5)]),
        (
            json!({ "if": small, "then": even, "else": { "multipleOf": 3 } }),
            vec![json!(4), json!(9)],
            vec![json!(3), json!(8)],
        ),
        (json!({ "then": even }), vec![json!(3)], vec![]),
    ]);
}
