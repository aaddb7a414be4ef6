//! What rows of data ask for, and whose rows they are where they come from several files.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::json;

use super::{Folder, TextOrigin, data};

/// What the person is asked for where a row has this webhook.
fn asked(value: &str) -> Vec<String> {
    let row = json!({ "vars": { "q": "1" }, "assert": [{ "type": "webhook", "value": value }] });
    let mut folder = data("t.jsonl", &row.to_string())
        .file("to.txt", "https://in.example/x\n")
        .file("to.js", "1");
    let webhook = || "webhook".to_owned();
    let types = &mut folder.catalog.assertion_types;
    types.insert(webhook(), webhook());
    let requests = folder.requests().into_iter();
    let said = requests.filter_map(|one| Some(one.split_once("set `webhook`")?.1.to_owned()));
    said.collect()
}

#[test]
fn an_address_that_differs_from_row_to_row_is_said_to_be_any() {
    let any = ", which is worked out for each row: any address";
    for (value, expected) in [
        ("https://a.example/x", "\"https://a.example/x\"".to_owned()),
        ("{{ q }}", format!("\"{{{{ q }}}}\"{any}")),
        (
            "{% if q %}x{% endif %}",
            format!("\"{{% if q %}}x{{% endif %}}\"{any}"),
        ),
        // What the file holds, and not its name.
        ("file://to.txt", "\"https://in.example/x\"".to_owned()),
        ("file://to.js", format!("\"file://to.js\"{any}")),
    ] {
        let said = asked(value);
        assert_eq!(said, [format!(" of its request to {expected}")], "{value}");
    }
}

/// Each file was looked for among all before it, and all were named in each message.
#[test]
fn rows_of_many_files_are_named_by_a_few() {
    let of = |n: u32| TextOrigin::data(Path::new(&format!("{n}.csv")), format!("/{n}.csv").into());
    let many: Vec<TextOrigin> = (0..100_000).map(of).collect();
    let TextOrigin::Data(file) = TextOrigin::mixed(many.iter().chain(&many)) else {
        panic!("data stays data")
    };
    assert_eq!(file.shown, Path::new("0.csv, 1.csv, 2.csv and 99997 more"));
    assert!(file.is_mixed);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_told_apart() {
    use std::os::unix::ffi::OsStrExt as _;
    let of = |name: &[u8]| {
        let name = Path::new(OsStr::from_bytes(name));
        let named = TextOrigin::data(name, Path::new("/").join(name));
        TextOrigin::mixed([&named, &TextOrigin::data(Path::new("b"), "/b".into())])
    };
    assert_eq!(of(b"a\xff"), of(b"a\xff"));
    assert_ne!(of(b"a\xff"), of(b"a\xfe"));
}

/// Whoever vouches for a file vouches for none that it names; and rows that name a file make it no more than it is, nor
/// than they are.
#[test]
fn a_data_file_is_its_own_whoever_names_it() {
    let row = |name: &str| json!({ "vars": { "q": format!("file://{name}") } }).to_string();
    let folder = |tests: &str, named: &str, row: &str| {
        Folder::new(&format!("prompts: [p]\nproviders: [echo]\ntests: {tests}"))
            .file("a.json", json!([format!("file://{named}")]).to_string())
            .file("a.yaml", format!("- file://{named}"))
            .file(
                "v.json",
                json!([{ "path": format!("file://{named}"), "trust": "config" }]).to_string(),
            )
            .file(
                "deep/a.json",
                json!([format!("file://{named}")]).to_string(),
            )
            .file(named, row)
            .file("pay.txt", "x")
            .file("data/in.txt", "x")
    };
    let vouched = |file: &str| format!("[{{ path: 'file://{file}', trust: config }}]");
    for tests in [
        vouched("a.json"),
        vouched("a.yaml"),
        vouched("v.json"),
        "file://a.json".to_owned(),
        "file://a.yaml".to_owned(),
    ] {
        let asked = |name: &str| folder(&tests, "data/b.jsonl", &row(name)).requests();
        assert_eq!(asked("data/in.txt"), [""; 0], "{tests}");
        let beyond = asked("pay.txt");
        let expected = "data/b.jsonl:1:14: vars.q: read the file";
        assert!(
            beyond.len() == 1 && beyond[0].starts_with(expected),
            "{tests}: {beyond:?}"
        );
    }
    // Agreed to or not, a file beyond the folder of who names it may name nothing.
    let asked = folder("file://deep/a.json", "data/b.jsonl", &row("data/in.txt")).requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
}

/// A link is what it leads to.
#[cfg(unix)]
#[test]
fn rows_behind_a_link_have_the_folder_of_the_file() {
    let folder = Folder::new("prompts: [p]\nproviders: [echo]\ntests: file://latest.jsonl")
        .file(
            "data/b.jsonl",
            json!({ "vars": { "q": "file://pay.txt" } }).to_string(),
        )
        .file("pay.txt", "x");
    std::os::unix::fs::symlink("data/b.jsonl", folder.path().join("latest.jsonl")).expect("a link");
    assert_eq!(folder.requests().len(), 1);
    let folder = Folder::new("prompts: [p]\nproviders: [echo]\ntests: file://top.yaml")
        .file(
            "data/b.json",
            json!([{ "vars": { "q": "file://pay.txt" } }]).to_string(),
        )
        .file("pay.txt", "x");
    std::os::unix::fs::symlink("data/b.json", folder.path().join("top.yaml")).expect("a link");
    assert_eq!(folder.requests().len(), 1);
    let config = "prompts: [p]\nproviders: [echo]\ntests: [{ $ref: 'top.yaml#/0' }]";
    std::fs::write(folder.path().join("promptfooconfig.yaml"), config).expect("written");
    let problems = folder.problems();
    assert!(
        problems[0].contains("out of a file that is no YAML"),
        "{problems:?}"
    );
}

/// What is raw in one part and not in the one over it is no way round the question.
#[test]
fn a_raw_variable_that_is_none_after_all_names_no_more_than_others() {
    let asked = |part: &str, over: &str| {
        let part =
            json!({ "vars": { "q": "file://pay.txt" }, "options": { "rawVars": part == "raw" } });
        let over = json!({ "vars": { "x": "1" }, "options": { "rawVars": over == "raw" } });
        let folder = Folder::new(
            "prompts: ['{{q}}']\nproviders: [echo]\nscenarios: [file://data/s.json]\n\
             tests: [{ vars: { q: own, doc: file://pay.txt } }]",
        )
        .file(
            "data/s.json",
            json!({ "config": [part], "tests": [over] }).to_string(),
        )
        .file("pay.txt", "paid");
        (folder.requests().len(), folder.texts()[1].clone())
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(asked("raw", "raw"), (0, text("file://pay.txt")));
    assert_eq!(asked("raw", "plain").0, 1);
    assert_eq!(asked("plain", "plain").0, 1);
}

#[test]
fn a_test_with_variables_of_data_has_its_words() {
    let words_of = |name: &str| {
        let folder = Folder::new(&format!(
            "prompts: [p]\nproviders: [echo]\ntests: [{{ vars: file://{name} }}]"
        ));
        let plan = folder.file(name, "{\"q\": \"1\"}").plan();
        let test = plan.tests.get(0).expect("a test");
        assert_eq!(test.data, None);
        test.words_of
            .as_ref()
            .map(|it| it.shown.display().to_string())
    };
    assert_eq!(words_of("v.json").as_deref(), Some("v.json"));
    assert_eq!(words_of("v.yaml"), None);
}
