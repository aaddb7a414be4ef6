//! `cargo xtask check deny`: what the dependencies are, held against `deny.toml` by cargo-deny.
//!
//! Building cargo-deny takes a minute, once, and its run a second. Licences, sources and doubled versions need no network.
//! What is withdrawn is asked of crates.io's index, and the published weaknesses of a repository
//! at GitHub; where that can't be reached it is said loudly, and the rest is checked all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::place::Place;
use crate::step::{self, Failure};
use crate::tool::{self, Tool};

const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    features: "",
    takes: "a minute",
};

/// The folder of the workspace.
const OURS: &str = ".";

/// Workspaces of their own, whose locks no other check reads.
const OTHERS: [&str; 2] = ["xtask/preinitialise", "tests/outside"];

/// Where published weaknesses are kept.
const DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// An entry for a database that has none: cargo-deny takes an empty one for a damaged one.
const NO_ADVISORY: &str = "```toml
[advisory]
id = \"RUSTSEC-2000-0000\"
package = \"no-such-package-anywhere\"
date = \"2000-01-01\"

[versions]
patched = []
```

# Nothing

Stands for a database that can't be reached.
";

/// Runs every check.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    let tools = tool::folder(place);
    let program = DENY.installed(place)?;
    let rules = Path::new("deny.toml");
    let mut deny = denying(place, &program, OURS, rules);
    deny.args(["-D", "unnecessary-skip", "-D", "unmatched-skip"]);
    deny.args(["licenses", "sources", "bans"]);
    step::run("checking licences, sources and doubled versions", &mut deny)?;
    for workspace in OTHERS {
        let mut deny = denying(place, &program, workspace, rules);
        // The exceptions are for ours. Versions that come twice there are in no program.
        deny.args(["-A", "license-not-encountered"]);
        deny.args(["-A", "license-exception-not-encountered"]);
        deny.args(["-A", "unmatched-skip", "-A", "unnecessary-skip"]);
        deny.args(["-A", "duplicate"]);
        deny.args(["licenses", "sources", "bans"]);
        step::run(&format!("checking those of {workspace}"), &mut deny)?;
    }
    if is_reachable(place) {
        for workspace in [OURS].iter().chain(&OTHERS) {
            let mut deny = denying(place, &program, workspace, rules);
            deny.arg("advisories");
            step::run("checking for weak and withdrawn versions", &mut deny)?;
        }
        return Ok(());
    }
    step::say("!!! NOT CHECKED: published weaknesses of the dependencies");
    step::say(&format!("!!! their database can't be reached: {DATABASE}"));
    if Command::new("git").arg("--version").output().is_err() {
        step::say("!!! NOT CHECKED: withdrawn versions; that needs git");
        return Ok(());
    }
    withdrawn(place, &program, &tools)
}

fn denying(place: &Place, program: &Path, workspace: &str, rules: &Path) -> Command {
    let mut deny = Command::new(program);
    deny.current_dir(&place.root).arg("--locked");
    deny.arg("--manifest-path")
        .arg(format!("{workspace}/Cargo.toml"));
    deny.arg("--config").arg(rules).arg("check");
    deny
}

/// Whether the database of weaknesses answers.
fn is_reachable(place: &Place) -> bool {
    let mut git = Command::new("git");
    git.current_dir(&place.root);
    git.args(["ls-remote", "--quiet", "--exit-code", DATABASE, "HEAD"]);
    git.env("GIT_TERMINAL_PROMPT", "0");
    step::run_within("looking for the database of weaknesses", &mut git, PATIENCE).is_ok()
}

/// Checks for withdrawn versions, with a database of weaknesses that has none.
fn withdrawn(place: &Place, program: &Path, tools: &Path) -> Result<(), Failure> {
    let folder = tools.join("no-advisories");
    let database = folder.join("database");
    if database.exists() {
        fs::remove_dir_all(&folder).map_err(|error| not_written(&folder, &error))?;
    }
    let package = database.join("crates/no-such-package-anywhere");
    let write = |path: PathBuf, text: &str| {
        fs::write(&path, text).map_err(|error| not_written(&path, &error))
    };
    fs::create_dir_all(&package).map_err(|error| not_written(&package, &error))?;
    write(package.join("RUSTSEC-2000-0000.md"), NO_ADVISORY)?;
    for words in [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["add", "--all"],
        &[
            "-c",
            "user.name=xtask",
            "-c",
            "user.email=xtask@localhost",
            "commit",
            "--quiet",
            "--message",
            "none",
        ],
    ] {
        let mut git = Command::new("git");
        git.current_dir(&database).args(words);
        step::read("making a database without weaknesses", &mut git)?;
    }
    let config = folder.join("deny.toml");
    let clones = folder.join("clones");
    let text = format!(
        "[advisories]\nyanked = \"deny\"\ndb-path = '{}'\n",
        clones.display()
    );
    write(config.clone(), &text)?;
    for workspace in [OURS].iter().chain(&OTHERS) {
        let mut deny = denying(place, program, workspace, &config);
        deny.arg("advisories");
        // git fetches the one where cargo-deny names the other.
        deny.env("GIT_CONFIG_COUNT", "1");
        deny.env(
            "GIT_CONFIG_KEY_0",
            format!("url.file://{}.insteadOf", database.display()),
        );
        deny.env("GIT_CONFIG_VALUE_0", DATABASE);
        step::run("checking for withdrawn versions alone", &mut deny)?;
    }
    Ok(())
}

fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}
