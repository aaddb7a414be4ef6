//! Tests that code makes.

use serde_json::{Value, json};

use crate::fixture::Folder;

fn folder(tests: &str) -> Folder {
    Folder::new(&format!(
        "prompts: ['{{{{n}}}}']\nproviders: [echo]\ntests: {tests}"
    ))
}

fn gives(value: Value) -> impl Fn(&[(&str, Value)]) -> Result<Option<Value>, String> {
    move |_| Ok(Some(value.clone()))
}

#[test]
fn a_generator_stands_alone_in_a_list_or_in_a_file() {
    let made = json!([{ "vars": { "n": 1 } }, { "vars": { "n": ["2", "3"] } }]);
    for tests in [
        "file://gen.js",
        "gen.js",
        "[file://gen.js:some]",
        "{ path: file://gen.js }",
        "[{ path: 'file://gen.js:some', config: { a: 1 } }]",
        "file://list.yaml",
    ] {
        let folder = folder(tests)
            .code("gen.js", gives(made.clone()))
            .file("list.yaml", "- file://gen.js\n");
        assert_eq!(folder.texts(), ["1", "2", "3"], "{tests}");
    }
    let mixed = folder("[{ vars: { n: 0 } }, file://gen.js, { vars: { n: 9 } }]")
        .code("gen.js", gives(made));
    assert_eq!(mixed.texts(), ["0", "1", "2", "3", "9"]);
}

#[test]
fn config_is_handed_over_with_its_files_read() {
    let folder = folder(
        "[{ path: file://gen.js, config: { count: 2, rows: file://rows.yaml, note: file://note.txt } }, file://bare.js]",
    )
    .file("rows.yaml", "[7, 8]")
    .file("note.txt", "hello")
    .code("gen.js", |arguments| {
        let [(_, config)] = arguments else {
            return Err(format!("{arguments:?}"));
        };
        assert_eq!(config["note"], "hello");
        let rows = config["rows"].as_array().ok_or("no rows")?;
        let test = |row: &Value| json!({ "vars": { "n": row } });
        Ok(Some(rows.iter().map(test).collect()))
    })
    .code("bare.js", |arguments| {
        assert!(arguments.is_empty());
        Ok(Some(json!([{ "vars": { "n": 9 } }])))
    });
    assert_eq!(folder.texts(), ["7", "8", "9"]);
}

#[test]
fn a_generated_test_is_checked_as_a_written_one() {
    let made = json!([
        { "vars": { "n": 1 } },
        { "assert": [{ "type": "contain" }] },
        { "vars": { "n": "file://none.txt" } },
        "no test",
    ]);
    let problems = folder("[file://lib/gen.js]")
        .code("lib/gen.js", gives(made.clone()))
        .problems();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems[0].starts_with("lib/gen.js: tests[1].assert[0]"),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("lib/gen.js: tests[2].vars.n"),
        "{problems:?}"
    );
    assert!(
        problems[2].starts_with("lib/gen.js: tests[3]: "),
        "{problems:?}"
    );
}

#[test]
fn a_generator_that_gives_no_tests_says_why() {
    let cases: [(Result<Option<Value>, String>, &str); 5] = [
        (
            Err("TypeError: no".to_owned()),
            "'file://gen.js' made no tests: TypeError: no",
        ),
        (Ok(None), "must give a list of tests, not undefined"),
        (Ok(Some(json!(null))), "must give a list of tests, not null"),
        (
            Ok(Some(json!({ "vars": {} }))),
            "must give a list of tests, not an object",
        ),
        (Ok(Some(json!("a"))), "must give a list of tests, not text"),
    ];
    for (given, expected) in cases {
        let problems = folder("file://gen.js")
            .code("gen.js", move |_| given.clone())
            .problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(expected), "{problems:?}");
        assert!(
            problems[0].starts_with("promptfooconfig.yaml:3:"),
            "{problems:?}"
        );
    }
}

#[test]
fn a_generator_in_a_language_that_nothing_runs_is_named() {
    let problems = folder("[file://gen.rb]").file("gen.rb", "").problems();
    assert!(
        problems[0].contains("'gen.rb': no plugin runs code of this kind"),
        "{problems:?}"
    );
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let problems = folder("file://gen.js")
        .code("gen.js", gives(json!([{ "vars": { "n": deep } }])))
        .problems();
    assert!(
        problems[0].contains("test 0 is nested too deep"),
        "{problems:?}"
    );
}
