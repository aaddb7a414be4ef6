//! Embeddings, by InvokeModel: each family of models has a shape of its own.
//!
//! Cohere's models take a list of texts; all others are asked in Titan's shape, a request per text,
//! which go side by side. Keys of the config go into the body.

use plugin_model_api::aws;
use plugin_model_api::embeddings::vector;
use plugin_model_api::knobs::Knobs;
use plugin_model_api::path::segment;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Error, Usage, http};
use runner_plugin_embed::Embeddings;

/// The most texts that Cohere's models take at once.
const AT_ONCE: usize = 96;

/// What Cohere's models are told that the texts are, where the config does not say it: they insist.
const INPUT_TYPE: &str = "search_document";

/// Asks `model` for one vector per input.
pub(crate) fn embed(knobs: &Knobs, model: &str, inputs: &[String]) -> Result<Embeddings, Error> {
    let path = format!("/model/{}/invoke", segment(model)?);
    let is_cohere = model.contains("cohere.embed");
    let bodies: Vec<Value> = if is_cohere {
        inputs
            .chunks(AT_ONCE)
            .map(|texts| of_cohere(knobs, texts))
            .collect()
    } else {
        inputs.iter().map(|text| of_titan(knobs, text)).collect()
    };
    let requests = bodies.iter().map(|body| {
        let request = knobs.post(&path, body, model);
        request.header("accept", "application/json")
    });
    let mut vectors = Vec::new();
    let mut tokens = None;
    for response in http::send_all(requests.collect()) {
        let response = response?;
        let answer = aws::check(&response)?;
        vectors.extend(read(&answer, is_cohere)?);
        let used = response.header("x-amzn-bedrock-input-token-count");
        let used = used.and_then(|count| count.parse().ok());
        let used = used.or_else(|| answer["inputTextTokenCount"].as_u64());
        tokens = tokens.map_or(used, |sum: u64| Some(sum + used.unwrap_or(0)));
    }
    if vectors.len() != inputs.len() {
        return Err(unreadable());
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

fn of_titan(knobs: &Knobs, text: &str) -> Value {
    let mut body = Map::new();
    body.insert("inputText".to_owned(), json!(text));
    body.extend(knobs.body.clone());
    Value::Object(body)
}

fn of_cohere(knobs: &Knobs, texts: &[String]) -> Value {
    let mut body = Map::new();
    body.insert("texts".to_owned(), json!(texts));
    body.insert("input_type".to_owned(), json!(INPUT_TYPE));
    body.extend(knobs.body.clone());
    Value::Object(body)
}

fn read(answer: &Value, is_cohere: bool) -> Result<Vec<Vec<f32>>, Error> {
    if !is_cohere {
        let one = vector(&answer["embedding"]).ok_or_else(unreadable)?;
        return Ok(vec![one]);
    }
    // By type, where the config asks for types.
    let list = answer.pointer("/embeddings/float");
    let list = list.unwrap_or(&answer["embeddings"]).as_array();
    let list = list.into_iter().flatten().map(vector);
    list.collect::<Option<_>>().ok_or_else(unreadable)
}

fn unreadable() -> Error {
    Error::bad_response("the response does not hold one vector of numbers for each text")
}
