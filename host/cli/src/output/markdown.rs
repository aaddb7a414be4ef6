//! A summary for a pull request or for a job: sums, what got worse, the worst answers folded.
//!
//! What models and data say is hostile here, too: a name could mention people, link to an issue, or open a
//! tag. So none of it is Markdown. It stands in HTML, escaped, and within `code` or `pre`, in which
//! forges look for no mentions; blocks of HTML end at a blank line, which no text on one line has, or at
//! a tag, which no escaped text has.
//!
//! Comments of GitHub have at most 65,536 characters; what does not fit is left out, and that is said.

use std::fmt::Write as _;

use super::known::MARKDOWN_MARKS;
use super::{Run, entity};
use crate::figures;
use crate::listing::Side;
use crate::report;
use crate::thresholds;
use crate::visible;

mod people;
mod worst;

pub(crate) use worst::{Bad, worst};

/// Bytes of a summary: what a comment takes, and some room for words around it.
const MOST_BYTES: usize = 60_000;
/// Columns in the table.
const MOST_COLUMNS: usize = 30;
/// Metrics in the table of them.
const MOST_METRICS: usize = 20;
/// Thresholds that are told, those that are not held first.
const MOST_THRESHOLDS: usize = 20;
/// Answers that are shown.
const MOST_ANSWERS: usize = 5;
/// Characters of a name.
const NAME_CHARS: usize = 120;

/// What an earlier run says of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RegressionSummary {
    /// The earlier run.
    pub(crate) run_id: String,
    /// Cases that are in both runs.
    pub(crate) cases: u64,
    /// Those of them that passed before but not now.
    pub(crate) broke: u64,
    /// Those of them that are flaky.
    pub(crate) flaky: u64,
    /// Those that pass now.
    pub(crate) fixed: u64,
    /// Cases of one of the runs only, since the other repeated their tests less often.
    pub(crate) repeats_apart: u64,
    /// Cases of the earlier run whose tests or columns are not in the later one.
    pub(crate) gone: u64,
    /// By the number of a column, what its change may be, where it has one.
    pub(crate) significance: Vec<String>,
    /// The first that broke: what they are, and why.
    pub(crate) examples: Vec<(String, String)>,
}

/// Writes the summary.
///
/// # Errors
/// When records can't be read.
pub(crate) fn text(run: &Run<'_>) -> anyhow::Result<String> {
    let bad = worst(run, MOST_ANSWERS)?;
    let mut text = head(run);
    table(&mut text, run);
    add_if_room(&mut text, &metrics(run), "metrics");
    held(&mut text, run);
    if let Some(against) = run.against {
        compared(&mut text, against);
    }
    add_if_room(&mut text, &people::told(run)?, "what people said");
    answers(&mut text, &bad);
    let [_, last] = MARKDOWN_MARKS;
    let _ = writeln!(text, "\n{last}");
    Ok(text)
}

// Writing to a string can't fail, here and below.

fn head(run: &Run<'_>) -> String {
    let summary = run.summary;
    let [first, _] = MARKDOWN_MARKS;
    // The share stands in brackets.
    let counts = report::counts(summary);
    let (passed, others) = counts.split_once(')').unwrap_or((&counts, ""));
    let others = others.trim_start_matches([',', ';', ' ']);
    let mut text = format!("{first}\n### {passed})\n\n{others}\n");
    if let Some(cost) = report::cost_line(&summary.all) {
        let _ = writeln!(text, "\n{cost}");
    }
    let description = run.description().map(|text| format!("{} · ", code(text)));
    let description = description.unwrap_or_default();
    let _ = writeln!(text, "\n<p>{description}{}</p>", code(&summary.run_id));
    text
}

