//! Limits on time, and the pause between calls, as a whole run shows them.
//!
//! Each limit that passes costs its row: the row names the limit and its value, keeps what had
//! come until then, and the other cases go on. What is waiting and not work counts for the run's
//! limit alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runner_tests::{Answer, Finished, Gate, ModelApi, Run, guest};
use serde_json::Value;

/// Two cases, the first of which the tests hold up.
const TWO: &str = "prompts: ['{{word}}']\nproviders: [openai:m]\ntests: [{ vars: { word: slow } }, { vars: { word: quick } }]\n";

fn over(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        // Some name components of the tests.
        .env("RUNNER_TRUST", "config")
        .args(["eval", "-o", "out.json"])
}

fn rows(finished: &Finished) -> Vec<Value> {
    let rows = finished.json("out.json")["results"]["results"].clone();
    rows.as_array().expect("rows").clone()
}

/// The row is an error that says `told`.
#[track_caller]
fn expect_error(row: &Value, code: &str, told: &str) {
    assert_eq!(row["outcome"], "error", "{row}");
    assert_eq!(row["errorCode"], code, "{row}");
    let error = row["error"].as_str().expect("an error has a message");
    assert!(error.contains(told), "{error}");
}

/// A component of the tests, granted nothing and under these limits.
fn hostile(limits: &str) -> String {
    let file = guest("tests/hostile");
    let file = file.display();
    format!("plugins: {{ hostile: {{ source: '{file}', limits: {{ {limits} }} }} }}\n")
}

/// One provider, called `judge`, that answers and is asked about each answer.
fn judged(words: &[&str], more: &str) -> String {
    let file = guest("outside/judge");
    let (file, words) = (file.display(), words.join(", "));
    format!(
        "prompts: ['{{{{word}}}}']\nproviders: [{{ id: openai:m, label: judge{more} }}]\n\
         defaultTest: {{ assert: [{{ type: agreed }}] }}\ntests: [{{ vars: {{ word: [{words}] }} }}]\n\
         plugins: {{ agreed: {{ source: '{file}', permissions: {{ llm: [judge] }} }} }}\n"
    )
}

/// Holds back the answers to questions that begin so.
fn hold(api: &ModelApi, beginning: &'static str) -> Gate {
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| {
        let held = seen.last_user_message()?.starts_with(beginning);
        held.then(|| Answer::text("late").behind(&behind))
    });
    gate
}

#[test]
fn of_five_hundred_cases_the_twenty_nine_that_hang_end_as_errors() {
    let api = ModelApi::start();
    let _never = hold(&api, "hang");
    let row = |n: u32| match n % 17 {
        3 if n < 17 * 29 => format!("hang {n}\n"),
        _ => format!("row {n}\n"),
    };
    let config = "prompts: ['{{n}}']\nproviders: [openai:m]\ntests: tests.csv\n";
    let finished = over(&api, config)
        .file(
            "tests.csv",
            format!("n\n{}", (0..500).map(row).collect::<String>()),
        )
        .args(["--timeout-ms", "3000"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows.len(), 500);
    let (hung, done): (Vec<_>, Vec<_>) = rows.iter().partition(|row| {
        let prompt = row["vars"]["n"].as_str().expect("a text");
        prompt.starts_with("hang")
    });
    assert_eq!(hung.len(), 29);
    for row in hung {
        expect_error(row, "timeout", "3000 ms (timeoutMs)");
        assert_eq!(row["latencyMs"], 3000);
    }
    assert!(done.iter().all(|row| row["success"] == true));
}

/// The connection of a case that ran out of time is closed while the run goes on.
#[test]
fn a_server_that_never_answers_is_hung_up_on() {
    let api = ModelApi::start();
    let _never = hold(&api, "slow");
    let quick = hold(&api, "quick");
    let running = over(&api, TWO)
        .args(["-j", "1", "--timeout-ms", "1500"])
        .start();
    api.wait_until(|view| view.requests == 2 && view.in_flight == 1);
    quick.open();
    let finished = running.finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    expect_error(&rows[0], "timeout", "1500 ms (timeoutMs)");
    assert_eq!(rows[1]["success"], true);
}

#[test]
fn a_body_that_drips_is_no_answer() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let slow = seen.last_user_message()? == "slow";
        slow.then(|| Answer::text("drop by drop").dripping(1, Duration::from_millis(200)))
    });
    let finished = over(&api, TWO).args(["--timeout-ms", "1500"]).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    expect_error(&rows[0], "timeout", "1500 ms (timeoutMs)");
    assert_eq!(rows[1]["success"], true);
}

