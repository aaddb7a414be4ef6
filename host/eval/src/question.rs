//! Questions of question sets in results: what became of each, and what a task adds up to.
//!
//! A question is a case like any other. What it is beside that (the answer that was read, why
//! none could be, which limit was passed) stands in its record, and everything about a task is a
//! sum over records, so that a resumed run and a run that is looked at again say the same.
//!
//! Two statuses of the published list never stand here: `error/invalid_questions_file` and
//! `error/no_questions` are found when the config is read, before there is a run.

use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{PlannedTask, Question};
use serde_json::{Value, json};

use crate::failure::FailureCode;
use crate::record::{
    CaseRecord, ComponentRecord, Conclusion, Outcome, QuestionEnd, QuestionRecord, RunFault,
};

/// The assertion type that reads answers.
const ANSWER: &str = "answer";

/// Completes the record of a case that asked `question` and took `wall` from its start to its
/// end. A question that used too many tokens fails, whatever it answered; an error stays one.
pub(crate) fn settle(record: &mut CaseRecord, question: &Question, wall: Duration) {
    let mut settled = QuestionRecord::new(question);
    settled.tokens_total = record.token_usage.total;
    settled.wall_time_ms = wall.as_millis() as u64;
    let components = record
        .grading_result
        .iter()
        .flat_map(|it| &it.component_results);
    let is_answer = |it: &&ComponentRecord| {
        it.assertion.get("type").and_then(Value::as_str) == Some(ANSWER) && it.error_code.is_none()
    };
    // Those of `defaultTest` come first; the question's own is the last.
    if let Some(component) = components.rev().find(is_answer) {
        settled.read(component);
    }
    let most = question.budget.tokens.unwrap_or(u64::MAX);
    if record.conclusion.is_graded() && settled.tokens_total > most {
        let used = settled.tokens_total;
        let message = format!("the question used {used} tokens of {most} (budget.max_tokens)");
        record.conclusion = Conclusion::failure(FailureCode::QuestionBudget, message);
    }
    settled.run_error = match record.conclusion.outcome() {
        Outcome::Failed if !record.conclusion.is_graded() => Some(RunFault::BudgetExceeded),
        Outcome::Passed | Outcome::Failed | Outcome::Waiting => None,
        Outcome::BudgetExceeded => Some(RunFault::BudgetExceeded),
        Outcome::Error | Outcome::Cancelled => Some(RunFault::RuntimeError),
    };
    settled.correct &= settled.run_error.is_none();
    record.question = Some(settled);
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    /// Every question passed.
    Pass,
    /// One or more did not.
    IncorrectAnswers,
    /// One or more used too much.
    BudgetExceeded,
    /// One or more could not be asked to the end, or have not been.
    RuntimeError,
}

impl TaskStatus {
    /// As tables and files say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::IncorrectAnswers => "fail/incorrect_answers",
            Self::BudgetExceeded => "fail/budget_exceeded",
            Self::RuntimeError => "error/runtime_error",
        }
    }
}

/// What the questions of one task in one column add up to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Task {
    /// The task's id, or the name of the file.
    pub task: Arc<str>,
    /// The column.
    pub prompt_idx: u32,
    /// How many cases the plan has.
    pub questions: u64,
    /// How many have ended.
    pub ended: u64,
    /// Those of which every assertion passed.
    pub passed: u64,
    /// Those with a correct answer within the budget.
    pub correct: u64,
    /// Those with an answer that could not be read.
    pub parse_errors: u64,
    /// Those that a budget stopped or failed.
    pub over_budget: u64,
    /// Those with any other error.
    pub runtime_errors: u64,
    /// Tokens of their calls.
    pub tokens: u64,
    /// Sum of their wall times, in milliseconds.
    pub wall_time_ms: u64,
}

impl Task {
    fn add(&mut self, record: &CaseRecord, question: &QuestionRecord) {
        self.tokens = self.tokens.saturating_add(question.tokens_total);
        self.wall_time_ms += question.wall_time_ms;
        if record.conclusion.outcome() == Outcome::Cancelled {
            return; // it has not ended
        }
        self.ended += 1;
        self.questions = self.questions.max(self.ended);
        self.passed += u64::from(record.conclusion.outcome() == Outcome::Passed);
        match question.end() {
            QuestionEnd::Correct => self.correct += 1,
            QuestionEnd::Incorrect => {}
            QuestionEnd::ParseError => self.parse_errors += 1,
            QuestionEnd::BudgetExceeded => self.over_budget += 1,
            QuestionEnd::RuntimeError => self.runtime_errors += 1,
        }
    }

