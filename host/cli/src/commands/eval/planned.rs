//! From flags to a run that was agreed to: the plan, its components, its needs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use runner_config::plan::{OutputPath, Plan, RunOptions};
use runner_config::{
    Config, FilesRead, Interpreters, LoadError, LoadRequest, Overrides, TextOrigin, TrustRequest,
    Warning,
};
use runner_eval::plugins::{BindError, PluginError, PluginSet, PluginSources};
use runner_eval::trust::Agreements;
use runner_eval::{Fetching, Preparation, ScriptRunner, SettledRun, prepare};
use runner_gateway::{Masker, Secret};
use tokio::runtime::Runtime;

use super::super::CommandContext;
use super::super::built;
use super::session::Session;
use super::{overrides, runtime, sandbox};
use crate::arguments::{Inputs, TrustFlags};
use crate::bundle;
use crate::consent::{Asking, Consent, ConsentMode, KnownAgreements, Purpose, Unseen};
use crate::excerpt::{Excerpts, Remark};
use crate::failure::Failure;
use crate::lock::{self, Holding};
use crate::open_files;
use crate::output::Output;
use crate::talk::Talk;
use crate::{figures, visible};

/// A plan with the components that it runs on.
pub(super) struct Planned {
    plan: Plan,
    pub(super) plugins: PluginSet,
    /// Where its components are written down.
    pub(super) lock: lock::LockEntry,
}

/// What a plan is made with besides its config.
#[derive(Clone, Copy)]
pub(super) struct PlanOptions<'a> {
    /// Components that the person named.
    pub(super) plugins: &'a [PathBuf],
    /// No provider will be asked.
    pub(super) is_offline: bool,
    /// Data sets are fetched from their servers.
    pub(super) fetches: bool,
    /// Answers of servers are remembered.
    pub(super) remembers: bool,
}

/// Why there is no plan.
pub(super) enum Unplanned {
    /// This has to be read first, and is not agreed to.
    NotAgreed(Vec<TrustRequest>),
    Refused(Failure),
}

/// Something to say of a config that is no problem.
enum ConfigMessage {
    Warning(String),
    /// What code of the config wrote to its console.
    Line(String),
    Note(String),
}

impl Planned {
    /// Holds the components to what runner.lock says of them.
    pub(super) fn hold(&self, locked: bool, setting: &CommandContext) -> Result<(), Failure> {
        let holding = match (locked, setting.terminal.ci) {
            (true, _) => Holding::Refuse,
            (false, true) => Holding::RefuseWhereLocked,
            (false, false) => Holding::Warn,
        };
        self.lock.check(&self.plugins, holding, &setting.talk)
    }

    /// The plan itself.
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What a run of it is prepared from.
    pub(super) fn preparation(
        self,
        setting: &CommandContext,
        agreements: &Agreements,
        offline: bool,
    ) -> Preparation {
        Preparation {
            plan: self.plan,
            plugins: self.plugins,
            env: setting.environment.map().clone(),
            offline,
            agreements: agreements.clone(),
        }
    }
}

impl<'a> PlanOptions<'a> {
    /// To look at a plan, or to prepare it for components alone, where no provider is asked.
    pub(super) fn to_look(plugins: &'a [PathBuf], is_offline: bool) -> Self {
        Self {
            plugins,
            is_offline,
            fetches: true,
            remembers: true,
        }
    }

