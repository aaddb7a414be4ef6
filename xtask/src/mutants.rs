//! `cargo xtask mutants`: the pure modules with one mistake each, which a unit test has to notice.
//!
//! cargo-mutants makes the mistakes. `.cargo/mutants.toml` says in which files, and which mistakes
//! may stay unnoticed and why. The one crate that is built again for each mistake is built without
//! optimisation, and beside what is built already: its libraries are the program's.

use std::process::Command;

use crate::place::Place;
use crate::step::{self, Failure};
use crate::tool::Tool;

const MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
    features: "",
    takes: "a minute",
};

/// The crates whose modules are mutated.
const CRATES: [&str; 2] = ["runner-eval", "runner-gateway"];

/// Runs them all, or those that `words` choose in cargo-mutants' own words (`--file`, `--shard`).
pub(crate) fn run(place: &Place, words: &[String]) -> Result<(), Failure> {
    let program = MUTANTS.installed(place)?;
    let mut mutants = Command::new(program);
    step::forget_cargo(&mut mutants);
    mutants.current_dir(&place.root).arg("mutants").args(words);
    mutants.arg("--output").arg(&place.target);
    for name in CRATES {
        let setting = format!("profile.release.package.{name}.opt-level=0");
        mutants.arg(format!("--cargo-arg=--config={setting}"));
    }
    mutants.env("CARGO_TARGET_DIR", place.target.join("mutants"));
    mutants.env("CARGO_INCREMENTAL", "1");
    step::run("making mistakes that a test has to notice", &mut mutants)
}
