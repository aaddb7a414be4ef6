//! What the plugins of a run are called in its config: the names that each claims, and those that another has.
//!
//! A plugin's own name for a type or a prefix is the config's, too, unless its entry gives it another (`as:`), which
//! may be one of the program's. With the plugin before it, its own name always means it: `acme/tone`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use runner_config::misspelt;
use runner_sandbox::Plugin;

use super::bind_error::{beginning, place};
use super::bundle::PluginServices;
use super::extensions;
use super::loaded::{LoadedPlugin, Trust};
use super::plugin_error::PluginError;
use super::set::{PluginSet, ServingPlugin};

/// A name that a plugin claims.
struct Claim {
    name: String,
    own: String,
    /// Whether the config gave it.
    is_configs: bool,
}

impl LoadedPlugin {
    fn is_bundled(&self) -> bool {
        matches!(self.trust, Trust::Bundled)
    }

    fn types(&self) -> Vec<Claim> {
        let types = self.component.info().assertion_types.iter();
        types.map(|served| self.claim(&served.name)).collect()
    }

    fn prefixes(&self) -> Vec<Claim> {
        let prefixes = self.component.info().provider_prefixes.iter();
        prefixes.map(|own| self.claim(own)).collect()
    }

    fn claim(&self, own: &String) -> Claim {
        let given = self.renamed(own);
        Claim {
            name: given.unwrap_or(own).clone(),
            own: own.clone(),
            is_configs: given.is_some(),
        }
    }

    /// Names that the config replaces and the plugin doesn't have.
    fn unknown_names(&self) -> Vec<PluginError> {
        let Some(entry) = self.entry() else {
            return Vec::new();
        };
        let (types, prefixes) = (self.types(), self.prefixes());
        let own = || {
            types
                .iter()
                .chain(&prefixes)
                .map(|claim| claim.own.as_str())
        };
        let unknown = entry
            .renamed
            .iter()
            .filter(|(name, _)| !own().any(|own| own == *name));
        let told = unknown.map(|(name, (_, at))| PluginError::NoSuchName {
            at: Box::new(place(at)),
            alias: self.alias.clone(),
            own: name.clone(),
            help: match misspelt(name, own()) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => format!("it serves: {}", own().collect::<Vec<_>>().join(", ")),
            },
        });
        told.collect()
    }
}

impl PluginSet {
    /// Adds a component, unless it claims what another has.
    pub(super) fn add(&mut self, plugin: LoadedPlugin) -> Result<(), Vec<PluginError>> {
        let mut wrong = plugin.unknown_names();
        // Two files that collide in one thing often collide in twelve: one line says it.
        wrong.extend(self.clash(&plugin));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let index = self.plugins.len();
        let names = [
            (&mut self.prefixes, plugin.prefixes()),
            (&mut self.types, plugin.types()),
        ];
        for (names, claims) in names {
            for Claim { name, own, .. } in claims {
                let serves = |own| ServingPlugin { index, own };
                if !plugin.is_bundled() {
                    let whole = format!("{}/{own}", plugin.alias);
                    names.insert(whole, serves(own.clone()));
                } else if names.contains_key(&name) {
                    continue; // the config gave it to somebody else's
                }
                names.insert(name, serves(own));
            }
        }
        let languages = plugin.component.script_languages().iter();
        self.languages
            .extend(languages.map(|language| (language.name.clone(), index)));
        self.plugins.push(Arc::new(plugin));
        Ok(())
    }

    /// The first thing that it claims and another has.
    fn clash(&self, plugin: &LoadedPlugin) -> Option<PluginError> {
        let mut others = self.plugins.iter();
        if let Some(other) = others.find(|other| other.alias == plugin.alias) {
            return Some(duplicate(plugin, ("name", &plugin.alias), other));
        }
        let of_names = self
            .taken(
                plugin,
                "provider prefix",
                &plugin.prefixes(),
                &self.prefixes,
            )
            .or_else(|| self.taken(plugin, "assertion type", &plugin.types(), &self.types));
        let mut waiting = self.waiting.iter();
        let of_bundle = || {
            waiting.find_map(|waiting| {
                let (what, name) = collision(plugin, &waiting.served)?;
                Some(clashing(plugin, (what, &name), waiting.path(), true))
            })
        };
        of_names
            .or_else(of_bundle)
            .or_else(|| self.language_claimed(plugin))
            .or_else(|| self.extension_claimed(plugin))
    }

    /// The first of its types or prefixes that it calls as another of its own, or that another plugin has.
    fn taken(
        &self,
        plugin: &LoadedPlugin,
        what: &'static str,
        claims: &[Claim],
        known: &BTreeMap<String, ServingPlugin>,
    ) -> Option<PluginError> {
        claims.iter().enumerate().find_map(|(at, claim)| {
            let name = &claim.name;
            if claims[..at].iter().any(|earlier| earlier.name == *name) {
                return Some(duplicate(plugin, (what, name), plugin));
            }
            let other = &self.plugins[known.get(name)?.index];
            let is_given = match (plugin.is_bundled(), other.is_bundled()) {
                (false, true) => claim.is_configs,
                (is_bundled, is_others_bundled) => is_bundled && !is_others_bundled,
            };
            (!is_given).then(|| duplicate(plugin, (what, name), other))
        })
    }

