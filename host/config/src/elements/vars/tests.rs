//! Where variables come from, and the files they name.

use serde_json::{Value, json};

use crate::fixture::Folder;
use crate::plan::Case;

fn folder(tests: &str) -> Folder {
    Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{tests}"))
        .file("a.txt", "  text\n")
        .file("docs/1.md", "one")
        .file("docs/2.md", "two")
        .file("data.yaml", "k: [1, 2]\n")
        .file("data.json", "{\"k\": \"\\ud83d\\ude00\"}")
        .file("more.yaml", "x: from file\ny: 2\n")
        .file("pic.png", "x")
}

fn vars(tests: &str) -> Vec<Value> {
    folder(tests)
        .cases()
        .iter()
        .map(|case| Value::Object((*case.vars).clone()))
        .collect()
}

#[test]
fn files_become_values() {
    let cases = [
        (
            "tests: [{ vars: { a: file://a.txt } }]",
            vec![json!({"a": "text"})],
        ),
        (
            "tests: [{ vars: { a: file://data.yaml } }]",
            vec![json!({"a": r#"{"k":[1,2]}"#})],
        ),
        (
            "tests: [{ vars: { a: file://data.json } }]",
            vec![json!({"a": r#"{"k": "\ud83d\ude00"}"#})],
        ),
        (
            "tests: [{ vars: { a: 'file://docs/*.md' } }]",
            vec![json!({"a": "one"}), json!({"a": "two"})],
        ),
        (
            "tests: [{ vars: { a: [file://a.txt, b] } }]",
            vec![json!({"a": "text"}), json!({"a": "b"})],
        ),
        (
            "tests: [{ vars: more.yaml }]",
            vec![json!({"x": "from file", "y": 2})],
        ),
        (
            "tests: [{ vars: file://more.yaml }]",
            vec![json!({"x": "from file", "y": 2})],
        ),
        (
            "tests: [{ vars: [more.yaml, data.yaml] }]",
            vec![json!({"x": "from file", "y": 2, "k": [1, 2]})],
        ),
        (
            "tests: [{ vars: { d: 2024-01-31 } }]",
            vec![json!({"d": "2024-01-31"})],
        ),
    ];
    for (tests, expected) in cases {
        assert_eq!(vars(tests), expected, "{tests}");
    }
}

#[test]
fn a_test_wins_over_flags_and_flags_over_the_default() {
    let mut folder =
        folder("defaultTest: { vars: { a: 1, b: 1, c: 1 } }\ntests: [{ vars: { c: 3 } }]");
    folder.overrides.vars = [("b".to_owned(), json!("2")), ("c".to_owned(), json!("2"))]
        .into_iter()
        .collect();
    assert_eq!(
        Value::Object((*folder.cases()[0].vars).clone()),
        json!({"a": 1, "b": "2", "c": 3})
    );
}

#[test]
fn expansion_can_be_switched_off() {
    let list = [json!({"a": ["1", "2"]})];
    assert_eq!(
        vars("tests: [{ vars: { a: ['1', '2'] }, options: { disableVarExpansion: true } }]"),
        list
    );
    assert_eq!(
        vars(
            "defaultTest: { options: { disableVarExpansion: true } }\ntests: [{ vars: { a: ['1', '2'] } }]"
        ),
        list
    );
    let folder = folder("tests: [{ vars: { a: ['1', '2'] } }]")
        .env("PROMPTFOO_DISABLE_VAR_EXPANSION", "true");
    assert_eq!(folder.cases().len(), 1);
}

#[test]
fn a_document_stands_for_its_text() {
    let folder = Folder::new(
        "prompts: ['{{a}}']\nproviders: [echo]\ntests: [{ vars: { a: file://paper.pdf } }]",
    )
    .file("paper.pdf", " its text\n");
    assert_eq!(folder.texts(), ["its text"]);
    let damaged = folder.file("paper.pdf", b"\xff");
    assert_eq!(
        damaged.problems(),
        ["promptfooconfig.yaml:3:22: tests[0].vars.a: 'paper.pdf': no document"]
    );
}

#[test]
fn what_is_wrong_is_said() {
    let at = "promptfooconfig.yaml:3:";
    let cases = [
        (
            "tests: [{ vars: { a: file://no.txt } }]",
            format!("{at}22: tests[0].vars.a: 'no.txt': there is no such file"),
        ),
        (
            "tests: [{ vars: { a: 'file://no/*' } }]",
            format!("{at}22: tests[0].vars.a: 'file://no/*' matches no file"),
        ),
        (
            "tests: [{ vars: { a: file://none.png } }]",
            format!("{at}22: tests[0].vars.a: 'none.png': there is no such file"),
        ),
        (
            "tests: [{ vars: { a: file://paper.docx } }]",
            format!(
                "{at}22: tests[0].vars.a: 'paper.docx': documents in variables are not supported\n\
                 help: save its text as .txt, for example with `pdftotext`"
            ),
        ),
        (
            "tests: [{ vars: { a: 'package:x:y' } }]",
            format!(
                "{at}22: tests[0].vars.a: 'package:x:y': packages are not read\n\
                 help: name a file of code that asks the package: file://x.js; or, for the text itself, options: {{ rawVars: true }}"
            ),
        ),
        (
            "tests: [{ vars: { a: file://x.rb } }]",
            format!(
                "{at}22: tests[0].vars.a: 'x.rb': no plugin runs code of this kind\n\
                 help: code can be javascript (.js, .cjs, .mjs)"
            ),
        ),
        (
            "tests: [{ vars: 5 }]",
            format!("{at}17: tests[0].vars: must be a map of names to values, not a number"),
        ),
    ];
    for (tests, expected) in cases {
        assert_eq!(folder(tests).problems(), [expected], "{tests}");
    }
}

#[test]
fn a_variable_that_code_makes_is_taken_when_it_is_made() {
    let folder =
        folder("tests: [{ vars: { a: ['file://x.js:f', plain], b: 'so {{ a }}', c: 1 } }]")
            .file("x.js", "exports.f = () => ({ output: 'made' })");
    let mut cases = folder.cases();
    let whole = |case: &Case| Value::Object((*case.vars).clone());
    let names: Vec<&str> = cases[0].code_vars.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["a"]);
    assert_eq!(cases[0].vars["b"], "so {{ a }}");
    cases[0].take_made([("a".to_owned(), json!("{{c}}"))].into_iter().collect());
    let expected = json!({"a": "{{c}}", "b": "so {{c}}", "c": 1});
    assert_eq!(whole(&cases[0]), expected);
    assert_eq!(*cases[0].scope, *cases[0].vars);
    assert!(cases[1].code_vars.is_empty());
    assert_eq!(
        whole(&cases[1]),
        json!({"a": "plain", "b": "so plain", "c": 1})
    );
}

#[test]
fn flags_may_name_files_too() {
    let mut folder = folder("");
    folder.overrides.vars = [("a".to_owned(), json!("file://a.txt"))]
        .into_iter()
        .collect();
    assert_eq!(
        Value::Object((*folder.cases()[0].vars).clone()),
        json!({"a": "text"})
    );
    folder.overrides.vars = [("a".to_owned(), json!("file://none"))]
        .into_iter()
        .collect();
    assert_eq!(
        folder.problems(),
        ["--var a: 'none': there is no such file"]
    );
}

#[test]
fn a_text_of_several_lines_is_no_path_and_not_repeated() {
    let folder = Folder::new(
        "prompts: ['{{a}}']\nproviders: [echo]\ntests: [{ vars: { a: \"file://is a scheme\\nand so on\" } }]",
    );
    let problems = folder.problems();
    assert!(
        problems[0].contains("'file://is a scheme…' is several lines"),
        "{problems:?}"
    );
    assert!(!problems[0].contains("so on"), "{problems:?}");
}

#[test]
fn files_of_variables_are_relative_to_a_file_of_tests_and_values_to_the_config() {
    let folder =
        Folder::new("prompts: ['{{a}} {{b}}']\nproviders: [echo]\ntests: file://inner/t.yaml")
            .file(
                "inner/t.yaml",
                "- vars: ../v.yaml\n- vars: [own.yaml, ../v.yaml]",
            )
            .file("v.yaml", "a: outer\nb: file://b.txt")
            .file("inner/own.yaml", "a: own\nb: own")
            .file("b.txt", "text");
    assert_eq!(folder.texts(), ["outer text", "outer text"]);
}

/// What a pattern of the config matched is called so that no row can name it.
#[test]
fn a_row_names_files_by_their_own_path_alone() {
    let folder = Folder::new(
        "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - vars: { q: 'file://private/*.txt' }\n  - file://rows/rows.jsonl",
    )
    .file("private/s.txt", "private")
    .file("rows/rows.jsonl", r#"{"vars":{"q":"file://private/s.txt"}}"#);
    let withheld = folder.withheld();
    assert_eq!(withheld.len(), 1, "{withheld:?}");
    assert!(
        withheld[0].ends_with("read the file ~/private/s.txt"),
        "{withheld:?}"
    );
    let path = folder.path().join("private/s.txt");
    let rows = format!(r#"{{"vars":{{"q":"file://\n{}"}}}}"#, path.display());
    let problems = folder.file("rows/rows.jsonl", rows).problems();
    assert!(
        problems[0].contains("several lines, which is no path"),
        "{problems:?}"
    );
}
