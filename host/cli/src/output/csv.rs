//! One line per test: variables, then per column the answer and how it was judged.
//!
//! The headings are those of promptfoo. Which variables and metrics exist is known only at the
//! last record, so the records are read twice: once for the headings and for how each line is
//! quoted, once for the lines, which are written cell by cell. Every line has a cell for every
//! variable, so that rows with names of their own would make a file that grows with their square:
//! variables beyond the first [`MAX_NAMES`] share one column, and metrics beyond as many stand in
//! `Named Scores` alone.
//!
//! A spreadsheet takes a cell for a formula that begins with `=` and its like, and a formula can
//! send the others away. Answers and reasons are a model's or a server's words, and variables may
//! hold earlier answers, so such a cell gets an apostrophe, which spreadsheets don't show. What is
//! not seen of a cell doesn't hide a formula, and what a terminal would obey is shown as there. Who
//! reads the file with a program asks for the texts as they are.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};

use anyhow::Context;
use indexmap::IndexSet;
use runner_eval::record::{CaseRecord, Outcome};
use serde_json::{Map, Value};

use super::{ColumnRecord, RecordTexts, Run};
use crate::findings::text_of;
use crate::visible;

/// Variables, and metrics of all columns together, that have columns of their own.
const MAX_NAMES: usize = 1_000;

/// The heading of the variables that have none.
const OTHER_VARS: &str = "Other variables";

/// The headings of what a person said beside the comment; only where somebody did.
const RATING: [&str; 3] = ["Thumb", "Human Score", "Label"];

/// Writes the lines; `raw`: every text as it is.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(super) fn write(out: &mut dyn Write, run: &Run<'_>, raw: bool) -> anyhow::Result<()> {
    let headings = Headings::read(run)?;
    let line = headings.line(run.columns);
    let mut file = CellWriter {
        quotes: quoting(&line),
        out,
        raw,
        is_begun: false,
    };
    file.cells(line)?;
    // Cells are written when they are read: all of a test may be more than fits.
    let mut open: Option<TestLine> = None;
    for record in records(run.records.open()?) {
        let record = record?;
        let test_idx = record.test_idx;
        if let Some(line) = open.take_if(|line| line.test_idx != test_idx) {
            headings.fill(line, &mut file)?;
        }
        if open.is_none() {
            file.next(headings.quoting(test_idx))?;
            file.cells(headings.inputs(&record))?;
        }
        let columns = 0;
        let line = open.get_or_insert(TestLine { test_idx, columns });
        headings.add(line, &record, &mut file)?;
    }
    if let Some(line) = open {
        headings.fill(line, &mut file)?;
    }
    Ok(file.out.write_all(b"\n")?)
}

/// The line of a test, as far as its records were read.
struct TestLine {
    test_idx: u32,
    /// Columns of the results that have their cells.
    columns: usize,
}

/// The file, written by some cells of a line at a time.
struct CellWriter<'a> {
    out: &'a mut dyn Write,
    /// Every text as it is.
    raw: bool,
    /// How the cells of this line are quoted.
    quotes: csv::QuoteStyle,
    /// Whether this line has cells.
    is_begun: bool,
}

impl CellWriter<'_> {
    /// Ends the line.
    fn next(&mut self, quotes: csv::QuoteStyle) -> anyhow::Result<()> {
        (self.quotes, self.is_begun) = (quotes, false);
        Ok(self.out.write_all(b"\n")?)
    }

    /// Adds cells to the line.
    fn cells(&mut self, cells: Vec<String>) -> anyhow::Result<()> {
        if cells.is_empty() {
            return Ok(());
        }
        if std::mem::replace(&mut self.is_begun, true) {
            self.out.write_all(b",")?;
        }
        // A line of one empty cell is written with quotes, since it were none; this is part of one.
        let is_nothing = matches!(&*cells, [cell] if cell.is_empty());
        if is_nothing && matches!(self.quotes, csv::QuoteStyle::Necessary) {
            return Ok(());
        }
        let out = WithoutEnd {
            out: &mut *self.out,
            holds_end: false,
        };
        let mut builder = csv::WriterBuilder::new();
        let mut line = builder.quote_style(self.quotes).from_writer(out);
        for mut cell in cells {
            if !self.raw {
                defuse(&mut cell);
            }
            line.write_field(cell)?;
        }
        // Only then the last cell has its closing quote.
        line.write_record(None::<&[u8]>)?;
        Ok(line.flush()?)
    }
}

