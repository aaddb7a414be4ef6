//! `cargo xtask check`: form, lints, docs and the rules of the house; no test is run.
//!
//! Stages go from seconds to minutes, so that the cheap mistake is found first. They use
//! the release profile as everything here does: the libraries are looked at once.

use crate::deny;
use crate::house;
use crate::place::Place;
use crate::pure;
use crate::site;
use crate::step::{self, Failure};

/// One part of the check that can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// `cargo fmt`, changing nothing.
    Form,
    /// The rules that no other tool knows.
    House,
    /// clippy, where a warning is an error.
    Lints,
    /// rustdoc, where a warning is an error.
    Docs,
    /// The scheduler imports nothing.
    Pure,
    /// What the dependencies are.
    Deny,
    /// Documents as pages.
    Site,
}

impl Stage {
    const ALL: [Self; 7] = [
        Self::Form,
        Self::House,
        Self::Pure,
        Self::Deny,
        Self::Site,
        Self::Lints,
        Self::Docs,
    ];

    /// The name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Form => "fmt",
            Self::House => "house",
            Self::Lints => "clippy",
            Self::Docs => "docs",
            Self::Pure => "pure",
            Self::Deny => "deny",
            Self::Site => "site",
        }
    }

    /// The stage of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// Runs every stage; stops at the first failure.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    Stage::ALL
        .into_iter()
        .try_for_each(|stage| run_stage(place, stage))
}

/// Runs one stage.
pub(crate) fn run_stage(place: &Place, stage: Stage) -> Result<(), Failure> {
    let again = format!("cargo xtask check {}", stage.name());
    let result = match stage {
        Stage::Form => form(place),
        Stage::House => house::run(place),
        Stage::Lints => lints(place),
        Stage::Docs => docs(place),
        Stage::Pure => pure::run(place),
        Stage::Deny => deny::run(place),
        Stage::Site => site::run(place),
    };
    result.map_err(|failure| failure.again(again))
}

/// Formats nothing, and fails where formatting would change something.
fn form(place: &Place) -> Result<(), Failure> {
    let mut cargo = step::cargo(&place.root);
    cargo.args(["fmt", "--all", "--", "--check"]);
    step::run("checking the form (cargo fmt --all repairs it)", &mut cargo)?;
    if let Some(outside) = place.outside() {
        let mut cargo = step::cargo(&outside);
        cargo.args(["fmt", "--all", "--", "--check"]);
        step::run("checking the form of tests/outside", &mut cargo)?;
    }
    Ok(())
}

/// Runs clippy over everything.
fn lints(place: &Place) -> Result<(), Failure> {
    let mut cargo = step::cargo(&place.root);
    cargo.args([
        "clippy",
        "--locked",
        "--release",
        "--workspace",
        "--all-targets",
    ]);
    cargo.args(["--", "-D", "warnings"]);
    step::run("checking with clippy", &mut cargo)
}

/// Builds the documentation, links included.
fn docs(place: &Place) -> Result<(), Failure> {
    let mut cargo = step::cargo(&place.root);
    cargo.args(["doc", "--locked", "--release", "--workspace", "--no-deps"]);
    // Naming the examples makes cargo count the features that tests need, as clippy did;
    // otherwise the libraries would be looked at a second time with fewer features.
    cargo.args(["--lib", "--bins", "--examples"]);
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    step::run("checking the documentation", &mut cargo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_can_be_named() {
        for stage in Stage::ALL {
            assert_eq!(Stage::named(stage.name()), Some(stage));
        }
        assert_eq!(Stage::named("lint"), None);
    }
}
