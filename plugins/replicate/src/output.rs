//! From a prediction to a completion. What a model gives is a text, pieces of one, addresses of
//! files, or any other value.

use plugin_model_api::picture;
use runner_plugin::json::{Value, json};
use runner_plugin::{Completion, Error, Usage};

/// The categories of LlamaGuard 3 and 4.
const CATEGORIES: [(&str, &str); 14] = [
    ("S1", "Violent Crimes"),
    ("S2", "Non-Violent Crimes"),
    ("S3", "Sex Crimes"),
    ("S4", "Child Exploitation"),
    ("S5", "Defamation"),
    ("S6", "Specialized Advice"),
    ("S7", "Privacy"),
    ("S8", "Intellectual Property"),
    ("S9", "Indiscriminate Weapons"),
    ("S10", "Hate"),
    ("S11", "Self-Harm"),
    ("S12", "Sexual Content"),
    ("S13", "Elections"),
    ("S14", "Code Interpreter Abuse"),
];

/// A text, joined of its pieces; any other value as it is.
pub(crate) fn text(prediction: &Value) -> Result<Completion, Error> {
    let output = &prediction["output"];
    let completion = match written(output) {
        Some(text) => Completion::text(text),
        None if output.is_null() => return Err(without_output(prediction)),
        None => Completion::text(output.to_string()).output(output),
    };
    Ok(reported(completion, prediction))
}

/// A picture, as Markdown has it: what was asked for, and the first address.
pub(crate) fn image(prediction: &Value, prompt: &str) -> Result<Completion, Error> {
    let output = &prediction["output"];
    let first = if output.is_array() {
        &output[0]
    } else {
        output
    };
    let url = first.as_str().ok_or_else(|| without_output(prediction))?;
    let completion = Completion::text(picture::markdown(prompt, url));
    Ok(reported(completion, prediction))
}

/// LlamaGuard's verdict as the assertion `moderation` reads it.
pub(crate) fn verdict(prediction: &Value) -> Result<Completion, Error> {
    let text = written(&prediction["output"]).ok_or_else(|| without_output(prediction))?;
    let mut lines = text.trim().lines();
    let first = lines.next().map(str::trim);
    let flagged = match (first, lines.clone().next()) {
        (Some("safe"), None) => false,
        (Some("unsafe"), _) => true,
        _ => {
            return Err(Error::bad_response(
                "the model said neither `safe` alone nor `unsafe`; is it made for moderation?",
            )
            .detail(prediction.clone()));
        }
    };
    let named = lines.next().unwrap_or_default().split(',').map(str::trim);
    let mut codes: Vec<&str> = named.filter(|code| !code.is_empty()).collect();
    if codes.is_empty() {
        codes.push("unsafe");
    }
    let codes = if flagged { codes } else { Vec::new() };
    let flags: Vec<Value> = codes.into_iter().map(flag).collect();
    let word = if flagged { "flagged" } else { "not flagged" };
    let completion = Completion::text(word).output(&json!({ "flagged": flagged, "flags": flags }));
    Ok(reported(completion, prediction))
}

fn flag(code: &str) -> Value {
    let known = CATEGORIES.iter().find(|(known, _)| *known == code);
    let description = known.map_or(code, |(_, description)| description);
    json!({ "code": code, "description": description, "confidence": 1.0 })
}

/// A text, whole or in pieces.
fn written(output: &Value) -> Option<String> {
    match output {
        Value::String(text) => Some(text.clone()),
        Value::Array(pieces) => pieces.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn without_output(prediction: &Value) -> Error {
    Error::bad_response("the model ran and gave nothing that can be read")
        .detail(prediction.clone())
}

/// The completion with what the API says about the run. Language models count their tokens.
fn reported(mut completion: Completion, prediction: &Value) -> Completion {
    let count = |key: &str| prediction["metrics"][key].as_u64();
    completion.usage = Usage {
        input_tokens: count("input_token_count"),
        output_tokens: count("output_token_count"),
        ..Usage::default()
    };
    completion.model = prediction["model"].as_str().map(str::to_owned);
    completion.raw(prediction)
}
