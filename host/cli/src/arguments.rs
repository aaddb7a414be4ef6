//! The command line as typed.
//!
//! Nothing is interpreted here beyond its form and its unit: what a flag means together with the
//! config and the environment is decided where it is used. The texts that `--help` shows are part of the
//! documentation; a newcomer should be able to learn the tool from them.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};

mod cache;
mod doctor;
mod elsewhere;
mod explain;
mod filtering;
mod help;
mod inputs;
mod kept_runs;
mod later;
mod learnt;
mod migrate;
mod numbers;
mod over;
mod persistence;
mod plugin;
mod prices;
mod replacing;
mod shown;
mod spending;
mod trust;
mod view;
mod words;

pub(crate) use cache::{Cache, ClearCache, ListCache};
pub(crate) use doctor::Doctor;
pub(crate) use explain::Explain;
pub(crate) use filtering::{Filtering, FormerRows};
pub(crate) use inputs::Inputs;
pub(crate) use kept_runs::{
    Check, Config, Diff, Export, Import, Init, Merge, Regression, SCHEMA_NAME, Schema,
};
pub(crate) use learnt::{Completions, ManArguments};
pub(crate) use migrate::Migrate;
pub(crate) use persistence::{Beginning, Exchanges, NEWEST, PersistenceFlags};
pub(crate) use plugin::{
    Add, Build, Call, Docs, Inspect, Language, ListPlugins, New, Pack, Plugin, PluginKind, Remove,
    Test, VerifyAdded,
};
pub(crate) use prices::Prices;
pub(crate) use replacing::Replacing;
pub(crate) use shown::{Delete, List, ListedState, Show, SinceTime};
pub(crate) use spending::Spending;
pub(crate) use trust::{Lock, Trust, TrustFlags};
pub(crate) use view::View;
pub(crate) use words::Words;

use numbers::{milliseconds, min_metric, min_pass_rate, some, whole};

use crate::exit::USAGE;
use crate::failure::Failure;

/// Evaluate prompts: every prompt × provider × test of a config is run, graded and compared.
#[derive(Debug, Parser)]
#[command(name = "runner", bin_name = "runner", max_term_width = 100, after_help = help::SHORT, after_long_help = help::long())]
#[command(disable_version_flag = true, subcommand_required = false)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Print the version; with --verbose also the commit, the target and the plugins
    #[arg(short = 'V', long)]
    pub(crate) version: bool,
    /// Flags of every command.
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Flags of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Say more: log lines of plugins, retries of requests
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Read environment variables from FILE (NAME=value lines); they win over the process's own
    ///
    /// Repeatable. Without it, only keys are read from a `.env` in this folder (names that end in
    /// _KEY, _KEY_ID, _TOKEN or _SECRET), where the environment has none; a line says which. Whoever wrote
    /// the `.env` can see your prompts and answers: they go to that person's account. In a folder that a
    /// stranger made, set keys of your own. With it, `.env` is read only if you name it.
    #[arg(long, value_name = "FILE", global = true, value_delimiter = ',')]
    pub(crate) env_file: Vec<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a config: call the providers, grade the answers, show and keep the results
    Eval(Box<Eval>),
    /// Run the errors of a kept run again, with the config and flags that it was run with
    Retry(Box<Retry>),
    /// List the runs that are kept, newest first
    List(List),
    /// Show the results of a run again, or one of its cases in full
    Show(Show),
    /// Delete kept runs, with their results
    Delete(Delete),
    /// Write a kept run to files
    Export(Export),
    /// Keep the results of a file, so that they can be shown, compared and exported
    Import(Import),
    /// Say of a config of promptfoo's what will be different, and what is refused
    Migrate(Migrate),
    /// Put together the results of the parts of a run that were run with --shard
    Merge(Merge),
    /// Say what is different between two kept runs
    Diff(Diff),
    /// Look at the kept runs in a browser: answers, figures, comparisons, grading by hand
    View(View),
    /// Write a small config that runs offline
    Init(Init),
    /// Check a config, or print its schema
    #[command(subcommand)]
    Config(Config),
    /// Agree to the permissions that a config asks for, or look at what was agreed to
    #[command(long_about = help::ABOUT_TRUST)]
    Trust(Box<Trust>),
    /// Look at plugins, or write down which ones a config uses
    #[command(subcommand)]
    Plugin(Plugin),
    /// Look at the answers that are remembered, or forget them
    #[command(subcommand)]
    Cache(Cache),
    /// Import list prices of models, so that costs are known
    #[command(subcommand)]
    Prices(Prices),
    /// Check what a run needs on this machine, and say what to do about what is missing
    Doctor(Doctor),
    /// Say what a code or word of a message means, and what to do about it
    Explain(Explain),
    /// Print a script that completes commands and flags in a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions(Completions),
    /// Write man pages
    #[command(hide = true)]
    Man(ManArguments),
}