    /// A name that is an assertion type here and a language there: a language is both.
    fn language_claimed(&self, plugin: &LoadedPlugin) -> Option<PluginError> {
        let types = plugin.types();
        let types = types.iter().filter_map(|claim| {
            let index = self.languages.get(&claim.name)?;
            Some((&claim.name, *index))
        });
        let languages = plugin.component.script_languages().iter();
        let languages = languages.filter_map(|language| {
            let name = &language.name;
            let of_type = || self.types.get(name).map(|serves| serves.index);
            let index = self.languages.get(name).copied().or_else(of_type)?;
            Some((name, index))
        });
        let (name, index) = types.chain(languages).next()?;
        let other = &self.plugins[index];
        Some(duplicate(plugin, ("assertion type", name), other))
    }

    /// An extension of files that a stranger's plugin claims, and that is another's, or means what it means
    /// whatever is loaded: it would read the config's own code and data, and answer in their place.
    fn extension_claimed(&self, plugin: &LoadedPlugin) -> Option<PluginError> {
        if plugin.is_bundled() {
            return None;
        }
        extensions_of(&plugin.component).find_map(|extension| {
            let other = self.plugins.iter().find(|other| {
                extensions_of(&other.component).any(|its| its.eq_ignore_ascii_case(extension))
            });
            if let Some(other) = other {
                Some(duplicate(plugin, ("file extension", extension), other))
            } else if extensions::is_reserved(extension) && !is_python_by_hand(plugin, extension) {
                Some(PluginError::Reserved {
                    name: plugin.component.info().name.clone(),
                    path: plugin.component.path().to_owned(),
                    extension: extension.clone(),
                })
            } else {
                None
            }
        })
    }
}

/// Whether it is the component that a program without Python gets by `--plugin`: then nobody else runs it.
fn is_python_by_hand(plugin: &LoadedPlugin, extension: &str) -> bool {
    let languages = plugin.component.script_languages();
    let is_python = languages.iter().all(|language| language.name == "python");
    is_python && extension == "py" && matches!(plugin.trust, Trust::Foreign(None))
}

/// The extensions of the files that a component runs.
fn extensions_of(component: &Plugin) -> impl Iterator<Item = &String> {
    let languages = component.script_languages().iter();
    languages.flat_map(|language| &language.extensions)
}

/// The first thing that a component and one of the bundle both claim.
fn collision(plugin: &LoadedPlugin, served: &PluginServices) -> Option<(&'static str, String)> {
    let has = |claims: &[Claim], name: &String, even_given: bool| {
        let mut claims = claims.iter();
        claims.any(|claim| claim.name == *name && (even_given || !claim.is_configs))
    };
    if served.name == plugin.alias {
        return Some(("name", served.name.clone()));
    }
    let prefixes = plugin.prefixes();
    let mut of_prefixes = served.prefixes.iter();
    if let Some(name) = of_prefixes.find(|name| has(&prefixes, name, false)) {
        return Some(("provider prefix", name.clone()));
    }
    let types = plugin.types();
    let speaks = |name: &String| {
        let mut languages = plugin.component.script_languages().iter();
        languages.any(|language| language.name == *name)
    };
    let mut of_types = served.types.iter();
    let kind = of_types.find(|name| has(&types, name, false));
    let mut languages = served.languages.iter().map(|(name, _)| name);
    let kind = kind.or_else(|| languages.find(|name| speaks(name) || has(&types, name, true)));
    Some(("assertion type", kind?.clone()))
}

fn duplicate(
    plugin: &LoadedPlugin,
    claimed: (&'static str, &str),
    other: &LoadedPlugin,
) -> PluginError {
    clashing(plugin, claimed, other.component.path(), other.is_bundled())
}

fn clashing(
    plugin: &LoadedPlugin,
    (what, claim): (&'static str, &str),
    other: &Path,
    is_bundled: bool,
) -> PluginError {
    let at = plugin.entry().map(|entry| place(&entry.at));
    PluginError::Duplicate {
        at: beginning(at.as_ref()),
        name: plugin.alias.clone(),
        path: plugin.component.path().to_owned(),
        sha256: plugin.component.sha256()[..8].to_owned(),
        what,
        claim: claim.to_owned(),
        other: other.to_owned(),
        help: way_out(plugin, what, claim, is_bundled),
    }
}

/// What to do about a clash.
fn way_out(plugin: &LoadedPlugin, what: &str, claim: &str, is_bundled: bool) -> String {
    let mut claims = plugin.types().into_iter().chain(plugin.prefixes());
    match claims.find(|one| what != "name" && one.name == claim) {
        Some(Claim { own, is_configs, .. }) => {
            let in_its_place = if is_bundled && !is_configs {
                format!("; {{ {own}: {claim} }} has it take the place of the program's")
            } else {
                String::new()
            };
            format!(
                "in its entry under `plugins` of the config, as: {{ {own}: another-name }} gives it another name there{in_its_place}"
            )
        }
        None if what == "name" => {
            "use one of the two files, or name one under `plugins` of the config, where it has the name that you give it"
                .to_owned()
        }
        None => "use one of the two files; what a name means must not depend on their order".to_owned(),
    }
}
