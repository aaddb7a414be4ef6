//! `runner plugin build`: builds what is in a folder as its language does, and looks whether that can be loaded.
//!
//! It runs what the folder's README says, with its output as it comes, and knows no more of a language than how to
//! tell what is missing. Where a folder is none of Cargo's and none of npm's, it says its command itself.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

use super::CommandContext;
use super::built::built;
use super::eval::sandbox;
use super::inspect;
use crate::arguments::Build;
use crate::failure::Failure;
use crate::visible;

/// What Rust compiles plugins for.
const TARGET: &str = "wasm32-wasip2";

/// What it compiles them for where it can't for that: with [`LINKER`] a component comes of it, too.
const BARE_TARGET: &str = "wasm32-unknown-unknown";
const LINKER: &str = "wasm-component-ld";

/// The file in which a folder says how it is built.
const OWN: &str = "plugin.json";

/// Where a folder has the programs of its virtual environment.
const VENV: [&str; 2] = [".venv/bin", ".venv/Scripts"];

/// Builds it; gives the exit code.
pub(super) fn run(arguments: &Build, setting: &CommandContext) -> Result<u8, Failure> {
    let named = arguments.folder.as_deref().unwrap_or(Path::new("."));
    let folder: PathBuf = setting.cwd.join(named).components().collect();
    let component = if folder.join(OWN).is_file() {
        own(&folder, setting)?
    } else if folder.join("Cargo.toml").is_file() {
        cargo(&folder, setting)?
    } else if folder.join("package.json").is_file() {
        npm(&folder, setting)?
    } else {
        let message = format!(
            "{} has no {OWN}, Cargo.toml or package.json",
            folder.display()
        );
        return Err(Failure::usage(message).help(
            "`runner plugin new` makes a folder that can be built; `runner plugin build --help` says what is read",
        ));
    };
    let shown = component.strip_prefix(&setting.cwd).unwrap_or(&component);
    inspect::tell(&sandbox(1, setting)?.inspect(shown), arguments.json)
}

/// How a folder says itself that it is built.
#[derive(Debug, Deserialize)]
struct Own {
    build: Vec<String>,
}

fn own(folder: &Path, setting: &CommandContext) -> Result<PathBuf, Failure> {
    let file = folder.join(OWN);
    let read = fs::read(&file).map_err(|error| error.to_string());
    let read =
        read.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    let Own { build } = read.map_err(|error| {
        Failure::usage(format!("{}: {error}", file.display()))
            .help("for example: { \"build\": [\"make\", \"plugin.wasm\"] }")
    })?;
    let Some((program, arguments)) = build.split_first() else {
        return Err(Failure::usage(format!(
            "{}: `build` is empty",
            file.display()
        )));
    };
    finish(program, arguments, folder, setting)?;
    built(folder)
}

fn cargo(folder: &Path, setting: &CommandContext) -> Result<PathBuf, Failure> {
    let (target, linker) = target(folder, setting)?;
    let arguments = ["build", "--release", "--target", target];
    let shown = format!("cargo {}", arguments.join(" "));
    setting.talk.note(&format!("running: {shown}"));
    let mut command = command("cargo", &arguments, folder, setting);
    command
        .envs(linker.map(|linker| ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)))
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped());
    let done = command
        .spawn()
        .and_then(std::process::Child::wait_with_output);
    let done = done.map_err(|error| missing("cargo", &error))?;
    if !done.status.success() {
        return Err(failed("cargo", done.status));
    }
    let said = String::from_utf8_lossy(&done.stdout);
    let mut made = components(&said);
    match (made.pop(), made.is_empty()) {
        (Some(component), true) => Ok(component),
        (Some(component), false) => {
            made.push(component);
            let names: Vec<String> = made.iter().map(|it| it.display().to_string()).collect();
            let message = format!("several components were built: {}", names.join(", "));
            Err(Failure::usage(message).help("name the folder of one plugin"))
        }
        (None, _) => Err(Failure::usage("no component was built")
            .help("Cargo.toml needs: [lib] crate-type = [\"cdylib\", \"rlib\"]")),
    }
}

/// What to compile for, and by which linker where that is not the target's own.
fn target(
    folder: &Path,
    setting: &CommandContext,
) -> Result<(&'static str, Option<PathBuf>), Failure> {
    let libraries = |target: &[&str]| {
        let arguments = [&["--print", "target-libdir"], target].concat();
        let said = command("rustc", &arguments, folder, setting).output();
        let said = said.map_err(|error| missing("rustc", &error))?;
        Ok::<_, Failure>(PathBuf::from(String::from_utf8_lossy(&said.stdout).trim()))
    };
    if libraries(&["--target", TARGET])?.is_dir() {
        return Ok((TARGET, None));
    }
    let linker = format!("{LINKER}{}", std::env::consts::EXE_SUFFIX);
    let linker = libraries(&[])?.with_file_name("bin").join(linker);
    let help = format!("rustup target add {TARGET}");
    if linker.is_file() && libraries(&["--target", BARE_TARGET])?.is_dir() {
        setting.talk.note(&format!(
            "this Rust can't build for {TARGET} (`{help}`), so it builds for {BARE_TARGET}: what needs clocks or randomness fails there"
        ));
        return Ok((BARE_TARGET, Some(linker)));
    }
    Err(Failure::usage(format!("this Rust can't build for {TARGET}")).help(help))
}

