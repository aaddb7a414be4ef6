//! What the table and the summary say about single cases, gathered while they end.
//!
//! Memory is bounded whatever the run's length: the first rows of the table, cut to what a
//! cell shows, and a limited number of distinct causes of failure with their counts. Sums are
//! not kept here: they are `runner-eval`'s (`Summary`, `Tally`). The same gathering serves a
//! live run (as a consumer of its events) and a stored one (record by record).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use runner_eval::event::{Consumer, Event};
use runner_eval::record::{CaseRecord, Outcome};
pub(crate) use runner_eval::text_of;
use runner_view::pairing;
use serde_json::Value;

mod causes;

pub(crate) use causes::{Cause, Causes};

use crate::figures;
use crate::visible;

/// Lines of one text in a cell; more would let one answer fill the screen.
const CELL_LINES: usize = 12;
/// Reasons of failure in a cell.
const CELL_REASONS: usize = 3;
/// Characters of one reason in a cell.
const REASON_CHARS: usize = 200;
/// Variables of one row: the table shows far fewer.
const ROW_VARS: usize = 50;
/// Characters of a case's name, and of a variable in it.
const NAME_CHARS: usize = 90;
const VALUE_CHARS: usize = 60;

/// What to keep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Rows of the table.
    pub(crate) rows: usize,
    /// Characters of an output or a variable.
    pub(crate) cell_chars: usize,
    /// Only rows in which some case did not pass; then cases have to come in index order.
    pub(crate) failing_only: bool,
}

/// What was gathered.
#[derive(Debug)]
pub(crate) struct Findings {
    limits: Limits,
    /// The first rows by index.
    rows: BTreeMap<u32, Row>,
    /// Cases that are not among `rows`.
    hidden_cases: u64,
    /// Those of them that did not pass.
    hidden_failing: u64,
    /// Assertions that failed.
    failures: Causes,
    /// Errors.
    errors: Causes,
}

/// One row of the table: a test with one set of variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// The test's description.
    pub(crate) description: Option<String>,
    /// Variables in the order of the config, safe to show.
    pub(crate) vars: Vec<(String, String)>,
    /// By column.
    pub(crate) cells: BTreeMap<u32, Cell>,
}

impl Row {
    fn failing(&self) -> impl Iterator<Item = &Cell> {
        self.cells
            .values()
            .filter(|cell| cell.outcome != Outcome::Passed)
    }

    fn is_failing(&self) -> bool {
        self.failing().next().is_some()
    }
}

/// One case in the table, all texts cut and safe to show.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// That in a word.
    pub(crate) word: &'static str,
    /// Its score.
    pub(crate) score: f64,
    /// What the provider answered.
    pub(crate) output: Option<String>,
    /// Why it did not pass.
    pub(crate) reasons: Vec<String>,
}

impl Findings {
    /// Nothing gathered yet.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            rows: BTreeMap::new(),
            hidden_cases: 0,
            hidden_failing: 0,
            failures: Causes::default(),
            errors: Causes::default(),
        }
    }

    /// Takes a finished case, in any order.
    pub(crate) fn add(&mut self, record: &CaseRecord) {
        match record.conclusion.outcome() {
            // One that was stopped has not ended; the summary counts it among those not run. One that waits
            // for a person has not failed.
            Outcome::Passed | Outcome::Cancelled | Outcome::Waiting => {}
            Outcome::Failed => self.failures.add_failure(record),
            Outcome::Error | Outcome::BudgetExceeded => self.errors.add_error(record),
        }
        let failing = record.conclusion.outcome() != Outcome::Passed;
        if self.limits.failing_only {
            self.drop_passed_row_before(record.test_idx);
        }
        if !self.makes_room(record.test_idx) {
            if failing || !self.limits.failing_only {
                self.hide(1, u64::from(failing));
            }
            return;
        }
        let limits = self.limits;
        let row = self.rows.entry(record.test_idx).or_insert_with(|| Row {
            description: record
                .test_case
                .get("description")
                .and_then(Value::as_str)
                .map(|text| shown(text, limits.cell_chars)),
            vars: record
                .vars
                .iter()
                .take(ROW_VARS)
                .map(|(name, value)| (shown(name, 60), shown(&text_of(value), limits.cell_chars)))
                .collect(),
            cells: BTreeMap::new(),
        });
        row.cells
            .insert(record.prompt_idx, cell(record, limits.cell_chars));
    }

    /// Drops the row before if all of it passed. Where only failing rows are wanted, cases come in
    /// index order: a row that is followed by another is complete, and goes if all of it passed.
    fn drop_passed_row_before(&mut self, test_idx: u32) {
        if let Some(last) = self.rows.last_entry()
            && *last.key() != test_idx
            && !last.get().is_failing()
        {
            last.remove();
        }
    }

    /// Says whether row `test_idx` is, or now becomes, one of the first; a later row may give way.
    fn makes_room(&mut self, test_idx: u32) -> bool {
        if self.rows.contains_key(&test_idx) || self.rows.len() < self.limits.rows {
            return true;
        }
        match self.rows.last_entry() {
            Some(last) if *last.key() > test_idx => {
                let row = last.remove();
                self.hide(row.cells.len() as u64, row.failing().count() as u64);
                true
            }
            _ => false,
        }
    }

    fn hide(&mut self, cases: u64, failing: u64) {
        self.hidden_cases += cases;
        self.hidden_failing += failing;
    }

    /// The first rows, by their index.
    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = (u32, &Row)> {
        let all = !self.limits.failing_only;
        self.rows
            .iter()
            .filter(move |(_, row)| all || row.is_failing())
            .map(|(test_idx, row)| (*test_idx, row))
    }

    /// Cases that are not in the rows, and how many of them did not pass.
    pub(crate) fn hidden(&self) -> (u64, u64) {
        (self.hidden_cases, self.hidden_failing)
    }

    /// Assertions that failed, most frequent first.
    pub(crate) fn failures(&self) -> &Causes {
        &self.failures
    }

    /// Errors, most frequent first.
    pub(crate) fn errors(&self) -> &Causes {
        &self.errors
    }
}

