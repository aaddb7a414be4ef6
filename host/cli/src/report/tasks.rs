//! The tasks below the columns: how each stands, and its questions in figures.

use std::fmt::Write as _;

use runner_eval::question::{Task, Tasks};

use crate::figures;
use crate::listing::{self, Side};
use crate::visible;

/// Headings, the name's apart.
const HEADINGS: [(&str, Side); 8] = [
    ("task", Side::Left),
    ("status", Side::Left),
    ("accuracy", Side::Right),
    ("correct", Side::Right),
    ("questions", Side::Right),
    ("unreadable", Side::Right),
    ("over budget", Side::Right),
    ("errors", Side::Right),
];

/// Adds the tasks, if there are any.
pub(super) fn add(text: &mut String, tasks: &Tasks, width: u16) {
    if tasks.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = tasks.in_order().iter().map(row).collect();
    let _ = write!(text, "\n{}", listing::render(&HEADINGS, &rows, width));
}

fn row(task: &Task) -> Vec<String> {
    let count = figures::count;
    vec![
        format!("({}) {}", task.prompt_idx, visible::line(&task.task)),
        task.status().word().to_owned(),
        figures::percent(task.correct, task.questions),
        count(task.correct),
        count(task.questions),
        count(task.parse_errors),
        count(task.over_budget),
        count(task.runtime_errors + task.unfinished()),
    ]
}
