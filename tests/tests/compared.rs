//! `select-best` and `max-score`: the answers of a row are compared once all of them are there,
//! whatever happened on the way.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::{Value, json};

const KEY: &str = "sk-test-key-of-a-test";

const BEST: &str = "prompts: ['Say {{word}}']\nproviders: ['openai:a', 'openai:b']\n\
    defaultTest: { options: { provider: 'openai:judge' } }\n\
    tests:\n  - vars: { word: x }\n    assert: [{ type: contains, value: x }, { type: select-best, value: 'the kindest about {{word}}' }]\n";

const HIGHEST: &str = "prompts: ['Say {{word}}', 'Tell {{word}}']\nproviders: ['openai:a', 'openai:b']\n\
    tests:\n  - vars: { word: [x, y] }\n    assert: [{ type: contains, value: Tell, weight: 1 }, { type: contains, value: Say, weight: 3 }, { type: max-score, value: { weights: { contains: 2 } } }]\n";

fn run(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
}

/// The judge says this, and everybody else what was asked.
fn judging(api: &ModelApi, verdict: &str) {
    let verdict = verdict.to_owned();
    api.rule(move |seen| (seen.json["model"] == "judge").then(|| Answer::text(&verdict)));
}

fn asked(api: &ModelApi, model: &str) -> usize {
    let requests = api.requests();
    requests
        .iter()
        .filter(|it| it.json["model"] == model)
        .count()
}

/// Outcome, score and reason of each row as the store has them.
fn rows(finished: &Finished) -> Vec<Value> {
    let shown = finished.again().args(["show", "--json"]).finish();
    let document: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let rows = document["results"]["results"].as_array().expect("rows");
    rows.iter()
        .map(|row| json!([row["outcome"], row["score"]]))
        .collect()
}

#[test]
fn the_judge_is_asked_once_for_a_row_and_who_is_not_chosen_fails() {
    let api = ModelApi::start();
    judging(&api, "1");
    let finished = run(&api, BEST)
        .args(["eval", "-o", "out.json", "-o", "out.jsonl"])
        .finish();
    finished.expect_code(100);
    assert_eq!(asked(&api, "judge"), 1);
    let requests = api.requests();
    let question = requests.iter().find(|it| it.json["model"] == "judge");
    let question = question.expect("asked").json["messages"].to_string();
    assert!(question.contains("the kindest about x"), "{question}");
    assert_eq!(question.matches("Say x").count(), 2, "{question}");
    assert_eq!(
        rows(&finished),
        [json!(["failed", 0.0]), json!(["passed", 1.0])]
    );
    let document = finished.json("out.json");
    let row = &document["results"]["results"][0];
    let components = row["gradingResult"]["componentResults"].as_array();
    let kinds: Vec<&Value> = components
        .expect("graded")
        .iter()
        .map(|it| &it["assertion"]["type"])
        .collect();
    assert_eq!(kinds, ["contains", "select-best"]);
    assert_eq!(row["failureReason"], 1);
    let reason = row["error"].as_str().expect("a reason");
    assert!(reason.contains("the kindest about x"), "{reason}");
    // What asking cost is in the sums once.
    let tokens = |column: usize| {
        let row = &document["results"]["results"][column];
        row["gradingResult"]["tokensUsed"]["numRequests"].as_u64()
    };
    assert_eq!((tokens(0), tokens(1)), (Some(1), Some(0)));
    assert_eq!(document["results"]["stats"]["successes"], 1);
    assert_eq!(document["results"]["stats"]["failures"], 1);
    let lines = finished.read("out.jsonl");
    assert_eq!(lines.lines().count(), 2, "each case once");
}

#[test]
fn a_reply_that_chooses_none_passes_nobody() {
    for reply in ["7", "I can't say"] {
        let api = ModelApi::start();
        judging(&api, reply);
        let finished = run(&api, BEST).args(["eval"]).finish();
        finished.expect_code(100);
        assert_eq!(
            rows(&finished),
            [json!(["failed", 0.0]), json!(["failed", 0.0])]
        );
    }
}

#[test]
fn the_highest_score_wins_and_of_equal_ones_the_first() {
    let api = ModelApi::start();
    let finished = run(&api, HIGHEST).args(["eval", "--repeat", "2"]).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows.len(), 16);
    for row in rows.chunks(4) {
        // Every answer fails one of the two assertions; the plain means are equal.
        assert_eq!(
            row[0],
            json!(["failed", 0.75]),
            "the first of equals is chosen"
        );
        for loser in &row[1..] {
            assert_eq!(*loser, json!(["failed", 0.0]));
        }
    }
}

#[test]
fn an_answer_without_rivals_is_an_error_and_a_retry_mends_the_row() {
    let api = ModelApi::start();
    judging(&api, "0");
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let still = broken.clone();
    api.rule(move |seen| {
        let fails = seen.json["model"] == "b" && still.load(std::sync::atomic::Ordering::SeqCst);
        fails.then(|| Answer::error(400, "bad", "no"))
    });
    let first = run(&api, BEST).args(["eval", "--no-cache"]).finish();
    first.expect_code(100);
    assert_eq!(rows(&first), [json!(["error", 0.0]), json!(["error", 0.0])]);
    assert_eq!(asked(&api, "judge"), 0);
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    let retried = first.again().args(["retry"]).finish();
    retried.expect_code(100);
    assert_eq!(
        rows(&retried),
        [json!(["passed", 1.0]), json!(["failed", 0.0])]
    );
    assert_eq!(asked(&api, "a"), 1, "its answer was there already");
    assert_eq!((asked(&api, "b"), asked(&api, "judge")), (2, 1));
}

