//! What the components that come with the program serve, known without looking into them.
//!
//! Compiling a component takes seconds on a machine that has not seen it, and most runs need two
//! or three of them. So the table `bundle.json` says who serves what, the config is checked
//! against it, and only what the plan needs is loaded. A test holds the table against the
//! components; a file that is not in it, such as the interpreter of JavaScript, which may stand
//! anywhere in a config, is loaded like any other. The interpreter of Python is an option: it is
//! built with a toolchain of its own, takes long to compile, and most configs do without.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner_config::plan::{Plan, Test};
use runner_sandbox::abi::Info;
use runner_sandbox::{CarriedSet, LoadError, Plugin, Sandbox};
use serde::{Deserialize, Serialize};

use crate::private_door::asks_judges;

/// What a component serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginServices {
    /// Its name.
    pub name: String,
    /// Provider prefixes.
    pub prefixes: Vec<String>,
    /// Assertion types.
    pub types: Vec<String>,
    /// Whether its assertions ask models.
    pub asks: bool,
    /// Variables that set it up and are no credentials.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub settings: BTreeSet<String>,
    /// Languages of code, each with the extensions of its files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<(String, Vec<String>)>,
}

/// A component that is no part of the bundle and may be beside it, and is loaded when needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionalPlugin {
    /// What it serves.
    pub served: PluginServices,
    /// How to get it.
    pub help: &'static str,
}

/// A component of the bundle that is not loaded.
#[derive(Debug)]
pub(super) struct UnloadedPlugin {
    pub(super) served: PluginServices,
    pub(super) place: Whereabouts,
    /// Whether it may be missing.
    pub(super) is_optional: bool,
}

/// Where a component is.
#[derive(Debug)]
pub(super) enum Whereabouts {
    File(PathBuf),
    /// In the program itself, under the name by which it serves.
    Carried(Arc<CarriedSet>),
}

impl UnloadedPlugin {
    /// The file that it is in.
    pub(super) fn path(&self) -> &Path {
        match &self.place {
            Whereabouts::File(path) => path,
            Whereabouts::Carried(carried) => carried.path(),
        }
    }

    /// Loads it.
    pub(super) fn load(&self, sandbox: &Sandbox) -> Result<Plugin, LoadError> {
        match &self.place {
            Whereabouts::File(path) => sandbox.load(path, None),
            Whereabouts::Carried(carried) => sandbox.load_carried(carried, &self.served.name),
        }
    }
}

impl PluginServices {
    /// What a loaded component serves.
    pub fn by(component: &Plugin) -> Self {
        let info = component.info();
        let types = &info.assertion_types;
        Self {
            name: info.name.clone(),
            prefixes: info.provider_prefixes.clone(),
            types: types.iter().map(|served| served.name.clone()).collect(),
            asks: types
                .iter()
                .any(|served| asks_judges(info, &served.name, |_| false)),
            settings: settings(info),
            languages: component
                .script_languages()
                .iter()
                .map(|language| (language.name.clone(), language.extensions.clone()))
                .collect(),
        }
    }

    /// Whether a plan that names these needs it.
    pub(super) fn is_needed(&self, names: &PlanNames<'_>) -> bool {
        let any = |served: &[String], named: &BTreeSet<&str>| {
            served.iter().any(|name| named.contains(name.as_str()))
        };
        let mut languages = self.languages.iter();
        any(&self.prefixes, &names.prefixes)
            || any(&self.types, &names.types)
            || languages.any(|(language, _)| names.languages.contains(language))
    }
}

/// The variables that set up a plugin, credentials left out.
pub(super) fn settings(info: &Info) -> BTreeSet<String> {
    let settings = info.wants.settings.iter();
    settings.map(|setting| setting.env.clone()).collect()
}

/// What the program knows of its bundle: one entry a component, in the order of file names.
///
/// # Panics
/// If the table in the program is no table; a test reads it.
pub fn bundle() -> Vec<PluginServices> {
    serde_json::from_str(include_str!("bundle.json")).expect("the program's own table is JSON")
}

/// What the program knows of components that may be beside its bundle.
pub fn optional() -> Vec<OptionalPlugin> {
    let name = || "python".to_owned();
    vec![OptionalPlugin {
        served: PluginServices {
            name: name(),
            prefixes: Vec::new(),
            types: Vec::new(),
            asks: false,
            settings: BTreeSet::new(),
            languages: vec![(name(), vec!["py".to_owned()])],
        },
        help: "this program was built without it: take one that carries it, or name its file: \
               --plugin python.wasm",
    }]
}

/// The names by which a plan means components.
pub(super) struct PlanNames<'a> {
    languages: &'a BTreeSet<String>,
    prefixes: BTreeSet<&'a str>,
    types: BTreeSet<&'a str>,
}

impl<'a> PlanNames<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let assertions = || plan.tests.models().flat_map(Test::assertions);
        let judges = assertions().flat_map(|one| one.judges.all());
        let judges = judges
            .chain(plan.own_providers())
            .chain(plan.plugin_models.values().copied())
            .map(|id| &plan.judges[id.0 as usize]);
        Self {
            languages: &plan.languages,
            prefixes: plan
                .providers
                .iter()
                .chain(judges)
                .filter(|provider| provider.program.is_none())
                .map(|provider| provider.prefix.as_str())
                .collect(),
            types: assertions().map(|one| one.kind.as_str()).collect(),
        }
    }

    /// Leaves out what is served already, even where the bundle has it, too.
    pub(super) fn leave_out(
        &mut self,
        has_prefix: impl Fn(&str) -> bool,
        has_type: impl Fn(&str) -> bool,
    ) {
        self.prefixes.retain(|name| !has_prefix(name));
        self.types.retain(|name| !has_type(name));
    }
}
