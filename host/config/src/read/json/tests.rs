//! Values, positions, errors.

use serde_json::{Value, json};

use super::*;

#[test]
fn every_value_is_what_serde_json_says() {
    let texts = [
        "null",
        "true",
        "[]",
        "{}",
        "-1.5e3",
        "18446744073709551615",
        r#""a\"b\\""#,
        r#""\ud83d\ude00 \u00e9""#,
        r#" { "a" : [ 1 , "x" , { "b" : null } ] , "c" : "" } "#,
        "[[[[1]]]]",
    ];
    for text in texts {
        let expected: Value = serde_json::from_str(text).expect("valid JSON");
        assert_eq!(
            parse(text, 1).expect("valid JSON").json(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn values_know_their_place() {
    let root = parse("{\n  \"é\": 1, \"b\": [\n    2]}", 10).expect("valid JSON");
    let Kind::Map(fields) = &root.kind else {
        panic!("a map")
    };
    assert_eq!(
        fields[0].0.mark,
        Mark {
            line: 11,
            column: 3
        }
    );
    assert_eq!(
        fields[0].1.mark,
        Mark {
            line: 11,
            column: 8
        }
    );
    let Kind::List(items) = &fields[1].1.kind else {
        panic!("a list")
    };
    assert_eq!(
        items[0].mark,
        Mark {
            line: 12,
            column: 5
        }
    );
}

#[test]
fn what_is_wrong_has_its_place() {
    let cases = [
        ("", "not valid JSON: a value is missing", 1, 1),
        ("[1 2]", "not valid JSON: expected ',' or ']'", 1, 4),
        ("{\"a\" 1}", "not valid JSON: expected ':'", 1, 6),
        (
            "{a: 1}",
            "not valid JSON: expected a key in double quotes",
            1,
            2,
        ),
        (
            "{\"a\": 1,\n \"a\": 2}",
            "the key 'a' is already on line 1",
            2,
            2,
        ),
        ("[nope]", "not valid JSON: expected a value", 1, 2),
        ("[01]", "not valid JSON: expected a value", 1, 2),
        ("\"open", "not valid JSON: a string does not end", 1, 1),
        (
            "\"\\x\"",
            "not valid JSON: a string with a bad escape or a bare control character",
            1,
            1,
        ),
        ("1 2", "not valid JSON: something follows the value", 1, 3),
        ("[1,]", "not valid JSON: expected a value", 1, 4),
    ];
    for (text, message, line, column) in cases {
        let malformed = parse(text, 1).expect_err("not valid");
        assert_eq!(
            (malformed.message.as_str(), malformed.mark),
            (message, Mark { line, column }),
            "{text}"
        );
    }
}

#[test]
fn depth_is_limited() {
    let malformed = parse(&"[".repeat(100_000), 1).expect_err("too deep");
    assert_eq!(malformed.message, "nested deeper than 64 levels");
}

#[test]
fn numbers_that_no_float_holds_are_refused_and_not_changed() {
    assert!(parse("1e999", 1).is_err());
    assert_eq!(
        parse("9007199254740993", 1).expect("valid").json(),
        json!(9_007_199_254_740_993_i64)
    );
}
