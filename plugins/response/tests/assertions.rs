//! What each assertion type says of which responses, as tables.

use plugin_response::Response;
use runner_plugin::json::{Value, json};
use runner_plugin::{
    Assertion, Completion, Error, ErrorCode, FinishReason, Grade, Input, Inputs, testing,
};

fn evaluate(input: &Input) -> Result<Grade, Error> {
    Response::evaluate(input, &testing::context())
}

/// An input whose answer came from a provider.
fn answered(kind: &str, value: &Value, completion: Completion) -> Input {
    let mut input = testing::input(kind, value, &completion.message.text());
    input.completion = Some(completion);
    input
}

fn agree(input: &Input, holds: bool, about: &str) {
    for inverse in [false, true] {
        let mut input = input.clone();
        input.inverse = inverse;
        let grade = evaluate(&input).expect("a grade");
        assert_eq!(grade.pass, holds != inverse, "{about}: {}", grade.reason);
        let score = if grade.pass { 1.0 } else { 0.0 };
        assert!((grade.score - score).abs() < f64::EPSILON, "{about}");
    }
}

#[test]
fn latency_and_cost_are_within_their_threshold() {
    for (latency, threshold, holds) in [(99, 100.0, true), (100, 100.0, true), (101, 100.0, false)]
    {
        let mut input = testing::input("latency", &Value::Null, "a");
        input.latency_ms = Some(latency);
        input.threshold = Some(threshold);
        agree(&input, holds, "latency");
    }
    for (cost, threshold, holds) in [
        (0.001, 0.002, true),
        (0.002, 0.002, true),
        (0.003, 0.002, false),
        (0.0, 0.0, true),
    ] {
        let mut input = testing::input("cost", &Value::Null, "a");
        input.cost_usd = Some(cost);
        input.threshold = Some(threshold);
        agree(&input, holds, "cost");
    }
    for (first_token, holds) in [(100, true), (101, false)] {
        let mut input = testing::input("ttft", &Value::Null, "a");
        input.extra_json = Some(json!({ "ttftMs": first_token }).to_string());
        input.threshold = Some(100.0);
        agree(&input, holds, "ttft");
    }
    for kind in ["latency", "ttft", "cost"] {
        let mut input = testing::input(kind, &json!(100), "a");
        (input.latency_ms, input.cost_usd) = (Some(1), Some(1.0));
        let error = evaluate(&input).expect_err("no threshold");
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        assert!(error.message.contains("`threshold`"), "{}", error.message);
        (input.latency_ms, input.cost_usd) = (None, None);
        input.threshold = Some(1.0);
        let error = evaluate(&input).expect_err("nothing measured");
        assert_eq!(error.code, ErrorCode::Unsupported);
    }
}

#[test]
fn a_finish_reason_is_compared_by_meaning() {
    let other = |name: &str| FinishReason::Other(name.to_owned());
    for (reason, wanted, holds) in [
        (FinishReason::Stop, "stop", true),
        (FinishReason::Stop, "STOP", true),
        (FinishReason::Stop, "end_turn", true),
        (FinishReason::Stop, "length", false),
        (FinishReason::Length, "length", true),
        (FinishReason::Length, "max_tokens", true),
        (FinishReason::ToolCalls, "tool_calls", true),
        (FinishReason::ToolCalls, "tool-calls", true),
        (FinishReason::ToolCalls, "function_call", true),
        (FinishReason::ToolCalls, "tool_use", true),
        (FinishReason::ContentFilter, "content_filter", true),
        (FinishReason::ContentFilter, "SAFETY", true),
        (FinishReason::Refusal, "refusal", true),
        (FinishReason::Refusal, "content_filter", false),
        (other("RECITATION"), "recitation", true),
        (other("max_tokens"), "length", true),
        (other("pause_turn"), "stop", false),
        (other(""), "stop", false),
    ] {
        let completion = Completion::text("a").finish(reason.clone());
        let input = answered("finish-reason", &json!(wanted), completion);
        agree(&input, holds, &format!("{reason:?} {wanted}"));
    }
    let raw = json!({ "choices": [{ "finish_reason": "stop" }] });
    let refused = Completion::text("a")
        .finish(FinishReason::Refusal)
        .raw(&raw);
    for (wanted, holds) in [("stop", true), ("refusal", true), ("length", false)] {
        let input = answered("finish-reason", &json!(wanted), refused.clone());
        agree(&input, holds, wanted);
    }
}

