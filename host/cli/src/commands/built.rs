//! Which component a folder means: the one that its language's tools have built there.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Where tools put what they build, below the folder of a plugin, in the order of looking.
const BUILT: [&str; 4] = [
    "",
    "dist",
    "target/wasm32-wasip2/release",
    "target/wasm32-unknown-unknown/release",
];

/// The component that a folder has built.
///
/// # Errors
/// When it has none, or several.
pub(super) fn built(folder: &Path) -> Result<PathBuf, Failure> {
    for place in BUILT {
        let entries = std::fs::read_dir(folder.join(place)).into_iter().flatten();
        let files = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files
            .filter(|path| path.extension().is_some_and(|it| it == "wasm") && path.is_file())
            .collect();
        files.sort();
        if files.len() > 1 {
            let names: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
            let message = format!("{} has several components", folder.display());
            return Err(Failure::usage(message).help(format!("name one: {}", names.join(", "))));
        }
        if let Some(file) = files.pop() {
            return Ok(file);
        }
    }
    let message = format!("{} has no component", folder.display());
    Err(Failure::usage(message).help("build it first: `runner plugin build`, in that folder"))
}

/// What a flag means by a path: of a folder that has no component itself, the one that it has built.
pub(super) fn meant(path: &Path) -> PathBuf {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut files = entries.map(|entry| entry.path());
    let has_own = files.any(|file| file.extension().is_some_and(|it| it == "wasm"));
    let built = (path.is_dir() && !has_own).then(|| built(path).ok());
    built.flatten().unwrap_or_else(|| path.to_owned())
}
