//! A comparison in words and figures, for a terminal or a pipe.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::time::Duration;

use runner_eval::record::CaseRecord;
use runner_view::changes::{Change, Changes, MOST_CHANGES};
use serde_json::Value;

use super::cases::{CaseSummary, Kind};
use super::sums::PairTotals;
use super::{Compared, Comparison, Totals, words};
use crate::figures;
use crate::findings::{about, reasons, text_of};
use crate::listing::{self, Side};
use crate::stored::StoredRun;
use crate::visible;

/// Less than this the same answer takes more or less time from day to day, in milliseconds.
const LATENCY_MS: u64 = 100;

/// Lines of metrics.
const MOST_METRICS: usize = 40;
/// Characters of a name, a value, a reason.
const NAME_CHARS: usize = 90;
const VALUE_CHARS: usize = 60;
const REASON_CHARS: usize = 200;

/// The whole comparison, and what it comes to; `rows`: cases of each kind.
pub(super) fn text(
    comparison: &Comparison<'_>,
    rows: usize,
    width: u16,
) -> anyhow::Result<(String, Totals)> {
    let mut lines: Vec<(Kind, u64, Vec<String>)> =
        Kind::TOLD.map(|kind| (kind, 0, Vec::new())).into();
    let totals = comparison.walk(|case| {
        if let Some((_, count, told)) = lines.iter_mut().find(|(kind, ..)| *kind == case.kind) {
            let kind = case.kind;
            *count += 1;
            if told.len() < rows {
                let mut text = line(case);
                if matches!(
                    kind,
                    Kind::Broke | Kind::Fixed | Kind::Flaky | Kind::Otherwise
                ) {
                    text.push_str(&answers(comparison, case)?);
                }
                told.push(text);
            }
        }
        Ok(())
    })?;
    let mut text = heads(comparison);
    text.push_str("\nWhat changed:\n");
    text.push_str(&changes(&comparison.changes, &totals));
    text.push('\n');
    text.push_str(&columns(comparison, &totals, width));
    text.push_str(&metrics(comparison, &totals, width));
    text.push_str(&left_out(&totals));
    text.push_str(&repeats(&totals));
    text.push_str(&significance(&totals));
    text.push_str(&cases(
        &lines,
        totals.columns.iter().all(|it| it.cases == 0),
    ));
    text.push_str(&apart(comparison, &totals, rows)?);
    Ok((text, totals))
}

/// Which runs they are.
fn heads(comparison: &Comparison<'_>) -> String {
    let (before, after) = (comparison.before, comparison.after);
    let mut text = String::new();
    for (side, (word, run)) in [("before", before), ("after ", after)]
        .into_iter()
        .enumerate()
    {
        let description = run.info.description.as_deref().unwrap_or_default();
        let head = format!(
            "{word}  {}  {}",
            run.info.id,
            visible::cut(description, NAME_CHARS)
        );
        text.push_str(visible::line(&head).trim_end());
        text.push('\n');
        if let Some(chosen) = comparison.chosen {
            let name = column_name(run, chosen[side]);
            let _ = writeln!(
                text,
                "        {}",
                visible::line(&visible::cut(&name, NAME_CHARS))
            );
        }
    }
    text
}

fn column_name(run: &StoredRun, idx: usize) -> String {
    let column = &run.columns[idx];
    format!("({idx}) {} · {}", column.model(), column.label)
}

/// The cases that ended differently, by kind.
fn cases(lines: &[(Kind, u64, Vec<String>)], are_none: bool) -> String {
    if are_none {
        return "\nNo case is in both runs, so nothing was compared.\n".to_owned();
    }
    let mut text = String::new();
    for (kind, count, told) in lines.iter().filter(|(_, count, _)| *count > 0) {
        let _ = writeln!(text, "\n{} ({}):", title(*kind), figures::count(*count));
        for line in told {
            text.push_str(line);
        }
        let rest = count - told.len() as u64;
        if rest > 0 {
            let more = figures::count(rest);
            let _ = writeln!(text, "  … {more} more: --rows {count}, or --json");
        }
    }
    if lines.iter().all(|(_, count, _)| *count == 0) {
        text.push_str("\nNo case that is in both runs ended differently.\n");
    }
    text
}

