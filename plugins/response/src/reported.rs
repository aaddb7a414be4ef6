//! What the API said about its answer: why it ended, and what its filters found.

use runner_plugin::json::{self, Value};
use runner_plugin::{Completion, Error, FinishReason, Grade, Input};

/// `finish-reason`: the answer ended for this reason. Names are compared without regard to
/// case; those that APIs use stand for the ones of the contract ([`canonical`]). An API that
/// gives no reason fails in both directions: there is nothing to compare.
pub(crate) fn finish_reason(input: &Input) -> Result<Grade, Error> {
    let Some(wanted) = input
        .value::<String>()?
        .filter(|text| !text.trim().is_empty())
    else {
        return Err(Error::invalid_request(
            "`finish-reason` takes a reason as its value, for example `stop`",
        ));
    };
    let Some(completion) = &input.completion else {
        return Ok(Grade::fail("The answer comes from no provider of this run"));
    };
    let Some(reason) = &completion.finish_reason else {
        return Ok(Grade::fail("The provider gave no finish reason"));
    };
    let found = name(reason);
    let wanted = canonical(&wanted);
    // A refusal hides the API's own word, for which configs may look.
    let behind = match reason {
        FinishReason::Refusal => raw_reason(completion)?,
        _ => None,
    };
    let holds = wanted == found || behind.is_some_and(|behind| wanted == canonical(&behind));
    Ok(input.judge(
        holds,
        format_args!("end because of \"{wanted}\"; it ended because of \"{found}\""),
    ))
}

/// The name of a reason, as promptfoo writes it.
fn name(reason: &FinishReason) -> String {
    match reason {
        FinishReason::Stop => "stop".to_owned(),
        FinishReason::Length => "length".to_owned(),
        FinishReason::ToolCalls => "tool_calls".to_owned(),
        FinishReason::Refusal => "refusal".to_owned(),
        FinishReason::ContentFilter => "content_filter".to_owned(),
        FinishReason::Other(name) => canonical(name),
    }
}

/// A reason in any API's words, in those of the contract.
fn canonical(reason: &str) -> String {
    let reason = reason.trim().to_lowercase().replace('-', "_");
    match reason.as_str() {
        "end_turn" | "stop_sequence" => "stop".to_owned(),
        "max_tokens" => "length".to_owned(),
        "tool_use" | "function_call" => "tool_calls".to_owned(),
        "safety" => "content_filter".to_owned(),
        _ => reason,
    }
}

/// The reason in the response itself, where OpenAI's shape has it.
fn raw_reason(completion: &Completion) -> Result<Option<String>, Error> {
    let Some(raw) = &completion.raw_json else {
        return Ok(None);
    };
    let raw: Value = json::read("the raw response", raw)?;
    let reason = raw.pointer("/choices/0/finish_reason");
    Ok(reason.and_then(Value::as_str).map(str::to_owned))
}

/// `guardrails`: no filter of the API objected. Where none was applied it passes, and its opposite
/// fails.
pub(crate) fn guardrails(input: &Input) -> Result<Grade, Error> {
    let verdict = verdict(input.completion.as_ref())?;
    Ok(match verdict {
        Verdict::NotApplied if input.inverse => Grade::fail("No guardrail was applied"),
        Verdict::NotApplied => Grade::pass("No guardrail was applied"),
        Verdict::Clean if input.inverse => {
            Grade::fail("Expected the guardrails to object; they did not")
        }
        Verdict::Clean => Grade::pass("The guardrails did not object"),
        Verdict::Flagged(why) if input.inverse => Grade::pass(why),
        Verdict::Flagged(why) => Grade::fail(why),
    })
}

/// What the filters found.
enum Verdict {
    NotApplied,
    Clean,
    /// With the reason, as a sentence.
    Flagged(String),
}

/// Reads `metadata.guardrails`; a finish reason that tells of a filter or a refusal counts
/// where there is none.
fn verdict(completion: Option<&Completion>) -> Result<Verdict, Error> {
    let Some(completion) = completion else {
        return Ok(Verdict::NotApplied);
    };
    let metadata = json::object("metadata", completion.metadata_json.as_deref())?;
    if let Some(Value::Object(found)) = metadata.get("guardrails") {
        let set = |key: &str| found.get(key).is_some_and(|value| *value == true);
        if !set("flagged") {
            return Ok(Verdict::Clean);
        }
        let reason = found.get("reason").and_then(Value::as_str);
        let what = if set("flaggedInput") {
            "prompt"
        } else if set("flaggedOutput") {
            "output"
        } else {
            "content"
        };
        let why = reason.filter(|text| !text.is_empty()).map_or_else(
            || format!("The guardrails objected to the {what}"),
            str::to_owned,
        );
        return Ok(Verdict::Flagged(why));
    }
    Ok(match completion.finish_reason {
        Some(FinishReason::ContentFilter) => {
            Verdict::Flagged("The API's content filter objected".to_owned())
        }
        Some(FinishReason::Refusal) => Verdict::Flagged("The model refused to answer".to_owned()),
        _ => Verdict::NotApplied,
    })
}