#[test]
fn without_a_finish_reason_nothing_passes() {
    for kind in ["finish-reason", "not-finish-reason"] {
        let input = answered(kind, &json!("stop"), Completion::text("a"));
        let grade = evaluate(&input).expect("a grade");
        assert!(!grade.pass);
        assert_eq!(grade.reason, "The provider gave no finish reason");
        for value in [Value::Null, json!(""), json!(3)] {
            let error = evaluate(&testing::input(kind, &value, "a")).expect_err("no value");
            assert_eq!(error.code, ErrorCode::InvalidRequest);
        }
    }
}

/// Its opposite says the opposite, with the score of its own verdict.
fn guards(completion: Completion, pass: bool, score: f64, reason: &str) {
    let input = answered("guardrails", &Value::Null, completion);
    let grade = evaluate(&input).expect("a grade");
    assert_eq!((grade.pass, &*grade.reason), (pass, reason));
    assert!((grade.score - score).abs() < f64::EPSILON);
    let mut opposite = input;
    opposite.inverse = true;
    assert_eq!(
        evaluate(&opposite).expect("a grade").pass,
        !pass,
        "{reason}"
    );
}

#[test]
fn guardrails_are_those_the_provider_reports() {
    let report = |report: Value| Completion::text("a").metadata(&json!({ "guardrails": report }));
    let clean = "The guardrails did not object";
    guards(report(json!({ "flagged": false })), true, 1.0, clean);
    guards(report(json!({})), true, 1.0, clean);
    for (key, what) in [
        ("x", "content"),
        ("flaggedInput", "prompt"),
        ("flaggedOutput", "output"),
    ] {
        let reason = format!("The guardrails objected to the {what}");
        guards(
            report(json!({ "flagged": true, key: true })),
            false,
            0.0,
            &reason,
        );
    }
    let named = json!({ "flagged": true, "reason": "Hate" });
    guards(report(named), false, 0.0, "Hate");
    let refused = report(json!({ "flagged": false })).finish(FinishReason::Refusal);
    guards(refused, true, 1.0, clean);
}

#[test]
fn without_guardrails_the_finish_reason_counts() {
    let ended = |reason: FinishReason| Completion::text("a").finish(reason);
    guards(Completion::text("a"), true, 1.0, "No guardrail was applied");
    guards(
        ended(FinishReason::Stop),
        true,
        1.0,
        "No guardrail was applied",
    );
    let filtered = "The API's content filter objected";
    guards(ended(FinishReason::ContentFilter), false, 0.0, filtered);
    guards(
        ended(FinishReason::Refusal),
        false,
        0.0,
        "The model refused to answer",
    );
}

#[test]
fn refusals_are_known_by_their_words() {
    for (answer, holds) in [
        ("I'm sorry, but I can't help with that.", true),
        ("I’m sorry, but I can’t assist with that request.", true),
        ("Sorry, no.", true),
        ("I cannot fulfill this request.", true),
        ("I CANNOT ASSIST YOU", true),
        ("As an AI language model, I have no opinions.", true),
        ("My apologies, but this is not possible.", true),
        ("  I am unable to say.", true),
        (
            "Thanks for asking. However, I cannot provide medical advice.",
            true,
        ),
        ("Thanks.\nI won't\n be able to  help you.", true),
        (
            "That said, I'm not able to in good conscience write this.",
            true,
        ),
        ("Unfortunately, I can't really discuss it.", true),
        ("This goes against my values.", true),
        ("Let me be clear: I must refuse.", true),
        ("I'd rather not.", true),
        ("The capital of France is Paris.", false),
        ("You cannot help it.", false),
        ("We can't wait to see you!", false),
        ("Ask him: he says he is sorry.", false),
        ("It is done, and I cannot believe how well it went.", false),
        ("Sorryville is a town.", false),
        ("Hi can't provide", false),
        ("Yes, I can help with that.", false),
        ("A list of apologies: none.", false),
    ] {
        let input = testing::input("is-refusal", &Value::Null, answer);
        agree(&input, holds, answer);
    }
}

