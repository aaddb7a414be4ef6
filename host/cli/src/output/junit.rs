//! JUnit's XML, which CI servers show: a suite per column, a test per case.
//!
//! The reasons are in it as they are in `runner show`: what each assertion said, what an error
//! was. What was not graded is an `<error>`, also a case that a budget kept back or that an
//! interrupt stopped: `<skipped>` is shown as harmless by every server, and a case that says
//! nothing about the prompt must not look green. `<skipped>` is what waits for a person alone: nothing
//! went wrong. Cases that never began have no row; they are one test of their own that says how many.
//!
//! A test is named by what it is (description, variables, repeat), not by its number, so that a
//! server follows it through an edited config; equal names get a number. Suites have to state
//! their counts first, and records come test by test. So each record is read twice by its place, column
//! by column, once for the counts: memory is that of a number for each case, of a hash for each of one
//! column, and of one record.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Write;

use anyhow::Context as _;
use runner_config::plan::CaseId;
use runner_eval::record::{CaseRecord, Outcome};
use runner_view::pairing;
use serde_json::Value;

use super::known::SUITES_MARK;
use super::{ColumnRecord, Run, TextByPlace, entity, instant, parsed};
use crate::detail;
use crate::figures;
use crate::findings::text_of;
use crate::visible;

/// Characters of a test's name.
const NAME_CHARS: usize = 160;
/// Characters of one variable in a name.
const VALUE_CHARS: usize = 40;
/// Characters of a message, which servers show on one line.
const MESSAGE_CHARS: usize = 1_000;
/// Characters of an answer or a reason below it.
const TEXT_CHARS: usize = 20_000;

/// What a suite states of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SuiteCounts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
    ms: u64,
}

impl SuiteCounts {
    fn add(&mut self, record: &CaseRecord) {
        self.tests += 1;
        self.ms += record.latency_ms;
        match record.conclusion.outcome() {
            Outcome::Passed => {}
            Outcome::Failed => self.failures += 1,
            Outcome::Waiting => self.skipped += 1,
            Outcome::Error | Outcome::BudgetExceeded | Outcome::Cancelled => self.errors += 1,
        }
    }

    fn attributes(self) -> String {
        let Self {
            tests,
            failures,
            errors,
            skipped,
            ms,
        } = self;
        format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{}\"",
            seconds(ms)
        )
    }
}

/// Writes the document.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(super) fn write(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    let mut suites: Vec<Suite> = (0..).zip(run.columns).map(Suite::new).collect();
    for place in run.records.places()? {
        let place = place?;
        if let Some(suite) = suites.get_mut(place.prompt_idx as usize) {
            suite.tests.push(place.test_idx);
        }
    }
    let texts = run.records.by_place()?;
    let mut all = SuiteCounts::default();
    for suite in &mut suites {
        for test_idx in &suite.tests {
            let record = record(&texts, *test_idx, suite.idx)?;
            suite.counts.add(&record);
            all.add(&record);
        }
    }
    let missing = run.summary.total.saturating_sub(all.tests);
    if missing > 0 {
        all.tests += 1;
        all.errors += 1;
    }
    let name = run.description().unwrap_or(&run.summary.run_id);
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{SUITES_MARK}"
    )?;
    writeln!(
        out,
        "<testsuites name=\"{}\" {}>",
        attribute(name),
        all.attributes()
    )?;
    for suite in &suites {
        suite.write(out, run, &texts)?;
    }
    if missing > 0 {
        not_run(out, run, missing)?;
    }
    writeln!(out, "</testsuites>")?;
    Ok(())
}

/// Reads the record in a place, which is the row's: what its text states may be an older one.
fn record(texts: &TextByPlace<'_>, test_idx: u32, prompt_idx: u32) -> anyhow::Result<CaseRecord> {
    let place = CaseId {
        test_idx,
        prompt_idx,
    };
    let text = texts(place)?.context("results were deleted in the meantime")?;
    let mut record = parsed(&text)?;
    (record.test_idx, record.prompt_idx) = (test_idx, prompt_idx);
    Ok(record)
}

/// A column.
struct Suite {
    idx: u32,
    /// As XML.
    name: String,
    counts: SuiteCounts,
    /// The tests that it has a case of, in their order.
    tests: Vec<u32>,
}

impl Suite {
    fn new((idx, column): (u32, &ColumnRecord)) -> Self {
        let prompt = visible::cut(&column.label, NAME_CHARS);
        Self {
            idx,
            // The number tells columns apart that have the same names.
            name: attribute(&format!("({idx}) {} · {prompt}", column.model())),
            counts: SuiteCounts::default(),
            tests: Vec::new(),
        }
    }

