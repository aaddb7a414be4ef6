//! What misbehaviours are made of: a request, a question, what came of them, and a text in a text.

use crate::bindings::runner::plugin::http::{self, CacheMode};
use crate::bindings::runner::plugin::types::{Error, ErrorCode, Request};

pub(crate) fn request() -> http::Request {
    http::Request {
        method: "GET".into(),
        url: "https://example.com/".into(),
        headers: vec![],
        body: None,
        credential: None,
        bucket: None,
        timeout_ms: None,
        cache: CacheMode::Auto,
    }
}

pub(crate) fn prompt() -> Request {
    Request {
        messages: vec![],
        prompt: String::new(),
        temperature: None,
        top_p: None,
        max_tokens: None,
        seed: None,
        stop: vec![],
        response_schema_json: None,
        tools_json: None,
        options_json: None,
        timeout_ms: None,
    }
}

/// `3 ok, 2 budget, 1 denied, 0 other`.
pub(crate) fn tally(results: impl Iterator<Item = Result<(), Error>>) -> String {
    let (mut ok, mut budget, mut denied, mut other) = (0, 0, 0, 0);
    for result in results {
        match result.map_err(|error| error.code) {
            Ok(()) => ok += 1,
            Err(ErrorCode::Budget) => budget += 1,
            Err(ErrorCode::Denied) => denied += 1,
            Err(_) => other += 1,
        }
    }
    format!("{ok} ok, {budget} budget, {denied} denied, {other} other")
}

/// `middle` inside `depth` pairs of `open` and `close`.
pub(crate) fn nested(open: &str, middle: &str, close: &str, depth: usize) -> String {
    format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
}
