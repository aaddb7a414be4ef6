//! Embeddings: a request per text, side by side, since some models take no more than one.

use plugin_model_api::embeddings::vector;
use plugin_model_api::gemini;
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Error, Usage, http};
use runner_plugin_embed::Embeddings;

/// Config keys that say something of a text, by all their names; all others are parameters.
const OF_TEXT: [(&str, &str); 3] = [
    ("taskType", "task_type"),
    ("task_type", "task_type"),
    ("title", "title"),
];

/// Asks `model` at `path` for one vector per input.
pub(crate) fn embed(
    knobs: &Knobs,
    path: &str,
    model: &str,
    inputs: &[String],
) -> Result<Embeddings, Error> {
    let requests = inputs.iter().map(|text| {
        let body = body(knobs, text);
        knobs.post(path, &body, model)
    });
    let mut vectors = Vec::new();
    let mut tokens = None;
    for response in http::send_all(requests.collect()) {
        let response = gemini::check(&response?)?;
        let found = &response["predictions"][0]["embeddings"];
        vectors.push(vector(&found["values"]).ok_or_else(|| {
            Error::bad_response("the response does not hold a vector of numbers")
                .detail(response.clone())
        })?);
        let used = found["statistics"]["token_count"].as_f64();
        tokens = used
            .map(|used| tokens.unwrap_or(0) + used as u64)
            .or(tokens);
    }
    Ok(Embeddings {
        vectors,
        usage: Usage {
            input_tokens: tokens,
            ..Usage::default()
        },
        cost_usd: None,
    })
}

fn body(knobs: &Knobs, text: &str) -> Value {
    let mut instance = Map::new();
    instance.insert("content".to_owned(), json!(text));
    let mut parameters = knobs.body.clone();
    for (key, own) in OF_TEXT {
        instance.extend(parameters.remove(key).map(|value| (own.to_owned(), value)));
    }
    let mut body = json!({ "instances": [instance] });
    if !parameters.is_empty() {
        body["parameters"] = Value::Object(parameters);
    }
    body
}
