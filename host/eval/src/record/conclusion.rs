//! How a case ended. What files, database and table say of that (`outcome`, `success`,
//! `failureReason`, `score`, `error`, `errorCode`) is derived here, so that no two of them can disagree. What a
//! person says afterwards of a kept row goes by the same [`Outcome`], in the viewer.

use runner_store::Outcome;
use serde::{Deserialize, Serialize};

use super::GradingRecord;
use crate::failure::FailureCode;

/// How a case ended, with what belongs to that. Exactly one per case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", from = "Stored")]
pub enum Conclusion {
    /// [`Outcome::Passed`].
    Passed {
        /// The grade's score.
        score: f64,
    },
    /// [`Outcome::Failed`]; with a code if it was not for its assertions.
    Failed(NotPassed),
    /// [`Outcome::Waiting`].
    Waiting(NotPassed),
    /// [`Outcome::Error`].
    Error(NotPassed),
    /// [`Outcome::BudgetExceeded`].
    BudgetExceeded(NotPassed),
    /// [`Outcome::Cancelled`].
    Cancelled(NotPassed),
}

/// What there is to say of a case that did not pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NotPassed {
    /// The grade's score; 0 where there is no grade.
    pub score: f64,
    /// Why it did not pass; only foreign rows have none.
    pub error: Option<String>,
    /// Stable code of an error: of a crash or limit (`C103`), or of a provider (`auth`).
    pub code: Option<FailureCode>,
}

impl Conclusion {
    /// A case of a results file that knows no codes, as promptfoo's. Why it did not pass counts only
    /// if it did not.
    pub fn foreign(outcome: Outcome, score: f64, error: Option<String>) -> Self {
        let what = NotPassed {
            score,
            error,
            code: None,
        };
        Self::new(outcome, what)
    }

    /// A case that ended so. `what` counts only if it did not pass, but for its score.
    fn new(outcome: Outcome, what: NotPassed) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed { score: what.score },
            Outcome::Failed => Self::Failed(what),
            Outcome::Waiting => Self::Waiting(what),
            Outcome::Error => Self::Error(what),
            Outcome::BudgetExceeded => Self::BudgetExceeded(what),
            Outcome::Cancelled => Self::Cancelled(what),
        }
    }

    /// A case that came to no grade.
    pub(crate) fn failure(code: FailureCode, error: impl Into<String>) -> Self {
        Self::of_code(0.0, code, error.into())
    }

    /// A case with this grade; `ungraded` says which of its assertions could not be graded, if
    /// that matters, and why.
    pub(crate) fn graded(grade: &GradingRecord, ungraded: Option<(FailureCode, &str)>) -> Self {
        let score = grade.score;
        match ungraded {
            Some((code, why)) => Self::of_code(score, code, why.to_owned()),
            None if grade.pass => Self::Passed { score },
            None => Self::Failed(NotPassed {
                score,
                error: Some(grade.reason.clone()),
                code: None,
            }),
        }
    }

    fn of_code(score: f64, code: FailureCode, error: String) -> Self {
        let outcome = match code {
            // With a larger one the case can be graded.
            FailureCode::Budget => Outcome::BudgetExceeded,
            // A verdict on the question, which running it again would not change.
            FailureCode::QuestionBudget => Outcome::Failed,
            FailureCode::Human => Outcome::Waiting,
            FailureCode::Cancelled => Outcome::Cancelled,
            _ => Outcome::Error,
        };
        let what = NotPassed {
            score,
            error: Some(error),
            code: Some(code),
        };
        Self::new(outcome, what)
    }

    /// In one word.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Passed { .. } => Outcome::Passed,
            Self::Failed(_) => Outcome::Failed,
            Self::Waiting(_) => Outcome::Waiting,
            Self::Error(_) => Outcome::Error,
            Self::BudgetExceeded(_) => Outcome::BudgetExceeded,
            Self::Cancelled(_) => Outcome::Cancelled,
        }
    }

    /// The score, and what there is to say of a case that did not pass.
    fn parts(&self) -> (f64, Option<&NotPassed>) {
        match self {
            Self::Passed { score } => (*score, None),
            Self::Failed(what)
            | Self::Waiting(what)
            | Self::Error(what)
            | Self::BudgetExceeded(what)
            | Self::Cancelled(what) => (what.score, Some(what)),
        }
    }

    /// The score of the case, 0 where there is no grade.
    pub fn score(&self) -> f64 {
        self.parts().0
    }

    /// Whether it is what the assertions said.
    pub(crate) fn is_graded(&self) -> bool {
        matches!(self.outcome(), Outcome::Passed | Outcome::Failed) && self.code().is_none()
    }

    /// Why the case did not pass.
    pub fn error(&self) -> Option<&str> {
        self.parts().1?.error.as_deref()
    }

    /// The code of what went wrong, where it has one.
    pub fn code(&self) -> Option<&FailureCode> {
        self.parts().1?.code.as_ref()
    }
}