/// What was answered before and after, as far as it is different; nothing where it is the same.
fn answers(comparison: &Comparison<'_>, case: &Compared<'_>) -> anyhow::Result<String> {
    let CaseSummary {
        test_idx,
        prompt_idx,
        ..
    } = *case.before;
    let mut found = comparison.before.cases(test_idx, Some(prompt_idx))?;
    let before = found.next().transpose()?;
    let told = |record: &CaseRecord| {
        let response = record.response.as_ref();
        response.map(|response| text_of(&response.output))
    };
    let (was, is) = (before.as_ref().and_then(told), told(case.record));
    if was == is {
        return Ok(String::new());
    }
    let none = || "–".to_owned();
    let [was, is] = match (was, is) {
        (Some(was), Some(is)) => words::beside(&was, &is),
        (was, is) => [was, is].map(|it| {
            let answer = it.map(|it| words::beside(&it, &it)[0].clone());
            answer.unwrap_or_else(none)
        }),
    };
    Ok(format!("    before  {was}\n    after   {is}\n"))
}

// Writing to a string can't fail, here and above.

fn changes(changes: &Changes<'_>, totals: &Totals) -> String {
    let mut text = String::new();
    for change in changes.told.iter().chain(&totals.edits) {
        let Change {
            of,
            name,
            before,
            after,
        } = change;
        let name = visible::cut(name, NAME_CHARS);
        // Of texts the words that changed, so that one in a long prompt is seen.
        if let (Value::String(was), Value::String(is)) = (&**before, &**after)
            && is_long(was, is)
        {
            let [was, is] = words::beside(was, is);
            let _ = writeln!(text, "  {}", visible::line(&format!("{of:9} {name}:")));
            let _ = writeln!(text, "    before  {was}\n    after   {is}");
            continue;
        }
        let line = format!("{of:9} {name}: {} → {}", value(before), value(after));
        let _ = writeln!(text, "  {}", visible::line(&line));
    }
    if changes.are_more {
        let told = figures::count(MOST_CHANGES as u64);
        let _ = writeln!(text, "  … and more; only the first {told} are shown");
    }
    let about = [
        ("prompt", "was rendered differently"),
        ("plugin", "came from another plugin or version"),
        ("grader", "has other assertions"),
        ("config", "has another provider config, option or file"),
    ];
    for (word, what) in about {
        let found = totals.causes.iter().find(|(cause, _)| *cause == word);
        if let Some((_, count @ 1..)) = found {
            let cases = figures::counted(*count, "case", "cases");
            let what = match count {
                1 => what.to_owned(),
                _ => what.replace("was ", "were ").replace("has ", "have "),
            };
            let _ = writeln!(text, "  {word:9} {cases} {what}");
        }
    }
    if text.is_empty() {
        text.push_str("  nothing: prompts, providers, plugins and graders are the same\n");
    }
    text
}

/// Whether two texts are compared word by word, and not shown whole.
fn is_long(was: &str, is: &str) -> bool {
    let is_long = |text: &str| text.contains(char::is_whitespace) || text.len() > VALUE_CHARS;
    is_long(was) && is_long(is)
}

/// A short form; a plugin by its version and the beginning of its digest.
fn value(value: &Value) -> String {
    if value.is_null() {
        return "–".to_owned();
    }
    if let (Some(version), Some(sha256)) = (value["version"].as_str(), value["sha256"].as_str()) {
        return format!("{version} (sha256 {})", visible::cut(sha256, 13));
    }
    visible::cut_middle(&text_of(value), VALUE_CHARS).into_owned()
}