/// Without a limit for the case, that for one request holds.
#[test]
fn one_request_has_its_own_limit() {
    let api = ModelApi::start();
    let _never = hold(&api, "slow");
    let finished = over(&api, TWO)
        .env("RUNNER_REQUEST_TIMEOUT_MS", "1200")
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    expect_error(&rows[0], "timeout", "within 1.2s on the wire");
    expect_error(&rows[0], "timeout", "RUNNER_REQUEST_TIMEOUT_MS");
    let latency = rows[0]["latencyMs"].as_u64().expect("a time");
    assert!(latency >= 1200, "{latency}");
    assert_eq!(rows[1]["success"], true);
    let held = api
        .requests()
        .iter()
        .filter(|seen| seen.last_user_message() == Some("slow"))
        .count();
    assert_eq!(held, 1, "what was too slow once is not asked again");
}

/// Who wants that it is asked again gets that, and the second try has the whole time.
#[test]
fn what_was_too_slow_is_asked_again_by_who_says_so() {
    let api = ModelApi::start();
    let never = Gate::closed();
    let first = AtomicBool::new(true);
    api.rule(move |seen| {
        let slow = seen.last_user_message()? == "slow" && first.swap(false, Ordering::Relaxed);
        slow.then(|| Answer::text("late").behind(&never))
    });
    let config = format!("{TWO}evaluateOptions: {{ retryTimeouts: true }}\n");
    let finished = over(&api, &config)
        .env("RUNNER_REQUEST_TIMEOUT_MS", "1200")
        .finish();
    finished.expect_code(0);
    assert_eq!(api.requests().len(), 3);
    let row = &rows(&finished)[0];
    let latency = row["latencyMs"].as_u64().expect("a time");
    assert!(latency >= 1200, "{row}");
}

#[test]
fn a_provider_that_computes_for_ever_uses_its_time_up() {
    let config = format!(
        "prompts: [hi]\nproviders:\n  - {{ id: 'hostile:spin', config: {{ agreeable: true }} }}\n  \
         - {{ id: 'hostile:fine', config: {{ agreeable: true }} }}\n{}",
        hostile("cpu_ms: 1500")
    );
    let finished = Run::new()
        .config(&config)
        .args(["eval", "-o", "out.json", "--trust-config"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    expect_error(&rows[0], "C104", "ran or slept longer than 1.5 s");
    expect_error(&rows[0], "C104", "limits.cpu_ms");
    assert_eq!(rows[1]["response"]["output"], "fine");
}

/// Elsewhere this hangs for ever, and takes the run with it.
#[test]
fn an_endless_loop_in_a_grader_ends_with_its_case() {
    let api = ModelApi::start();
    // With an hour for its computing, the case's limit comes first.
    let config = format!(
        "prompts: ['{{{{word}}}}']\nproviders: [openai:m]\nevaluateOptions: {{ timeoutMs: 2000 }}\ntests:\n  \
         - {{ vars: {{ word: one }}, assert: [{{ type: spin }}] }}\n  \
         - {{ vars: {{ word: two }}, assert: [{{ type: equals, value: two }}] }}\n  \
         - {{ vars: {{ word: three }}, assert: [{{ type: equals, value: three }}] }}\n{}",
        hostile("cpu_ms: 3600000")
    );
    let finished = over(&api, &config).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows.len(), 3);
    expect_error(&rows[0], "timeout", "2000 ms (timeoutMs)");
    assert_eq!(rows[0]["response"]["output"], "one", "the answer is kept");
    assert!(
        rows[0]["latencyMs"].as_u64().is_some_and(|ms| ms < 2000),
        "that of the answer"
    );
    for row in &rows[1..] {
        assert_eq!(row["success"], true, "{row}");
    }
}

/// There is room for a handful of instances: had those of the first cases stayed, the last
/// grader would find none.
#[test]
fn the_instance_of_a_case_that_ran_out_of_time_is_gone() {
    let config = format!(
        "prompts: ['{{{{n}}}}']\nproviders: [echo]\ntests:\n  \
         - {{ vars: {{ n: [a, b, c, d, e, f, g, h, i, j, k, l] }}, assert: [{{ type: spin }}] }}\n  \
         - {{ vars: {{ n: last }}, assert: [{{ type: fine }}] }}\n{}",
        hostile("cpu_ms: 3600000")
    );
    let finished = Run::new()
        .config(&config)
        .args([
            "eval",
            "-o",
            "out.json",
            "--trust-config",
            "-j",
            "1",
            "--timeout-ms",
            "500",
        ])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows.len(), 13);
    for row in &rows[..12] {
        expect_error(row, "timeout", "500 ms (timeoutMs)");
    }
    assert_eq!(rows[12]["success"], true, "{}", rows[12]);
}

