//! Runs: an assistant or an agent is given a thread with the prompt's messages, and what it makes of
//! them is the answer.
//!
//! One exchange each. It creates the thread, runs it, and asks for the events of the run, so that the
//! response ends when the run has: a plugin cannot pause between looks, and looks without pauses
//! would be over before most runs are. How long that may take is the host's matter, as with any
//! other exchange. Tools of one's own are not called; where a run waits for their results, their calls
//! are the answer.
//!
//! The host's cache keeps the events of a run that failed, too, since the exchange did not; such a run
//! is made anew.

use plugin_model_api::knobs::Knobs;
use plugin_model_api::{answer, body, failure};
use runner_plugin::json::{self, Value, json};
use runner_plugin::{
    Completion, Error, FinishReason, Message, Part, Request, Role, ToolCall, http,
};

/// Runs the assistant `id` at `path`.
pub(crate) fn complete(
    knobs: &Knobs,
    path: &str,
    id: &str,
    request: &Request,
) -> Result<Completion, Error> {
    let body = body_of(knobs, id, request)?;
    let wants_json = answer::wants_json(&body);
    let exchange = || knobs.post(path, &body, id);
    let response = exchange().send()?;
    let completion = read(&response, wants_json);
    if response.cached && completion.is_err() {
        return read(&exchange().uncached().send()?, wants_json);
    }
    completion
}

fn body_of(knobs: &Knobs, id: &str, request: &Request) -> Result<Value, Error> {
    let mut body = knobs.body.clone();
    // A run knows one name of the limit.
    let limit = body.remove("max_tokens");
    if let Some(limit) = limit {
        body.entry("max_completion_tokens").or_insert(limit);
    }
    let (mut told, mut turns) = (Vec::new(), Vec::new());
    for message in &request.messages {
        match message.role {
            Role::System | Role::Developer => told.push(message.text()),
            _ => turns.push(turn(message)?),
        }
    }
    if !told.is_empty() {
        body.insert("instructions".to_owned(), json!(told.join("\n\n")));
    }
    body.insert("assistant_id".to_owned(), json!(id));
    body.insert("thread".to_owned(), json!({ "messages": turns }));
    body.insert("stream".to_owned(), json!(true));
    body::sampling(&mut body, "seed", "max_completion_tokens", request);
    body::form_and_tools(&mut body, request)?;
    Ok(Value::Object(body))
}

/// A message of a thread: of the user or the assistant, texts and addresses of pictures.
fn turn(message: &Message) -> Result<Value, Error> {
    let refused = |what: &str| {
        Err(Error::unsupported(format!(
            "a thread of an assistant takes no {what}"
        )))
    };
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        _ => return refused("results of tools"),
    };
    let mut content = Vec::new();
    for part in &message.content {
        content.push(match part {
            Part::Text(text) => json!({ "type": "text", "text": text }),
            Part::Url(url) => json!({ "type": "image_url", "image_url": { "url": url } }),
            Part::Other(other) => json::read("message part", other)?,
            Part::Reasoning(_) => continue,
            Part::ToolCall(_) | Part::ToolResult(_) => return refused("calls of tools"),
            Part::Media(_) => return refused("files; name an address, or upload them"),
        });
    }
    let content = match &content[..] {
        [only] if only["text"].is_string() => only["text"].clone(),
        _ => Value::Array(content),
    };
    Ok(json!({ "role": role, "content": content }))
}

fn read(response: &http::Response, wants_json: bool) -> Result<Completion, Error> {
    let text = response.text();
    if !response.is_success() || text.trim_start().starts_with('{') {
        failure::check(response)?;
    }
    let mut made = Made::default();
    for (event, data) in events(&text) {
        made.take(&event, data)?;
    }
    if made.run.is_null() {
        return Err(Error::bad_response(
            "the API sent no events of a run; `apiVersion` must be one that has them",
        ));
    }
    made.ended(wants_json)
}

/// The events with their data. What is no JSON says that there are no more.
fn events(text: &str) -> Vec<(String, Value)> {
    let (mut found, mut event, mut data) = (Vec::new(), String::new(), String::new());
    for line in text.lines().chain([""]) {
        if let Some(name) = line.strip_prefix("event:") {
            name.trim().clone_into(&mut event);
        } else if let Some(more) = line.strip_prefix("data:") {
            data.push_str(more.trim_start());
            data.push('\n');
        } else if line.is_empty() {
            if let Ok(value) = serde_json::from_str(&data) {
                found.push((event.clone(), value));
            }
            event.clear();
            data.clear();
        }
    }
    found
}