fn cell(record: &CaseRecord, chars: usize) -> Cell {
    let output = record
        .response
        .as_ref()
        .map(|response| shown(&text_of(&response.output), chars));
    Cell {
        outcome: record.conclusion.outcome(),
        word: record.conclusion.outcome().word(),
        score: record.conclusion.score(),
        output,
        reasons: reasons(record),
    }
}

/// Why a case did not pass, cut and safe to show.
pub(crate) fn reasons(record: &CaseRecord) -> Vec<String> {
    let mut reasons = match record.conclusion.outcome() {
        Outcome::Passed => Vec::new(),
        // A question that used too much, whatever it answered.
        Outcome::Failed if record.conclusion.code().is_some() => vec![error_line(record)],
        Outcome::Failed => failing_reasons(record),
        Outcome::Waiting | Outcome::Error | Outcome::BudgetExceeded | Outcome::Cancelled => {
            vec![error_line(record)]
        }
    };
    if reasons.len() > CELL_REASONS {
        let more = reasons.len() - CELL_REASONS;
        reasons.truncate(CELL_REASONS);
        reasons.push(format!("… and {more} more"));
    }
    reasons.extend(skipped(record));
    reasons
}

/// What a case is: its description, its variables, which repeat; nothing where it has none of them.
pub(crate) fn about(record: &CaseRecord) -> String {
    let description = pairing::given_description(&record.test_case);
    let mut parts: Vec<String> = description.map(str::to_owned).into_iter().collect();
    parts.extend(
        record
            .vars
            .iter()
            .map(|(name, value)| format!("{name}={}", visible::cut(&text_of(value), VALUE_CHARS))),
    );
    if record.repeat_index > 0 {
        parts.push(format!("repeat {}", record.repeat_index + 1));
    }
    visible::cut(&parts.join(", "), NAME_CHARS).into_owned()
}

/// How many assertions of the case were not graded since their `when` did not hold.
fn skipped(record: &CaseRecord) -> Option<String> {
    let grading = record.grading_result.as_ref()?;
    let components = grading.component_results.iter();
    let count = components.filter(|component| component.skipped).count() as u64;
    let counted = || figures::counted(count, "assertion skipped", "assertions skipped");
    (count > 0).then(counted)
}

/// Reasons of the components that failed; a set's own comes first, its members' after it.
fn failing_reasons(record: &CaseRecord) -> Vec<String> {
    let components = record
        .grading_result
        .iter()
        .flat_map(|grading| &grading.component_results);
    let mut reasons: Vec<String> = components
        .filter(|component| !component.pass && !component.skipped)
        .map(|component| shown(&component.reason, REASON_CHARS))
        .collect();
    reasons.dedup();
    if reasons.is_empty() {
        let error = record.conclusion.error();
        reasons.extend(error.map(|error| shown(error, REASON_CHARS)));
    }
    reasons
}

fn error_line(record: &CaseRecord) -> String {
    shown(&error_text(record), REASON_CHARS)
}

/// What went wrong, with its code.
pub(crate) fn error_text(record: &CaseRecord) -> String {
    let message = record.conclusion.error().unwrap_or("no message");
    match record.conclusion.code() {
        // The message of a plugin's fault holds its code already.
        Some(code) if !message.contains(&*code.word()) => format!("{code}: {message}"),
        _ => message.to_owned(),
    }
}

/// Cut, and safe to show.
fn shown(text: &str, chars: usize) -> String {
    // Cutting first bounds the work on an answer of megabytes.
    let cut = visible::cut(text.trim_end(), chars);
    let block = visible::block(&cut);
    visible::cut_lines(&block, CELL_LINES).into_owned()
}

/// Gathers from a live run; the findings stay with whoever holds the other handle.
#[derive(Debug, Clone)]
pub(crate) struct Gatherer(Arc<Mutex<Findings>>);

impl Gatherer {
    /// Starts with nothing.
    pub(crate) fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(Findings::new(limits))))
    }

    /// Looks at what was gathered so far.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Findings) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Consumer for Gatherer {
    fn on_event(&mut self, event: &Event) {
        if let Event::CaseFinished(record) | Event::CaseKept(record) = event {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(record);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
