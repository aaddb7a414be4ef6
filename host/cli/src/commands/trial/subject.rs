//! Which plugin is meant, and what it serves: a file, the one that a folder has built, or one that
//! comes with the program.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use runner_config::misspelt;
use runner_eval::plugins::{PluginServices, asked_for, bundle, optional};
use runner_sandbox::abi::Wants;
use serde_json::{Map, Value};

use super::super::CommandContext;
use super::super::built::built;
use super::super::eval::sandbox;
use crate::failure::Failure;
use crate::visible;

/// A plugin that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Subject {
    /// Its file; `None`: it comes with the program.
    pub(in crate::commands) file: Option<PathBuf>,
    /// Its name.
    pub(in crate::commands) name: String,
    /// Provider prefixes.
    pub(in crate::commands) prefixes: Vec<String>,
    /// Assertion types, languages of code among them.
    pub(in crate::commands) types: Vec<String>,
    /// Its credentials by name, with what a granted one is sent as.
    pub(in crate::commands) schemes: Vec<(String, String)>,
    /// The names by which each of its types asks models.
    asks: BTreeMap<String, Vec<String>>,
    /// The flags that grant what it wants.
    flags: Vec<String>,
}

/// What an argument means by a plugin.
#[derive(Debug)]
pub(in crate::commands) enum Meant {
    /// A component, the only one of its folder perhaps.
    File(PathBuf),
    /// One that comes with the program.
    Bundled(PluginServices),
}

impl Meant {
    /// A plain word is the program's plugin of that name, whatever files are there; a path is written as one (`./echo`).
    ///
    /// # Errors
    /// When it is neither that nor a file, or a folder that has not one component.
    pub(in crate::commands) fn by(named: &Path, setting: &CommandContext) -> Result<Self, Failure> {
        let text = named.to_string_lossy();
        let mut known = known();
        if let Some(at) = known.iter().position(|served| served.name == text) {
            return Ok(Self::Bundled(known.swap_remove(at)));
        }
        // Without the dot of this folder.
        let path: PathBuf = setting.cwd.join(named).components().collect();
        if path.is_dir() {
            return built(&path).map(Self::File);
        }
        let looks_like_a_path =
            named.components().count() > 1 || named.extension().is_some_and(|it| it == "wasm");
        if path.is_file() || looks_like_a_path {
            return Ok(Self::File(path));
        }
        Err(nobody(&text, &known))
    }
}

fn nobody(name: &str, known: &[PluginServices]) -> Failure {
    let help = match misspelt(name, known.iter().map(|served| served.name.as_str())) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "`runner plugin list` has those that come with the program; \
                 of another, name the file"
            .to_owned(),
    };
    let message = format!("{name} is no file, and no plugin of the program is called so");
    Failure::usage(message).help(help)
}

impl Subject {
    /// The plugin that `named` means.
    ///
    /// # Errors
    /// When there is none, or it can't be loaded.
    pub(in crate::commands) fn find(
        named: &Path,
        setting: &CommandContext,
    ) -> Result<Self, Failure> {
        match Meant::by(named, setting)? {
            Meant::File(path) => Self::of_file(&path, setting),
            Meant::Bundled(served) => Ok(Self::of_bundle(served)),
        }
    }

    fn of_file(path: &Path, setting: &CommandContext) -> Result<Self, Failure> {
        let inspection = sandbox(1, setting)?.inspect(path);
        if let Some(problem) = inspection.problem {
            return Err(Failure::usage(problem));
        }
        let info = inspection.info;
        let info = info.expect("a component without a problem has described itself");
        let flags = flags(&info.wants);
        let types = info.assertion_types.iter().map(|kind| &kind.name);
        let asks = types.map(|kind| (kind.clone(), asked_for(&info, kind)));
        let asks = asks.collect();
        let types = info.assertion_types.into_iter();
        let credentials = info.wants.credentials.into_iter();
        Ok(Self {
            file: Some(path.to_owned()),
            name: info.name,
            prefixes: info.provider_prefixes,
            types: types.map(|kind| kind.name).collect(),
            schemes: credentials.map(|want| (want.name, want.scheme)).collect(),
            asks,
            flags,
        })
    }

    fn of_bundle(served: PluginServices) -> Self {
        let languages = served.languages.into_iter().map(|(name, _)| name);
        Self {
            file: None,
            name: served.name,
            prefixes: served.prefixes,
            types: served.types.into_iter().chain(languages).collect(),
            schemes: Vec::new(),
            asks: BTreeMap::new(),
            flags: Vec::new(),
        }
    }

    /// What to do where it is granted less than it wants.
    pub(super) fn grants(&self) -> String {
        let flags = self.flags.join(" ");
        format!("if you trust it with that: {flags} (in a fixture: `permissions`, as in a config)")
    }

    /// Finds out whether every name by which a type asks a model stands for one.
    ///
    /// # Errors
    /// When one does not.
    pub(super) fn asks_only(&self, kind: &str, models: &Map<String, Value>) -> Result<(), Failure> {
        let plain = kind.strip_prefix("not-").unwrap_or(kind);
        let asks = self.asks.get(kind).or_else(|| self.asks.get(plain));
        let nobody = |name: &&String| !models.contains_key(*name);
        let Some(name) = asks.into_iter().flatten().find(nobody) else {
            return Ok(());
        };
        let (alias, name) = (&self.name, visible::line(name));
        let message =
            format!("plugin '{alias}' asks a model that it calls '{name}', and none is named");
        Err(Failure::usage(message).help(self.grants()))
    }