/// Passes on what is written but for the end of the line, which is the last byte.
struct WithoutEnd<'a> {
    out: &'a mut dyn Write,
    /// Whether what was written so far ends so.
    holds_end: bool,
}

impl Write for WithoutEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some((last, before)) = bytes.split_last() else {
            return Ok(0);
        };
        if std::mem::take(&mut self.holds_end) {
            self.out.write_all(b"\n")?;
        }
        self.holds_end = *last == b'\n';
        let passed = if self.holds_end { before } else { bytes };
        self.out.write_all(passed)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What ends a cell for some spreadsheets, too, unless the cell is quoted.
const SEPARATORS: [char; 3] = [';', '\t', '|'];

fn quoting(line: &[String]) -> csv::QuoteStyle {
    if line.iter().any(|cell| cell.contains(SEPARATORS)) {
        csv::QuoteStyle::Always
    } else {
        csv::QuoteStyle::Necessary
    }
}

fn records(texts: RecordTexts<'_>) -> impl Iterator<Item = anyhow::Result<CaseRecord>> {
    texts.map(|text| serde_json::from_str(&text?).context("a stored record is damaged"))
}

/// Columns of the file.
#[derive(Debug, Default)]
struct Headings {
    description: bool,
    vars: IndexSet<String>,
    /// Whether there are variables beside these.
    other_vars: bool,
    /// Metrics by column of the results.
    metrics: Vec<IndexSet<String>>,
    /// Whether a person said more of a case than a comment.
    rated: bool,
    /// Tests of whose line all cells are quoted.
    quoted: HashSet<u32>,
}

impl Headings {
    fn read(run: &Run<'_>) -> anyhow::Result<Self> {
        let mut headings = Self {
            metrics: vec![IndexSet::new(); run.columns.len()],
            ..Self::default()
        };
        let mut room = MAX_NAMES;
        for record in records(run.records.open()?) {
            let record = record?;
            headings.description |= record.description().is_some();
            headings.other_vars |= !add_names(&mut headings.vars, &record.vars, MAX_NAMES);
            if let Some(metrics) = headings.metrics.get_mut(record.prompt_idx as usize) {
                let before = metrics.len();
                add_names(metrics, &record.named_scores, before + room);
                room -= metrics.len() - before;
            }
            headings.rated |= rating(&record).iter().any(|cell| !cell.is_empty());
            let mut line = headings.inputs(&record);
            cells(&mut line, Some(&record), &IndexSet::new(), true);
            if matches!(quoting(&line), csv::QuoteStyle::Always) {
                headings.quoted.insert(record.test_idx);
            }
        }
        Ok(headings)
    }

    fn line(&self, columns: &[ColumnRecord]) -> Vec<String> {
        let mut line = Vec::new();
        if self.description {
            line.push("Description".to_owned());
        }
        line.extend(self.vars.iter().cloned());
        line.extend(self.other_vars.then(|| OTHER_VARS.to_owned()));
        for (column, metrics) in columns.iter().zip(&self.metrics) {
            line.push(format!("[{}] {}", column.provider, column.label));
            line.extend(["Status", "Score", "Named Scores"].map(str::to_owned));
            line.extend(metrics.iter().map(|metric| format!("Metric: {metric}")));
            let rating = RATING.iter().filter(|_| self.rated);
            let last = rating.chain(&["Grader Reason", "Comment"]);
            line.extend(last.map(ToString::to_string));
        }
        line
    }

    /// How the line of a test is quoted.
    fn quoting(&self, test_idx: u32) -> csv::QuoteStyle {
        if self.quoted.contains(&test_idx) {
            csv::QuoteStyle::Always
        } else {
            csv::QuoteStyle::Necessary
        }
    }

    /// The cells before the columns of the results.
    fn inputs(&self, record: &CaseRecord) -> Vec<String> {
        let mut cells = Vec::new();
        if self.description {
            cells.push(record.description().unwrap_or_default().to_owned());
        }
        cells.extend(self.vars.iter().map(|name| text_in(&record.vars, name)));
        if self.other_vars {
            cells.push(self.others(&record.vars));
        }
        cells
    }

    /// Adds the cells of a record; records and columns are in the same order.
    fn add(
        &self,
        line: &mut TestLine,
        record: &CaseRecord,
        file: &mut CellWriter<'_>,
    ) -> anyhow::Result<()> {
        let idx = record.prompt_idx as usize;
        self.pad(line, idx, file)?;
        if let Some(metrics) = self.metrics.get(idx).filter(|_| idx == line.columns) {
            let mut of_column = Vec::new();
            cells(&mut of_column, Some(record), metrics, self.rated);
            file.cells(of_column)?;
            line.columns += 1;
        }
        Ok(())
    }

