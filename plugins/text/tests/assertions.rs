//! What each assertion type says of which answers, as tables.

use plugin_text::Text;
use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, Error, ErrorCode, Grade, Inputs, testing};

fn grade(kind: &str, value: &Value, output: &str) -> Result<Grade, Error> {
    Text::evaluate(&testing::input(kind, value, output), &testing::context())
}

/// Each row: value, answer, whether the type holds. `not-` must say the opposite.
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

fn refused(kind: &str, value: &Value) {
    let error = grade(kind, value, "answer").expect_err("no grade");
    assert_eq!(error.code, ErrorCode::InvalidRequest, "{kind} {value}");
    assert!(error.message.contains(kind), "{}", error.message);
}

#[test]
fn equals_compares_scalars_as_text_and_the_rest_as_json() {
    table(
        "equals",
        &[
            (json!("a"), "a", true),
            (json!("a"), "a ", false),
            (json!(""), "", true),
            (json!(5), "5", true),
            (json!(5.0), "5", true),
            (json!(true), "true", true),
            (json!("5"), "5.0", false),
            (json!({"a": 1, "b": [2]}), r#"{ "b": [2.0], "a": 1 }"#, true),
            (json!({"a": 1}), r#"{"a":1,"b":2}"#, false),
            (json!({"a": 1}), "not json", false),
            (json!(["x"]), r#"["x"]"#, true),
            (json!([]), "", false),
        ],
    );
    refused("equals", &Value::Null);
}

#[test]
fn contains_finds_a_part() {
    table(
        "contains",
        &[
            (json!("ell"), "hello", true),
            (json!("ELL"), "hello", false),
            (json!(42), "it is 42.", true),
            (json!(42.0), "it is 42.", true),
            (json!("x"), "", false),
        ],
    );
    table(
        "icontains",
        &[
            (json!("ELL"), "hello", true),
            (json!("ÄPFEL"), "zwei äpfel", true),
            (json!("x"), "hello", false),
        ],
    );
    for kind in ["contains", "icontains"] {
        for value in [json!(""), json!([]), json!({}), json!(true), Value::Null] {
            refused(kind, &value);
        }
    }
}

#[test]
fn any_needs_one_and_all_needs_each() {
    table(
        "contains-any",
        &[
            (json!(["x", "b"]), "abc", true),
            (json!(["x", "B"]), "abc", false),
            (json!("x, b"), "abc", true),
            (json!(r#""b,c", x"#), "a b,c", true),
            (json!([1, true]), "is true", true),
            (json!([]), "abc", false),
            (json!(""), "abc", false),
        ],
    );
    table(
        "contains-all",
        &[
            (json!(["a", "b"]), "abc", true),
            (json!(["a", "x"]), "abc", false),
            (json!("a,b"), "abc", true),
            (json!([]), "abc", true),
        ],
    );
    table("icontains-any", &[(json!(["X", "B"]), "abc", true)]);
    table(
        "icontains-all",
        &[
            (json!(["A", "B"]), "abc", true),
            (json!(["A", "X"]), "abc", false),
        ],
    );
    for kind in [
        "contains-any",
        "contains-all",
        "icontains-any",
        "icontains-all",
    ] {
        for value in [
            json!(3),
            json!({}),
            json!([["a"]]),
            json!("\"a"),
            Value::Null,
        ] {
            refused(kind, &value);
        }
    }
}

#[test]
fn starts_with_looks_at_the_start() {
    table(
        "starts-with",
        &[
            (json!("he"), "hello", true),
            (json!("He"), "hello", false),
            (json!("lo"), "hello", false),
        ],
    );
    for value in [json!(""), json!(1), Value::Null] {
        refused("starts-with", &value);
    }
}

#[test]
fn regex_is_that_of_ecmascript() {
    table(
        "regex",
        &[
            (json!("l+o$"), "hello", true),
            (json!("^l"), "hello", false),
            (json!("H"), "hello", false),
            (json!(r"\d{3}-\d{4}"), "call 555-1234 now", true),
            (json!(r"(?<=\$)\d+"), "it costs $42", true),
            (json!(r"(a)\1"), "xaax", true),
            (json!("(?!x)b"), "ab", true),
            (json!("^b$"), "a\nb", false),
            (json!("a.b"), "a\nb", false),
            (json!(r"[\u00e4]"), "ä", true),
            (json!("(?i:A)b"), "ab", true),
            // Units of UTF-16.
            (json!("^.$"), "é", true),
            (json!("^.$"), "😀", false),
            (json!("^..$"), "😀", true),
            (json!("^😀+$"), "😀", true),
            (json!("😀|x"), "a😀b", true),
            (json!("^[😀]$"), "😀", false),
            (json!(r"\ud83d"), "😀", true),
        ],
    );
    let flags = grade("regex", &json!("(?i)a"), "a").expect("a grade");
    let hint = "write (?i:…) around";
    assert!(flags.reason.contains(hint), "{}", flags.reason);
    for kind in ["regex", "not-regex"] {
        let grade = grade(kind, &json!("(a"), "a").expect("a grade");
        assert!(!grade.pass, "{kind}");
        assert!(
            grade.reason.contains("/(a/ cannot be read"),
            "{}",
            grade.reason
        );
    }
    for value in [json!(""), json!(1), Value::Null] {
        refused("regex", &value);
    }
}

#[test]
fn word_count_is_exact_or_a_range() {
    table(
        "word-count",
        &[
            (json!(2), "two words", true),
            (json!("2"), " two\n\twords ", true),
            (json!(3), "two words", false),
            (json!(0), "  ", true),
            (json!({"min": 2, "max": 3}), "a b c", true),
            (json!({"min": 2, "max": 3}), "a b c d", false),
            (json!({"min": 2}), "a", false),
            (json!({"max": "2"}), "a b", true),
        ],
    );
    for value in [
        json!("two"),
        json!(-1),
        json!(1.5),
        json!([1]),
        json!({}),
        json!({"min": 3, "max": 2}),
        json!({"min": "x"}),
        Value::Null,
    ] {
        refused("word-count", &value);
    }
}

#[test]
fn levenshtein_counts_changes() {
    table(
        "levenshtein",
        &[
            (json!("kitten"), "sitting", true),
            (json!("abcdef"), "ghijkl", false),
            (json!("äöü"), "aou", true),
            (json!(""), "12345", true),
            (json!(""), "123456", false),
        ],
    );
    let mut input = testing::input("levenshtein", &json!("kitten"), "sitting");
    input.threshold = Some(2.0);
    let grade = Text::evaluate(&input, &testing::context()).expect("a grade");
    assert!(!grade.pass);
    assert_eq!(
        grade.reason,
        "Expected output to be within a Levenshtein distance of 2 from \"kitten\"; it is 3"
    );
    refused("levenshtein", &json!(1));
    refused("levenshtein", &Value::Null);
}

#[test]
fn a_failing_grade_says_what_was_expected() {
    for (kind, value, output, reason) in [
        ("equals", json!("a"), "b", "Expected output to equal \"a\""),
        (
            "equals",
            json!({"a": 1}),
            "b",
            "Expected output to equal {\"a\":1}",
        ),
        (
            "contains",
            json!("a"),
            "b",
            "Expected output to contain \"a\"",
        ),
        (
            "not-contains",
            json!("b"),
            "b",
            "Expected output not to contain \"b\"",
        ),
        (
            "contains-all",
            json!(["a", "b", "c"]),
            "b",
            "Expected output to contain all of [\"a\", \"b\", \"c\"]; missing: [\"a\", \"c\"]",
        ),
        (
            "not-contains-any",
            json!(["a", "b"]),
            "b",
            "Expected output not to contain any of [\"a\", \"b\"]; it contains \"b\"",
        ),
        ("regex", json!("a+"), "b", "Expected output to match /a+/"),
        ("regex", json!("/a"), "b", "Expected output to match //a/"),
        (
            "regex",
            json!("/a/b"),
            "c",
            "Expected output to match //a/b/",
        ),
        (
            "regex",
            json!("/hi/i"),
            "hi",
            "Expected output to match //hi/i/; the slashes of /hi/i, and what follows them, are part of the pattern: write hi",
        ),
        (
            "word-count",
            json!({"min": 2, "max": 4}),
            "b",
            "Expected output to have 2 to 4 words; it has 1",
        ),
    ] {
        let grade = grade(kind, &value, output).expect("a grade");
        assert!(!grade.pass);
        assert_eq!(grade.reason, reason);
    }
    let passed = grade("contains", &json!("a"), "a").expect("a grade");
    assert_eq!(passed.reason, "Assertion passed");
}

#[test]
fn every_type_that_is_described_is_served() {
    let info = Text::describe();
    assert_eq!(info.assertion_types.len(), 11);
    for kind in &info.assertion_types {
        assert_eq!(kind.reads, Inputs::empty());
        let input = testing::input(&kind.name, &json!("1"), "1");
        Text::evaluate(&input, &testing::context()).expect("a grade");
    }
    let unknown = grade("is-json", &Value::Null, "").expect_err("no such type");
    assert_eq!(unknown.code, ErrorCode::Unsupported);
}
