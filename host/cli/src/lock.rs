//! `runner.lock`: which components of others a config uses, and what each may do, written down
//! beside the config; once for each config of the folder, since two of them may call different
//! components by one name.
//!
//! It is about integrity, and kept with the config: whoever changes a component or its grants
//! changes the file, too, and that is seen where changes are read. Trust is another thing, and the
//! person's; a lock file trusts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use runner_config::{Permissions, relative};
use runner_eval::plugins::{PluginSet, ThirdParty};
use runner_files::{ReadAccess, Replacement, text_up_to};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::talk::Talk;
use crate::visible;

/// Its name.
const NAME: &str = "runner.lock";
/// What this program writes.
const VERSION: u32 = 2;
/// What earlier programs wrote: components without a config.
const WITHOUT_CONFIG: u32 = 1;
/// Stands for the file of a component that came with the program.
const BUNDLED: &str = "(of the program)";
/// Bytes that are read of it: room for thousands of components.
const LARGEST: u64 = 1 << 20;

/// What is in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    configs: Vec<LockedConfig>,
}

/// A config, or several that are read as one.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockedConfig {
    /// From the folder of the lock file.
    files: BTreeSet<String>,
    plugins: Plugins,
}

/// Components by what the config calls them.
type Plugins = BTreeMap<String, Locked>;

/// Which version it is, whatever else is in it.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// A component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    /// Its file, from the folder of the config. Of one that came with the program a word, and no digest:
    /// the program knows it.
    source: String,
    sha256: String,
    /// The plugin API that it was built for.
    api: String,
    /// What it asks for, in words: they are read where changes are reviewed.
    wants: BTreeSet<String>,
    /// What the config grants.
    grants: Permissions,
    /// What the config lets it use, in words.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    limits: BTreeSet<String>,
}

/// The place in a lock file that is a config's.
#[derive(Debug)]
pub(crate) struct LockEntry {
    path: PathBuf,
    files: BTreeSet<String>,
}

/// How much a difference to a lock file matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holding {
    /// It is a warning.
    Warn,
    /// It is refused where there is a lock file: in CI, where nobody reads warnings.
    RefuseWhereLocked,
    /// It is refused, and so is a file that is missing.
    Refuse,
}

/// Why a lock file says nothing.
#[derive(Debug)]
enum Unread {
    NotThere,
    /// It was written without saying for which config.
    WithoutConfig,
    Bad(String),
}

impl LockEntry {
    /// Beside the config's `files`, which are absolute; beside the first folder's where several
    /// are read as one, and in `cwd` where there is none.
    pub(crate) fn of(files: &[PathBuf], cwd: &Path) -> Self {
        let folder = files.iter().filter_map(|file| file.parent()).min();
        let folder = folder.unwrap_or(cwd);
        Self {
            path: folder.join(NAME),
            files: files
                .iter()
                .map(|file| relative(file, folder).display().to_string())
                .collect(),
        }
    }

    /// Compares what the config uses with what was written down.
    ///
    /// # Errors
    /// The differences, if they matter.
    pub(crate) fn check(
        &self,
        plugins: &PluginSet,
        holding: Holding,
        talk: &Talk,
    ) -> Result<(), Failure> {
        let used = of(plugins, &self.path);
        let differences = match read(&self.path) {
            Ok(lock) => {
                let locked = lock.configs.into_iter().find(|it| it.files == self.files);
                differences(&locked.map(|it| it.plugins).unwrap_or_default(), &used)
            }
            Err(Unread::NotThere) if holding == Holding::Refuse && !used.is_empty() => {
                vec!["is not there".to_owned()]
            }
            Err(Unread::NotThere) => Vec::new(),
            Err(Unread::WithoutConfig) => {
                vec![
                    "was written by an earlier version, which did not say for which config"
                        .to_owned(),
                ]
            }
            Err(Unread::Bad(why)) => vec![why],
        };
        // A stranger may have written the file.
        let shown = self.path.display();
        let message = |it: &String| visible::line(&format!("{shown}: {it}")).into_owned();
        let messages: Vec<String> = differences.iter().map(message).collect();
        let help = match holding {
            Holding::Warn => None,
            Holding::RefuseWhereLocked => Some(
                "CI is set, so runner.lock holds as with --locked; if the difference is as it should \
                 be, `runner plugin lock` writes it down",
            ),
            Holding::Refuse => {
                Some("if that is as it should be, `runner plugin lock` writes it down")
            }
        };
        if let Some(help) = help
            && !messages.is_empty()
        {
            return Err(Failure::usage_all(messages).help(help));
        }
        for message in messages {
            talk.warning(&message);
        }
        Ok(())
    }

