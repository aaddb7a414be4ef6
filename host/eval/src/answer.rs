//! A provider's answer, as graders and the results see it.

use std::time::Duration;

use runner_gateway::MOST_TOKENS;
use runner_sandbox::abi::{Completion, FinishReason, Part, ReadCompletion, Usage};
use serde_json::{Map, Value};

use crate::failure::CallFailure;
use crate::record::{ResponseRecord, TokenUsage};
use crate::request::text;

/// A provider's answer with what the host measured.
pub(crate) struct Completed {
    pub(crate) read: ReadCompletion,
    /// Time of the call without waits; what is remembered counts as it did when it came.
    pub(crate) latency: Duration,
    /// Time to its first token, where it was streamed now.
    pub(crate) first_token: Option<Duration>,
    /// It made requests, and none left the machine.
    pub(crate) cached: bool,
    /// Requests that left the machine.
    pub(crate) attempts: u64,
    /// How code of the provider's config failed over it; it is as it came then.
    pub(crate) unread: Option<CallFailure>,
}

/// A provider's answer.
pub(crate) struct Answer {
    /// As the component gave it.
    pub(crate) completion: Completion,
    /// As it will be stored.
    pub(crate) record: ResponseRecord,
    /// The output as graders of text read it: a string as it is, else compact JSON.
    pub(crate) text: String,
    /// Time of the call without waits.
    pub(crate) latency: Duration,
    /// Why it is what came over the wire, and no answer.
    pub(crate) unread: Option<CallFailure>,
}

impl Answer {
    /// Makes a record of a completion.
    pub(crate) fn new(completed: Completed) -> Self {
        let Completed {
            read,
            latency,
            first_token,
            cached,
            attempts,
            unread,
        } = completed;
        let ReadCompletion {
            completion,
            output,
            raw,
            metadata,
        } = read;
        let output = output.unwrap_or_else(|| {
            Value::String(joined(&completion, |part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            }))
        });
        let reasoning = joined(&completion, |part| match part {
            Part::Reasoning(text) => Some(text.as_str()),
            _ => None,
        });
        let record = ResponseRecord {
            raw,
            cached,
            ttft_ms: first_token.map(|time| time.as_millis() as u64),
            cost: completion.cost_usd,
            token_usage: token_usage(&completion.usage, cached, attempts),
            finish_reason: completion
                .finish_reason
                .as_ref()
                .map(|reason| finish_word(reason).to_owned()),
            model: completion.model.clone(),
            reasoning: (!reasoning.is_empty()).then_some(reasoning),
            metadata,
            output,
        };
        Self {
            text: text(&record.output),
            completion,
            record,
            latency,
            unread,
        }
    }

    /// An answer that the test brings with it: it took no time and cost nothing.
    pub(crate) fn saved(output: &Value) -> Self {
        let (content, value) = match output {
            Value::String(text) => (vec![Part::Text(text.clone())], None),
            other => (Vec::new(), Some(other.clone())),
        };
        let completion = Completion {
            output_json: value.as_ref().map(Value::to_string),
            cost_usd: Some(0.0),
            ..Completion::new(content)
        };
        Self::new(Completed {
            read: ReadCompletion {
                completion,
                output: value,
                raw: None,
                metadata: Map::new(),
            },
            latency: Duration::ZERO,
            first_token: None,
            cached: false,
            attempts: 0,
            unread: None,
        })
    }

    /// Puts another output in the place of the provider's.
    pub(crate) fn replace_output(&mut self, output: Value) {
        self.text = text(&output);
        self.record.output = output;
    }

    /// Whether there is an output at all: text (which may be empty) or a value.
    pub(crate) fn says_something(&self) -> bool {
        let is_text = |part: &Part| matches!(part, Part::Text(_));
        self.completion.output_json.is_some() || self.completion.message.content.iter().any(is_text)
    }
}

fn joined<'a>(completion: &'a Completion, pick: impl Fn(&'a Part) -> Option<&'a str>) -> String {
    completion.message.content.iter().filter_map(pick).collect()
}

/// promptfoo's words for why an answer ended.
fn finish_word(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Refusal => "refusal",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Other(word) => word,
    }
}

/// Meters beside tokens that are kept of a call, and bytes of their names: APIs have a few.
const MOST_METERS: usize = 32;
const METER_NAME: usize = 128;

/// Leaves out what no call can have used. The number that was said, if one was.
pub(crate) fn believable(usage: &mut Usage) -> Option<u64> {
    usage.other.retain(|(name, _)| name.len() <= METER_NAME);
    usage.other.truncate(MOST_METERS);
    // The list is held for as long as the answer.
    usage.other.shrink_to_fit();
    let counts = [
        &mut usage.input_tokens,
        &mut usage.output_tokens,
        &mut usage.total_tokens,
        &mut usage.reasoning_tokens,
        &mut usage.cache_read_tokens,
        &mut usage.cache_write_tokens,
    ];
    let unbelieved = |count: &mut Option<u64>| count.take_if(|it| *it > MOST_TOKENS);
    counts.into_iter().filter_map(unbelieved).max()
}

/// The highest price of a call that is believed, in US dollars: above that of any.
const MOST_COST: f64 = 100.0;

/// Leaves out a price that no call has, which then costs what its tokens do. The price that was said, if one was.
pub(crate) fn believable_cost(usd: &mut Option<f64>) -> Option<f64> {
    usd.take_if(|usd| *usd > MOST_COST)
}

/// Token counts of a call as the results show them. Nothing reported counts as 0.
pub(crate) fn token_usage(usage: &Usage, cached: bool, attempts: u64) -> TokenUsage {
    let prompt = usage.input_tokens.unwrap_or(0);
    let completion = usage.output_tokens.unwrap_or(0);
    let sum = prompt.saturating_add(completion);
    let total = usage.total_tokens.unwrap_or(sum);
    TokenUsage {
        total,
        prompt,
        completion,
        cached: if cached { total } else { 0 },
        num_requests: attempts,
        reasoning: usage.reasoning_tokens.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_that_can_not_be_are_left_out() {
        let left = |mut usd: Option<f64>| (believable_cost(&mut usd), usd);
        assert_eq!(left(Some(f64::MAX)), (Some(f64::MAX), None));
        for usd in [None, Some(0.0), Some(0.25), Some(MOST_COST)] {
            assert_eq!(left(usd), (None, usd));
        }
    }

    #[test]
    fn counts_that_can_not_be_are_left_out_and_sums_of_them_end() {
        let mut usage = Usage {
            input_tokens: Some(u64::MAX),
            output_tokens: Some(7),
            total_tokens: None,
            reasoning_tokens: Some(MOST_TOKENS),
            ..Usage::unknown()
        };
        let unbelieved = token_usage(&usage, false, 1);
        assert_eq!(unbelieved.total, u64::MAX);

        assert_eq!(believable(&mut usage), Some(u64::MAX));
        assert_eq!(usage.input_tokens, None);
        assert_eq!(usage.reasoning_tokens, Some(MOST_TOKENS));
        assert_eq!(believable(&mut usage), None);

        let meters = (0..100).map(|n| (format!("m{n}"), n));
        let long = ("x".repeat(METER_NAME + 1), 1);
        usage.other = std::iter::once(long).chain(meters).collect();
        assert_eq!(believable(&mut usage), None);
        assert_eq!(usage.other.len(), MOST_METERS);
        assert_eq!(usage.other[0].0, "m0");

        let mut sum = unbelieved;
        sum.add(&unbelieved);
        assert_eq!(
            (sum.total, sum.prompt, sum.completion),
            (u64::MAX, u64::MAX, 14)
        );
    }
}
