//! `cargo xtask sim`: the scheduler's score table, from simulation.
//!
//! What is simulated and how stands in `host/scheduler/tests/simulator`; this builds the
//! program that prints it and hands it the words as they are, except that `--check` and
//! `--write` are how the table in the crate's README is kept.

use crate::place::Place;
use crate::step::{self, Failure};

/// Builds the simulator and runs it with `words`.
pub(crate) fn run(place: &Place, words: &[String]) -> Result<(), Failure> {
    let mut cargo = step::cargo(&place.root);
    // The crate alone: it has no dependencies, so nothing else is compiled for it.
    cargo.args([
        "run",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "runner-scheduler",
        "--example",
        "sim",
        "--",
    ]);
    cargo.args(words);
    step::run("simulating", &mut cargo)
}