    /// Writes down what the config uses; gives the file. What is written of other configs stays.
    ///
    /// # Errors
    /// When the file that is there can't be understood, or it can't be written.
    pub(crate) fn write(self, plugins: &PluginSet) -> Result<PathBuf, Failure> {
        let Self { path, files } = self;
        let mut configs = match read(&path) {
            Ok(lock) => lock.configs,
            // Nobody can say whose its components are.
            Err(Unread::NotThere | Unread::WithoutConfig) => Vec::new(),
            Err(Unread::Bad(why)) => {
                let message = format!("{}: {why}", path.display());
                return Err(Failure::usage(visible::line(&message))
                    .help("mend it, or remove it and lock each config of the folder again"));
            }
        };
        configs.retain(|config| config.files != files);
        let plugins = of(plugins, &path);
        configs.push(LockedConfig { files, plugins });
        configs.sort_by(|a, b| a.files.cmp(&b.files));
        let version = VERSION;
        let text = serde_json::to_string_pretty(&LockFile { version, configs });
        let text = text.context("a lock file is plain data")?;
        Replacement::of(&path, ReadAccess::Usual, (text + "\n").as_bytes())
            .with_context(|| format!("can't write {}", path.display()))?;
        Ok(path)
    }
}

fn read(path: &Path) -> Result<LockFile, Unread> {
    let text = text(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Unread::NotThere,
        _ => Unread::Bad(format!("can't be read: {error}")),
    })?;
    let bad = |error| Unread::Bad(format!("can't be understood: {error}"));
    match serde_json::from_str(&text).map_err(bad)? {
        Version { version: VERSION } => serde_json::from_str(&text).map_err(bad),
        Version {
            version: WITHOUT_CONFIG,
        } => Err(Unread::WithoutConfig),
        Version { version } => Err(Unread::Bad(format!(
            "is of version {version}, and this program reads {VERSION}"
        ))),
    }
}

/// Reads an ordinary file of a size that such files have.
fn text(path: &Path) -> io::Result<String> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    text_up_to(path, LARGEST)
}

fn of(plugins: &PluginSet, lock: &Path) -> Plugins {
    let folder = lock.parent().unwrap_or(lock);
    let locked = |plugin: ThirdParty| {
        let source = plugin.source.strip_prefix(folder).unwrap_or(&plugin.source);
        let is_bundled = source.as_os_str().is_empty();
        let source = if is_bundled {
            Path::new(BUNDLED)
        } else {
            source
        };
        let locked = Locked {
            source: source.display().to_string(),
            sha256: plugin.sha256,
            api: plugin.api,
            wants: plugin.wants,
            grants: plugin.grants,
            limits: plugin.limits,
        };
        (plugin.alias, locked)
    };
    plugins.third_party().map(locked).collect()
}

/// What is not as it was written down, in words.
fn differences(locked: &Plugins, used: &Plugins) -> Vec<String> {
    let mut differences = Vec::new();
    let aliases: BTreeSet<&String> = locked.keys().chain(used.keys()).collect();
    for alias in aliases {
        match (locked.get(alias), used.get(alias)) {
            (Some(locked), Some(used)) => {
                let fields = [
                    ("its source", &locked.source, &used.source),
                    ("its sha256", &locked.sha256, &used.sha256),
                    ("its plugin API", &locked.api, &used.api),
                ];
                let other = fields
                    .into_iter()
                    .filter(|(_, locked, used)| locked != used);
                differences.extend(other.map(|(what, locked, used)| {
                    format!("plugin '{alias}': {what} is {used}, and {locked} was written down")
                }));
                let things = [
                    ("what it asks for", &locked.wants, &used.wants),
                    (
                        "its grants",
                        &granted(&locked.grants),
                        &granted(&used.grants),
                    ),
                    ("its limits", &locked.limits, &used.limits),
                ];
                differences.extend(things.into_iter().flat_map(|(whose, locked, used)| {
                    let changes = changes(locked, used);
                    changes.map(move |change| format!("plugin '{alias}': {whose}: {change}"))
                }));
            }
            (None, Some(_)) => differences.push(format!("plugin '{alias}' is not written down")),
            (Some(_), None) => {
                differences.push(format!("plugin '{alias}' is written down and not used"));
            }
            (None, None) => {}
        }
    }
    differences
}