fn columns(comparison: &Comparison<'_>, totals: &Totals, width: u16) -> String {
    let headings = [
        ("column", Side::Left),
        ("cases", Side::Right),
        ("passed", Side::Right),
        ("broke", Side::Right),
        ("fixed", Side::Right),
        ("mean score", Side::Right),
        ("mean latency", Side::Right),
        ("cost", Side::Right),
    ];
    let rows: Vec<Vec<String>> = totals
        .columns
        .iter()
        .enumerate()
        .filter(|(idx, _)| comparison.is_chosen(1, *idx))
        .map(|(idx, sums)| {
            let name = column_name(comparison.after, idx);
            let pair = |text: &dyn Fn(usize) -> String| format!("{} → {}", text(0), text(1));
            let latency = |side: usize| {
                let ms = sums.mean_ms(side).map(Duration::from_millis);
                ms.map_or_else(|| "–".to_owned(), figures::duration)
            };
            let cost = |side: usize| {
                let cost = sums.cost[side].map(figures::dollars);
                cost.unwrap_or_else(|| "–".to_owned())
            };
            let score = |side: usize| match sums.cases {
                0 => "–".to_owned(),
                cases => format!("{:.2}", sums.score[side] / cases as f64),
            };
            let passed = sums.passed();
            vec![
                visible::line(&name).into_owned(),
                figures::count(sums.cases),
                pair(&|side| figures::count(passed[side])),
                figures::count(sums.pairs.worse),
                figures::count(sums.pairs.better),
                pair(&score),
                pair(&latency),
                pair(&cost),
            ]
        })
        .collect();
    listing::render(&headings, &rows, width)
}

