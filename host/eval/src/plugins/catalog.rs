//! What the plugins of a run serve, as a config reads it.

use std::collections::{BTreeMap, BTreeSet};

use runner_config::plan::MAX_SCORE;
use runner_config::{AbsentLanguage, Catalog};

use super::bundle::{Waiting, settings};
use super::{PluginSet, Trust};
use crate::private_door::asks_judges;

impl PluginSet {
    /// What exists, for the config to check names against.
    pub fn catalog(&self) -> Catalog {
        let names = |map: &BTreeMap<String, usize>| {
            map.iter()
                .map(|(key, index)| (key.clone(), self.plugins[*index].alias.clone()))
                .collect()
        };
        let mut assertion_types: BTreeMap<String, String> = names(&self.types);
        assertion_types.extend(names(&self.languages));
        // The one type that the host serves itself.
        assertion_types.insert(MAX_SCORE.to_owned(), "runner".to_owned());
        let mut catalog = Catalog {
            provider_prefixes: names(&self.prefixes),
            assertion_types,
            script_languages: self.script_languages(),
            asking_types: self
                .types
                .iter()
                .filter(|(_, index)| {
                    let info = self.plugins[**index].component.info();
                    asks_judges(info)
                })
                .map(|(name, _)| name.clone())
                .collect(),
            wordlike_types: self.wordlike_types(),
            settings: self
                .plugins
                .iter()
                .flat_map(|plugin| settings(plugin.component.info()))
                .collect(),
            absent_languages: self.absent_languages(),
        };
        for Waiting { served, .. } in &self.waiting {
            let serves = |name: &String| (name.clone(), served.name.clone());
            let prefixes = served.prefixes.iter().map(serves);
            catalog.provider_prefixes.extend(prefixes);
            catalog
                .assertion_types
                .extend(served.types.iter().map(serves));
            catalog.settings.extend(served.settings.iter().cloned());
            if served.asks {
                catalog.asking_types.extend(served.types.iter().cloned());
            }
            let languages = served.languages.iter();
            let names = languages.clone().map(|(language, _)| serves(language));
            catalog.assertion_types.extend(names);
            catalog.script_languages.extend(languages.cloned());
        }
        catalog
    }

    /// Types and languages of somebody else's plugins that are not called after their plugin.
    fn wordlike_types(&self) -> BTreeSet<String> {
        let names = self.types.iter().chain(&self.languages);
        let wordlike = names.filter(|(name, index)| {
            let plugin = &self.plugins[**index];
            matches!(plugin.trust, Trust::Foreign(_)) && !is_called_after(name, &plugin.alias)
        });
        wordlike.map(|(name, _)| name.clone()).collect()
    }

    /// Languages that nothing here runs and an absent component would.
    fn absent_languages(&self) -> BTreeMap<String, AbsentLanguage> {
        let languages = self.absent.iter().flat_map(|option| {
            let help = option.help.to_owned();
            let languages = option.served.languages.iter();
            languages.map(move |(name, extensions)| {
                let (extensions, help) = (extensions.clone(), help.clone());
                (name.clone(), AbsentLanguage { extensions, help })
            })
        });
        languages
            .filter(|(name, _)| !self.languages.contains_key(name))
            .collect()
    }

    /// Each language of code with the extensions of its files.
    fn script_languages(&self) -> BTreeMap<String, Vec<String>> {
        let plugins = self.plugins.iter();
        let languages = plugins.flat_map(|plugin| plugin.component.script_languages());
        languages
            .map(|language| (language.name.clone(), language.extensions.clone()))
            .collect()
    }
}

/// Whether a name is that of its plugin, alone or with more behind it.
fn is_called_after(name: &str, plugin: &str) -> bool {
    let more = name.strip_prefix(plugin);
    more.is_some_and(|more| more.is_empty() || more.starts_with(['-', '/', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_called_after_its_plugin_begins_with_the_whole_name() {
        for name in ["acme", "acme-tone", "acme/tone", "acme:tone"] {
            assert!(is_called_after(name, "acme"), "{name}");
        }
        for name in ["https", "acmetone", "ac", "not-acme", ""] {
            assert!(!is_called_after(name, "acme"), "{name}");
        }
    }
}
