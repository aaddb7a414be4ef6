//! What the model API answers, and how it delivers that: whole, slowly, partly, not at all.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

/// One scripted response.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) latency: Duration,
    pub(crate) gate: Option<Gate>,
    pub(crate) delivery: Delivery,
    pub(crate) hold: Option<Arc<dyn Any + Send + Sync>>,
}

/// How the body gets to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// So many bytes at a time, with a pause before each but the first.
    Drip(usize, Duration),
    /// The head and so many bytes, then the connection is closed.
    Cut(usize),
    /// Nothing: the connection is reset.
    Reset,
}

/// Holds answers back until the test opens it. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Default for Gate {
    fn default() -> Self {
        Self::closed()
    }
}

impl Gate {
    /// A gate that nothing passes yet.
    pub fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Lets everything through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn passed(&self) {
        self.0
            .subscribe()
            .wait_for(|open| *open)
            .await
            .expect("the gate itself keeps the channel open");
    }
}

impl Answer {
    /// Any bytes, with status 200 and no content type.
    pub fn raw(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: Bytes::from(body.into()),
            latency: Duration::ZERO,
            gate: None,
            delivery: Delivery::Whole,
            hold: None,
        }
    }

    /// A JSON body, with status 200.
    pub fn json(body: &Value) -> Self {
        Self::raw(body.to_string()).header("content-type", "application/json")
    }

    /// An empty body with this status.
    pub fn status(status: u16) -> Self {
        Self::raw(Vec::new()).with_status(status)
    }

    /// A chat completion with this text. Token counts are the words of the text.
    pub fn text(text: &str) -> Self {
        Self::json(&completion("test-model", text, 1))
    }

    /// An error in OpenAI's shape.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body =
            json!({ "error": { "message": message, "type": code, "param": null, "code": code } });
        Self::json(&body).with_status(status)
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("location", location)
    }

    /// No response at all: the connection is reset.
    pub fn reset() -> Self {
        Self {
            delivery: Delivery::Reset,
            ..Self::status(200)
        }
    }

    /// Has another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Has one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Comes so much later.
    #[must_use]
    pub fn after(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Comes once the gate is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Holds `hold` until the answer is given or its client is gone, so that whoever counts what is in
    /// flight learns of the end.
    #[must_use]
    pub fn holding(mut self, hold: impl Any + Send + Sync) -> Self {
        self.hold = Some(Arc::new(hold));
        self
    }

    /// Comes `chunk` bytes at a time with a pause before each but the first.
    #[must_use]
    pub fn dripping(mut self, chunk: usize, pause: Duration) -> Self {
        assert!(chunk > 0, "an empty chunk would never end");
        self.delivery = Delivery::Drip(chunk, pause);
        self
    }

    /// Closes the connection after `bytes` of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.delivery = Delivery::Cut(bytes);
        self
    }
}

/// A chat completion in OpenAI's shape.
pub(crate) fn completion(model: &str, text: &str, number: usize) -> Value {
    let words = text.split_whitespace().count();
    json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": text, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": {
            "prompt_tokens": words,
            "completion_tokens": words,
            "total_tokens": 2 * words,
        },
    })
}
