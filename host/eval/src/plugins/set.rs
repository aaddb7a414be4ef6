//! The components of a run, and who of them serves what.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use runner_config::PluginEntry;

use super::bundle::{OptionalPlugin, UnloadedPlugin};
use super::loaded::LoadedPlugin;
use super::sources::BundleProof;

/// The components of a run.
#[derive(Debug, Default)]
pub struct PluginSet {
    pub(super) plugins: Vec<Arc<LoadedPlugin>>,
    /// Components of the bundle that are not loaded.
    pub(super) waiting: Vec<UnloadedPlugin>,
    /// How components of the bundle are known.
    pub(super) known: BundleProof,
    /// Components that could be beside the bundle and are not.
    pub(super) absent: Vec<OptionalPlugin>,
    pub(super) prefixes: BTreeMap<String, ServingPlugin>,
    pub(super) types: BTreeMap<String, ServingPlugin>,
    /// Languages of code.
    pub(super) languages: BTreeMap<String, usize>,
    /// What the config grants to components of the bundle, by name.
    pub(super) granted: BTreeMap<String, PluginEntry>,
    /// The folder to which a config's names of files are relative.
    pub(super) config_folder: Option<PathBuf>,
}

/// Who serves a name of a config.
#[derive(Debug)]
pub(super) struct ServingPlugin {
    /// Its place among the plugins.
    pub(super) index: usize,
    /// What the plugin itself calls it.
    pub(super) own: String,
}

impl PluginSet {
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

    fn serving<'a>(&'a self, serves: &'a ServingPlugin) -> (&'a Arc<LoadedPlugin>, &'a str) {
        (&self.plugins[serves.index], &serves.own)
    }
}
