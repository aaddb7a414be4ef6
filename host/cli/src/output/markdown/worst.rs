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

/// A case that did not pass. Its texts are cut and safe to show.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bad {
    /// Its place and how it ended: `test 3, column 1: FAIL`.
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

/// The worst of a run, `most` at most, the worst first; of each test the worst column, since one fault of a test is
/// often that of all its columns.
///
/// # Errors
/// When records can't be read.
pub(crate) fn worst(run: &Run<'_>, most: usize) -> anyhow::Result<Vec<Bad>> {
    let mut worst: Vec<Bad> = Vec::new();
    for record in run.cases()? {
        let record = record?;
        if matches!(
            record.conclusion.outcome(),
            Outcome::Passed | Outcome::Cancelled
        ) {
            continue;
        }
        let rank = Rank::of(&record);
        if let Some(same) = worst
            .iter()
            .position(|bad| bad.rank.place.0 == rank.place.0)
        {
            if worst[same].rank.order(&rank) == Ordering::Less {
                continue;
            }
            worst.remove(same);
        }
        let at = worst.partition_point(|bad| bad.rank.order(&rank) == Ordering::Less);
        if at < most {
            worst.truncate(most - 1);
            worst.insert(at, bad(&record, rank));
        }
    }
    Ok(worst)
}

fn bad(record: &CaseRecord, rank: Rank) -> Bad {
    let (row, column) = rank.place;
    let word = record.conclusion.outcome().word();
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
        title: format!("test {row}, column {column}: {word}"),
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
