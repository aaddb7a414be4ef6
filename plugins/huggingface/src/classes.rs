//! Classification: of a text, or of what is named in it.
//!
//! The answer is the text of a JSON object of class and score, which the assertion `classifier`
//! reads, and any other assertion as well.

use plugin_model_api::failure;
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, Request};

use crate::body;
use crate::task::Task;

/// Asks for the classes of the prompt.
pub(crate) fn complete(
    task: Task,
    knobs: &Knobs,
    model: &str,
    request: &Request,
) -> Result<Completion, Error> {
    let mut parameters = Map::new();
    if task == Task::TokenClassification {
        // Without it, words of several tokens come in pieces.
        parameters.insert("aggregation_strategy".to_owned(), json!("simple"));
    }
    let body = body::of(&json!(request.prompt), parameters, knobs);
    let response = failure::check(&knobs.post("", &body, model).send()?)?;
    let names_found_alone = task == Task::TokenClassification;
    let scores = scores(&response).filter(|scores| names_found_alone || !scores.is_empty());
    let scores = scores.ok_or_else(|| {
        Error::bad_response("the response holds no list of classes and scores, or several")
            .detail(response.clone())
    })?;
    let mut completion = Completion::text(Value::Object(scores).to_string()).raw(&response);
    if names_found_alone {
        completion = completion.metadata(&json!({ "absentClasses": "not found" }));
    }
    Ok(completion)
}

/// The best score of each class. Some servers wrap the list in one of one text's lists; the list of
/// another text is none of this one's.
fn scores(response: &Value) -> Option<Map<String, Value>> {
    let outer = response.as_array()?;
    let list = match &outer[..] {
        [Value::Array(list)] => list,
        _ => outer,
    };
    let mut scores: Map<String, Value> = Map::new();
    for found in list {
        let class = ["label", "entity_group", "entity"]
            .iter()
            .find_map(|key| found[*key].as_str())?;
        let score = found["score"].as_f64()?;
        let best = scores.get(class).and_then(Value::as_f64);
        if best.is_none_or(|best| best < score) {
            scores.insert(class.to_owned(), found["score"].clone());
        }
    }
    Some(scores)
}
