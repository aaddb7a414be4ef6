//! Why something gave no result: one type from the guest to the row.
//!
//! It is a word only where it leaves the program, in JSON, in the database and on the terminal;
//! inside, decisions are made by the variant.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use runner_sandbox::MessageCode;
use runner_sandbox::abi::{self, ErrorCode};
use serde::{Deserialize, Serialize};

mod explanation;

pub use explanation::explained;

/// Why a call, a grade or a case gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCode {
    /// What a plugin says of its API, in the words of the contract.
    Plugin(ErrorCode),
    /// A component crashed, passed a limit of the sandbox or broke the contract (`C103`).
    Sandbox(MessageCode),
    /// A budget that the user set stood in the way. Given by the host alone: a guest that says
    /// `budget` is a `call-budget`, which no larger budget helps.
    Budget,
    /// A question used more than its own budget allows.
    QuestionBudget,
    /// The run ended before there was a result.
    Cancelled,
    /// A template can't be filled in.
    Template,
    /// Code of the config failed by itself.
    Script,
    /// A person has to say whether it is good enough.
    Human,
    /// A comparison had one answer or none.
    NothingToCompare,
    /// It takes more memory than a row may.
    TooLarge,
    /// A bug of this program.
    Internal,
    /// A word that this program does not know: another version wrote the row.
    Unknown(Box<str>),
}

/// The codes of the contract.
const PLUGIN: [ErrorCode; 14] = [
    ErrorCode::InvalidRequest,
    ErrorCode::Auth,
    ErrorCode::RateLimited,
    ErrorCode::QuotaExhausted,
    ErrorCode::NotFound,
    ErrorCode::ContextLength,
    ErrorCode::ContentFilter,
    ErrorCode::Timeout,
    ErrorCode::Transient,
    ErrorCode::BadResponse,
    ErrorCode::Denied,
    ErrorCode::Budget,
    ErrorCode::Unsupported,
    ErrorCode::Other,
];

/// The run's own codes.
const OWN: [FailureCode; 9] = [
    FailureCode::Budget,
    FailureCode::QuestionBudget,
    FailureCode::Cancelled,
    FailureCode::Template,
    FailureCode::Script,
    FailureCode::Human,
    FailureCode::NothingToCompare,
    FailureCode::TooLarge,
    FailureCode::Internal,
];

impl FailureCode {
    /// A time limit passed.
    pub(crate) const TIMEOUT: Self = Self::Plugin(ErrorCode::Timeout);
    /// An answer that says nothing.
    pub(crate) const BAD_RESPONSE: Self = Self::Plugin(ErrorCode::BadResponse);

    /// The code as it is written down.
    pub fn word(&self) -> Cow<'_, str> {
        match self {
            Self::Plugin(code) => plugin_word(*code).into(),
            Self::Sandbox(code) => code.to_string().into(),
            Self::Unknown(word) => (&**word).into(),
            Self::Budget => "budget".into(),
            Self::QuestionBudget => "question-budget".into(),
            Self::Cancelled => "cancelled".into(),
            Self::Template => "template".into(),
            Self::Script => "script".into(),
            Self::Human => "human".into(),
            Self::NothingToCompare => "nothing-to-compare".into(),
            Self::TooLarge => "too-large".into(),
            Self::Internal => "internal".into(),
        }
    }

    /// Reads [`Self::word`].
    pub fn read(word: &str) -> Self {
        Self::known()
            .find(|code| code.word() == word)
            .unwrap_or_else(|| Self::Unknown(word.into()))
    }

    /// Every code that this program gives.
    fn known() -> impl Iterator<Item = Self> {
        let plugin = PLUGIN.into_iter().map(Self::Plugin);
        let sandbox = MessageCode::CALLS.into_iter().map(Self::Sandbox);
        plugin.chain(OWN).chain(sandbox)
    }

    /// The code in the words of the contract, for a guest whose call failed with it.
    pub(crate) fn for_guest(&self) -> ErrorCode {
        match self {
            Self::Plugin(code) => *code,
            Self::Budget => ErrorCode::Budget,
            _ => ErrorCode::Other,
        }
    }
}

/// The contract's word for a code.
fn plugin_word(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidRequest => "invalid-request",
        ErrorCode::Auth => "auth",
        ErrorCode::RateLimited => "rate-limited",
        ErrorCode::QuotaExhausted => "quota-exhausted",
        ErrorCode::NotFound => "not-found",
        ErrorCode::ContextLength => "context-length",
        ErrorCode::ContentFilter => "content-filter",
        ErrorCode::Timeout => "timeout",
        ErrorCode::Transient => "transient",
        ErrorCode::BadResponse => "bad-response",
        ErrorCode::Denied => "denied",
        ErrorCode::Budget => "call-budget",
        ErrorCode::Unsupported => "unsupported",
        ErrorCode::Other => "other",
    }
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word())
    }
}

impl From<ErrorCode> for FailureCode {
    fn from(code: ErrorCode) -> Self {
        Self::Plugin(code)
    }
}

impl From<MessageCode> for FailureCode {
    fn from(code: MessageCode) -> Self {
        Self::Sandbox(code)
    }
}

impl Serialize for FailureCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.word())
    }
}

impl<'de> Deserialize<'de> for FailureCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'_, str>::deserialize(deserializer)?;
        Ok(Self::read(&word))
    }
}

/// Why a call gave nothing.
#[derive(Debug, Clone)]
pub(crate) struct CallFailure {
    /// What kind of failure it is.
    pub(crate) code: FailureCode,
    /// One line.
    pub(crate) message: String,
    /// HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// How long the call took, without waits.
    pub(crate) latency: Duration,
}

impl CallFailure {
    pub(crate) fn new(code: impl Into<FailureCode>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            status: None,
            latency: Duration::ZERO,
        }
    }

    pub(crate) fn of(error: abi::Error) -> Self {
        Self {
            code: error.code.into(),
            message: error.message,
            status: error.status,
            latency: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_word_of_its_own_and_is_read_again() {
        let mut words = Vec::new();
        for code in FailureCode::known() {
            assert_eq!(FailureCode::read(&code.word()), code);
            words.push(code.to_string());
        }
        let count = words.len();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn a_word_of_another_version_stays_what_it_is() {
        let json = "\"C999\"";
        let code: FailureCode = serde_json::from_str(json).expect("a word");
        assert_eq!(code, FailureCode::Unknown("C999".into()));
        assert_eq!(serde_json::to_string(&code).expect("a word"), json);
    }
}
