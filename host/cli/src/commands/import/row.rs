//! One row of a results file as a record: ours as it is, promptfoo's translated.
//!
//! promptfoo's rows lack some of our fields and leave others out at times, so they are read
//! leniently; only the place in the matrix is needed. How a case ended is told from `success`,
//! `failureReason` and whether it was graded: a row without an output has reason 0 there and was
//! never graded, which is an error here.

use runner_eval::record::{
    CaseRecord, ComponentRecord, Conclusion, GraderUsage, GradingRecord, Outcome, PromptRecord,
    ProviderRef, ResponseRecord, TokenUsage,
};
use runner_store::Annotation;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::results_file::Unreadable;

/// promptfoo's `failureReason` of a row that was not graded.
const ERROR: u64 = 2;

/// Understands a row.
///
/// # Errors
/// What it lacks.
pub(super) fn record(row: Value) -> Result<CaseRecord, Unreadable> {
    // A person who rates an answer leaves the reason of a failure, and none leaves an error.
    if row["success"] == true && row["failureReason"] == ERROR {
        let why = "`success` says that it passed, and `failureReason` that it ended with an error";
        return Err(Unreadable(why.to_owned()));
    }
    if let Some(outcome) = row.get("outcome") {
        let passed = outcome == "passed";
        let is_other = |field: &Value| field.as_bool().is_some_and(|it| it != passed);
        // The outcome alone is read: what stands beside it must not say something else.
        if is_other(&row["success"]) || passed && row["gradingResult"]["pass"] == false {
            let why = "`outcome` contradicts `success` or `gradingResult.pass`: one says that it passed, the other that it didn't";
            return Err(Unreadable(why.to_owned()));
        }
        return serde_json::from_value(row).map_err(|error| Unreadable(error.to_string()));
    }
    let place = |name: &str| {
        let idx = row[name].as_u64().and_then(|idx| u32::try_from(idx).ok());
        idx.ok_or_else(|| Unreadable(format!("it has no {name}")))
    };
    let (prompt_idx, test_idx) = (place("promptIdx")?, place("testIdx")?);
    let grading_result = grading(&row["gradingResult"]);
    let success = row["success"].as_bool().unwrap_or(false);
    let outcome = match (success, row["failureReason"].as_u64(), &grading_result) {
        (true, ..) => Outcome::Passed,
        (false, Some(ERROR), _) | (false, _, None) => Outcome::Error,
        (false, _, Some(_)) => Outcome::Failed,
    };
    let response = response(&row["response"]);
    let usage = match &row["tokenUsage"] {
        Value::Object(_) => usage(&row["tokenUsage"]),
        _ => response.as_ref().map(|r| r.token_usage).unwrap_or_default(),
    };
    Ok(CaseRecord {
        id: text(row.get("id")),
        prompt_idx,
        test_idx,
        repeat_index: 0,
        repeat_group: None,
        prompt_id: text(row.get("promptId")),
        provider: provider(&row["provider"]),
        prompt: prompt(&row["prompt"]),
        vars: map(&row["vars"]).into(),
        test_case: Value::Object(map(&row["testCase"])).into(),
        data_file: None,
        response,
        grading_result,
        named_scores: map(&row["namedScores"]),
        conclusion: Conclusion::foreign(
            outcome,
            row["score"].as_f64().unwrap_or(0.0),
            row["error"].as_str().map(str::to_owned),
        ),
        latency_ms: count(&row["latencyMs"]),
        cost: row["cost"].as_f64(),
        token_usage: usage,
        metadata: map(&row["metadata"]),
        question: None,
        provenance: None,
        log: Vec::new(),
        attempts: Vec::new(),
        annotation: annotation(&row),
    })
}

/// A text; what is none, as JSON; nothing if it is absent.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn prompt(value: &Value) -> PromptRecord {
    PromptRecord {
        raw: text(value.get("raw")),
        label: text(value.get("label")),
        config: value["config"].as_object().cloned(),
    }
}

