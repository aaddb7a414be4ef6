//! The arguments of the commands that move kept runs and compare them, and of `init`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::numbers::{min_metric, min_pass_rate, percent, whole};
use super::{Eval, NEWEST, elsewhere, help};
use crate::failure::Failure;

/// `runner export`
#[derive(Debug, Args)]
#[command(after_help = help::EXPORT)]
pub(crate) struct Export {
    /// The run: its id, the beginning of its id, or latest (the default); promptfoo's `eval RUN` means the same
    #[arg(value_name = "RUN", num_args = 0..=2)]
    pub(crate) names: Vec<String>,
    /// Write to FILE: .json, .jsonl, .csv, .yaml, .txt, .html, .md or .junit.xml; repeatable [default: JSON on standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// Write the pages of `runner view` into DIR, a folder that is new or empty, for a server that only hands out files
    #[arg(long = "static", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Write CSV cells that a spreadsheet would take for formulas (=, +, -, @ first) as they are, without an apostrophe before them
    #[arg(long)]
    pub(crate) csv_raw: bool,
    /// Say in .md files what is worse than in RUN, an earlier run
    #[arg(long, value_name = "RUN", requires = "output")]
    pub(crate) baseline: Option<String>,
    /// Print what was written as JSON; without -o and --static, the run is printed as JSON anyway
    #[arg(long)]
    pub(crate) json: bool,
}

impl Export {
    /// Returns which run is meant.
    ///
    /// # Errors
    /// When two words are not promptfoo's form.
    pub(crate) fn run(&self) -> Result<&str, Failure> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] | ["eval"] => Ok(NEWEST),
            [run] | ["eval", run] => Ok(run),
            [what, ..] => Err(Failure::usage(format!("can't export '{what}'"))
                .help("name one run: runner export RUN -o results.json")),
        }
    }
}

/// `runner import`
#[derive(Debug, Args)]
#[command(after_help = help::IMPORT)]
pub(crate) struct Import {
    /// A results file: .json (this program's or promptfoo's, version 3) or .jsonl; or what people said, .json or .csv
    #[arg(required_unless_present = "from_promptfoo")]
    pub(crate) file: Option<PathBuf>,
    /// Keep the runs of promptfoo's database: of DIR, or of PROMPTFOO_CONFIG_DIR, or of ~/.promptfoo
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with_all = ["file", "new_id"])]
    pub(crate) from_promptfoo: Option<Vec<PathBuf>>,
    /// Keep what people said of the cases of RUN: FILE is what the viewer saves, or CSV with the columns test, column, thumb, score, label, comment
    #[arg(long, value_name = "RUN", conflicts_with_all = ["from_promptfoo", "new_id", "force"])]
    pub(crate) into: Option<String>,
    /// Give the run a new id instead of the one that the file has
    #[arg(long)]
    pub(crate) new_id: bool,
    /// Replace the run that has the same id; that one is deleted
    #[arg(long, conflicts_with = "new_id")]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner merge`
