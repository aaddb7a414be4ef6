//! `runner eval`: from a config to results.
//!
//! Everything that can be found wrong is found before the first case: arguments, environment,
//! config, plugins, grants, places of the results files, the database. Then the run, and then
//! its table, its summary and its files.

use std::error::Error as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use runner_config::{FilesRead, Overrides};
use runner_eval::event::{Consumer, QueuedConsumer};
use runner_eval::run::Interrupts;
use runner_eval::summary::Summary;
use runner_eval::{RunError, RunRequest, SettledRun};
use runner_gateway::{CassetteError, Exchanges, Playback, QuotaPlace, Recording};
use runner_sandbox::{OnLongCompile, OnUntrustedCode, Options, Sandbox};
use runner_store::{Store, StoreError};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use super::ended::EndedRun;
use super::{CommandContext, diff, prices};
use crate::arguments::{Beginning, Eval, Exchanges as Asked, Inputs, ShownAs};
use crate::consent::Purpose;
use crate::events::EventsFile;
use crate::failure::Failure;
use crate::figures;
use crate::findings::{Gatherer, Limits};
use crate::former;
use crate::open_files;
use crate::output::{Format, Output, Stream};
use crate::progress::{Progress, Style};
use crate::signals::Watch;
use crate::talk::Talk;
use crate::verdict::Policy;

mod check;
mod expected;
mod planned;
mod session;
mod single;
mod watch;

pub(super) use check::{agree, check, lock, show};
use planned::consented;
use session::Session;
pub(super) use single::{ImpliedConsent, Single, single};
use watch::Touched;

/// Rows of the table; the others are counted below it.
const TABLE_ROWS: usize = 25;

/// Evaluates a config, once or whenever it changes; gives the exit code.
pub(super) fn run(arguments: &Eval, setting: &CommandContext) -> Result<u8, Failure> {
    if arguments.dry_run {
        check::dry_run(arguments, setting)
    } else if arguments.watch {
        watch::run(&setting.talk, |touched| once(arguments, setting, touched))
    } else {
        once(arguments, setting, &Touched::default())
    }
}

/// Says that a recording is replaced, if there is one.
fn tell_replaced(file: &Path, talk: &Talk) {
    if std::fs::metadata(file).is_ok_and(|older| older.len() > 0) {
        let message = format!("the older recording in {} is replaced", file.display());
        talk.note(&message);
    }
}

/// Where runs write down what they use of the same quotas. A run without it is as good, but for refusals.
fn quotas(setting: &CommandContext) -> QuotaPlace {
    let talk = setting.talk.clone();
    QuotaPlace {
        file: setting.home.quotas(),
        told: Box::new(move |why| talk.note(&why)),
    }
}

/// Evaluates a config; gives the exit code.
fn once(arguments: &Eval, setting: &CommandContext, touched: &Touched) -> Result<u8, Failure> {
    let policy = Policy::from_environment(&setting.environment)?;
    setting.tell_found_keys();
    setting.tell_home();
    let beginning = arguments.persistence.beginning();
    let session = Session::new(arguments, &beginning, setting)?;
    let arguments = &session.eval;
    let persistence = arguments.persistence.persistence(&setting.cwd)?;
    let runtime = runtime()?;
    let is_offline = matches!(persistence.exchanges, Asked::Replay(_));
    let read = &touched.read;
    let consented = consented(&session, setting, read, &runtime, is_offline, Purpose::Run)?;
    let plan = consented.plan();
    let cache = (persistence.cache && plan.options.cache).then(|| super::cache::open(setting));
    let cache = cache.transpose()?;
    let goes_on = beginning != Beginning::New;
    if let (Asked::Record(file), false) = (&persistence.exchanges, goes_on) {
        tell_replaced(file, &setting.talk);
    }
    let (exchanges, recording) = exchanges(&persistence.exchanges, goes_on, touched)?;
    let events = arguments.events.iter().map(|path| setting.cwd.join(path));
    let files = plan.output_paths.iter().map(|it| it.path.clone());
    for path in files.chain(events) {
        spare_inputs(&path, &touched.read)?;
        touched.writes(&path);
    }
    let outputs = Output::prepare(&plan.output_paths, arguments.csv_raw)?;
    let events = EventsFile::prepare(arguments.events.as_deref(), &outputs, &setting.talk)?;
    let store = setting.store()?;
    let baseline = diff::baseline(&store, arguments.baseline.as_deref())?;
    let kept = (&*outputs, &store);
    let gatherer = gatherer(arguments);
    let interrupts = Interrupts::new();
    let request = RunRequest {
        store: store.clone(),
        cache,
        quotas: Some(quotas(setting)),
        exchanges,
        consumers: consumers(&gatherer, kept, events.as_ref(), arguments, setting)?,
        interrupts: interrupts.clone(),
        beginning: session.beginning.clone(),
        invocation: session.invocation.clone(),
        calls: None,
    };
    // It lives as long as the results are shown: they may be cut short, also where nobody reads.
    let (summary, _watch) = carry_out(&runtime, consented, request, interrupts, &setting.talk)?;
    let mut verdict = policy.judge(&summary);
    if recording.is_some_and(|recording| !is_recorded(&recording, setting)) {
        verdict = verdict.incomplete("the recording is incomplete");
    }
    if events.is_some_and(|events| !events.is_whole()) {
        verdict = verdict.incomplete("not all events could be written");
    }
    let ended = EndedRun {
        store: &store,
        baseline,
        verdict,
        shown_as: arguments.shown_as(),
    };
    gatherer.look(|findings| ended.tell(&summary, findings, &outputs, setting))
}