/// `runner retry`
#[derive(Debug, Args)]
#[command(mut_args(elsewhere::shown_by_retry))]
pub(crate) struct Retry {
    /// The run: its id, the beginning of its id, or latest
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// Flags that take the place of those that the run was run with.
    #[command(flatten)]
    pub(crate) eval: Eval,
}

impl Retry {
    /// As the `eval` that does the same.
    pub(crate) fn into_eval(self) -> Eval {
        let Self { run, mut eval } = self;
        eval.persistence.retry = Some(run);
        eval
    }
}

/// `runner eval`
#[derive(Debug, Clone, Args)]
#[command(after_help = help::EVAL)]
pub(crate) struct Eval {
    /// What is read
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// What to call this run in lists [default: the config's description]
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Keep NAME=VALUE with the run, where it wins over the config's `tags`; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) tag: Vec<(String, String)>,

    /// Run at most N cases at the same time; how many requests a server takes is found automatically [default: 256]
    #[arg(short = 'j', long, value_name = "N", value_parser = some::<NonZeroUsize>, help_heading = "How to run")]
    pub(crate) max_concurrency: Option<NonZeroUsize>,
    /// Run each test N times [default: 1]
    #[arg(long, value_name = "N", value_parser = some::<NonZeroU32>, help_heading = "How to run")]
    pub(crate) repeat: Option<NonZeroU32>,
    /// Pause after each call that left the machine, in milliseconds; cases that run at the same time pause separately, and a delay in the config wins [default: 0]
    #[arg(long, value_name = "MS", value_parser = milliseconds, help_heading = "How to run")]
    pub(crate) delay: Option<Duration>,
    /// End a case after MS milliseconds, not counting the time it waits because a server said to slow down [default: no limit]
    #[arg(long = "timeout-ms", value_name = "MS", value_parser = milliseconds, help_heading = "How to run")]
    pub(crate) timeout: Option<Duration>,
    /// End the whole run after MS milliseconds [default: no limit]
    #[arg(long = "max-eval-time-ms", value_name = "MS", value_parser = milliseconds, help_heading = "How to run")]
    pub(crate) max_eval_time: Option<Duration>,
    /// End requests as errors whose server asks to wait for longer than MS milliseconds; 0: wait however long it is [default: 900000]
    #[arg(long, value_name = "MS", value_parser = milliseconds, help_heading = "How to run")]
    pub(crate) max_retry_after: Option<Duration>,
    /// Say what the run would do (cases, tokens, cost, what it asks you to agree to), and send nothing
    #[arg(long, conflicts_with_all = ["watch", "resume", "retry_errors"], help_heading = "How to run")]
    pub(crate) dry_run: bool,
    /// Run again whenever the config or a file that it reads changes
    #[arg(short, long, help_heading = "How to run")]
    pub(crate) watch: bool,
    /// What it takes from before and keeps for later
    #[command(flatten)]
    pub(crate) persistence: PersistenceFlags,
    /// What it may spend
    #[command(flatten)]
    pub(crate) spending: Spending,

    /// What may be done that texts of others ask for
    #[command(flatten)]
    pub(crate) trust: TrustFlags,

    /// Write the results to FILE: .json, .jsonl (also while the run goes on), .csv, .yaml, .txt, .html, .md (a summary for a pull request) or .junit.xml; repeatable
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub(crate) output: Vec<PathBuf>,
    /// Say in .md files, and in the summary of a job, what is worse than in RUN, an earlier run
    #[arg(long, value_name = "RUN", help_heading = "Results")]
    pub(crate) baseline: Option<String>,
    /// End with exit code 0 if at least PERCENT of the cases pass; wins over the config's `thresholds` and RUNNER_PASS_RATE_THRESHOLD [default: 100]
    #[arg(long, value_name = "PERCENT", value_parser = min_pass_rate, help_heading = "Results")]
    pub(crate) min_pass_rate: Option<f64>,
    /// End with exit code 0 if the mean of the metric NAME is at least N in every column; wins over the config's `thresholds`; repeatable
    #[arg(long, value_name = "NAME=N", value_parser = min_metric, help_heading = "Results")]
    pub(crate) min_metric: Vec<(String, f64)>,
    /// Write CSV cells that a spreadsheet would take for formulas (=, +, -, @ first) as they are, without an apostrophe before them
    #[arg(long, overrides_with = "no_csv_raw", help_heading = "Results")]
    pub(crate) csv_raw: bool,
    /// Undo a --csv-raw, also one that a run was begun with
    #[arg(long, hide = true, overrides_with = "csv_raw")]
    pub(crate) no_csv_raw: bool,
    /// Write what happens to FILE as it happens, one JSON object per line: cases, and each lane's slots, limits and retries
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) events: Option<PathBuf>,
    /// Results stay on this machine; accepted because promptfoo has it
    #[arg(long, hide = true)]
    pub(crate) no_share: bool,
    /// Show the table of cases (this is the default)
    #[arg(long, overrides_with = "no_table", help_heading = "Results")]
    pub(crate) table: bool,
    /// Show the summary without the table
    #[arg(long, help_heading = "Results")]
    pub(crate) no_table: bool,
    /// Print the run as JSON instead: how it ended, its counts and columns, without its cases
    #[arg(long, conflicts_with_all = ["table", "dry_run"], help_heading = "Results")]
    pub(crate) json: bool,
    /// Cut answers and variables in the table to N characters
    #[arg(
        long,
        value_name = "N",
        default_value_t = 250,
        value_parser = whole::<usize>,
        help_heading = "Results"
    )]
    pub(crate) table_cell_max_length: usize,
    /// Show no progress
    #[arg(long, help_heading = "Results")]
    pub(crate) no_progress_bar: bool,
}

