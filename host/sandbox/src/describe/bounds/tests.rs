//! Schemas that would take the host's memory or time, and ordinary ones that must pass.

use serde_json::{Value, json};

use super::*;

/// `first`, and `depth` definitions of which each names the next one twice under `word`.
fn doubling(depth: usize, step: impl Fn(String) -> Value) -> Value {
    let mut defs = Map::new();
    for at in 0..depth {
        defs.insert(format!("a{at}"), step(format!("#/$defs/a{}", at + 1)));
    }
    defs.insert(format!("a{depth}"), json!({ "type": "string" }));
    json!({ "$ref": "#/$defs/a0", "$defs": defs })
}

#[test]
fn references_that_multiply_are_refused_at_load() {
    for word in ["allOf", "anyOf", "oneOf"] {
        let schema = doubling(
            30,
            |next| json!({ word: [{ "$ref": next }, { "$ref": next }] }),
        );
        let refused = admit(&schema).expect_err(word);
        assert!(refused.contains("multiply"), "{refused}");
        // A few are fine.
        let schema = doubling(
            8,
            |next| json!({ word: [{ "$ref": next }, { "$ref": next }] }),
        );
        assert!(admit(&schema).is_ok(), "{word}");
    }
    let round =
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "not": { "$ref": "#/$defs/a" } } } });
    assert!(admit(&round).is_err());
}

#[test]
fn what_only_a_value_makes_multiply_is_found_with_the_value() {
    let next = json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
    let schema = json!({ "properties": { "a": next } });
    assert!(admit(&schema).is_ok());
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert_eq!(work(&schema, &nested(5)), Work::Little);
    assert_eq!(work(&schema, &nested(14)), Work::Much);
    assert_eq!(work(&schema, &nested(40)), Work::TooMuch);
}

#[test]
fn every_way_to_a_part_of_a_value_is_counted() {
    let many: Map<String, Value> = (0..400)
        .map(|at| (format!("k{at}"), json!([1, 1])))
        .collect();
    let many = Value::Object(many);
    let all: Vec<Value> = (0..4_000).map(|_| json!({ "type": "string" })).collect();
    let all = json!({ "allOf": all });
    for schema in [
        json!({ "additionalProperties": all }),
        json!({ "unevaluatedProperties": all }),
        json!({ "patternProperties": { "^k": all } }),
        json!({ "propertyNames": all }),
    ] {
        assert!(admit(&schema).is_ok());
        assert_eq!(work(&schema, &many), Work::TooMuch, "{schema:.60}");
    }
    let list = Value::from(vec![1; 400]);
    for word in ["items", "contains", "unevaluatedItems"] {
        assert_eq!(work(&json!({ word: all }), &list), Work::TooMuch, "{word}");
    }
    let long = json!({ "k".repeat(100_000): vec![1; 1_000] });
    let schema = json!({ "additionalProperties": { "items": { "type": "string" } } });
    assert_eq!(
        work(&schema, &long),
        Work::TooMuch,
        "errors repeat the path"
    );
}

#[test]
fn parts_are_counted() {
    let refs: Vec<Value> = (0..600).map(|_| json!({ "$ref": "#/$defs/a" })).collect();
    let patterns: Vec<Value> = (0..65).map(|_| json!({ "pattern": "a" })).collect();
    for (schema, says) in [
        (json!({ "enum": vec![0; 9_000] }), "more than 8192 values"),
        (json!({ "allOf": refs }), "more than 512 references"),
        (json!({ "allOf": patterns }), "more than 64 patterns"),
        (
            json!({ "patternProperties": { "a".repeat(1_025): true } }),
            "bytes in a pattern",
        ),
        (json!({ "$dynamicRef": "#a" }), "`$dynamicRef`"),
        (
            json!({ "$ref": "https://example.com/x" }),
            "not of the form",
        ),
        (
            json!({ "$id": "a:b", "$defs": { "a": { "$id": "a:c", "$ref": "#/x" } } }),
            "below its root",
        ),
    ] {
        let refused = admit(&schema).expect_err(says);
        assert!(refused.contains(says), "{refused}");
    }
    assert_eq!(
        admit(&json!({ "$id": "a:b", "properties": { "$id": {} } })),
        Ok(0)
    );
}

#[test]
fn what_people_write_is_little_work() {
    let schema = json!({
        "type": "object",
        "properties": {
            "temperature": { "type": "number", "minimum": 0, "maximum": 2 },
            "stop": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] },
            "children": { "items": { "$ref": "#" } },
        },
        "additionalProperties": false,
    });
    assert!(admit(&schema).is_ok());
    let leaf = json!({ "temperature": 1, "stop": ["a", "b"] });
    let value = json!({ "children": [leaf, { "children": [leaf] }] });
    assert_eq!(work(&schema, &value), Work::Little);
    let words = Value::from(vec!["word"; 100_000]);
    let list = json!({ "type": "array", "items": { "type": "string" } });
    assert_eq!(
        work(&list, &words),
        Work::Much,
        "decided, but not told one by one"
    );
}
