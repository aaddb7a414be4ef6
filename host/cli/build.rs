//! Writes the digests of the bundled plugins into the program, and what their READMEs say.
//!
//! The program grants its own plugins what they ask for, so it has to know them by what they
//! are: a folder of that name beside it may be anybody's. They are read where `cargo xtask plugins`
//! puts them, which is where the built program looks for them. Without them the program is built
//! all the same and knows none: it then says that both have to be built.
//!
//! No table in the sources, since components differ with the compiler that builds them.

use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it for build scripts");
    // target/release/build/runner-0123456789abcdef/out
    let out = PathBuf::from(out);
    fs::write(out.join("docs.rs"), docs()).expect("cargo made the folder");
    let profile = out
        .ancestors()
        .nth(3)
        .expect("cargo's folders are that deep");
    let plugins = profile.join("plugins");
    println!("cargo::rerun-if-changed={}", plugins.display());
    println!("cargo::rerun-if-changed=build.rs");
    let entries = fs::read_dir(&plugins).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let components = files.filter(|path| path.extension().is_some_and(|it| it == "wasm"));
    let read = components.filter_map(|path| fs::read(path).ok());
    let mut digests: Vec<String> = read
        .map(|bytes| HEXLOWER.encode(&Sha256::digest(bytes)))
        .collect();
    digests.sort();
    println!("cargo::rustc-env=RUNNER_BUNDLE={}", digests.join(","));
}

/// A list of the plugins' names and READMEs, as Rust.
fn docs() -> String {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    println!("cargo::rerun-if-changed={}", plugins.display());
    let entries = fs::read_dir(&plugins).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("README.md").is_file());
    folders.sort();
    let row = |folder: PathBuf| {
        let name = folder.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let readme = folder.join("README.md").display().to_string();
        format!("({name:?}, include_str!({readme:?}))")
    };
    let rows: Vec<String> = folders.into_iter().map(row).collect();
    format!("[{}]", rows.join(", "))
}
