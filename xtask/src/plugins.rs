//! `cargo xtask plugins`: every guest from source to a component.
//!
//! First-party plugins (`plugins/*`) go to `target/release/plugins/`, beside the program,
//! which looks for them there; the tests' guests (`tests/guests/*`) and the programs by
//! "strangers" (`tests/outside/*`, a workspace apart) go to `target/guests/`. A component is
//! named after its folder. Whether something must be built is cargo's to know: it is asked
//! each time, and says what it built and where; nothing here keeps a stamp that could lie.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::place::{self, Place};
use crate::python;
use crate::step::{self, Failure, say};
use crate::toolchain::{Toolchain, Wish, clang};

mod preinitialise;

/// `[profile.guest]` of the root Cargo.toml, for the workspace that does not have it.
/// Equal settings in one target directory let both share one standard library.
const PROFILE: [&str; 8] = [
    "inherits='release'",
    "opt-level='s'",
    "lto=true",
    "panic='abort'",
    "codegen-units=1",
    "debug=false",
    "strip=true",
    // The root's release profile has it; with it, strip resolves alike for libraries.
    "package.'*'.debug=false",
];

/// A component that cargo made.
#[derive(Debug, PartialEq, Eq)]
struct Component {
    /// The package's folder.
    folder: PathBuf,
    /// The file below the target directory.
    file: PathBuf,
    /// It was there already.
    fresh: bool,
}

/// Builds all guests and puts them where the program and the tests look.
pub(crate) fn run(place: &Place, wish: Wish) -> Result<(), Failure> {
    let builder = Builder::new(place, wish)?;
    let (slow, quick) = builder.packages();
    let mut built = builder.quick(&quick)?;
    built.extend(builder.slow(&slow)?);
    if let Some(outside) = place.outside() {
        built.extend(builder.outside(&outside)?);
    }
    let mut shelves = Shelves::new(place);
    for component in &built {
        shelves.put(component)?;
    }
    shelves.clear_the_rest()?;
    report("plugins and test guests", &built, place);
    Ok(())
}

/// Which of the program's own plugins are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Those of these names, which are quick.
    Some(&'static [&'static str]),
    /// Those that need nothing but a Rust compiler and little time.
    Quick,
    /// Those that are started ahead, which takes another compiler and a tool of its own.
    StartedAhead,
}

/// Builds some of the program's own plugins, and no guests of tests.
pub(crate) fn own(place: &Place, which: Own) -> Result<(), Failure> {
    let builder = Builder::new(place, Wish::Any)?;
    let (slow, quick) = builder.packages();
    let shelf = place.root.join("plugins");
    let is_wanted = |(folder, _): &(PathBuf, String)| match which {
        Own::Some(names) => names.iter().any(|name| *folder == shelf.join(name)),
        Own::Quick | Own::StartedAhead => folder.starts_with(&shelf),
    };
    let built = match which {
        Own::Some(_) | Own::Quick => {
            builder.quick(&quick.into_iter().filter(is_wanted).collect::<Vec<_>>())
        }
        Own::StartedAhead => builder.slow(&slow),
    }?;
    let mut shelves = Shelves::new(place);
    for component in &built {
        shelves.put(component)?;
    }
    if built.iter().any(|component| !component.fresh) {
        let what = match which {
            Own::Some(_) => "plugins that the example needs",
            Own::Quick => "plugins",
            Own::StartedAhead => "plugins that are started ahead",
        };
        report(what, &built, place);
    }
    Ok(())
}

/// Builds guests with one toolchain.
struct Builder<'a> {
    place: &'a Place,
    toolchain: Toolchain,
    /// Its target directory.
    guests: PathBuf,
    /// What it is doing.
    what: String,
}

/// Packages of guests: folder and name.
type Packages = Vec<(PathBuf, String)>;

impl<'a> Builder<'a> {
    fn new(place: &'a Place, wish: Wish) -> Result<Self, Failure> {
        let guests = place.target.join("guests");
        let toolchain = Toolchain::find(&place.root, wish, &guests)?;
        let what = format!("building guests with {}", toolchain.about);
        Ok(Self {
            place,
            toolchain,
            guests,
            what,
        })
    }

