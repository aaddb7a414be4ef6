//! `cargo xtask test`: all set-up, all checks, all tests, in one profile and one target
//! directory, so that nothing is built twice.
//!
//! The order is by cost: what is likely to fail fast comes first, except that guests and
//! program are needed by the tests and are built before anything looks at them.

use std::path::Path;
use std::process::Command;

use crate::authors;
use crate::check;
use crate::dist;
use crate::place::Place;
use crate::plugins;
use crate::program;
use crate::python;
use crate::quickstart;
use crate::servers;
use crate::step::{self, Failure};
use crate::toolchain::Wish;

/// Runs everything; stops at the first failure.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    plugins::run(place, Wish::Any)?;
    python::run(place)?;
    authors::if_possible(place);
    program::build(place)?;
    let home = place.target.join("test-home");
    compile_python(place, &home)?;
    quickstart::example(place, Some(&home))?;
    dist::quick(place)?;
    check::run(place)?;
    servers::run(place)?;
    let mut cargo = step::cargo(&place.root);
    cargo.args(["test", "--locked", "--release", "--workspace"]);
    step::run("building all tests", cargo.arg("--no-run"))?;
    let mut cargo = step::cargo(&place.root);
    cargo.args(["test", "--locked", "--release", "--workspace"]);
    step::run("running all tests", &mut cargo)?;
    step::say("all passed");
    Ok(())
}

/// Compiles the largest plugin where the tests look for what is compiled: it takes a quarter of a
/// minute, and tests that run at once would each do it.
fn compile_python(place: &Place, home: &Path) -> Result<(), Failure> {
    let release = place.target.join("release");
    let mut inspect = Command::new(release.join("runner"));
    inspect
        .args(["plugin", "inspect"])
        .arg(release.join("plugins/python.wasm"))
        .env("RUNNER_HOME", home);
    step::read("compiling the Python plugin for the tests", &mut inspect).map(drop)
}
