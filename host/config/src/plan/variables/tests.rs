//! Expansion and templates inside variables.

use serde_json::json;

use super::*;
use crate::plan::Code;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no map"),
    }
}

/// Every combination, as JSON.
fn expand(vars: Value, expand: bool) -> Vec<Value> {
    let (vars, files) = (map(vars), files());
    let axes = Axes::new(&vars, &files, expand);
    let count = axes.combinations().expect("few");
    (0..count)
        .map(|index| Value::Object(axes.combination(&vars, &files, index).vars))
        .collect()
}

fn files() -> VarFiles {
    let key = |name: &str| format!("file://{name}");
    VarFiles {
        contents: BTreeMap::from([
            (key("a.txt"), json!("A {{x}}")),
            (key("b.txt"), json!("B")),
            (key("data.yaml"), json!({"k": [1, 2]})),
        ]),
        matches: BTreeMap::from([(
            key("*.txt"),
            Arc::from(["a.txt", "b.txt"].map(PathBuf::from)),
        )]),
        matched: BTreeMap::from([
            ("a.txt".into(), json!("A {{x}}")),
            ("b.txt".into(), json!("B")),
        ]),
        ..VarFiles::default()
    }
}

#[test]
fn lists_of_strings_multiply_with_the_last_key_fastest() {
    let expected: Vec<Value> = [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")]
        .into_iter()
        .map(|(a, b)| json!({"a": a, "b": b, "c": 5}))
        .collect();
    assert_eq!(
        expand(json!({"a": ["1", "2"], "b": ["x", "y"], "c": 5}), true),
        expected
    );
}

#[test]
fn other_lists_and_lists_that_may_not_expand_are_one_value() {
    for (vars, may) in [
        (json!({"a": [1, 2]}), true),
        (json!({"a": [{"x": "y"}, "z"]}), true),
        (json!({"a": []}), true),
        (json!({"a": ["1", "2"]}), false),
    ] {
        assert_eq!(expand(vars.clone(), may), [vars]);
    }
    // What counts is the first element.
    assert_eq!(
        expand(json!({"a": ["x", 1]}), true),
        [json!({"a": "x"}), json!({"a": 1})]
    );
}

#[test]
fn files_are_values_and_patterns_are_axes() {
    assert_eq!(
        expand(json!({"a": "file://b.txt"}), true),
        [json!({"a": "B"})]
    );
    assert_eq!(
        expand(json!({"a": "file://data.yaml"}), true),
        [json!({"a": {"k": [1, 2]}})]
    );
    let both = [json!({"a": "A 1", "x": 1}), json!({"a": "B", "x": 1})];
    assert_eq!(expand(json!({"a": "file://*.txt", "x": 1}), true), both);
    assert_eq!(
        expand(json!({"a": ["file://b.txt", "c"]}), true),
        [json!({"a": "B"}), json!({"a": "c"})]
    );
}

#[test]
fn a_case_whose_files_are_too_large_together_keeps_their_names() {
    let mut files = files();
    let large = json!("x".repeat(20 << 20));
    files.contents.insert("file://large".to_owned(), large);
    let made = |vars: Value| {
        let vars = map(vars);
        let axes = Axes::new(&vars, &files, true);
        axes.combination(&vars, &files, 0)
    };
    let one = made(json!({"a": "file://large", "b": "file://b.txt"}));
    assert_eq!((one.refused, &one.vars["b"]), (None, &json!("B")));
    let written = json!({"a": ["file://large", "x"], "b": "file://large", "c": "{{a}}"});
    let two = made(written);
    assert_eq!(
        Value::Object(two.vars),
        json!({"a": "file://large", "b": "file://large", "c": "{{a}}"})
    );
    assert_eq!(
        two.refused.map(|why| why.to_string()).unwrap_or_default(),
        "the files of its variables take more than 32 MiB, the most that a case may have ('b' is the one beyond it)"
    );
}

#[test]
fn a_file_that_a_pattern_matched_has_no_name_that_shows_or_can_be_written() {
    let mut files = files();
    files
        .matched
        .insert("a.txt".into(), json!("x".repeat(40 << 20)));
    files
        .matched
        .insert("b.txt".into(), json!("file://data.yaml"));
    let vars = map(json!({"a": "file://*.txt", "b": "file://\na.txt"}));
    let axes = Axes::new(&vars, &files, true);
    let refused = axes.combination(&vars, &files, 0);
    assert!(refused.refused.is_some());
    assert_eq!(refused.vars, vars);
    // What a file says is no name either.
    let made = axes.combination(&vars, &files, 1);
    assert_eq!(made.vars["a"], "file://data.yaml");
}

#[test]
fn a_variable_that_is_what_it_says_is_neither_filled_in_nor_a_template_of_others() {
    for text in [
        "{{ b }}",
        "file://a.txt",
        "file://*.txt",
        "file://f.js",
        "a\n",
    ] {
        let mut files = files();
        let script = Arc::new(Script {
            language: "javascript".to_owned(),
            process: None,
            sends: false,
            key: String::new(),
            code: Code::Inline {
                text: "1".to_owned(),
            },
        });
        files.scripts.insert("file://f.js".to_owned(), script);
        let vars = map(json!({"a": "so: {{ q }}", "b": "x", "q": text}));
        let axes = Axes::new(&vars, &files, true).but(Some("q"));
        assert_eq!(axes.combinations(), Some(1));
        let made = axes.combination(&vars, &files, 0);
        let expected = json!({"a": format!("so: {text}"), "b": "x", "q": text});
        assert_eq!(Value::Object(made.vars), expected);
        assert!(made.code.is_empty());
    }
}

#[test]
fn templates_inside_variables_are_resolved() {
    let cases = [
        // One trailing newline is dropped.
        (json!({"a": "x\n"}), json!({"a": "x"})),
        (json!({"a": "x\n\n"}), json!({"a": "x\n"})),
        (
            json!({"a": "hi {{b}}", "b": "you"}),
            json!({"a": "hi you", "b": "you"}),
        ),
        (
            json!({"a": "{{b}}", "b": "{{c}}", "c": "{{d}}", "d": "end"}),
            json!({"a": "end", "b": "end", "c": "end", "d": "end"}),
        ),
        (
            json!({"a": "{{ b | upper }}", "b": "x"}),
            json!({"a": "X", "b": "x"}),
        ),
        (
            json!({"a": "{{ o.k }} {{ n }}", "o": {"k": 1}, "n": 2.0}),
            json!({"a": "1 2", "o": {"k": 1}, "n": 2.0}),
        ),
        // Undefined: as it is.
        (
            json!({"a": "{{ missing }} {{b}}", "b": "x"}),
            json!({"a": "{{ missing }} x", "b": "x"}),
        ),
        // Not a template after all.
        (
            json!({"a": "{{ not a template }}"}),
            json!({"a": "{{ not a template }}"}),
        ),
        (
            json!({"a": "open {{ and {% and {#"}),
            json!({"a": "open {{ and {% and {#"}),
        ),
        // Nested values stay.
        (
            json!({"a": {"k": "{{b}}"}, "b": "x"}),
            json!({"a": {"k": "{{b}}"}, "b": "x"}),
        ),
        // A circle ends.
        (json!({"a": "{{a}}"}), json!({"a": "{{a}}"})),
        (
            json!({"a": "{% raw %}{{b}}{% endraw %}", "b": "x"}),
            json!({"a": "{{b}}", "b": "x"}),
        ),
    ];
    for (vars, expected) in cases {
        assert_eq!(expand(vars.clone(), true), [expected], "{vars}");
    }
}

#[test]
fn references_are_followed_five_deep() {
    let vars = json!({"a": "{{b}}", "b": "{{c}}", "c": "{{d}}", "d": "{{e}}", "e": "{{f}}", "f": "{{g}}", "g": "end"});
    let resolved = &expand(vars, true)[0];
    // The sixth step is the rendering as a template.
    assert_eq!(resolved["a"], "end");
}

#[test]
fn counts_that_don_t_fit_are_known_without_expanding() {
    let vars: Map<String, Value> = (0..7)
        .map(|n| (n.to_string(), json!(vec!["x"; 1000])))
        .collect();
    assert_eq!(Axes::new(&vars, &files(), true).combinations(), None);
}
