//! What became of a question, as its case's record holds it.

use runner_config::plan::Question;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ComponentRecord;

/// What became of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionRecord {
    /// The task's id, or the name of the file where no task names it.
    pub task: String,
    /// Its place in the file, from 0.
    pub index: u32,
    /// Its `id`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// The question.
    pub question: String,
    /// The choices.
    pub answers: Vec<String>,
    /// Those that are correct.
    pub correct_answers: Vec<String>,
    /// The answer that was read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<String>,
    /// Whether it is correct, and came within the budget.
    pub correct: bool,
    /// Why no answer could be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parse_error: Option<ParseError>,
    /// Why there is nothing to read, or it doesn't count.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_error: Option<RunFault>,
    /// Tokens of its call, in and out.
    pub tokens_total: u64,
    /// From its start to its end, waits included, in milliseconds.
    pub wall_time_ms: u64,
}

/// Why no answer could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParseError {
    /// There is no `<answer>…</answer>`.
    MissingBlock,
    /// The output goes on after the last one.
    TrailingText,
    /// There is nothing in the last one.
    EmptyAnswer,
}

/// Why a question has no answer that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunFault {
    /// It used more than it may, or a budget of the run kept it from being asked.
    BudgetExceeded,
    /// Anything else that went wrong.
    RuntimeError,
}

/// How a question ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionEnd {
    /// The answer is one of the correct ones.
    Correct,
    /// It is another one.
    Incorrect,
    /// None could be read.
    ParseError,
    /// A budget was spent.
    BudgetExceeded,
    /// Anything else that went wrong.
    RuntimeError,
}

impl QuestionEnd {
    /// As lines and events say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Incorrect => "incorrect",
            Self::ParseError => "parse_error",
            Self::BudgetExceeded => "budget_exceeded",
            Self::RuntimeError => "runtime_error",
        }
    }
}

impl QuestionRecord {
    /// A question that has not been asked.
    pub(crate) fn new(question: &Question) -> Self {
        Self {
            task: question.task.to_string(),
            index: question.index,
            id: question.id.clone(),
            question: question.text.clone(),
            answers: question.answers.clone(),
            correct_answers: question.correct_answers.clone(),
            answer: None,
            correct: false,
            parse_error: None,
            run_error: None,
            tokens_total: 0,
            wall_time_ms: 0,
        }
    }

    /// How it ended.
    pub fn end(&self) -> QuestionEnd {
        match (self.run_error, self.parse_error) {
            (Some(RunFault::RuntimeError), _) => QuestionEnd::RuntimeError,
            (Some(RunFault::BudgetExceeded), _) => QuestionEnd::BudgetExceeded,
            (None, Some(_)) => QuestionEnd::ParseError,
            (None, None) if self.correct => QuestionEnd::Correct,
            (None, None) => QuestionEnd::Incorrect,
        }
    }

    /// Takes what the grader of answers said.
    pub(crate) fn read(&mut self, component: &ComponentRecord) {
        let said = &component.metadata;
        self.answer = said
            .get("answer")
            .and_then(Value::as_str)
            .map(str::to_owned);
        self.correct = said.get("correct") == Some(&Value::Bool(true));
        self.parse_error = said
            .get("parseError")
            .and_then(|word| serde_json::from_value(word.clone()).ok());
    }
}
