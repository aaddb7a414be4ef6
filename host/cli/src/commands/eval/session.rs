//! Where a session of a run begins, and how it was asked for.
//!
//! With each run is kept how it was asked for: the words of the command line and the folder, once
//! for each session. A session that goes on reads them as if they were typed again, under its own
//! flags. Words rather than their meaning: they are stable, and the program that reads them is
//! the one that knows them. Secrets in them were masked when they were stored, so they have to
//! be given again. `--env-file` is not taken over: files of secrets are named by who has them.

use std::path::{Path, PathBuf};

use runner_eval::beginning::{Beginning, ResumeRequest, ResumeScope};
use runner_store::{Outcome, RunInfo, RunState, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::CommandContext;
use crate::arguments::{self, Beginning as Asked, Eval, NEWEST};
use crate::failure::Failure;
use crate::stored;

/// What stands where a secret was.
const MASK: &str = "[masked]";

/// A command line as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Invocation {
    /// The folder in which it was typed.
    cwd: PathBuf,
    /// The words after the program's name.
    arguments: Vec<String>,
    /// The seed of its sample, typed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_seed: Option<String>,
    /// The run or file that a filter reads; `latest` would be another one later.
    #[serde(skip_serializing_if = "Option::is_none")]
    former: Option<String>,
}

/// One session of a run.
pub(super) struct Session {
    /// The flags that hold.
    pub(super) eval: Eval,
    /// The folder that the config is looked for in, if no flag names one.
    pub(super) cwd: PathBuf,
    /// Where the run begins.
    pub(super) beginning: Beginning,
    /// How the run was asked for, this time and before.
    pub(super) invocation: Value,
}

impl Session {
    /// What these flags ask for.
    ///
    /// # Errors
    /// When the run to go on with is not there, or lacks what has to be given again.
    pub(super) fn new(
        flags: &Eval,
        asked: &Asked,
        setting: &CommandContext,
    ) -> Result<Self, Failure> {
        let (wanted, which) = match asked {
            Asked::New => return Self::first(flags.clone(), setting),
            Asked::Resume(wanted) => (wanted, ResumeScope::Rest),
            Asked::RetryErrors(wanted) => (wanted, ResumeScope::Errors),
        };
        let Some(store) = setting.existing_store()? else {
            return Err(stored::unfound(StoreError::NoRuns));
        };
        let info = find(&store, wanted, which)?;
        let head = store.run_head(&info.id).map_err(stored::unfound)?;
        let options: Value = serde_json::from_str(&head.options_json).unwrap_or_default();
        let history = serde_json::from_value(options["invocation"].clone());
        let mut history: Vec<Invocation> = history.unwrap_or_default();
        let (now, eval) = typed(flags.clone(), setting)?;
        let mut before: Option<Eval> = None;
        for invocation in &history {
            let eval = invocation.read()?;
            before = Some(match before {
                Some(before) => eval.over(before),
                None => eval,
            });
        }
        let cwd = match history.first() {
            Some(first) if flags.inputs.config.is_empty() => first.cwd.clone(),
            _ => setting.cwd.clone(),
        };
        let eval = eval.absolute(&setting.cwd);
        history.push(now);
        Ok(Self {
            eval: before.map_or(eval.clone(), |before| eval.over(before)),
            cwd,
            beginning: Beginning::Again(ResumeRequest {
                run_id: info.id,
                which,
                force: flags.persistence.force,
            }),
            invocation: kept(&history),
        })
    }

    fn first(flags: Eval, setting: &CommandContext) -> Result<Self, Failure> {
        let (invocation, eval) = typed(flags, setting)?;
        Ok(Self {
            eval,
            cwd: setting.cwd.clone(),
            beginning: Beginning::New,
            invocation: kept(&[invocation]),
        })
    }
}

/// This process's command line, and its flags with what chance and time would change settled.
fn typed(mut flags: Eval, setting: &CommandContext) -> Result<(Invocation, Eval), Failure> {
    if let Some(name) = flags.inputs.filtering.former_name()
        && name == NEWEST
        && let Some(store) = setting.existing_store()?
    {
        *name = store.find_run(name).map_err(stored::unfound)?.id;
    }
    let words = std::env::args_os().skip(1);
    let invocation = Invocation {
        cwd: setting.cwd.clone(),
        arguments: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        sample_seed: flags.inputs.filtering.settle_seed().map(str::to_owned),
        former: flags.inputs.filtering.former_name().cloned(),
    };
    Ok((invocation, flags))
}

fn kept(history: &[Invocation]) -> Value {
    serde_json::to_value(history).expect("words and paths that were words are JSON")
}

impl Invocation {
    /// Reads its flags, paths absolute.
    fn read(&self) -> Result<Eval, Failure> {
        if let Some(word) = self.arguments.iter().find(|word| word.contains(MASK)) {
            let message = format!("the run was started with a secret, which is not kept: {word}");
            return Err(Failure::usage(message).help("run the config again with it"));
        }
        let words = self.arguments.iter().map(Into::into);
        let mut eval = arguments::parse_eval(words).ok_or_else(|| {
            Failure::usage("this version does not know the flags that the run was started with")
                .help("run the config again")
        })?;
        if self.sample_seed.is_some() {
            eval.inputs
                .filtering
                .sample_seed
                .clone_from(&self.sample_seed);
        }
        if let (Some(name), Some(exact)) = (eval.inputs.filtering.former_name(), &self.former) {
            name.clone_from(exact);
        }
        Ok(eval.absolute(Path::new(&self.cwd)))
    }
}

/// Whether a run came from a file: its config was run elsewhere, so that nothing of it is left to do here.
fn is_imported(store: &Store, run: &RunInfo) -> bool {
    let options = store.run_head(&run.id).map(|head| head.options_json);
    let options = options.map(|json| serde_json::from_str::<Value>(&json).unwrap_or_default());
    options.is_ok_and(|options| !options["importedFrom"].is_null())
}

/// Finds the run that is meant; the newest is the newest that can go on.
fn find(store: &Store, wanted: &str, which: ResumeScope) -> Result<RunInfo, Failure> {
    if wanted != NEWEST || which == ResumeScope::Errors {
        return store.find_run(wanted).map_err(stored::unfound);
    }
    let runs = store.runs(usize::MAX).map_err(stored::unfound)?;
    let run = runs.into_iter().find(|run| {
        let kept_back = run.outcomes.of(Outcome::BudgetExceeded);
        let has_more = run.state == RunState::Interrupted || kept_back > 0;
        has_more && !is_imported(store, run)
    });
    let run = run.ok_or_else(|| {
        Failure::usage("no run was interrupted or short of budget")
            .help("`runner list` shows the runs that are kept")
    })?;
    // Whole: a list has the beginnings of its texts.
    store.find_run(&run.id).map_err(stored::unfound)
}
