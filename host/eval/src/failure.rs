//! Why something gave no result: one type from the guest to the row.
//!
//! It is a word only where it leaves the program, in JSON, in the database and on the terminal;
//! inside, decisions are made by the variant.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use runner_sandbox::Code;
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
    Sandbox(Code),
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

/// The codes of the contract, each with its word.
const PLUGIN: [(ErrorCode, &str); 14] = [
    (ErrorCode::InvalidRequest, "invalid-request"),
    (ErrorCode::Auth, "auth"),
    (ErrorCode::RateLimited, "rate-limited"),
    (ErrorCode::QuotaExhausted, "quota-exhausted"),
    (ErrorCode::NotFound, "not-found"),
    (ErrorCode::ContextLength, "context-length"),
    (ErrorCode::ContentFilter, "content-filter"),
    (ErrorCode::Timeout, "timeout"),
    (ErrorCode::Transient, "transient"),
    (ErrorCode::BadResponse, "bad-response"),
    (ErrorCode::Denied, "denied"),
    (ErrorCode::Budget, "call-budget"),
    (ErrorCode::Unsupported, "unsupported"),
    (ErrorCode::Other, "other"),
];

/// The run's own codes, each with its word.
const OWN: [(FailureCode, &str); 9] = [
    (FailureCode::Budget, "budget"),
    (FailureCode::QuestionBudget, "question-budget"),
    (FailureCode::Cancelled, "cancelled"),
    (FailureCode::Template, "template"),
    (FailureCode::Script, "script"),
    (FailureCode::Human, "human"),
    (FailureCode::NothingToCompare, "nothing-to-compare"),
    (FailureCode::TooLarge, "too-large"),
    (FailureCode::Internal, "internal"),
];

impl FailureCode {
    /// A time limit passed.
    pub(crate) const TIMEOUT: Self = Self::Plugin(ErrorCode::Timeout);
    /// An answer that says nothing.
    pub(crate) const BAD_RESPONSE: Self = Self::Plugin(ErrorCode::BadResponse);

    /// The code as it is written down.
    pub fn word(&self) -> Cow<'_, str> {
        match self {
            Self::Plugin(code) => {
                let known = PLUGIN.iter().find(|(known, _)| known == code);
                known.map_or("other", |(_, word)| *word).into()
            }
            Self::Sandbox(code) => code.to_string().into(),
            Self::Unknown(word) => (&**word).into(),
            own => {
                let known = OWN.iter().find(|(known, _)| known == own);
                known.map_or("internal", |(_, word)| *word).into()
            }
        }
    }

    /// Reads [`Self::word`].
    pub fn read(word: &str) -> Self {
        let plugin = PLUGIN.iter().find(|(_, known)| *known == word);
        let own = || OWN.iter().find(|(_, known)| *known == word);
        let sandbox = || {
            Code::CALLS
                .into_iter()
                .find(|code| code.to_string() == word)
        };
        plugin
            .map(|(code, _)| Self::Plugin(*code))
            .or_else(|| own().map(|(code, _)| code.clone()))
            .or_else(|| sandbox().map(Self::Sandbox))
            .unwrap_or_else(|| Self::Unknown(word.into()))
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

impl From<Code> for FailureCode {
    fn from(code: Code) -> Self {
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
        let plugin = PLUGIN.map(|(code, _)| FailureCode::Plugin(code));
        let sandbox = Code::CALLS.map(FailureCode::Sandbox);
        let own = OWN.map(|(code, _)| code);
        let mut words = Vec::new();
        for code in plugin.into_iter().chain(sandbox).chain(own) {
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