#[derive(Debug, Args)]
#[command(after_help = help::MERGE)]
pub(crate) struct Merge {
    /// The results of all parts, as .json
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the results to FILE: .json, .jsonl, .csv, .yaml, .txt, .html, .md or .junit.xml; repeatable
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// Write CSV cells that a spreadsheet would take for formulas (=, +, -, @ first) as they are, without an apostrophe before them
    #[arg(long)]
    pub(crate) csv_raw: bool,
    /// Say in .md files, and in the summary of a job, what is worse than in RUN, an earlier run
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Option<String>,
    /// End with exit code 0 if at least PERCENT of the cases pass [default: as the parts were run]
    #[arg(long, value_name = "PERCENT", value_parser = min_pass_rate)]
    pub(crate) min_pass_rate: Option<f64>,
    /// End with exit code 0 if the mean of the metric NAME is at least N in every column; repeatable
    #[arg(long, value_name = "NAME=N", value_parser = min_metric)]
    pub(crate) min_metric: Vec<(String, f64)>,
    /// Show the summary without the table
    #[arg(long)]
    pub(crate) no_table: bool,
    /// Print the run as JSON instead: how it ended, its counts and columns, without its cases
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner diff`
#[derive(Debug, Args)]
#[command(after_help = help::DIFF)]
pub(crate) struct Diff {
    /// The run before: its id, the beginning of its id, or latest
    #[arg(value_name = "A")]
    pub(crate) before: String,
    /// The run after
    #[arg(value_name = "B", default_value = NEWEST)]
    pub(crate) after: String,
    /// Compare column M of A with column N of B alone; A and B may then be one run
    #[arg(long, value_name = "M,N", value_parser = two_columns)]
    pub(crate) columns: Option<[usize; 2]>,
    /// Print JSON, with every changed case
    #[arg(long)]
    pub(crate) json: bool,
    /// Show at most N cases of each kind of change
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>, conflicts_with = "json")]
    pub(crate) rows: usize,
    /// End with exit code 100 if a case passed before but does not now, or more than N % of the cases
    #[arg(long, value_name = "regression[:N%]", value_parser = regression)]
    pub(crate) fail_on: Option<Regression>,
}

/// How many of the cases that are in both runs may have passed before but not now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Regression {
    /// Percent, 0 to 100.
    pub(crate) most: f64,
}

/// Two columns by their numbers.
fn two_columns(text: &str) -> Result<[usize; 2], &'static str> {
    let number = |text: &str| text.parse().ok();
    let pair = text.split_once(',');
    pair.and_then(|(left, right)| Some([number(left)?, number(right)?]))
        .ok_or("not two columns by their numbers, for example 0,2")
}

/// `regression` or `regression:N%`.
fn regression(text: &str) -> Result<Regression, &'static str> {
    let wrong =
        "not `regression`, nor `regression:N%` with N from 0 to 100, for example regression:2%";
    let rest = text.strip_prefix("regression").ok_or(wrong)?;
    if rest.is_empty() {
        return Ok(Regression { most: 0.0 });
    }
    let number = rest.strip_prefix(':').ok_or(wrong)?;
    percent(number).map(|most| Regression { most }).ok_or(wrong)
}

/// `runner init`
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Write it into DIR, which is made if need be [default: this folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner config …`
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check all that can be checked before a run, and run nothing
    Check(Box<Check>),
    /// Print the JSON Schema of the config, for editors, or write it to a file
    Schema(Schema),
}

/// `runner config schema`
#[derive(Debug, Args)]
#[command(after_help = help::SCHEMA)]
pub(crate) struct Schema {
    /// Write it to FILE [default: config.schema.json]; an older schema is replaced
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = SCHEMA_NAME)]
    pub(crate) write: Option<PathBuf>,
}

/// The file that editors look for, beside the config.
pub(crate) const SCHEMA_NAME: &str = "config.schema.json";

/// `runner config check`: the flags of `eval`, so that exactly that run is checked.
#[derive(Debug, Args)]
#[command(mut_args(elsewhere::shown_by_check))]
#[command(mut_arg("json", |json| json.help("Print what --show says as JSON").conflicts_with("show").help_heading(None)))]
pub(crate) struct Check {
    /// Also say what would be run: columns, options and plugins as they were understood, as YAML
    #[arg(long)]
    pub(crate) show: bool,
    /// The run that is checked; its `--json` prints what --show says as JSON.
    #[command(flatten)]
    pub(crate) eval: Eval,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_read_with_its_share_or_without() {
        let table = [
            ("regression", Some(0.0)),
            ("regression:2%", Some(2.0)),
            ("regression:0.5", Some(0.5)),
            ("regression: 3 %", Some(3.0)),
            ("regression:", None),
            ("regression:-1%", None),
            ("regression:101%", None),
            ("regression:NaN", None),
            ("regressions", None),
            ("2%", None),
        ];
        for (text, expected) in table {
            let read = regression(text).ok().map(|it| it.most);
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn a_run_is_named_in_our_form_or_in_promptfoos() {
        let table = [
            (&[][..], Ok("latest")),
            (&["eval"], Ok("latest")),
            (&["run-1"], Ok("run-1")),
            (&["eval", "run-1"], Ok("run-1")),
            (&["logs", "x"], Err(())),
        ];
        for (names, expected) in table {
            let export = Export {
                names: names.iter().map(ToString::to_string).collect(),
                output: Vec::new(),
                folder: None,
                csv_raw: false,
                baseline: None,
                json: false,
            };
            assert_eq!(export.run().map_err(|_| ()), expected, "{names:?}");
        }
    }
}