    fn fetching(self, setting: &'a CommandContext) -> Fetching<'a> {
        let open = || super::super::cache::open(setting).map_err(|failure| failure.message());
        Fetching {
            is_allowed: self.fetches,
            cache: Box::new(move || self.remembers.then(open).transpose()),
        }
    }
}

impl Asking {
    /// The command that asks for what a run of these flags needs; `cwd` is where its config is.
    pub(super) fn of(inputs: &Inputs, cwd: &Path, setting: &CommandContext) -> Self {
        let mut words = inputs.words();
        if inputs.config.is_empty() && cwd != setting.cwd {
            words.paths("-c", [&cwd]);
        }
        words.paths("--env-file", &setting.env_files);
        Self::new(words)
    }
}

/// Returns a run that was agreed to. Until then nothing is sent, and nothing written but what the person
/// answered.
pub(super) fn consented(
    session: &Session,
    setting: &CommandContext,
    files_read: &FilesRead,
    runtime: &Runtime,
    offline: bool,
    purpose: Purpose,
) -> Result<SettledRun, Failure> {
    let eval = &session.eval;
    setting.tell_slips();
    // Known from the arguments alone, so said before anything is read.
    for path in &eval.output {
        Output::at(OutputPath::new(path.clone(), TextOrigin::Person))?;
    }
    let overrides = overrides(eval, setting, files_read)?;
    let request = request(&eval.inputs, &session.cwd, overrides, setting, files_read);
    let folders = request.folders();
    let command = Asking::of(&eval.inputs, &session.cwd, setting);
    let consent = consent(&eval.trust, command, purpose, setting, &folders)?;
    let mut known = consent.known();
    let excerpts = Excerpts::of(&request, &masker(setting), setting.terminal.width);
    let means = PlanOptions {
        plugins: &eval.inputs.plugin,
        is_offline: offline,
        fetches: !offline,
        remembers: !eval.persistence.no_cache,
    };
    let planned = agreed_plan(request, means, setting, &consent, &mut known)?;
    planned.hold(eval.trust.locked, setting)?;
    let what = planned.preparation(setting, &known.agreements, offline);
    consent.settle(what, known, (runtime, &excerpts))
}

/// How the person is asked about a run; `command` asks them, too.
pub(super) fn consent<'a>(
    flags: &TrustFlags,
    command: Asking,
    purpose: Purpose,
    setting: &'a CommandContext,
    folders: &'a BTreeSet<PathBuf>,
) -> Result<Consent<'a>, Failure> {
    Ok(Consent {
        unseen: Unseen::of(flags, setting.trusted.as_deref())?,
        folders,
        remembered: setting.remembered.clone(),
        how: if setting.terminal.can_ask {
            ConsentMode::Question
        } else {
            ConsentMode::Nobody
        },
        command,
        purpose,
        talk: &setting.talk,
        said: RefCell::default(),
    })
}

/// Which config is meant. `cwd` is where it is looked for if no flag names one.
pub(super) fn request(
    arguments: &Inputs,
    cwd: &Path,
    overrides: Overrides,
    setting: &CommandContext,
    files_read: &FilesRead,
) -> LoadRequest {
    LoadRequest {
        config_files: arguments.config.clone(),
        cwd: cwd.to_owned(),
        env: setting.environment.map().clone(),
        overrides,
        files_read: files_read.clone(),
        agreements: Agreements::default(),
        added_plugins: Some(setting.home.added_plugins()),
    }
}

/// Makes the plan and the components that it runs on, once all that has to be read for it is agreed to.
/// Who is offline sends nothing.
pub(super) fn agreed_plan(
    mut request: LoadRequest,
    means: PlanOptions<'_>,
    setting: &CommandContext,
    consent: &Consent<'_>,
    known: &mut KnownAgreements,
) -> Result<Planned, Failure> {
    loop {
        request.agreements = known.agreements.clone();
        match plan(&request, means, setting) {
            Ok(planned) => return Ok(planned),
            Err(Unplanned::NotAgreed(requests)) => consent.read(requests, known)?,
            Err(Unplanned::Refused(failure)) => return Err(failure),
        }
    }
}

/// Makes the plan and the components that it runs on, those of `flags` among them. What is odd about
/// them is told, unless something has to be agreed to first: then all of it is read once more.
pub(super) fn plan(
    request: &LoadRequest,
    means: PlanOptions<'_>,
    setting: &CommandContext,
) -> Result<Planned, Unplanned> {
    let said = RefCell::new(Vec::new());
    // Code of the config may have said what it was given.
    let masker = masker(setting);
    let planned = tried(request, means, setting, &said, &masker);
    if !matches!(planned, Err(Unplanned::NotAgreed(_))) {
        for said in said.into_inner() {
            said.tell(&setting.talk, &masker);
        }
    }
    planned
}

