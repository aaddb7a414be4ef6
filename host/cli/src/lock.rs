//! `runner.lock`: which components of others a config uses, and what each may do, written down
//! beside the config.
//!
//! It is about integrity, and kept with the config: whoever changes a component or its grants
//! changes the file, too, and that is seen where changes are read. Trust is another thing, and the
//! person's; a lock file trusts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use runner_eval::plugins::{PluginSet, ThirdParty};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::talk::Talk;
use crate::visible;

/// Its name.
const NAME: &str = "runner.lock";
/// What this program writes.
const VERSION: u32 = 1;
/// Bytes that are read of it: room for thousands of components.
const LARGEST: u64 = 1 << 20;

/// What is in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lock {
    version: u32,
    plugins: BTreeMap<String, Locked>,
}

/// A component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    /// Its file, from the folder of the config.
    source: String,
    sha256: String,
    /// The plugin API that it was built for.
    api: String,
    /// Digest of what it asks for.
    wants: String,
    /// Digest of what the config grants.
    grants: String,
}

/// Holds what a config uses against its lock file. A difference is a warning; with `must_match`
/// it is refused, and so is a file that is missing.
///
/// # Errors
/// The differences, if they matter.
pub(crate) fn check(
    folders: &BTreeSet<PathBuf>,
    plugins: &PluginSet,
    must_match: bool,
    talk: &Talk,
) -> Result<(), Failure> {
    let path = place(folders);
    let used = of(plugins, &path);
    let shown = path.display();
    let differences = match read(&path) {
        Ok(text) => match serde_json::from_str::<Lock>(&text) {
            Ok(lock) if lock.version == VERSION => differences(&lock.plugins, &used),
            Ok(_) => vec!["is of another version of the program".to_owned()],
            Err(error) => vec![format!("can't be understood: {error}")],
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if must_match && !used.is_empty() {
                vec!["is not there".to_owned()]
            } else {
                Vec::new()
            }
        }
        Err(error) => vec![format!("can't be read: {error}")],
    };
    // A stranger may have written the file.
    let message = |it: &String| visible::line(&format!("{shown}: {it}")).into_owned();
    let messages: Vec<String> = differences.iter().map(message).collect();
    if must_match && !messages.is_empty() {
        return Err(Failure::usage_all(messages)
            .help("if that is as it should be, `runner plugin lock` writes it down"));
    }
    for message in messages {
        talk.warning(&message);
    }
    Ok(())
}

/// Writes down what a config uses; gives the file.
///
/// # Errors
/// When it can't be written.
pub(crate) fn write(folders: &BTreeSet<PathBuf>, plugins: &PluginSet) -> Result<PathBuf, Failure> {
    let path = place(folders);
    let lock = Lock {
        version: VERSION,
        plugins: of(plugins, &path),
    };
    let text = serde_json::to_string_pretty(&lock).context("a lock file is plain data")?;
    replace(&path, &(text + "\n")).with_context(|| format!("can't write {}", path.display()))?;
    Ok(path)
}

/// An ordinary file of a size that such files have.
fn read(path: &Path) -> io::Result<String> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut text = String::new();
    let read = File::open(path)?
        .take(LARGEST + 1)
        .read_to_string(&mut text)?;
    if read as u64 > LARGEST {
        return Err(io::Error::other("it is too large for what it should be"));
    }
    Ok(text)
}

/// In place of whatever has the name, never through a link.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension(format!("lock.{}.part", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
    let written = file.write_all(text.as_bytes());
    let done = written.and_then(|()| fs::rename(&new, path));
    if done.is_err() {
        // What went wrong is told; a rest of it can stay.
        let _ = fs::remove_file(&new);
    }
    done
}

/// Beside the config; beside the first of several folders'.
fn place(folders: &BTreeSet<PathBuf>) -> PathBuf {
    let folder = folders.first().map_or(Path::new(""), |folder| folder);
    folder.join(NAME)
}

fn of(plugins: &PluginSet, lock: &Path) -> BTreeMap<String, Locked> {
    let folder = lock.parent().unwrap_or(lock);
    let locked = |plugin: ThirdParty| {
        let source = plugin.source.strip_prefix(folder).unwrap_or(&plugin.source);
        let locked = Locked {
            source: source.display().to_string(),
            sha256: plugin.sha256,
            api: plugin.api,
            wants: plugin.wants,
            grants: plugin.grants,
        };
        (plugin.alias, locked)
    };
    plugins.third_party().map(locked).collect()
}

/// What is not as it was written down, in words.
fn differences(locked: &BTreeMap<String, Locked>, used: &BTreeMap<String, Locked>) -> Vec<String> {
    let mut differences = Vec::new();
    let aliases: BTreeSet<&String> = locked.keys().chain(used.keys()).collect();
    for alias in aliases {
        match (locked.get(alias), used.get(alias)) {
            (Some(locked), Some(used)) => {
                let fields = [
                    ("its source", &locked.source, &used.source),
                    ("its sha256", &locked.sha256, &used.sha256),
                    ("its plugin API", &locked.api, &used.api),
                    ("the digest of what it asks for", &locked.wants, &used.wants),
                    ("the digest of its grants", &locked.grants, &used.grants),
                ];
                let other = fields
                    .into_iter()
                    .filter(|(_, locked, used)| locked != used);
                differences.extend(other.map(|(what, locked, used)| {
                    format!("plugin '{alias}': {what} is {used}, and {locked} was written down")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_named() {
        let locked = Locked {
            source: "a.wasm".to_owned(),
            sha256: "1".to_owned(),
            api: "0.1.0".to_owned(),
            wants: "w".to_owned(),
            grants: "g".to_owned(),
        };
        let book = |entries: &[(&str, &Locked)]| {
            let entries = entries.iter();
            entries
                .map(|(alias, locked)| ((*alias).to_owned(), (*locked).clone()))
                .collect::<BTreeMap<_, _>>()
        };
        let changed = Locked {
            sha256: "2".to_owned(),
            grants: "h".to_owned(),
            ..locked.clone()
        };
        let before = book(&[("a", &locked), ("b", &locked), ("c", &locked)]);
        assert!(differences(&before, &before).is_empty());
        let after = book(&[("a", &locked), ("b", &changed), ("d", &locked)]);
        assert_eq!(
            differences(&before, &after),
            [
                "plugin 'b': its sha256 is 2, and 1 was written down",
                "plugin 'b': the digest of its grants is h, and g was written down",
                "plugin 'c' is written down and not used",
                "plugin 'd' is not written down",
            ]
        );
    }
}
