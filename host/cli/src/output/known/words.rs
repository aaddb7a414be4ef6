//! Reports in words: a title, the cases, the sums below them.
//!
//! What an answer says is indented in them, and what else they say begins in ways that are known. So
//! each line is looked at: a file that begins as a report and goes on as something else is none.

use std::fs::File;
use std::io;

use jiff::Timestamp;
use runner_eval::record::Outcome;

use super::lines::LineBeginnings;
use crate::output::instant;
use crate::output::txt::RULE;

/// What lines of a case begin with, below the first two, that are not indented.
const OF_CASES: [&str; 14] = [
    "Repeat ",
    "Description: ",
    "Question ",
    "Variables:",
    "Prompt:",
    "Reasoning:",
    "Answer:",
    "Answer (",
    "Error:",
    "Assertions:",
    "Assertions (",
    "A person said:",
    "Log:",
    "Produced by:",
];
/// What lines of the sums begin with.
const OF_SUMS: [&str; 14] = [
    "column  ",
    "all  ",
    "task  ",
    "Cost: ",
    "Budget of ",
    "Repeats: ",
    "Metrics of (",
    "Metrics, ",
    "Thresholds:",
    "Failed assertions:",
    "Errors:",
    "Interrupted: ",
    "Stopped by the time limit of the run: ",
    "Out of budget: ",
];
/// What stands behind the number that other lines of the sums begin with.
const COUNTED: [&str; 9] = [
    " of ",
    " case has ",
    " cases have ",
    " case waits ",
    " cases wait ",
    " request was ",
    " requests were ",
    " named score is ",
    " named scores are ",
];

/// Checks whether it is such a report, from beginning to end.
pub(super) fn is_report(file: &File) -> io::Result<bool> {
    let mut lines = LineBeginnings::of(file)?;
    if !lines.next()?.is_some_and(is_title) || lines.next()? != Some("") {
        return Ok(false);
    }
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            return are_sums(&mut lines);
        }
        if !is_case(line) || !lines.next()?.is_some_and(is_verdict) || !ends_as_case(&mut lines)? {
            return Ok(false);
        }
    }
    Ok(false)
}

/// `run-… · 2026-11-22T10:00:00.000Z`, and perhaps what the run is called.
fn is_title(line: &str) -> bool {
    let mut parts = line.split(" · ");
    let id = parts.next().unwrap_or_default();
    let is_instant = |text: &str| {
        let when = text.parse::<Timestamp>();
        when.is_ok_and(|when| instant(when.as_millisecond()) == text)
    };
    ["run-", "import-"].iter().any(|it| id.starts_with(it)) && parts.next().is_some_and(is_instant)
}

/// `Test 0, column 1: …`
fn is_case(line: &str) -> bool {
    let test = line.strip_prefix("Test ").and_then(after_digits);
    let column = test.and_then(|rest| after_digits(rest.strip_prefix(", column ")?));
    column.is_some_and(|rest| rest.starts_with(": "))
}

/// `PASS, score 1.00, …`
fn is_verdict(line: &str) -> bool {
    let word = line.split_once(", score ").map(|(word, _)| word);
    word.is_some_and(|word| Outcome::ALL.iter().any(|outcome| outcome.word() == word))
}

/// Checks whether the rest of a case is what it has, to the rule below it.
fn ends_as_case(lines: &mut LineBeginnings<'_>) -> io::Result<bool> {
    while let Some(line) = lines.next()? {
        if line == RULE {
            return Ok(true);
        }
        if !is_plain(line) && !OF_CASES.iter().any(|it| line.starts_with(it)) {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Checks whether the rest of the file is sums.
fn are_sums(lines: &mut LineBeginnings<'_>) -> io::Result<bool> {
    let mut is_counted = false;
    while let Some(line) = lines.next()? {
        let counted =
            after_count(line).filter(|rest| COUNTED.iter().any(|it| rest.starts_with(it)));
        let is_row = || {
            line.strip_prefix('(')
                .and_then(after_digits)?
                .strip_prefix(") ")
        };
        let is_known = is_plain(line)
            || counted.is_some()
            || line == "all"
            || OF_SUMS.iter().any(|it| line.starts_with(it))
            || is_row().is_some();
        if !is_known {
            return Ok(false);
        }
        is_counted |= counted.is_some_and(|rest| rest.contains(" passed ("));
    }
    Ok(is_counted)
}

/// Empty, or indented as texts are.
fn is_plain(line: &str) -> bool {
    line.is_empty() || line.starts_with("  ")
}

/// What follows digits, if there are any.
fn after_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

/// What follows a count, as `1,234`.
fn after_count(text: &str) -> Option<&str> {
    let mut rest = after_digits(text)?;
    while let Some(more) = rest.strip_prefix(',') {
        rest = after_digits(more)?;
    }
    Some(rest)
}
