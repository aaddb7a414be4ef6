//! Writes the digests of the bundled plugins into the program, what their READMEs say, and what
//! `plugin new` makes folders of.
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
    fs::write(out.join("templates.rs"), templates()).expect("cargo made the folder");
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

/// What a folder for a plugin has of the SDK of its language: set, folder below `plugin-sdk`, and what of that.
const SDKS: [(&str, &str, &[&str]); 4] = [
    ("sdk", "", &["src", "wit", "README.md"]),
    (
        "js-sdk",
        "js",
        &[
            "contract.d.ts",
            "index.d.ts",
            "index.js",
            "llm.d.ts",
            "llm.js",
            "package.json",
            "README.md",
            "src",
            "testing.d.ts",
            "testing.js",
        ],
    ),
    ("python-sdk", "python", &["runner_plugin"]),
    ("c-sdk", "c", &["README.md", "runner.c", "runner.h"]),
];

/// A list of the files that folders for plugins are made of, as Rust: set, path and text. The SDK and the
/// contract are sets, too, since nobody has to fetch them.
fn templates() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let sets = fs::read_dir(here.join("templates")).expect("it is beside this file");
    for set in sets.flatten().map(|entry| entry.path()) {
        let name = set.file_name().unwrap_or_default().to_string_lossy();
        below(&set, &set, &name, &mut files);
    }
    let sdk = here.join("../../plugin-sdk");
    for (set, folder, parts) in SDKS {
        let folder = sdk.join(folder);
        for part in parts {
            let path = folder.join(part);
            if path.is_file() {
                files.push((set.to_owned(), (*part).to_owned(), path));
            } else {
                below(&folder, &path, set, &mut files);
            }
        }
    }
    let contract = here.join("../../wit/v0_1");
    for (set, path, file) in [
        ("wit", "plugin.wit", contract.join("plugin.wit")),
        (
            "python-sdk",
            "runner_plugin/README.md",
            sdk.join("python/README.md"),
        ),
    ] {
        files.push((set.to_owned(), path.to_owned(), file));
    }
    files.sort();
    for folder in [here.join("templates"), sdk, contract] {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let row = |(set, path, file): (String, String, PathBuf)| {
        format!(
            "({set:?}, {path:?}, include_str!({:?}))",
            file.display().to_string()
        )
    };
    let rows: Vec<String> = files.into_iter().map(row).collect();
    format!("[{}]", rows.join(", "))
}

/// Every file below `folder`, with its path from `root`.
fn below(root: &Path, folder: &Path, set: &str, files: &mut Vec<(String, String, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.ends_with("__pycache__") {
            // Python leaves it beside what it runs.
        } else if path.is_dir() {
            below(root, &path, set, files);
        } else if let Ok(from_root) = path.strip_prefix(root) {
            let name = from_root.to_string_lossy().replace('\\', "/");
            files.push((set.to_owned(), name, path));
        }
    }
}
