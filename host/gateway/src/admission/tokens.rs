//! What an attempt will use in tokens, guessed before it, and what it has used, as its answer
//! says.
//!
//! Limits on tokens are kept by reserving the guess and settling it afterwards, so a guess need
//! not be exact. It should be a little too high rather than too low: what was not used comes
//! back with the answer, what was used beyond the guess is debt. It must not be absurdly high
//! either: a request that seems to need more than a limit ever holds is never sent. No
//! tokenizer, which would be one per model.
//!
//! Only JSON is looked into, by the names that the usual APIs have for these numbers. They are
//! a stranger's: what is no count is absent, and so is what an answer claims that is too large to
//! be true. Such a call is settled as it was guessed: a false figure must not spend a budget that
//! others share.

use runner_scheduler::QuotaUse;
use serde::Deserialize;
use serde_json::Value;

use crate::pieces::objects;

#[cfg(test)]
mod tests;

/// Tokens of an answer whose request doesn't limit them. Most answers in evaluations are
/// shorter; more would make requests look too large for small limits.
pub const USUAL_OUTPUT: u64 = 512;

/// More than any call takes or gives: the largest windows of models are ten million. A request that asks
/// for more counts as this; an answer that says more says nothing.
pub const MOST_TOKENS: u64 = 1 << 24;

/// So many letters and digits in a row, without a space or a quote, are no text but base64.
const MEDIA_RUN: u64 = 1024;

/// What an image costs: about the most that the usual APIs charge for one. Counted as text, a
/// photograph would be a million tokens, which no limit holds.
const MEDIA_TOKENS: u64 = 1600;

/// Longest body that is parsed. Longer ones are vectors and media.
const PARSED: usize = 4 << 20;

/// What is known of an attempt before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guess {
    /// Its prompt.
    pub(crate) input: u64,
    /// The limit of its answer; `None`: the request sets none.
    pub(crate) output: Option<u64>,
}

impl Guess {
    /// Whether it says that no model is asked.
    pub(crate) fn is_nothing(self) -> bool {
        self.input == 0 && self.output == Some(0)
    }

    /// With the usual answer where the request doesn't limit it.
    pub(crate) fn cost(self) -> QuotaUse {
        QuotaUse {
            input_tokens: self.input,
            output_tokens: self.output.unwrap_or(USUAL_OUTPUT),
        }
    }
}

/// The guess for one attempt: its prompt by the length of the body at four bytes a token with
/// 15 % for caution, its answer by the limit that the request sets. `path` is the URL's.
pub(crate) fn guess(path: &str, body: &[u8]) -> Guess {
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Guess {
            input: 0,
            output: Some(0),
        };
    }
    // `/v1/embeddings`, `/api/embed`, `…:embedContent`: vectors are not counted in tokens.
    let makes_vectors = path.rsplit('/').next().is_some_and(|l| l.contains("embed"));
    Guess {
        input: input(body),
        output: if makes_vectors {
            Some(0)
        } else {
            asked_output(body)
        },
    }
}

/// A guess at the tokens of a prompt, rather too many than too few.
pub fn prompt_tokens(text: &str) -> u64 {
    input(text.as_bytes())
}

/// The most tokens of an answer that a provider's config allows, by the names that the usual APIs
/// have for it; `None`: it sets no limit.
pub fn answer_tokens(config: &Value) -> Option<u64> {
    asked_output(config.to_string().as_bytes())
}

fn input(body: &[u8]) -> u64 {
    let (mut text, mut media) = (0, 0);
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte);
    let count = |run: &[u8]| run.len() as u64;
    for run in body.chunk_by(|a, b| is_base64(a) == is_base64(b)) {
        if count(run) >= MEDIA_RUN && run.first().is_some_and(is_base64) {
            media += 1;
        } else {
            text += count(run);
        }
    }
    (text * 115).div_ceil(400) + media * MEDIA_TOKENS
}

/// The places in which requests limit their answers.
#[derive(Deserialize)]
struct LimitFields {
    max_completion_tokens: Option<Value>,
    max_output_tokens: Option<Value>,
    max_tokens: Option<Value>,
    #[serde(rename = "generationConfig")]
    generation_config: Option<Value>,
    #[serde(rename = "inferenceConfig")]
    inference_config: Option<Value>,
    options: Option<Value>,
}

