//! The inputs that are kept: `corpus/TARGET/NAME`, each a file.
//!
//! Those that a person put there are named for what they are, those that broke something for what
//! they broke. They stay small: what a run finds by the way is not kept.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a target's inputs are.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target)
}

/// Name and bytes of each input of a target, in the order of names.
///
/// # Panics
/// If a file can't be read.
pub fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder(target)).into_iter().flatten();
    let mut inputs: Vec<(String, Vec<u8>)> = files
        .map(|file| {
            let file = file.expect("the folder can be read");
            let bytes = fs::read(file.path()).expect("the file can be read");
            (file.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    inputs.sort();
    inputs
}
