//! The question in a terminal.

use insta::assert_snapshot;
use runner_tests::{Finished, ModelApi, Run};

use super::{config, elsewhere, has_run, run};

/// A terminal in which somebody answers what is asked; what they see, and the code.
pub(super) fn answered(run: Run, answer: &str) -> Finished {
    let mut running = run.in_terminal().start();
    running.wait_for_stdout("[y/N] ");
    running.types(answer);
    running.finish()
}

#[test]
fn a_person_is_asked_one_question_and_only_yes_is_yes() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let run = run(&config(&address));
    // Enter, the end of input, a word that is none, and Ctrl-C.
    for (answer, code) in [
        ("\n", 2),
        ("\u{4}", 2),
        ("n\n", 2),
        ("sure\n", 2),
        ("\u{3}", 130),
    ] {
        let finished = answered(run.clone(), answer);
        assert_eq!(finished.code, Some(code), "{answer:?}: {}", finished.stdout);
        assert!(api.requests().is_empty(), "{answer:?}");
    }
    let yes = answered(run, "y\n");
    has_run(&yes, &api, 1);
    let asked = yes.stdout.replace('\r', "");
    let folder = yes.again().project().display().to_string();
    let question = format!(
        "the config asks for permissions that need your agreement:\n  \
         promptfooconfig.yaml:5:19: send the environment variable OPENAI_API_KEY to {address}\n\
         Allow this, and remember it for configs in {folder}? [y/N] "
    );
    assert!(asked.contains(&question), "{asked}");
    // Remembered: the next one is asked nothing.
    let again = yes.again().args(["eval", "--no-cache"]).in_terminal();
    has_run(&again.finish(), &api, 2);
}

#[test]
fn trust_asks_in_a_terminal_and_nowhere_else() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let run = run(&config(&address)).without_args().arg("trust");
    let unasked = run.clone().finish();
    assert_snapshot!("where_nobody_can_be_asked", unasked.told());
    answered(run.clone(), "n\n").expect_code(2);
    answered(run.clone(), "yes\n").expect_code(0);
    let now = run.finish();
    assert_snapshot!("when_it_was_agreed_to", now.told());
    assert!(api.requests().is_empty());
}

#[test]
fn what_rows_bring_is_a_question_of_its_own() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let row = format!(
        r#"{{ "vars": {{ "q": "1" }}, "provider": {{ "id": "openai:theirs", "config": {{ "apiBaseUrl": "{}" }} }} }}"#,
        api.url()
    );
    let config = format!("{}tests: file://rows.jsonl\n", config(&address));
    let run = run(&config).file("rows.jsonl", row);
    let mut asked = run.clone().in_terminal().start();
    asked.wait_for_stdout("[y/N] ");
    asked.types("y\n");
    asked.wait_for_stdout("rows of rows.jsonl ask for");
    asked.types("n\n");
    let no = asked.finish();
    no.expect_code(2);
    assert!(api.requests().is_empty());
    // What was said of the config stays; the rows are asked for again.
    let yes = answered(run, "y\n");
    yes.expect_code(0);
    assert!(
        yes.stdout.contains("ask the provider 'openai:theirs'")
            && yes
                .stdout
                .contains("remember it for the rows of rows.jsonl? [y/N] "),
        "{}",
        yes.stdout
    );
    assert!(!yes.stdout.contains("the config asks"), "{}", yes.stdout);
    assert!(!api.requests().is_empty());
}

/// Both lines reach the terminal before the first is read; the second is thrown away when the
/// second question is asked.
#[test]
fn what_is_typed_before_a_question_is_no_answer_to_it() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let row = format!(
        r#"{{ "vars": {{ "q": "1" }}, "provider": {{ "id": "openai:theirs", "config": {{ "apiBaseUrl": "{}" }} }} }}"#,
        api.url()
    );
    let config = format!("{}tests: file://rows.jsonl\n", config(&address));
    let mut asked = run(&config).file("rows.jsonl", row).in_terminal().start();
    asked.wait_for_stdout("[y/N] ");
    asked.types("y\ny\n");
    asked.wait_for_stdout("rows of rows.jsonl ask for");
    asked.types("n\n");
    asked.finish().expect_code(2);
    assert!(api.requests().is_empty());
}

/// Ctrl-C at a question ends the watching, too.
#[test]
fn a_question_while_watching_can_be_interrupted() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let watching = run(&config(&address)).arg("--watch");
    let ended = answered(watching, "\u{3}");
    assert_eq!(ended.code, Some(130), "{}", ended.stdout);
    assert!(api.requests().is_empty());
}
