//! Tables of scalars, positions, anchors, limits.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::*;

fn json(text: &str) -> Value {
    parse(text).expect("valid YAML").json()
}

fn error(text: &str) -> (String, u32, u32) {
    let malformed = parse(text).expect_err("not valid");
    (
        malformed.message,
        malformed.mark.line,
        malformed.mark.column,
    )
}

#[test]
fn scalars_follow_the_core_schema() {
    let cases = [
        ("a: 1", json!({"a": 1})),
        ("a: -7", json!({"a": -7})),
        ("a: +7", json!({"a": 7})),
        ("a: 1.5", json!({"a": 1.5})),
        ("a: 1.0", json!({"a": 1.0})),
        ("a: 1e3", json!({"a": 1000.0})),
        ("a: 0x1F", json!({"a": 31})),
        ("a: 0o17", json!({"a": 15})),
        ("a: 18446744073709551615", json!({"a": u64::MAX})),
        ("a: true", json!({"a": true})),
        ("a: False", json!({"a": false})),
        ("a: yes", json!({"a": "yes"})),
        ("a: null", json!({"a": null})),
        ("a: ~", json!({"a": null})),
        ("a:", json!({"a": null})),
        ("a: 2024-01-31", json!({"a": "2024-01-31"})),
        ("a: 1.2.3", json!({"a": "1.2.3"})),
        ("a: '1'", json!({"a": "1"})),
        ("a: !!str 1", json!({"a": "1"})),
        ("a: !!int \"1\"", json!({"a": 1})),
        ("a: ''", json!({"a": ""})),
        ("a: |\n  x\n  y\n", json!({"a": "x\ny\n"})),
        ("a: >-\n  x\n  y\n", json!({"a": "x y"})),
        ("1: a\ntrue: b", json!({"1": "a", "true": "b"})),
        ("", json!(null)),
        ("\u{feff}a: 1", json!({"a": 1})),
        ("---\na: 1\n...\n", json!({"a": 1})),
    ];
    for (text, expected) in cases {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn anchors_aliases_and_merge_keys_work() {
    let text = "base: &base { a: 1, b: 2 }\nother: &other { c: 3 }\nx: { <<: *base, b: 9 }\ny: { <<: [*base, *other] }\nz: [*base]";
    let value = json(text);
    assert_eq!(value["x"], json!({"b": 9, "a": 1}));
    assert_eq!(value["y"], json!({"a": 1, "b": 2, "c": 3}));
    assert_eq!(value["z"], json!([{"a": 1, "b": 2}]));
}

#[test]
fn what_is_wrong_has_its_place() {
    let cases = [
        ("a: 1\nb: 2\na: 3", "the key 'a' is already on line 1", 3, 1),
        (
            "a: 1\n---\nb: 2",
            "a second YAML document begins here; only one is read",
            2,
            1,
        ),
        ("a: {{x}}", "a key must be text", 1, 5),
        (
            "a: .nan",
            ".nan has no JSON form; put it in quotes if text is meant",
            1,
            4,
        ),
        ("<<: 5", "'<<' takes a map or a list of maps", 1, 5),
        ("a: &x [*x]", "an alias inside its own anchor", 1, 8),
    ];
    for (text, message, line, column) in cases {
        assert_eq!(error(text), (message.to_owned(), line, column), "{text}");
    }
    let (message, line, _) = error("a: 'x\nb: 1");
    assert!(message.starts_with("not valid YAML: "), "{message}");
    assert!(line >= 1);
}

#[test]
fn every_value_knows_where_it_begins() {
    let root = parse("a: 1\nb:\n  - x\n  - { c: é, d: 2 }").expect("valid YAML");
    let Kind::Map(fields) = &root.kind else {
        panic!("a map")
    };
    assert_eq!(fields[1].0.mark, Mark { line: 2, column: 1 });
    let Kind::List(items) = &fields[1].1.kind else {
        panic!("a list")
    };
    assert_eq!(items[0].mark, Mark { line: 3, column: 5 });
    let Kind::Map(inner) = &items[1].kind else {
        panic!("a map")
    };
    assert_eq!(
        inner[1].1.mark,
        Mark {
            line: 4,
            column: 16
        }
    );
}

#[test]
fn depth_is_limited_also_through_aliases() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&deep(MAX_DEPTH)).is_ok());
    assert_eq!(
        error(&deep(MAX_DEPTH + 1)).0,
        "nested deeper than 64 levels"
    );
    assert!(parse(&"[".repeat(1_000_000)).is_err());
    assert!(parse(&"- ".repeat(1_000_000)).is_err());
    assert!(parse(&"{a: ".repeat(100_000)).is_err());
    let aliased = format!("a: &a {}\nb: [[[*a]]]", deep(MAX_DEPTH - 3));
    assert_eq!(error(&aliased).0, "nested deeper than 64 levels");
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..9 {
        let alias = format!("*a{}", level - 1);
        let aliases = vec![alias; 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").expect("a string takes everything");
    }
    assert_eq!(error(&bomb).0, "aliases copy more than 16 MiB");
}
