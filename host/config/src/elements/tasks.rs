//! `tasks`: question sets, each with a provider, a budget for every question, and how many of
//! them are asked at once.
//!
//! A task becomes a column of its own for each prompt, whose provider has the task's id for its
//! label, and the questions become tests of these columns. So there is nothing about tasks that
//! the rest of the program has to know but what they are called. `concurrency` is a declared limit
//! on requests in flight, which only this task's provider has; 1 is the plain loop, in which a
//! question begins when the one before it has ended.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::limits::Groups;
use super::options::MAX_CONCURRENCY;
use super::providers::{self, Listed};
use super::questions::{self, Manner};
use super::reading::{Document, Reading};
use super::test_case::{Draft, TestReader};
use crate::model::{Position, TextOrigin};
use crate::plan::{Column, DeclaredLimit, LimitCounts, Provider, QuestionBudget, Test, Tests};
use crate::read::entry::Entry;

pub(crate) const KNOWN: [&str; 6] = [
    "id",
    "type",
    "provider",
    "questions_file",
    "budget",
    "concurrency",
];

pub(crate) const KNOWN_OF_BUDGET: [&str; 3] = ["max_tokens", "max_seconds", "max_steps"];

/// The only type.
pub(crate) const TYPE: &str = "question_eval";

/// The longest time of a question, in seconds: a day.
const MOST_SECONDS: u64 = 86_400;

/// The most of anything else: whole numbers that a JSON reader keeps.
const MOST: u64 = 1 << 53;

/// A task as written.
pub(crate) struct Task {
    provider: Arc<Provider>,
    /// Which of the configs it stands in.
    config: usize,
    file: PathBuf,
    /// Where the file is named.
    file_at: Position,
    manner: Manner,
}

