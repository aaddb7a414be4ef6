//! Packages for npm and PyPI that hold the program, so that `npx` and `uvx` run it without anything else.
//!
//! npm takes the package of this target as an optional one of another, which is the same for all and
//! starts it. PyPI has a wheel for each target, and installs the program itself. Neither downloads
//! anything when it is installed.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Dist;
use super::folder::Folder;
use crate::step::{self, Failure, say};

/// What both are called: `runner` itself is others'.
pub(super) const NAME: &str = "runner-eval";

/// Starts the program from JavaScript.
const STARTER: &[u8] = include_bytes!("runner.js");

/// Starts the program that is installed beside it: `uvx NAME` runs what is called as the package. Whoever installs
/// it puts the environment's Python into the first line.
const WHEEL_STARTER: &str = r#"#!python
import os, sys
program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "runner")
os.execv(program, [program, *sys.argv[1:]])
"#;

/// Packs a wheel.
const WHEEL: &str = include_str!("wheel.py");

/// Names of this target in each registry's words; `None` where it is not known there.
struct Names {
    os: &'static str,
    cpu: &'static str,
    wheel: &'static str,
}

impl Names {
    fn of(target: &str) -> Option<Self> {
        let (cpu, machine) = match target.split('-').next()? {
            "x86_64" => ("x64", "x86_64"),
            "aarch64" => ("arm64", "aarch64"),
            _ => return None,
        };
        let is_glibc = target.ends_with("-linux-gnu");
        is_glibc.then_some(Self {
            os: "linux",
            cpu,
            wheel: machine,
        })
    }
}

/// Makes those whose tools are there.
pub(super) fn packages(dist: &Dist<'_>, content: &Folder) -> Result<Vec<String>, Failure> {
    let (Some(names), Some(glibc)) = (Names::of(&dist.target), dist.needs.glibc) else {
        say("no packages for npm and PyPI are made: they are of programs for Linux with glibc");
        return Ok(Vec::new());
    };
    let mut made = Vec::new();
    if is_there("npm") {
        made.extend(npm(dist, content, &names)?);
    } else {
        say("there is no npm, so no package for it is made");
    }
    if is_there("python3") {
        made.push(wheel(dist, content, &names, glibc)?);
    } else {
        say("there is no python3, so no package for PyPI is made");
    }
    Ok(made)
}

/// Whether a program is on the path and starts.
pub(super) fn is_there(name: &str) -> bool {
    let mut command = Command::new(name);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The package of this target, and the one that starts it.
fn npm(dist: &Dist<'_>, content: &Folder, names: &Names) -> Result<[String; 2], Failure> {
    let version = &dist.version;
    let of_target = format!("{NAME}-{}-{}", names.os, names.cpu);
    let with_program = json!({
        "name": of_target, "version": version, "license": "MIT OR Apache-2.0",
        "description": format!("runner for {} on {}", names.os, names.cpu),
        "os": [names.os], "cpu": [names.cpu], "libc": ["glibc"],
        "files": ["bin/runner", "THIRD-PARTY.txt", "LICENSE-*"],
    });
    let starting = json!({
        "name": NAME, "version": version, "license": "MIT OR Apache-2.0",
        "description": "Evaluates prompts of language models, with configs of promptfoo",
        "bin": { "runner": "runner.js", NAME: "runner.js" },
        "files": ["runner.js", "LICENSE-*"],
        "engines": { "node": ">=18" },
        "optionalDependencies": { (of_target.as_str()): version },
    });
    let folder = dist.home.below("npm");
    let program = folder.below("program");
    program.copy(&content.path("runner"), "bin/runner")?;
    program.copy(&content.path("THIRD-PARTY.txt"), "THIRD-PARTY.txt")?;
    let starter = folder.below("starter");
    starter.write("runner.js", STARTER)?;
    let mut made = Vec::new();
    for (folder, about) in [(&program, with_program), (&starter, starting)] {
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
            folder.copy(&content.path(file), file)?;
        }
        made.push(packed(dist, folder, &about)?);
    }
    folder.remove()?;
    made.try_into()
        .map_err(|_| Failure::new("npm packed something else"))
}

/// Packs what is in a folder for npm.
pub(super) fn packed(dist: &Dist<'_>, folder: &Folder, about: &Value) -> Result<String, Failure> {
    folder.write("package.json", format!("{about:#}\n").as_bytes())?;
    let mut npm = Command::new("npm");
    npm.current_dir(folder.path(""))
        .args(["pack", "--silent", "--ignore-scripts", "--pack-destination"])
        .arg(dist.home.path(""));
    let name = step::read("packing for npm", &mut npm)?;
    Ok(name.trim().to_owned())
}

fn wheel(dist: &Dist<'_>, content: &Folder, names: &Names, glibc: u32) -> Result<String, Failure> {
    let member = |to: &str, file: &str| json!([to, content.path(file)]);
    let starter = format!("DATA/scripts/{NAME}");
    packed_wheel(
        dist,
        &json!({
            "name": NAME, "python": ">=3.8",
            "tag": format!("py3-none-manylinux_2_{glibc}_{}", names.wheel),
            "summary": "Evaluates prompts of language models, with configs of promptfoo",
            "readme": content.path("README.md"),
            "members": [
                member("DATA/scripts/runner", "runner"),
                json!([starter, { "text": WHEEL_STARTER }]),
                member("INFO/licenses/LICENSE-MIT", "LICENSE-MIT"),
                member("INFO/licenses/LICENSE-APACHE", "LICENSE-APACHE"),
                member("INFO/THIRD-PARTY.txt", "THIRD-PARTY.txt"),
            ],
        }),
    )
}

/// Packs for PyPI what an object says.
pub(super) fn packed_wheel(dist: &Dist<'_>, about: &Value) -> Result<String, Failure> {
    let mut about = about.clone();
    about["version"] = json!(dist.version);
    about["time"] = json!(dist.time);
    about["out"] = json!(dist.home.path(""));
    let mut python = Command::new("python3");
    python.args(["-c", WHEEL, &about.to_string()]);
    let name = step::read("packing for PyPI", &mut python)?;
    Ok(name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_the_names_of_the_registries() {
        let names = |target| Names::of(target).map(|names| (names.cpu, names.wheel));
        assert_eq!(names("x86_64-unknown-linux-gnu"), Some(("x64", "x86_64")));
        assert_eq!(
            names("aarch64-unknown-linux-gnu"),
            Some(("arm64", "aarch64"))
        );
        assert_eq!(names("x86_64-unknown-linux-musl"), None);
        assert_eq!(names("riscv64gc-unknown-linux-gnu"), None);
    }
}
