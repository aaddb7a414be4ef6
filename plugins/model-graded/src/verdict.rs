//! What a model's reply came to, and the grade that this makes.
//!
//! Two ways to have no verdict are kept apart. A grader that fails (its API erred, its reply
//! says nothing that can be read) fails the assertion, and `not-` does not turn that into a
//! pass: nothing was found out. A value that makes no sense, a missing grant or a spent budget
//! is no grade at all, but an error for the host.

use std::fmt::Display;

use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Component, Error, ErrorCode, Grade};

/// Room for what is lost on the way from a decimal to the contract's 32-bit vectors and back,
/// and in means of thirds: a score that is the threshold by its digits reaches it.
pub(crate) const TOLERANCE: f64 = 1e-6;

/// What was found out about an answer, before `not-`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) pass: bool,
    /// Finite; 0 to 1 unless a model said otherwise.
    pub(crate) score: f64,
    pub(crate) reason: String,
    /// The votes, where there were several.
    pub(crate) parts: Vec<Component>,
    /// Details for the results file.
    pub(crate) metadata: Map<String, Value>,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// The model gave none: the assertion fails, with and without `not-`.
    Grader(Problem),
    /// The assertion cannot be graded at all.
    Cannot(Error),
}

/// What went wrong with a grader.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) reason: String,
    /// What the host reported, if the call itself failed.
    code: Option<ErrorCode>,
}

impl Verdict {
    pub(crate) fn new(pass: bool, score: f64, reason: impl Into<String>) -> Self {
        Self {
            pass,
            score,
            reason: reason.into(),
            parts: Vec::new(),
            metadata: Map::new(),
        }
    }

    /// A score against a threshold: "Recall 0.50 is >= 0.5".
    pub(crate) fn measured(what: &str, score: f64, threshold: f64) -> Self {
        let pass = score >= threshold - TOLERANCE;
        let sign = if pass { ">=" } else { "<" };
        Self::new(
            pass,
            score,
            format!("{what} {score:.2} is {sign} {threshold}"),
        )
    }

    /// Adds a detail for the results file.
    pub(crate) fn with(mut self, key: &str, detail: Value) -> Self {
        self.metadata.insert(key.to_owned(), detail);
        self
    }

    /// The grade, turned around for `not-`; `used` is what asking cost and gave.
    pub(crate) fn grade(self, inverse: bool, used: Map<String, Value>) -> Grade {
        let score = if inverse {
            (1.0 - self.score).clamp(0.0, 1.0)
        } else {
            self.score
        };
        let mut grade = Grade::new(self.pass != inverse, score, self.reason);
        grade.components = self.parts;
        grade.metadata_json = metadata(self.metadata, used);
        grade
    }
}

impl Problem {
    /// The failing grade, the same for `not-`.
    pub(crate) fn grade(self, used: Map<String, Value>) -> Grade {
        let mut details = Map::new();
        details.insert("graderError".to_owned(), Value::Bool(true));
        if let Some(code) = self.code {
            details.insert("graderErrorCode".to_owned(), json!(word(code)));
        }
        let mut grade = Grade::fail(self.reason);
        grade.metadata_json = metadata(details, used);
        grade
    }
}

impl Failure {
    /// The reply says nothing that can be read.
    pub(crate) fn unreadable(reason: impl Display) -> Self {
        Self::Grader(Problem {
            reason: reason.to_string(),
            code: None,
        })
    }

    /// Asking failed. What only the user can change (no grant, no budget, a provider without
    /// the ability) is not the model's failure.
    pub(crate) fn asking(alias: &str, error: Error) -> Self {
        match error.code {
            ErrorCode::Denied | ErrorCode::Budget | ErrorCode::Unsupported => Self::Cannot(error),
            code => Self::Grader(Problem {
                reason: format!("the {alias} could not answer: {}", error.message),
                code: Some(code),
            }),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Cannot(error)
    }
}

fn metadata(mut details: Map<String, Value>, used: Map<String, Value>) -> Option<String> {
    details.extend(used);
    (!details.is_empty()).then(|| Value::Object(details).to_string())
}

/// A code as the contract spells it.
fn word(code: ErrorCode) -> &'static str {
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
        ErrorCode::Budget => "budget",
        ErrorCode::Unsupported => "unsupported",
        ErrorCode::Other => "other",
    }
}
