//! Which files are meant: by name, by folder, by pattern, or the one that a folder has.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::LoadRequest;
use crate::model::{Findings, Position, Problem, TextOrigin};
use crate::read::files::{Files, FilesRead, PathTarget, is_pattern, leads};

/// Names that a folder's config may have, in the order of looking.
pub const DEFAULT_NAMES: [&str; 10] = [
    "promptfooconfig.yaml",
    "promptfooconfig.yml",
    "promptfooconfig.json",
    "promptfooconfig.cjs",
    "promptfooconfig.cts",
    "promptfooconfig.js",
    "promptfooconfig.mjs",
    "promptfooconfig.mts",
    "promptfooconfig.ts",
    "promptfooconfig.py",
];

/// The configs' files, in the order named; none only where flags say enough.
pub(super) fn files(request: &LoadRequest) -> Result<Vec<PathBuf>, Problem> {
    if request.overrides.given.made.is_some() {
        return Ok(Vec::new());
    }
    let in_cwd = |name: &&str| has(&request.cwd, name);
    if request.config_files.is_empty() {
        return match DEFAULT_NAMES.into_iter().find(in_cwd) {
            Some(name) => Ok(vec![PathBuf::from(name)]),
            None if request.overrides.given.is_enough() => Ok(Vec::new()),
            None => Err(problem(
                PathBuf::new(),
                "there is no promptfooconfig.yaml here",
                "name a config with -c, or run in a folder that has one",
            )),
        };
    }
    let mut found: Vec<PathBuf> = Vec::new();
    let mut known = HashSet::new();
    for named in &request.config_files {
        for file in one(named, request)? {
            if !known.insert(file.clone()) {
                return Err(problem(
                    file,
                    "is named twice as a config",
                    "name each config once",
                ));
            }
            found.push(file);
        }
    }
    Ok(found)
}

/// Whether a folder has such a config. Where a link leads out of it, who reads it asks first, and
/// nobody looks whether something is there.
fn has(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    matches!(leads(folder, &path), PathTarget::Outside(_)) || path.is_file()
}

/// What one `-c` means.
fn one(named: &Path, request: &LoadRequest) -> Result<Vec<PathBuf>, Problem> {
    let full = request.cwd.join(named);
    if full.is_dir() {
        let name = DEFAULT_NAMES.into_iter().find(|name| has(&full, name));
        return name.map(|name| vec![named.join(name)]).ok_or_else(|| {
            problem(
                named.to_owned(),
                "the folder has no promptfooconfig.yaml",
                "name the config itself",
            )
        });
    }
    // A shell that finds nothing hands the pattern on; a file may have such a name, too.
    match named.to_str().filter(|text| is_pattern(text)) {
        Some(pattern) if !full.exists() => {
            let files = Files::new(request.cwd.clone(), PathBuf::new(), FilesRead::default());
            let at = Position::default();
            let found = files.expand(pattern, (&at, &TextOrigin::Person, &Findings::default()));
            found.map_err(|reason| problem(named.to_owned(), &reason, "name the config itself"))
        }
        _ => Ok(vec![named.to_owned()]),
    }
}

fn problem(file: PathBuf, message: &str, help: &str) -> Problem {
    Problem {
        message: message.to_owned(),
        at: Position {
            file,
            ..Position::default()
        },
        help: Some(help.to_owned()),
    }
}