fn asked_output(body: &[u8]) -> Option<u64> {
    if body.len() > PARSED {
        return None;
    }
    let asked: LimitFields = serde_json::from_slice(body).ok()?;
    let capped = |value: &Value| Some(count(value)?.min(MOST_TOKENS));
    let within = |object: &Option<Value>, name: &str| capped(object.as_ref()?.get(name)?);
    let plain = [
        asked.max_completion_tokens,
        asked.max_output_tokens,
        asked.max_tokens,
    ];
    plain
        .iter()
        .flatten()
        .find_map(capped)
        .or_else(|| within(&asked.generation_config, "maxOutputTokens"))
        .or_else(|| within(&asked.inference_config, "maxTokens"))
        .or_else(|| within(&asked.options, "num_predict"))
}

/// The places in which answers say what they used.
#[derive(Deserialize)]
struct UsageFields {
    usage: Option<Value>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Option<Value>,
    meta: Option<Value>,
    /// Of events: Anthropic's first, and the last of OpenAI's responses.
    message: Option<Value>,
    response: Option<Value>,
    prompt_eval_count: Option<Value>,
    eval_count: Option<Value>,
}

/// What an answer says that it used; `None` where it doesn't say. Of one that came in pieces each says what was used
/// until then, or a part of it.
pub(crate) fn usage(body: &[u8]) -> Option<QuotaUse> {
    if body.len() > PARSED {
        return None;
    }
    let more = |one: Option<QuotaUse>, other: Option<QuotaUse>| match (one, other) {
        (Some(one), Some(other)) => Some(QuotaUse {
            input_tokens: one.input_tokens.max(other.input_tokens),
            output_tokens: one.output_tokens.max(other.output_tokens),
        }),
        (one, other) => one.or(other),
    };
    let told = |object| serde_json::from_slice(object).ok();
    let whole = Some(body).filter(|body| body.trim_ascii_start().starts_with(b"{"));
    match whole.and_then(told) {
        Some(told) => usage_of(&told),
        None => objects(body)
            .filter_map(told)
            .map(|told| usage_of_event(&told))
            .fold(None, more),
    }
}

fn usage_of_event(told: &UsageFields) -> Option<QuotaUse> {
    let within = |object: &Option<Value>| used(object.as_ref()?.get("usage")?);
    usage_of(told)
        .or_else(|| within(&told.message))
        .or_else(|| within(&told.response))
}

fn usage_of(told: &UsageFields) -> Option<QuotaUse> {
    let billed = |object: &Option<Value>| used(object.as_ref()?.get("billed_units")?);
    let whole = |object: &Option<Value>| used(object.as_ref()?);
    billed(&told.usage)
        .or_else(|| billed(&told.meta))
        .or_else(|| whole(&told.usage))
        .or_else(|| whole(&told.usage_metadata))
        .or_else(|| {
            let counts = [told.prompt_eval_count.as_ref(), told.eval_count.as_ref()];
            cost(counts[0].and_then(believed), counts[1].and_then(believed))
        })
}

/// OpenAI's and its followers' names, Anthropic's and Cohere's, Bedrock's, Gemini's.
const INPUT: [&str; 4] = [
    "prompt_tokens",
    "input_tokens",
    "inputTokens",
    "promptTokenCount",
];

/// Input that is stated beside [`INPUT`] and charged like it. Tokens *read* from a prompt cache
/// are not here: the APIs that state them apart don't count them against their limits.
const MORE_INPUT: [&str; 2] = ["cache_creation_input_tokens", "cacheWriteInputTokens"];

const OUTPUT: [&str; 4] = [
    "completion_tokens",
    "output_tokens",
    "outputTokens",
    "candidatesTokenCount",
];

/// Output that is stated beside [`OUTPUT`].
const MORE_OUTPUT: [&str; 1] = ["thoughtsTokenCount"];

fn used(object: &Value) -> Option<QuotaUse> {
    let first = |names: &[&str]| names.iter().find_map(|name| believed(object.get(name)?));
    let with = |base: Option<u64>, more: Option<u64>| match (base, more) {
        (None, None) => None,
        (base, more) => Some(base.unwrap_or(0) + more.unwrap_or(0)),
    };
    cost(
        with(first(&INPUT), first(&MORE_INPUT)),
        with(first(&OUTPUT), first(&MORE_OUTPUT)),
    )
}

fn cost(input: Option<u64>, output: Option<u64>) -> Option<QuotaUse> {
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(QuotaUse {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
    })
}

/// A count that an answer says and that can be true.
fn believed(value: &Value) -> Option<u64> {
    count(value).filter(|count| *count <= MOST_TOKENS)
}

/// A count of tokens. Some APIs write `12.0`; negative ones mean "no limit".
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| *number >= 0.0)?;
        Some(number as u64)
    })
}