    /// Adds the cells of columns before this one that were not run.
    fn pad(
        &self,
        line: &mut TestLine,
        before: usize,
        file: &mut CellWriter<'_>,
    ) -> anyhow::Result<()> {
        for metrics in self.metrics.iter().take(before).skip(line.columns) {
            let mut of_column = Vec::new();
            cells(&mut of_column, None, metrics, self.rated);
            file.cells(of_column)?;
            line.columns += 1;
        }
        Ok(())
    }

    /// Adds the cells of the columns that are left.
    fn fill(&self, mut line: TestLine, file: &mut CellWriter<'_>) -> anyhow::Result<()> {
        self.pad(&mut line, self.metrics.len(), file)
    }

    /// The variables that have no column, as JSON.
    fn others(&self, vars: &Map<String, Value>) -> String {
        let others = vars.iter().filter(|(name, _)| !self.vars.contains(*name));
        let others: Map<String, Value> = others.map(|(k, v)| (k.clone(), v.clone())).collect();
        if others.is_empty() {
            return String::new();
        }
        Value::Object(others).to_string()
    }
}

/// Writes a cell that is seen as it is: an apostrophe stands before what a spreadsheet takes for a formula
/// (a number is none), and in place of what a terminal would obey what shows it.
///
/// A spreadsheet whose separator is another begins cells elsewhere, and takes quotes in them for
/// text, or for the beginning of an empty one: so the same holds behind everything that may be one,
/// quotes or not, and behind the end of a line.
fn defuse(cell: &mut String) {
    if let Cow::Owned(shown) = visible::cell(cell) {
        *cell = shown;
    }
    let parts = cell.split_inclusive([';', '\t', '|', '\n']);
    let is_formula = |part: &&str| {
        let part = part.trim_end_matches([';', '\t', '|', '\n']);
        let seen = part
            .trim_start_matches(|c| c == '"' || visible::is_unseen(c) || visible::is_stand_in(c));
        seen.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) && !is_number(part)
    };
    // An item of a list in an answer is no formula, unless the cell begins with it.
    let is_item = |part: &str| part.starts_with("- ") || part.starts_with("+ ");
    let starts_blank = cell.starts_with(['\t', '\n']);
    let mut defused = String::with_capacity(cell.len() + 1);
    let mut after = None;
    for part in parts {
        let in_list = after == Some('\n') && is_item(part);
        if (after.is_none() && starts_blank) || (is_formula(&part) && !in_list) {
            defused.push('\'');
        }
        defused.push_str(part);
        after = part.chars().next_back();
    }
    *cell = defused;
}

fn is_number(cell: &str) -> bool {
    let figures = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    cell.chars().all(figures) && cell.parse::<f64>().is_ok()
}

/// Writes the cells of one case; empty ones where it was not run.
fn cells(
    line: &mut Vec<String>,
    record: Option<&CaseRecord>,
    metrics: &IndexSet<String>,
    rated: bool,
) {
    let Some(record) = record else {
        let rating = if rated { RATING.len() } else { 0 };
        line.extend(vec![String::new(); 6 + rating + metrics.len()]);
        return;
    };
    let output = record
        .response
        .as_ref()
        .map(|response| text_of(&response.output));
    let conclusion = &record.conclusion;
    line.push(output.unwrap_or_else(|| conclusion.error().unwrap_or_default().to_owned()));
    line.push(status(conclusion.outcome()).to_owned());
    line.push(format!("{:.2}", conclusion.score()));
    line.push(if record.named_scores.is_empty() {
        String::new()
    } else {
        Value::Object(record.named_scores.clone()).to_string()
    });
    line.extend(
        metrics
            .iter()
            .map(|metric| text_in(&record.named_scores, metric)),
    );
    line.extend(rating(record).into_iter().filter(|_| rated));
    let grading = record.grading_result.as_ref();
    let reason = conclusion.error().or(grading.map(|it| &*it.reason));
    line.push(reason.unwrap_or_default().to_owned());
    // What a person said in the viewer; a fresh run has none.
    let comment = record.annotation.as_ref().and_then(|it| it.comment.clone());
    line.push(comment.unwrap_or_default());
}

