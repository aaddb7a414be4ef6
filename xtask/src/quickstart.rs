//! `cargo xtask quickstart`: all set-up, then the example that a newcomer runs first.
//!
//! It needs nothing but a Rust and a C compiler: the example is offline, through `echo`.
//! What a config of one's own may need and the example does not (code in JavaScript and Python) is
//! built once its table is there. A second run builds nothing.

use std::fs;
use std::process::Command;

use crate::place::{self, Place};
use crate::plugins::{self, Own};
use crate::python;
use crate::step::{self, Failure, say};

/// The example's config.
const CONFIG: &str = "examples/quickstart/promptfooconfig.yaml";

/// Builds what is missing and runs the example.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    plugins::own(place, Own::Quick)?;
    build_program(place)?;
    let folder = place.target.join("quickstart");
    let results = folder.join("results.json");
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    let mut runner = Command::new(place.runner());
    step::forget_cargo(&mut runner);
    runner
        .current_dir(&place.root)
        .args(["eval", "-c", CONFIG, "-o"])
        .arg(&results);
    step::run(&format!("runner eval -c {CONFIG}"), &mut runner)?;
    plugins::own(place, Own::StartedAhead)?;
    python_if_possible(place);
    // The program knows its plugins by their digests, and two have come.
    build_program(place)?;
    say(&format!(
        "the results as JSON: {}",
        place::relative(&results)
    ));
    say(&format!(
        "the program: {}",
        place::relative(&place.runner())
    ));
    say(&format!("next: change {CONFIG} and run this again"));
    Ok(())
}

/// Builds what runs Python, where Python and PyPI are at hand; the rest works without.
fn python_if_possible(place: &Place) {
    if let Err(failure) = python::run(place) {
        say(&failure.to_string());
        say("code in Python is not run until `cargo xtask quickstart` could build its plugin");
    }
}

/// Builds the program, with the very features that its tests use.
///
/// Cargo gives each library the features that the chosen packages ask for together, so
/// `--package runner` alone would compile the WebAssembly engine once for the program and
/// again for `cargo test --workspace`: minutes each. Choosing the whole workspace and one
/// small test target (that makes cargo count the features that tests need) compiles the
/// same libraries as the tests do, once.
pub(crate) fn build_program(place: &Place) -> Result<(), Failure> {
    let mut cargo = step::cargo(&place.root);
    cargo.args(["build", "--locked", "--release", "--workspace"]);
    cargo.args(["--bin", "runner", "--test", "usage"]);
    step::run("building the program", &mut cargo)
}
