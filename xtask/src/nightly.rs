//! `cargo xtask nightly`: the long versions of what `test` does in seconds, and what only a release needs.

use crate::bench;
use crate::crates;
use crate::dist;
use crate::fuzz;
use crate::place::Place;
use crate::soak;
use crate::step::Failure;

/// Makes and tries what people are given, fuzzes for so many hours, shows a run of a million cases, then runs the
/// soak test as long as it is by default.
pub(crate) fn run(place: &Place, hours: &str) -> Result<(), Failure> {
    crates::run(place)?;
    dist::run(place)?;
    fuzz::run(place, &["--hours".to_owned(), hours.to_owned()])?;
    bench::run(place, &["million".to_owned()])?;
    soak::run(place, &[])
}
