//! `cargo xtask bench`: figures of whole runs by the built program.
//!
//! What is measured and how stands in `tests/examples/bench.rs` (cost of a case),
//! `tests/examples/allocations.rs` (how often it takes memory), `tests/examples/lanes.rs` (use of a
//! quota) and, for the scheduler alone, `host/scheduler/examples/overhead.rs`; this builds what they
//! need.

use crate::place::Place;
use crate::plugins;
use crate::quickstart;
use crate::step::{self, Failure};
use crate::toolchain::Wish;

/// The programs that measure, and what they are given.
const MEASURES: [(&str, &[&str]); 4] = [
    ("overhead", &[]),
    ("bench", &[]),
    ("allocations", &[]),
    ("lanes", &["--runs", "1"]),
];

/// Builds program and measures, and runs them one after the other.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    plugins::run(place, Wish::Any)?;
    quickstart::build_program(place)?;
    let mut cargo = step::cargo(&place.root);
    // The whole workspace, as everywhere: `--package` would compile the engine once more.
    cargo.args(["build", "--locked", "--release", "--workspace"]);
    for (name, _) in MEASURES {
        cargo.args(["--example", name]);
    }
    step::run("building the measures", &mut cargo)?;
    for (name, arguments) in MEASURES {
        let mut measure = std::process::Command::new(place.release().join("examples").join(name));
        step::forget_cargo(&mut measure);
        measure.args(arguments);
        measure.env("CARGO_TARGET_DIR", &place.target);
        step::run(&format!("measuring: {name}"), &mut measure)?;
    }
    Ok(())
}
