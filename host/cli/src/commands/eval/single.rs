//! A run of one case that is not kept: what one call of a plugin is.
//!
//! It goes the way of every run (lanes, grants, masking, limits), so what it shows is what a run will do.
//! A config of flags is the person's word. One of a fixture, which may be a stranger's, has the rights of a
//! config and gets no agreement beyond the component that the person named. What a component wants and was
//! not granted is refused as ever. The rows go to a database that is deleted with its folder.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use runner_config::{FilesRead, KeyOverrides, LoadRequest, MadeConfig, Overrides, TrustSubject};
use runner_eval::beginning::Beginning;
use runner_eval::event::{Consumer, Event, LogLine};
use runner_eval::plugins::BindError;
use runner_eval::record::CaseRecord;
use runner_eval::run::Interrupts;
use runner_eval::trust::{Agreements, Level, Need};
use runner_eval::{CalledPlugin, RunRequest, SettledRun, prepare};
use runner_gateway::Exchanges;
use runner_store::{OpenOptions, Store};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::super::{CommandContext, prices};
use super::planned::{PlanOptions, Unplanned, masker, plan};
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

/// What the person said yes to by naming it.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct ImpliedConsent<'a> {
    /// The component that is called; `None`: it comes with the program.
    pub(in crate::commands) component: Option<&'a Path>,
    /// What to do where it is granted less than it wants.
    pub(in crate::commands) grants: &'a str,
}

/// Runs the one case of a config.
///
/// # Errors
/// When the config can't be run, or a component wants what it does not grant.
pub(in crate::commands) fn single(
    made: MadeConfig,
    exchanges: Exchanges,
    named: ImpliedConsent<'_>,
    setting: &CommandContext,
) -> Result<Single, Failure> {
    let offline = exchanges.is_offline();
    let mut request = request(made, setting)?;
    let runtime = runtime()?;
    let settled = settled(&mut request, named, offline, &runtime, setting)?;
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
        quotas: None,
        exchanges,
        consumers: vec![Box::new(seen.clone())],
        interrupts: Interrupts::new(),
        beginning: Beginning::New,
        invocation: Value::Null,
        calls: Some(calls),
    };
    runtime.block_on(settled.run(request)).map_err(unfinished)?;
    let Told { records, log } = std::mem::take(&mut *seen.lock());
    // What else may be asked has columns of its own, without a case.
    let is_first = |record: &Arc<CaseRecord>| (record.test_idx, record.prompt_idx) == (0, 0);
    let record = records.into_iter().find(is_first);
    Ok(Single {
        record: record.context("the case did not end")?,
        log,
        calls: std::iter::from_fn(|| called.try_recv().ok()).collect(),
    })
}

/// The run, once nothing is open. Beyond what the config may do, only the component that the person named is
/// agreed to: what else a file asks for (code that runs outside the sandbox, files elsewhere) is refused.
fn settled(
    request: &mut LoadRequest,
    named: ImpliedConsent<'_>,
    offline: bool,
    runtime: &Runtime,
    setting: &CommandContext,
) -> Result<SettledRun, Failure> {
    loop {
        let planned = match plan(request, PlanOptions::to_look(&[], offline), setting) {
            Ok(planned) => planned,
            Err(Unplanned::Refused(failure)) => return Err(failure),
            Err(Unplanned::NotAgreed(requests)) => {
                let open: Vec<Need> = requests.into_iter().map(Need::of).collect();
                named.agree(&open, &mut request.agreements)?;
                continue;
            }
        };
        let what = planned.preparation(setting, &request.agreements, offline);
        let prepared = runtime.block_on(prepare(what));
        let excerpts = Excerpts::of(request, &masker(setting), setting.terminal.width);
        let prepared = prepared.map_err(|errors| unbound(errors, &excerpts, named.grants))?;
        match runtime.block_on(prepared.settle()) {
            Ok(settled) => return Ok(settled),
            Err(unsettled) => named.agree(&unsettled.open, &mut request.agreements)?,
        }
    }
}

impl ImpliedConsent<'_> {
    /// Agrees to all of `open`, if that is about the component and no more than it was granted.
    fn agree(self, open: &[Need], agreements: &mut Agreements) -> Result<(), Failure> {
        let refused: Vec<&Need> = open.iter().filter(|need| !self.is_meant(need)).collect();
        if !refused.is_empty() {
            return Err(not_granted(&refused, self.grants));
        }
        agreements.agreed.extend(open.iter().map(Need::agreed));
        Ok(())
    }

    fn is_meant(self, need: &Need) -> bool {
        let file = match &need.request.subject {
            TrustSubject::Read { path } => path,
            TrustSubject::Component { source, .. } => source,
            _ => return false,
        };
        let real = |path: &Path| path.canonicalize().ok();
        let component = self.component.and_then(real);
        need.not_granted.is_none() && component.is_some() && real(file) == component
    }
}

fn request(made: MadeConfig, setting: &CommandContext) -> Result<LoadRequest, Failure> {
    // What flags say is the person's word.
    let level = if made.file.is_none() {
        Level::Config
    } else {
        Level::Nothing
    };
    Ok(LoadRequest {
        config_files: Vec::new(),
        cwd: setting.cwd.clone(),
        env: setting.environment.map().clone(),
        overrides: Overrides {
            given: KeyOverrides {
                made: Some(made),
                ..KeyOverrides::default()
            },
            prices: prices::kept(setting)?,
            ..Overrides::default()
        },
        files_read: FilesRead::default(),
        agreements: Agreements {
            level,
            ..Agreements::default()
        },
        added_plugins: Some(setting.home.added_plugins()),
    })
}

/// Why the config can't be run. What would grant a component more is another thing here than in a config.
fn unbound(errors: Vec<BindError>, excerpts: &Excerpts, grants: &str) -> Failure {
    let refused = errors.iter().find_map(|error| match error {
        BindError::NotGranted { .. } => Some(first_line(&error.to_string())),
        _ => None,
    });
    match refused {
        Some(refused) => Failure::usage(refused).help(grants),
        None => Failure::usage_all(excerpts.told(errors)),
    }
}

/// What is wanted and nobody granted.
fn not_granted(open: &[&Need], grants: &str) -> Failure {
    let told = |need: &&Need| match &need.not_granted {
        Some(refusal) => first_line(refusal),
        None => format!("not granted: {}", need.request.subject),
    };
    let failure = Failure::usage_all(open.iter().map(told));
    if open.iter().any(|need| need.not_granted.is_some()) {
        failure.help(grants)
    } else {
        failure
    }
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