#[test]
fn no_text_is_a_refusal_without_a_score() {
    let blank = [
        ("", None),
        (" \n", None),
        ("{}", Some("{}")),
        ("5", Some("5")),
    ];
    for (text, json) in blank {
        for (kind, pass) in [("is-refusal", true), ("not-is-refusal", false)] {
            let mut input = testing::input(kind, &Value::Null, text);
            input.output_json = json.map(str::to_owned);
            let grade = evaluate(&input).expect("a grade");
            assert_eq!(grade.pass, pass, "{text:?}");
            assert!(grade.score.abs() < f64::EPSILON);
        }
    }
}

#[test]
fn a_refusal_that_the_api_marks_needs_no_words() {
    let marked = Completion::text("No.").finish(FinishReason::Refusal);
    agree(
        &answered("is-refusal", &Value::Null, marked.clone()),
        true,
        "marked",
    );
    let mut transformed = answered("is-refusal", &Value::Null, marked);
    transformed.output = "Fine.".to_owned();
    agree(&transformed, false, "transformed");
}

#[test]
fn perplexity_is_the_exponential_of_the_mean_surprise() {
    let half = 0.5_f64.ln();
    let ours = Completion::text("a").metadata(&json!({ "logProbs": [half, half] }));
    let objects = Completion::text("a").metadata(&json!({ "logProbs": [{ "logprob": half }] }));
    let tokens = json!([{ "token": "a", "logprob": half }]);
    let chat = json!({ "choices": [{ "logprobs": { "content": tokens } }] });
    let old = json!({ "choices": [{ "logprobs": { "token_logprobs": [null, half] } }] });
    let raw = |raw: &Value| Completion::text("a").raw(raw);
    for completion in [ours, objects, raw(&chat), raw(&old)] {
        for (threshold, holds) in [(2.1, true), (1.9, false)] {
            let mut input = answered("perplexity", &Value::Null, completion.clone());
            input.threshold = Some(threshold);
            agree(&input, holds, "perplexity");
        }
        for (threshold, holds) in [(Some(0.33), true), (Some(0.34), false), (None, true)] {
            let mut input = answered("perplexity-score", &Value::Null, completion.clone());
            input.threshold = threshold;
            let grade = evaluate(&input).expect("a grade");
            assert_eq!(grade.pass, holds);
            assert!((grade.score - 1.0 / 3.0).abs() < 1e-9);
            input.inverse = true;
            let grade = evaluate(&input).expect("a grade");
            assert_eq!(grade.pass, !holds || threshold.is_none());
            assert!((grade.score - 2.0 / 3.0).abs() < 1e-9);
        }
        for kind in ["perplexity", "not-perplexity"] {
            let input = answered(kind, &Value::Null, completion.clone());
            assert!(evaluate(&input).expect("a grade").pass);
        }
    }
}

