//! Going on with a run: what is done is not paid for again, and each case has one row.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::Value;

fn config(words: &[&str]) -> String {
    let tests: Vec<String> = words
        .iter()
        .map(|word| {
            format!(
                "  - vars: {{ word: {word} }}\n    assert: [{{ type: contains, value: {word} }}]\n"
            )
        })
        .collect();
    let tests = tests.concat();
    format!("prompts: ['Say {{{{word}}}}']\nproviders: [openai:m]\ntests:\n{tests}")
}

fn run(api: &ModelApi, words: &[&str]) -> Run {
    Run::new()
        .config(&config(words))
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
}

/// `word: outcome` of each row, in the order of the results.
fn outcomes(finished: &Finished) -> Vec<String> {
    let shown = finished.again().args(["show", "--json"]).finish();
    let document: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let rows = document["results"]["results"].as_array().expect("rows");
    rows.iter()
        .enumerate()
        .map(|(index, row)| {
            assert_eq!(row["testIdx"], index, "rows state the place that they have");
            let word = |value: &Value| value.as_str().expect("a word").to_owned();
            format!("{}: {}", word(&row["vars"]["word"]), word(&row["outcome"]))
        })
        .collect()
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let api = ModelApi::start();
    let never = Gate::closed();
    let behind = never.clone();
    api.rule(move |seen| {
        let held = matches!(seen.last_user_message()?, "Say c");
        held.then(|| Answer::text("late c").behind(&behind))
    });
    let running = run(&api, &["a", "b", "c", "d"])
        .args(["eval", "-j", "1", "-o", "out.json"])
        .start();
    api.wait_until(|view| view.requests == 3 && view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    let interrupted = running.finish();
    assert_snapshot!("interrupted", interrupted.told());
    assert_eq!(outcomes(&interrupted), ["a: passed", "b: passed"]);

    never.open();
    let resumed = interrupted.again().args(["eval", "--resume"]).finish();
    assert_snapshot!("resumed", resumed.told());
    assert_eq!(api.requests().len(), 5, "a and b were not asked again");
    let all = ["a: passed", "b: passed", "c: passed", "d: passed"];
    assert_eq!(outcomes(&resumed), all);
    let rows = resumed.json("out.json")["results"]["results"].clone();
    assert_eq!(rows.as_array().map(Vec::len), Some(4), "-o was remembered");
    let nothing = resumed.again().args(["eval", "--resume"]).finish();
    assert_snapshot!("nothing_to_resume", nothing.told());
}

#[test]
fn a_retry_runs_the_errors_and_nothing_else() {
    let api = ModelApi::start();
    api.script([
        Answer::text("a"),
        Answer::error(400, "bad", "no"),
        Answer::text("c"),
    ]);
    let first = run(&api, &["a", "b", "c"])
        .args(["eval", "-j", "1"])
        .finish();
    first.expect_code(100);
    assert_eq!(outcomes(&first), ["a: passed", "b: error", "c: passed"]);
    assert_eq!(api.requests().len(), 3);

    let retried = first.again().args(["retry"]).finish();
    assert_snapshot!(retried.told());
    assert_eq!(api.requests().len(), 4);
    assert_eq!(outcomes(&retried), ["a: passed", "b: passed", "c: passed"]);
}

#[test]
fn a_retry_takes_no_flag_that_names_another_run() {
    let api = ModelApi::start();
    let first = run(&api, &["a"]).args(["eval"]).finish();
    let other = first.again().args(["retry", "latest", "--resume", "run-1"]);
    assert_snapshot!("retry_with_resume", other.finish().told());
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn an_edited_config_runs_exactly_what_changed() {
    let api = ModelApi::start();
    let first = run(&api, &["a", "b", "c"])
        .args(["eval", "-j", "1"])
        .finish();
    first.expect_code(0);
    let id = first
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("run-"));
    let id = id
        .expect("the summary names the run")
        .trim_matches(|c: char| !c.is_alphanumeric());
    let edited = first.again().config(&config(&["new", "a", "c"]));
    let resumed = edited.args(["eval", "--resume", id]).finish();
    assert_snapshot!(resumed.told());
    assert_eq!(api.requests().len(), 4);
    assert_eq!(
        outcomes(&resumed),
        ["new: passed", "a: passed", "c: passed"]
    );
}

#[test]
fn another_config_deletes_nothing_unless_it_is_forced_to() {
    let api = ModelApi::start();
    let first = run(&api, &["a", "b"]).args(["eval"]).finish();
    first.expect_code(0);
    let other = first.again().config(&config(&["x", "y"]));
    let refused = other.args(["retry"]).finish();
    assert_snapshot!(refused.told());
    assert_eq!(api.requests().len(), 2);
    assert_eq!(outcomes(&refused), ["a: passed", "b: passed"]);
}

/// A model that isn't there is found out with three requests, not with one per case.
#[test]
fn a_missing_model_is_asked_for_three_times() {
    let api = ModelApi::start();
    api.always(Answer::error(404, "model_not_found", "no such model"));
    let finished = run(&api, &["a", "b", "c", "d", "e", "f"])
        .args(["eval", "-j", "1"])
        .finish();
    finished.expect_code(100);
    assert_eq!(api.requests().len(), 3);
    assert_eq!(outcomes(&finished).len(), 6, "each case has its error row");
    let all = outcomes(&finished)
        .iter()
        .all(|row| row.ends_with(": error"));
    assert!(all);
}

/// The words of the command line name files; a session that goes on finds the same cases.
#[test]
fn prompts_in_files_and_a_config_named_in_the_folder_are_the_same_cases_later() {
    let api = ModelApi::start();
    api.script([Answer::text("a"), Answer::error(400, "bad", "no")]);
    let config = config(&["a", "b", "c"]).replace("'Say {{word}}'", "file://p.txt");
    let first = run(&api, &["a"])
        .file("c.yaml", config)
        .file("p.txt", "Say {{word}}")
        .args(["eval", "-c", "c.yaml", "-j", "1"])
        .finish();
    first.expect_code(100);
    let retried = first.again().args(["retry"]).finish();
    retried.expect_code(0);
    // The table shows the prompt's file, and is as wide as its path is long.
    assert!(
        retried.stderr.contains("3 rows kept, 0 moved, 0 dropped"),
        "{}",
        retried.stderr
    );
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn where_answers_come_from_and_go_to_stays_as_it_was() {
    let api = ModelApi::start();
    let recorded = run(&api, &["a", "b"])
        .args(["eval", "-j", "1", "--no-cache", "--record", "all.rec"])
        .finish();
    recorded.expect_code(0);
    assert_eq!(api.requests().len(), 2);

    // One more test: what is recorded is added to, and nothing comes from the cache.
    let id = recorded
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("run-"));
    let id = id
        .expect("named")
        .trim_matches(|c: char| !c.is_alphanumeric());
    let longer = recorded.again().config(&config(&["a", "b", "c"]));
    let longer = longer.args(["eval", "--resume", id]).finish();
    longer.expect_code(0);
    let lines = longer.read("all.rec").lines().count();
    assert_eq!(
        (api.requests().len(), lines),
        (3, 4),
        "a head and three exchanges"
    );

    // From the recording: one answer is not in it, and a retry does not ask for it.
    let replayed = longer.again().config(&config(&["a", "d"]));
    let replayed = replayed.args(["eval", "--replay", "all.rec"]).finish();
    replayed.expect_code(100);
    replayed.again().args(["retry"]).finish().expect_code(100);
    assert_eq!(api.requests().len(), 3, "nothing left the machine");
}

#[test]
fn a_retry_deletes_nothing_that_it_does_not_replace() {
    let api = ModelApi::start();
    api.script([
        Answer::text("a"),
        Answer::error(400, "bad", "no"),
        Answer::text("c"),
    ]);
    let first = run(&api, &["a", "b", "c"])
        .args(["eval", "-j", "1"])
        .finish();
    first.expect_code(100);
    let edited = first.again().config(&config(&["new", "b", "c"]));
    let refused = edited.args(["retry"]).finish();
    assert_snapshot!(refused.told());
    let rows = ["a: passed", "b: error", "c: passed"];
    assert_eq!(outcomes(&refused), rows, "nothing is gone");
}