/// Gathers what the table shows.
fn gatherer(arguments: &Eval) -> Gatherer {
    Gatherer::new(Limits {
        rows: if arguments.shown_as() == ShownAs::Table {
            TABLE_ROWS
        } else {
            0
        },
        cell_chars: arguments.table_cell_max_length,
        failing_only: false,
    })
}

/// Refuses to write over what the run was read from.
fn spare_inputs(path: &Path, read: &FilesRead) -> Result<(), Failure> {
    if !read.contains(path) {
        return Ok(());
    }
    let shown = path.display();
    let message = format!("{shown} is read by this run and can't be written by it");
    Err(Failure::usage(message).help("give results and events files of their own"))
}

/// Makes room for so many instances at once.
pub(super) fn sandbox(instances: usize, setting: &CommandContext) -> Result<Sandbox, Failure> {
    let talk = setting.talk.clone();
    let on_untrusted = OnUntrustedCode::new(move |why| {
        talk.warning(&format!("{why}, so plugins are compiled anew"));
    });
    sandbox_telling(on_untrusted, instances, setting)
}

/// Makes it, and tells whoever is given of kept code that others could have changed.
pub(super) fn sandbox_telling(
    on_untrusted_code: OnUntrustedCode,
    instances: usize,
    setting: &CommandContext,
) -> Result<Sandbox, Failure> {
    setting.home.make()?;
    let talk = setting.talk.clone();
    let sandbox = Sandbox::new(Options {
        on_long_compile: OnLongCompile::new(move || {
            talk.note("compiling a large plugin, once for this machine: up to a minute");
        }),
        on_untrusted_code,
        cache_dir: Some(setting.home.compiled_plugins()),
        instances: instances.try_into().unwrap_or(u32::MAX),
        ..Options::default()
    });
    Ok(sandbox.map_err(anyhow::Error::new)?)
}

/// Decides where exchanges come from, and the recording if there will be one: a run that goes on adds to
/// the one that it began.
fn exchanges(
    asked: &Asked,
    goes_on: bool,
    touched: &Touched,
) -> Result<(Exchanges, Option<Recording>), Failure> {
    let failed = |error: CassetteError| {
        let why = error.source().map(|source| format!(": {source}"));
        Failure::usage(format!("{error}{}", why.unwrap_or_default()))
    };
    Ok(match asked {
        Asked::Live => (Exchanges::Live, None),
        Asked::Record(file) => {
            touched.writes(file);
            let recording = if goes_on {
                Recording::go_on(file)
            } else {
                Recording::create(file)
            };
            let recording = recording.map_err(failed)?;
            (Exchanges::Record(recording.clone()), Some(recording))
        }
        Asked::Replay(file) => {
            touched.read.add(file);
            let playback = Playback::open(file).map_err(failed)?;
            (Exchanges::Replay(playback), None)
        }
    })
}

/// Whether everything was recorded; what was not is told.
fn is_recorded(recording: &Recording, setting: &CommandContext) -> bool {
    let failure = recording.failure();
    if let Some(why) = &failure {
        let failure = Failure::usage(format!("the recording is incomplete: {why}"));
        setting.talk.line(&failure.render());
    }
    failure.is_none()
}

/// Collects what flags say of a run over its config.
fn overrides(
    arguments: &Eval,
    setting: &CommandContext,
    files_read: &FilesRead,
) -> Result<Overrides, Failure> {
    Ok(Overrides {
        max_concurrency: arguments.max_concurrency.map(NonZeroUsize::get),
        most_concurrency: setting.files.map(open_files::cases),
        repeat: arguments.repeat.map(NonZeroU32::get),
        delay: arguments.delay,
        case_timeout: arguments.timeout,
        run_timeout: arguments.max_eval_time,
        max_retry_after: arguments.max_retry_after,
        output_paths: arguments.output.clone(),
        description: arguments.description.clone(),
        tags: texts(&arguments.tag),
        budget: arguments.spending.budget(),
        min_pass_rate: arguments.min_pass_rate,
        min_metrics: arguments.min_metric.clone(),
        ..inputs(&arguments.inputs, setting, files_read)?
    })
}

