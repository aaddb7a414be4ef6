//! What the plugins of a run serve, as a config reads it.

use std::collections::{BTreeMap, BTreeSet};

use runner_config::plan::{HUMAN, MAX_SCORE};
use runner_config::{AbsentLanguage, Catalog};

use super::bundle::{UnloadedPlugin, settings};
use super::loaded::Trust;
use super::set::PluginSet;
use super::set::ServingPlugin;
use crate::private_door::asks_judges;

impl PluginSet {
    /// What exists, for the config to check names against.
    pub fn catalog(&self) -> Catalog {
        let alias = |index: usize| self.plugins[index].alias.clone();
        let names = |map: &BTreeMap<String, ServingPlugin>| -> BTreeMap<String, String> {
            let names = map.iter();
            names
                .map(|(name, serves)| (name.clone(), alias(serves.index)))
                .collect()
        };
        let mut assertion_types = names(&self.types);
        let script_languages = self.script_languages();
        let languages = self.languages.iter();
        let languages = languages.filter(|(name, _)| script_languages.contains_key(*name));
        assertion_types.extend(languages.map(|(name, index)| (name.clone(), alias(*index))));
        // No plugin serves these: the host itself, and people.
        for own in [HUMAN, MAX_SCORE] {
            assertion_types.insert(own.to_owned(), "runner".to_owned());
        }
        let mut catalog = Catalog {
            provider_prefixes: names(&self.prefixes),
            assertion_types,
            script_languages,
            asking_types: self
                .types
                .iter()
                .filter(|(_, serves)| {
                    let plugin = &self.plugins[serves.index];
                    let is_named = |alias: &str| plugin.names_model(alias);
                    asks_judges(plugin.component.info(), &serves.own, is_named)
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
        for UnloadedPlugin { served, .. } in &self.waiting {
            let serves = |name: &String| (name.clone(), served.name.clone());
            // What the config calls by a name of the bundle stands for it.
            let prefixes = served.prefixes.iter();
            let prefixes = prefixes.filter(|name| !self.prefixes.contains_key(*name));
            catalog.provider_prefixes.extend(prefixes.map(serves));
            let types = served.types.iter();
            let types = types.filter(|name| !self.types.contains_key(*name));
            catalog.assertion_types.extend(types.clone().map(serves));
            catalog.settings.extend(served.settings.iter().cloned());
            if served.asks {
                catalog.asking_types.extend(types.cloned());
            }
            let languages = served.languages.iter();
            let languages = languages.filter(|(_, extensions)| !extensions.is_empty());
            let names = languages.clone().map(|(language, _)| serves(language));
            catalog.assertion_types.extend(names);
            catalog.script_languages.extend(languages.cloned());
        }
        catalog
    }

    /// Types and languages of somebody else's plugins that are neither called after their plugin nor named by the config.
    fn wordlike_types(&self) -> BTreeSet<String> {
        let types = self.types.iter();
        let types = types.map(|(name, serves)| (name, serves.index, Some(&serves.own)));
        let languages = self.languages.iter();
        let names = types.chain(languages.map(|(name, index)| (name, *index, None)));
        let wordlike = names.filter(|(name, index, own)| {
            let plugin = &self.plugins[*index];
            let is_configs = own.is_some_and(|own| plugin.renamed(own).is_some());
            matches!(plugin.trust, Trust::Foreign(_))
                && !is_configs
                && !is_called_after(name, &plugin.alias)
        });
        wordlike.map(|(name, ..)| name.clone()).collect()
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

    /// Each language of code with the extensions of its files. One without is for what the program itself reads.
    fn script_languages(&self) -> BTreeMap<String, Vec<String>> {
        let plugins = self.plugins.iter();
        let languages = plugins.flat_map(|plugin| plugin.component.script_languages());
        languages
            .filter(|language| !language.extensions.is_empty())
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
