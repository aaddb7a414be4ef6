//! `runner init`, `runner config check`, `runner config schema`.

use insta::assert_snapshot;
use runner_tests::{Run, workspace_root};

#[test]
fn a_new_config_runs_at_once_and_is_never_written_over() {
    let made = Run::new().arg("init").finish();
    made.expect_code(0);
    assert_eq!(
        made.stdout,
        "written: promptfooconfig.yaml, config.schema.json (for editors)\nnext: runner eval\n"
    );
    let evaluated = made.again().args(["eval", "-o", "out.json"]).finish();
    evaluated.expect_code(0);
    let stats = &evaluated.json("out.json")["results"]["stats"];
    assert_eq!(
        (&stats["successes"], &stats["failures"]),
        (&6.into(), &0.into())
    );
    assert!(
        !evaluated.stderr.contains("warning"),
        "{}",
        evaluated.stderr
    );

    let before = made.read("promptfooconfig.yaml");
    let again = made.again().arg("init").finish();
    again.expect_code(2);
    assert_eq!(
        again.stderr,
        "error: there is a promptfooconfig.yaml already\n\
         help: run it with `runner eval`, or name another folder: runner init DIR\n"
    );
    assert_eq!(made.read("promptfooconfig.yaml"), before);

    let other = made.again().args(["init", "new/folder"]).finish();
    other.expect_code(0);
    let next = "written: new/folder/promptfooconfig.yaml, new/folder/config.schema.json (for editors)\nnext: runner eval -c new/folder/promptfooconfig.yaml\n";
    assert_eq!(other.stdout, next);
}

#[test]
fn a_config_is_checked_without_being_run() {
    let config = "description: Mine\nprompts: ['{{q}}', 'Say {{q}}']\nproviders: [echo]\n\
                  tests: [{ vars: { q: [a, b] } }, { vars: { q: c }, options: { repeat: 2 } }]\n";
    let checked = Run::new().config(config).args(["config", "check"]).finish();
    checked.expect_code(0);
    assert_eq!(
        checked.stdout,
        "fine: Mine: 2 columns × 4 tests = 8 cases, at most 256 at once\n"
    );
    let listed = checked.again().args(["list", "--json"]).finish();
    assert_eq!(listed.stdout_json(), serde_json::json!([]));

    let shown = checked
        .again()
        .args(["config", "check", "--show", "-j", "3"])
        .finish();
    assert_snapshot!(shown.told());
}

#[test]
fn what_a_run_would_be_refused_for_is_found_by_the_check() {
    let mut told = String::new();
    for config in [
        "providers: [nowhere:m]",
        "providers: ['openai:m']",
        "providers: [echo]\ntests: [{ assert: [{ type: contain, value: x }] }]",
        "providers: [echo]\noutputPath: promptfooconfig.yaml/no.json",
    ] {
        let run = Run::new().config(&format!("prompts: [x]\n{config}\n"));
        let checked = run.args(["config", "check"]).finish();
        let evaluated = checked.again().arg("eval").finish();
        evaluated.expect_code(2);
        assert_eq!(checked.stderr, evaluated.stderr);
        told += &checked.told_as(config);
    }
    assert_snapshot!(told);
}

#[test]
fn a_misspelt_key_is_never_green() {
    let config = "description: Mine\nprompts: [x]\nproviders: [echo]\nown: 1\ndefault_test: {}\ntests:\n  - { vars: { a: 1 }, asserts: [{ type: equals, value: y }] }\n  - assert: [{ type: contains, value: x, treshold: 1 }]\n";
    let mut told = String::new();
    for flags in [&[][..], &["--lenient"], &["--strict"]] {
        let run = Run::new().config(config).env("RUNNER_DEALY_MS", "1");
        let checked = run.args(["config", "check"]).args(flags).finish();
        let evaluated = checked.again().arg("eval").args(flags);
        let evaluated = evaluated.env("RUNNER_DEALY_MS", "1").finish();
        let is_refused = checked.code == Some(2);
        assert_eq!(
            evaluated.code == Some(2),
            is_refused,
            "{}",
            evaluated.told()
        );
        if is_refused {
            assert_eq!(checked.stderr, evaluated.stderr);
        }
        told += &checked.told_as(&flags.join(" "));
    }
    assert_snapshot!(told);
}

#[test]
fn a_key_of_a_providers_config_that_is_nearly_its_plugins_is_warned_of() {
    let config = "prompts: [x]\nproviders:\n  - id: openai:m\n    config: { temprature: 0, maxTokens: 9, top_k: 3, own: 1 }\n";
    let run = Run::new().config(config).env("OPENAI_API_KEY", "sk-x");
    let checked = run.args(["config", "check"]).finish();
    checked.expect_code(0);
    assert_eq!(
        checked.stderr,
        "warning: promptfooconfig.yaml:4:27: providers[0].config.temprature: unknown key 'temprature' goes to the API\n\
         help: did you mean 'temperature'?\n\
         warning: promptfooconfig.yaml:4:41: providers[0].config.maxTokens: unknown key 'maxTokens' goes to the API\n\
         help: did you mean 'max_tokens'?\n"
    );
}

#[test]
fn the_schema_is_printed_as_it_is_kept() {
    let printed = Run::new().args(["config", "schema"]).finish();
    printed.expect_code(0);
    let kept = workspace_root().join("host/config/config.schema.json");
    let kept = std::fs::read_to_string(kept).expect("it is there");
    assert_eq!(printed.stdout, kept);
}

#[test]
fn the_schema_is_written_beside_a_config_and_over_no_other_file() {
    let written = Run::new().args(["config", "schema", "--write"]).finish();
    written.expect_code(0);
    assert_eq!(
        written.stdout,
        "written: config.schema.json\n\
         first line of the config: # yaml-language-server: $schema=./config.schema.json\n"
    );
    let printed = Run::new().args(["config", "schema"]).finish();
    assert_eq!(written.read("config.schema.json"), printed.stdout);
    // An older one is replaced.
    let again = written.again().args(["config", "schema", "--write"]);
    again.finish().expect_code(0);

    let config = "prompts: [x]\nproviders: [echo]\n";
    let over = ["config", "schema", "--write", "promptfooconfig.yaml"];
    let refused = Run::new().config(config).args(over).finish();
    refused.expect_code(2);
    assert_eq!(
        refused.stderr,
        "error: promptfooconfig.yaml is there already and is no schema of a config\n\
         help: name another file\n"
    );
    assert_eq!(refused.read("promptfooconfig.yaml"), config);
}
