//! Embeddings: one request for all texts.

use plugin_model_api::embeddings::{vector, whole};
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Error, Usage};
use runner_plugin_embed::Embeddings;

/// The body: an entry per text, each with the config's keys (`taskType`,
/// `outputDimensionality`, …).
pub(crate) fn body(knobs: &Knobs, model: &str, inputs: &[String]) -> Value {
    let requests: Vec<Value> = inputs
        .iter()
        .map(|text| {
            let mut entry = Map::new();
            entry.insert("model".to_owned(), json!(format!("models/{model}")));
            entry.insert("content".to_owned(), json!({ "parts": [{ "text": text }] }));
            entry.extend(knobs.body.clone());
            Value::Object(entry)
        })
        .collect();
    json!({ "requests": requests })
}

/// Reads the vectors, which are in the order of the texts. The API reports no tokens for them.
pub(crate) fn read(response: &Value, asked: usize) -> Result<Embeddings, Error> {
    let list = response["embeddings"].as_array().into_iter().flatten();
    let vectors = list.map(|entry| vector(&entry["values"])).collect();
    whole(vectors, asked, Usage::default())
}
