//! What plugins in JavaScript are built with, for the tests of the SDK and of the folders that `runner plugin new`
//! makes: npm brings it, below the target directory. That for Python is there, since `python` builds with it, too.

use std::process::Command;

use crate::place::Place;
use crate::step::{self, say};

/// The tool, to the digit: the one that the folders name.
const TOOL: &str = "componentize-qjs@0.4.5";

/// Installs it, unless it is there; where npm or its registry can't be had, the tests that need it say so.
pub(crate) fn if_possible(place: &Place) {
    let folder = place.target.join("npm").join(TOOL);
    if folder.join("node_modules/.bin/componentize-qjs").is_file() {
        return;
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund"]);
    npm.args(["--ignore-scripts", "--silent", "--prefix"]);
    npm.arg(&folder).arg(TOOL);
    if let Err(failure) = step::run(&format!("getting {TOOL} from npm"), &mut npm) {
        say(&failure.to_string());
        say("SKIPPED: without it no plugin in JavaScript is built by the tests");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The tests build with what authors are told to install.
    #[test]
    fn the_folders_for_plugins_name_the_tools_of_the_tests() {
        let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/cli/templates");
        let read = |file: &str| std::fs::read_to_string(templates.join(file));
        let package = read("js/package.json.in").unwrap_or_default();
        let (name, version) = TOOL.split_once('@').unwrap_or_default();
        assert!(package.contains(&format!("\"{name}\": \"{version}\"")));
        let requirements = read("python/requirements.txt.in").unwrap_or_default();
        assert_eq!(requirements.trim(), crate::python::TOOL);
    }
}
