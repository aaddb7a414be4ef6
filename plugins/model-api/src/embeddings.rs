//! Vectors: one request for all texts, as OpenAI has it.

use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Error, Usage};
use runner_plugin_embed::Embeddings;

use crate::failure;
use crate::knobs::Knobs;

/// Asks `model` at `path` for one vector per input. The model is named in the body unless the
/// address has it.
///
/// # Errors
/// What the API reports; `bad-response` where it does not answer with one vector for each.
pub fn embed(
    knobs: &Knobs,
    path: &str,
    model: &str,
    names_model: bool,
    inputs: &[String],
) -> Result<Embeddings, Error> {
    let mut body = Map::new();
    if names_model {
        body.insert("model".to_owned(), json!(model));
    }
    body.insert("input".to_owned(), json!(inputs));
    body.extend(knobs.body.clone());
    let response = knobs.post(path, &Value::Object(body), model).send()?;
    let response = failure::check(&response)?;
    let count = |key: &str| response["usage"][key].as_u64();
    let usage = Usage {
        input_tokens: count("prompt_tokens"),
        total_tokens: count("total_tokens"),
        ..Usage::default()
    };
    whole(vectors(&response, inputs.len()), inputs.len(), usage)
}

/// One vector for each of the texts that were `asked`.
///
/// # Errors
/// `bad-response` where there are none, or not as many.
pub fn whole(
    vectors: Option<Vec<Vec<f32>>>,
    asked: usize,
    usage: Usage,
) -> Result<Embeddings, Error> {
    match vectors {
        Some(vectors) if vectors.len() == asked => Ok(Embeddings {
            vectors,
            usage,
            cost_usd: None,
        }),
        _ => Err(Error::bad_response(format!(
            "the response does not hold {asked} vectors of numbers"
        ))),
    }
}

/// The vectors in the order of the inputs. `index` says which is whose; where it is left out,
/// the order does.
fn vectors(response: &Value, asked: usize) -> Option<Vec<Vec<f32>>> {
    let mut vectors = vec![None; asked];
    for (place, entry) in response["data"].as_array()?.iter().enumerate() {
        let index = entry["index"].as_u64();
        let index = index.map_or(place, |index| index as usize);
        *vectors.get_mut(index)? = Some(vector(&entry["embedding"])?);
    }
    vectors.into_iter().collect()
}

/// A list of numbers.
pub fn vector(value: &Value) -> Option<Vec<f32>> {
    let numbers = value.as_array()?.iter();
    numbers.map(|n| n.as_f64().map(|n| n as f32)).collect()
}