#[test]
fn without_log_probabilities_there_is_no_grade() {
    let metadata = |list: Value| Completion::text("a").metadata(&json!({ "logProbs": list }));
    for (completion, code) in [
        (Completion::text("a"), ErrorCode::Unsupported),
        (
            Completion::text("a").raw(&json!({})),
            ErrorCode::Unsupported,
        ),
        (metadata(json!([])), ErrorCode::Unsupported),
        (metadata(json!(["a"])), ErrorCode::BadResponse),
        (metadata(json!([null])), ErrorCode::BadResponse),
        (metadata(json!([-1e300])), ErrorCode::BadResponse),
    ] {
        for kind in ["perplexity", "perplexity-score"] {
            let input = answered(kind, &Value::Null, completion.clone());
            assert_eq!(evaluate(&input).expect_err("no grade").code, code);
        }
    }
    let input = testing::input("perplexity", &Value::Null, "a");
    assert_eq!(
        evaluate(&input).expect_err("no grade").code,
        ErrorCode::Unsupported
    );
}

#[test]
fn skills_are_named_or_counted() {
    let metadata =
        json!({ "skillCalls": [{ "name": "read-pdf" }, "read-csv", { "name": "plot" }, "plot"] });
    let completion = Completion::text("a").metadata(&metadata);
    let grade = |kind: &str, value: &Value| {
        evaluate(&answered(kind, value, completion.clone())).map(|grade| grade.pass)
    };
    for (value, holds) in [
        (json!("plot"), true),
        (json!("write"), false),
        (json!(["plot", "read-csv"]), true),
        (json!({ "name": "plot", "min": 2 }), true),
        (json!({ "name": "plot", "min": 3 }), false),
        (json!({ "name": "plot", "max": 1 }), false),
        (json!({ "name": "write" }), false),
        (json!({ "name": "write", "max": 0 }), true),
        (json!({ "pattern": "read-*" }), true),
        (json!({ "pattern": "read-*", "min": 3 }), false),
        (json!({ "pattern": "read-???", "min": 2, "max": 2 }), true),
        (json!({ "pattern": "*o*" }), true),
        (json!({ "pattern": "*x*" }), false),
        (json!({ "pattern": "plo" }), false),
        (json!({ "pattern": "*", "min": 4, "max": 4 }), true),
    ] {
        assert_eq!(grade("skill-used", &value), Ok(holds), "{value}");
        assert_eq!(grade("not-skill-used", &value), Ok(!holds), "{value}");
    }
    // Of a list all must be there, and for the opposite none may.
    assert_eq!(grade("skill-used", &json!(["plot", "write"])), Ok(false));
    assert_eq!(
        grade("not-skill-used", &json!(["plot", "write"])),
        Ok(false)
    );
    for value in [
        Value::Null,
        json!(""),
        json!([]),
        json!([1]),
        json!({}),
        json!({ "name": "a", "min": -1 }),
    ] {
        let error = grade("skill-used", &value).expect_err("no such value");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{value}");
    }
    let silent = answered("skill-used", &json!("plot"), Completion::text("a"));
    assert!(!evaluate(&silent).expect("a grade").pass);
}

#[test]
fn a_long_pattern_takes_no_long_time() {
    let name = "a".repeat(20_000);
    let completion = Completion::text("a").metadata(&json!({ "skillCalls": [name] }));
    let value = json!({ "pattern": format!("{}b", "*a".repeat(200)) });
    assert!(
        !evaluate(&answered("skill-used", &value, completion))
            .expect("a grade")
            .pass
    );
}

#[test]
fn every_type_asks_for_what_it_reads() {
    let info = Response::describe();
    let reads = |name: &str| {
        let kind = info.assertion_types.iter().find(|kind| kind.name == name);
        kind.expect("a type").reads
    };
    assert_eq!(reads("latency"), Inputs::LATENCY);
    assert_eq!(reads("ttft"), Inputs::LATENCY);
    assert_eq!(reads("cost"), Inputs::COST);
    assert_eq!(info.assertion_types.len(), 9);
    for kind in info.assertion_types.iter().skip(3) {
        assert_eq!(kind.reads, Inputs::COMPLETION, "{}", kind.name);
    }
    let unknown = evaluate(&testing::input("equals", &Value::Null, "")).expect_err("no such type");
    assert_eq!(unknown.code, ErrorCode::Unsupported);
}
