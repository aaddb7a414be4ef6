//! What a config calls the types and prefixes of plugins that strangers bring.

use std::path::PathBuf;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run, guest};
use serde_json::{Value, json};

fn outside(name: &str) -> Vec<u8> {
    let file: PathBuf = guest(&format!("outside/{name}"));
    std::fs::read(file).expect("it was built")
}

fn run() -> Run {
    Run::new()
        .env("RUNNER_TRUST", "config")
        .file("brief.wasm", outside("brief"))
        .file("shouting.wasm", outside("grader"))
}

/// For each row its verdict, and what its assertions are called.
fn verdicts(finished: &Finished) -> Vec<(bool, Vec<String>)> {
    let results = finished.json("out.json");
    let rows = results["results"]["results"].as_array().expect("rows");
    let kind = |part: &Value| {
        let kind = part["assertion"]["type"].as_str();
        kind.expect("a type").to_owned()
    };
    let verdict = |row: &Value| {
        let parts = row["gradingResult"]["componentResults"].as_array();
        let kinds = parts.expect("assertions").iter().map(kind).collect();
        (row["success"] == true, kinds)
    };
    rows.iter().map(verdict).collect()
}

#[test]
fn a_type_has_the_name_that_the_config_gives_it_and_its_own_behind_the_plugins() {
    let finished = run()
        .config(
            "prompts: ['{{text}}']\nproviders: [echo]\n\
             plugins:\n  acme: { source: brief.wasm, as: { brief: few-words } }\n  loud: { source: shouting.wasm }\n  \
             again: { source: shouting.wasm, as: { shouting: upper } }\n\
             tests:\n  - vars: { text: one two }\n    assert: [{ type: few-words, value: 2 }, { type: not-few-words, value: 1 }]\n  \
             - vars: { text: ONE }\n    assert: [{ type: acme/brief, value: 1 }, { type: loud/shouting }, { type: shouting }]\n  \
             - vars: { text: one two }\n    assert: [{ type: not-acme/brief, value: 2 }]\n  - file://rows.csv\n",
        )
        .file(
            "rows.csv",
            "text,__expected\none,loud/shouting\nONE,upper\nONE,not-loud/shouting\n",
        )
        .args(["eval", "-o", "out.json"])
        .finish();
    let expected = [
        (true, vec!["few-words", "not-few-words"]),
        (true, vec!["acme/brief", "loud/shouting", "shouting"]),
        (false, vec!["not-acme/brief"]),
        (false, vec!["loud/shouting"]),
        (true, vec!["upper"]),
        (false, vec!["not-loud/shouting"]),
    ];
    let expected = expected.map(|(is_passed, kinds)| {
        let kinds: Vec<String> = kinds.into_iter().map(str::to_owned).collect();
        (is_passed, kinds)
    });
    assert_eq!(verdicts(&finished), expected);
}

/// The program's `contains` would say the opposite of each.
#[test]
fn a_name_of_the_programs_is_given_away_by_saying_so() {
    let finished = run()
        .config(
            "prompts: ['{{text}}']\nproviders: [echo]\n\
             plugins: { loud: { source: shouting.wasm, as: { shouting: contains } } }\n\
             tests:\n  - { vars: { text: ONE }, assert: [{ type: contains, value: two }, { type: icontains, value: one }] }\n  \
             - { vars: { text: one two }, assert: [{ type: contains, value: two }] }\n  - file://rows.csv\n",
        )
        .file("rows.csv", "text,__expected\none two,contains: two\n")
        .args(["eval", "-o", "out.json"])
        .finish();
    let passed: Vec<bool> = verdicts(&finished).into_iter().map(|(is, _)| is).collect();
    assert_eq!(passed, [true, false, false]);
}

#[test]
fn a_provider_is_asked_by_its_own_prefix_whatever_the_config_calls_it() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({ "answer": "hi" })));
    let url = format!("{}/acme", api.url());
    let finished = run()
        .file("acme.wasm", outside("provider"))
        .env("ACME_API_KEY", "acme-secret-value")
        .config(&format!(
            "prompts: [hello]\n\
             providers:\n  - {{ id: 'house:one', config: {{ url: '{url}' }} }}\n  \
             - {{ id: 'own/acme:two', config: {{ url: '{url}' }} }}\n\
             plugins:\n  own:\n    source: acme.wasm\n    as: {{ acme: house }}\n    permissions:\n      \
             hosts: ['https://api.acme.com', '{0}']\n      credentials: {{ acme-key: {{ env: ACME_API_KEY }} }}\n\
             tests: [{{ assert: [{{ type: equals, value: hi }}] }}]\n",
            api.url()
        ))
        .args(["eval", "-j", "1"])
        .finish();
    finished.expect_code(0);
    let requests = api.requests();
    let models: Vec<Value> = requests
        .iter()
        .map(|request| request.json["model"].clone())
        .collect();
    assert_eq!(models, ["one", "two"]);
}

#[test]
fn what_is_wrong_with_names_is_told_where_it_stands() {
    let check = |name: &str, plugins: &str, kind: &str| {
        let checked = run()
            .config(&format!(
                "prompts: [x]\nproviders: [echo]\nplugins:\n{plugins}tests: [{{ assert: [{{ type: {kind}, value: 1 }}] }}]\n"
            ))
            .args(["config", "check"])
            .finish();
        checked.told_as(name)
    };
    let two = "  one: { source: brief.wasm }\n  two: { source: brief.wasm";
    let told = [
        check(
            "no such name",
            "  acme: { source: brief.wasm, as: { breif: x, other: y } }\n",
            "brief",
        ),
        check(
            "no name at all",
            "  acme: { source: brief.wasm, as: { brief: Not a Name } }\n",
            "brief",
        ),
        check("two of one name", &format!("{two} }}\n"), "brief"),
        check(
            "renamed to what another has",
            &format!("{two}, as: {{ brief: brief }} }}\n"),
            "brief",
        ),
        check(
            "a language",
            "  acme: { source: brief.wasm, as: { brief: javascript } }\n",
            "brief",
        ),
        check(
            "its old name",
            "  acme: { source: brief.wasm, as: { brief: few } }\n",
            "brief",
        ),
        check(
            "a slip behind the plugin",
            "  acme: { source: brief.wasm }\n",
            "acme/breif",
        ),
    ];
    assert_snapshot!(told.concat());
}
