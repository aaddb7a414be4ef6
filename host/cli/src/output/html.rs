//! The results as one page: a matrix with filter and search, each case in full, and charts.
//!
//! One file that needs nothing else: no network, no server, no library. What models wrote is
//! hostile: it stands as JSON in a data block, with `<` escaped so that nothing in it can end
//! the block; the script puts it on the page as text only; answers that are Markdown stand in templates
//! beside it, made harmless as in the viewer (`answers`); and a content security policy lets
//! nothing run or load but this script and this style, by their hashes, and pictures that an answer itself
//! holds. Characters that could make a text read as another are replaced as in a terminal.
//!
//! The charts are drawn here, so that they are there without a script. A browser can't hold a
//! million rows, so a page has [`MAX_CASES`] cases and [`MAX_BYTES`] of them at most, those that did not pass
//! before the others, and says so; sums and charts are always of all. Records are read one by one.

use std::collections::{BTreeSet, HashSet};
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use runner_eval::record::{CaseRecord, ComponentRecord, Outcome};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::known::PAGE_MARK;
use super::{ColumnRecord, Run, entity, instant};
use crate::detail;
use crate::figures;
use crate::findings::text_of;
use crate::report;
use crate::visible;

mod answers;
mod charts;

/// Cases on a page: what browsers still search in an instant.
const MAX_CASES: u64 = 20_000;
/// Bytes of cases on a page: what browsers still open.
const MAX_BYTES: usize = 64 << 20;
/// Metrics in the table above the cases.
const MOST_METRICS: usize = 200;
/// Characters of one text; a longer one is cut with a sentence that says where all of it is.
const TEXT_CHARS: usize = 20_000;

const SCRIPT: &str = include_str!("html/page.js");
const STYLE: &str = include_str!("html/page.css");

/// Writes the page.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(super) fn write(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    let title = run.description().unwrap_or(&run.summary.run_id);
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         {PAGE_MARK}\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{STYLE}</style>\n</head>",
        policy(),
        text(title)
    )?;
    head(out, run, title)?;
    out.write_all(CONTROLS.as_bytes())?;
    // One case per line; `<` is the only character that could end the block.
    write!(
        out,
        "<script type=\"application/json\" id=\"data\">\n{{\"run\":{},\n\"columns\":{},\n\"cases\":[",
        data(&json!(run.summary.run_id)),
        data(&columns(run.columns))
    )?;
    let (page, left_out) = cases(out, run)?;
    writeln!(out, "\n],\n\"leftOut\":{}}}\n</script>", data(&left_out))?;
    let room = MAX_BYTES.saturating_sub(page.bytes);
    answers::write(out, run, &page.places, room)?;
    writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>")?;
    Ok(())
}

/// What stands between the charts and the data.
const CONTROLS: &str = "\
<main>
<noscript><p>The table of cases needs JavaScript, which is switched off. Sums and charts are above.</p></noscript>
<form id=\"controls\" role=\"search\">
<label>Show <select id=\"verdict\">
<option value=\"all\">all tests</option>
<option value=\"not-passed\">not passed</option>
<option value=\"PASS\">passed</option>
<option value=\"FAIL\">failed</option>
<option value=\"ERROR\">errors</option>
<option value=\"BUDGET\">kept back by a budget</option>
<option value=\"STOPPED\">stopped</option>
<option value=\"different\">columns differ</option>
</select></label>
<label>Search <input id=\"search\" type=\"search\" autocomplete=\"off\" placeholder=\"answers, variables, reasons (press /)\"></label>
<span id=\"count\" role=\"status\"></span>
</form>
<p id=\"left-out\" hidden></p>
<div id=\"scroll\" tabindex=\"0\" aria-label=\"Cases\"><table id=\"matrix\"></table></div>
<nav id=\"pages\" aria-label=\"Pages\"><button type=\"button\" id=\"back\">Back</button> <span id=\"page\"></span> <button type=\"button\" id=\"next\">Next</button></nav>
</main>
<dialog id=\"detail\" aria-labelledby=\"detail-title\"></dialog>
";

