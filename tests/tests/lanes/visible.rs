//! What a run shows of its lanes while it goes: the stream of events.

use runner_tests::{Answer, ModelApi};
use serde_json::Value;

use crate::lanes::{CONFIG, over};

/// Names that programs which read the stream may rely on.
const NAMES: [&str; 16] = [
    "run:started",
    "run:finished",
    "case:started",
    "case:finished",
    "log",
    "notice",
    "slot:acquired",
    "slot:released",
    "ratelimit:hit",
    "ratelimit:learned",
    "ratelimit:warning",
    "concurrency:increased",
    "concurrency:decreased",
    "request:retrying",
    "breaker:opened",
    "breaker:closed",
];

#[test]
fn the_event_stream_holds_whole_lines_under_the_published_names() {
    let api = ModelApi::start();
    let refusal = Answer::error(429, "rate_limit_exceeded", "slow down");
    api.script([refusal.header("retry-after-ms", "20")]);
    let config = CONFIG.replace("Case {{n}}", "Confidential {{n}}");
    let finished = over(&api, &config, 12)
        .args(["--events", "events.jsonl"])
        .finish();
    finished.expect_code(0);
    assert_eq!(api.requests().len(), 13);

    let text = finished.read("events.jsonl");
    assert!(text.ends_with('\n'), "the last line is whole as well");
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for event in &events {
        let name = event["event"].as_str().expect("every event has a name");
        assert!(NAMES.contains(&name), "{event}");
        assert!(event["at"].is_number(), "{event}");
    }
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((count("slot:acquired"), count("slot:released")), (13, 13));
    assert_eq!((count("ratelimit:hit"), count("request:retrying")), (1, 1));
    assert_eq!((count("case:started"), count("case:finished")), (12, 12));
    assert_eq!((count("run:started"), count("run:finished")), (1, 1));

    let of_lanes = events.iter().filter(|event| {
        let name = event["event"].as_str().unwrap_or_default();
        ["slot:", "ratelimit:", "concurrency:"]
            .iter()
            .any(|kind| name.starts_with(kind))
    });
    for event in of_lanes {
        let lane = event["lane"]
            .as_str()
            .expect("an event of a lane says which");
        assert!(lane.ends_with("/m"), "{lane}");
    }
    for secret in ["Confidential", "sk-test-key"] {
        assert!(!text.contains(secret), "{secret} is in the stream");
    }
}

#[test]
fn the_results_hold_the_lanes_with_their_metrics() {
    let api = ModelApi::start();
    let refusal = Answer::error(429, "rate_limit_exceeded", "slow down");
    api.script([refusal.header("retry-after-ms", "20")]);
    let config = CONFIG.replace("[openai:m]", "[openai:a, openai:b]");
    let finished = over(&api, &config, 10).args(["-j", "1"]).finish();
    finished.expect_code(0);
    let lanes = lanes(&finished.json("out.json")).expect("the results name the lanes");
    assert_eq!(lanes.len(), 2, "{lanes:?}");
    let sum = |field: &str| -> u64 {
        let number = |lane: &Value| lane[field].as_u64().expect("a count");
        lanes.iter().map(number).sum()
    };
    assert_eq!((sum("totalRequests"), sum("completedRequests")), (21, 20));
    assert_eq!((sum("rateLimitHits"), sum("retriedRequests")), (1, 1));
    assert_eq!(sum("failedRequests"), 0);
    for lane in &lanes {
        for latency in ["avgLatencyMs", "p50LatencyMs", "p99LatencyMs"] {
            assert!(lane[latency].is_number(), "{lane}");
        }
    }
}

/// A quota that belongs to the account and not to a model: the user gives it a name, and two
/// models wait in one queue.
#[test]
fn two_providers_with_one_pool_are_one_lane() {
    let api = ModelApi::start();
    let config = CONFIG.replace(
        "[openai:m]",
        "[{ id: openai:a, pool: shared }, { id: openai:b, pool: shared }]",
    );
    let finished = over(&api, &config, 5).finish();
    finished.expect_code(0);
    let lanes = lanes(&finished.json("out.json")).expect("the results name the lanes");
    assert_eq!(lanes.len(), 1, "{lanes:?}");
    assert_eq!(lanes[0]["totalRequests"], 10);
}

/// The list called `lanes`, wherever a results file keeps it.
fn lanes(json: &Value) -> Option<Vec<Value>> {
    let fields = json.as_object()?;
    match fields.get("lanes") {
        Some(Value::Array(lanes)) => Some(lanes.clone()),
        _ => fields.values().find_map(lanes),
    }
}
