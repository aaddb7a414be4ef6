//! Answers that are streamed: they are what they would have been whole, the time to the first token is known, also of
//! what the cache and recordings have, and what breaks within a stream is asked for again.

use std::time::Duration;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

/// Between two pieces of an answer, at least.
const PAUSE: Duration = Duration::from_millis(60);

/// Bytes of each event: what is between is filled, so that an event is a piece.
const EVENT: usize = 400;

/// The events of a chat that says "Hello there".
fn events() -> Vec<Value> {
    let chunk = |delta: Value, end: Value| json!({ "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] });
    vec![
        chunk(json!({ "role": "assistant", "content": "" }), Value::Null),
        chunk(json!({ "content": "Hello" }), Value::Null),
        chunk(json!({ "content": " there" }), Value::Null),
        chunk(json!({}), json!("stop")),
        json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 40, "total_tokens": 43 } }),
    ]
}

fn body(events: &[Value]) -> String {
    let events = events
        .iter()
        .map(|event| format!("{:EVENT$}", format!("data: {event}")));
    let mut body: String = events.map(|event| event + "\n\n").collect();
    body.push_str("data: [DONE]\n\n");
    body
}

fn streamed(events: &[Value]) -> Answer {
    Answer::raw(body(events))
        .header("content-type", "text/event-stream")
        .dripping(EVENT + 2, PAUSE)
}

fn config(threshold: u64) -> String {
    format!(
        "prompts: ['Say {{{{word}}}}']\n\
         providers: [{{ id: 'openai:m', config: {{ stream: true }} }}]\n\
         tests:\n  - vars: {{ word: hello }}\n    assert:\n      - {{ type: equals, value: Hello there }}\n      - {{ type: ttft, threshold: {threshold} }}\n"
    )
}

fn run(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", "sk-test-0123456789-very-secret")
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "-o", "out.json"])
}

fn row(finished: &Finished) -> Value {
    finished.json("out.json")["results"]["results"][0].clone()
}

fn ttft(row: &Value) -> u64 {
    let time = row["response"]["ttftMs"].as_u64();
    time.unwrap_or_else(|| panic!("no time to the first token: {}", row["response"]))
}

#[test]
fn the_first_token_has_a_time_and_the_answer_is_whole() {
    let api = ModelApi::start();
    api.always(streamed(&events()));
    let finished = run(&api, &config(60_000)).finish();
    finished.expect_code(0);
    let sent = &api.requests()[0].json;
    assert_eq!(sent["stream"], true);
    assert_eq!(sent["stream_options"], json!({ "include_usage": true }));

    let row = row(&finished);
    assert_eq!(row["response"]["output"], "Hello there");
    assert_eq!(row["tokenUsage"]["completion"], 40);
    let (ttft, latency) = (ttft(&row), row["latencyMs"].as_u64().expect("a time"));
    // The first piece holds no token; after that of the first come four more.
    let pause = PAUSE.as_millis() as u64;
    assert!(ttft >= pause, "{ttft}");
    assert!(latency >= ttft + 3 * pause, "{latency} and {ttft}");
    for heading in ["first token p50", "tokens/s"] {
        assert!(finished.stdout.contains(heading), "{}", finished.stdout);
    }
    let shown = finished.again().args(["show", "--test", "0"]).finish();
    assert!(
        shown.stdout.contains("first token after") && shown.stdout.contains("tokens a second"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_limit_of_the_first_token_counts_also_for_what_is_remembered() {
    let api = ModelApi::start();
    api.always(streamed(&events()));
    let first = run(&api, &config(1)).finish();
    first.expect_code(100);
    let reason = &row(&first)["gradingResult"]["componentResults"][1]["reason"];
    assert!(
        reason
            .as_str()
            .is_some_and(|it| it.contains("first token came after")),
        "{reason}"
    );

    let again = first.again().args(["eval", "-o", "out.json"]).finish();
    again.expect_code(100);
    assert_eq!(row(&again)["response"]["cached"], true);
    assert_eq!(ttft(&row(&again)), ttft(&row(&first)));

    let recorded = first
        .again()
        .args([
            "eval",
            "--no-cache",
            "--record",
            "tape.jsonl",
            "-o",
            "out.json",
        ])
        .finish();
    let replayed = recorded
        .again()
        .args(["eval", "--replay", "tape.jsonl", "-o", "out.json"])
        .finish();
    assert_eq!(ttft(&row(&replayed)), ttft(&row(&recorded)));
    assert_eq!(
        api.requests().len(),
        2,
        "one for the cache, one for the recording"
    );
}

#[test]
fn a_stream_that_breaks_is_asked_for_again() {
    let api = ModelApi::start();
    let broken = Answer::raw(body(&events()))
        .header("content-type", "text/event-stream")
        .cut_after(2 * (EVENT + 2));
    api.script([broken]);
    api.always(streamed(&events()));
    let finished = run(&api, &config(60_000)).finish();
    finished.expect_code(0);
    let row = row(&finished);
    assert_eq!(row["response"]["output"], "Hello there");
    assert_eq!(row["tokenUsage"]["numRequests"], 2);
    assert!(
        ttft(&row) >= PAUSE.as_millis() as u64,
        "that of the attempt which answered"
    );
}

#[test]
fn what_goes_wrong_is_the_rows_and_nothing_of_it_is_remembered() {
    let api = ModelApi::start();
    let mut failing = events();
    failing.truncate(2);
    failing.push(json!({ "error": { "message": "the model is gone", "code": "model_not_found" } }));
    api.script([
        Answer::error(400, "invalid_request", "no such knob"),
        streamed(&failing),
        streamed(&events()[..2]),
    ]);
    let mut told = String::new();
    let mut run = run(&api, &config(60_000));
    for _ in 0..3 {
        let finished = run.finish();
        finished.expect_code(100);
        told.push_str(row(&finished)["error"].as_str().unwrap_or("no error"));
        told.push('\n');
        run = finished.again().args(["eval", "-o", "out.json"]);
    }
    assert_snapshot!(told);
}

#[test]
fn without_a_stream_there_is_no_time_to_the_first_token() {
    let api = ModelApi::start();
    let config = config(60_000).replace("stream: true", "stream: false");
    let finished = run(&api, &config).finish();
    finished.expect_code(100);
    assert_eq!(api.requests()[0].json.get("stream"), None);
    assert_eq!(row(&finished)["response"].get("ttftMs"), None);
    let reason = row(&finished)["gradingResult"]["componentResults"][1]["reason"].clone();
    assert_snapshot!(reason.as_str().expect("a reason"));
}

#[test]
fn an_interrupt_does_not_wait_for_the_end_of_a_stream() {
    let api = ModelApi::start();
    api.always(
        Answer::raw(body(&events()))
            .header("content-type", "text/event-stream")
            .dripping(EVENT + 2, Duration::from_mins(10)),
    );
    let running = run(&api, &config(60_000)).start();
    api.wait_until(|view| view.in_flight == 1);
    running.interrupt();
    running.interrupt();
    let finished = running.finish();
    finished.expect_code(130);
}
