//! Which cases have to wait for which others.
//!
//! Most cases know nothing of each other. Three things tie some together: `options.runSerially`
//! (the test's cases run alone, before all others), a prompt that reads `_conversation`, and a
//! test whose `storeOutputAs` leaves its output in a register that later ones read. The last
//! two are one thing, a [`CaseResource`]: a case waits for the earlier cases that leave something on a
//! strand it reads, and for no others. Whether a template reads a name is asked of its syntax
//! tree; only a script, which has none here, is searched for the word.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{Assertion, Column, Script, Test, Tests};
use crate::model::DataFile;
use crate::template::{Prepared, Template, is_plain, text_of};

/// The variable that holds a conversation's earlier turns.
pub const CONVERSATION: &str = "_conversation";

/// Assertion types whose value is a program, which reads variables without a template.
const SCRIPTS: [&str; 3] = ["javascript", "python", "ruby"];

/// Something that cases leave to later ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CaseResource {
    /// The turns of a conversation. Repeats and columns hold conversations of their own.
    Conversation {
        /// `prompt_idx` of its column.
        column: u32,
        /// `metadata.conversationId`.
        id: Option<Arc<str>>,
        /// Which repeat of its tests.
        repeat: u32,
        /// The data file whose rows hold it. Tests of the config don't see it, nor do rows of another
        /// file: a row could put words into it that no model said.
        of_data: Option<Arc<DataFile>>,
    },
    /// The variable that a test's `storeOutputAs` names, for all columns.
    Register(Arc<str>),
    /// A variable that rows of a data file store. Tests of the config don't see it, nor do rows of
    /// another file: it would take the place of what they set themselves.
    RowRegister(Arc<str>, Arc<DataFile>),
    /// The place of a task whose questions are asked one after the other. Nothing is left on it.
    Turn {
        /// The task.
        task: Arc<str>,
        /// `prompt_idx` of its column.
        column: u32,
    },
}

impl CaseResource {
    /// Whether what a case leaves there changes those after it.
    pub fn carries(&self) -> bool {
        match self {
            Self::Conversation { .. } | Self::Register(_) | Self::RowRegister(..) => true,
            Self::Turn { .. } => false,
        }
    }
}

/// What ties a case to others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Runs while nothing else does, before all cases that don't (`options.runSerially`).
    pub alone: bool,
    /// Waits for every earlier case that leaves something on one of these.
    pub reads: Vec<CaseResource>,
    /// Leaves its output on these.
    pub writes: Vec<CaseResource>,
}

