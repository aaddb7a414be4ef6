//! Perplexity: how surprised the model was by its own answer, from the log probabilities of
//! its tokens. 1 is certainty; there is no upper bound.
//!
//! Log probabilities have no field in the contract. A provider puts them into `metadata-json`
//! as `logProbs`, a list of numbers; where it does not, OpenAI's two shapes are looked for in
//! the raw response, which the host may have cut.

use runner_plugin::json::{self, Value};
use runner_plugin::{Completion, Error, Grade, Input};

/// `perplexity`: at most `threshold`. Without one it passes, and so does its opposite.
pub(crate) fn perplexity(input: &Input) -> Result<Grade, Error> {
    let perplexity = of(input)?;
    let Some(limit) = input.threshold else {
        return Ok(Grade::pass(format!("The perplexity is {perplexity:.2}")));
    };
    let what = format!("have a perplexity of at most {limit}; it is {perplexity:.2}");
    Ok(input.judge(perplexity <= limit, what))
}

/// `perplexity-score`: 1 / (1 + perplexity), which is the score, is at least `threshold`.
/// Without one it passes, and so does its opposite.
pub(crate) fn score(input: &Input) -> Result<Grade, Error> {
    let score = 1.0 / (1.0 + of(input)?);
    let pass = input
        .threshold
        .is_none_or(|limit| (score >= limit) != input.inverse);
    let relation = match input.threshold {
        None => "has no threshold".to_owned(),
        Some(limit) if score >= limit => format!("reaches the threshold {limit}"),
        Some(limit) => format!("is below the threshold {limit}"),
    };
    let shown = if input.inverse { 1.0 - score } else { score };
    let reason = format!("The perplexity score {score:.2} {relation}");
    Ok(Grade::new(pass, shown, reason))
}

/// The perplexity of the answer: the exponential of the mean surprise.
fn of(input: &Input) -> Result<f64, Error> {
    let missing = || {
        Error::unsupported(format!(
            "`{}` needs log probabilities, and the provider gave none (`logProbs` in its \
             metadata); ask the model for them, for example with `logprobs: true`",
            input.type_
        ))
    };
    let logs = match &input.completion {
        Some(completion) => log_probabilities(completion)?,
        None => return Err(missing()),
    };
    if logs.is_empty() {
        return Err(missing());
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let perplexity = (-mean).exp();
    if perplexity.is_finite() {
        Ok(perplexity)
    } else {
        Err(Error::bad_response(format!(
            "the log probabilities have a mean of {mean}, which no model can mean"
        )))
    }
}

fn log_probabilities(completion: &Completion) -> Result<Vec<f64>, Error> {
    let metadata = json::object("metadata", completion.metadata_json.as_deref())?;
    if let Some(Value::Array(items)) = metadata.get("logProbs") {
        return numbers(items);
    }
    let Some(raw) = &completion.raw_json else {
        return Ok(Vec::new());
    };
    let raw: Value = json::read("the raw response", raw)?;
    let chat = raw.pointer("/choices/0/logprobs/content");
    let completions = raw.pointer("/choices/0/logprobs/token_logprobs");
    match (chat, completions) {
        (Some(Value::Array(tokens)), _) => numbers(tokens),
        // The first token of an echoed prompt has none: null.
        (_, Some(Value::Array(tokens))) => {
            let known = tokens.iter().filter(|token| !token.is_null());
            numbers(known)
        }
        _ => Ok(Vec::new()),
    }
}

/// Numbers, or objects that hold one as `logprob`.
fn numbers<'v>(items: impl IntoIterator<Item = &'v Value>) -> Result<Vec<f64>, Error> {
    let number = |item: &Value| item.get("logprob").unwrap_or(item).as_f64();
    items
        .into_iter()
        .map(number)
        .collect::<Option<Vec<f64>>>()
        .ok_or_else(|| Error::bad_response("the log probabilities are not all numbers"))
}
