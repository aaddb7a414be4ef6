//! `cargo xtask bench`: figures of whole runs by the built program.
//!
//! What is measured and how stands in `tests/examples/bench.rs`; this builds what it needs.

use crate::place::Place;
use crate::plugins;
use crate::quickstart;
use crate::step::{self, Failure};
use crate::toolchain::Wish;

/// Builds program and benchmark, and runs it.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    plugins::run(place, Wish::Any)?;
    quickstart::build_program(place)?;
    let mut cargo = step::cargo(&place.root);
    // The whole workspace, as everywhere: `--package` would compile the engine once more.
    cargo.args([
        "build",
        "--locked",
        "--release",
        "--workspace",
        "--example",
        "bench",
    ]);
    step::run("building the benchmark", &mut cargo)?;
    let mut bench = std::process::Command::new(place.release().join("examples/bench"));
    step::forget_cargo(&mut bench);
    bench.env("CARGO_TARGET_DIR", &place.target);
    step::run("measuring", &mut bench)
}
