//! Budgets over whole runs: what is sent, what is kept back, and what is done about it.

use runner_tests::{Answer, Finished, ModelApi, Run, target_folder};
use serde_json::{Value, json};

/// `count` tests of one prompt each, their words all different.
fn tests(count: usize) -> String {
    let words: Vec<String> = (0..count).map(|n| format!("word-{n}")).collect();
    format!("tests: [{{ vars: {{ word: {} }} }}]\n", json!(words))
}

fn config(count: usize, more: &str) -> String {
    let tests = tests(count);
    format!("prompts: ['Say {{{{word}}}}']\nproviders: [openai:m]\n{tests}{more}")
}

fn run(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "-o", "out.json"])
}

fn rows(finished: &Finished) -> Vec<Value> {
    let rows = &finished.json("out.json")["results"]["results"];
    rows.as_array().expect("rows").clone()
}

/// How many passed and how many were kept back; nothing else may have happened.
#[track_caller]
fn passed_and_kept_back(finished: &Finished) -> (usize, usize) {
    let rows = rows(finished);
    let of = |outcome: &str| rows.iter().filter(|row| row["outcome"] == outcome).count();
    let counts = (of("passed"), of("budget-exceeded"));
    assert_eq!(counts.0 + counts.1, rows.len(), "{}", finished.stdout);
    counts
}

/// Which cases came before the budget was spent depends on time, so that the rest is not compared.
#[track_caller]
fn says(finished: &Finished, text: &str) {
    assert!(
        finished.stdout.contains(text),
        "'{text}': {}",
        finished.stdout
    );
}

#[test]
fn requests_are_counted_exactly_and_the_rest_is_resumed() {
    let api = ModelApi::start();
    let first = run(&api, &config(100, ""))
        .args(["--max-requests", "10", "-j", "8"])
        .finish();
    first.expect_code(100);
    assert_eq!(api.requests().len(), 10);
    assert_eq!(passed_and_kept_back(&first), (10, 90));
    says(&first, "Budget of the run: 10 of 10 requests, spent.");
    says(&first, "Out of budget: 90 cases were not run to the end.");
    says(&first, "runner eval --resume run-");
    let stats = first.json("out.json")["results"]["stats"].clone();
    assert_eq!(stats["budgetExceeded"], 90);
    let kept = json!([{ "of": "the run", "measure": "requests", "limit": 10, "spent": 10 }]);
    assert_eq!(stats["budgets"], kept);
    let refused = rows(&first);
    let refused = refused
        .iter()
        .find(|row| row["outcome"] == "budget-exceeded");
    let refused = refused.expect("90 of them");
    assert_eq!(
        (&refused["errorCode"], &refused["success"]),
        (&json!("budget"), &json!(false))
    );
    let why = refused["error"].as_str().expect("a message");
    assert!(
        why.contains("(10 of 10 requests)") && why.contains("--max-requests"),
        "{why}"
    );

    let again = first.again().args(["eval", "--resume", "-j", "8"]).finish();
    again.expect_code(100);
    assert_eq!(
        passed_and_kept_back(&again),
        (20, 80),
        "a budget is a session's"
    );
    let rest = again
        .again()
        .args(["eval", "--resume", "--max-requests", "500"])
        .finish();
    rest.expect_code(0);
    assert_eq!(passed_and_kept_back(&rest), (100, 0));
    assert_eq!(api.requests().len(), 100, "each case was sent once");
}

#[test]
fn a_retry_takes_what_a_budget_kept_back() {
    let api = ModelApi::start();
    let first = run(&api, &config(5, "budget: { requests: 3 }\n")).finish();
    first.expect_code(100);
    assert_eq!(passed_and_kept_back(&first), (3, 2));
    let retried = first.again().args(["retry"]).finish();
    retried.expect_code(0);
    assert_eq!(passed_and_kept_back(&retried), (5, 0));
}

/// The API says four tokens for each answer.
#[test]
fn tokens_are_passed_by_one_call_at_most() {
    let api = ModelApi::start();
    let finished = run(&api, &config(40, ""))
        .args(["--max-tokens", "38", "-j", "8"])
        .finish();
    finished.expect_code(100);
    assert_eq!(api.requests().len(), 10);
    assert_eq!(passed_and_kept_back(&finished), (10, 30));
    says(&finished, "Budget of the run: 40 of 38 tokens, spent.");
}

/// A text may be a prompt as well as JSON.
#[test]
fn without_a_json_body_tokens_are_passed_by_one_call_at_most() {
    let api = ModelApi::start();
    api.always(Answer::json(
        &json!({ "usage": { "prompt_tokens": 2, "completion_tokens": 2 } }),
    ));
    let provider = json!({
        "id": format!("{}/v1/chat/completions", api.url()),
        "config": {
            "method": "POST",
            "headers": { "content-type": "text/plain" },
            "body": "{{prompt}}",
        },
    });
    let config = config(8, "").replace("openai:m", &provider.to_string());
    let finished = run(&api, &config)
        .args(["--max-tokens", "5", "-j", "8"])
        .finish();
    finished.expect_code(100);
    assert_eq!(api.requests().len(), 2);
    assert_eq!(passed_and_kept_back(&finished), (2, 6));
    says(&finished, "Budget of the run: 8 of 5 tokens, spent.");
}

