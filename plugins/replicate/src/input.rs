//! What a model is given. Most take a `prompt`; everything else is as the model has it, so the
//! config's keys go in as they are.

use plugin_model_api::body::sampling;
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Error, Message, Part, Request, Role};

/// The input for a prompt.
pub(crate) fn of(knobs: &Knobs, request: &Request) -> Result<Value, Error> {
    let mut input = sampled(knobs, request);
    let (mut system, mut turns) = (Vec::new(), Vec::new());
    for message in &request.messages {
        match message.role {
            Role::System | Role::Developer => system.push(text(message)?),
            _ => turns.push(message),
        }
    }
    // A model takes one text. Which turn of several was meant is not ours to guess.
    let [turn] = turns[..] else {
        return Err(Error::unsupported(
            "models of Replicate take one prompt, and this one is a conversation of several turns; write it as one text",
        ));
    };
    if !system.is_empty() {
        input.insert("system_prompt".to_owned(), json!(system.join("\n\n")));
    }
    let affix = |key: &str| {
        let affixes = knobs.own.get("prompt");
        affixes
            .and_then(|all| all[key].as_str())
            .unwrap_or_default()
    };
    let prompt = format!("{}{}{}", affix("prefix"), text(turn)?, affix("suffix"));
    input.insert("prompt".to_owned(), json!(prompt));
    Ok(Value::Object(input))
}

/// The input of a model that judges an answer: LlamaGuard's, as promptfoo writes it. A grader
/// shows the answer as the assistant's message.
pub(crate) fn to_moderate(knobs: &Knobs, request: &Request) -> Value {
    let last = request.messages.last();
    let answer = last.filter(|message| message.role == Role::Assistant);
    let prompt = match answer {
        Some(answer) => format!("Human: {}\n\nAssistant: {}", request.prompt, answer.text()),
        None => request.prompt.clone(),
    };
    let mut input = sampled(knobs, request);
    input.insert("prompt".to_owned(), json!(prompt));
    Value::Object(input)
}

/// The config's keys with the options of the request over them.
fn sampled(knobs: &Knobs, request: &Request) -> Map<String, Value> {
    let mut input = knobs.body.clone();
    sampling(&mut input, "seed", "max_tokens", request);
    if !request.stop.is_empty() {
        input.remove("stop");
        input.insert("stop_sequences".to_owned(), json!(request.stop.join(",")));
    }
    input
}

fn text(message: &Message) -> Result<String, Error> {
    let is_text = |part: &Part| matches!(part, Part::Text(_));
    if !message.content.iter().all(is_text) {
        return Err(Error::unsupported(
            "a prompt for Replicate is a text; name files in the config, as the model calls them (`image: https://…`)",
        ));
    }
    Ok(message.text())
}
