//! Embeddings: a request per text; endpoints have one of a few shapes for the answer.

use plugin_model_api::embeddings::vector;
use plugin_model_api::knobs::Knobs;
use runner_plugin::Error;
use runner_plugin::json::{Value, json};

/// Where containers have the vector.
const PLACES: [&str; 6] = [
    "/embedding",
    "/embeddings/0",
    "/data/0/embedding",
    "/predictions/0/embeddings",
    "/predictions/0",
    "/0",
];

/// The body for one text, as promptfoo writes it: where nothing is said of the container, under each
/// name that one may have for it.
pub(crate) fn body(knobs: &Knobs, text: &str) -> Value {
    let mut body = match knobs.text("modelType") {
        Some("openai") => json!({ "input": text, "model": "embedding" }),
        Some("huggingface") => json!({ "inputs": text }),
        _ => json!({ "input": text, "text": text, "inputs": text }),
    };
    if let Value::Object(fields) = &mut body {
        fields.extend(knobs.body.clone());
    }
    body
}

/// Reads the vector of an answer.
pub(crate) fn read(answer: &Value) -> Result<Vec<f32>, Error> {
    let places = PLACES.iter().filter_map(|place| answer.pointer(place));
    let mut found = places.chain([answer]).filter_map(vector);
    found.next().ok_or_else(|| {
        Error::bad_response("the response does not hold a vector of numbers").detail(answer.clone())
    })
}