#[test]
fn rows_that_a_retry_does_not_come_to_stay_as_they_are() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let still = broken.clone();
    api.rule(move |seen| {
        (seen.json["model"] == "b").then(|| {
            if still.load(std::sync::atomic::Ordering::SeqCst) {
                Answer::error(400, "bad", "no")
            } else {
                Answer::text("Say it").behind(&behind)
            }
        })
    });
    let config = HIGHEST.replace(", 'Tell {{word}}'", "");
    let first = run(&api, &config)
        .args(["eval", "--no-cache", "-j", "1"])
        .finish();
    first.expect_code(100);
    // An answer without rivals.
    let alone = [json!(["error", 0.0]), json!(["error", 0.0])];
    assert_eq!(rows(&first), [alone.clone(), alone.clone()].concat());
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    let running = first.again().args(["retry", "-j", "1"]).start();
    api.wait_until(|view| view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    let interrupted = running.finish();
    interrupted.expect_code(130);
    // The first row was taken up again; nobody came to the second.
    let open = [json!(["cancelled", 0.0]), json!(["error", 0.0])];
    assert_eq!(rows(&interrupted), [open, alone].concat());
    gate.open();
    let retried = interrupted.again().args(["retry"]).finish();
    retried.expect_code(100);
    let compared = [json!(["failed", 0.75]), json!(["failed", 0.0])];
    assert_eq!(rows(&retried), [compared.clone(), compared].concat());
    assert_eq!(asked(&api, "a"), 2, "its answers were there already");
}

#[test]
fn an_interrupted_row_keeps_its_answers_and_is_compared_when_the_run_goes_on() {
    let api = ModelApi::start();
    judging(&api, "1");
    let never = Gate::closed();
    let behind = never.clone();
    api.rule(move |seen| {
        (seen.json["model"] == "b").then(|| Answer::text("late x").behind(&behind))
    });
    let running = run(&api, BEST).args(["eval", "--no-cache"]).start();
    // The first answer has come: two were asked, and one is on its way.
    api.wait_until(|view| view.requests == 2 && view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    let interrupted = running.finish();
    interrupted.expect_code(130);
    assert_eq!(asked(&api, "judge"), 0);
    assert_eq!(rows(&interrupted), [json!(["cancelled", 0.0])]);
    never.open();
    let resumed = interrupted.again().args(["eval", "--resume"]).finish();
    assert_snapshot!(resumed.told());
    assert_eq!(
        rows(&resumed),
        [json!(["failed", 0.0]), json!(["passed", 1.0])]
    );
    assert_eq!(asked(&api, "a"), 1, "what was answered is not asked again");
    assert_eq!(asked(&api, "judge"), 1);
}

#[test]
fn a_judge_that_was_cut_off_is_asked_when_the_run_goes_on_and_nobody_else() {
    let api = ModelApi::start();
    let never = Gate::closed();
    let behind = never.clone();
    api.rule(move |seen| {
        (seen.json["model"] == "judge").then(|| Answer::text("0").behind(&behind))
    });
    let running = run(&api, BEST).args(["eval", "--no-cache"]).start();
    api.wait_until(|view| view.requests == 3 && view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    let interrupted = running.finish();
    interrupted.expect_code(130);
    assert_eq!(
        rows(&interrupted),
        [json!(["cancelled", 0.0]), json!(["cancelled", 0.0])]
    );
    never.open();
    let resumed = interrupted.again().args(["eval", "--resume"]).finish();
    resumed.expect_code(100);
    assert_eq!(
        rows(&resumed),
        [json!(["passed", 1.0]), json!(["failed", 0.0])]
    );
    assert_eq!((asked(&api, "a"), asked(&api, "b")), (1, 1));
    assert_eq!(asked(&api, "judge"), 2);
}

#[test]
fn a_column_that_is_added_or_taken_away_makes_a_row_be_compared_anew() {
    let api = ModelApi::start();
    let config = |columns: &str| HIGHEST.replace("['openai:a', 'openai:b']", columns);
    let first = run(&api, &config("['openai:a', 'openai:b']"))
        .args(["eval"])
        .finish();
    first.expect_code(100);
    let asked_before = api.requests().len();
    let id = first
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("run-"));
    let id = id
        .expect("the run is named")
        .trim_matches(|c: char| !c.is_alphanumeric());
    let fewer = first.again().config(&config("['openai:b']"));
    let fewer = fewer.args(["eval", "--resume", id]).finish();
    fewer.expect_code(100);
    assert_eq!(api.requests().len(), asked_before, "every answer was there");
    let row = [json!(["failed", 0.75]), json!(["failed", 0.0])];
    assert_eq!(
        rows(&fewer),
        [row.clone(), row].concat(),
        "another one is chosen now"
    );
}
