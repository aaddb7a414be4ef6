//! What a plugin says when it cannot do what was asked.
//!
//! One struct with a code from a closed set, because the host acts on the code: it retries,
//! pauses a credential or gives up, and never reads the text. Not a trait object and not a
//! chain: an error crosses the sandbox as data. A model's own refusal and a failing grade are
//! no errors; they are a [`crate::Completion`] and a [`crate::Grade`].

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::wire::hands::runner::plugin::types as wire;

pub use wire::ErrorCode;

/// An error for the host: `code` decides what happens, `message` is for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong, in the closed set that the host acts on.
    pub code: ErrorCode,
    /// One line for people. Never prompts, never secrets.
    pub message: String,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// Earliest useful retry. Leave it out where it only repeats a response header: the host
    /// reads those itself.
    pub retry_after: Option<Duration>,
    /// The API's own error body or other detail.
    pub detail: Option<Value>,
}

/// A constructor per code, named like the code.
macro_rules! constructors {
    ($($(#[doc = $doc:literal])+ $name:ident => $code:ident;)+) => {
        impl Error {
            $(
                $(#[doc = $doc])+
                pub fn $name(message: impl Into<String>) -> Self {
                    Self::new(ErrorCode::$code, message)
                }
            )+
        }
    };
}

constructors! {
    /// Bad config or request; retrying is useless.
    invalid_request => InvalidRequest;
    /// The API refused the credential, or none is granted.
    auth => Auth;
    /// The API asked to slow down. The host retries.
    rate_limited => RateLimited;
    /// Hard quota or billing stop. The host pauses the credential.
    quota_exhausted => QuotaExhausted;
    /// The model or endpoint does not exist.
    not_found => NotFound;
    /// The prompt is larger than the model's context.
    context_length => ContextLength;
    /// The API blocked the request by policy.
    content_filter => ContentFilter;
    /// A time limit passed.
    timeout => Timeout;
    /// Worth retrying: a server error, a reset connection, a truncated body.
    transient => Transient;
    /// The API answered with something this plugin cannot read.
    bad_response => BadResponse;
    /// The plugin does not support what was asked.
    unsupported => Unsupported;
    /// Anything else, including bugs of the plugin.
    other => Other;
}

impl Error {
    /// A grader was asked for an assertion type that it does not have.
    pub fn no_type(plugin: &str, asked: &str) -> Self {
        Self::unsupported(format!(
            "the plugin `{plugin}` has no assertion type `{asked}`"
        ))
    }

    /// An error with a code and one line for people.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            status: None,
            retry_after: None,
            detail: None,
        }
    }

    /// The error that an HTTP status stands for where the body says nothing better: 401 and
    /// 403 `auth`, 404 `not-found`, 408 `timeout`, 429 `rate-limited`, 409, 425 and 5xx
    /// `transient`, any other 4xx `invalid-request`, the rest `bad-response`.
    pub fn from_status(status: u16, message: impl Into<String>) -> Self {
        let code = match status {
            401 | 403 => ErrorCode::Auth,
            404 => ErrorCode::NotFound,
            408 => ErrorCode::Timeout,
            429 => ErrorCode::RateLimited,
            409 | 425 | 500..=599 => ErrorCode::Transient,
            400..=499 => ErrorCode::InvalidRequest,
            _ => ErrorCode::BadResponse,
        };
        Self::new(code, message).status(status)
    }

    /// Adds the HTTP status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds the earliest useful retry, counted from now.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// Adds the API's error body or other detail.
    #[must_use]
    pub fn detail(mut self, detail: Value) -> Self {
        self.detail = Some(detail);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<wire::Error> for Error {
    fn from(error: wire::Error) -> Self {
        Self {
            code: error.code,
            message: error.message,
            status: error.status,
            retry_after: error.retry_after_ms.map(Duration::from_millis),
            detail: error
                .detail_json
                .and_then(|text| serde_json::from_str(&text).ok()),
        }
    }
}

impl From<Error> for wire::Error {
    fn from(error: Error) -> Self {
        Self {
            code: error.code,
            message: error.message,
            status: error.status,
            retry_after_ms: error
                .retry_after
                .map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
            detail_json: error.detail.map(|detail| detail.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_code() {
        for (status, code) in [
            (400, ErrorCode::InvalidRequest),
            (401, ErrorCode::Auth),
            (403, ErrorCode::Auth),
            (404, ErrorCode::NotFound),
            (408, ErrorCode::Timeout),
            (409, ErrorCode::Transient),
            (422, ErrorCode::InvalidRequest),
            (425, ErrorCode::Transient),
            (429, ErrorCode::RateLimited),
            (500, ErrorCode::Transient),
            (529, ErrorCode::Transient),
            (200, ErrorCode::BadResponse),
            (302, ErrorCode::BadResponse),
        ] {
            let error = Error::from_status(status, "no");
            assert_eq!((error.code, error.status), (code, Some(status)));
        }
    }

    #[test]
    fn an_error_survives_the_crossing() {
        let error = Error::rate_limited("slow down")
            .status(429)
            .retry_after(Duration::from_millis(1_500))
            .detail(serde_json::json!({ "limit": 3 }));
        let wire = wire::Error::from(error.clone());
        assert_eq!(wire.retry_after_ms, Some(1_500));
        assert_eq!(wire.detail_json.as_deref(), Some(r#"{"limit":3}"#));
        assert_eq!(Error::from(wire), error);
    }
}
