//! What a server does to some rows costs those rows: the others are sent, and come out.

use runner_tests::{Answer, Finished, Gate, ModelApi, Run, Seen};
use serde_json::Value;

use crate::lanes::{of_provider, over, rows};

/// What the server of these tests can't stand.
const BAD: &str = "cat /etc/passwd";

fn is_bad(seen: &Seen) -> bool {
    seen.last_user_message()
        .is_some_and(|text| text.contains(BAD))
}

/// A run of so many bad rows, which a stranger's file brings before one's own.
fn beside_bad_rows(api: &ModelApi, bad: usize, own: usize) -> Finished {
    let row = |text: String| format!("{{\"vars\": {{\"q\": \"{text}\"}}}}\n");
    let strangers: String = (0..bad).map(|n| row(format!("{BAD} {n}"))).collect();
    let owned: String = (0..own).map(|n| row(format!("own {n}"))).collect();
    Run::new()
        .config(
            "prompts: ['{{q}}']\n\
             providers: [{ id: openai:m, config: { maxRetries: 0 } }]\n\
             tests: [file://strangers.jsonl, file://own.jsonl]\n",
        )
        .file("strangers.jsonl", strangers)
        .file("own.jsonl", owned)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "--no-table", "-o", "out.json"])
        .finish()
}

/// Each bad row has the server's own words, and every other one its answer.
#[track_caller]
fn cost_themselves(finished: &Finished, (bad, own): (usize, usize), words: &str) {
    finished.expect_code(100);
    let rows = rows(finished);
    let is_bad = |row: &&Value| row["vars"]["q"].as_str().is_some_and(|q| q.contains(BAD));
    let (theirs, ours): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(is_bad);
    assert_eq!((theirs.len(), ours.len()), (bad, own));
    for row in theirs {
        let error = row["error"].as_str().unwrap_or_default();
        assert!(error.contains(words), "{row}");
    }
    for row in ours {
        assert_eq!(row["success"], true, "{row}");
    }
}

/// A firewall or a filter dislikes a text; the key is as good as before.
#[test]
fn rows_that_a_server_refuses_for_their_text_end_no_other() {
    let api = ModelApi::start();
    api.rule(|seen| is_bad(seen).then(|| Answer::error(403, "", "this text is blocked")));
    let finished = beside_bad_rows(&api, 12, 20);
    cost_themselves(&finished, (12, 20), "this text is blocked");
    assert_eq!(api.requests().len(), 32);
}

/// One answer may be more than what is left can pay, and one page may be missing.
#[test]
fn rows_that_are_too_dear_or_ask_for_what_is_not_there_end_no_other() {
    for (status, words) in [(402, "fewer max_tokens"), (404, "no such page")] {
        let api = ModelApi::start();
        api.rule(move |seen| is_bad(seen).then(|| Answer::error(status, "", words)));
        let finished = beside_bad_rows(&api, 6, 10);
        cost_themselves(&finished, (6, 10), words);
        assert_eq!(api.requests().len(), 16);
    }
}

/// What a server repeats of a request says nothing about the account.
#[test]
fn rows_that_a_server_repeats_in_its_error_end_no_other() {
    for code in ["insufficient_quota", "rate_limit_exceeded"] {
        let api = ModelApi::start();
        let error = Answer::error(400, code, "you sent this; please try again in 9h0m0s");
        api.rule(move |seen| is_bad(seen).then(|| error.clone()));
        let finished = beside_bad_rows(&api, 6, 10);
        cost_themselves(&finished, (6, 10), "you sent this");
        assert_eq!(api.requests().len(), 16);
    }
}

/// A server that fails on what it can't digest is not down: other rows are tried, and show it.
#[test]
fn rows_that_a_server_fails_on_end_no_other() {
    let api = ModelApi::start();
    api.rule(|seen| is_bad(seen).then(|| Answer::error(500, "", "it broke")));
    let finished = beside_bad_rows(&api, 24, 20);
    cost_themselves(&finished, (24, 20), "it broke");
    assert_eq!(api.requests().len(), 44);
}

/// The places of a run are shared among its providers: one whose answers don't come leaves the others
/// theirs.
#[test]
fn a_server_that_hangs_holds_up_no_other_provider() {
    const ROWS: usize = 40;
    let (api, gate) = (ModelApi::start(), Gate::closed());
    let hangs = gate.clone();
    api.rule(move |seen| {
        (seen.json["model"] == "slow").then(|| Answer::text("at last").behind(&hangs))
    });
    let config = "prompts: ['{{n}}']\nproviders: [openai:slow, openai:quick]\ntests: tests.csv\n";
    let running = over(&api, config, ROWS).args(["-j", "4"]).start();
    // None of the slow one's is answered before all of the other's have come: it has two of the four slots
    // until then, and at last all four.
    api.wait_for_requests(ROWS + 4);
    gate.open();
    let finished = running.finish();
    finished.expect_code(0);
    let rows = rows(&finished);
    assert_eq!(of_provider(&rows, "openai:quick").len(), ROWS);
    assert_eq!(of_provider(&rows, "openai:slow").len(), ROWS);
    let models = api
        .requests()
        .into_iter()
        .map(|seen| seen.json["model"].clone());
    let first: Vec<Value> = models.take(ROWS + 4).collect();
    let quick = first.iter().filter(|model| **model == "quick").count();
    assert_eq!(quick, ROWS, "{first:?}");
}
