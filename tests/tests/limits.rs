//! Limits on time and money that a whole run shows: each costs its row, and the row says which
//! limit it was.

use std::time::Duration;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run, built_program, guest};
use serde_json::Value;

fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}

fn over(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "-o", "out.json"])
}

const WORDS: &str = "prompts: ['{{word}}']\nproviders: [openai:m]\ntests: [{ vars: { word: slow } }, { vars: { word: quick } }]\n";

#[test]
fn a_server_that_never_answers_costs_its_row() {
    let api = ModelApi::start();
    let never = Gate::closed();
    api.rule(move |seen| {
        (seen.last_user_message()? == "slow").then(|| Answer::text("never").behind(&never))
    });
    let finished = over(&api, WORDS).args(["--timeout-ms", "1500"]).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows[0]["errorCode"], "timeout");
    assert!(
        rows[0]["error"]
            .as_str()
            .expect("a message")
            .contains("1500 ms (timeoutMs)")
    );
    assert_eq!(rows[1]["success"], true);
}

/// Each request is an open file: with more cases than files the database would find none left.
#[cfg(unix)]
#[test]
fn more_cases_than_the_system_has_files_for_run_one_after_the_other() {
    let api = ModelApi::start();
    let finished = Run::new()
        .config("prompts: ['{{n}}']\nproviders: [openai:m]\ntests: tests.csv\n")
        .numbered_tests(1500)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .program("/bin/sh")
        .args(["-c", "ulimit -n 300; exec \"$0\" \"$@\""])
        .arg(built_program())
        .args(["eval", "--no-table", "-j", "5000"])
        .finish();
    assert_snapshot!(finished.told());
    assert!(api.max_concurrent() <= 86, "{}", api.max_concurrent());
}

/// The answer is paid for: it is kept, with its tokens, whatever the grader does.
#[test]
fn a_grader_that_hangs_does_not_cost_the_answer() {
    let api = ModelApi::start();
    // Three share one thread, so that none ends by its own limit before the case does: what it may
    // compute is a number of steps, which a fast machine has soon taken.
    let config = "prompts: [hi]\nproviders: [openai:m]\n\
                  tests: [{ assert: [{ type: spin }, { type: spin }, { type: spin }] }]\n";
    let finished = over(&api, config)
        .args(["--timeout-ms", "150", "--plugin"])
        .arg(guest("tests/hostile"))
        .finish();
    finished.expect_code(100);
    let row = &rows(&finished)[0];
    assert_eq!(row["errorCode"], "timeout");
    assert_eq!(row["response"]["output"], "hi");
    assert_eq!(row["tokenUsage"]["numRequests"], 1);
}

/// No answer is no pass, whatever the assertions say of an empty text.
#[test]
fn an_answer_without_content_is_an_error() {
    let api = ModelApi::start();
    let message = serde_json::json!({ "role": "assistant", "content": null });
    api.always(Answer::json(
        &serde_json::json!({ "choices": [{ "index": 0, "message": message }] }),
    ));
    let config = "prompts: [hi]\nproviders: [openai:m]\ntests: [{ assert: [{ type: not-contains, value: x }] }]\n";
    let finished = over(&api, config).finish();
    finished.expect_code(100);
    assert_eq!(rows(&finished)[0]["errorCode"], "bad-response");
}