fn tried(
    request: &LoadRequest,
    means: PlanOptions<'_>,
    setting: &CommandContext,
    said: &RefCell<Vec<ConfigMessage>>,
    masker: &Masker,
) -> Result<Planned, Unplanned> {
    let excerpts = Excerpts::of(request, masker, setting.terminal.width);
    let unloaded = |error| unloaded(error, &excerpts, said, masker);
    let write = |line: &str| {
        if setting.verbose {
            said.borrow_mut().push(ConfigMessage::Line(line.to_owned()));
        }
    };
    let (config, warnings) = loaded(request, setting, &write)?.map_err(unloaded)?;
    warn(said, excerpts.told(warnings));
    let options = config.run_options();
    warn(said, too_few_files(setting, &options));
    // A case holds one instance while its provider works, then one for each assertion at work.
    let instances = options
        .max_concurrency
        .saturating_mul(options.assertion_concurrency);
    let sandbox = sandbox(instances, setting)?;
    let sources = sources(&config, &request.files_read, means.plugins, setting)?;
    let lock = lock::LockEntry::of(&config.files, &request.cwd);
    let loaded = PluginSet::load(&sandbox, sources);
    let (plugins, warnings) = loaded.map_err(|errors| unusable(errors, &config))?;
    warn(said, warnings);
    let drafted = config.draft_with(
        &plugins.catalog(),
        &ScriptRunner::new(
            &plugins,
            &sandbox,
            &request.env,
            means.fetching(setting),
            &write,
        ),
    );
    let (plan, found) = drafted.map_err(unloaded)?;
    warn(said, excerpts.told(found.warnings));
    let plugins = plugins.load_needed(&sandbox, &plan);
    if !found.problems.is_empty() {
        let rest = plugins.ok().map(|plugins| Planned {
            plan,
            plugins,
            lock,
        });
        let unfit =
            |rest: Planned| unfit(rest.preparation(setting, &request.agreements, means.is_offline));
        let errors = rest.map(unfit).transpose()?.unwrap_or_default();
        let problems = found.problems.into_iter().map(Remark::from);
        let remarks = problems.chain(errors.into_iter().map(Remark::from));
        return Err(wrong(&excerpts.told(remarks), masker));
    }
    let narrowings = plan.narrowings.iter();
    let notes = narrowings.map(|narrowing| ConfigMessage::Note(narrowing.to_string()));
    said.borrow_mut().extend(notes);
    let plugins = plugins.map_err(refused)?;
    warn(said, plugins.slips(&plan));
    Ok(Planned {
        plan,
        plugins,
        lock,
    })
}

/// Why a config can't be read. What is odd about it may be the reason for what is wrong.
fn unloaded(
    error: LoadError,
    excerpts: &Excerpts,
    said: &RefCell<Vec<ConfigMessage>>,
    masker: &Masker,
) -> Unplanned {
    match error {
        LoadError::NotAgreed(requests) => Unplanned::NotAgreed(requests),
        LoadError::Wrong(error) => {
            let problems = excerpts.told(error.problems);
            warn(said, excerpts.told(error.warnings));
            wrong(&problems, masker)
        }
    }
}

/// Why components can't be used. What is wrong with one says something of its file.
fn unusable(errors: Vec<PluginError>, config: &Config) -> Unplanned {
    let open = config.not_agreed();
    if open.is_empty() {
        refused(errors).into()
    } else {
        Unplanned::NotAgreed(open)
    }
}

/// Finds out what plugins say of a plan that is not whole: each of its parts is as it would be in a
/// whole one.
fn unfit(what: Preparation) -> Result<Vec<BindError>, Failure> {
    let prepared = runtime()?.block_on(prepare(what));
    Ok(prepared.err().unwrap_or_default())
}

fn wrong(problems: &[String], masker: &Masker) -> Unplanned {
    let problems = problems.iter().map(|problem| masker.mask(problem));
    Unplanned::Refused(refused(problems))
}

