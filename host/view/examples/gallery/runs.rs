//! Runs that look like something, with whatever a model may write in them.

use std::error::Error;

use runner_store::{
    LaneMoment, LaneSample, NewRun, Outcome, Row, RunEnd, RunStatus, RunWriter, Store,
};
use serde_json::{Value, json};

const PROVIDERS: [&str; 3] = [
    "openai:gpt-4.1-mini",
    "anthropic:messages:claude-haiku",
    "ollama:chat:qwen2.5",
];

/// Writes a run of so many cases; from day to day it gets better.
pub(crate) fn fill(
    store: &Store,
    id: &str,
    name: &str,
    day: u32,
    cases: u32,
) -> Result<(), Box<dyn Error>> {
    let created_at_ms = 1_795_000_000_000 + i64::from(day) * 86_400_000;
    let columns: Value = PROVIDERS
        .iter()
        .map(|provider| {
            json!({ "provider": provider, "label": "short and friendly",
        "raw": "Answer {{question}} for the guests of {{hotel}}.", "id": "p", "config": null })
        })
        .collect();
    let writer = store.begin_run(NewRun {
        id: id.to_owned(),
        created_at_ms,
        description: Some(name.to_owned()),
        tags_json: json!({ "team": "guests", "branch": format!("day-{day}") }).to_string(),
        config_json: json!({ "description": name, "prompts": ["file://prompt.txt"], "providers": PROVIDERS }).to_string(),
        columns_json: columns.to_string(),
        plugins_json: "[]".to_owned(),
        options_json: json!({ "maxConcurrency": 8, "repeat": 1, "total": cases, "invocation": [{ "cwd": "/home/ada/hotel",
            "arguments": ["eval", "-c", "promptfooconfig.yaml"] }] }).to_string(),
        seed: 1,
    })?;
    let mut counts = [0_u32; 3];
    for case in 0..cases {
        let mut row = row(day, case / 3, case % 3);
        if cases > LARGE {
            row.record_json = shortened(&row.record_json)?;
        }
        counts[match row.outcome {
            Outcome::Passed => 0,
            Outcome::Failed => 1,
            _ => 2,
        }] += 1;
        writer.push(row)?;
        if cases <= LARGE {
            sample(&writer, case)?;
        }
    }
    let [passed, failed, errors] = counts;
    writer.finish(RunEnd {
        status: RunStatus::Finished,
        ended_at_ms: created_at_ms + 95_000,
        summary_json: json!({ "total": cases, "passed": passed, "failed": failed, "errors": errors, "budgetExceeded": 0, "durationMs": 95_000 }).to_string(),
    })?;
    Ok(())
}

/// Has written down how two lanes stand with every second case: the one is held back by a limit and
/// refused twice, the other has more room than it needs.
fn sample(writer: &RunWriter, case: u32) -> Result<(), Box<dyn Error>> {
    let second = case / 2;
    if case.is_multiple_of(2) {
        let lane =
            |name: &str, in_flight: u32, allowed: u32, waiting: u64, refused: u64| LaneSample {
                lane: name.to_owned(),
                in_flight,
                allowed,
                waiting,
                refused,
            };
        let allowed = [4, 5, 6, 8, 4, 5][(second / 10) as usize % 6];
        let waiting = u64::from((60_u32.saturating_sub(second)) * 2);
        let refused = u64::from(second > 38) * 2 + u64::from(second > 44) * 5;
        writer.lane_log().note(LaneMoment {
            at_ms: u64::from(second + 1) * 1000,
            lanes: vec![
                lane(
                    "api.openai.com/gpt-4.1-mini",
                    allowed - second % 7 / 6,
                    allowed,
                    waiting,
                    refused,
                ),
                lane("api.anthropic.com/claude-haiku", second % 4, 64, 0, 0),
            ],
        });
    }
    // What was noted before a group of rows is written when the next one is taken.
    Ok(writer.flush()?)
}

/// Cases of a run whose records are short, so that a million fit on a disk that others use.
const LARGE: u32 = 10_000;