    /// Those that are started ahead, and the others.
    fn packages(&self) -> (Packages, Packages) {
        let all = guest_packages(self.place).into_iter();
        all.partition(|(folder, _)| preinitialise::wanted(self.place, folder))
    }

    fn quick(&self, packages: &[(PathBuf, String)]) -> Result<Vec<Component>, Failure> {
        let root = &self.place.root;
        let mut cargo = self.toolchain.build(root, root);
        for (_, package) in packages {
            cargo.args(["--package", package]);
        }
        self.build(&mut cargo, &[])
    }

    fn slow(&self, packages: &[(PathBuf, String)]) -> Result<Vec<Component>, Failure> {
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        let Place { root, target, .. } = self.place;
        let c = clang::find()?;
        let tool = preinitialise::tool(self.place)?;
        let mut built = Vec::new();
        for (_, package) in packages {
            let mut cargo = self.toolchain.rustc(root);
            cargo.args(["--package", package, "--crate-type", "cdylib"]);
            cargo.env(clang::CC, &c);
            cargo.env(clang::CFLAGS, clang::flags(root, target));
            // The started module becomes the component, so the linker makes none.
            let last = ["--", "-Clink-arg=--skip-wit-component"];
            for core in self.build(&mut cargo, &last)? {
                built.push(preinitialise::component(&tool, core)?);
            }
        }
        Ok(built)
    }

    /// The programs by strangers, a workspace apart.
    fn outside(&self, folder: &Path) -> Result<Vec<Component>, Failure> {
        let mut cargo = self.toolchain.build(&self.place.root, folder);
        for setting in PROFILE {
            cargo.args(["--config", &format!("profile.guest.{setting}")]);
        }
        self.build(&mut cargo, &[])
    }

    /// Runs one cargo build, with `last` behind all other arguments.
    fn build(&self, cargo: &mut Command, last: &[&str]) -> Result<Vec<Component>, Failure> {
        let built = build(&self.what, cargo, last, &self.guests);
        built.map_err(|failure| failure.again("cargo xtask plugins"))
    }
}

/// The workspace's guests: folder and package name.
fn guest_packages(place: &Place) -> BTreeMap<PathBuf, String> {
    let packages = place.metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let guest = |package: &Value| {
        let folder = Path::new(package["manifest_path"].as_str()?)
            .parent()?
            .to_owned();
        let shelf = folder.parent()?.strip_prefix(&place.root).ok()?.to_str()?;
        let name = package["name"].as_str()?.to_owned();
        ["plugins", "tests/guests"]
            .contains(&shelf)
            .then_some((folder, name))
    };
    packages.iter().filter_map(guest).collect()
}

/// Runs one cargo build and reads from it what it made. Cargo's talk is passed on, except
/// the line that says it is done: so a run with nothing to do is silent.
fn build(
    what: &str,
    cargo: &mut Command,
    last: &[&str],
    target: &Path,
) -> Result<Vec<Component>, Failure> {
    cargo.args([
        "--profile",
        "guest",
        "--message-format",
        "json-render-diagnostics",
    ]);
    cargo.arg("--target-dir").arg(target).stdin(Stdio::null());
    cargo.args(last);
    cargo.stdout(Stdio::piped()).stderr(Stdio::piped());
    if std::io::stderr().is_terminal() && std::env::var_os("CARGO_TERM_COLOR").is_none() {
        // Its standard error is our pipe, so it would not see the terminal behind it.
        cargo.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = cargo
        .spawn()
        .map_err(|error| step::not_started(what, cargo, &error))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let components = std::thread::scope(|scope| {
        scope.spawn(|| pass_on(what, stderr.into_iter().flat_map(lines)));
        // Lines that are not JSON are a build script's; they are no message to us.
        let messages = stdout.into_iter().flat_map(lines);
        let messages = messages.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        messages
            .filter(|message| message["reason"] == "compiler-artifact")
            .filter_map(|message| component(&message))
            .collect()
    });
    let status = child
        .wait()
        .map_err(|error| step::not_started(what, cargo, &error))?;
    step::judge(what, cargo, status)?;
    Ok(components)
}

/// The lines that come out of a pipe until it closes.
fn lines(pipe: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(pipe).lines().map_while(Result::ok)
}

/// Passes on what cargo says, below one line of ours; nothing if it has nothing to do.
fn pass_on(what: &str, lines: impl Iterator<Item = String>) {
    let mut said = false;
    for line in lines.filter(|line| !is_end(line)) {
        if !said {
            say(what);
            said = true;
        }
        eprintln!("{line}");
    }
}

/// Is this cargo's last line of a build that went well?
fn is_end(line: &str) -> bool {
    line.contains("Finished") && line.contains("`guest` profile")
}

/// Is this file called as a component is?
fn is_component(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "wasm")
}

