//! Packages for npm and PyPI for authors of plugins in JavaScript and Python, and a plugin of each whose tests pass
//! with what was installed. Those for Rust are `crates`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Dist;
use super::folder::Folder;
use super::wrappers::{self, is_there};
use crate::step::{self, Failure, say};

/// What both are called.
const NAME: &str = "runner-plugin";

/// Folders of the sources that are nobody's but the repository's.
const OURS: [&str; 2] = ["tests", "__pycache__"];

/// Makes those whose tools are there, and tries them.
pub(super) fn packages(dist: &Dist<'_>) -> Result<Vec<String>, Failure> {
    let mut made = Vec::new();
    let sdks = dist.place.root.join("plugin-sdk");
    if is_there("npm") {
        let package = npm(dist, &sdks.join("js"))?;
        try_npm(dist, &package)?;
        made.push(package);
    } else {
        say("SKIPPED: there is no npm, so no package for plugins in JavaScript is made");
    }
    if is_there("python3") {
        let wheel = wheel(dist, &sdks.join("python"))?;
        try_wheel(dist, &wheel)?;
        made.push(wheel);
    } else {
        say("SKIPPED: there is no python3, so no package for plugins in Python is made");
    }
    Ok(made)
}

/// The files of a package, in the order of their paths from its folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(below) = open.pop() {
        let entries = fs::read_dir(&below);
        let entries = entries
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", below.display())))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_ours = OURS.iter().any(|name| path.ends_with(name));
            if path.is_dir() && !is_ours {
                open.push(path);
            } else if let (false, Ok(name)) = (is_ours, path.strip_prefix(folder)) {
                found.push(name.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn npm(dist: &Dist<'_>, sources: &Path) -> Result<String, Failure> {
    let folder = Folder::emptied(dist.home.path("sdk"))?;
    for file in files(sources)? {
        folder.copy(&sources.join(&file), &file.to_string_lossy())?;
    }
    let mut about = about(sources)?;
    about["version"] = json!(dist.version);
    let made = wrappers::packed(dist, &folder, &about)?;
    folder.remove()?;
    Ok(made)
}

fn about(sources: &Path) -> Result<Value, Failure> {
    let file = sources.join("package.json");
    let text = fs::read(&file).map_err(|error| error.to_string());
    let about = text.and_then(|text| serde_json::from_slice(&text).map_err(|e| e.to_string()));
    about.map_err(|error| Failure::new(format!("{}: {error}", file.display())))
}

fn wheel(dist: &Dist<'_>, sources: &Path) -> Result<String, Failure> {
    let member = |file: &PathBuf| {
        let to = match file.strip_prefix("runner_plugin") {
            Ok(_) => file.display().to_string(),
            Err(_) => format!("INFO/licenses/{}", file.display()),
        };
        json!([to, sources.join(file)])
    };
    let mut files = files(sources)?;
    files.retain(|file| file != Path::new("README.md"));
    let members: Vec<Value> = files.iter().map(member).collect();
    wrappers::packed_wheel(
        dist,
        &json!({
            "name": NAME, "tag": "py3-none-any", "python": ">=3.10",
            "summary": "Graders and providers for runner in Python",
            "readme": sources.join("README.md"), "members": members,
        }),
    )
}

/// The plugin that a newcomer begins with, without the package that it brings.
fn plugin(dist: &Dist<'_>, lang: &str, brings: &str) -> Result<(Folder, Folder), Failure> {
    let folder = Folder::emptied(dist.home.path("tried"))?;
    let mut runner = Command::new(&dist.program);
    runner.current_dir(folder.path(""));
    runner.args([
        "plugin", "new", "mine", "--kind", "provider", "--lang", lang,
    ]);
    runner.env("RUNNER_HOME", folder.path("home"));
    step::read("beginning a plugin", &mut runner)?;
    let mine = folder.below("mine");
    mine.below(brings).remove()?;
    Ok((folder, mine))
}

fn try_npm(dist: &Dist<'_>, package: &str) -> Result<(), Failure> {
    let (folder, mine) = plugin(dist, "js", "sdk")?;
    // Its compiler is not at hand without a network, nor needed.
    mine.write("package.json", b"{\"type\":\"module\"}")?;
    let mut install = Command::new("npm");
    install.current_dir(mine.path(""));
    install.env("npm_config_cache", folder.path("npm"));
    install.args(["install", "--silent", "--offline", "--ignore-scripts"]);
    install.arg(dist.home.path(package));
    step::read(
        "installing the package for plugins in JavaScript",
        &mut install,
    )?;
    let mut test = Command::new("node");
    test.current_dir(mine.path("")).arg("--test");
    step::read("trying the package for plugins in JavaScript", &mut test)?;
    folder.remove()
}

fn try_wheel(dist: &Dist<'_>, wheel: &str) -> Result<(), Failure> {
    let (folder, mine) = plugin(dist, "python", "runner_plugin")?;
    let venv = folder.path("venv");
    let mut python = Command::new("python3");
    python.args(["-m", "venv"]).arg(&venv);
    if step::read("making a place for the wheel", &mut python).is_err() {
        say(
            "SKIPPED: python3 has no venv here, so the package for plugins in Python was not tried",
        );
        return folder.remove();
    }
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args([
        "install",
        "--quiet",
        "--no-index",
        "--disable-pip-version-check",
    ]);
    let what = "installing the package for plugins in Python";
    step::read(what, pip.arg(dist.home.path(wheel)))?;
    let mut test = Command::new(venv.join("bin/python"));
    test.current_dir(mine.path("")).args(["-m", "unittest"]);
    step::read("trying the package for plugins in Python", &mut test)?;
    folder.remove()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders for plugins have the package as it is here.
    #[test]
    fn the_package_for_npm_has_the_version_of_all() -> Result<(), Failure> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-sdk/js");
        let about = about(&sources)?;
        assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(about["name"], NAME);
        Ok(())
    }
}
