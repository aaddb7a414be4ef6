//! The rules of the house that no compiler checks: who may depend on whom, how large a file
//! may grow, what nothing may be called, that no modules use each other in a circle, and that nothing
//! is public which nobody outside uses.
//!
//! They are checked here rather than by a tool to install, because each is a few lines over
//! `cargo metadata` or over the text of the files, and because the tables are then read in
//! one place: `who.rs` for dependencies, `form.rs` for files, `circles.rs` for modules,
//! `unused.rs` for what is public. Every finding is reported, with where it is and what to do; an exception is a line in a table with its reason.

mod circles;
mod form;
mod unused;
mod who;

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
    let paths = files(place)?;
    let files = paths.iter().map(|path| read(&place.root, path));
    let files = files.collect::<Result<Vec<File>, Failure>>()?;
    findings.extend(files.iter().flat_map(form::broken));
    findings.extend(circles::broken(&files));
    findings.extend(unused::broken(&files));
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

/// Every Rust source and manifest of ours, sorted.
fn files(place: &Place) -> Result<Vec<PathBuf>, Failure> {
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|name| place.root.join(name)).collect();
    let mut found = Vec::new();
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
            } else if name == "Cargo.toml" || path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
