//! What is not one keyword: references, schemas that are none, and what a failure says.

use runner_plugin::json::json;

use super::{Failure, Schema, check, newer, table};

#[test]
fn references_are_followed() {
    let tree = json!({
        "$ref": "#/definitions/node",
        "definitions": { "node": {
            "type": "object",
            "properties": { "value": { "type": "number" }, "children": { "type": "array", "items": { "$ref": "#/definitions/node" } } },
            "required": ["value"],
        } },
    });
    let named = json!({
        "$id": "https://x.test/schemas/root.json",
        "properties": { "a": { "$ref": "part.json" }, "b": { "$ref": "/other.json#/definitions/n" } },
        "definitions": {
            "a~b/c d": { "type": "null" },
            "part": { "$id": "part.json", "type": "number", "definitions": { "n": { "type": "string" } } },
            "other": { "$id": "https://x.test/other.json", "definitions": { "n": { "$ref": "#/definitions/m" }, "m": { "type": "boolean" } } },
        },
    });
    table(&[
        (
            tree,
            vec![json!({ "value": 1, "children": [{ "value": 2, "children": [] }] })],
            vec![json!({ "value": 1, "children": [{}] })],
        ),
        (
            named,
            vec![json!({ "a": 1, "b": true })],
            vec![json!({ "a": "1" }), json!({ "b": 1 })],
        ),
        (
            json!({ "items": { "$ref": "#" }, "type": "array" }),
            vec![json!([[], [[]]])],
            vec![json!([1])],
        ),
        (
            json!({ "properties": { "x": { "$ref": "#/definitions/a~0b~1c%20d" } }, "definitions": { "a~b/c d": { "type": "null" } } }),
            vec![json!({ "x": null })],
            vec![json!({ "x": 1 })],
        ),
        (
            newer(
                json!({ "$ref": "#pos", "multipleOf": 2, "$defs": { "p": { "$anchor": "pos", "minimum": 0 } } }),
            ),
            vec![json!(2)],
            vec![json!(-2), json!(3)],
        ),
    ]);
    let siblings = json!({ "$ref": "#/definitions/a", "minimum": 3, "definitions": { "a": {} } });
    assert!(check(&siblings, &json!(2)).is_err(), "as Ajv has it");
}

#[test]
fn a_schema_without_end_is_said() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "$ref": "#" }] }),
        json!({ "not": { "$ref": "#/definitions/a" }, "definitions": { "a": { "allOf": [{ "$ref": "#" }] } } }),
    ] {
        let failure = check(&schema, &json!(1)).expect_err("no end");
        assert_eq!(
            failure,
            Failure::Schema("it refers to itself without end".to_owned())
        );
    }
}

#[test]
fn a_deep_value_is_no_schema_without_end() {
    let schema = json!({
        "type": "array",
        "anyOf": [{ "allOf": [{ "items": { "$ref": "#" } }] }],
    });
    let nested = |innermost| (0..120).fold(innermost, |value, _| json!([value]));
    assert_eq!(check(&schema, &nested(json!([]))), Ok(()));
    assert!(matches!(
        check(&schema, &nested(json!(1))),
        Err(Failure::Value(_))
    ));
    let steep = (0..40).fold(
        json!({ "items": { "$ref": "#" } }),
        |schema, _| json!({ "allOf": [schema] }),
    );
    let failure = check(&steep, &nested(json!([]))).expect_err("too deep");
    assert_eq!(
        failure,
        Failure::Schema("it goes too deep for this value".to_owned())
    );
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    for (schema, problem) in [
        (
            json!({ "type": "text" }),
            "`/type` must be a type, or a list of types, not \"text\"",
        ),
        (
            json!({ "properties": { "a": { "minLength": -1 } } }),
            "`/properties/a/minLength` must be a whole number, 0 or more, not -1",
        ),
        (json!({ "items": 1 }), "`/items` must be a schema, not 1"),
        (
            json!({ "properties": { "a": 1 } }),
            "`/properties/a` is no schema but 1",
        ),
        (
            json!({ "anyOf": [] }),
            "`/anyOf` must be a list of schemas, not []",
        ),
        (
            json!({ "required": "a" }),
            "`/required` must be a list of keys, not \"a\"",
        ),
        (
            json!({ "exclusiveMinimum": true }),
            "`/exclusiveMinimum` must be a number, not true",
        ),
        (
            json!({ "multipleOf": 0 }),
            "`/multipleOf` must be a number above 0, not 0",
        ),
        (
            json!({ "$ref": "#/definitions/a" }),
            "`/$ref` refers to `#/definitions/a`, which is not in the schema",
        ),
        (
            json!({ "$ref": "https://x.test/y" }),
            "`/$ref` refers to `https://x.test/y`, which is not in the schema",
        ),
        (json!([1]), "`` is no schema but [1]"),
    ] {
        assert_eq!(Schema::read(&schema).expect_err("no schema"), problem);
    }
    for schema in [
        json!({ "pattern": "(" }),
        json!({ "$schema": "http://json-schema.org/draft-04/schema#" }),
    ] {
        assert!(Schema::read(&schema).is_err(), "{schema}");
    }
    assert!(
        Schema::read(&json!({ "enum": [{ "type": "text" }], "const": { "$ref": "x" } })).is_ok()
    );
}

#[test]
fn a_failure_says_where_and_why() {
    let schema = json!({
        "type": "object", "required": ["name"], "additionalProperties": false,
        "properties": {
            "name": { "type": "string" },
            "tags": { "type": "array", "items": { "enum": ["a", "b"] } },
            "age": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
        },
    });
    for (value, reason) in [
        (json!([]), "expected object, found []"),
        (json!({}), "the key \"name\" is missing"),
        (json!({ "name": 1 }), "/name: expected string, found 1"),
        (
            json!({ "name": "x", "x/y": 1 }),
            "the key \"x/y\" is not allowed",
        ),
        (
            json!({ "name": "x", "tags": ["a", "c"] }),
            "/tags/1: \"c\" is none of [\"a\",\"b\"]",
        ),
        (
            json!({ "name": "x", "age": "y" }),
            "/age: conforms to none of `anyOf` (/age: expected integer, found \"y\"; /age: expected null, found \"y\")",
        ),
    ] {
        assert_eq!(
            check(&schema, &value),
            Err(Failure::Value(reason.to_owned()))
        );
    }
    let long = check(&json!({ "type": "null" }), &json!("ä".repeat(100)));
    assert_eq!(
        long,
        Err(Failure::Value(format!(
            "expected null, found \"{}…",
            "ä".repeat(59)
        )))
    );
}
