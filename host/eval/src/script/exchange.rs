//! Code in a provider's config: what its plugin sends, and what of the response is the answer.
//!
//! `transformRequest` runs before the plugin is called, which gets what it gave as the option
//! [`REQUEST`](crate::private_door::REQUEST). `transformResponse` runs after it, on what came over the
//! wire: a plugin that is told so gives that instead of an answer. Neither is the
//! provider's `transform`, which reads an answer and comes later.

use runner_config::plan::{Code, Script};
use runner_sandbox::abi::{FinishReason, Message, Part, ReadCompletion, Role, Usage};
use serde_json::{Map, Value};

use super::{Runnable, made, runnable};
use crate::request::{json, text};

mod shape;

pub(crate) use shape::of as shape_of;

/// The code; a text of the config in the form that it has.
pub(crate) fn shaped(script: &Script, names: &[&str]) -> Runnable {
    let mut runnable = runnable(script);
    if let Code::Inline { text } = &script.code {
        let program = &mut runnable.program;
        (program.form, program.source) = shape::of(text, names);
    }
    runnable
}

/// What code says of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Stated {
    output: Value,
    usage: Option<Map<String, Value>>,
    cost: Option<f64>,
    finish_reason: Option<String>,
    raw: Option<Value>,
    is_cached: bool,
    metadata: Map<String, Value>,
}

impl Stated {
    /// An object with `output` or `error` says both and more; anything else is the output.
    pub(crate) fn of(value: Value) -> Result<Self, String> {
        let mut fields = match value {
            Value::Object(fields) if says_more(&fields) => fields,
            output => {
                return Ok(Self {
                    output,
                    ..Self::default()
                });
            }
        };
        let says_nothing =
            |error: &Value| matches!(error, Value::Null | Value::Bool(false)) || error == "";
        if let Some(error) = fields.remove("error").filter(|error| !says_nothing(error)) {
            return Err(format!("the code says: {}", text(&error)));
        }
        let output = made::something(fields.remove("output"));
        let mut map = |key: &str| match fields.remove(key) {
            Some(Value::Object(map)) => Ok(Some(map)),
            None | Some(Value::Null) => Ok(None),
            other => {
                let what = made::word(other.as_ref());
                Err(format!("the code's `{key}` must be an object, not {what}"))
            }
        };
        let (usage, metadata) = (map("tokenUsage")?, map("metadata")?);
        let mut metadata = metadata.unwrap_or_default();
        // Where graders look for them.
        for key in ["logProbs", "guardrails"] {
            if let Some(value) = fields.remove(key).filter(|value| !value.is_null()) {
                metadata.entry(key).or_insert(value);
            }
        }
        let cost = match fields.get("cost") {
            None | Some(Value::Null) => None,
            Some(cost) => {
                let amount = cost.as_f64().filter(|cost| *cost >= 0.0);
                let wrong = || "the code's `cost` must be a number of at least 0".to_owned();
                Some(amount.ok_or_else(wrong)?)
            }
        };
        let finish_reason = fields.get("finishReason").and_then(Value::as_str);
        let finish_reason = finish_reason.map(str::to_owned);
        Ok(Self {
            output: output?,
            usage,
            cost,
            finish_reason,
            is_cached: fields.get("cached") == Some(&Value::Bool(true)),
            raw: fields.remove("raw").filter(|raw| !raw.is_null()),
            metadata,
        })
    }

    /// Whether nobody was asked for it now.
    pub(crate) fn is_cached(&self) -> bool {
        self.is_cached
    }

    pub(crate) fn put_into(self, read: &mut ReadCompletion) {
        let completion = &mut read.completion;
        let content = text(&self.output);
        read.output = Some(self.output).filter(|output| !output.is_string());
        completion.output_json = read.output.is_some().then(|| content.clone());
        completion.message = Message {
            role: Role::Assistant,
            name: None,
            content: vec![Part::Text(content)],
        };
        if let Some(usage) = &self.usage {
            count(&mut completion.usage, usage);
        }
        completion.cost_usd = self.cost.or(completion.cost_usd);
        if let Some(reason) = self.finish_reason {
            completion.finish_reason = Some(FinishReason::Other(reason));
        }
        // What a plugin read of the wire is the raw answer.
        if read.raw.is_none()
            && let Some(raw) = self.raw
        {
            completion.raw_json = Some(json(&raw));
            read.raw = Some(raw);
        }
        if !self.metadata.is_empty() {
            read.metadata.extend(self.metadata);
            completion.metadata_json = Some(json(&read.metadata));
        }
    }
}

/// Reads promptfoo's `tokenUsage`.
fn count(usage: &mut Usage, stated: &Map<String, Value>) {
    let count = |key: &str| stated.get(key).and_then(Value::as_u64);
    usage.input_tokens = count("prompt");
    usage.output_tokens = count("completion");
    usage.total_tokens = count("total");
    let details = stated.get("completionDetails");
    usage.reasoning_tokens = details.and_then(|it| it.get("reasoning")?.as_u64());
}

/// A vector that code of the config made, what it used, and what it cost.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) vector: Vec<f32>,
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
}

impl Embedded {
    /// promptfoo's `{ embedding, tokenUsage, cost }`, or `{ error }`.
    pub(crate) fn of(value: &Value) -> Result<Self, String> {
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(format!("the code says: {}", text(error)));
        }
        let numbers = value.get("embedding").and_then(Value::as_array);
        let numbers = numbers.map(|all| all.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
        let Some(Some(numbers)) = numbers else {
            return Err("the code gave no `embedding`, a list of numbers".to_owned());
        };
        let mut usage = Usage::unknown();
        if let Some(Value::Object(stated)) = value.get("tokenUsage") {
            count(&mut usage, stated);
        }
        Ok(Self {
            vector: numbers.into_iter().map(|number| number as f32).collect(),
            usage,
            cost_usd: value.get("cost").and_then(Value::as_f64),
        })
    }
}

fn says_more(fields: &Map<String, Value>) -> bool {
    fields.contains_key("output") || fields.contains_key("error")
}

#[cfg(test)]
mod tests;
