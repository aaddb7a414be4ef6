//! The answers that did worst, as far as a summary shows them.

use std::cmp::Ordering;
use std::fmt::Write as _;

use runner_eval::record::{CaseRecord, Outcome};

use crate::detail;
use crate::findings::{about, reasons, text_of};
use crate::output::Run;
use crate::visible;

/// Characters of an answer.
const ANSWER_CHARS: usize = 1_200;
/// Characters of a variable.
const VALUE_CHARS: usize = 200;
/// Variables of a case.
const MOST_VARS: usize = 10;
/// Other columns that are named.
const MOST_COLUMNS: usize = 8;

/// The case of a test that did worst. Its texts are cut and safe to show.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bad {
    /// Its place and how it ended, and which other columns did not pass: `test 3, column 1: FAIL (also column 0)`.
    pub(crate) title: String,
    pub(crate) score: f64,
    /// What it is, on one line.
    pub(crate) about: String,
    /// Variables, answer and reasons, in lines.
    pub(crate) body: String,
    /// Why it did not pass, on one line.
    pub(crate) why: String,
    /// What it is compared by.
    rank: Rank,
}

/// Answers before errors, the lowest score first, and in the order of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rank {
    is_error: bool,
    score: f64,
    place: (u32, u32),
}

impl Rank {
    fn of(record: &CaseRecord) -> Self {
        Self {
            is_error: record.conclusion.outcome() != Outcome::Failed,
            score: record.conclusion.score(),
            place: (record.test_idx, record.prompt_idx),
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        let by_kind = self.is_error.cmp(&other.is_error);
        by_kind
            .then(self.score.total_cmp(&other.score))
            .then(self.place.cmp(&other.place))
    }
}

/// The worst of a run, `most` at most, the worst first: one of each test, so that a test at which every column
/// fails hides no other.
///
/// # Errors
/// When records can't be read.
pub(crate) fn worst(run: &Run<'_>, most: usize) -> anyhow::Result<Vec<Bad>> {
    let mut worst = Worst {
        most,
        found: Vec::new(),
    };
    let mut test: Option<BadTest> = None;
    for record in run.cases()? {
        let record = record?;
        if matches!(
            record.conclusion.outcome(),
            Outcome::Passed | Outcome::Cancelled | Outcome::Waiting
        ) {
            continue;
        }
        let rank = Rank::of(&record);
        if let Some(before) = test.take_if(|test| test.record.test_idx != record.test_idx) {
            worst.add(&before);
        }
        match &mut test {
            Some(test) => test.add(record, rank),
            None => {
                test = Some(BadTest {
                    columns: vec![record.prompt_idx],
                    record,
                    rank,
                });
            }
        }
    }
    if let Some(last) = test {
        worst.add(&last);
    }
    Ok(worst.found)
}

/// Those that did worst so far.
struct Worst {
    most: usize,
    found: Vec<Bad>,
}

impl Worst {
    fn add(&mut self, test: &BadTest) {
        let rank = test.rank;
        let is_worse = |bad: &Bad| bad.rank.order(&rank) == Ordering::Less;
        let at = self.found.partition_point(is_worse);
        if at < self.most {
            self.found.truncate(self.most - 1);
            self.found.insert(at, bad(test));
        }
    }
}

/// A test that did not pass somewhere.
struct BadTest {
    /// The columns in which it did not.
    columns: Vec<u32>,
    /// The worst of its cases.
    record: CaseRecord,
    rank: Rank,
}

impl BadTest {
    fn add(&mut self, record: CaseRecord, rank: Rank) {
        self.columns.push(record.prompt_idx);
        if rank.order(&self.rank) == Ordering::Less {
            (self.record, self.rank) = (record, rank);
        }
    }

    /// The other columns, in words.
    fn others(&self) -> String {
        let others = self.columns.iter().filter(|it| **it != self.rank.place.1);
        let others: Vec<String> = others.map(ToString::to_string).collect();
        let (shown, more) = others.split_at(others.len().min(MOST_COLUMNS));
        let columns = if others.len() == 1 {
            "column"
        } else {
            "columns"
        };
        let shown = shown.join(", ");
        match (others.len(), more.len()) {
            (0, _) => String::new(),
            (_, 0) => format!(" (also {columns} {shown})"),
            (_, more) => format!(" (also {columns} {shown} and {more} more)"),
        }
    }
}

fn bad(test: &BadTest) -> Bad {
    let BadTest { record, rank, .. } = test;
    let rank = *rank;
    let (row, column) = rank.place;
    let word = record.conclusion.outcome().word();
    let others = test.others();
    let reasons = reasons(record);
    let mut body = String::new();
    section(
        &mut body,
        "Variables",
        record.vars.iter().take(MOST_VARS).map(|(name, value)| {
            let value = text_of(value);
            format!("{name} = {}", visible::cut(&value, VALUE_CHARS))
        }),
    );
    let answer = record.response.iter();
    section(
        &mut body,
        "Answer",
        answer.map(|response| visible::cut(&text_of(&response.output), ANSWER_CHARS).into_owned()),
    );
    section(&mut body, "Why", reasons.iter().cloned());
    let said = record.annotation.iter().map(detail::said);
    section(&mut body, "A person said", said);
    Bad {
        title: format!("test {row}, column {column}: {word}{others}"),
        score: rank.score,
        about: visible::line(&about(record)).into_owned(),
        body,
        why: visible::line(&reasons.join("; ")).into_owned(),
        rank,
    }
}

/// A title with texts below it, indented; nothing where there are none.
fn section(body: &mut String, title: &str, texts: impl Iterator<Item = String>) {
    let mut texts = texts.peekable();
    if texts.peek().is_none() {
        return;
    }
    // Writing to a string can't fail.
    let _ = writeln!(body, "{title}:");
    for text in texts {
        for line in visible::block(text.trim_end()).lines() {
            let _ = writeln!(body, "  {line}");
        }
    }
}