/// What ties the cases of a plan together. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    /// By `prompt_idx`.
    columns: Vec<ColumnOrder>,
    /// Whose tests converse in every column, for the `prefix` or `suffix` of one of them: rows of a data file (`None`:
    /// the config) decide that for themselves alone.
    framed: BTreeSet<Option<Arc<DataFile>>>,
    /// By place among the tests.
    tests: Vec<TestOrder>,
    registers: BTreeSet<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ColumnOrder {
    converses: bool,
    reads: BTreeSet<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct TestOrder {
    alone: bool,
    conversation: Option<Arc<str>>,
    /// `options.disableConversationVar`.
    apart: bool,
    /// The data file of which it is a row.
    of_data: Option<Arc<DataFile>>,
    reads: BTreeSet<Arc<str>>,
    /// Registers that are variables of its own as well.
    sets: BTreeSet<Arc<str>>,
    writes: Option<Arc<str>>,
    /// The task whose questions are asked one after the other.
    turn: Option<Arc<str>>,
}

impl Order {
    /// `None` where no case has to wait for another.
    pub(crate) fn new(columns: &[Arc<Column>], tests: &Tests) -> Option<Self> {
        let register = |test: &Test| Some(test.options.get("storeOutputAs")?.as_str()?.into());
        let registers: BTreeSet<Arc<str>> = tests.models().filter_map(register).collect();
        let framed = tests.models().filter(|test| converses_around(test));
        let framed: BTreeSet<_> = framed.map(|test| test.data.clone()).collect();
        let columns: Vec<ColumnOrder> = columns
            .iter()
            .map(|column| {
                let mut names = names(&column.prompt.prepared);
                names.extend(code_words(column.prompt.code.as_deref()));
                ColumnOrder {
                    converses: names.contains(CONVERSATION),
                    reads: among(&registers, &names),
                }
            })
            .collect();
        let ties = !registers.is_empty()
            || !framed.is_empty()
            || columns.iter().any(|column| column.converses)
            || tests
                .models()
                .any(|test| runs_alone(test) || turn(test).is_some());
        ties.then(|| Self {
            columns,
            framed,
            tests: tests
                .iter()
                .map(|test| TestOrder::new(&test, &registers))
                .collect(),
            registers,
        })
    }

    /// What ties the case of this test, repeat and column to others.
    pub(crate) fn needs(&self, test: usize, repeat: u32, prompt_idx: u32) -> Needs {
        let (test, column) = (&self.tests[test], &self.columns[prompt_idx as usize]);
        let read = || test.reads.union(&column.reads).cloned();
        let mut reads: Vec<CaseResource> = read().map(CaseResource::Register).collect();
        let of_row = |file: &Arc<DataFile>| {
            let file = file.clone();
            move |name| CaseResource::RowRegister(name, file.clone())
        };
        let written = test.writes.iter().cloned();
        let mut writes: Vec<CaseResource> = match &test.of_data {
            Some(file) => {
                let missing = read().filter(|name| !test.sets.contains(name));
                reads.extend(missing.map(of_row(file)));
                written.map(of_row(file)).collect()
            }
            None => written.map(CaseResource::Register).collect(),
        };
        let converses = column.converses || self.framed.contains(&test.of_data);
        if converses && !test.apart {
            let turns = CaseResource::Conversation {
                column: prompt_idx,
                id: test.conversation.clone(),
                of_data: test.of_data.clone(),
                repeat,
            };
            reads.push(turns.clone());
            writes.push(turns);
        }
        if let Some(task) = test.turn.clone() {
            let column = prompt_idx;
            let turn = CaseResource::Turn { task, column };
            reads.push(turn.clone());
            writes.push(turn);
        }
        Needs {
            alone: test.alone,
            reads,
            writes,
        }
    }

    /// Whether the cases of this test run alone.
    pub(crate) fn is_alone(&self, test: usize) -> bool {
        self.tests[test].alone
    }
}

impl TestOrder {
    fn new(test: &Test, registers: &BTreeSet<Arc<str>>) -> Self {
        let option = |key: &str| test.options.get(key);
        let mut read = BTreeSet::new();
        if !registers.is_empty() {
            test.vars
                .values()
                .for_each(|value| leaves(value, &mut read));
            leaves(&test.json, &mut read);
            let checks = test.assertions();
            let scripts = [&test.transform, &test.transform_vars, &test.scoring];
            for script in scripts {
                read.extend(code_words(script.as_deref()));
            }
            for assertion in checks {
                let Assertion {
                    script,
                    transform,
                    context_transform,
                    ..
                } = assertion;
                for script in [script, transform, context_transform] {
                    read.extend(code_words(script.as_deref()));
                }
                match &assertion.value {
                    Some(Value::String(code)) if SCRIPTS.contains(&&*assertion.kind) => {
                        read.extend(words(code).map(str::to_owned));
                    }
                    // What a file holds stands in the value alone.
                    Some(value) => leaves(value, &mut read),
                    None => {}
                }
            }
        }
        Self {
            alone: runs_alone(test),
            conversation: test
                .metadata
                .get("conversationId")
                .map(|id| text_of(id).into()),
            apart: is_on(test, "disableConversationVar"),
            of_data: test.data.clone(),
            reads: among(registers, &read),
            sets: set(test, registers),
            writes: option("storeOutputAs")
                .and_then(Value::as_str)
                .map(Arc::from),
            turn: turn(test).cloned(),
        }
    }
}

/// The registers that are variables of a test. Either may be many: rows may each have a register, and a
/// default many variables for each row.
fn set(test: &Test, registers: &BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
    if registers.len() < test.vars.len() {
        let is_set = |name: &&Arc<str>| test.vars.contains_key(&***name);
        return registers.iter().filter(is_set).cloned().collect();
    }
    let names = test.vars.keys();
    names
        .filter_map(|name| registers.get(&**name).cloned())
        .collect()
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        let alone = self.tests.iter().filter(|test| test.alone).count();
        if alone > 0 {
            parts.push(format!(
                "{} run first and alone (runSerially)",
                count(alone, "test")
            ));
        }
        let converses = |column: &&ColumnOrder| column.converses || !self.framed.is_empty();
        let converse = self.columns.iter().filter(converses).count();
        if converse > 0 {
            let ids: BTreeSet<_> = self.tests.iter().map(|test| &test.conversation).collect();
            parts.push(format!(
                "in {} a prompt reads _conversation: {} in each column, turn by turn",
                count(converse, "column"),
                count(ids.len(), "conversation")
            ));
        }
        if !self.registers.is_empty() {
            let names: Vec<&str> = self.registers.iter().map(|name| &**name).collect();
            parts.push(format!(
                "tests that read {} wait for those that set it (storeOutputAs)",
                names.join(", ")
            ));
        }
        let turns: BTreeSet<_> = self
            .tests
            .iter()
            .filter_map(|it| it.turn.as_ref())
            .collect();
        if !turns.is_empty() {
            let names: Vec<&str> = turns.iter().map(|name| &***name).collect();
            parts.push(format!(
                "questions of {} one after the other (concurrency: 1)",
                names.join(", ")
            ));
        }
        write!(
            f,
            "in order: {}; everything else runs in parallel",
            parts.join("; ")
        )
    }
}