/// A secret that a template puts into a prompt goes to the provider, and nowhere else.
#[test]
fn a_declared_secret_in_a_prompt_is_not_kept() {
    let config = "env: { MY_TOKEN: }\nprompts: ['it is {{ env.MY_TOKEN }}']\nproviders: [echo]\n";
    let finished = Run::new()
        .config(config)
        .env("MY_TOKEN", "tok-0123456789")
        .args(["eval", "--trust-config", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    assert_eq!(rows(&finished)[0]["response"]["output"], "it is [masked]");
    assert!(!finished.stdout.contains("tok-0123456789"));
}

/// A key that is also a word of the results file costs neither the row nor the run.
#[test]
fn a_key_that_is_a_field_name_breaks_nothing() {
    let api = ModelApi::start();
    let config = "prompts: ['my provider']\nproviders: [openai:m]\n";
    let finished = over(&api, config)
        .env("OPENAI_API_KEY", "provider")
        .finish();
    finished.expect_code(0);
    assert_eq!(rows(&finished)[0]["prompt"]["raw"], "my [masked]");
}

/// Throttling is not work: a pause that the server asked for, longer than the case's limit,
/// is no timeout.
#[test]
fn a_pause_that_the_server_asked_for_is_no_timeout() {
    let api = ModelApi::start();
    api.script([
        Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "3000")
    ]);
    let finished = over(&api, WORDS)
        .args(["--timeout-ms", "2000", "-j", "1"])
        .finish();
    finished.expect_code(0);
}

#[test]
fn the_time_limit_of_the_run_stops_it_and_keeps_what_is_done() {
    let api = ModelApi::start();
    let never = Gate::closed();
    api.rule(move |seen| {
        (seen.last_user_message()? == "slow").then(|| Answer::text("never").behind(&never))
    });
    let finished = over(&api, WORDS)
        .args(["--max-eval-time-ms", "3000"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["errorCode"], "timeout", "it was at work");
    assert!(
        rows[0]["error"]
            .as_str()
            .expect("a message")
            .contains("3000 ms (maxEvalTimeMs)")
    );
    assert_eq!(rows[1]["success"], true);
}

/// In the server's own clock: at least the delay between one answer and the next request.
#[test]
fn a_delay_is_kept_between_calls() {
    let api = ModelApi::start();
    let finished = over(&api, WORDS)
        .args(["--delay", "120", "-j", "1"])
        .finish();
    finished.expect_code(0);
    let requests = api.requests();
    assert!(requests[1].at >= requests[0].at + Duration::from_millis(120));
}

#[test]
fn a_plugins_budget_of_requests_ends_its_cases_as_budget_exceeded() {
    let api = ModelApi::start();
    api.always(Answer::json(&serde_json::json!({ "answer": "fine" })));
    let provider = guest("outside/provider");
    let config = format!(
        "prompts: ['{{{{n}}}}']\nproviders: [{{ id: 'acme:m', config: {{ url: '{0}/ask' }} }}]\n\
         tests: [{{ vars: {{ n: ['1', '2', '3'] }} }}]\n\
         plugins:\n  acme:\n    source: '{1}'\n    limits: {{ requests: 2 }}\n    permissions:\n      \
         hosts: ['{0}', 'https://api.acme.com']\n      credentials: {{ acme-key: {{ env: KEY }} }}\n",
        api.url(),
        provider.display()
    );
    let finished = Run::new()
        .config(&config)
        .env("KEY", "acme-secret-value")
        .env("RUNNER_TRUST", "config")
        .args(["eval", "-o", "out.json", "-j", "1"])
        .finish();
    finished.expect_code(100);
    let outcomes: Vec<_> = rows(&finished)
        .iter()
        .map(|row| row["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["passed", "passed", "budget-exceeded"]);
    assert_eq!(api.requests().len(), 2);
}

#[test]
fn a_config_that_a_plugin_refuses_is_found_at_load() {
    let api = ModelApi::start();
    let config = "prompts: [hi]\nproviders:\n  - id: openai:m\n    config: { temperature: hot }\n";
    let finished = over(&api, config).finish();
    assert_snapshot!(finished.told());
    // Another form has other keys: what is wrong is the id.
    let config =
        "prompts: [hi]\nproviders:\n  - id: openai:realtime:m\n    config: { temperature: hot }\n";
    let finished = over(&api, config).finish();
    assert!(
        finished.stderr.contains("no form `realtime`"),
        "{}",
        finished.stderr
    );
    assert!(
        !finished.stderr.contains("temperature"),
        "{}",
        finished.stderr
    );
    assert!(api.requests().is_empty());
}