/// What is granted, each thing in words of its own; no two have the same.
fn granted(grants: &Permissions) -> BTreeSet<String> {
    let hosts = grants.hosts.iter().map(|host| format!("host {host}"));
    let credentials = grants.credentials.iter().map(|(name, grant)| {
        let (env, scheme, hosts) = (&grant.env, &grant.scheme, &grant.hosts);
        format!("credential {name:?} (environment variable {env:?} as {scheme:?} to {hosts:?})")
    });
    let llm = grants.llm.iter().map(|name| {
        let provider = grants.llm_providers.get(name);
        provider.map_or_else(
            || format!("provider {name}"),
            |provider| format!("model {name:?} by the provider {provider:?}"),
        )
    });
    let wasi_http = grants
        .wasi_http
        .then(|| "requests through wasi:http".to_owned());
    let given = hosts.chain(credentials).chain(llm);
    given.chain(wasi_http).collect()
}

/// What came and what went.
fn changes<'a>(
    locked: &'a BTreeSet<String>,
    used: &'a BTreeSet<String>,
) -> impl Iterator<Item = String> + 'a {
    let new = used.difference(locked).map(|it| format!("{it} is new"));
    new.chain(locked.difference(used).map(|it| format!("{it} is gone")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_named() {
        let granting = |host: &str| Permissions {
            hosts: vec![host.to_owned()],
            ..Permissions::default()
        };
        let locked = Locked {
            source: "a.wasm".to_owned(),
            sha256: "1".to_owned(),
            api: "0.1.0".to_owned(),
            wants: ["host w".to_owned()].into(),
            grants: granting("https://g"),
            limits: ["cpu_ms 5".to_owned()].into(),
        };
        let book = |entries: &[(&str, &Locked)]| {
            let entries = entries.iter();
            entries
                .map(|(alias, locked)| ((*alias).to_owned(), (*locked).clone()))
                .collect::<BTreeMap<_, _>>()
        };
        let changed = Locked {
            sha256: "2".to_owned(),
            wants: BTreeSet::new(),
            grants: granting("https://h"),
            limits: ["cpu_ms 9".to_owned()].into(),
            ..locked.clone()
        };
        let before = book(&[("a", &locked), ("b", &locked), ("c", &locked)]);
        assert!(differences(&before, &before).is_empty());
        let after = book(&[("a", &locked), ("b", &changed), ("d", &locked)]);
        assert_eq!(
            differences(&before, &after),
            [
                "plugin 'b': its sha256 is 2, and 1 was written down",
                "plugin 'b': what it asks for: host w is gone",
                "plugin 'b': its grants: host https://h is new",
                "plugin 'b': its grants: host https://g is gone",
                "plugin 'b': its limits: cpu_ms 9 is new",
                "plugin 'b': its limits: cpu_ms 5 is gone",
                "plugin 'c' is written down and not used",
                "plugin 'd' is not written down",
            ]
        );
    }

    #[test]
    fn a_credential_that_goes_elsewhere_is_a_difference() {
        let granting = |host: &str| {
            let grant = runner_config::CredentialGrant {
                env: "KEY".to_owned(),
                scheme: "bearer".to_owned(),
                hosts: vec![host.to_owned()],
            };
            granted(&Permissions {
                credentials: [("key".to_owned(), grant)].into(),
                ..Permissions::default()
            })
        };
        let changes: Vec<_> = changes(&granting("a"), &granting("b")).collect();
        let words = "credential \"key\" (environment variable \"KEY\" as \"bearer\" to [\"";
        assert_eq!(
            changes,
            [
                format!("{words}b\"]) is new"),
                format!("{words}a\"]) is gone")
            ]
        );
    }

    #[test]
    fn a_config_is_named_from_the_folder_of_its_lock() {
        let files = ["/w/b/c.yaml", "/w/a/x/one.yaml"].map(PathBuf::from);
        let place = LockEntry::of(&files, Path::new("/cwd"));
        assert_eq!(place.path, Path::new("/w/a/x/runner.lock"));
        let named: Vec<&str> = place.files.iter().map(String::as_str).collect();
        assert_eq!(named, ["../../b/c.yaml", "one.yaml"]);
        let none = LockEntry::of(&[], Path::new("/cwd"));
        assert_eq!(none.path, Path::new("/cwd/runner.lock"));
    }

    #[test]
    fn what_is_no_lock_of_this_version_says_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        let unread = |text: &str| {
            fs::write(&path, text).expect("written");
            format!("{:?}", read(&path).expect_err(text))
        };
        assert!(matches!(read(&path), Err(Unread::NotThere)));
        assert_eq!(unread("{\"version\":1,\"plugins\":{}}"), "WithoutConfig");
        assert_eq!(
            unread("{\"version\":3,\"x\":{}}"),
            "Bad(\"is of version 3, and this program reads 2\")"
        );
        assert!(unread("<<<<<<< ours").contains("can't be understood"));
        assert!(unread("{\"version\":2,\"configs\":[],\"x\":1}").contains("unknown field"));
    }
}
