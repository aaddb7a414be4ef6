//! What a plan knows of questions beside their tests: which task they are of, and what each may
//! use.
//!
//! A question is a test like any other, with variables, an assertion and a place among the
//! cases. What stands here is what a test can't say: which questions are counted together, and
//! limits that hold for each of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Plan, Test};

/// A question of a question set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The task's id, or the name of the file where no task names it.
    pub task: Arc<str>,
    /// Its place in the file, from 0.
    pub index: u32,
    /// Its `id`.
    pub id: Option<String>,
    /// The question.
    pub text: String,
    /// The choices.
    pub answers: Vec<String>,
    /// Those that are correct.
    pub correct_answers: Vec<String>,
    /// What it may use.
    pub budget: QuestionBudget,
    /// `concurrency: 1`: the task's questions are asked one after the other.
    pub in_turn: bool,
}

/// What one question may use; `None`: as much as it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuestionBudget {
    /// Tokens, in and out together.
    pub tokens: Option<u64>,
    /// Time that it works, without queues and pauses.
    pub time: Option<Duration>,
}

/// The questions of a task in one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTask {
    /// The task's id, or the name of the file.
    pub task: Arc<str>,
    /// The column.
    pub prompt_idx: u32,
    /// How many cases it has.
    pub questions: u64,
}

impl Plan {
    /// Every task in every column that it runs in, in the order of the tests.
    pub fn tasks(&self) -> Vec<PlannedTask> {
        let mut tasks: Vec<PlannedTask> = Vec::new();
        let mut places: HashMap<(&str, u32), usize> = HashMap::new();
        for test in self.tests.models() {
            let Some(question) = &test.question else {
                continue;
            };
            for prompt_idx in self.columns_of(test).iter().copied() {
                let place = places.entry((&*question.task, prompt_idx));
                let place = *place.or_insert(tasks.len());
                if place == tasks.len() {
                    tasks.push(PlannedTask {
                        task: question.task.clone(),
                        prompt_idx,
                        questions: 0,
                    });
                }
                tasks[place].questions += u64::from(test.repeat);
            }
        }
        tasks
    }

    fn columns_of(&self, test: &Test) -> Arc<[u32]> {
        let all = || (0..self.columns.len() as u32).collect();
        test.columns.clone().unwrap_or_else(all)
    }
}
