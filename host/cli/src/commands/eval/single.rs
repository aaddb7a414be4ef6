//! A run of one case that is not kept: what one call of a plugin is.
//!
//! It goes the way of every run (lanes, grants, masking, limits), so what it shows is what a run will do.
//! Its config is made of what the person typed or wrote into a fixture of their own, and is trusted as
//! that; what a component wants and was not granted is refused as ever. The rows go to a database that is
//! deleted with its folder, and nothing is remembered.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use runner_config::plan::CaseId;
use runner_config::{FilesRead, Given, LoadRequest, MadeConfig, Overrides};
use runner_eval::beginning::Beginning;
use runner_eval::event::{Consumer, Event, LogLine};
use runner_eval::plugins::BindError;
use runner_eval::record::CaseRecord;
use runner_eval::run::Interrupts;
use runner_eval::trust::{Agreements, Level, Need};
use runner_eval::{CalledPlugin, PrepareErrors, RunRequest, prepare};
use runner_gateway::Exchanges;
use runner_store::{OpenOptions, Store};
use serde_json::Value;
use tokio::sync::mpsc;

use super::super::{Setting, prices};
use super::planned::{Unplanned, masker, plan};
use super::{runtime, unfinished};
use crate::excerpt::Excerpts;
use crate::failure::Failure;

/// What became of it.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Single {
    /// The case.
    pub(in crate::commands) record: Arc<CaseRecord>,
    /// What components logged, in order.
    pub(in crate::commands) log: Vec<LogLine>,
    /// Every call of a component, in the order in which they ended.
    pub(in crate::commands) calls: Vec<CalledPlugin>,
}

/// Runs the one case of a config. `grants` is what to do where a component is granted less than it wants.
///
/// # Errors
/// When the config can't be run, or a component wants what it does not grant.
pub(in crate::commands) fn single(
    made: MadeConfig,
    exchanges: Exchanges,
    grants: &str,
    setting: &Setting,
) -> Result<Single, Failure> {
    let offline = exchanges.is_offline();
    let request = request(made, setting)?;
    let planned = match plan(&request, (&[], offline), setting) {
        Ok(planned) => planned,
        Err(Unplanned::Refused(failure)) => return Err(failure),
        Err(Unplanned::NotAgreed(requests)) => {
            let open: Vec<Need> = requests.into_iter().map(Need::of).collect();
            return Err(not_granted(&open, grants));
        }
    };
    let what = planned.preparation(setting, &request.agreements, offline);
    let runtime = runtime()?;
    let prepared = runtime.block_on(prepare(what));
    let excerpts = Excerpts::of(&request, &masker(setting), setting.terminal.width);
    let prepared = prepared.map_err(|errors| unbound(errors, &excerpts, grants))?;
    let settled = runtime.block_on(prepared.settle());
    let settled = settled.map_err(|unsettled| not_granted(&unsettled.open, grants))?;
    setting.home.make()?;
    let folder = setting.home.passing_folder();
    let folder = folder.context("there is no place for a run that is not kept")?;
    let options = OpenOptions::default();
    let store = Store::open(&folder.path().join("runs.db"), options).map_err(anyhow::Error::new)?;
    let seen = Notes::default();
    let (calls, mut called) = mpsc::unbounded_channel();
    let request = RunRequest {
        store,
        cache: None,
        exchanges,
        consumers: vec![Box::new(seen.clone())],
        interrupts: Interrupts::new(),
        beginning: Beginning::New,
        invocation: Value::Null,
        calls: Some(calls),
    };
    runtime.block_on(settled.run(request)).map_err(unfinished)?;
    let Told { records, log } = std::mem::take(&mut *seen.lock());
    let record = records.into_iter().find(|record| is_first(record));
    Ok(Single {
        record: record.context("the case did not end")?,
        log,
        calls: std::iter::from_fn(|| called.try_recv().ok()).collect(),
    })
}

fn request(made: MadeConfig, setting: &Setting) -> Result<LoadRequest, Failure> {
    Ok(LoadRequest {
        config_files: Vec::new(),
        cwd: setting.cwd.clone(),
        env: setting.environment.map().clone(),
        overrides: Overrides {
            given: Given {
                made: Some(made),
                ..Given::default()
            },
            prices: prices::kept(setting)?,
            ..Overrides::default()
        },
        files_read: FilesRead::default(),
        agreements: Agreements {
            level: Level::Config,
            ..Agreements::default()
        },
    })
}

/// The case of the first column: what else may be asked has columns of its own, without a case.
fn is_first(record: &CaseRecord) -> bool {
    let first = CaseId {
        test_idx: 0,
        prompt_idx: 0,
    };
    (record.test_idx, record.prompt_idx) == (first.test_idx, first.prompt_idx)
}

/// Why the config can't be run. What would grant a component more is another thing here than in a config.
fn unbound(errors: PrepareErrors, excerpts: &Excerpts, grants: &str) -> Failure {
    let refused = errors.0.iter().find_map(|error| match error {
        BindError::NotGranted { .. } => Some(first_line(&error.to_string())),
        _ => None,
    });
    match refused {
        Some(refused) => Failure::usage(refused).help(grants),
        None => Failure::usage_all(excerpts.told(errors.0)),
    }
}

/// What is wanted and nobody granted.
fn not_granted(open: &[Need], grants: &str) -> Failure {
    let told = |need: &Need| match &need.not_granted {
        Some(refusal) => first_line(refusal),
        None => format!("not granted: {}", need.request.subject),
    };
    Failure::usage_all(open.iter().map(told)).help(grants)
}

/// What is wanted; the lines below it are for a config.
fn first_line(refusal: &str) -> String {
    refusal.lines().next().unwrap_or_default().to_owned()
}

/// What the run told.
#[derive(Debug, Default)]
struct Told {
    records: Vec<Arc<CaseRecord>>,
    log: Vec<LogLine>,
}

/// Takes down what the run tells.
#[derive(Debug, Clone, Default)]
struct Notes(Arc<Mutex<Told>>);

impl Notes {
    fn lock(&self) -> std::sync::MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Consumer for Notes {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::CaseFinished(record) => self.lock().records.push(record.clone()),
            Event::Log(line) => self.lock().log.push(line.clone()),
            _ => {}
        }
    }
}