fn table(text: &mut String, run: &Run<'_>) {
    let (headings, mut rows) = report::sums(run.summary);
    let left_out = rows.len().saturating_sub(MOST_COLUMNS);
    if left_out > 0 {
        // The last row is that of all.
        rows.drain(MOST_COLUMNS - 1..rows.len() - 1);
    }
    text.push_str("\n<table>\n<tr>");
    for (heading, side) in &headings {
        let _ = write!(text, "<th{}>{heading}</th>", align(*side));
    }
    text.push_str("</tr>\n");
    for row in &rows {
        text.push_str("<tr>");
        for (cell, (_, side)) in row.iter().zip(&headings) {
            let cell = match side {
                Side::Left => code(cell),
                Side::Right => escaped(cell),
            };
            let _ = write!(text, "<td{}>{cell}</td>", align(*side));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
    if left_out > 0 {
        let columns = figures::counted(left_out as u64, "column is", "columns are");
        let _ = writeln!(text, "\n{columns} left out.");
    }
}

/// Adds a part that a comment may have no room for.
fn add_if_room(text: &mut String, part: &str, what: &str) {
    if text.len() + part.len() <= MOST_BYTES {
        text.push_str(part);
    } else {
        let _ = writeln!(text, "\nNo room for {what}.");
    }
}

/// The mean of each metric in each column, and what was worked out of them; nothing where there are none.
fn metrics(run: &Run<'_>) -> String {
    let columns = run.summary.columns.iter().take(MOST_COLUMNS);
    let columns: Vec<_> = columns.enumerate().collect();
    let (rows, count) = report::metrics::rows(&columns, MOST_METRICS);
    let mut text = String::new();
    if count == 0 {
        return text;
    }
    text.push_str("\n<table>\n<tr><th align=\"left\">metric</th>");
    for (idx, _) in columns {
        let _ = write!(text, "<th align=\"right\">({idx})</th>");
    }
    text.push_str("</tr>\n");
    for row in rows {
        let (name, values) = row.split_first().expect("a row has a name");
        let _ = write!(text, "<tr><td>{}</td>", code(name));
        for value in values {
            let _ = write!(text, "<td align=\"right\">{value}</td>");
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
    let more = count.saturating_sub(MOST_METRICS);
    if more > 0 {
        let more = figures::counted(more as u64, "metric is", "metrics are");
        let _ = writeln!(text, "\n{more} left out.");
    }
    text
}

fn align(side: Side) -> &'static str {
    match side {
        Side::Left => " align=\"left\"",
        Side::Right => " align=\"right\"",
    }
}

/// What was asked of the run.
fn held(text: &mut String, run: &Run<'_>) {
    let mut checks = thresholds::checks(run.summary);
    checks.sort_by_key(|check| check.holds);
    if checks.is_empty() {
        return;
    }
    text.push_str("\n#### Thresholds\n\n<ul>\n");
    for check in checks.iter().take(MOST_THRESHOLDS) {
        let holds = if check.holds {
            "held"
        } else {
            "<b>not held</b>"
        };
        let (wanted, found) = (code(&check.wanted), escaped(&check.found));
        let _ = writeln!(text, "<li>{holds}: {wanted}, and it is {found}</li>");
    }
    text.push_str("</ul>\n");
    let more = checks.len().saturating_sub(MOST_THRESHOLDS);
    if more > 0 {
        let more = figures::counted(more as u64, "threshold is", "thresholds are");
        let _ = writeln!(text, "\n{more} left out.");
    }
}

/// What got worse, and better.
fn compared(text: &mut String, against: &RegressionSummary) {
    let RegressionSummary {
        cases,
        broke,
        flaky,
        fixed,
        ..
    } = against;
    let run = code(&against.run_id);
    let cases = figures::counted(*cases, "case", "cases");
    let (broke, fixed) = (figures::count(*broke), figures::count(*fixed));
    let flaky = match flaky {
        0 => String::new(),
        flaky => format!(" ({} of them flaky)", figures::count(*flaky)),
    };
    let _ = writeln!(
        text,
        "\n#### Regressions\n\n<p>Of {cases} that are also in {run}, <b>{broke} passed before but not now</b>{flaky}; {fixed} pass now.</p>"
    );
    if against.gone > 0 {
        let gone = figures::counted(against.gone, "case", "cases");
        let verb = if against.gone == 1 { "is" } else { "are" };
        let _ = writeln!(
            text,
            "\n<p><b>{gone} of {run} {verb} not in this run.</b></p>"
        );
    }
    if against.repeats_apart > 0 {
        let apart = figures::counted(against.repeats_apart, "repeat is", "repeats are");
        let _ = writeln!(
            text,
            "\n<p>{apart} in one of the runs only, and not compared.</p>"
        );
    }
    if !against.significance.is_empty() {
        text.push_str("\n<ul>\n");
        for change in against.significance.iter().take(MOST_COLUMNS) {
            let _ = writeln!(text, "<li>Pass rate of {}</li>", escaped(change));
        }
        text.push_str("</ul>\n");
    }
    if against.examples.is_empty() {
        return;
    }
    text.push_str(
        "\n<table>\n<tr><th align=\"left\">passed before</th><th align=\"left\">now</th></tr>\n",
    );
    for (name, why) in &against.examples {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td></tr>",
            code(name),
            code(why)
        );
    }
    text.push_str("</table>\n");
}

fn answers(text: &mut String, bad: &[Bad]) {
    if bad.is_empty() {
        return;
    }
    text.push_str("\n#### The worst answers\n");
    for (shown, one) in bad.iter().enumerate() {
        let title = format!("{}, score {:.2}", one.title, one.score);
        let about = match &*one.about {
            "" => String::new(),
            about => format!(": {}", code(about)),
        };
        let body = escaped(&one.body);
        let fold = format!(
            "\n<details><summary>{title}{about}</summary>\n\n<pre>\n{body}</pre>\n\n</details>\n"
        );
        if text.len() + fold.len() > MOST_BYTES {
            let more = (bad.len() - shown) as u64;
            let more = figures::counted(more, "answer is", "answers are");
            let _ = writeln!(
                text,
                "\n{more} left out, since a comment has no room for more."
            );
            break;
        }
        text.push_str(&fold);
    }
}

/// A text on one line that is nothing but a text.
fn code(text: &str) -> String {
    let line = visible::line(text);
    format!("<code>{}</code>", escaped(&visible::cut(&line, NAME_CHARS)))
}

/// As the text of an element or an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '\'' => escaped.push_str("&#39;"),
            c => match entity(c) {
                Some(entity) => escaped.push_str(entity),
                None => escaped.push(c),
            },
        }
    }
    escaped
}