/// A record without its largest parts.
fn shortened(json: &str) -> Result<String, serde_json::Error> {
    let mut record: Value = serde_json::from_str(json)?;
    if let Some(parts) = record.as_object_mut() {
        for part in ["gradingResult", "provenance", "prompt", "tokenUsage"] {
            parts.shift_remove(part);
        }
    }
    for part in ["/response/raw", "/testCase/assert"] {
        if let Some(part) = record.pointer_mut(part) {
            part.take();
        }
    }
    Ok(record.to_string())
}

const TOPICS: [&str; 3] = ["checkout", "food", "pool"];

const QUESTIONS: [&str; 3] = [
    "Can I keep the room until two o'clock?",
    "When is breakfast?",
    "Is there a pool?",
];

const ANSWERS: [&str; 6] = [
    "**Yes**, you can keep the room until two o'clock. Late checkout costs *20 euros*:\n\n| until | price |\n|---|---|\n| 12:00 | free |\n| 14:00 | 20 € |\n\n```json\n{\"checkout\": \"14:00\"}\n```",
    "Breakfast is served from seven to ten in the garden room. Would you like a table by the window?",
    "I am sorry, I can't help with that. <script>alert('x')</script> <img src=x onerror=alert(1)> [a link](javascript:alert(1)) ![pixel](https://evil.example/p.png)",
    "{\"guest\": \"Ada Lovelace\", \"nights\": 3, \"topic\": \"checkout\", \"answer\": {\"until\": \"14:00\", \"fee\": 20}}",
    "Der Empfang ist rund um die Uhr besetzt. \u{202e}txet sdrawkcab\u{202c} 日本語の答え 👩‍👩‍👧 مرحبا",
    "The pool is open from eight to twenty o'clock. Towels are at the entrance; children need somebody with them. We are glad to have you here, and we hope that you come back soon with your family and friends.",
];

fn prompt(test: u32, question: &str) -> String {
    if test.is_multiple_of(2) {
        json!([{ "role": "system", "content": "You answer guests of the **Lighthouse Hotel**." },
            { "role": "user", "content": question },
            { "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "find_policy", "arguments": "{\"topic\":\"checkout\"}" } }] },
            { "role": "tool", "name": "find_policy", "content": "Late checkout until 14:00 costs 20 euros." }]).to_string()
    } else {
        format!("Answer “{question}” for the guests of the Lighthouse Hotel.")
    }
}

fn asserts() -> Value {
    json!([{ "type": "contains", "value": "o'clock" }, { "type": "llm-rubric", "value": "is friendly", "metric": "tone" }])
}

fn grading(passed: bool, score: f64, tone: f64, assert: &Value) -> Value {
    json!({ "pass": passed, "score": score, "reason": if passed { "All assertions passed" } else { "Expected output to contain \"o'clock\"" },
        "namedScores": {}, "componentResults": [
            { "pass": passed, "score": score, "reason": if passed { "Assertion passed" } else { "Expected output to contain \"o'clock\"" }, "assertion": assert[0] },
            { "pass": tone > 0.4, "score": tone, "reason": "The answer greets the guest and is polite throughout.", "assertion": assert[1],
              "metadata": { "renderedGradingPrompt": "[{\"role\":\"system\",\"content\":\"You grade answers.\"},{\"role\":\"user\",\"content\":\"Is it friendly?\"}]", "judgeReplies": [{ "model": "gpt-4.1", "text": "{\"reason\": \"polite\", \"pass\": true}" }], "graderOutput": { "pass": true, "reason": "polite" } } }] })
}

/// What a case waited and tried, of every second test.
fn attempts(test: u32) -> Value {
    if !test.is_multiple_of(2) {
        return json!([]);
    }
    let lane = "api.openai.com/gpt-4.1-mini";
    json!([
        { "lane": lane, "attempt": 1, "queuedMs": 2, "waitedMs": 1840, "workedMs": 310, "status": 429, "ended": "throttled" },
        { "lane": lane, "attempt": 2, "queuedMs": 2152, "waitedMs": 4000, "workedMs": 2900, "status": 503, "ended": "transient" },
        { "lane": lane, "attempt": 3, "queuedMs": 9052, "waitedMs": 1100, "workedMs": 1400, "status": 200, "ended": "ok" },
    ])
}