    fn write(
        &self,
        out: &mut dyn Write,
        run: &Run<'_>,
        texts: &TextByPlace<'_>,
    ) -> anyhow::Result<()> {
        let (idx, name, counts) = (self.idx, &self.name, self.counts.attributes());
        let begun = instant(run.started_at_ms);
        writeln!(
            out,
            "<testsuite id=\"{idx}\" name=\"{name}\" {counts} timestamp=\"{begun}\">"
        )?;
        let mut names = UniqueNames::default();
        for test_idx in &self.tests {
            let record = record(texts, *test_idx, idx)?;
            out.write_all(self.case(&names.of(&record), &record, run).as_bytes())?;
        }
        writeln!(out, "</testsuite>")?;
        Ok(())
    }

    /// A case that has this name among those of the suite.
    fn case(&self, test: &str, record: &CaseRecord, run: &Run<'_>) -> String {
        let (suite, test) = (&self.name, attribute(test));
        let time = seconds(record.latency_ms);
        let head = format!("<testcase classname=\"{suite}\" name=\"{test}\" time=\"{time}\"");
        let verdict = verdict(record, &run.summary.run_id);
        let beside = beside(record, verdict.is_none());
        let body: Vec<String> = verdict.into_iter().chain(beside).collect();
        if body.is_empty() {
            return format!("{head}/>\n");
        }
        format!("{head}>\n{}\n</testcase>\n", body.join("\n"))
    }
}

/// The cases that have no row.
fn not_run(out: &mut dyn Write, run: &Run<'_>, missing: u64) -> anyhow::Result<()> {
    let counts = SuiteCounts {
        tests: 1,
        errors: 1,
        ..SuiteCounts::default()
    };
    let cases = figures::counted(missing, "case was not run", "cases were not run");
    let id = &run.summary.run_id;
    writeln!(
        out,
        "<testsuite id=\"{}\" name=\"not run\" {}>\n<testcase classname=\"not run\" name=\"every case is run\" time=\"0.000\">\n\
         <error type=\"not-run\" message=\"{}\">{}</error>\n</testcase>\n</testsuite>",
        run.columns.len(),
        counts.attributes(),
        attribute(&cases),
        content(&format!("to go on: runner eval --resume {id}")),
    )?;
    Ok(())
}

/// What was not graded of a green case since its `when` did not hold, and what a person said of any, as an
/// element; `None` if there is nothing.
fn beside(record: &CaseRecord, is_green: bool) -> Option<String> {
    let components = record.grading_result.iter();
    let components = components.flat_map(|grade| &grade.component_results);
    let skipped = components.filter(|component| is_green && component.skipped);
    let mut lines: Vec<String> = skipped.map(|it| cut(&detail::assertion(it))).collect();
    let said = record.annotation.iter().map(detail::said);
    lines.extend(said.map(|said| cut(&format!("A person said: {said}"))));
    let text = content(&lines.join("\n"));
    (!lines.is_empty()).then(|| format!("<system-out>{text}</system-out>"))
}

/// Why a case is not green, as an element; `None` if it is.
fn verdict(record: &CaseRecord, run_id: &str) -> Option<String> {
    let outcome = record.conclusion.outcome();
    let (element, kind) = match outcome {
        Outcome::Passed => return None,
        Outcome::Failed => ("failure", Some(failed_types(record))),
        Outcome::Waiting => ("skipped", None),
        Outcome::Error => ("error", Some(code(record, "error"))),
        Outcome::BudgetExceeded => ("error", Some(code(record, "budget"))),
        Outcome::Cancelled => ("error", Some("not-run".to_owned())),
    };
    let grade = record.grading_result.as_ref();
    let reason = record.conclusion.error().or(grade.map(|it| &*it.reason));
    let message = reason.unwrap_or(outcome.word());
    let mut lines = vec![];
    let components = record.grading_result.iter();
    for component in components.flat_map(|grade| &grade.component_results) {
        if !component.pass || component.skipped {
            lines.push(cut(&detail::assertion(component)));
        }
    }
    if lines.is_empty() {
        lines.push(cut(message));
    }
    if let Some(response) = &record.response {
        lines.push(format!("\nAnswer:\n{}", cut(&text_of(&response.output))));
    }
    let (test, column) = (record.test_idx, record.prompt_idx);
    lines.push(format!(
        "\nAll there is: runner show {run_id} --test {test} --column {column}"
    ));
    let kind = kind.map(|it| format!(" type=\"{}\"", attribute(&it)));
    Some(format!(
        "<{element}{} message=\"{}\">{}</{element}>",
        kind.unwrap_or_default(),
        attribute(&visible::cut(message, MESSAGE_CHARS)),
        content(&lines.join("\n"))
    ))
}

fn cut(text: &str) -> String {
    visible::cut(text, TEXT_CHARS).into_owned()
}

fn code(record: &CaseRecord, otherwise: &str) -> String {
    let code = record.conclusion.code();
    code.map_or_else(|| otherwise.to_owned(), ToString::to_string)
}

