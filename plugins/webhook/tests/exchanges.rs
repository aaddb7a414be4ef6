//! What a service is asked, and what its replies mean.

use plugin_webhook::Webhook;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Assertion, Error, ErrorCode, Grade, Input, Message};

const URL: &str = "https://judge.example.com/grade";

fn input(kind: &str) -> Input {
    let mut input = testing::input(kind, &json!(URL), "Paris");
    input.vars_json = Some(json!({ "country": "France" }).to_string());
    input.prompt = vec![Message::user("The capital of France?")];
    input
}

fn graded(kind: &str, reply: Reply) -> Result<Grade, Error> {
    let played = Script::new()
        .exchange("POST", URL, reply)
        .play(|| Webhook::evaluate(&input(kind), &testing::context()));
    let sent = &played.requests[0];
    let body: Value = sent.body_json().expect("JSON");
    let expected = json!({
        "output": "Paris",
        "context": { "prompt": "The capital of France?", "vars": { "country": "France" } },
    });
    assert_eq!(body, expected);
    assert_eq!(sent.header_value("content-type"), Some("application/json"));
    assert_eq!(sent.timeout.map(|it| it.as_secs()), Some(5));
    played.result
}

/// Each row: reply, (pass, score, reason) of `webhook`, (pass, score) of `not-webhook`.
#[test]
fn the_service_decides() {
    let rows = [
        (
            json!({ "pass": true }),
            (true, 1.0, "The webhook is content"),
            (false, 0.0),
        ),
        (
            json!({ "pass": false }),
            (false, 0.0, "The webhook says false"),
            (true, 1.0),
        ),
        (
            json!({ "pass": true, "score": 0.75, "reason": "near" }),
            (true, 0.75, "near"),
            (false, 0.25),
        ),
        (
            json!({ "pass": false, "score": 0.25, "reason": "far" }),
            (false, 0.25, "far"),
            (true, 0.75),
        ),
    ];
    for (reply, (pass, score, reason), (not_pass, not_score)) in rows {
        let grade = graded("webhook", Reply::json(200, &reply)).expect("a grade");
        assert_eq!(
            (grade.pass, grade.reason.as_str()),
            (pass, reason),
            "{reply}"
        );
        assert!((grade.score - score).abs() < 1e-9);
        let grade = graded("not-webhook", Reply::json(200, &reply)).expect("a grade");
        assert_eq!(grade.pass, not_pass, "{reply}");
        assert!((grade.score - not_score).abs() < 1e-9);
    }
}

#[test]
fn a_service_that_fails_never_passes() {
    let broken = || {
        [
            Reply::json(500, &json!({ "pass": true })),
            Reply::json(200, &json!({ "pass": "yes" })),
            Reply::json(200, &json!({ "score": 1 })),
            Reply::json(200, &json!({ "pass": true, "score": "high" })),
            Reply::text(200, "fine"),
            Reply::refused(Error::new(ErrorCode::Timeout, "too slow")),
        ]
    };
    for kind in ["webhook", "not-webhook"] {
        for reply in broken() {
            let grade = graded(kind, reply).expect("a grade");
            assert!(!grade.pass && grade.score == 0.0, "{}", grade.reason);
            assert!(
                grade.reason.starts_with("Webhook error: "),
                "{}",
                grade.reason
            );
        }
    }
}

#[test]
fn an_address_that_is_not_granted_is_no_grade() {
    let denied = Error::new(ErrorCode::Denied, "may not reach it");
    let error = graded("webhook", Reply::refused(denied)).expect_err("no grade");
    assert_eq!(error.code, ErrorCode::Denied);
}

#[test]
fn the_time_can_be_set() {
    let mut slow = input("webhook");
    slow.config_json = Some(json!({ "timeoutMs": 20_000 }).to_string());
    let reply = Reply::json(200, &json!({ "pass": true }));
    let played = Script::new()
        .exchange("POST", URL, reply)
        .play(|| Webhook::evaluate(&slow, &testing::context()));
    assert!(played.result.expect("a grade").pass);
    assert_eq!(played.requests[0].timeout.map(|it| it.as_secs()), Some(20));
    slow.config_json = Some(json!({ "timeoutMs": 0 }).to_string());
    let error = Webhook::evaluate(&slow, &testing::context()).expect_err("no number");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
}