fn row(day: u32, test: u32, column: u32) -> Row {
    let mut seed =
        u64::from(test * 3 + column + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(day * 77);
    let mut chance = |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 20) % n
    };
    let quality = 60 + u64::from(column) * 10 + u64::from(day) * 4;
    let outcome = match chance(100) {
        n if n < quality => Outcome::Passed,
        n if n < 97 => Outcome::Failed,
        _ => Outcome::Error,
    };
    let passed = outcome == Outcome::Passed;
    let answer = ANSWERS[((test + column * u32::from(chance(3) == 0)) % 6) as usize];
    let latency = 200 + chance(1800) + u64::from(column) * 400;
    let (input, output) = (180 + chance(60), 20 + chance(200));
    let tone = chance(11) as f64 / 10.0;
    let less = (!passed).then(|| f64::from(chance(6) as u32) / 10.0);
    let score = less.unwrap_or(1.0);
    let question = QUESTIONS[(test % 3) as usize];
    let response = (outcome != Outcome::Error).then(|| json!({ "output": answer, "cached": chance(5) == 0, "model": PROVIDERS[column as usize],
        "finishReason": "stop", "tokenUsage": { "total": input + output, "prompt": input, "completion": output, "cached": 0, "numRequests": 1 },
        "reasoning": if test.is_multiple_of(4) { json!("The guest asks about checkout, so I look up the policy first.") } else { Value::Null },
        "raw": { "id": "chatcmpl-1", "choices": [{ "message": { "role": "assistant", "content": answer } }] } }));
    let assert = asserts();
    let grading = response
        .is_some()
        .then(|| grading(passed, score, tone, &assert));
    let vars = json!({ "hotel": "Lighthouse Hotel", "name": "Ada Lovelace", "question": question, "number": test });
    let record = json!({ "id": format!("case-{day}-{test}-{column}"), "promptIdx": column, "testIdx": test, "repeatIndex": 0, "promptId": "p",
        "provider": { "id": PROVIDERS[column as usize] }, "prompt": { "raw": prompt(test, question), "label": "short and friendly" }, "vars": vars,
        "testCase": { "description": format!("Guest question {test}"), "vars": vars, "assert": assert, "metadata": { "topic": TOPICS[(test % 3) as usize] } },
        "response": response, "gradingResult": grading,
        "namedScores": if outcome == Outcome::Error { json!({}) } else { json!({ "tone": tone, "facts": score }) },
        "outcome": outcome.as_str(), "score": score, "success": passed, "latencyMs": latency, "cost": 0.0003,
        "error": (outcome == Outcome::Error).then_some("the server did not answer within 30 s"),
        "errorCode": (outcome == Outcome::Error).then_some(if test.is_multiple_of(2) { "timeout" } else { "rate-limited" }),
        "tokenUsage": { "total": input + output, "prompt": input, "completion": output, "cached": 0, "numRequests": 1 },
        "metadata": { "topic": TOPICS[(test % 3) as usize] }, "attempts": attempts(test),
        "provenance": { "plugin": "openai", "version": "0.1.0", "sha256": "75bfaa4f8443a0ed583dc757a25a0fb2100ff0a2febdad03e68defe990b097a1", "grantsDigest": "f3b1222d6ca7f6fa551d2726f3474d312ca81d93d135627f", "guestCpuUs": 412, "peakMemory": 1_310_720 } });
    Row {
        test_idx: test,
        prompt_idx: column,
        row_id: format!("case-{day}-{test}-{column}"),
        identity: None,
        outcome,
        score,
        latency_ms: (outcome != Outcome::Error).then_some(latency),
        cost_usd: Some((input + output * 4) as f64 * 1.5e-7),
        grading_usd: None,
        saved_usd: None,
        input_tokens: Some(input),
        output_tokens: Some(output),
        cached: false,
        record_json: record.to_string(),
    }
}
