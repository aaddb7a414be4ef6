//! `cargo xtask bench`: figures of whole runs by the built program, all of them or those of one
//! measure.
//!
//! What is measured and how stands in `tests/examples/bench.rs` (cost of a case),
//! `tests/examples/allocations.rs` (how often it takes memory), `tests/examples/lanes.rs` (use of a
//! quota), `tests/examples/servers.rs` (that of servers that other people make), `host/view/examples/million`
//! (what the viewer takes for a run of a million cases) and, for the scheduler alone, `host/scheduler/examples/overhead.rs`; this builds what they need.

use crate::place::Place;
use crate::plugins;
use crate::program;
use crate::servers;
use crate::step::{self, Failure};
use crate::toolchain::Wish;

/// The programs that measure, and what they are given.
const MEASURES: [(&str, &[&str]); 6] = [
    ("overhead", &[]),
    ("bench", &[]),
    ("lanes", &["--runs", "1"]),
    ("servers", &[]),
    ("million", &[]),
    // Last: it fails where a case takes more than it did.
    ("allocations", &[]),
];

/// Whether there is a measure of this name.
pub(crate) fn knows(name: &str) -> bool {
    MEASURES.iter().any(|(known, _)| *known == name)
}

/// Builds program and measures, and runs them one after the other; with words only the one that the
/// first names, with the others as its arguments.
pub(crate) fn run(place: &Place, words: &[String]) -> Result<(), Failure> {
    let own = words.split_first();
    let wanted = |name: &str| own.is_none_or(|(wanted, _)| wanted == name);
    let measures = MEASURES.iter().filter(|(name, _)| wanted(name));
    plugins::run(place, Wish::Any)?;
    if measures.clone().any(|(name, _)| *name == "servers") {
        servers::run(place)?;
    }
    // What is counted, and what a server's pace decides, is no faster for it.
    if measures.clone().any(|(name, _)| *name == "bench") {
        program::build_to_ship(place)?;
    } else {
        program::build(place)?;
    }
    let mut cargo = step::cargo(&place.root);
    // The whole workspace, as everywhere: `--package` would compile the engine once more.
    cargo.args(["build", "--locked", "--release", "--workspace"]);
    for (name, _) in measures.clone() {
        cargo.args(["--example", name]);
    }
    step::run("building the measures", &mut cargo)?;
    for (name, arguments) in measures {
        let mut measure = std::process::Command::new(place.release().join("examples").join(name));
        step::forget_cargo(&mut measure);
        match own {
            Some((_, arguments)) if !arguments.is_empty() => measure.args(arguments),
            _ => measure.args(*arguments),
        };
        measure.env("CARGO_TARGET_DIR", &place.target);
        step::run(&format!("measuring: {name}"), &mut measure)?;
    }
    Ok(())
}
