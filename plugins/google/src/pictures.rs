//! Pictures of Imagen: `predict`, another method with another body than Gemini's.

use plugin_model_api::knobs::Knobs;
use plugin_model_api::picture;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error};

/// Names that promptfoo has for parameters of the API.
const ALIASES: [(&str, &str); 2] = [("n", "sampleCount"), ("safetyFilterLevel", "safetySetting")];

/// The name of a model: promptfoo lets `imagen-` be left out.
pub(crate) fn model(named: String) -> String {
    if named.contains("imagen") {
        return named;
    }
    format!("imagen-{named}")
}

/// The body: the config's keys are parameters.
pub(crate) fn body(knobs: &Knobs, prompt: &str) -> Value {
    let named = |key: String| {
        let alias = ALIASES.iter().find(|(theirs, _)| *theirs == key);
        alias.map_or(key, |(_, own)| (*own).to_owned())
    };
    let keys = knobs.body.clone().into_iter();
    let parameters: Map<String, Value> = keys.map(|(key, value)| (named(key), value)).collect();
    json!({ "instances": [{ "prompt": prompt }], "parameters": parameters })
}

/// Reads the pictures, as Markdown, one below the other. The API leaves out those that it blocks.
pub(crate) fn read(response: &Value) -> Result<Completion, Error> {
    let predictions = response["predictions"].as_array().into_iter().flatten();
    let mut pictures = Vec::new();
    let mut blocked = None;
    for prediction in predictions {
        let image = prediction.get("image").unwrap_or(prediction);
        let kind = image["mimeType"].as_str().unwrap_or("image/png");
        if let Some(base64) = image["bytesBase64Encoded"].as_str() {
            let url = picture::data_url(kind, base64);
            pictures.push(picture::markdown("Generated Image", &url));
        }
        blocked = blocked.or(prediction["raiFilteredReason"].as_str());
    }
    match (pictures.is_empty(), blocked) {
        (false, _) => Ok(Completion::text(pictures.join("\n\n"))),
        (true, Some(reason)) => Err(Error::content_filter(format!(
            "the API blocked the picture: {reason}"
        ))),
        (true, None) => Err(Error::bad_response("the response holds no picture")),
    }
}
