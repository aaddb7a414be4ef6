//! The rules of the house that no compiler checks: who may depend on whom, how large a file
//! may grow, what nothing may be called, that no modules use each other in a circle, that nothing
//! is public which nobody outside uses, that no two types of a crate share a name, that the glossary
//! explains every public type, and that the paths in READMEs are there.
//!
//! They are checked here rather than by a tool to install, because each is a few lines over
//! `cargo metadata` or over the text of the files, and because the tables are then read in
//! one place: `who.rs` for dependencies, `form.rs` for files, `circles.rs` for modules,
//! `unused.rs` for what is public, `twice.rs` for the names of types, `glossary.rs` for what they mean,
//! `readmes.rs` for paths. Every finding is reported, with where it is and what to do; an exception is a
//! line in a table with its reason.

mod circles;
mod form;
mod glossary;
mod readmes;
mod twice;
mod unused;
mod who;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use crate::place::{self, Place};
use crate::step::{Failure, say};

/// Folders with Rust of ours.
const FOLDERS: [&str; 7] = [
    "host",
    "plugin-sdk",
    "plugins",
    "template",
    "tests",
    "xtask",
    "examples",
];

/// Checks all rules and reports everything that breaks one.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    say("checking the rules of the house");
    let packages = who::packages(&place.metadata, &place.root)?;
    let mut findings = who::broken(&packages);
    if let Some(outside) = place.outside() {
        let strangers = who::packages(&place::metadata(&outside)?, &place.root)?;
        findings.extend(who::broken(&strangers));
    }
    let root = read(&place.root, &place.root.join("Cargo.toml"))?;
    findings.extend(form::reasons(&root));
    let files = found(place, &FOLDERS, |name| {
        name == "Cargo.toml" || is_rust(name)
    })?;
    let mut readmes = found(place, &FOLDERS, |name| name == "README.md")?;
    for name in ["README.md", "CONTRIBUTING.md"] {
        readmes.push(read(&place.root, &place.root.join(name))?);
    }
    findings.extend(files.iter().flat_map(form::broken));
    findings.extend(circles::broken(&files));
    findings.extend(unused::broken(&files));
    findings.extend(twice::broken(&files));
    findings.extend(readmes::broken(&readmes, &files));
    let glossary = read(&place.root, &place.root.join(glossary::GLOSSARY))?;
    findings.extend(glossary::broken(&glossary, &files));
    if findings.is_empty() {
        return Ok(());
    }
    let count = findings.len();
    Err(Failure::new(format!(
        "the house has {count} rules broken:\n  {}",
        findings.join("\n  ")
    )))
}

/// A text file of the repository.
#[derive(Debug)]
struct File {
    /// Path from the root, with `/`.
    path: String,
    text: String,
}

#[cfg(test)]
impl File {
    fn of(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }
}

/// Whether a name is a Rust file's.
fn is_rust(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "rs")
}

/// Reads a file below `root`.
fn read(root: &Path, path: &Path) -> Result<File, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    let path = path
        .strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/");
    Ok(File { path, text })
}

/// Every file below the folders whose name is wanted, sorted.
fn found(
    place: &Place,
    folders: &[&str],
    is_wanted: fn(&str) -> bool,
) -> Result<Vec<File>, Failure> {
    let mut folders: Vec<PathBuf> = folders.iter().map(|name| place.root.join(name)).collect();
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        let cannot = |error| Failure::new(format!("cannot read {}: {error}", folder.display()));
        for entry in fs::read_dir(&folder).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if is_wanted(&name) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| read(&place.root, path)).collect()
}
