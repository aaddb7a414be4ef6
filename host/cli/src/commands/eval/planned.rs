//! From flags to a run that was agreed to: the plan, its components, its needs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use runner_config::plan::{OutputPath, Plan};
use runner_config::{FilesRead, LoadRequest, Origin, Overrides};
use runner_eval::plugins::{PluginSet, PluginSources};
use runner_eval::{Ahead, Preparation, Prepared, Settled, prepare};
use tokio::runtime::Runtime;

use super::super::Setting;
use super::session::Session;
use super::{overrides, refused, sandbox, warn};
use crate::arguments::Inputs;
use crate::consent::{Asking, Consent, How, Unseen};
use crate::failure::Failure;
use crate::home;
use crate::lock;
use crate::output::Output;

/// A plan with the components that it runs on.
pub(super) struct Planned {
    plan: Plan,
    pub(super) plugins: PluginSet,
    /// The folders of the config's files.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Where its components are written down.
    pub(super) lock: lock::Place,
}

impl Planned {
    /// Binds it; finds everything that a run would be refused for.
    pub(super) fn prepare(
        self,
        setting: &Setting,
        runtime: &Runtime,
        offline: bool,
    ) -> Result<Prepared, Failure> {
        let what = Preparation {
            plan: self.plan,
            plugins: self.plugins,
            env: setting.environment.map().clone(),
            offline,
        };
        let prepared = runtime.block_on(prepare(what));
        prepared.map_err(|errors| Failure::usage_all(errors.0))
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
) -> Result<Settled, Failure> {
    let eval = &session.eval;
    let unseen = Unseen::of(&eval.trust, setting.trusted.as_deref())?;
    // Known from the arguments alone, so said before anything is read.
    for path in &eval.output {
        Output::at(OutputPath::new(path.clone(), Origin::Person))?;
    }
    let overrides = overrides(eval, setting, files_read)?;
    let planned = plan(&eval.inputs, &session.cwd, overrides, setting, files_read)?;
    let locked = eval.trust.locked;
    planned
        .lock
        .check(&planned.plugins, locked, &setting.talk)?;
    let folders = planned.folders.clone();
    let prepared = planned.prepare(setting, runtime, offline)?;
    let consent = Consent {
        unseen,
        folders: &folders,
        remembered: setting.remembered.clone(),
        how: if setting.terminal.can_ask {
            How::Question
        } else {
            How::Nobody
        },
        command: Asking::of(&eval.inputs, &session.cwd, setting),
        talk: &setting.talk,
    };
    consent.settle(prepared, runtime)
}

/// The plan and the components that it runs on; warnings are told. `cwd` is where the config is
/// looked for if no flag names one.
pub(super) fn plan(
    arguments: &Inputs,
    cwd: &Path,
    overrides: Overrides,
    setting: &Setting,
    files_read: &FilesRead,
) -> Result<Planned, Failure> {
    let loaded = runner_config::load(&LoadRequest {
        config_files: arguments.config.clone(),
        cwd: cwd.to_owned(),
        env: setting.environment.map().clone(),
        overrides,
        files_read: files_read.clone(),
    })
    .map_err(|error| refused(error, setting))?;
    warn(&loaded.warnings, setting);
    let components = loaded.config.plugins.iter().map(|plugin| &plugin.source);
    let components = components.filter(|source| !source.as_os_str().is_empty());
    for path in arguments.plugin.iter().chain(components) {
        files_read.add(&setting.cwd.join(path));
    }
    let program = std::env::current_exe().context("the program's own file can't be found")?;
    let sandbox = sandbox(&loaded.config.run_options(), setting)?;
    let sources = PluginSources {
        bundled: Some(home::bundled_plugins(
            &setting.environment,
            &setting.cwd,
            &program,
        )?),
        paths: arguments.plugin.clone(),
        entries: loaded.config.plugins.clone(),
    };
    let (plugins, warnings) =
        PluginSet::load(&sandbox, sources).map_err(|errors| Failure::usage_all(errors.0))?;
    for warning in warnings {
        setting.talk.warning(&warning);
    }
    let said = |line: &str| {
        if setting.verbose {
            setting.talk.line(line);
        }
    };
    let folders = loaded.config.folders.clone();
    let lock = lock::Place::of(&loaded.config.files, cwd);
    let (plan, warnings) = loaded
        .config
        .plan_with(&plugins.catalog(), &Ahead::new(&plugins, &sandbox, &said))
        .map_err(|error| refused(error, setting))?;
    warn(&warnings, setting);
    for narrowing in &plan.narrowings {
        setting.talk.note(&narrowing.to_string());
    }
    let plugins = plugins
        .load_needed(&sandbox, &plan)
        .map_err(|errors| Failure::usage_all(errors.0))?;
    Ok(Planned {
        plan,
        plugins,
        folders,
        lock,
    })
}