#[test]
fn a_model_that_grades_and_never_answers_costs_the_grade_and_not_the_answer() {
    let api = ModelApi::start();
    let _never = hold(&api, "Is this fine? slow");
    let finished = over(&api, &judged(&["slow", "fine"], ""))
        .args(["--timeout-ms", "2000"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    expect_error(&rows[0], "timeout", "2000 ms (timeoutMs)");
    assert_eq!(rows[0]["response"]["output"], "slow");
    assert_eq!(rows[0]["tokenUsage"]["numRequests"], 1);
    assert_eq!(rows[1]["success"], true);
}

#[test]
fn the_limit_of_the_run_keeps_an_answer_that_is_being_graded() {
    let api = ModelApi::start();
    let _never = hold(&api, "Is this fine? slow");
    let finished = over(&api, &judged(&["slow", "fine"], ""))
        .args(["--max-eval-time-ms", "4000"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    expect_error(&rows[0], "timeout", "4000 ms (maxEvalTimeMs)");
    assert_eq!(rows[0]["response"]["output"], "slow");
    assert_eq!(rows[1]["success"], true);
}

/// The server lets nobody in for three times as long as a case may work.
#[test]
fn no_case_runs_out_of_time_in_a_queue() {
    let api = ModelApi::start();
    let refusal = Answer::error(429, "rate_limit_exceeded", "slow down");
    api.script(vec![refusal.header("retry-after-ms", "3000"); 4]);
    let config = "prompts: ['{{n}}']\nproviders: [openai:m]\ntests: [{ vars: { n: [a, b, c, d, e, f, g, h] } }]\n";
    let finished = over(&api, config)
        .args(["--timeout-ms", "1000", "-j", "8"])
        .finish();
    finished.expect_code(0);
    assert_eq!(rows(&finished).len(), 8);
}

/// In the server's own clock, and longer than a case may work.
#[test]
fn a_delay_follows_each_call_and_is_no_work() {
    let api = ModelApi::start();
    let finished = over(&api, TWO)
        .args(["-j", "1", "--timeout-ms", "1000", "--delay", "1300"])
        .finish();
    finished.expect_code(0);
    let requests = api.requests();
    assert!(requests[1].at >= requests[0].at + Duration::from_millis(1300));
}

#[test]
fn the_delay_of_a_provider_follows_its_calls_for_graders_too_and_wins_over_the_others() {
    let api = ModelApi::start();
    let config = judged(&["fine"], ", delay: 300") + "evaluateOptions: { delay: 86400000 }\n";
    let finished = over(&api, &config).args(["--delay", "86400000"]).finish();
    finished.expect_code(0);
    let config = judged(&["a fine one", "a fine two"], ", delay: 300");
    let api = ModelApi::start();
    let finished = over(&api, &config).args(["-j", "1"]).finish();
    finished.expect_code(0);
    let at: Vec<Duration> = api.requests().iter().map(|seen| seen.at).collect();
    assert_eq!(at.len(), 4, "two answers, and a grade after each");
    for pair in at.windows(2) {
        assert!(pair[1] >= pair[0] + Duration::from_millis(300), "{at:?}");
    }
}

/// With a delay of a day, a run that ends has made none.
#[test]
fn nothing_is_waited_for_after_what_came_from_the_cache() {
    let api = ModelApi::start();
    let first = over(&api, TWO).finish();
    first.expect_code(0);
    let again = first
        .again()
        .args(["eval", "-o", "out.json", "-j", "1", "--delay", "86400000"])
        .finish();
    again.expect_code(0);
    assert_eq!(api.requests().len(), 2);
    assert_eq!(rows(&again)[1]["response"]["cached"], true);
}

/// In flight at once, although each call is followed by a pause.
#[test]
fn a_delay_does_not_make_the_cases_run_one_by_one() {
    let api = ModelApi::start();
    let both = hold(&api, "");
    let running = over(&api, TWO).args(["--delay", "200"]).start();
    api.wait_until(|view| view.in_flight == 2);
    both.open();
    running.finish().expect_code(0);
}
