//! How long a case may work: the run's limit, or that of the question that it asks.
//!
//! Which one it was decides what is said: a case that the run cuts short is an error, a question
//! that used up its own time has failed.

use std::time::Duration;

use crate::failure::{CallFailure, FailureCode};

/// How long a case may work, and whose limit that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkLimit {
    /// There is none.
    None,
    /// The run's: what passes it is an error.
    Case(Duration),
    /// The question's own: what passes it fails.
    Question(Duration),
}

impl WorkLimit {
    /// The shorter of both.
    pub(crate) fn new(case: Option<Duration>, question: Option<Duration>) -> Self {
        match (case, question) {
            (None, None) => Self::None,
            (Some(case), Some(question)) if question < case => Self::Question(question),
            (Some(case), _) => Self::Case(case),
            (None, Some(question)) => Self::Question(question),
        }
    }

    /// The time.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Case(time) | Self::Question(time) => Some(time),
        }
    }

    /// What is said of a case that passed it.
    pub(crate) fn passed(self) -> CallFailure {
        let latency = self.time().unwrap_or_default();
        let ms = latency.as_millis();
        let (code, message) = match self {
            Self::None | Self::Case(_) => (
                FailureCode::TIMEOUT,
                format!("timed out: the case worked longer than {ms} ms (timeoutMs)"),
            ),
            Self::Question(_) => (
                FailureCode::QuestionBudget,
                format!("the question worked longer than {ms} ms (budget.max_seconds)"),
            ),
        };
        CallFailure {
            latency,
            ..CallFailure::new(code, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_limit_holds_and_says_whose_it_is() {
        let ms = Duration::from_millis;
        let cases = [
            (None, None, WorkLimit::None),
            (Some(5), None, WorkLimit::Case(ms(5))),
            (None, Some(5), WorkLimit::Question(ms(5))),
            (Some(5), Some(6), WorkLimit::Case(ms(5))),
            (Some(5), Some(5), WorkLimit::Case(ms(5))),
            (Some(6), Some(5), WorkLimit::Question(ms(5))),
        ];
        for (case, question, expected) in cases {
            let limit = WorkLimit::new(case.map(ms), question.map(ms));
            assert_eq!(limit, expected, "{case:?} {question:?}");
        }
        assert_eq!(WorkLimit::Case(ms(5)).passed().code, FailureCode::TIMEOUT);
        let question = WorkLimit::Question(ms(5)).passed();
        assert_eq!(question.code, FailureCode::QuestionBudget);
        assert_eq!(question.latency, ms(5));
    }
}
