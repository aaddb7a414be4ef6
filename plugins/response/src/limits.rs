//! Time and money: what the host measured, against a threshold.
//!
//! Both types take their limit as `threshold` alone, as in promptfoo; a limit written as
//! `value` is an error that says so, since ignoring it would make every answer pass.

use runner_plugin::json::{self, Value};
use runner_plugin::{Error, Grade, Input};

/// `latency`: the response took at most `threshold` milliseconds. One from the cache has the
/// latency that it had when it was fetched.
pub(crate) fn latency(input: &Input) -> Result<Grade, Error> {
    let limit = limit(input, "milliseconds")?;
    let Some(latency) = input.latency_ms else {
        return Err(missing(input, "the host measured no latency"));
    };
    let what = format!("be there within {limit} ms; it took {latency} ms");
    Ok(input.judge(latency as f64 <= limit, what))
}

/// `ttft`: the first token of the response came at most `threshold` milliseconds after the request went out.
pub(crate) fn first_token(input: &Input) -> Result<Grade, Error> {
    let limit = limit(input, "milliseconds")?;
    let extra = json::object("what is known beside", input.extra_json.as_deref())?;
    let Some(time) = extra.get("ttftMs").and_then(Value::as_u64) else {
        let why = "the response was not streamed; write `stream: true` in the provider's `config`, if it can";
        return Err(missing(input, why));
    };
    let what = format!("begin within {limit} ms; its first token came after {time} ms");
    Ok(input.judge(time as f64 <= limit, what))
}

/// `cost`: the response cost at most `threshold` US dollars.
pub(crate) fn cost(input: &Input) -> Result<Grade, Error> {
    let limit = limit(input, "US dollars")?;
    let Some(cost) = input.cost_usd else {
        let why = "neither the provider nor the price table says what the response cost";
        return Err(missing(input, why));
    };
    let what = format!("cost at most ${limit}; it cost ${cost}");
    Ok(input.judge(cost <= limit, what))
}

fn limit(input: &Input, unit: &str) -> Result<f64, Error> {
    input.threshold.ok_or_else(|| {
        let kind = &input.type_;
        Error::invalid_request(format!("`{kind}` needs its limit in {unit} as `threshold`"))
    })
}

fn missing(input: &Input, why: &str) -> Error {
    Error::unsupported(format!("`{}` cannot be graded: {why}", input.type_))
}
