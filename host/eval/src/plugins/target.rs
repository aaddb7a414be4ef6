//! A provider of the config, ready to be called.

use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{ProviderCode, Script};
use runner_gateway::{Grants, Payers, Price, Scheduling};
use runner_sandbox::CallLimits;
use runner_sandbox::abi;
use serde_json::{Map, Value};

use super::loaded::{LoadedPlugin, Trust};
use crate::programs::Callee;

/// A provider of the config, ready to be called.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the config writes it.
    pub(crate) id: String,
    pub(crate) answers: ProviderBackend,
    pub(crate) grants_digest: String,
    pub(crate) scheduling: Arc<Scheduling>,
    /// `delay` of the provider or the run.
    pub(crate) delay: Option<Duration>,
    pub(crate) price: Option<Price>,
    /// Whose budgets pay, if any.
    pub(crate) payers: Option<Payers>,
}

/// What answers for a provider.
#[derive(Debug)]
pub(crate) enum ProviderBackend {
    /// A plugin's component.
    Component(ByPlugin),
    /// The config's own code or command.
    Own(ConfigProvider),
}

/// A component under its grants.
#[derive(Debug)]
pub(crate) struct ByPlugin {
    pub(crate) plugin: Arc<LoadedPlugin>,
    pub(crate) abi: abi::Target,
    pub(crate) grants: Arc<Grants>,
    pub(crate) limits: CallLimits,
    /// Code that the host runs around its calls.
    pub(crate) code: ProviderCode,
    /// Whether it takes the case's variables, for templates in its config.
    pub(crate) reads_vars: bool,
    /// Whether its check of the config reads the id, too.
    pub(crate) checks_itself: bool,
    /// Whether it is agreed to that its component sees the config.
    pub(crate) may_see_config: bool,
}

/// Code of the config, or a command.
#[derive(Debug)]
pub(crate) struct ConfigProvider {
    pub(crate) runs: ExecutionMode,
    pub(crate) label: Option<String>,
    /// Its `config`, without the keys that are the host's.
    pub(crate) config: Map<String, Value>,
}

/// Where it runs.
#[derive(Debug)]
pub(crate) enum ExecutionMode {
    /// In the sandbox.
    Sandboxed(Arc<Script>),
    /// In an interpreter of the person's machine.
    Outside(Arc<Callee>, Arc<Script>),
    /// As a command of the person's machine.
    Command(Arc<Callee>),
}

impl Target {
    /// Whose component answers; `None`: the config's own code does.
    pub(crate) fn trust(&self) -> Option<&Trust> {
        match &self.answers {
            ProviderBackend::Component(it) => Some(&it.plugin.trust),
            ProviderBackend::Own(_) => None,
        }
    }

    /// Whether it can be asked for vectors. Whether code of the config makes some is known when it
    /// is asked.
    pub(crate) fn embeds(&self) -> bool {
        match &self.answers {
            ProviderBackend::Component(served) => served.plugin.component.embeds(),
            ProviderBackend::Own(own) => !matches!(own.runs, ExecutionMode::Command(_)),
        }
    }

    /// What its component may reach.
    pub(crate) fn grants(&self) -> Option<&Arc<Grants>> {
        match &self.answers {
            ProviderBackend::Component(served) => Some(&served.grants),
            ProviderBackend::Own(_) => None,
        }
    }

    /// Whether it takes the case's variables, for templates in its config.
    pub(crate) fn reads_vars(&self) -> bool {
        matches!(&self.answers, ProviderBackend::Component(served) if served.reads_vars)
    }

    /// What answered, its version, and the digest of what it is made of; the last two are empty
    /// where nothing is known of them.
    pub(crate) fn provenance(&self) -> (String, String, String) {
        let own = |language: &str, script: Option<&Script>| {
            let digest = script.map(Script::digest).unwrap_or_default();
            (language.to_owned(), String::new(), digest)
        };
        match &self.answers {
            ProviderBackend::Component(served) => {
                let component = &served.plugin.component;
                let info = component.info();
                let sha256 = component.sha256().to_owned();
                (info.name.clone(), info.version.clone(), sha256)
            }
            ProviderBackend::Own(ConfigProvider { runs, .. }) => match runs {
                ExecutionMode::Sandboxed(script) | ExecutionMode::Outside(_, script) => {
                    own(&script.language, Some(script))
                }
                ExecutionMode::Command(_) => own("exec", None),
            },
        }
    }
}
