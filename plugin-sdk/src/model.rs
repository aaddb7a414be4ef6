//! What is asked of a model and what it answers: the contract's records with the few helpers
//! that nearly every provider needs.
//!
//! The fields are public and the enums are closed; a helper exists only where spelling the
//! record out would hide what is meant.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::wire::hands::runner::plugin::types as wire;

pub use wire::{
    CallContext, Completion, FinishReason, Media, Message, Part, Request, Role, ToolCall,
    ToolResult, Usage,
};

impl Request {
    /// A request of one user message, with nothing set beyond it.
    pub fn new(prompt: impl Into<String>) -> Self {
        let prompt = prompt.into();
        Self {
            messages: vec![Message::user(prompt.clone())],
            prompt,
            temperature: None,
            top_p: None,
            max_tokens: None,
            seed: None,
            stop: Vec::new(),
            response_schema_json: None,
            tools_json: None,
            options_json: None,
            timeout_ms: None,
        }
    }
}

impl Role {
    /// As chats in JSON say it, for example `user`.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl Message {
    /// A message of one text.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            name: None,
            content: vec![Part::Text(text.into())],
        }
    }

    /// What the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// What the model is told beforehand.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// What the model says.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// The text parts joined.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.content {
            if let Part::Text(piece) = part {
                text.push_str(piece);
            }
        }
        text
    }
}

impl Media {
    /// The bytes in base64, padded.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.data)
    }

    /// The bytes as a `data:` URL.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime_type, self.base64())
    }
}

impl Default for Usage {
    /// Nothing reported.
    fn default() -> Self {
        Self {
            input_tokens: None,
            output_tokens: None,
            total_tokens: None,
            cache_read_tokens: None,
            cache_write_tokens: None,
            reasoning_tokens: None,
            other: Vec::new(),
        }
    }
}

impl Completion {
    /// An answer of one text, with nothing else known about it.
    pub fn text(text: impl Into<String>) -> Self {
        Self::message(Message::assistant(text))
    }

    /// An answer of these parts, with nothing else known about it.
    pub fn parts(content: Vec<Part>) -> Self {
        Self::message(Message {
            role: Role::Assistant,
            name: None,
            content,
        })
    }

    /// An answer of any content.
    pub fn message(message: Message) -> Self {
        Self {
            message,
            output_json: None,
            finish_reason: None,
            usage: Usage::default(),
            cost_usd: None,
            model: None,
            raw_json: None,
            metadata_json: None,
        }
    }

    /// Says that the answer is a JSON value and not text.
    #[must_use]
    pub fn output(mut self, value: &Value) -> Self {
        self.output_json = Some(value.to_string());
        self
    }

    /// Says that the answer is the JSON value that this text is, if it is one.
    #[must_use]
    pub fn output_if_json(mut self, text: &str) -> Self {
        let value = serde_json::from_str(text);
        self.output_json = value.ok().map(|value: Value| value.to_string());
        self
    }

    /// Says why the model stopped.
    #[must_use]
    pub fn finish(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }

    /// Adds the token counts that the API reported.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Names the model that really answered.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Adds the raw API response for the results file.
    #[must_use]
    pub fn raw(mut self, response: &Value) -> Self {
        self.raw_json = Some(response.to_string());
        self
    }

    /// Adds free-form extras, a JSON object.
    #[must_use]
    pub fn metadata(mut self, extras: &Value) -> Self {
        self.metadata_json = Some(extras.to_string());
        self
    }
}
