//! An archive is unpacked where nothing else is, and does what a newcomer does first.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::unpack;
use crate::step::{self, Failure};

/// Unpacks it into an empty folder, and runs `init` and `eval` there with an empty environment.
pub(super) fn archive(home: &Path, name: &str) -> Result<(), Failure> {
    let folder = home.join("tried");
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    unpack(&home.join(name), &folder)?;
    let inner = folder.join(name.trim_end_matches(".tar.gz"));
    let runner = |arguments: &[&str]| {
        let mut command = Command::new(inner.join("runner"));
        command.current_dir(&folder).env_clear().args(arguments);
        // Whoever tries it keeps nothing in the home of whoever builds it.
        command.env("RUNNER_HOME", folder.join("home"));
        command
    };
    step::read("trying the archive: init", &mut runner(&["init"]))?;
    step::run(
        "trying the archive: eval",
        &mut runner(&["eval", "--no-table"]),
    )?;
    fs::remove_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot remove {}: {error}", folder.display())))
}