/// What a person said of a case beside the comment; empty cells where nothing was said.
fn rating(record: &CaseRecord) -> [String; 3] {
    let said = record.annotation.clone().unwrap_or_default();
    let thumb = said
        .thumb
        .map(|up| if up { "up" } else { "down" }.to_owned());
    let score = said.score.map(|score| score.to_string());
    [thumb, score, said.label].map(Option::unwrap_or_default)
}

/// promptfoo knows three: a spent budget is an error there, and so is what was stopped; what waits for a person has
/// not passed.
fn status(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "PASS",
        Outcome::Failed | Outcome::Waiting => "FAIL",
        Outcome::Error | Outcome::BudgetExceeded | Outcome::Cancelled => "ERROR",
    }
}

fn text_in(map: &Map<String, Value>, name: &str) -> String {
    map.get(name).map(text_of).unwrap_or_default()
}

/// Adds names until there are `most`; whether all found room.
fn add_names(names: &mut IndexSet<String>, map: &Map<String, Value>, most: usize) -> bool {
    map.keys()
        .all(|name| names.contains(name) || names.len() < most && names.insert(name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_parts_is_the_line() -> anyhow::Result<()> {
        let long = "x\n".repeat(10_000);
        let cells = [
            "", "a", "b\n", "\"", "c,d", &long, "e\"\n", "", "-", "f\n\n",
        ];
        let cells = cells.map(str::to_owned);
        for quotes in [csv::QuoteStyle::Necessary, csv::QuoteStyle::Always] {
            let mut whole = csv::WriterBuilder::new()
                .quote_style(quotes)
                .from_writer(Vec::new());
            whole.write_record(&cells)?;
            let whole = String::from_utf8(whole.into_inner()?)?;
            for size in 1..=cells.len() {
                let mut out = Vec::new();
                let mut parts = CellWriter {
                    out: &mut out,
                    raw: true,
                    quotes,
                    is_begun: false,
                };
                for part in cells.chunks(size) {
                    parts.cells(part.to_vec())?;
                }
                parts.next(quotes)?;
                assert_eq!(String::from_utf8(out)?, whole, "{size}");
            }
        }
        Ok(())
    }

    #[test]
    fn what_a_spreadsheet_takes_for_a_formula_is_text() {
        let cases = [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t'=1"),
            ("\r=1", "'␍=1"),
            ("\r\n=1", "'\n'=1"),
            ("\u{1b}=cmd()", "'␛=cmd()"),
            ("\u{202e}=cmd()", "'\u{fffd}=cmd()"),
            ("\u{200b}\u{feff} =cmd()", "'\u{200b}\u{feff} =cmd()"),
            ("\u{a0}@SUM(1)", "'\u{a0}@SUM(1)"),
            (" -5", "' -5"),
            ("\u{1b}[2Jx\u{9b}y\u{7f}", "␛[2Jx\u{fffd}y␡"),
            ("a\tb\nc", "a\tb\nc"),
            ("\n=1", "'\n'=1"),
            ("－1", "'－1"),
            ("- a list", "'- a list"),
            ("-5", "-5"),
            ("+1.5e-3", "+1.5e-3"),
            ("-inf", "'-inf"),
            ("", ""),
            ("a=1", "a=1"),
            ("a;=1+1;b", "a;'=1+1;b"),
            ("a; @SUM(1)\t+1+cmd|-x", "a;' @SUM(1)\t'+1+cmd|'-x"),
            ("a;-5;b", "a;-5;b"),
            ("a;\"=1+1;b", "a;'\"=1+1;b"),
            ("\"=1+1\"", "'\"=1+1\""),
            ("a\n=1", "a\n'=1"),
            ("a\n- b\n-c", "a\n- b\n'-c"),
            ("'=1", "'=1"),
            ("\u{1d173}=1", "'\u{1d173}=1"),
            ("\u{e0fff}=1", "'\u{e0fff}=1"),
            ("\u{fff0}=1", "'\u{fff0}=1"),
        ];
        for (text, written) in cases {
            let mut cell = text.to_owned();
            defuse(&mut cell);
            assert_eq!(cell, written);
        }
    }

    #[test]
    fn what_other_spreadsheets_take_for_a_separator_is_quoted() {
        let line = |cell: &str| [cell.to_owned(), "b".to_owned()];
        for cell in ["a;=1+1", "a\t=1+1", "a|=1+1"] {
            assert!(matches!(quoting(&line(cell)), csv::QuoteStyle::Always));
        }
        assert!(matches!(quoting(&line("a")), csv::QuoteStyle::Necessary));
    }
}