/// Reads the key of every config.
pub(crate) fn read(documents: &[Document<'_>], groups: &Groups, listed: &[Listed]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    let (mut ids, mut any) = (HashSet::new(), false);
    let mut by_name = HashMap::new();
    for Listed { provider, .. } in listed {
        for name in provider.names() {
            by_name.entry(name).or_insert(provider);
        }
    }
    for (config, document) in documents.iter().enumerate() {
        let Some(entry) = document.root.get("tasks") else {
            continue;
        };
        any = true;
        let reader = TaskReader {
            reading: document.reading,
            groups,
            listed,
            by_name: &by_name,
            config,
        };
        for item in entry.want_items(document.reading.findings, "a list of tasks") {
            tasks.extend(reader.task(&item, &mut ids));
        }
    }
    let findings = documents[0].reading.findings;
    let at = documents.iter().find_map(|one| one.root.get("tasks"));
    if let Some(entry) = at.filter(|_| any && tasks.is_empty() && findings.is_clean()) {
        findings.error(entry.at(), "there are no tasks in the list");
    }
    tasks
}

/// The providers that make the columns of the tasks.
pub(crate) fn listed(tasks: &[Task]) -> Vec<Listed> {
    let listed = tasks.iter().map(|task| Listed {
        provider: task.provider.clone(),
        prompts: None,
        written: None,
    });
    listed.collect()
}

/// Adds the tests of all tasks, each in the columns of its own provider.
pub(crate) fn tests(
    tasks: &[Task],
    columns: &[Arc<Column>],
    readers: &[TestReader<'_>],
    default: &Draft,
    tests: &mut Tests,
) {
    let mut own: HashMap<*const Provider, Vec<u32>> = HashMap::new();
    for column in columns {
        let provider = Arc::as_ptr(&column.provider);
        own.entry(provider).or_default().push(column.prompt_idx);
    }
    for task in tasks {
        let own = own.remove(&Arc::as_ptr(&task.provider));
        let own: Arc<[u32]> = own.unwrap_or_default().into();
        let reader = &readers[task.config];
        if reader.reading.findings.has_stopped() {
            return;
        }
        let named = (&task.file_at, &TextOrigin::Config);
        questions::of_file(&task.file, named, &task.manner, reader, default, |test| {
            let columns = Some(own.clone());
            reader.keep(Test { columns, ..test }, tests);
        });
    }
}

/// Keeps tests that name no columns out of those of the tasks, which begin at `from`.
pub(crate) fn confine(tests: &mut Tests, from: usize, tasks: &[Task]) {
    if tasks.is_empty() {
        return;
    }
    let all: Arc<[u32]> = (0..from as u32).collect();
    tests.retain_mut(|test| {
        test.columns.get_or_insert_with(|| all.clone());
        true
    });
}

struct TaskReader<'a> {
    reading: Reading<'a>,
    groups: &'a Groups,
    listed: &'a [Listed],
    /// The first of them that has a name.
    by_name: &'a HashMap<&'a str, &'a Arc<Provider>>,
    config: usize,
}

impl TaskReader<'_> {
    fn task(&self, entry: &Entry<'_>, ids: &mut HashSet<String>) -> Option<Task> {
        let findings = self.reading.findings;
        if !entry.is_map() {
            entry.mismatch(findings, "a map with `id`, `type`, `provider`, …");
            return None;
        }
        entry.report_unknown(findings, &KNOWN);
        let id = self.required(entry, "id").and_then(|id| {
            let text = id.want_text(findings)?;
            let is_taken = ids.contains(&text);
            if text.trim().is_empty() {
                findings.error(id.at(), "must not be empty");
            } else if is_taken {
                findings.error(id.at(), format!("there is a task '{text}' already"));
            }
            Some(text)
        });
        self.check_type(entry);
        let file = self.required(entry, "questions_file");
        let file = file.and_then(|file| {
            let named = file.want_text(findings)?;
            Some((self.reading.files.shown(&named), file.at()))
        });
        let budget = entry.get("budget").map(|budget| self.budget(&budget));
        let concurrency = entry.get("concurrency");
        let concurrency =
            concurrency.and_then(|count| count.want_count(findings, 1, MAX_CONCURRENCY));
        let provider = self.required(entry, "provider");
        let provider = provider.and_then(|provider| self.provider(&provider));
        let (id, (file, file_at), provider) = (id?, file?, provider?);
        ids.insert(id.clone());
        Some(Task {
            provider: Arc::new(with(&provider, &id, concurrency)),
            config: self.config,
            file,
            file_at,
            manner: Manner {
                task: id.into(),
                budget: budget.unwrap_or_default(),
                in_turn: concurrency == Some(1),
            },
        })
    }

    fn required<'a>(&self, entry: &Entry<'a>, key: &str) -> Option<Entry<'a>> {
        let found = entry.get(key);
        if found.is_none() {
            let help = "tasks: [{ id: capitals, type: question_eval, provider: openai:gpt-4o-mini, questions_file: capitals.yaml }]";
            let message = format!("a task needs `{key}`");
            self.reading.findings.error_help(entry.at(), message, help);
        }
        found
    }

    fn check_type(&self, entry: &Entry<'_>) {
        let Some(kind) = self.required(entry, "type") else {
            return;
        };
        let written = kind.want_text(self.reading.findings);
        if let Some(written) = written.filter(|written| written != TYPE) {
            let message = format!("there is no task type '{written}'");
            let help = format!("the only one is: {TYPE}");
            self.reading.findings.error_help(kind.at(), message, help);
        }
    }

    /// What a question may use; 0 is no limit, as published.
    fn budget(&self, entry: &Entry<'_>) -> QuestionBudget {
        let findings = self.reading.findings;
        if !entry.is_map() {
            entry.mismatch(
                findings,
                "a map with `max_tokens`, `max_seconds`, `max_steps`",
            );
        }
        entry.report_unknown(findings, &KNOWN_OF_BUDGET);
        let count = |key: &str, most: u64| {
            let count = entry.get(key)?.want_count(findings, 0, most)?;
            (count > 0).then_some(count)
        };
        // An answer is one step, so that no number of steps can be exceeded.
        count("max_steps", MOST);
        QuestionBudget {
            tokens: count("max_tokens", MOST),
            time: count("max_seconds", MOST_SECONDS).map(Duration::from_secs),
        }
    }

    /// One of the config's providers by its label or id, or one of the task's own.
    fn provider(&self, entry: &Entry<'_>) -> Option<Arc<Provider>> {
        let Some(name) = entry.text() else {
            return providers::single(entry, self.reading, self.groups);
        };
        if let Some(provider) = self.by_name.get(name) {
            return Some(Arc::clone(provider));
        }
        // A plain word that no plugin serves is rather a label with a typing mistake.
        let labels = self
            .listed
            .iter()
            .filter_map(|one| one.provider.label.as_deref());
        let findings = self.reading.findings;
        if self.reading.catalog.split_provider(name).is_none()
            && let Some(meant) = findings.did_you_mean(name, labels)
        {
            let message = format!("there is no provider '{name}'");
            let help = format!("did you mean '{meant}'?");
            findings.error_help(entry.at(), message, help);
            return None;
        }
        providers::single(entry, self.reading, self.groups)
    }
}

/// The provider of a task: named as the task, and with its concurrency.
fn with(provider: &Provider, id: &str, concurrency: Option<u64>) -> Provider {
    let mut own = provider.clone();
    own.label = Some(id.to_owned());
    own.limits.extend(concurrency.map(|capacity| {
        Arc::new(DeclaredLimit {
            // In quotes, which names of groups can have but nobody gives them.
            name: format!("task '{id}' concurrency"),
            counts: LimitCounts::Concurrency,
            capacity,
        })
    }));
    own
}

#[cfg(test)]
mod tests;
