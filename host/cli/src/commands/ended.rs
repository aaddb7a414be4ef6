//! What is told of a run that has ended: its table and summary, its files, and what a job of GitHub
//! Actions gets.

use std::path::Path;

use runner_eval::summary::{ColumnHead, Summary};
use runner_store::Store;
use serde_json::{Value, json};

use super::{CommandContext, diff, list};
use crate::arguments::ShownAs;
use crate::failure::Failure;
use crate::findings::Findings;
use crate::job;
use crate::output::{self, Bad, Output, Run};
use crate::report;
use crate::stdout;
use crate::stored::StoredRun;
use crate::table::{self, TableView};
use crate::terminal::Terminal;
use crate::thresholds;
use crate::verdict::Verdict;

/// Cases that are annotations of a job: as many as the service shows of one step, less that of the run.
const MOST_ANNOTATED: usize = 9;

/// Why a run ends with 1 whose results are kept and whose files are not.
const UNWRITTEN: &str = "not every results file could be written";

/// A run that has ended, in its database.
pub(super) struct EndedRun<'a> {
    pub(super) store: &'a Store,
    /// The earlier run that it is held against.
    pub(super) baseline: Option<StoredRun>,
    pub(super) verdict: Verdict,
    pub(super) shown_as: ShownAs,
}

impl EndedRun<'_> {
    /// Shows it and writes its files; the exit code.
    pub(super) fn tell(
        mut self,
        summary: &Summary,
        findings: &Findings,
        outputs: &[Output],
        setting: &CommandContext,
    ) -> Result<u8, Failure> {
        // A terminal that is gone takes no results; files do.
        if self.shown_as == ShownAs::Json {
            // What programs read is said once, and knows of the files.
            self.write(outputs, summary, setting)?;
            stdout::json(&self.json(summary)?)?;
        } else {
            let printed = stdout::print(&self.text(summary, findings, setting.terminal));
            if !self.write(outputs, summary, setting)? {
                let code = self.verdict.code;
                setting.talk.line(&format!("Exit code {code}: {UNWRITTEN}"));
            }
            printed?;
        }
        Ok(self.verdict.code)
    }

    /// The table and the summary.
    fn text(&self, summary: &Summary, findings: &Findings, terminal: Terminal) -> String {
        let columns = summary.columns.iter();
        let heads: Vec<ColumnHead> = columns.map(|(head, _)| head.clone()).collect();
        let Terminal { width, color, .. } = terminal;
        let view = TableView {
            width,
            color,
            run_id: summary.run_id.clone(),
            complete: summary.not_run() == 0,
            only_column: None,
        };
        let mut text = String::new();
        if self.shown_as == ShownAs::Table {
            text.push_str(&table::render(findings, &heads, &view));
            text.push('\n');
        }
        text.push_str(&report::render(
            summary,
            findings,
            Some(&self.verdict),
            width,
        ));
        text
    }

    /// As `runner list --json` has it, with its columns, thresholds and exit code.
    fn json(&self, summary: &Summary) -> Result<Value, Failure> {
        let stored = StoredRun::find(self.store.clone(), &summary.run_id)?;
        let mut told = list::run_json(&stored.info);
        told["columns"] = output::prompts(&stored.columns, summary);
        told["cost"] = json!(output::cost(&summary.all));
        told["thresholds"] = thresholds::json(summary).unwrap_or_else(|| json!([]));
        told["exitCode"] = json!(self.verdict.code);
        told["reason"] = json!(self.verdict.reason);
        Ok(told)
    }

    /// Writes the results files, and tells the job; whether all of them could be written.
    fn write(
        &mut self,
        outputs: &[Output],
        summary: &Summary,
        setting: &CommandContext,
    ) -> Result<bool, Failure> {
        let to_job = setting.environment.get("GITHUB_STEP_SUMMARY");
        if outputs.is_empty() && to_job.is_none() && !setting.terminal.github {
            return Ok(true);
        }
        let stored = StoredRun::find(self.store.clone(), &summary.run_id)?;
        // A run that goes on may have been the newest one.
        let before = self.baseline.iter();
        let before = before.filter(|before| before.info.id != summary.run_id);
        let mut against = before.map(|before| diff::against(self.store, before, &stored));
        let against = against.next().transpose()?;
        let run = Run {
            against: against.as_ref(),
            ..stored.run(summary)
        };
        let mut written = true;
        for output in outputs {
            match output.write(&run) {
                Ok(()) => setting.talk.written(output.path()),
                Err(error) => {
                    written = false;
                    let help = format!(
                        "the results are kept: runner show {} --json",
                        summary.run_id
                    );
                    setting.talk.line(&Failure::from(error).help(help).render());
                }
            }
        }
        if !written {
            let verdict = std::mem::replace(&mut self.verdict, Verdict::GOOD);
            self.verdict = verdict.incomplete(UNWRITTEN);
        }
        self.tell_job(&run, to_job.map(Path::new), setting)?;
        Ok(written)
    }

    /// Adds to the summary of the job, and to its list of errors. The run does not end otherwise where that
    /// can't be done: its results are kept.
    fn tell_job(
        &self,
        run: &Run<'_>,
        to: Option<&Path>,
        setting: &CommandContext,
    ) -> Result<(), Failure> {
        if let Some(path) = to {
            let added = job::append(path, &output::summary(run)?);
            if let Err(error) = added {
                let path = path.display();
                let said = format!("the summary of the job can't be written to {path}: {error}");
                setting.talk.warning(&said);
            }
        }
        if setting.terminal.github && self.verdict.reason.is_some() {
            let worst = output::worst(run, MOST_ANNOTATED)?;
            for line in annotations(&self.verdict, &worst) {
                setting.talk.command(&line);
            }
        }
        Ok(())
    }
}

/// Why a run's exit code is not 0, and the cases that did worst.
fn annotations(verdict: &Verdict, worst: &[Bad]) -> Vec<String> {
    let Some(reason) = &verdict.reason else {
        return Vec::new();
    };
    let cases = worst.iter().map(|bad| {
        let about = match &*bad.about {
            "" => String::new(),
            about => format!(" ({about})"),
        };
        job::annotation(&format!("{}{about}", bad.title), &bad.why)
    });
    std::iter::once(job::annotation("runner", reason))
        .chain(cases)
        .collect()
}
