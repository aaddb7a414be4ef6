//! Tools of others that a task needs, built from crates.io into the target directory, once.
//!
//! Without optimisation: what is built for a run of seconds should not take minutes. `cargo
//! install` where the person has the tool already would leave the version to chance.

use std::fs;
use std::path::PathBuf;

use crate::place::Place;
use crate::step::{self, Failure};

/// A program that is a crate of the same name.
pub(crate) struct Tool {
    /// The crate and the program.
    pub(crate) name: &'static str,
    /// The release.
    pub(crate) version: &'static str,
    /// What of it is built, beyond the least; names with commas between them.
    pub(crate) features: &'static str,
    /// How long building it takes, in words.
    pub(crate) takes: &'static str,
}

/// Where the tools are.
pub(crate) fn folder(place: &Place) -> PathBuf {
    place.target.join("tools")
}

impl Tool {
    /// Returns the program of that version, and builds it if it isn't there.
    pub(crate) fn installed(&self, place: &Place) -> Result<PathBuf, Failure> {
        let Self { name, version, .. } = self;
        let tools = folder(place);
        let program = tools.join(format!("bin/{name}{}", std::env::consts::EXE_SUFFIX));
        // Not every program says its version when it is asked; cargo notes what it has installed.
        let noted = fs::read_to_string(tools.join(".crates.toml")).unwrap_or_default();
        if program.is_file() && noted.contains(&format!("\"{name} {version} (")) {
            return Ok(program);
        }
        let build = tools.join("build");
        let mut cargo = step::cargo(&place.root);
        cargo.args(["install", name, "--version", version, "--locked"]);
        cargo.args(["--no-default-features", "--profile", "dev", "--force"]);
        cargo.args(["--features", self.features]);
        cargo.arg("--root").arg(&tools);
        cargo.env("CARGO_TARGET_DIR", &build);
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        let what = format!("building {name} ({}, once)", self.takes);
        step::run(&what, &mut cargo)?;
        // Half a gigabyte that nobody needs again.
        fs::remove_dir_all(&build)
            .map_err(|error| Failure::new(format!("{}: {error}", build.display())))?;
        Ok(program)
    }
}
