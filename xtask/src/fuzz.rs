//! `cargo xtask fuzz`: inputs that nobody would write, against everything that reads.
//!
//! What is tried and how stands in `tests/fuzz`; this builds it and hands it the words as they are.

use crate::place::Place;
use crate::step::{self, Failure};

/// Builds the targets and tries them with `words`.
pub(crate) fn run(place: &Place, words: &[String]) -> Result<(), Failure> {
    let mut cargo = step::cargo(&place.root);
    // The whole workspace, as everywhere: `--package` would compile the engine once more.
    cargo.args(["build", "--locked", "--release", "--workspace"]);
    cargo.args(["--example", "fuzz"]);
    step::run("building the fuzz targets", &mut cargo)?;
    let mut fuzz = std::process::Command::new(place.release().join("examples").join("fuzz"));
    step::forget_cargo(&mut fuzz);
    fuzz.args(words);
    fuzz.env("CARGO_TARGET_DIR", &place.target);
    step::run("trying inputs that nobody would write", &mut fuzz)
}