impl Eval {
    /// How the run is shown when it has ended: `--table` is what holds anyway, and undoes a
    /// `--no-table` before it.
    pub(crate) fn shown_as(&self) -> ShownAs {
        ShownAs::of(self.json, self.no_table)
    }
}

/// How a run that has ended is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownAs {
    /// Its table and its summary.
    Table,
    /// Its summary.
    Summary,
    /// JSON.
    Json,
}

impl ShownAs {
    pub(crate) fn of(json: bool, no_table: bool) -> Self {
        match (json, no_table) {
            (true, _) => Self::Json,
            (false, true) => Self::Summary,
            (false, false) => Self::Table,
        }
    }
}

/// Why there is no command to run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Help or the version was asked for, or the line has no meaning.
    Parser(clap::Error),
    /// The line asks for what this version or this command can't do.
    Refused(Failure),
}

impl Refusal {
    /// Says it where it belongs; gives the exit code.
    pub(crate) fn print(self) -> ExitCode {
        match self {
            Self::Refused(failure) => failure.print(),
            Self::Parser(error) => {
                // Nobody is left to tell when this fails.
                let _ = error.print();
                if error.use_stderr() {
                    ExitCode::from(USAGE)
                } else {
                    ExitCode::SUCCESS
                }
            }
        }
    }
}

/// Parses a command line, the program's name first.
///
/// # Errors
/// When it is none, or asks for help.
pub(crate) fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Arguments, Refusal> {
    let arguments = Arguments::try_parse_from(line).map_err(refusal)?;
    let misplaced = match &arguments.command {
        Some(Command::Eval(eval)) => eval.inputs.filtering.check(),
        Some(Command::Retry(retry)) => elsewhere::check_retry(&retry.eval),
        Some(Command::Config(Config::Check(check))) => elsewhere::check_check(&check.eval),
        _ => Ok(()),
    };
    misplaced.map_err(Refusal::Refused)?;
    Ok(arguments)
}

/// Reads the flags of a command line that was taken before, the program's name left out; `None` when
/// it is no longer one that runs a config.
pub(crate) fn parse_eval(words: impl Iterator<Item = OsString>) -> Option<Eval> {
    let line = std::iter::once("runner".into()).chain(words);
    match Arguments::try_parse_from(line).ok()?.command? {
        Command::Eval(eval) => Some(*eval),
        Command::Retry(retry) => Some(retry.eval),
        Command::List(_)
        | Command::Show(_)
        | Command::Delete(_)
        | Command::Export(_)
        | Command::Import(_)
        | Command::Migrate(_)
        | Command::Diff(_)
        | Command::Merge(_)
        | Command::Init(_)
        | Command::Config(_)
        | Command::Plugin(_)
        | Command::Trust(_)
        | Command::Cache(_)
        | Command::Prices(_)
        | Command::View(_)
        | Command::Doctor(_)
        | Command::Explain(_)
        | Command::Completions(_)
        | Command::Man(_) => None,
    }
}

/// A flag or command that promptfoo has and this version doesn't is refused by name.
fn refusal(error: clap::Error) -> Refusal {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return Refusal::Parser(error),
    };
    let word = error.get(kind).map(ToString::to_string).unwrap_or_default();
    match later::failure(&word) {
        Some(failure) => Refusal::Refused(failure),
        None => Refusal::Parser(error),
    }
}

/// The two parts of `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("not of the form NAME=VALUE"),
    }
}

/// A name, and what follows `=` if there is one.
fn named(text: &str) -> Result<(String, Option<String>), &'static str> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    if name.is_empty() {
        return Err("not of the form NAME or NAME=VALUE");
    }
    Ok((name.to_owned(), value))
}

/// All commands and flags.
pub(crate) fn command() -> clap::Command {
    Arguments::command()
}

/// What `runner` alone prints.
pub(crate) fn long_help() -> String {
    command().render_long_help().to_string()
}

#[cfg(test)]
mod tests;