/// What a run has made so far.
#[derive(Default)]
struct Made {
    /// The run as it was last told.
    run: Value,
    messages: Vec<Value>,
    /// What the API's own tools did: code it ran, files it searched.
    steps: Vec<Value>,
}

impl Made {
    fn take(&mut self, event: &str, data: Value) -> Result<(), Error> {
        match event {
            "thread.message.completed" | "thread.message.incomplete"
                if data["role"] == "assistant" =>
            {
                self.messages.push(data);
            }
            "thread.run.step.completed" => {
                let calls = data.pointer("/step_details/tool_calls");
                let calls = calls.and_then(Value::as_array).into_iter().flatten();
                let own = calls.filter(|call| call["type"] != "function");
                self.steps.extend(own.cloned());
            }
            "error" => {
                let error = data.get("error").unwrap_or(&data);
                return Err(failed(error));
            }
            run if run.starts_with("thread.run.") && !run.starts_with("thread.run.step") => {
                self.run = data;
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(self, wants_json: bool) -> Result<Completion, Error> {
        let status = self.run["status"].as_str().unwrap_or_default();
        let reason = self.run.pointer("/incomplete_details/reason");
        let finish = match (status, reason.and_then(Value::as_str)) {
            ("completed", _) => FinishReason::Stop,
            ("requires_action", _) => FinishReason::ToolCalls,
            ("incomplete", Some("content_filter")) => FinishReason::ContentFilter,
            ("incomplete", _) => FinishReason::Length,
            ("failed", _) => return Err(failed(&self.run["last_error"])),
            ("cancelled" | "cancelling" | "expired", _) => {
                let message = format!("the run did not end by itself: it is {status}");
                return Err(Error::timeout(message).detail(self.run));
            }
            _ => {
                let message = "the events of the run stop before its end";
                return Err(Error::bad_response(message).detail(self.run));
            }
        };
        let (text, mut parts) = self.said();
        let called = self
            .run
            .pointer("/required_action/submit_tool_outputs/tool_calls");
        let called = called.filter(|calls| calls.as_array().is_some_and(|list| !list.is_empty()));
        if !text.is_empty() || called.is_none() {
            parts.push(Part::Text(text.clone()));
        }
        for call in called.and_then(Value::as_array).into_iter().flatten() {
            parts.push(call_of_tool(call));
        }
        let raw = json!({ "run": self.run, "messages": self.messages, "steps": self.steps });
        let usage = answer::usage(&self.run["usage"]);
        let mut completion = Completion::parts(parts)
            .usage(usage)
            .raw(&raw)
            .finish(finish);
        completion.model = self.run["model"].as_str().map(str::to_owned);
        if text.is_empty() {
            completion.output_json = called.map(Value::to_string);
        } else if wants_json {
            completion = completion.output_if_json(&text);
        }
        Ok(completion)
    }

    /// The texts of the messages, and what else there is.
    fn said(&self) -> (String, Vec<Part>) {
        let steps = self.steps.iter().map(|step| Part::Other(step.to_string()));
        let (mut texts, mut parts) = (Vec::new(), steps.collect::<Vec<_>>());
        let contents = self.messages.iter().map(|message| &message["content"]);
        for part in contents.filter_map(Value::as_array).flatten() {
            let text = part.pointer("/text/value").or(part.get("refusal"));
            match text.and_then(Value::as_str) {
                Some(text) => texts.push(text),
                None => parts.push(Part::Other(part.to_string())),
            }
        }
        (texts.join("\n\n"), parts)
    }
}

fn call_of_tool(call: &Value) -> Part {
    let function = &call["function"];
    let Some(name) = function["name"].as_str() else {
        return Part::Other(call.to_string());
    };
    Part::ToolCall(ToolCall {
        id: call["id"].as_str().unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments_json: answer::arguments(&function["arguments"]),
    })
}

/// The error that a run ended with. The exchange itself went well.
fn failed(error: &Value) -> Error {
    let mut failure = failure::of(200, error);
    let said = error["message"].as_str().unwrap_or("no reason is given");
    failure.message = format!("the run failed: {said}");
    failure
}
