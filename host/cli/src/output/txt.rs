//! Every case in words, as `runner show --test` has it, and the summary below.
//!
//! For people and for `diff`: texts are whole, and safe to show in a terminal. promptfoo writes
//! its YAML under this name; who wants that says `.yaml`.

use std::io::Write;

use super::{Run, instant};
use crate::detail;
use crate::findings::{Findings, Limits};
use crate::report;
use crate::visible;

/// Characters of a line of the summary.
const WIDTH: u16 = 120;

/// What ends a case.
pub(super) const RULE: &str =
    "--------------------------------------------------------------------------------";

/// Writes the text.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(super) fn write(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    let mut head = vec![run.summary.run_id.clone(), instant(run.started_at_ms)];
    head.extend(run.description().map(str::to_owned));
    writeln!(out, "{}\n", visible::line(&head.join(" · ")))?;
    let mut findings = Findings::new(Limits {
        rows: 0,
        cell_chars: 0,
        failing_only: false,
    });
    for record in run.cases()? {
        let record = record?;
        findings.add(&record);
        writeln!(out, "{}\n{RULE}", detail::render(&record))?;
    }
    let summary = report::render(run.summary, &findings, None, WIDTH);
    write!(out, "\n{summary}")?;
    Ok(())
}