fn is_on(test: &Test, option: &str) -> bool {
    test.options.get(option) == Some(&Value::Bool(true))
}

fn runs_alone(test: &Test) -> bool {
    is_on(test, "runSerially")
}

/// The task of a question that is asked after the one before it.
fn turn(test: &Test) -> Option<&Arc<str>> {
    let question = test.question.as_ref().filter(|question| question.in_turn);
    question.map(|question| &question.task)
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Whether a test's `prefix` or `suffix`, which become part of every prompt, read the conversation.
fn converses_around(test: &Test) -> bool {
    ["prefix", "suffix"].iter().any(|key| {
        let frame = test.options.get(*key).and_then(Value::as_str);
        frame.is_some_and(|frame| template_names(frame).any(|name| name == CONVERSATION))
    })
}

fn among(registers: &BTreeSet<Arc<str>>, names: &BTreeSet<String>) -> BTreeSet<Arc<str>> {
    let register = |name: &String| registers.get(name.as_str()).cloned();
    names.iter().filter_map(register).collect()
}

fn names(prepared: &Prepared) -> BTreeSet<String> {
    let templates = prepared.templates();
    templates
        .iter()
        .flat_map(|template| template.names())
        .collect()
}

/// Adds the names that the texts inside `value` read as templates.
fn leaves(value: &Value, read: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => read.extend(template_names(text)),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, read)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, read)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The names that a text reads; none if it is no template.
pub(super) fn template_names(text: &str) -> impl Iterator<Item = String> {
    let template = (!is_plain(text)).then(|| Template::new(text, None).ok());
    let names: Vec<String> = template
        .flatten()
        .iter()
        .flat_map(Template::names)
        .collect();
    names.into_iter()
}

/// The words of a script, if there is one: code reads variables without a template.
fn code_words(script: Option<&Script>) -> impl Iterator<Item = String> {
    let sources = script.into_iter().flat_map(Script::sources);
    sources.flat_map(words).map(str::to_owned)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests;
