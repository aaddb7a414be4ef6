//! Pictures: a prompt in, a picture out. Of several the first is the answer, as promptfoo has it;
//! all stand in the raw response, but for those that came as bytes, which would stand there twice.

use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, Request, Usage};

use crate::knobs::Knobs;
use crate::{failure, picture};

/// Where pictures are made of a prompt.
pub const GENERATIONS: &str = "/images/generations";

/// Asks `model` at `path` for a picture of the prompt as it stands in the results.
///
/// # Errors
/// What the API reports; `bad-response` where it answers without a picture.
pub fn complete(
    knobs: &Knobs,
    path: &str,
    model: &str,
    request: &Request,
) -> Result<Completion, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("prompt".to_owned(), json!(request.prompt));
    body.extend(knobs.body.clone());
    let asked = match body.get("output_format").and_then(Value::as_str) {
        Some("jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        _ => "image/png",
    };
    let body = Value::Object(body);
    let exchange = knobs.post(path, &body, model);
    let mut response = failure::check(&exchange.send()?)?;
    let first = &response["data"][0];
    let (address, bytes) = (first["url"].as_str(), first["b64_json"].as_str());
    let text = match (address, bytes) {
        (Some(url), _) => picture::markdown(&request.prompt, url),
        (None, Some(base64)) => {
            picture::data_url(picture::mime_type(base64).unwrap_or(asked), base64)
        }
        (None, None) => return Err(Error::bad_response("the response holds no picture")),
    };
    for one in response["data"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = one.as_object_mut() {
            fields.remove("b64_json");
        }
    }
    let count = |key: &str| response["usage"][key].as_u64();
    let usage = Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        total_tokens: count("total_tokens"),
        ..Usage::default()
    };
    Ok(Completion::text(text).usage(usage).raw(&response))
}
