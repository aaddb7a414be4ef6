//! The server that both programs talk to while they run a config: model APIs in several shapes,
//! embeddings, moderation, and an HTTP service of nobody's shape.
//!
//! What a model says follows from its name alone: `replies.json` has the replies of some (one,
//! or a list of which each request gets the next), and every other model repeats the last user
//! message. The two programs word their questions to graders differently, so a reply that
//! followed from the question would compare the wordings.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::model_api::{ModelApi, Seen};

/// Counted in vectors of texts.
const LETTERS: [char; 8] = ['a', 'e', 'i', 'o', 'n', 'r', 's', 't'];

/// A running server. It stops when it is dropped.
pub struct Server {
    api: ModelApi,
}

impl Server {
    /// Starts one in which models say what `replies` has.
    pub(super) fn start(replies: Value) -> Self {
        let api = ModelApi::start();
        let counts = Mutex::new(HashMap::<String, usize>::new());
        api.rule(move |seen| {
            let model = model(seen);
            let said = replies.get(&model).map(|reply| {
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                let count = counts.entry(model.clone()).or_default();
                *count += 1;
                nth(reply, *count - 1)
            });
            Some(answer(seen, &model, said))
        });
        Self { api }
    }

    /// Its address, without a slash at the end.
    pub fn url(&self) -> String {
        self.api.url()
    }

    /// What both programs have in their environment: the address and keys that are none.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let url = self.url();
        vec![
            ("COMPAT_URL", url.clone()),
            ("COMPAT_HOST", url.replace("http://", "")),
            ("COMPAT_WORD", "from the environment".to_owned()),
            ("OPENAI_BASE_URL", format!("{url}/v1")),
            ("OPENAI_API_KEY", "sk-key-of-no-account".to_owned()),
            ("ANTHROPIC_BASE_URL", url.clone()),
            ("ANTHROPIC_API_KEY", "sk-ant-key-of-no-account".to_owned()),
            ("OLLAMA_BASE_URL", url),
            ("MISTRAL_API_KEY", "mistral-key-of-no-account".to_owned()),
            ("GROQ_API_KEY", "gsk-key-of-no-account".to_owned()),
            ("OPENROUTER_API_KEY", "sk-or-key-of-no-account".to_owned()),
        ]
    }
}

/// A list gives one item each time, the last one from then on.
fn nth(reply: &Value, index: usize) -> Value {
    match reply {
        Value::Array(list) => list[index.min(list.len() - 1)].clone(),
        other => other.clone(),
    }
}

/// The model that is asked: in the body, or in a path as Google has it.
fn model(seen: &Seen) -> String {
    let in_path = seen.path.split("/models/").nth(1);
    let in_path = in_path.and_then(|rest| rest.split([':', '?', '/']).next());
    let model = seen.json["model"].as_str().or(in_path);
    model.unwrap_or_default().to_owned()
}

/// `said` is a text, a message with whatever else belongs to the choice, or `{status, body}`.
fn answer(seen: &Seen, model: &str, said: Option<Value>) -> Answer {
    let path = seen.path.split('?').next().unwrap_or_default();
    if let Some(service) = path.strip_prefix("/http/") {
        return http(seen, service);
    }
    if path.ends_with("/embeddings") {
        return Answer::json(&embeddings(&seen.json["input"]));
    }
    if path.ends_with("/moderations") {
        return Answer::json(&moderation(&seen.json["input"]));
    }
    let said = said.unwrap_or_else(|| Value::from(asked(seen)));
    if let Some(status) = said["status"].as_u64() {
        let status = u16::try_from(status).expect("a status of HTTP");
        return Answer::json(&said["body"]).with_status(status);
    }
    let text = said.as_str().unwrap_or_default().to_owned();
    Answer::json(&match path.rsplit('/').next().unwrap_or_default() {
        "messages" => claude(model, &text),
        "responses" => responses(model, &text),
        "completions" if !path.ends_with("chat/completions") => json!({
            "id": "cmpl-1", "object": "text_completion", "created": 1, "model": model,
            "choices": [{ "text": text, "index": 0, "logprobs": null, "finish_reason": "stop" }],
            "usage": usage(&text),
        }),
        "completions" => chat(model, &said),
        "chat" => json!({ "model": model, "done": true, "done_reason": "stop",
            "message": { "role": "assistant", "content": text },
            "prompt_eval_count": 3, "eval_count": 2 }),
        "generate" => json!({ "model": model, "done": true, "done_reason": "stop",
            "response": text, "prompt_eval_count": 3, "eval_count": 2 }),
        _ => json!({
            "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5 },
        }),
    })
}

