//! One line of a recording.
//!
//! Bodies are texts where they are UTF-8, so that people can read and search the file, and
//! base64 where they are not. Adding a field that may be missing keeps the version; everything
//! else raises it.
//!
//! A recording may be a stranger's. No exchange has headers or a body beyond what a run takes from a
//! server, and a line that has is refused while it is read: a header of two letters takes ten times
//! its room in the file.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::exchange::{ExchangeCode, RESPONSE_LIMIT};
use crate::memory::cache::{mask, piece_ends};
use crate::memory::remembered::{Ending, Envelope, Interaction, StoredResponse};
use crate::policy::masker::Masker;
use runner_scheduler::Class;

/// The first line of a recording.
pub(super) const HEAD: &str = r#"{"recording":"runner","version":1}"#;

/// The longest body in a line, in bytes: the largest answer in base64, or with a program's frame.
const MOST_BODY: usize = 2 * RESPONSE_LIMIT;

/// All headers of a request or an answer, in bytes, each with what its strings take; servers and the
/// client allow less.
const MOST_HEADERS: usize = 1 << 20;

/// Whether a first line is [`HEAD`].
pub(super) fn is_head(line: &str) -> bool {
    line.trim_end() == HEAD
}

/// An exchange.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Which call it was.
    pub(super) tag: u64,
    /// What the user calls the provider that asked; masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    /// Which key of that name it had, in the order in which they came.
    #[serde(default, skip_serializing_if = "is_first")]
    pub(super) key: u32,
    request: Request,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Response>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    attempts: u32,
    latency_us: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_first(key: &u32) -> bool {
    *key == 0
}

#[derive(Debug, Serialize, Deserialize)]
struct Request {
    method: String,
    url: String,
    #[serde(deserialize_with = "headers")]
    headers: Vec<(String, String)>,
    #[serde(deserialize_with = "body")]
    body: RecordedBody,
    repeat: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Response {
    status: u16,
    #[serde(deserialize_with = "headers")]
    headers: Vec<(String, String)>,
    #[serde(deserialize_with = "body")]
    body: RecordedBody,
    /// Until which byte it had come, and when in milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<(u32, u32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    cached: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    code: ExchangeCode,
    #[serde(with = "ClassWord")]
    class: Class,
    message: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedBody {
    Text(String),
    Base64(String),
}

/// The words of [`Class`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Class", rename_all = "kebab-case")]
enum ClassWord {
    Ok,
    Throttled,
    Transient,
    Timeout,
    Permanent,
    QuotaExhausted,
    Auth,
    NotFound,
}

fn body<'de, D: Deserializer<'de>>(from: D) -> Result<RecordedBody, D::Error> {
    let body = RecordedBody::deserialize(from)?;
    let (RecordedBody::Text(text) | RecordedBody::Base64(text)) = &body;
    if text.len() > MOST_BODY {
        let why = format_args!("a body of more than {} MiB", MOST_BODY >> 20);
        return Err(D::Error::custom(why));
    }
    Ok(body)
}

fn headers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    from.deserialize_seq(Headers)
}

/// Counts headers as they come.
struct Headers;

impl<'de> Visitor<'de> for Headers {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of headers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all: Self::Value = Vec::new();
        let mut bytes = 0;
        while let Some(header) = list.next_element::<(String, String)>()? {
            bytes += header_bytes(&header);
            if bytes > MOST_HEADERS {
                let why = format_args!("headers of more than {} MiB", MOST_HEADERS >> 20);
                return Err(A::Error::custom(why));
            }
            all.push(header);
        }
        Ok(all)
    }
}

/// What a header takes in memory.
pub(super) fn header_bytes((name, value): &(String, String)) -> usize {
    const STRINGS: usize = 2 * size_of::<String>();
    name.len() + value.len() + STRINGS
}

impl RecordedBody {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            // Edited by hand, and badly: an answer that no plugin understands.
            Self::Base64(text) => STANDARD.decode(text).unwrap_or_default(),
        }
    }
}

impl Line {
    /// A line of an exchange; `envelope` is masked already.
    pub(super) fn new(
        envelope: &Envelope,
        tag: u64,
        interaction: &Interaction,
        masker: &Masker,
    ) -> Self {
        let (response, failure) = match &interaction.ending {
            Ending::Answered {
                response,
                retry_after,
                cached,
            } => {
                let mut response = response.clone();
                mask(masker, &mut response);
                let response = Response {
                    status: response.status,
                    headers: response.headers,
                    body: RecordedBody::of(&response.body),
                    pieces: response.pieces.iter().map(|it| (it.bytes, it.ms)).collect(),
                    retry_after_ms: retry_after.map(|wait| wait.as_millis() as u64),
                    cached: *cached,
                };
                (Some(response), None)
            }
            Ending::Failed {
                code,
                class,
                message,
            } => {
                let failure = Failure {
                    code: *code,
                    class: *class,
                    message: masker.mask(message).into_owned(),
                };
                (None, Some(failure))
            }
        };
        Self {
            tag,
            by: None,
            key: 0,
            request: Request {
                method: envelope.method.clone(),
                url: envelope.url.clone(),
                headers: envelope.headers.clone(),
                body: RecordedBody::of(&envelope.body),
                repeat: envelope.repeat,
            },
            response,
            failure,
            attempts: interaction.attempts,
            latency_us: interaction.latency.as_micros() as u64,
        }
    }

    /// Reads a line.
    pub(super) fn read(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    /// The line, its end included.
    pub(super) fn text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("texts and numbers are JSON");
        text.push('\n');
        text
    }

    /// The request.
    pub(super) fn envelope(&self) -> Envelope {
        Envelope {
            method: self.request.method.clone(),
            url: self.request.url.clone(),
            headers: self.request.headers.clone(),
            body: self.request.body.bytes().into(),
            credential: None,
            repeat: self.request.repeat,
        }
    }

    /// How it ended. A line with neither response nor failure was edited badly; it is a failure.
    pub(super) fn interaction(self) -> Interaction {
        let ending = match (self.response, self.failure) {
            (Some(response), _) => Ending::Answered {
                retry_after: response.retry_after_ms.map(Duration::from_millis),
                cached: response.cached,
                response: StoredResponse {
                    status: response.status,
                    body: response.body.bytes(),
                    pieces: piece_ends(&response.pieces),
                    headers: response.headers,
                },
            },
            (None, Some(failure)) => Ending::Failed {
                code: failure.code,
                class: failure.class,
                message: failure.message,
            },
            (None, None) => Ending::Failed {
                code: ExchangeCode::Other,
                class: Class::Permanent,
                message: "the recorded exchange has no end".to_owned(),
            },
        };
        Interaction {
            ending,
            attempts: self.attempts,
            latency: Duration::from_micros(self.latency_us),
        }
    }
}
