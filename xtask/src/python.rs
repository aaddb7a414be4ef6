//! `cargo xtask plugins --python`: the component that runs the Python of configs.
//!
//! It is no Rust: componentize-py, which PyPI brings with a whole CPython in it, makes it of
//! `plugins/python` and the contract. So it is apart from the other plugins, which need no Python
//! on the machine. Building takes half a minute, and what comes of it differs from build to build;
//! so it is built once for what it is made of, and kept under the digest of that.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{self, Place};
use crate::pypi;
use crate::step::{self, Failure, say};

/// The tool, to the digit: another one makes another component.
pub(crate) const TOOL: &str = "componentize-py==0.25.1";

/// The sources and the contract, below the root.
const SOURCES: &str = "plugins/python";
const CONTRACT: &str = "wit/v0_1";

/// The component's file. The program looks for it beside its other plugins.
pub(crate) const COMPONENT: &str = "python.wasm";

/// Builds the component, unless it is there, and puts it beside the program's plugins.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    let home = place.target.join("python");
    let digest = digest(place)?;
    let kept = home.join(format!("{digest:016x}.wasm"));
    let goal = place.release().join("plugins").join(COMPONENT);
    let shown = place::relative(&goal);
    if kept.is_file() && same(&kept, &goal) {
        say(&format!("the Python plugin is up to date: {shown}"));
        return Ok(());
    }
    if !kept.is_file() {
        let tool = tool(&home)?;
        // A copy, since Python leaves compiled files beside its sources.
        let sources = home.join("sources");
        copy_sources(&place.root.join(SOURCES), &sources)?;
        // Beside and renamed: a build that was cut off leaves nothing under the name.
        let fresh = home.join(format!("{digest:016x}.new"));
        let mut build = Command::new(tool);
        build.current_dir(&place.root);
        build.args(["-q", "-d", CONTRACT, "-w", "script-pure", "componentize"]);
        // Without WASI: the component imports no function, so it can't even ask the time.
        build.args(["--stub-wasi", "-p"]).arg(&sources);
        build.args(["app", "-o"]).arg(&fresh);
        step::run("building the Python plugin", &mut build)?;
        rename(&fresh, &kept)?;
    }
    install(&kept, &goal)?;
    say(&format!("the Python plugin is at {shown}"));
    Ok(())
}

/// Builds it where Python and PyPI are at hand; the rest works without.
pub(crate) fn if_possible(place: &Place) {
    if let Err(failure) = run(place) {
        say(&failure.to_string());
        say("code in Python is not run until `cargo xtask quickstart` could build its plugin");
    }
}

/// What the component is made of, as a number: sources, contract, tool.
fn digest(place: &Place) -> Result<u64, Failure> {
    let mut hasher = DefaultHasher::new();
    TOOL.hash(&mut hasher);
    for (folder, end) in [(SOURCES, "py"), (CONTRACT, "wit")] {
        let folder = place.root.join(folder);
        let unreadable = |error| {
            let shown = folder.display();
            Failure::new(format!("cannot read {shown}: {error}"))
        };
        let entries = fs::read_dir(&folder).map_err(unreadable)?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension() == Some(OsStr::new(end)));
        files.sort();
        for file in files {
            file.file_name().hash(&mut hasher);
            fs::read(&file).map_err(unreadable)?.hash(&mut hasher);
        }
    }
    Ok(hasher.finish())
}

/// Copies the Python files of one folder to another, which then holds nothing else.
fn copy_sources(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = (|| {
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let path = entry?.path();
            if let Some(name) = path
                .file_name()
                .filter(|_| path.extension() == Some(OsStr::new("py")))
            {
                fs::copy(&path, to.join(name))?;
            }
        }
        Ok::<(), std::io::Error>(())
    })();
    copied.map_err(|error| {
        let (from, to) = (from.display(), to.display());
        Failure::new(format!("cannot copy {from} to {to}: {error}"))
    })
}

/// componentize-py in an environment of its own below the target directory.
fn tool(home: &Path) -> Result<PathBuf, Failure> {
    let again = |failure: Failure| failure.again("cargo xtask plugins --python");
    let bin = pypi::programs(home, TOOL).map_err(again)?;
    Ok(bin.join(format!("componentize-py{}", std::env::consts::EXE_SUFFIX)))
}

/// Copies the component to where the program looks.
fn install(kept: &Path, goal: &Path) -> Result<(), Failure> {
    let fresh = goal.with_extension("wasm.new");
    let folder = goal.parent().unwrap_or(goal);
    let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(kept, &fresh));
    copied.map_err(|error| {
        let (from, to) = (kept.display(), fresh.display());
        Failure::new(format!("cannot copy {from} to {to}: {error}"))
    })?;
    rename(&fresh, goal)
}

fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::rename(from, to).map_err(|error| {
        let (from, to) = (from.display(), to.display());
        Failure::new(format!("cannot rename {from} to {to}: {error}"))
    })
}

/// Do both files have the same bytes?
fn same(one: &Path, other: &Path) -> bool {
    let size = |path: &Path| fs::metadata(path).map(|about| about.len()).ok();
    size(one).is_some_and(|bytes| size(other) == Some(bytes))
        && fs::read(one).is_ok_and(|one| fs::read(other).is_ok_and(|other| one == other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with sources and contract, and nothing built.
    fn clone(name: &str) -> Place {
        let root = std::env::temp_dir().join(format!("xtask-python-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (folder, file) in [(SOURCES, "app.py"), (CONTRACT, "plugin.wit")] {
            fs::create_dir_all(root.join(folder)).expect("made");
            fs::write(root.join(folder).join(file), "one").expect("written");
        }
        let (target, metadata) = (root.join("target"), serde_json::Value::Null);
        Place {
            root,
            target,
            metadata,
        }
    }

    #[test]
    fn another_source_or_contract_is_another_component() {
        let place = clone("digest");
        let digest = || digest(&place).map_err(|failure| failure.to_string());
        let first = digest();
        assert!(first.is_ok());
        assert_eq!(first, digest());
        let readme = place.root.join(SOURCES).join("README.md");
        fs::write(readme, "no source").expect("written");
        assert_eq!(first, digest());
        fs::write(place.root.join(CONTRACT).join("plugin.wit"), "two").expect("written");
        let second = digest();
        assert_ne!(first, second);
        fs::write(place.root.join(SOURCES).join("more.py"), "").expect("written");
        assert_ne!(second, digest());
    }

    #[test]
    fn what_was_built_is_put_where_the_program_looks() {
        let place = clone("install");
        let digest = digest(&place).map_err(|failure| failure.to_string());
        let home = place.target.join("python");
        fs::create_dir_all(&home).expect("made");
        let kept = home.join(format!("{:016x}.wasm", digest.expect("read")));
        fs::write(&kept, "a component").expect("written");
        for _ in 0..2 {
            assert!(run(&place).is_ok());
        }
        let goal = place.release().join("plugins").join(COMPONENT);
        assert!(same(&kept, &goal));
    }
}
