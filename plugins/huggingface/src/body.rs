//! What requests for all tasks but a chat have in common: the input, how the model is to go
//! about it, and how the server is.

use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};

/// Keys that are for the server; a config writes them beside those for the model.
pub(crate) const OPTIONS: [&str; 2] = ["use_cache", "wait_for_model"];

/// Builds a body. `parameters` begins with what the task wants; the config's keys stand over it.
pub(crate) fn of(inputs: &Value, mut parameters: Map<String, Value>, knobs: &Knobs) -> Value {
    let mut body = Map::new();
    let mut options = Map::new();
    body.insert("inputs".to_owned(), inputs.clone());
    let through = knobs.own.get("passthrough");
    let mut through_to_the_top = Map::new();
    for (key, value) in knobs.body.clone() {
        let place = if through.is_some_and(|through| through.get(&key).is_some()) {
            &mut through_to_the_top
        } else if OPTIONS.contains(&key.as_str()) {
            &mut options
        } else {
            &mut parameters
        };
        place.insert(key, value);
    }
    for (key, members) in [("parameters", parameters), ("options", options)] {
        if !members.is_empty() {
            body.insert(key.to_owned(), json!(members));
        }
    }
    body.extend(through_to_the_top);
    Value::Object(body)
}