/// What each metric came to before and after; nothing where there are none.
fn metrics(comparison: &Comparison<'_>, totals: &Totals, width: u16) -> String {
    let columns = 0..totals.columns.len();
    let rows = columns.flat_map(|idx| {
        totals.metrics.of(idx).map(move |(name, cases, [was, is])| {
            let name = visible::cut(name, NAME_CHARS);
            vec![
                column_name(comparison.after, idx),
                visible::line(&name).into_owned(),
                figures::count(cases),
                match was.total_cmp(&is) {
                    Ordering::Equal => format!("{was:.2}"),
                    _ => scores(was, is),
                },
                format!("{:+.2}", is - was),
            ]
        })
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    for row in &mut rows {
        row[0] = visible::line(&row[0]).into_owned();
    }
    let left = rows.len().saturating_sub(MOST_METRICS);
    rows.truncate(MOST_METRICS);
    let headings = [
        ("column", Side::Left),
        ("metric", Side::Left),
        ("cases", Side::Right),
        ("mean", Side::Right),
        ("change", Side::Right),
    ];
    let mut text = format!("\n{}", listing::render(&headings, &rows, width));
    if left > 0 {
        let _ = writeln!(text, "… {} more: --json", figures::count(left as u64));
    }
    text
}

/// How many cases have no verdict to compare, and how many no latency.
fn left_out(totals: &Totals) -> String {
    let sum = |of: fn(&PairTotals) -> u64| totals.columns.iter().map(of).sum::<u64>();
    let mut text = String::new();
    if let open @ 1.. = sum(|it| it.open) {
        let (open, are) = match open {
            1 => (
                "1 case".to_owned(),
                "waits for a person or was not run, and is",
            ),
            _ => (
                figures::count(open) + " cases",
                "wait for a person or were not run, and are",
            ),
        };
        let _ = writeln!(text, "\n{open} {are} neither broke nor fixed.");
    }
    if let cached @ 1.. = sum(|it| it.cached) {
        let cached = figures::counted(cached, "answer", "answers");
        let _ = writeln!(
            text,
            "\n{cached} came from the cache: their latency is not compared, and their cost is what it would have been."
        );
    }
    text
}

/// How many cases have nothing that they could be compared with, since the other run repeated their test less often.
fn repeats(totals: &Totals) -> String {
    match totals.repeats_apart() {
        0 => String::new(),
        count => format!(
            "\n{} in one of the runs only: a repeat is compared with the same repeat, and these are not.\n",
            figures::counted(count, "repeat is", "repeats are")
        ),
    }
}

/// The change of each column's pass rate, and whether it may be chance: what the pages of `view` say of
/// it, in one line.
fn significance(totals: &Totals) -> String {
    let told = significances(totals);
    if told.is_empty() {
        return String::new();
    }
    let by = if totals.columns.iter().any(|it| !it.repeats.is_empty()) {
        "paired, by test: the mean of its repeats; McNemar's exact test, the paired t-test for shares"
    } else {
        "paired, McNemar's exact test"
    };
    format!(
        "\nPass rate, with the 95 % interval of its change and p-value ({by}):\n  {}\n",
        told.join("\n  ")
    )
}

/// One line for each column in which a test came out differently.
pub(super) fn significances(totals: &Totals) -> Vec<String> {
    let columns = totals.columns.iter().enumerate();
    let told = columns.filter_map(|(idx, sums)| Some(format!("({idx}) {}", sums.significance()?)));
    told.collect()
}

/// A case that broke: what it is, and why.
pub(super) fn example(case: &Compared<'_>) -> (String, String) {
    (name(case), reasons(case.record).join("; "))
}

fn name(case: &Compared<'_>) -> String {
    let (test, column) = (case.after.test_idx, case.after.prompt_idx);
    format!("test {test}, column {column}{}", named(case.record))
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Broke => "Passed before but not now",
        Kind::Fixed => "Pass now",
        Kind::Flaky => "Flaky: the repeats within one of the runs went both ways",
        Kind::Otherwise => "Still not passing, in another way",
        Kind::Score => "Another score",
        Kind::Answer => "Another answer, judged the same",
        Kind::Same => "The same",
    }
}

/// One case: what it is, and what it was and is.
fn line(case: &Compared<'_>) -> String {
    let (before, after) = (case.before, case.after);
    let mut facts = Vec::new();
    if before.outcome != after.outcome {
        facts.push(format!(
            "{} → {}",
            before.outcome.word(),
            after.outcome.word()
        ));
    }
    if (before.score - after.score).abs() > 1e-9 {
        facts.push(format!("score {}", scores(before.score, after.score)));
    }
    if let (Some(was), Some(is)) = (before.latency_ms, after.latency_ms)
        && was.abs_diff(is) >= LATENCY_MS
    {
        facts.push(format!("{was} → {is} ms"));
    }
    if before.cost != after.cost {
        let dollars = |cost: Option<f64>| cost.map_or_else(|| "–".to_owned(), figures::dollars);
        facts.push(format!(
            "{} → {}",
            dollars(before.cost),
            dollars(after.cost)
        ));
    }
    if !case.causes.is_empty() {
        facts.push(format!("changed: {}", case.causes.join(", ")));
    }
    let mut text = format!("  {}\n", visible::line(&name(case)));
    if !facts.is_empty() {
        let _ = writeln!(text, "    {}", visible::line(&facts.join("; ")));
    }
    if case.kind != Kind::Fixed
        && let Some(error) = case.record.conclusion.error()
    {
        let reason = visible::cut(error, REASON_CHARS);
        let _ = writeln!(text, "    {}", visible::line(&reason));
    }
    text
}

/// Two scores that differ, with as many digits as show it.
fn scores(was: f64, is: f64) -> String {
    let told = |digits: usize| [was, is].map(|it| format!("{it:.digits$}"));
    let [was, is] = (2..9)
        .map(told)
        .find(|[was, is]| was != is)
        .unwrap_or_else(|| told(9));
    format!("{was} → {is}")
}

/// What a case is, behind its place.
fn named(record: &CaseRecord) -> String {
    match about(record) {
        about if about.is_empty() => about,
        about => format!(": {about}"),
    }
}

/// The cases that are in one run only.
fn apart(comparison: &Comparison<'_>, totals: &Totals, rows: usize) -> anyhow::Result<String> {
    let mut text = String::new();
    let (before, after) = (&comparison.before.info.id, &comparison.after.info.id);
    if totals.only_after > 0 {
        let cases = figures::counted(totals.only_after, "case", "cases");
        let _ = writeln!(text, "\nOnly in {}: {cases}", visible::line(after));
    }
    if !totals.only_before.is_empty() {
        let count = totals.only_before.len() as u64;
        let cases = figures::counted(count, "case", "cases");
        let _ = writeln!(text, "\nOnly in {}: {cases}", visible::line(before));
        for ended in totals.only_before.iter().take(rows) {
            let (row, column) = (ended.test_idx, ended.prompt_idx);
            let mut found = comparison.before.cases(row, Some(column))?;
            let about = found.next().transpose()?;
            let about = about.as_ref().map(named).unwrap_or_default();
            let line = format!("test {row}, column {column}{about}");
            let _ = writeln!(text, "  {}", visible::line(&line));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_scores_are_told_apart() {
        assert_eq!(scores(0.5, 1.0), "0.50 → 1.00");
        assert_eq!(scores(0.856, 0.8574), "0.856 → 0.857");
        assert_eq!(scores(0.5, 0.5 + 2e-9), "0.500000000 → 0.500000002");
    }
}
