//! From flags to a run that was agreed to: the plan, its components, its needs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use runner_config::plan::{OutputPath, Plan};
use runner_config::{Config, ConfigError, FilesRead, LoadRequest, Origin, Overrides, Sealed};
use runner_eval::plugins::{PluginSet, PluginSources};
use runner_eval::{Ahead, Preparation, Prepared, Settled, prepare};
use tokio::runtime::Runtime;

use super::super::Setting;
use super::session::Session;
use super::{overrides, sandbox};
use crate::arguments::{Inputs, TrustFlags};
use crate::consent::{Asking, Consent, Held, How, Purpose, Said, Unseen};
use crate::failure::Failure;
use crate::home;
use crate::lock;
use crate::output::Output;

/// A plan with the components that it runs on.
pub(super) struct Planned {
    plan: Plan,
    pub(super) plugins: PluginSet,
    /// Where its components are written down.
    pub(super) lock: lock::Place,
    /// What is to be said of it when that is agreed to.
    pub(super) held: Held,
}

impl Planned {
    /// Binds it; finds everything that a run would be refused for.
    pub(super) fn prepare(
        self,
        setting: &Setting,
        consent: &Consent<'_>,
        runtime: &Runtime,
        offline: bool,
    ) -> Result<(Prepared, Held), Failure> {
        let what = Preparation {
            plan: self.plan,
            plugins: self.plugins,
            env: setting.environment.map().clone(),
            offline,
        };
        match runtime.block_on(prepare(what)) {
            Ok(prepared) => Ok((prepared, self.held)),
            Err(errors) => Err(self
                .held
                .refuse(errors.map(|errors| told(errors.0)), consent)),
        }
    }
}

impl Asking {
    /// The command that asks for what a run of these flags needs; `cwd` is where its config is.
    pub(super) fn of(inputs: &Inputs, cwd: &Path, setting: &Setting) -> Self {
        let mut words = inputs.words();
        if inputs.config.is_empty() && cwd != setting.cwd {
            words.paths("-c", [&cwd]);
        }
        words.paths("--env-file", &setting.env_files);
        Self::new(words)
    }
}

/// A run that was agreed to. Until then nothing is sent, and nothing written but what the person
/// answered.
pub(super) fn consented(
    session: &Session,
    setting: &Setting,
    files_read: &FilesRead,
    runtime: &Runtime,
    offline: bool,
    purpose: Purpose,
) -> Result<Settled, Failure> {
    let eval = &session.eval;
    // Known from the arguments alone, so said before anything is read.
    for path in &eval.output {
        Output::at(OutputPath::new(path.clone(), Origin::Person))?;
    }
    let overrides = overrides(eval, setting, files_read)?;
    let request = request(&eval.inputs, &session.cwd, overrides, setting, files_read);
    let folders = request.folders();
    let command = Asking::of(&eval.inputs, &session.cwd, setting);
    let consent = consent(&eval.trust, command, purpose, setting, &folders)?;
    let planned = plan(&request, &eval.inputs, setting, &consent)?;
    let locked = eval.trust.locked;
    planned
        .lock
        .check(&planned.plugins, locked, &setting.talk)?;
    let (prepared, held) = planned.prepare(setting, &consent, runtime, offline)?;
    let settled = consent.settle(prepared, runtime)?;
    held.tell(&consent)?;
    Ok(settled)
}

/// How the person is asked about a run; `command` asks them, too.
pub(super) fn consent<'a>(
    flags: &TrustFlags,
    command: Asking,
    purpose: Purpose,
    setting: &'a Setting,
    folders: &'a BTreeSet<PathBuf>,
) -> Result<Consent<'a>, Failure> {
    Ok(Consent {
        unseen: Unseen::of(flags, setting.trusted.as_deref())?,
        folders,
        remembered: setting.remembered.clone(),
        how: if setting.terminal.can_ask {
            How::Question
        } else {
            How::Nobody
        },
        command,
        purpose,
        talk: &setting.talk,
    })
}

