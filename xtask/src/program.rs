//! How the program is built, by every task that needs it.

use std::process::Command;

use crate::linker;
use crate::place::Place;
use crate::step::{self, Failure};

/// Builds the program, with the very features that its tests use.
///
/// Cargo gives each library the features that the chosen packages ask for together, so
/// `--package runner` alone would compile the WebAssembly engine once for the program and
/// again for `cargo test --workspace`: minutes each. Choosing the whole workspace and one
/// small test target (that makes cargo count the features that tests need) compiles the
/// same libraries as the tests do, once.
pub(crate) fn build(place: &Place) -> Result<(), Failure> {
    step::run("building the program", &mut building(place))
}

/// Builds it as people are given it, and as it is measured: all libraries once more.
pub(crate) fn build_to_ship(place: &Place) -> Result<(), Failure> {
    let mut cargo = building(place);
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "thin");
    cargo.envs(linker::for_older_systems(place));
    step::run("building the program to ship", &mut cargo)
}

fn building(place: &Place) -> Command {
    let mut cargo = step::cargo(&place.root);
    cargo.args(["build", "--locked", "--release", "--workspace"]);
    cargo.args(["--bin", "runner", "--test", "usage"]);
    cargo
}