/// Collects what flags say of what is read.
fn inputs(
    arguments: &Inputs,
    setting: &CommandContext,
    files_read: &FilesRead,
) -> Result<Overrides, Failure> {
    let mut filters = arguments.filtering.filters();
    if let Some((flag, wanted, named)) = arguments.filtering.former() {
        // A run that goes on reads it again; its results must not be written over it.
        let file = setting.cwd.join(named);
        if file.is_file() {
            files_read.add(&file);
        }
        let store = || setting.existing_store();
        filters.former = Some(former::read(flag, wanted, named, &setting.cwd, store)?);
    }
    Ok(Overrides {
        vars: texts(&arguments.var),
        given: arguments.replacing.given(),
        prompt_prefix: arguments.prompt_prefix.clone(),
        prompt_suffix: arguments.prompt_suffix.clone(),
        extensions: arguments.extension.clone(),
        grader: arguments.grader.clone(),
        strictness: arguments.strictness(),
        prices: prices::kept(setting)?,
        requires_assertions: arguments.require_assertions,
        filters,
        ..Overrides::default()
    })
}

/// What was given by name, as JSON.
pub(super) fn texts(pairs: &[(String, String)]) -> Map<String, Value> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect()
}

/// Who reads the run's events.
fn consumers(
    gatherer: &Gatherer,
    (outputs, store): (&[Output], &Store),
    events: Option<&EventsFile>,
    arguments: &Eval,
    setting: &CommandContext,
) -> Result<Vec<Box<dyn Consumer>>, Failure> {
    let style = match (arguments.no_progress_bar, setting.terminal.bar) {
        (true, _) => Style::Silent,
        (false, true) => Style::Bar,
        (false, false) => Style::Lines,
    };
    let talk = &setting.talk;
    let mut consumers: Vec<Box<dyn Consumer>> = Vec::new();
    // Before those that talk: what programs read does not wait for a person to read.
    if let Some(events) = events {
        consumers.push(queued("events", events.consumer())?);
    }
    consumers.push(Box::new(Progress::new(
        talk.clone(),
        style,
        setting.verbose,
    )));
    consumers.push(Box::new(gatherer.clone()));
    for output in outputs
        .iter()
        .filter(|output| output.format() == Format::Jsonl)
    {
        let stream = Stream::new(output.clone(), store.clone(), talk.clone());
        consumers.push(queued("results", stream)?);
    }
    Ok(consumers)
}

/// A consumer that writes files, which may take time.
fn queued(name: &str, consumer: impl Consumer + 'static) -> Result<Box<dyn Consumer>, Failure> {
    let queued = QueuedConsumer::start(name, consumer);
    let queued = queued.with_context(|| format!("no thread can be started for {name}"))?;
    Ok(Box::new(queued))
}

/// Runs to the end, or until the user stops it.
fn carry_out(
    runtime: &Runtime,
    settled: SettledRun,
    request: RunRequest,
    interrupts: Interrupts,
    talk: &Talk,
) -> Result<(Arc<Summary>, Watch), Failure> {
    runtime.block_on(async {
        // Until here nothing was spent and Ctrl-C simply ends the process.
        let watch = Watch::start(interrupts, talk.clone());
        let watch = watch.context("signals can't be listened for")?;
        let summary = settled.run(request).await.map_err(unfinished)?;
        watch.all_is_stored();
        Ok((summary, watch))
    })
}

fn runtime() -> anyhow::Result<Runtime> {
    Runtime::new().context("the asynchronous runtime can't start")
}

/// What to do where results would take the last of the disk.
const MAKE_ROOM: &str = "make room on the disk, or set RUNNER_LEFT_FREE to less";

/// Why a run has no result, and what helps.
fn unfinished(error: RunError) -> Failure {
    let failure = |error: RunError| Failure::from(anyhow::Error::new(error));
    match error {
        RunError::WouldDrop(_) => Failure::usage(error).help(
            "`runner eval --resume` runs what changed; with --force the run goes on all the same; \
             without --resume or retry it is a new one",
        ),
        RunError::Stopped => Failure::interrupted(error),
        RunError::Store(store @ StoreError::RunIsLive { .. }) => {
            Failure::usage(store).help("wait until the other process has ended, or end it")
        }
        RunError::Store(store) if store.is_no_room() => {
            Failure::from(anyhow::Error::new(store)).help(MAKE_ROOM)
        }
        RunError::Unsaved {
            rows,
            place: Ok(ref path),
            ref source,
        } => {
            let results = figures::counted(rows as u64, "result", "results");
            let path = path.display();
            let room = if source.is_no_room() {
                format!("{MAKE_ROOM}, and go on with `runner eval --resume`\n")
            } else {
                String::new()
            };
            let help = format!("{room}{results} that the database did not take: {path}");
            failure(error).help(help)
        }
        RunError::Unsaved {
            rows,
            place: Err(ref why),
            ..
        } => {
            let results = figures::counted(rows as u64, "result", "results");
            let help = format!("{results} could be written to no other file either: {why}");
            failure(error).help(help)
        }
        other => failure(other),
    }
}
