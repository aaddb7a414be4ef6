//! A component that was loaded: who vouches for it, and what it is called.

use runner_config::PluginEntry;
use runner_sandbox::Plugin;

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

    /// Its entry under `plugins:`, if it is somebody else's and has one.
    pub(crate) fn entry(&self) -> Option<&PluginEntry> {
        match &self.trust {
            Trust::Foreign(entry) => entry.as_deref(),
            Trust::Bundled => None,
        }
    }

    /// Whether its entry says which provider a name stands for by which it asks.
    pub(crate) fn names_model(&self, alias: &str) -> bool {
        let entry = self.entry();
        entry.is_some_and(|entry| entry.permissions.llm_providers.contains_key(alias))
    }

    /// The name that the config gives to one of its types or prefixes.
    pub(super) fn renamed(&self, own: &str) -> Option<&String> {
        self.entry()?.renamed.get(own).map(|(name, _)| name)
    }
}
