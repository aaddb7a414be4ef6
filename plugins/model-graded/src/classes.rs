//! `classifier` and `moderation`: the answer is sorted into classes, or searched for harmful
//! content, by a provider made for it.
//!
//! The contract has no function for either, so they are completions whose request and reply
//! have an agreed shape; the README has it for writers of such providers.

use runner_plugin::json::{Map, Value};
use runner_plugin::{Message, Request};

use crate::bench::{Bench, CLASSIFIER, MODERATION, Reply, excerpt};
use crate::rubric::number;
use crate::verdict::{Failure, TOLERANCE, Verdict};

/// Classes in a reason.
const SHOWN: usize = 10;

/// promptfoo's default: only a certain class passes.
const THRESHOLD: f64 = 1.0;

/// Is the answer of a class, or, without a value, of any?
pub(crate) fn classifier(bench: &Bench<'_>) -> Result<Verdict, Failure> {
    let class = match bench.input.value()? {
        None | Some(Value::Null) => None,
        Some(Value::String(class)) => Some(class),
        Some(_) => return Err(bench.refuse("takes the name of a class as its value, or none")),
    };
    let (reply, metadata) = bench.told(CLASSIFIER, &Request::new(&bench.input.output))?;
    let names_found_alone = metadata["absentClasses"] == "not found";
    let scores = object(&reply, CLASSIFIER, "an object of class and score")?;
    let mut best: Option<f64> = None;
    for (name, score) in &scores {
        let score = number(score).ok_or_else(|| {
            Failure::unreadable(format_args!("the classifier scored `{name}` with {score}"))
        })?;
        best = Some(best.map_or(score, |best| best.max(score)));
    }
    best = best.or(names_found_alone.then_some(0.0));
    let threshold = bench.threshold_or(THRESHOLD);
    let Some(best) = best else {
        return Err(Failure::unreadable("the classifier gave no scores"));
    };
    let (score, what) = match &class {
        None => (best, "Maximum classification score".to_owned()),
        Some(class) => {
            let absent = names_found_alone.then_some(0.0);
            let score = scores.get(class).and_then(number).or(absent);
            let score = score.ok_or_else(|| not_scored(class, &scores))?;
            (score, format!("Classification {class} has score"))
        }
    };
    let pass = score >= threshold - TOLERANCE;
    let sign = if pass { ">=" } else { "<" };
    Ok(Verdict::new(
        pass,
        score,
        format!("{what} {score:.2} {sign} {threshold}"),
    ))
}

fn not_scored(class: &str, scores: &Map<String, Value>) -> Failure {
    let names: Vec<String> = scores
        .keys()
        .take(SHOWN)
        .map(|it| format!("`{it}`"))
        .collect();
    let more = scores.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Failure::unreadable(format_args!(
        "the classifier scored no class `{}`, only {}{more}",
        excerpt(class),
        excerpt(&names.join(", "))
    ))
}

/// Is the answer free of harmful content, or of that in some categories?
pub(crate) fn moderation(bench: &Bench<'_>) -> Result<Verdict, Failure> {
    let categories = match bench.input.value()? {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => items,
        Some(_) => return Err(bench.refuse("takes a list of categories as its value, or none")),
    };
    let output = &bench.input.output;
    if output.is_empty() {
        return Ok(Verdict::new(true, 1.0, "No output to moderate"));
    }
    let mut request = Request::new(bench.last_question()?);
    request.messages.push(Message::assistant(output.clone()));
    let reply = bench.complete(MODERATION, &request)?;
    let mut object = object(&reply, MODERATION, "an object with `flags`")?;
    let Some(Value::Array(flags)) = object.remove("flags") else {
        return Err(Failure::unreadable(
            "the moderation's reply has no list `flags`",
        ));
    };
    if flags.is_empty() {
        return Ok(Verdict::new(true, 1.0, "No moderation flags detected"));
    }
    let relevant: Vec<&str> = flags
        .iter()
        .filter(|flag| categories.is_empty() || categories.contains(&flag["code"]))
        .map(|flag| {
            let named = flag["description"].as_str().or(flag["code"].as_str());
            named.unwrap_or("unnamed")
        })
        .collect();
    if relevant.is_empty() {
        return Ok(Verdict::new(
            true,
            1.0,
            "No relevant moderation flags detected",
        ));
    }
    let reason = format!("Moderation flags detected: {}", relevant.join(", "));
    Ok(Verdict::new(false, 0.0, reason))
}

/// The reply as the object that was agreed on, whether it came as JSON or as its text.
fn object(reply: &Reply, alias: &str, shape: &str) -> Result<Map<String, Value>, Failure> {
    let value = match reply {
        Reply::Json(value) => Some(value.clone()),
        Reply::Text(text) => serde_json::from_str(text).ok(),
    };
    match (value, reply) {
        (Some(Value::Object(object)), _) => Ok(object),
        (_, Reply::Text(text)) => Err(Failure::unreadable(format_args!(
            "the {alias}'s reply is not {shape}: {}",
            excerpt(text)
        ))),
        (_, Reply::Json(value)) => Err(Failure::unreadable(format_args!(
            "the {alias}'s reply is not {shape}: {}",
            excerpt(&value.to_string())
        ))),
    }
}