/// The components that cargo says it made.
fn components(said: &str) -> Vec<PathBuf> {
    let messages = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let messages = messages.filter(|message: &Value| message["reason"] == "compiler-artifact");
    let files = messages.flat_map(|message| {
        let files = message["filenames"].as_array().cloned();
        files.unwrap_or_default()
    });
    let files = files.filter_map(|file| Some(PathBuf::from(file.as_str()?)));
    files
        .filter(|file| file.extension().is_some_and(|it| it == "wasm"))
        .collect()
}

fn npm(folder: &Path, setting: &CommandContext) -> Result<PathBuf, Failure> {
    let file = folder.join("package.json");
    let package = fs::read(&file).map_err(|error| error.to_string());
    let package =
        package.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    let package: Value =
        package.map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    if !package["scripts"]["build"].is_string() {
        let message = format!("{} has no script `build`", file.display());
        return Err(
            Failure::usage(message).help("`runner plugin new --lang js` makes one that has")
        );
    }
    let needs = package["devDependencies"].is_object() || package["dependencies"].is_object();
    if needs && !folder.join("node_modules").is_dir() {
        let message = format!("the packages of {} are not installed", folder.display());
        return Err(Failure::usage(message).help("run `npm install` there"));
    }
    finish("npm", &["run", "build"], folder, setting)?;
    built(folder)
}

/// A program to be run in the folder.
fn command(
    program: &str,
    arguments: &[impl AsRef<OsStr>],
    folder: &Path,
    setting: &CommandContext,
) -> Command {
    let own = VENV.map(|place| folder.join(place));
    let path = std::env::join_paths(&own).unwrap_or_default();
    let known = setting.environment.get("PATH").unwrap_or_default();
    let found = runner_process::find(Path::new(program), &path);
    let found = found.or_else(|| runner_process::find(Path::new(program), OsStr::new(known)));
    let mut command = Command::new(found.unwrap_or_else(|| program.into()));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// Runs a program to its end. What it prints goes where notes go: the answer of this command is the component.
fn finish(
    program: &str,
    arguments: &[impl AsRef<OsStr> + ToString],
    folder: &Path,
    setting: &CommandContext,
) -> Result<(), Failure> {
    let words = arguments.iter().map(ToString::to_string);
    let words: Vec<String> = [program.to_owned()].into_iter().chain(words).collect();
    let shown = words.join(" ");
    setting
        .talk
        .note(&format!("running: {}", visible::line(&shown)));
    let mut command = command(program, arguments, folder, setting);
    let done = command.stdout(std::io::stderr()).status();
    let status = done.map_err(|error| missing(program, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(program, status))
    }
}

fn failed(program: &str, status: std::process::ExitStatus) -> Failure {
    Failure::usage(format!(
        "{} did not build it: {status}",
        visible::line(program)
    ))
}

/// Why a program does not start, and where it comes from.
fn missing(program: &str, error: &std::io::Error) -> Failure {
    let message = format!("{} can't be started: {error}", visible::line(program));
    if error.kind() != ErrorKind::NotFound {
        return Failure::usage(message);
    }
    let help = match program {
        "cargo" | "rustc" => "install Rust 1.95 or later, for example by https://rustup.rs",
        "npm" => "install Node.js 20 or later, which brings it: https://nodejs.org",
        "componentize-py" => "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
        _ => "install it, or put it on the PATH",
    };
    Failure::usage(message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_components_that_cargo_names_are_found() {
        let said = "not JSON\n\
            {\"reason\":\"compiler-artifact\",\"filenames\":[\"/t/liba.rlib\"]}\n\
            {\"reason\":\"compiler-artifact\",\"filenames\":[\"/t/a.wasm\",\"/t/liba.rlib\"]}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(components(said), [PathBuf::from("/t/a.wasm")]);
        assert!(components("").is_empty());
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_source() {
        let error = std::io::Error::from(ErrorKind::NotFound);
        for (program, source) in [
            ("cargo", "rustup"),
            ("npm", "nodejs.org"),
            ("componentize-py", "requirements.txt"),
        ] {
            let told = missing(program, &error).render();
            assert!(told.contains(source), "{told}");
        }
    }
}