/// The types of the assertions that failed, each once.
fn failed_types(record: &CaseRecord) -> String {
    let mut types: Vec<&str> = Vec::new();
    let components = record.grading_result.iter();
    for component in components.flat_map(|grade| &grade.component_results) {
        let kind = component.assertion.get("type").and_then(Value::as_str);
        let kind = kind.unwrap_or("assertion");
        if !component.pass && !types.contains(&kind) {
            types.push(kind);
        }
    }
    if types.is_empty() {
        // Every assertion passed, and the mean of their scores is below the test's threshold.
        types.push("threshold");
    }
    types.join(", ")
}

/// Names of the tests of one suite, none twice.
#[derive(Debug, Default)]
struct UniqueNames {
    /// How often each name came, by its hash: a name may be long, and there may be a million.
    given: HashMap<u64, u32>,
}

impl UniqueNames {
    fn of(&mut self, record: &CaseRecord) -> String {
        let name = name(record);
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let times = self.given.entry(hasher.finish()).or_default();
        *times += 1;
        match *times {
            1 => name,
            nth => format!("{name} #{nth}"),
        }
    }
}

/// What a case is, in words: `Greets [name=Ada] repeat 2`.
fn name(record: &CaseRecord) -> String {
    let description = pairing::given_description(&record.test_case);
    let vars: Vec<String> = record
        .vars
        .iter()
        .map(|(name, value)| format!("{name}={}", visible::cut(&text_of(value), VALUE_CHARS)))
        .collect();
    let mut name = match (description, vars.is_empty()) {
        (Some(description), true) => description.to_owned(),
        (Some(description), false) => format!("{description} [{}]", vars.join(", ")),
        (None, true) => "test".to_owned(),
        (None, false) => vars.join(", "),
    };
    name = visible::cut(&name, NAME_CHARS).into_owned();
    if record.repeat_index > 0 {
        name = format!("{name} repeat {}", record.repeat_index + 1);
    }
    name
}

/// Milliseconds as the seconds that the format wants.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Text for an attribute, on one line.
fn attribute(text: &str) -> String {
    escape(&visible::line(text))
}

/// Text between tags.
fn content(text: &str) -> String {
    escape(&visible::block(text))
}

/// Markup escaped. Of the characters that XML has not, `visible` has replaced the controls; two
/// that are none are left.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => match entity(c) {
                Some(entity) => escaped.push_str(entity),
                None => escaped.push(c),
            },
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::record;

    #[test]
    fn names_tell_cases_apart_and_outlive_their_numbers() {
        let mut names = UniqueNames::default();
        let mut first = record(0, 0, Outcome::Passed, "yes");
        first.test_case["description"] = "Greets".into();
        let mut again = first.clone();
        again.test_idx = 7;
        let mut repeat = first.clone();
        repeat.repeat_index = 1;
        let given: Vec<String> = [&first, &again, &repeat]
            .map(|record| names.of(record))
            .into();
        assert_eq!(
            given,
            [
                "Greets [name=user 0]",
                "Greets [name=user 0] #2",
                "Greets [name=user 0] repeat 2"
            ]
        );
        assert_eq!(name(&record(3, 0, Outcome::Passed, "yes")), "name=user 3");
    }

    #[test]
    fn nothing_that_xml_forbids_is_left_and_nothing_is_dropped() {
        assert_eq!(
            content("a\u{0}b\u{1b}[2J <c> & \"d\" ]]>\u{ffff}\n\u{202e}"),
            "a␀b␛[2J &lt;c&gt; &amp; &quot;d&quot; ]]&gt;\u{fffd}\n\u{fffd}"
        );
        assert_eq!(attribute("one\r\ntwo\tthree"), "one  two three");
    }

    #[test]
    fn a_case_that_waits_for_a_person_is_skipped() {
        let mut counts = SuiteCounts::default();
        let record = record(0, 0, Outcome::Waiting, "hello");
        counts.add(&record);
        assert_eq!((counts.failures, counts.errors, counts.skipped), (0, 0, 1));
        let text = verdict(&record, "run-1").expect("not green");
        assert!(text.starts_with("<skipped message=\""), "{text}");
        assert!(
            text.ends_with("</skipped>") && text.contains("hello"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_graded_is_an_error_and_never_skipped() {
        for (outcome, kind) in [
            (Outcome::Error, "auth"),
            (Outcome::BudgetExceeded, "auth"),
            (Outcome::Cancelled, "not-run"),
        ] {
            let text = verdict(&record(0, 0, outcome, "refused"), "run-1").expect("not green");
            let beginning = format!("<error type=\"{kind}\" message=\"");
            assert!(text.starts_with(&beginning), "{text}");
        }
        assert_eq!(
            verdict(&record(0, 0, Outcome::Passed, "yes"), "run-1"),
            None
        );
    }
}
