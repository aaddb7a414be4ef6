//! Which component serves which provider prefix and assertion type.
//!
//! Components come from three places: those named by `--plugin`, those under the config's
//! `plugins:`, and those bundled beside the program. None of them may claim a name, a prefix
//! or a type that another has: a config must mean the same whatever else is installed, so
//! there is no order of precedence. What the config itself calls by a name of the program's (`as:`) takes its place.
//!
//! What a plugin may do is decided in `binding`; this module only knows who there is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner_config::plan::Plan;
use runner_config::{PluginEntry, on_one_line};
use runner_sandbox::{Carried, LoadError, Plugin, Sandbox};

mod auth;
mod aws;
mod bind_error;
mod binding;
mod bounds;
mod budgets;
mod bundle;
mod catalog;
mod claims;
mod configured;
mod credentials;
mod extensions;
mod foreign;
mod google;
mod interpreter;
mod loading;
mod pasted;
mod price;
mod slips;
mod target;
mod ways;

pub(crate) use bind_error::place;
pub use bind_error::{BindError, StatedPlace};
pub(crate) use binding::{Binder, Grader};
pub(crate) use bounds::AllLanes;
pub(crate) use budgets::Budgets;
use bundle::{Names, Waiting};
pub use bundle::{Optional, Served, bundle, optional};
use claims::Serves;
pub use foreign::{ThirdParty, entry_yaml};
pub(crate) use foreign::{interpreter, interpreters};
pub(crate) use interpreter::{FUEL_BEFORE_A_RUN, Interpreter};
use loading::{Loading, canonical};
pub(crate) use price::price;
pub(crate) use target::{Answers, ByPlugin, Own, Runs, Target};
pub(crate) use ways::{Noted, Ways};

/// Where to look for components.
#[derive(Debug, Default)]
pub struct PluginSources {
    /// The bundled components.
    pub bundled: Option<Bundled>,
    /// `--plugin`: files and directories.
    pub paths: Vec<PathBuf>,
    /// The config's `plugins:`.
    pub entries: Vec<PluginEntry>,
}

/// Where the components are that came with the program, and how they are told from others.
#[derive(Debug, Clone)]
pub enum Bundled {
    /// In the program itself, which vouches for them.
    Carried(Arc<Carried>),
    /// In files.
    Folder {
        /// Their directory.
        directory: PathBuf,
        /// Who says that they are.
        known: Known,
    },
}

/// How a component is known to have come with the program.
#[derive(Debug, Clone)]
pub enum Known {
    /// By its digest, one of these: a folder beside the program may be anybody's.
    Digests(BTreeSet<String>),
    /// By its folder, which the user named.
    Folder,
}

impl Known {
    /// Whether a component with this digest came with the program.
    fn vouches(&self, sha256: &str) -> bool {
        match self {
            Self::Digests(digests) => digests.contains(sha256),
            Self::Folder => true,
        }
    }
}

/// Nothing came with it.
impl Default for Known {
    fn default() -> Self {
        Self::Digests(BTreeSet::new())
    }
}

/// Who vouches for a component.
#[derive(Debug, Clone)]
pub(crate) enum Trust {
    /// It came with the program: it is granted what it wants, for the addresses that it states
    /// or the user configures.
    Bundled,
    /// Somebody else's: it is granted what the config grants, which is nothing without an entry.
    Foreign(Option<Box<PluginEntry>>),
}

/// A component that was loaded.
#[derive(Debug)]
pub(crate) struct LoadedPlugin {
    pub(crate) component: Plugin,
    /// The name by which the user knows it.
    pub(crate) alias: String,
    pub(crate) trust: Trust,
}

impl LoadedPlugin {
    /// What an assertion type takes as its value, in words: the title of its schema.
    pub(crate) fn value_title(&self, assertion_type: &str) -> Option<String> {
        let mut types = self.component.info().assertion_types.iter();
        let served = types.find(|served| served.name == assertion_type)?;
        let schema = served.value_schema_json.as_deref()?;
        let schema: serde_json::Value = serde_json::from_str(schema).ok()?;
        schema["title"].as_str().map(str::to_owned)
    }

    /// Alias, file and digest, as every message about a plugin begins.
    pub(crate) fn named(&self) -> String {
        let component = &self.component;
        format!(
            "plugin '{}' ({}, sha256 {}…)",
            self.alias,
            component.path().display(),
            &component.sha256()[..8]
        )
    }
}

/// The components of a run.
#[derive(Debug, Default)]
pub struct PluginSet {
    plugins: Vec<Arc<LoadedPlugin>>,
    /// Components of the bundle that are not loaded.
    waiting: Vec<Waiting>,
    /// How components of the bundle are known.
    known: Known,
    /// Components that could be beside the bundle and are not.
    absent: Vec<Optional>,
    prefixes: BTreeMap<String, Serves>,
    types: BTreeMap<String, Serves>,
    /// Languages of code.
    languages: BTreeMap<String, usize>,
    /// What the config grants to components of the bundle, by name.
    granted: BTreeMap<String, PluginEntry>,
}

/// A path as a line of ours has it.
fn shown(path: &Path) -> String {
    on_one_line(&path.to_string_lossy()).into_owned()
}