/// What a person said of it; promptfoo has a comment beside the grade.
fn annotation(row: &Value) -> Option<Annotation> {
    let ours = serde_json::from_value(row["annotation"].clone()).ok();
    ours.or_else(|| {
        let comment = row["gradingResult"]["comment"]
            .as_str()
            .filter(|it| !it.is_empty())?;
        let comment = Some(comment.to_owned());
        Some(Annotation {
            comment,
            ..Annotation::default()
        })
    })
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// A count that may be written as a fraction.
fn count(value: &Value) -> u64 {
    let number = value.as_f64().filter(|number| *number > 0.0);
    number.unwrap_or(0.0).round() as u64
}

fn provider(value: &Value) -> ProviderRef {
    match value {
        Value::Object(provider) => ProviderRef {
            id: text(provider.get("id")),
            label: provider
                .get("label")
                .and_then(Value::as_str)
                .filter(|label| !label.is_empty())
                .map(str::to_owned),
        },
        other => ProviderRef {
            id: text(Some(other)),
            label: None,
        },
    }
}

fn usage(value: &Value) -> TokenUsage {
    TokenUsage {
        total: count(&value["total"]),
        prompt: count(&value["prompt"]),
        completion: count(&value["completion"]),
        cached: count(&value["cached"]),
        num_requests: count(&value["numRequests"]),
        reasoning: count(&value["completionDetails"]["reasoning"]),
    }
}

/// A provider that failed has a response without an output there.
fn response(value: &Value) -> Option<ResponseRecord> {
    let response = value.as_object()?;
    let output = response.get("output").filter(|output| !output.is_null())?;
    let word = |name: &str| Some(response.get(name)?.as_str()?.to_owned());
    Some(ResponseRecord {
        output: output.clone(),
        raw: response.get("raw").filter(|raw| !raw.is_null()).cloned(),
        cached: value["cached"].as_bool().unwrap_or(false),
        ttft_ms: None,
        cost: value["cost"].as_f64(),
        token_usage: usage(&value["tokenUsage"]),
        finish_reason: word("finishReason"),
        model: None,
        reasoning: word("reasoning"),
        metadata: map(&value["metadata"]),
    })
}

fn grading(value: &Value) -> Option<GradingRecord> {
    value.as_object()?;
    let components = value["componentResults"].as_array();
    let components = components.into_iter().flatten();
    Some(GradingRecord {
        pass: value["pass"].as_bool().unwrap_or(false),
        score: value["score"].as_f64().unwrap_or(0.0),
        reason: text(value.get("reason")),
        named_scores: map(&value["namedScores"]),
        named_score_weights: map(&value["namedScoreWeights"]),
        not_graded: Vec::deserialize(&value["notGraded"]).unwrap_or_default(),
        used: GraderUsage {
            tokens_used: usage(&value["tokensUsed"]),
            ..GraderUsage::default()
        },
        component_results: components.map(component).collect(),
        before_comparison: serde_json::from_value(value["beforeComparison"].clone()).ok(),
        by_people: serde_json::from_value(value["byPeople"].clone()).ok(),
    })
}

fn component(value: &Value) -> ComponentRecord {
    ComponentRecord {
        pass: value["pass"].as_bool().unwrap_or(false),
        score: value["score"].as_f64().unwrap_or(0.0),
        reason: text(value.get("reason")),
        skipped: value["skipped"].as_bool().unwrap_or(false),
        error_code: None,
        assertion: Value::Object(map(&value["assertion"])).into(),
        metadata: map(&value["metadata"]),
        named_scores: map(&value["namedScores"]),
        parts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::findings::tests::record as ours;

    #[test]
    fn a_row_of_ours_comes_back_as_it_was() {
        let row = ours(4, 1, Outcome::Failed, "no");
        assert_eq!(record(json!(row)), Ok(row));
    }

    #[test]
    fn a_row_that_contradicts_itself_is_refused() {
        let contradicts = |outcome: Outcome, field: &str, value: Value| {
            let mut row = json!(ours(4, 1, outcome, "no"));
            row[field] = value;
            record(row).is_err()
        };
        assert!(contradicts(Outcome::Passed, "success", json!(false)));
        assert!(contradicts(Outcome::Failed, "success", json!(true)));
        assert!(contradicts(Outcome::Error, "success", json!(true)));
        let failed = json!({ "pass": false, "score": 0, "reason": "r" });
        assert!(contradicts(Outcome::Passed, "gradingResult", failed));
        assert!(contradicts(Outcome::Passed, "failureReason", json!(2)));
        assert!(!contradicts(Outcome::Passed, "failureReason", json!(0)));
        let theirs = |reason: u64| {
            let row = json!({ "promptIdx": 0, "testIdx": 0, "success": true, "failureReason": reason, "error": "boom" });
            record(row).is_err()
        };
        assert!(theirs(2) && !theirs(1));
        assert!(!contradicts(Outcome::Passed, "success", json!(true)));
    }

    #[test]
    fn a_row_of_promptfoo_ended_as_it_says_or_as_it_must_have() {
        let graded = json!({ "pass": false, "score": 0, "reason": "r", "componentResults": [{ "pass": false, "score": 0, "reason": "why", "assertion": null }] });
        let table = [
            (
                json!({ "success": true, "gradingResult": null }),
                Outcome::Passed,
            ),
            (
                json!({ "success": false, "failureReason": 1, "gradingResult": graded }),
                Outcome::Failed,
            ),
            (
                json!({ "success": false, "failureReason": 2, "gradingResult": graded }),
                Outcome::Error,
            ),
            (
                json!({ "success": false, "failureReason": 0, "error": "No output" }),
                Outcome::Error,
            ),
        ];
        for (mut row, expected) in table {
            row["promptIdx"] = json!(0);
            row["testIdx"] = json!(0);
            let read = record(row.clone()).expect("it is one");
            assert_eq!(read.conclusion.outcome(), expected, "{row}");
        }
    }

    #[test]
    fn odd_values_are_taken_for_what_they_can_mean() {
        let row = json!({
            "promptIdx": 1, "testIdx": 2, "success": true, "provider": "openai:m", "latencyMs": 12.6, "cost": 0.5,
            "prompt": { "raw": ["chat"], "label": "L" }, "vars": null, "testCase": null,
            "response": { "output": { "a": 1 }, "cached": true, "tokenUsage": { "total": 3, "completionDetails": { "reasoning": 2 } } },
        });
        let read = record(row).expect("it is one");
        assert_eq!(read.prompt.raw, "[\"chat\"]");
        assert_eq!((read.latency_ms, read.cost), (13, Some(0.5)));
        assert_eq!((read.token_usage.total, read.token_usage.reasoning), (3, 2));
        assert!(read.response.is_some_and(|response| response.cached));
        assert_eq!(read.provider.name(), "openai:m");
    }

    #[test]
    fn an_index_beyond_what_is_counted_is_none() {
        let row = json!({ "promptIdx": 0, "testIdx": 4_294_967_296_u64 });
        let error = record(row).expect_err("too large");
        assert_eq!(error.to_string(), "it has no testIdx");
    }
}
