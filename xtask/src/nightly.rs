//! `cargo xtask nightly`: the long versions of what `test` does in seconds.

use crate::fuzz;
use crate::place::Place;
use crate::soak;
use crate::step::Failure;

/// Fuzzes for so many hours, then runs the soak test as long as it is by default.
pub(crate) fn run(place: &Place, hours: &str) -> Result<(), Failure> {
    fuzz::run(place, &["--hours".to_owned(), hours.to_owned()])?;
    soak::run(place, &[])
}