/// As rows have it: fields that say the same more than once, since promptfoo's do. Read is the
/// outcome, and what it leaves open.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    score: f64,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<FailureCode>,
    /// 0 none, 1 assertion, 2 error.
    failure_reason: u8,
    outcome: Outcome,
}

impl From<Conclusion> for Stored {
    fn from(conclusion: Conclusion) -> Self {
        let (score, what) = conclusion.parts();
        let outcome = conclusion.outcome();
        Self {
            score,
            success: outcome == Outcome::Passed,
            error: what.and_then(|it| it.error.clone()),
            error_code: what.and_then(|it| it.code.clone()),
            failure_reason: outcome.failure_reason(),
            outcome,
        }
    }
}

impl From<Stored> for Conclusion {
    fn from(row: Stored) -> Self {
        let what = NotPassed {
            score: row.score,
            error: row.error,
            code: row.error_code,
        };
        Self::new(row.outcome, what)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_code_ends_a_case_in_its_way_and_every_field_says_so() {
        let table = [
            (FailureCode::TIMEOUT, "error", 2),
            (FailureCode::Budget, "budget-exceeded", 2),
            (FailureCode::Cancelled, "cancelled", 2),
            (FailureCode::QuestionBudget, "failed", 1),
            (FailureCode::Human, "waiting", 1),
        ];
        for (code, outcome, reason) in table {
            let conclusion = Conclusion::failure(code.clone(), "why");
            let row = json!({ "score": 0.0, "success": false, "error": "why", "errorCode": code,
                "failureReason": reason, "outcome": outcome });
            assert_eq!(json!(conclusion), row);
            let read: Conclusion = serde_json::from_value(row).expect("a conclusion");
            assert_eq!(read, conclusion);
            assert!(!read.is_graded());
        }
    }

    #[test]
    fn what_the_assertions_said_is_a_grade_and_everything_else_is_none() {
        for (outcome, is_graded) in [
            (Outcome::Passed, true),
            (Outcome::Failed, true),
            (Outcome::Error, false),
            (Outcome::BudgetExceeded, false),
            (Outcome::Cancelled, false),
            (Outcome::Waiting, false),
        ] {
            let conclusion = Conclusion::foreign(outcome, 0.5, Some("why".to_owned()));
            assert_eq!(conclusion.is_graded(), is_graded, "{outcome:?}");
            assert_eq!((conclusion.outcome(), conclusion.score()), (outcome, 0.5));
        }
    }

    #[test]
    fn a_row_that_contradicts_itself_ended_as_its_outcome_says() {
        let row = |outcome: &str| {
            let row = json!({ "score": 0.5, "success": false, "error": "why", "failureReason": 2,
                "outcome": outcome });
            let read: Conclusion = serde_json::from_value(row).expect("a conclusion");
            json!(read)
        };
        let passed =
            json!({ "score": 0.5, "success": true, "failureReason": 0, "outcome": "passed" });
        assert_eq!(row("passed"), passed);
        let failed: Value = row("failed");
        assert_eq!(
            (&failed["failureReason"], &failed["error"]),
            (&json!(1), &json!("why"))
        );
    }
}