/// Loads the config, and what is odd about it. One that is a program is run by the bundled plugins: its
/// own are not known before.
fn loaded(
    request: &LoadRequest,
    setting: &CommandContext,
    write: &dyn Fn(&str),
) -> Result<Result<(Config, Vec<Warning>), LoadError>, Failure> {
    if !request.has_programs() {
        return Ok(runner_config::load(request));
    }
    let sandbox = sandbox(1, setting)?;
    let sources = PluginSources {
        bundled: Some(bundle::plugins(&setting.environment, &setting.cwd)?),
        ..PluginSources::default()
    };
    let plugins = PluginSet::load(&sandbox, sources);
    let (plugins, _) = plugins.map_err(refused)?;
    let interpreters = Interpreters {
        catalog: &plugins.catalog(),
        // A config that is a program gives data: it names data sets, and they are fetched afterwards.
        scripts: &ScriptRunner::new(&plugins, &sandbox, &request.env, Fetching::default(), write),
    };
    Ok(runner_config::load_with(request, interpreters))
}

impl From<Failure> for Unplanned {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

impl ConfigMessage {
    fn tell(&self, talk: &Talk, masker: &Masker) {
        match self {
            Self::Warning(text) => talk.warning(&masker.mask(text)),
            // Marked and on its line, lest it be taken for a question of ours.
            Self::Line(text) => {
                let text = masker.mask(text);
                talk.line(&format!("the config's code: {}", visible::line(&text)));
            }
            Self::Note(text) => talk.note(text),
        }
    }
}

/// Hides the secrets of the person's environment.
pub(super) fn masker(setting: &CommandContext) -> Masker {
    let env = setting.environment.map().iter();
    let secrets = env.filter(|(name, _)| runner_config::is_secret_variable(name));
    let secrets: Vec<Secret> = secrets.map(|(_, value)| Secret::new(value)).collect();
    Masker::new(&secrets)
}

fn warn(said: &RefCell<Vec<ConfigMessage>>, warnings: impl IntoIterator<Item: ToString>) {
    let warnings = told(warnings).into_iter().map(ConfigMessage::Warning);
    said.borrow_mut().extend(warnings);
}

/// What is said where the system allows fewer files than the cases asked for would need.
fn too_few_files(setting: &CommandContext, options: &RunOptions) -> Option<String> {
    let files = setting.files?;
    let asked = usize::try_from(options.asked_concurrency?).ok()?;
    (options.max_concurrency < asked).then(|| {
        format!(
            "the system lets the program have {} files open, so {} cases run at once and not {}\nhelp: `ulimit -n {}` allows more, as far as the system lets you",
            figures::count(files),
            figures::count(options.max_concurrency as u64),
            figures::count(asked as u64),
            open_files::needed(asked),
        )
    })
}

/// Where components come from; those that the user brings are noted as read.
fn sources(
    config: &Config,
    files_read: &FilesRead,
    flags: &[PathBuf],
    setting: &CommandContext,
) -> Result<PluginSources, Failure> {
    let components = config.plugins.iter().map(|plugin| &plugin.source);
    let components = components.filter(|source| !source.as_os_str().is_empty());
    for path in flags.iter().chain(components) {
        files_read.add(&setting.cwd.join(path));
    }
    Ok(PluginSources {
        bundled: Some(bundle::plugins(&setting.environment, &setting.cwd)?),
        paths: flags.iter().map(|path| built::meant(path)).collect(),
        entries: config.plugins.clone(),
        config_folder: config
            .files
            .first()
            .and_then(|file| file.parent())
            .map(Path::to_owned),
    })
}

/// Why there is no run: these problems.
fn refused(problems: impl IntoIterator<Item: ToString>) -> Failure {
    Failure::usage_all(told(problems))
}

fn told(problems: impl IntoIterator<Item: ToString>) -> Vec<String> {
    let problems = problems.into_iter();
    problems.map(|problem| problem.to_string()).collect()
}
