//! `cargo xtask soak`: the built program is killed thousands of times.
//!
//! What is done and looked at stands in `tests/src/crash.rs`; this builds what it needs and hands
//! it the words as they are.

use crate::place::Place;
use crate::plugins;
use crate::program;
use crate::step::{self, Failure};
use crate::toolchain::Wish;

/// Builds program and test, and runs it with `words`.
pub(crate) fn run(place: &Place, words: &[String]) -> Result<(), Failure> {
    plugins::run(place, Wish::Any)?;
    program::build(place)?;
    let mut cargo = step::cargo(&place.root);
    // The whole workspace, as everywhere: `--package` would compile the engine once more.
    cargo.args(["build", "--locked", "--release", "--workspace"]);
    cargo.args(["--example", "soak"]);
    step::run("building the soak test", &mut cargo)?;
    let mut soak = std::process::Command::new(place.release().join("examples").join("soak"));
    step::forget_cargo(&mut soak);
    soak.args(words);
    soak.env("CARGO_TARGET_DIR", &place.target);
    step::run("killing the program again and again", &mut soak)
}