/// What a model without a reply repeats.
fn asked(seen: &Seen) -> String {
    let parts = &seen.json["contents"][0]["parts"][0]["text"];
    let asked = seen.last_user_message().or(parts.as_str());
    let asked = asked.or(seen.json["prompt"].as_str());
    let asked = asked.or(seen.json["input"].as_str());
    let input = seen.json["input"].as_array();
    let last = input.and_then(|list| list.last()?["content"].as_str());
    asked.or(last).unwrap_or_default().to_owned()
}

fn usage(text: &str) -> Value {
    let words = text.split_whitespace().count();
    json!({ "prompt_tokens": 10, "completion_tokens": words, "total_tokens": 10 + words })
}

/// A chat completion; an object may say message, finish reason and log probabilities itself.
fn chat(model: &str, said: &Value) -> Value {
    let message = said.get("message").cloned();
    let text = said.as_str().unwrap_or_default();
    let message = message.unwrap_or_else(|| json!({ "role": "assistant", "content": text }));
    let finish = said.get("finish_reason").cloned();
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": said.get("logprobs").cloned().unwrap_or_default(),
            "finish_reason": finish.unwrap_or_else(|| json!("stop")),
        }],
        "usage": usage(text),
    })
}

fn claude(model: &str, text: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model,
        "content": [{ "type": "text", "text": text }],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": { "input_tokens": 3, "output_tokens": 2 },
    })
}

fn responses(model: &str, text: &str) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
        "model": model, "error": null,
        "output": [{
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }],
        "usage": { "input_tokens": 3, "output_tokens": 2, "total_tokens": 5 },
    })
}

/// Counts of letters: texts that share letters are near each other.
fn embeddings(input: &Value) -> Value {
    let one = [input.clone()];
    let texts = input.as_array().map_or(&one[..], Vec::as_slice);
    let vector = |text: &str| -> Vec<usize> {
        let count = |letter: &char| text.chars().filter(|c| c == letter).count();
        LETTERS.iter().map(count).collect()
    };
    let entry = |(index, text): (usize, &Value)| {
        let vector = vector(text.as_str().unwrap_or_default());
        json!({ "object": "embedding", "index": index, "embedding": vector })
    };
    let data: Vec<Value> = texts.iter().enumerate().map(entry).collect();
    json!({ "object": "list", "data": data, "model": "vectors",
        "usage": { "prompt_tokens": 5, "total_tokens": 5 } })
}

/// `violence` and `hate` are flagged where the text has the word.
fn moderation(input: &Value) -> Value {
    let text = input.to_string();
    let (violence, hate) = (text.contains("violence"), text.contains("hate"));
    json!({ "id": "modr-1", "model": "omni-moderation-latest", "results": [{
        "flagged": violence || hate,
        "categories": { "violence": violence, "hate": hate },
        "category_scores": {
            "violence": if violence { 0.9 } else { 0.01 },
            "hate": if hate { 0.8 } else { 0.02 },
        },
    }] })
}

/// `echo` shows the request, `text` is no JSON, `status/N` is that status, `hook` grades.
fn http(seen: &Seen, service: &str) -> Answer {
    let body = String::from_utf8_lossy(&seen.body).into_owned();
    match service.split_once('/') {
        Some(("status", status)) => Answer::json(&json!({ "error": "as you wish" }))
            .with_status(status.parse().expect("a status of HTTP")),
        None if service == "text" => Answer::raw(format!("plain: {body}")),
        None if service == "hook" => {
            let output = seen.json["output"].as_str().unwrap_or_default();
            let pass = output.contains("good");
            let word = &seen.json["context"]["vars"]["word"];
            Answer::json(
                &json!({ "pass": pass, "score": if pass { 0.75 } else { 0.25 },
                "reason": format!("about {word}") }),
            )
        }
        _ => {
            let header = |name: &str| seen.header(name).map(str::to_owned);
            Answer::json(&json!({
                "method": seen.method,
                "path": seen.path,
                "word": header("x-word"),
                "type": header("content-type"),
                "json": seen.json,
                "body": body,
            }))
        }
    }
}
