//! What is asked for only after something else was agreed to.

use runner_tests::ModelApi;

use super::{elsewhere, run};

/// Who read what `--show` shows has not read what comes after it.
#[test]
fn yes_agrees_to_what_is_shown_and_to_nothing_after_it() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let first = run(&format!(
        "env: {{ A: '{{{{ env.NOTE }}}}' }}\nprompts: ['hi {{{{ env.A }}}}']\nproviders:\n  - id: openai:gpt-test\n    config:\n      apiBaseUrl: {address}/v1\n"
    ));
    let first = first.env("NOTE", "a note of mine").finish();
    first.expect_code(2);
    let trust = |mode| first.again().args(["trust", mode]).finish();
    let shown = trust("--show");
    assert!(!shown.stdout.contains("OPENAI_API_KEY"), "{}", shown.stdout);
    let agreed = trust("--yes");
    agreed.expect_code(2);
    let said = &agreed.stderr;
    assert!(
        said.starts_with("error: more is asked for; agreed to so far:\n"),
        "{said}"
    );
    assert!(said.contains("environment variable NOTE appear"), "{said}");
    assert!(
        said.ends_with("help: `runner trust --show` shows it, `runner trust --yes` agrees to it\n"),
        "{said}"
    );
    assert!(!trust("--list").stdout.contains("OPENAI_API_KEY"));
    assert!(
        trust("--show")
            .stdout
            .contains("send the environment variable OPENAI_API_KEY")
    );
    trust("--yes").expect_code(0);
    trust("--yes").expect_code(0);
    first.again().arg("eval").finish().expect_code(0);
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn what_was_agreed_to_is_said_also_where_it_leads_to_a_mistake() {
    let first = run("prompts: [hi]\nproviders: [echo]\ntests: ../private.jsonl\n");
    let first = first.file("../private.jsonl", "{ no row\n").finish();
    first.expect_code(2);
    let agreed = first.again().args(["trust", "--yes"]).finish();
    agreed.expect_code(2);
    assert!(
        agreed.stderr.contains("agreed to so far:\n"),
        "{}",
        agreed.stderr
    );
    let list = first.again().args(["trust", "--list"]).finish();
    assert!(list.stdout.contains("private.jsonl"), "{}", list.stdout);
}