/// What the page may do: run this script, wear this style, and nothing else.
fn policy() -> String {
    let hash = |content: &str| STANDARD.encode(Sha256::digest(content.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// Title, sums and charts.
fn head(out: &mut dyn Write, run: &Run<'_>, title: &str) -> anyhow::Result<()> {
    let summary = run.summary;
    let all = &summary.all;
    let mut facts = vec![
        format!(
            "{} of {} passed ({})",
            figures::count(all.passed),
            figures::counted(summary.total, "case", "cases"),
            figures::percent(all.passed, summary.total)
        ),
        format!("{} failed", figures::count(all.failed)),
        format!("{} errors", figures::count(all.errors)),
    ];
    if all.ungraded > 0 {
        let count = figures::count(all.ungraded);
        facts.push(format!("{count} passed without an assertion"));
    }
    if all.budget_exceeded > 0 {
        let count = figures::count(all.budget_exceeded);
        facts.push(format!("{count} kept back by a budget"));
    }
    if summary.not_run() > 0 {
        facts.push(format!("{} not run", figures::count(summary.not_run())));
    }
    facts.push(figures::duration(summary.duration));
    facts.push(format!("{} tokens", figures::count(all.tokens.total)));
    facts.extend(report::costs(all));
    writeln!(
        out,
        "<body>\n<header>\n<h1>{}</h1>\n<p>{} · {}</p>\n<p class=\"sums\">{}</p>\n</header>",
        text(title),
        text(&summary.run_id),
        instant(run.started_at_ms),
        text(&facts.join(" · "))
    )?;
    tasks(out, run)?;
    metrics(out, run)?;
    let rates = charts::pass_rates(&summary.columns);
    let latencies = charts::latencies(&summary.columns);
    writeln!(
        out,
        "<section class=\"charts\">\n<figure><figcaption>Pass rate</figcaption>{rates}</figure>\n\
         <figure><figcaption>Latency</figcaption>{latencies}</figure>\n</section>"
    )?;
    Ok(())
}

/// The mean of each metric in each column, if there are any.
fn metrics(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    let columns = &run.summary.columns;
    let names = columns
        .iter()
        .flat_map(|(_, tally)| tally.metrics().map(|(name, _)| name));
    let names: BTreeSet<&str> = names.collect();
    if names.is_empty() {
        return Ok(());
    }
    let head = (0..columns.len()).map(|column| format!("<th scope=\"col\">({column})</th>"));
    let head: String = head.collect();
    writeln!(
        out,
        "<table class=\"tasks\" id=\"metrics\">\n<thead><tr><th>metric</th>{head}</tr></thead>\n<tbody>"
    )?;
    for name in names.into_iter().take(MOST_METRICS) {
        let cell = |value: Option<f64>| match value {
            None => "<td>–</td>".to_owned(),
            Some(value) => format!("<td>{value:.3}</td>"),
        };
        let cells = columns.iter().map(|(_, tally)| cell(tally.metric(name)));
        let cells: String = cells.collect();
        writeln!(out, "<tr><th scope=\"row\">{}</th>{cells}</tr>", text(name))?;
    }
    writeln!(out, "</tbody>\n</table>")?;
    Ok(())
}

/// How each task of questions stands, if there are any.
fn tasks(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    if run.summary.tasks.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<table class=\"tasks\">\n<thead><tr><th>task</th><th>column</th><th>status</th><th>accuracy</th>\
         <th>correct</th><th>unreadable</th><th>over budget</th><th>errors</th></tr></thead>\n<tbody>"
    )?;
    for task in run.summary.tasks.in_order() {
        let cells = [
            task.task.to_string(),
            task.prompt_idx.to_string(),
            task.status().word().to_owned(),
            figures::percent(task.correct, task.questions),
            format!(
                "{} of {}",
                figures::count(task.correct),
                figures::count(task.questions)
            ),
            figures::count(task.parse_errors),
            figures::count(task.over_budget),
            figures::count(task.runtime_errors + task.unfinished()),
        ];
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| format!("<td>{}</td>", text(cell)))
            .collect();
        let cells = cells.concat();
        writeln!(out, "<tr>{cells}</tr>")?;
    }
    writeln!(out, "</tbody>\n</table>")?;
    Ok(())
}

fn columns(columns: &[ColumnRecord]) -> Value {
    let column = |column: &ColumnRecord| {
        json!({
            "provider": shown(&column.provider, ""),
            "prompt": shown(&column.label, ""),
            "raw": shown(&column.raw, ""),
        })
    };
    columns.iter().map(column).collect()
}

/// Writes the cases as items of a list; gives those that are there, and the sentence about those that are left out.
/// Where not all have room the records are read twice: what passed can be missed.
fn cases(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<(CasesOnPage, Value)> {
    let all = run.summary.total - run.summary.not_run().min(run.summary.total);
    let mut page = CasesOnPage::default();
    let fits = all <= MAX_CASES && fit(run)?;
    let wanted: &[fn(&CaseRecord) -> bool] = if fits {
        &[|_| true]
    } else {
        &[|record| !has_passed(record), has_passed]
    };
    'all: for wanted in wanted {
        let mut texts = run.records.open()?;
        for record in texts.by_ref() {
            let record: CaseRecord = serde_json::from_str(&record?)?;
            if wanted(&record) && !page.add(out, &record, run)? {
                break 'all;
            }
        }
    }
    let left_out = match all.saturating_sub(page.count) {
        0 => Value::Null,
        rest => {
            let (shown, rest) = (figures::count(page.count), figures::count(rest));
            let id = &run.summary.run_id;
            json!(format!(
                "This page has {shown} cases, first of all those that did not pass; {rest} more are left out, since a browser \
                 can't hold them. Sums and charts are of all cases. The whole: runner export {id} -o results.jsonl"
            ))
        }
    };
    Ok((page, left_out))
}

fn has_passed(record: &CaseRecord) -> bool {
    record.conclusion.outcome() == Outcome::Passed
}

/// Whether all cases of a run have room: what the page has of a record is no larger than the record, but for each
/// `<`, which takes five bytes more.
fn fit(run: &Run<'_>) -> anyhow::Result<bool> {
    let mut bytes = 0;
    for record in run.records.open()?.by_ref() {
        let record = record?;
        bytes += record.len() + 5 * record.matches('<').count();
        if bytes > MAX_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The cases that are on the page.
#[derive(Default)]
struct CasesOnPage {
    count: u64,
    bytes: usize,
    /// Test and column of each.
    places: HashSet<(u32, u32)>,
}

impl CasesOnPage {
    /// Writes one; whether it had room.
    fn add(
        &mut self,
        out: &mut dyn Write,
        record: &CaseRecord,
        run: &Run<'_>,
    ) -> anyhow::Result<bool> {
        let case = data(&case(record, &run.summary.run_id));
        if self.count == MAX_CASES || self.bytes + case.len() > MAX_BYTES {
            return Ok(false);
        }
        let separator = if self.count == 0 { "\n" } else { ",\n" };
        write!(out, "{separator}{case}")?;
        self.count += 1;
        self.bytes += case.len();
        self.places.insert((record.test_idx, record.prompt_idx));
        Ok(true)
    }
}

/// A case as the script wants it; every text safe to show.
fn case(record: &CaseRecord, run_id: &str) -> Value {
    let (test, column) = (record.test_idx, record.prompt_idx);
    let rest = rest(record, run_id);
    let shown = |text: &str| shown(text, &rest);
    let vars = record.vars.iter();
    let vars: Vec<Value> = vars
        .map(|(name, value)| json!([shown(name), shown(&text_of(value))]))
        .collect();
    let response = record.response.as_ref();
    let graded = record.grading_result.as_ref();
    let components = graded.iter().flat_map(|grade| &grade.component_results);
    let mut facts = vec![format!("{} ms", figures::count(record.latency_ms))];
    if record.token_usage.total > 0 {
        facts.push(format!("{} tokens", record.token_usage.total));
    }
    facts.extend(detail::cost_of_answer(record));
    facts.extend(detail::cost_of_grading(record).map(|usd| format!("{usd} for grading")));
    facts.extend(
        record
            .question
            .as_ref()
            .map(|it| it.end().word().to_owned()),
    );
    if let Some(response) = response {
        facts.extend(response.model.clone());
        facts.extend(response.finish_reason.clone());
    }
    facts.extend(
        record
            .provenance
            .as_ref()
            .map(|by| format!("{} {}", by.plugin, by.version)),
    );
    json!({
        "test": test,
        "column": column,
        "repeat": record.repeat_index,
        "description": record.test_case.get("description").and_then(Value::as_str).map(shown),
        "vars": vars,
        "outcome": record.conclusion.outcome().word(),
        "score": record.conclusion.score(),
        "prompt": shown(&record.prompt.raw),
        "output": answer(record, run_id),
        "reasoning": response.and_then(|response| response.reasoning.as_deref()).map(shown),
        "error": record.conclusion.error().filter(|_| graded.is_none()).map(shown),
        "errorCode": record.conclusion.code().map(|code| shown(&code.word())),
        "reason": graded.map(|grade| shown(&grade.reason)),
        "metrics": record.named_scores.iter().filter_map(|(name, score)| Some(json!([shown(name), score.as_f64()?])))
            .collect::<Vec<_>>(),
        "metadata": record.metadata.iter().map(|(name, value)| json!([shown(name), shown(&text_of(value))]))
            .collect::<Vec<_>>(),
        "assertions": components.map(|component| assertion(component, &shown)).collect::<Vec<_>>(),
        "said": record.annotation.as_ref().map(|it| shown(&detail::said(it))),
        "facts": shown(&facts.join(" · ")),
    })
}

fn assertion(component: &ComponentRecord, shown: &dyn Fn(&str) -> String) -> Value {
    let kind = component.assertion.get("type").and_then(Value::as_str);
    let rendered = component.metadata.get("renderedAssertionValue");
    let value = rendered.or_else(|| component.assertion.get("value"));
    let metric = component.assertion.get("metric").and_then(Value::as_str);
    let parts = component.parts.iter();
    json!({
        "pass": component.pass,
        "skipped": component.skipped,
        "score": component.score,
        "type": shown(kind.unwrap_or("assertion")),
        "value": value.map(|value| shown(&text_of(value))),
        "metric": metric.map(shown),
        "reason": shown(&component.reason),
        "asked": component.metadata.get("renderedGradingPrompt").map(|asked| shown(&text_of(asked))),
        "error": component.error_code.as_ref().map(|code| shown(&code.word())),
        "parts": parts.map(|part| json!({
            "name": shown(&part.name), "pass": part.pass, "score": part.score, "reason": shown(&part.reason),
        })).collect::<Vec<_>>(),
    })
}

/// The answer as the page shows it.
fn answer(record: &CaseRecord, run_id: &str) -> Option<String> {
    let response = record.response.as_ref()?;
    Some(shown(&text_of(&response.output), &rest(record, run_id)))
}

/// What stands where a text of a case is cut.
fn rest(record: &CaseRecord, run_id: &str) -> String {
    let (test, column) = (record.test_idx, record.prompt_idx);
    format!("… cut: runner show {run_id} --test {test} --column {column}")
}

/// A text cut and safe to show; `rest` stands where something was cut off.
fn shown(text: &str, rest: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        None => visible::block(text).into_owned(),
        Some((end, _)) => format!("{}{rest}", visible::block(&text[..end])),
    }
}

/// JSON that can stand in a script element: nothing in it is markup.
fn data(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A text between tags or in a quoted attribute.
fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible::line(text).chars() {
        match entity(c) {
            Some(entity) => escaped.push_str(entity),
            None => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::record;

    #[test]
    fn no_answer_can_leave_its_place() {
        let hostile = "</script><script>alert(1)</script><!-- \u{202e}\u{0}";
        let case = case(&record(0, 0, Outcome::Failed, hostile), "run-1");
        let written = data(&case);
        assert!(!written.contains('<'), "{written}");
        let read: Value = serde_json::from_str(&written).expect("it is JSON");
        let expected = "</script><script>alert(1)</script><!-- \u{fffd}␀";
        assert_eq!(read["output"], expected);
        assert_eq!(
            text(hostile),
            "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- \u{fffd}␀"
        );
    }

    #[test]
    fn a_huge_cell_is_cut_and_says_where_the_rest_is() {
        let huge = "ä".repeat(TEXT_CHARS + 1);
        let case = case(&record(2, 1, Outcome::Failed, &huge), "run-1");
        let output = case["output"].as_str().expect("a text");
        assert!(output.ends_with("ä… cut: runner show run-1 --test 2 --column 1"));
        assert!(output.chars().count() < TEXT_CHARS + 100);
    }

    #[test]
    fn the_page_asks_for_nothing_and_makes_no_markup_of_texts() {
        // What could load something, or turn a text into elements.
        for word in [
            "http:",
            "https:",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "import(",
            "import ",
            "@import",
            "url(",
            "fetch(",
        ] {
            assert!(!SCRIPT.contains(word), "{word} in the script");
            assert!(!STYLE.contains(word), "{word} in the style");
        }
        for content in [SCRIPT, STYLE, CONTROLS] {
            assert!(!content.contains("</script") && !content.contains("</style"));
        }
        assert!(
            !CONTROLS.contains("style=") && !CONTROLS.contains(" on"),
            "the policy forbids both"
        );
    }
}
