//! Feature extraction, which makes vectors, and sentence similarity, which compares texts.
//!
//! The contract has no function for a comparison. So a similarity is given as a pair of vectors
//! whose cosine it is: one for the first text, and for each other one of length one at the angle
//! that the API found. `similar` compares the first text with all others, and so does whatever
//! else asks for vectors; among the others they mean nothing.

use plugin_model_api::embeddings::vector;
use plugin_model_api::failure;
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, json};
use runner_plugin::{Error, Usage};
use runner_plugin_embed::Embeddings;

use crate::body;

/// Asks for one vector a text. The keys of this task stand beside the texts.
pub(crate) fn extract(knobs: &Knobs, model: &str, inputs: &[String]) -> Result<Embeddings, Error> {
    let mut top = knobs.clone();
    let (options, own): (Map<_, _>, Map<_, _>) = top
        .body
        .into_iter()
        .partition(|(key, _)| body::OPTIONS.contains(&key.as_str()));
    top.body = options;
    // A server of one's own may know no list, and one text is the usual case there.
    let texts = match inputs {
        [one] => json!(one),
        all => json!(all),
    };
    let mut body = body::of(&texts, Map::new(), &top);
    for (key, value) in own {
        body[key] = value;
    }
    let response = failure::check(&knobs.post("", &body, model).send()?)?;
    let vectors = match vector(&response) {
        Some(one) if inputs.len() == 1 => Some(vec![one]),
        _ => response
            .as_array()
            .and_then(|list| list.iter().map(vector).collect()),
    };
    match vectors {
        Some(vectors) if vectors.len() == inputs.len() => Ok(made(vectors)),
        _ => Err(Error::bad_response(format!(
            "the response does not hold {} vectors of numbers; a model that makes one for each token is of no use here",
            inputs.len()
        ))),
    }
}

/// Asks how near the first text is to each of the others.
pub(crate) fn compare(knobs: &Knobs, model: &str, inputs: &[String]) -> Result<Embeddings, Error> {
    let Some((source, sentences @ [_, ..])) = inputs.split_first() else {
        return Err(Error::unsupported(
            "a model for sentence similarity compares two texts or more; for vectors take one for `feature-extraction`",
        ));
    };
    let texts = json!({ "source_sentence": source, "sentences": sentences });
    let body = body::of(&texts, Map::new(), knobs);
    let response = failure::check(&knobs.post("", &body, model).send()?)?;
    let similarities = vector(&response).filter(|list| list.len() == sentences.len());
    let similarities = similarities.ok_or_else(|| {
        Error::bad_response(format!(
            "the response does not hold {} similarities",
            sentences.len()
        ))
    })?;
    // A little beyond is what 32 bits make of 1.
    if let Some(odd) = similarities
        .iter()
        .find(|it| !(-1.001..=1.001).contains(*it))
    {
        return Err(Error::bad_response(format!(
            "the response holds the similarity {odd}, which is none: -1 to 1 are"
        )));
    }
    let at_angle = |cosine: f32| {
        let cosine = cosine.clamp(-1.0, 1.0);
        vec![cosine, (1.0 - cosine * cosine).sqrt()]
    };
    let first = vec![1.0, 0.0];
    let others = similarities.into_iter().map(at_angle);
    Ok(made(std::iter::once(first).chain(others).collect()))
}

/// The vectors; no server of this kind reports tokens.
fn made(vectors: Vec<Vec<f32>>) -> Embeddings {
    Embeddings {
        vectors,
        usage: Usage::default(),
        cost_usd: None,
    }
}