/// The component in one of cargo's messages, if it is about one.
fn component(message: &Value) -> Option<Component> {
    let files = message["filenames"].as_array()?;
    let file = files
        .iter()
        .filter_map(Value::as_str)
        .find(|file| is_component(Path::new(file)))?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(Component {
        folder: folder.to_owned(),
        file: file.into(),
        fresh: message["fresh"] == true,
    })
}

/// The folders that components are copied to, and what belongs there now.
struct Shelves<'a> {
    place: &'a Place,
    filled: BTreeMap<PathBuf, Vec<PathBuf>>,
}

impl<'a> Shelves<'a> {
    fn new(place: &'a Place) -> Self {
        let names = ["release/plugins", "guests/tests", "guests/outside"];
        let empty = |home| (place.target.join(home), Vec::new());
        Self {
            place,
            filled: names.map(empty).into(),
        }
    }

    /// Where the component of this package folder belongs.
    fn of(&self, folder: &Path) -> Option<PathBuf> {
        let source = folder
            .parent()?
            .strip_prefix(&self.place.root)
            .ok()?
            .to_str()?;
        let home = match source {
            "plugins" => "release/plugins",
            "tests/guests" => "guests/tests",
            "tests/outside" => "guests/outside",
            _ => return None,
        };
        Some(self.place.target.join(home))
    }

    /// Copies a component to where it belongs, unless the same bytes are there.
    fn put(&mut self, component: &Component) -> Result<(), Failure> {
        let home = self.of(&component.folder);
        let (Some(home), Some(name)) = (home, component.folder.file_name()) else {
            return Ok(()); // a library that declares itself a cdylib too: none of ours
        };
        let goal = home.join(name).with_extension("wasm");
        let failed = |error| {
            let (from, to) = (component.file.display(), goal.display());
            Failure::new(format!("cannot copy {from} to {to}: {error}"))
        };
        let bytes = fs::read(&component.file).map_err(failed)?;
        if !fs::read(&goal).is_ok_and(|there| there == bytes) {
            fs::create_dir_all(&home).map_err(failed)?;
            // A rename, so that a program that is reading the old one is not disturbed.
            let fresh = goal.with_extension("wasm.new");
            fs::write(&fresh, &bytes)
                .and_then(|()| fs::rename(&fresh, &goal))
                .map_err(failed)?;
        }
        self.filled.entry(home).or_default().push(goal);
        Ok(())
    }

    /// Takes away components whose folder is gone; a program would go on loading them.
    fn clear_the_rest(&self) -> Result<(), Failure> {
        for (home, files) in &self.filled {
            let Ok(entries) = fs::read_dir(home) else {
                continue;
            };
            for path in entries.flatten().map(|entry| entry.path()) {
                // The Python plugin is built apart.
                let apart = path.ends_with(python::COMPONENT);
                if is_component(&path) && !files.contains(&path) && !apart {
                    fs::remove_file(&path).map_err(|error| {
                        Failure::new(format!("cannot remove {}: {error}", path.display()))
                    })?;
                    say(&format!(
                        "removed {}, which has no source any more",
                        path.display()
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Says what there is now, if something was built.
fn report(what: &str, built: &[Component], place: &Place) {
    let new = built.iter().filter(|component| !component.fresh).count();
    let all = built.len();
    if new == 0 {
        say(&format!("{what}: {all} components, up to date"));
        return;
    }
    say(&format!("{what}: {new} of {all} components built"));
    let folder = place.release().join("plugins");
    say(&format!("the plugins are in {}", place::relative(&folder)));
}

#[cfg(test)]
mod tests;
