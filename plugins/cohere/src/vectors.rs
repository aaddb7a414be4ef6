//! Embeddings: one request for all texts.

use plugin_model_api::embeddings::{vector, whole};
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Error, Usage};
use runner_plugin_embed::Embeddings;

/// The body. The API must be told what the texts are for, and what to do with those that are
/// too long; unless the config says it, as promptfoo does.
pub(crate) fn body(knobs: &Knobs, model: &str, inputs: &[String]) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("texts".to_owned(), json!(inputs));
    body.insert("input_type".to_owned(), json!("classification"));
    body.insert("truncate".to_owned(), json!("NONE"));
    body.extend(knobs.body.clone());
    body.insert("embedding_types".to_owned(), json!(["float"]));
    Value::Object(body)
}

/// Reads the vectors, which are in the order of the texts.
pub(crate) fn read(response: &Value, asked: usize) -> Result<Embeddings, Error> {
    let list = response["embeddings"]["float"].as_array();
    let vectors = list.into_iter().flatten().map(vector).collect();
    let billed = &response["meta"]["billed_units"]["input_tokens"];
    let usage = Usage {
        input_tokens: billed.as_f64().map(|count| count as u64),
        ..Usage::default()
    };
    whole(vectors, asked, usage)
}
