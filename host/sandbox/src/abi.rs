//! The words of the boundary as the rest of the program uses them: the newest track's records.
//!
//! When a track 0.2 comes, these become its types and `v0_1` converts; nothing above this
//! crate changes its imports. Only what the WIT cannot say is added here.

use serde_json::{Map, Value};

pub(crate) use crate::bindings::exports::runner::plugin::assertion::Grade;
pub use crate::bindings::exports::runner::plugin::assertion::{Component as GradeComponent, Input};
pub use crate::bindings::exports::runner::plugin::meta::{
    AssertionType, CredentialWant, Info, Inputs, SettingWant, Wants,
};
pub use crate::bindings::exports::runner::plugin::provider::Target;
pub use crate::bindings::exports::runner::plugin::provider_embed::Embeddings;
pub use crate::bindings::exports::runner::plugin::script::{
    Argument, Failure as ScriptFailure, FailureKind, Form, Line as ConsoleLine, Module,
    Outcome as ScriptOutcome, Position, Program,
};
pub use crate::bindings::runner::plugin::http::{
    CacheMode, Request as HttpRequest, Response as HttpResponse,
};
pub use crate::bindings::runner::plugin::http_stream::Piece;
pub use crate::bindings::runner::plugin::llm::Answer;
pub use crate::bindings::runner::plugin::log::Level;
pub use crate::bindings::runner::plugin::types::{
    CallContext, Completion, Error, ErrorCode, FinishReason, Media, Message, Part, Request, Role,
    ToolCall, ToolResult, Usage,
};

/// A completion with the values of its JSON texts, which were read when it was checked.
#[derive(Debug, Clone)]
pub struct ReadCompletion {
    /// As the guest gave it.
    pub completion: Completion,
    /// `output-json`.
    pub output: Option<Value>,
    /// `raw-json`.
    pub raw: Option<Value>,
    /// `metadata-json`; empty where there is none.
    pub metadata: Map<String, Value>,
}

/// A grade with the value of its metadata, which was read when it was checked.
#[derive(Debug, Clone)]
pub struct ReadGrade {
    /// Whether the answer is good enough.
    pub pass: bool,
    /// How good it is.
    pub score: f64,
    /// Why.
    pub reason: String,
    /// Further scores, by name.
    pub named_scores: Vec<(String, f64)>,
    /// The parts that the score is made of.
    pub components: Vec<GradeComponent>,
    /// `metadata-json`; empty where there is none, or no object.
    pub metadata: Map<String, Value>,
}

/// One line that a guest logged, or wrote to its standard output or error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// As the guest said; standard output is `info`, standard error `warn`.
    pub level: Level,
    /// At most [`crate::limits::MAX_LOG_LINE_BYTES`] bytes.
    pub message: String,
    /// Names and values, in the guest's order.
    pub fields: Vec<(String, String)>,
}

impl Error {
    /// An error with nothing but its code and one line of text.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            status: None,
            retry_after_ms: None,
            detail_json: None,
        }
    }
}

impl Message {
    /// A message of one text part.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            name: None,
            content: vec![Part::Text(text.into())],
        }
    }
}

impl Request {
    /// Messages with nothing set beside them.
    pub fn new(messages: Vec<Message>, prompt: impl Into<String>) -> Self {
        Self {
            messages,
            prompt: prompt.into(),
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

impl Completion {
    /// What a model said, with nothing reported beside it.
    pub fn new(content: Vec<Part>) -> Self {
        Self {
            message: Message {
                role: Role::Assistant,
                name: None,
                content,
            },
            output_json: None,
            finish_reason: None,
            usage: Usage::unknown(),
            cost_usd: None,
            model: None,
            raw_json: None,
            metadata_json: None,
        }
    }
}

impl Usage {
    /// Nothing reported.
    pub fn unknown() -> Self {
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

impl Input {
    /// An assertion of `kind` about `output`, with nothing else handed over.
    pub fn new(kind: impl Into<String>, output: impl Into<String>) -> Self {
        Self {
            type_: kind.into(),
            inverse: false,
            value_json: None,
            threshold: None,
            config_json: None,
            output: output.into(),
            output_json: None,
            completion: None,
            prompt: Vec::new(),
            vars_json: None,
            test_json: None,
            latency_ms: None,
            cost_usd: None,
            extra_json: None,
        }
    }
}

impl CallContext {
    /// The first attempt of the call `call_id`, without labels.
    pub fn new(call_id: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            attempt: 1,
            deadline_ms: None,
            test_index: 0,
            repeat_index: 0,
            labels: Vec::new(),
        }
    }
}