/// Why a component can't be part of the run.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The file is no plugin, or not one for this program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A path that can't be read.
    #[error("{}: {source}\nhelp: --plugin and plugins.*.source take a .wasm file or a directory with such files", shown(.path))]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A component of the bundle serves other names than the program knows of it.
    #[error("{}: this component is of another version than the program\nhelp: install program and plugins together, or build both with `cargo xtask quickstart`; RUNNER_BUNDLED_PLUGINS names the folder of others that you trust", shown(.path))]
    OtherBundle {
        /// The file.
        path: PathBuf,
    },
    /// An entry without a file, and no component of that name comes with the program.
    #[error(
        "plugins.{alias} has no `source`, and no plugin of that name comes with the program\nhelp: for example: source: ./plugins/acme.wasm"
    )]
    NoSource {
        /// The entry's name.
        alias: String,
    },
    /// Somebody else's component claims files that mean the same in every config.
    #[error("plugin '{name}' ({}): P010 claims the files '.{extension}', which a config means by itself\nhelp: a language of a plugin has an extension of its own", shown(.path))]
    Reserved {
        /// Its name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// The extension.
        extension: String,
    },
    /// The config gives another name to what the component doesn't serve.
    #[error(
        "{at}: plugin '{alias}' serves no assertion type and no provider '{own}'\nhelp: {help}"
    )]
    NoSuchName {
        /// Where the config says so.
        at: Box<StatedPlace>,
        /// The plugin's alias.
        alias: String,
        /// What the config takes for its name.
        own: String,
        /// What it serves.
        help: String,
    },
    /// Two components claim the same.
    #[error("{at}plugin '{name}' ({}, sha256 {sha256}…): P010 claims the {what} '{claim}', which {} has already\nhelp: {help}", shown(.path), shown(.other))]
    Duplicate {
        /// Where the config names the later one, if it does, as a message begins.
        at: String,
        /// The later one's name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// Its sha256, shortened.
        sha256: String,
        /// `name`, `provider prefix` or `assertion type`.
        what: &'static str,
        /// What both claim.
        claim: String,
        /// The earlier one's file.
        other: PathBuf,
        /// What to do.
        help: String,
    },
}

impl PluginSet {
    /// Loads every component but those of the bundle that are known without, see
    /// [`Self::load_needed`]. Files that are no plugins are warnings (the second part of the
    /// result) in a directory, errors where they are named.
    ///
    /// # Errors
    /// All problems together, see [`PluginError`].
    pub fn load(
        sandbox: &Sandbox,
        sources: PluginSources,
    ) -> Result<(Self, Vec<String>), Vec<PluginError>> {
        let mut loading = Loading {
            sandbox,
            set: Self::default(),
            warnings: Vec::new(),
            errors: Vec::new(),
        };
        if let Some(bundled) = sources.bundled {
            loading.bundle(bundled);
        }
        let named: Vec<PathBuf> = sources
            .entries
            .iter()
            .filter_map(|e| canonical(&e.source))
            .collect();
        for entry in sources.entries {
            if entry.source.as_os_str().is_empty() {
                loading.grant(entry);
                continue;
            }
            let (path, alias) = (entry.source.clone(), entry.alias.clone());
            loading.file(&path, Some(&alias), Trust::Foreign(Some(Box::new(entry))));
        }
        for path in &sources.paths {
            if canonical(path).is_some_and(|path| named.contains(&path)) {
                continue; // the entry under `plugins:` says more about the same file
            }
            if path.is_dir() {
                loading.directory_except(path, &Trust::Foreign(None), &named);
            } else {
                loading.file(path, None, Trust::Foreign(None));
            }
        }
        if loading.errors.is_empty() {
            Ok((loading.set, loading.warnings))
        } else {
            Err(loading.errors)
        }
    }

    /// Loads those components of the bundle that `plan` needs.
    ///
    /// # Errors
    /// All problems together, see [`PluginError`].
    pub fn load_needed(self, sandbox: &Sandbox, plan: &Plan) -> Result<Self, Vec<PluginError>> {
        let mut loading = Loading {
            sandbox,
            set: self,
            warnings: Vec::new(),
            errors: Vec::new(),
        };
        let mut names = Names::of(plan);
        names.leave_out(&loading.set);
        let waiting = std::mem::take(&mut loading.set.waiting);
        for one in waiting
            .into_iter()
            .filter(|one| one.served.is_needed(&names))
        {
            match one.load(sandbox) {
                Ok(component) if Served::by(&component) == one.served => {
                    loading.bundled(component, one.is_optional);
                }
                Ok(component) => loading.errors.push(PluginError::OtherBundle {
                    path: component.path().to_owned(),
                }),
                Err(error) => loading.errors.push(error.into()),
            }
        }
        if loading.errors.is_empty() {
            Ok(loading.set)
        } else {
            Err(loading.errors)
        }
    }

    /// Whether an assertion type is a language of code.
    pub(crate) fn is_language(&self, assertion_type: &str) -> bool {
        self.languages.contains_key(assertion_type)
    }

    /// Names, versions and digests of what is loaded, for the run's provenance.
    pub fn provenance(&self) -> serde_json::Value {
        self.plugins
            .iter()
            .map(|plugin| {
                serde_json::json!({
                    "alias": plugin.alias,
                    "name": plugin.component.info().name,
                    "version": plugin.component.info().version,
                    "sha256": plugin.component.sha256(),
                })
            })
            .collect()
    }

    /// The entry that grants something to a component of the bundle.
    pub(crate) fn granted(&self, name: &str) -> Option<&PluginEntry> {
        self.granted.get(name)
    }

    /// Who serves a prefix of the config's, and what the plugin calls it.
    pub(crate) fn by_prefix(&self, prefix: &str) -> Option<(&Arc<LoadedPlugin>, &str)> {
        Some(self.serving(self.prefixes.get(prefix)?))
    }

    /// Who serves an assertion type of the config's, and what the plugin calls it.
    pub(crate) fn by_type(&self, assertion_type: &str) -> Option<(&Arc<LoadedPlugin>, &str)> {
        Some(self.serving(self.types.get(assertion_type)?))
    }

    fn serving<'a>(&'a self, serves: &'a Serves) -> (&'a Arc<LoadedPlugin>, &'a str) {
        (&self.plugins[serves.index], &serves.own)
    }
}