    /// Questions that have not ended.
    pub fn unfinished(&self) -> u64 {
        self.questions - self.ended
    }

    /// How it stands: what could not be asked comes before what used too much, and both before
    /// what was answered wrong.
    pub fn status(&self) -> TaskStatus {
        if self.runtime_errors + self.unfinished() > 0 {
            TaskStatus::RuntimeError
        } else if self.over_budget > 0 {
            TaskStatus::BudgetExceeded
        } else if self.passed == self.questions {
            TaskStatus::Pass
        } else {
            TaskStatus::IncorrectAnswers
        }
    }

    /// Correct answers as a share of all questions, 0 to 1.
    pub(crate) fn accuracy(&self) -> f64 {
        match self.questions {
            0 => 0.0,
            questions => self.correct as f64 / questions as f64,
        }
    }

    /// For the results file.
    pub fn to_json(&self) -> Value {
        json!({
            "id": &*self.task,
            "type": "question_eval",
            "promptIdx": self.prompt_idx,
            "status": self.status().word(),
            "summary": {
                "questionsTotal": self.questions,
                "questionsCorrect": self.correct,
                "questionsIncorrect": self.questions - self.correct,
                "accuracy": self.accuracy(),
                "parseErrors": self.parse_errors,
                "budgetExceeded": self.over_budget,
                "runtimeErrors": self.runtime_errors,
                "unfinished": self.unfinished(),
                "tokensTotal": self.tokens,
                "wallTimeMs": self.wall_time_ms,
            },
        })
    }
}

/// The tasks of a run, in the order of its tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tasks(Vec<Task>);

impl Tasks {
    /// Those of a plan, none of whose questions has ended.
    pub fn planned(planned: &[PlannedTask]) -> Self {
        let task = |one: &PlannedTask| Task {
            task: one.task.clone(),
            prompt_idx: one.prompt_idx,
            questions: one.questions,
            ..Task::default()
        };
        Self(planned.iter().map(task).collect())
    }

    /// What the store keeps of a run's plan beside its rows, and reads again.
    pub fn kept(planned: &Value) -> Self {
        let task = |one: &Value| {
            Some(Task {
                task: one["task"].as_str()?.into(),
                prompt_idx: u32::try_from(one["promptIdx"].as_u64()?).ok()?,
                questions: one["questions"].as_u64()?,
                ..Task::default()
            })
        };
        let planned = planned.as_array().into_iter().flatten();
        Self(planned.filter_map(task).collect())
    }

    /// What [`Self::kept`] reads.
    pub(crate) fn to_keep(&self) -> Value {
        let task = |one: &Task| json!({ "task": &*one.task, "promptIdx": one.prompt_idx, "questions": one.questions });
        self.0.iter().map(task).collect()
    }

    /// Counts a case, if it asked a question.
    pub fn add(&mut self, record: &CaseRecord) {
        let Some(question) = &record.question else {
            return;
        };
        let is = |one: &Task| one.prompt_idx == record.prompt_idx && *one.task == *question.task;
        let known = self.0.iter().position(is).unwrap_or_else(|| {
            self.0.push(Task {
                task: question.task.as_str().into(),
                prompt_idx: record.prompt_idx,
                ..Task::default()
            });
            self.0.len() - 1
        });
        self.0[known].add(record, question);
    }

    /// All of them.
    pub fn in_order(&self) -> &[Task] {
        &self.0
    }

    /// Whether the run asked no questions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All together, for the results file.
    pub fn stats_json(&self) -> Value {
        let sum = |count: fn(&Task) -> u64| self.0.iter().map(count).fold(0, u64::saturating_add);
        let passed = self
            .0
            .iter()
            .filter(|one| one.status() == TaskStatus::Pass)
            .count();
        let share = |part: u64, of: u64| {
            if of == 0 {
                0.0
            } else {
                part as f64 / of as f64
            }
        };
        let (questions, correct) = (sum(|one| one.questions), sum(|one| one.correct));
        json!({
            "tasksTotal": self.0.len(),
            "passed": passed,
            "failed": self.0.len() - passed,
            "passRate": share(passed as u64, self.0.len() as u64),
            "questionsTotal": questions,
            "questionsCorrect": correct,
            "questionsIncorrect": questions - correct,
            "accuracy": share(correct, questions),
            "tokensTotal": sum(|one| one.tokens),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