#[test]
fn a_price_in_the_config_makes_dollars_of_tokens() {
    let api = ModelApi::start();
    let config =
        config(40, "").replace("[openai:m]", "[{ id: openai:m, config: { cost: 0.001 } }]");
    let finished = run(&api, &config)
        .args(["--max-cost", "0.02", "-j", "8"])
        .finish();
    finished.expect_code(100);
    assert_eq!(api.requests().len(), 5);
    assert_eq!(passed_and_kept_back(&finished), (5, 35));
    let rows = rows(&finished);
    let passed = rows.iter().filter(|row| row["outcome"] == "passed");
    assert!(passed.map(|row| &row["cost"]).all(|cost| *cost == 0.004));
    says(&finished, "Budget of the run: $0.02 of $0.02, spent.");
}

#[test]
fn dollars_that_nobody_states_are_no_bound_and_said_to_be_none() {
    let api = ModelApi::start();
    let finished = run(&api, &config(20, ""))
        .args(["--max-cost", "5"])
        .finish();
    finished.expect_code(100);
    assert_eq!(passed_and_kept_back(&finished), (1, 19));
    assert_eq!(api.requests().len(), 1);
    says(&finished, "nobody says what this provider's calls cost");
}

#[test]
fn what_is_cached_is_free_and_comes_when_nothing_is_left() {
    let api = ModelApi::start();
    let first = run(&api, &config(8, "")).finish();
    first.expect_code(0);
    let more = first.again().config(&config(12, ""));
    let second = more
        .args([
            "eval",
            "-o",
            "out.json",
            "--max-requests",
            "0",
            "--max-tokens",
            "0",
            "--max-cost",
            "0",
        ])
        .finish();
    second.expect_code(100);
    assert_eq!(passed_and_kept_back(&second), (8, 4));
    assert_eq!(api.requests().len(), 8);
}

#[test]
fn equal_cases_are_one_request_of_the_budget() {
    let api = ModelApi::start();
    let finished = run(&api, &config(5, "").replace("{{word}}", "it"))
        .args([
            "--max-requests",
            "1",
            "--max-cost",
            "1",
            "--max-tokens",
            "10",
            "-j",
            "8",
        ])
        .finish();
    finished.expect_code(0);
    assert_eq!(
        (passed_and_kept_back(&finished), api.requests().len()),
        ((5, 0), 1)
    );
}

/// A refused request is one, too: what is sent counts, not what is answered.
#[test]
fn retries_are_requests() {
    let api = ModelApi::start();
    api.always(Answer::error(500, "server_error", "not now").header("retry-after-ms", "1"));
    let finished = run(&api, &config(1, ""))
        .args(["--max-requests", "2"])
        .finish();
    finished.expect_code(100);
    assert_eq!(api.requests().len(), 2);
    assert_eq!(passed_and_kept_back(&finished), (0, 1));
}

#[test]
fn a_providers_budget_leaves_the_others_alone() {
    let api = ModelApi::start();
    let providers = "[{ id: openai:m, budget: { requests: 2 } }, openai:n]";
    let finished = run(&api, &config(5, "").replace("[openai:m]", providers)).finish();
    finished.expect_code(100);
    assert_eq!(passed_and_kept_back(&finished), (7, 3));
    says(
        &finished,
        "Budget of provider 'openai:m': 2 of 2 requests, spent.",
    );
}

/// A config with a stranger's provider, whose API states what a call costs.
fn acme(api: &ModelApi, count: usize, budget: &str) -> String {
    let source = target_folder().join("guests/outside/provider.wasm");
    format!(
        "prompts: ['{{{{word}}}}']\nproviders: [{{ id: 'acme:m', config: {{ url: '{0}/ask' }} }}]\n{1}\
         plugins:\n  acme:\n    source: '{2}'\n    budget: {budget}\n    permissions:\n      \
         hosts: ['{0}', 'https://api.acme.com']\n      credentials: {{ acme-key: {{ env: KEY }} }}\n",
        api.url(),
        tests(count),
        source.display()
    )
}

#[test]
fn a_plugins_budget_in_dollars_counts_what_its_answers_state() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({ "answer": "fine", "cost": 0.25 })));
    let finished = run(&api, &acme(&api, 20, "{ cost: 1 }"))
        .env("KEY", "acme-secret-value")
        .env("RUNNER_TRUST", "config")
        .args(["-j", "8"])
        .finish();
    finished.expect_code(100);
    assert_eq!(
        (passed_and_kept_back(&finished), api.requests().len()),
        ((4, 16), 4)
    );
    says(&finished, "Budget of plugin 'acme': $1.00 of $1.00, spent.");
}

/// The answer is paid for: it is kept, and a larger budget grades it without asking again.
#[test]
fn a_budget_that_ends_while_grading_keeps_the_answer() {
    let api = ModelApi::start();
    let judge = target_folder().join("guests/outside/judge.wasm");
    let config = format!(
        "prompts: ['this is fine']\nproviders: [{{ id: openai:m, label: judge }}]\n\
         tests: [{{ assert: [{{ type: agreed }}] }}]\n\
         plugins: {{ agreed: {{ source: '{}', permissions: {{ llm: [judge] }} }} }}\n",
        judge.display()
    );
    let first = run(&api, &config)
        .env("RUNNER_TRUST", "config")
        .args(["--max-requests", "1"])
        .finish();
    first.expect_code(100);
    assert_eq!(passed_and_kept_back(&first), (0, 1));
    let row = &rows(&first)[0];
    assert_eq!(
        (&row["errorCode"], &row["response"]["output"]),
        (&json!("budget"), &json!("this is fine"))
    );
    let again = first.again().args(["eval", "--resume"]).finish();
    again.expect_code(0);
    assert_eq!(passed_and_kept_back(&again), (1, 0));
    assert_eq!(api.requests().len(), 2, "the answer came from the cache");
}