/// Which config is meant. `cwd` is where it is looked for if no flag names one.
pub(super) fn request(
    arguments: &Inputs,
    cwd: &Path,
    overrides: Overrides,
    setting: &Setting,
    files_read: &FilesRead,
) -> LoadRequest {
    LoadRequest {
        config_files: arguments.config.clone(),
        cwd: cwd.to_owned(),
        env: setting.environment.map().clone(),
        overrides,
        files_read: files_read.clone(),
    }
}

/// The plan and the components that it runs on.
pub(super) fn plan(
    request: &LoadRequest,
    arguments: &Inputs,
    setting: &Setting,
    consent: &Consent<'_>,
) -> Result<Planned, Failure> {
    let mut held = Held::default();
    let talk = &setting.talk;
    let loaded = match runner_config::load(request) {
        Ok(loaded) => loaded,
        Err(error) => return Err(refused(held, error, consent)),
    };
    let (config, asked) = (loaded.config, loaded.warnings.requests().to_vec());
    held.say(loaded.warnings.map(Said::warnings), talk);
    let sandbox = sandbox(&config.run_options(), setting)?;
    let sources = sources(&config, &request.files_read, &arguments.plugin, setting)?;
    let lock = lock::Place::of(&config.files, &request.cwd);
    let plugins = match PluginSet::load(&sandbox, sources) {
        Ok((plugins, warnings)) => {
            held.say(Sealed::new(Said::warnings(warnings), &asked), talk);
            plugins
        }
        Err(errors) => return Err(held.refuse(Sealed::new(told(errors.0), &asked), consent)),
    };
    let written = RefCell::new(Vec::new());
    let write = |line: &str| {
        if setting.verbose {
            written.borrow_mut().push(Said::Line(line.to_owned()));
        }
    };
    let planned = config.plan_with(&plugins.catalog(), &Ahead::new(&plugins, &sandbox, &write));
    let (plan, warnings) = match planned {
        Ok(planned) => planned,
        Err(error) => {
            held.say(error.clone().map(|_| written.take()), talk);
            return Err(refused(held, error, consent));
        }
    };
    held.say(warnings.clone().map(|_| written.take()), talk);
    held.say(warnings.map(Said::warnings), talk);
    for narrowing in &plan.narrowings {
        talk.note(&narrowing.to_string());
    }
    match plugins.load_needed(&sandbox, &plan) {
        Ok(plugins) => Ok(Planned {
            plan,
            plugins,
            lock,
            held,
        }),
        Err(errors) => {
            let errors = Sealed::new(told(errors.0), &plan.trust_requests);
            Err(held.refuse(errors, consent))
        }
    }
}

/// Where components come from; those that the user brings are noted as read.
fn sources(
    config: &Config,
    files_read: &FilesRead,
    flags: &[PathBuf],
    setting: &Setting,
) -> Result<PluginSources, Failure> {
    let components = config.plugins.iter().map(|plugin| &plugin.source);
    let components = components.filter(|source| !source.as_os_str().is_empty());
    for path in flags.iter().chain(components) {
        files_read.add(&setting.cwd.join(path));
    }
    let program = std::env::current_exe().context("the program's own file can't be found")?;
    let bundled = home::bundled_plugins(&setting.environment, &setting.cwd, &program)?;
    Ok(PluginSources {
        bundled: Some(bundled),
        paths: flags.to_vec(),
        entries: config.plugins.clone(),
    })
}

/// What is wrong with a config. What is odd about it is told first: it may be the reason.
fn refused(mut held: Held, error: Sealed<ConfigError>, consent: &Consent<'_>) -> Failure {
    let warnings = error.clone().map(|error| Said::warnings(error.warnings));
    held.say(warnings, consent.talk);
    held.refuse(error.map(|error| told(error.problems)), consent)
}

fn told(problems: impl IntoIterator<Item: ToString>) -> Vec<String> {
    let problems = problems.into_iter();
    problems.map(|problem| problem.to_string()).collect()
}