    /// The id of the provider that is asked.
    ///
    /// # Errors
    /// When the plugin has none, or several to choose from.
    pub(super) fn provider(&self, id: Option<&str>) -> Result<String, Failure> {
        let prefix = id.map(|id| id.split(':').next().unwrap_or_default());
        let is_served = |known: &&String| prefix.is_none_or(|prefix| prefix == *known);
        let mut served = self.prefixes.iter().filter(is_served);
        match (served.next(), served.next()) {
            (Some(only), None) => Ok(id.unwrap_or(only).to_owned()),
            _ => Err(self.none_of("provider", id, &self.prefixes, "--provider")),
        }
    }

    /// The assertion type that grades, `not-` and all.
    ///
    /// # Errors
    /// When the plugin has none, or several to choose from.
    pub(super) fn kind(&self, kind: Option<&str>) -> Result<String, Failure> {
        let plain = kind.map(|kind| kind.strip_prefix("not-").unwrap_or(kind));
        let is_served =
            |known: &&String| plain.is_none_or(|plain| plain == *known || kind == Some(known));
        let mut served = self.types.iter().filter(is_served);
        match (served.next(), served.next()) {
            (Some(only), None) => Ok(kind.unwrap_or(only).to_owned()),
            _ => Err(self.none_of("assertion type", kind, &self.types, "--type")),
        }
    }

    fn none_of(&self, what: &str, asked: Option<&str>, has: &[String], flag: &str) -> Failure {
        let name = &self.name;
        let message = match asked {
            Some(asked) => format!("plugin '{name}' serves no {what} '{asked}'"),
            None if has.is_empty() => format!("plugin '{name}' serves no {what}"),
            None => format!("plugin '{name}' serves more than one {what}"),
        };
        if has.is_empty() {
            return Failure::usage(message)
                .help("`runner plugin inspect` says what a component serves");
        }
        Failure::usage(message).help(format!("choose with {flag}: {}", has.join(", ")))
    }
}

/// What the program knows of the plugins that come with it, in the order of their names.
pub(in crate::commands) fn known() -> Vec<PluginServices> {
    let name = || "javascript".to_owned();
    // It has no entry in the table, since no run is without it.
    let interpreter = PluginServices {
        name: name(),
        prefixes: Vec::new(),
        types: Vec::new(),
        asks: false,
        settings: BTreeSet::new(),
        languages: vec![(name(), Vec::new())],
    };
    let optional = optional().into_iter().map(|option| option.served);
    let known = bundle().into_iter().chain(optional).chain([interpreter]);
    let mut known: Vec<PluginServices> = known.collect();
    known.sort_by(|one, other| one.name.cmp(&other.name));
    known
}

/// The flags that grant all of it.
fn flags(wants: &Wants) -> Vec<String> {
    let flag = |name: &str, value: &str| {
        let value = shlex::try_quote(value).unwrap_or(Cow::Borrowed(value));
        format!("{name} {}", visible::line(&value))
    };
    let hosts = wants.hosts.iter().map(|host| flag("--allow-host", host));
    let keys = wants.credentials.iter().map(|want| {
        let pair = format!("{}={}", want.name, want.env);
        flag("--allow-key", &pair)
    });
    let llm = wants.llm.iter().map(|(name, _)| {
        let pair = format!("{name}=PROVIDER");
        flag("--allow-llm", &pair)
    });
    hosts.chain(keys).chain(llm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> Subject {
        Subject {
            file: None,
            name: "acme".to_owned(),
            prefixes: vec!["acme".to_owned()],
            types: vec!["one".to_owned(), "two".to_owned()],
            schemes: Vec::new(),
            asks: BTreeMap::new(),
            flags: Vec::new(),
        }
    }

    fn refused(result: Result<String, Failure>) -> String {
        result.expect_err("refused").render()
    }

    #[test]
    fn the_only_one_need_not_be_said_and_one_of_several_must() {
        let both = both();
        assert_eq!(both.provider(None).ok().as_deref(), Some("acme"));
        assert_eq!(
            both.provider(Some("acme:m")).ok().as_deref(),
            Some("acme:m")
        );
        assert_eq!(both.kind(Some("not-two")).ok().as_deref(), Some("not-two"));
        assert_eq!(
            refused(both.kind(None)),
            "error: plugin 'acme' serves more than one assertion type\nhelp: choose with --type: one, two"
        );
        assert_eq!(
            refused(both.provider(Some("openai:x"))),
            "error: plugin 'acme' serves no provider 'openai:x'\nhelp: choose with --provider: acme"
        );
    }

    #[test]
    fn a_folder_has_one_component_or_is_not_chosen_from() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        assert!(
            refused(built(folder.path()).map(|it| it.display().to_string()))
                .contains("build it first")
        );
        std::fs::create_dir_all(at("target/wasm32-wasip2/release")).expect("made");
        std::fs::write(at("target/wasm32-wasip2/release/a.wasm"), "").expect("written");
        assert_eq!(
            built(folder.path()).ok(),
            Some(at("target/wasm32-wasip2/release/a.wasm"))
        );
        std::fs::create_dir(at("dist")).expect("made");
        for name in ["dist/a.wasm", "dist/b.wasm"] {
            std::fs::write(at(name), "").expect("written");
        }
        let refused = refused(built(folder.path()).map(|it| it.display().to_string()));
        assert!(refused.contains("has several components"), "{refused}");
    }

    #[test]
    fn a_name_that_is_nearly_one_of_the_programs_is_answered() {
        let refused = nobody("opnai", &known()).render();
        assert!(refused.ends_with("help: did you mean openai?"), "{refused}");
        let mut all = known().into_iter();
        let served = all.find(|served| served.name == "javascript");
        let subject = Subject::of_bundle(served.expect("the program has it"));
        assert_eq!(subject.types, ["javascript"]);
    }
}
