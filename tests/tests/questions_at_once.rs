//! Questions at once, as the server sees them: overlap, limits that hold, and the same results
//! whatever ends first.

use std::time::Duration;

use runner_tests::{Answer, Finished, Limit, ModelApi, Quota, QuotaServer, Run, Traffic};
use serde_json::{Value, json};

/// `limits` of the provider, and the task's `concurrency`.
fn over(api: &ModelApi, count: usize, limits: &str, concurrency: u32) -> Run {
    let question = |n| json!({ "question": format!("<answer>{}</answer> {n}", n % 7), "answers": ["0", "1", "2", "3", "4", "5", "6"], "correct_answers": ["3"] });
    let questions: Value = (0..count).map(question).collect();
    Run::new()
        .config(&format!(
            "prompts: ['Number {{{{question}}}}']\ntasks:\n  - id: t\n    type: question_eval\n    \
             provider: {{ id: 'openai:m', limits: {limits} }}\n    questions_file: set.json\n    \
             concurrency: {concurrency}\n"
        ))
        .file(
            "set.json",
            json!({ "version": 1, "questions": questions }).to_string(),
        )
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args([
            "eval",
            "--no-table",
            "-o",
            "out.json",
            "--events",
            "events.jsonl",
        ])
}

/// The traffic of two calls of 150 ms each.
fn two_calls(concurrency: u32) -> Traffic {
    let latency = Duration::from_millis(150);
    let server = QuotaServer::start(Quota::of(Limit::None).after(latency));
    let finished = over(server.api(), 2, "{ requests: 100 per 1s }", concurrency).finish();
    assert!(
        finished.code.is_some_and(|code| code != 1),
        "{}",
        finished.stderr
    );
    let traffic = server.traffic();
    assert_eq!(traffic.arrivals(), 2);
    traffic
}

#[test]
fn one_at_once_takes_the_time_of_both() {
    let traffic = two_calls(1);
    assert!(
        traffic.makespan() >= Duration::from_millis(300),
        "{traffic:?}"
    );
    assert!(Some(traffic.calls[1].at) >= traffic.calls[0].ended);
}

/// In the server's clock, from the first arrival to the last answer. A machine that is busy with
/// something else may delay the second call, so the best of a few runs counts.
#[test]
fn two_at_once_take_less_than_the_time_of_both() {
    let best = (0..5).map(|_| two_calls(2)).min_by_key(Traffic::makespan);
    let best = best.expect("there were some");
    assert!(best.makespan() < Duration::from_millis(300), "{best:?}");
    assert!(Some(best.calls[1].at) < best.calls[0].ended, "they overlap");
}

/// Everything about the rows but times, ids, and how often a request had to be sent.
fn comparable(finished: &Finished) -> Value {
    let mut results = finished.json("out.json")["results"].clone();
    for row in results["results"].as_array_mut().expect("rows") {
        for key in ["id", "latencyMs", "provenance", "attempts"] {
            row.as_object_mut().expect("a row").remove(key);
        }
        row["question"]["wallTimeMs"] = 0.into();
        row["tokenUsage"]["numRequests"] = 0.into();
        row["response"]["tokenUsage"]["numRequests"] = 0.into();
        if let Some(raw) = row["response"].as_object_mut() {
            raw.remove("raw");
        }
    }
    results["tasks"][0]["summary"]["wallTimeMs"] = 0.into();
    json!([results["results"], results["tasks"]])
}

/// Repeats what it is asked, which is the answer to some questions. Every fifth is reset once.
fn server(broken: bool) -> ModelApi {
    let api = ModelApi::start();
    let reset = std::sync::Mutex::new(std::collections::HashSet::new());
    api.rule(move |seen| {
        let text = seen.last_user_message()?;
        let (answer, number) = text.strip_prefix("Number ")?.rsplit_once(' ')?;
        let number: u32 = number.parse().ok()?;
        let first = || reset.lock().expect("no holder panics").insert(number);
        Some(if broken && number % 5 == 2 && first() {
            Answer::reset()
        } else {
            Answer::text(answer)
        })
    });
    api
}

/// How often an event stands in the file.
fn events(finished: &Finished, name: &str) -> usize {
    let wanted = format!("\"event\":\"{name}\"");
    let lines = finished.read("events.jsonl");
    lines.lines().filter(|line| line.contains(&wanted)).count()
}

#[test]
fn a_thousand_questions_over_a_bad_wire_and_tight_limits_are_those_of_the_plain_loop() {
    const LIMIT: usize = 250;
    let calm = server(false);
    let plain = over(&calm, 1000, "{ requests: 100000 per 1s }", 1).finish();
    plain.expect_code(100);
    let broken = server(true);
    let limits = format!("{{ requests: {LIMIT} per 1s, tokens: 1000000 per 1s }}");
    let at_once = over(&broken, 1000, &limits, 8).finish();
    at_once.expect_code(100);

    assert_eq!(comparable(&at_once), comparable(&plain));
    let summary = &at_once.json("out.json")["results"]["tasks"][0];
    assert_eq!(summary["status"], "fail/incorrect_answers");
    assert_eq!(summary["summary"]["questionsCorrect"], 143, "each seventh");

    let acquired = events(&at_once, "slot:acquired");
    assert_eq!(
        acquired, 1200,
        "an attempt each, and another for each that was reset"
    );
    assert_eq!(
        acquired,
        events(&at_once, "slot:released"),
        "each lease is settled"
    );
    assert_eq!(events(&at_once, "request:retrying"), 200);
    assert!(broken.max_concurrent() <= 8);
    assert_eq!(calm.max_concurrent(), 1);
    // A call may reach the server a little later than it was let go, and the next one at once.
    let arrivals: Vec<Duration> = broken.requests().iter().map(|seen| seen.at).collect();
    let span = Duration::from_millis(750);
    let most = (0..arrivals.len())
        .map(|from| arrivals[from..].partition_point(|at| *at < arrivals[from] + span))
        .max();
    assert!(most <= Some(LIMIT), "{most:?} calls in {span:?}");
}
