//! `cargo xtask bundle`: the program as one file, with its plugins in it, compiled.
//!
//! What cargo links carries nothing and looks for plugins beside it, which is quick for whoever works on
//! them. Here the program that was just linked compiles them for every machine of its target and puts them
//! behind its own code, without symbols: one file that works wherever it is copied. Nothing is linked
//! again, and the engine is not built for this alone.
//!
//! The result has a place of its own: cargo would put its program back into the place of ours.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::place::{self, Place};
use crate::plugins::{self, Own};
use crate::program;
use crate::python;
use crate::step::{self, Failure, say};

/// The plugin that most others are like: a client of a model API.
const LIKE: &str = "openai";

/// What the config of `runner init` needs, and what runs its code.
const FEW: [&str; 4] = ["text", "echo", "json", "javascript"];

/// How hard the plugins are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Seconds: it stays here.
    Little,
    /// A minute: it travels.
    Much,
}

impl Effort {
    /// The level, in the words of the tool that compresses.
    fn level(self) -> &'static str {
        match self {
            Self::Little => "3",
            Self::Much => "19",
        }
    }

    /// The level for packages of the whole, in the words of gzip and dpkg-deb.
    pub(crate) fn gzip(self) -> u8 {
        match self {
            Self::Little => 1,
            Self::Much => 6,
        }
    }
}

/// Builds everything, and bundles it with all plugins that can be built here.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    plugins::own(place, Own::Quick)?;
    plugins::own(place, Own::StartedAhead)?;
    python::if_possible(place);
    program::build_to_ship(place)?;
    bundle(place, Effort::Much)
}

/// Bundles what is built.
pub(crate) fn bundle(place: &Place, effort: Effort) -> Result<(), Failure> {
    let program = place.bundled_runner();
    pack(place, effort, &components(place)?, &program)
}

/// Bundles the built program with the plugins that a first config needs, in a moment.
pub(crate) fn small(place: &Place, program: &Path) -> Result<(), Failure> {
    let file = |name: &str| place.release().join(format!("plugins/{name}.wasm"));
    pack(place, Effort::Little, &FEW.map(file), program)
}

/// Puts the built program with these plugins into one file.
fn pack(
    place: &Place,
    effort: Effort,
    components: &[PathBuf],
    program: &Path,
) -> Result<(), Failure> {
    let folder = program.parent().unwrap_or(&place.target);
    let failed = |error| Failure::new(format!("cannot write to {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    let bare = folder.join("bare");
    strip(place, &bare)?;
    let like = if components
        .iter()
        .any(|path| path.ends_with(format!("{LIKE}.wasm")))
    {
        LIKE
    } else {
        FEW[0]
    };
    let mut pack = Command::new(place.runner());
    step::forget_cargo(&mut pack);
    pack.args(["plugin", "pack", "--level", effort.level()]);
    pack.args(["--like", like, "--program"]).arg(&bare);
    pack.arg("--to").arg(program);
    if let Some(commit) = commit(&place.root) {
        pack.args(["--commit", &commit]);
    }
    pack.args(components);
    // Its figures are for whoever looks for what is large.
    fs::write(
        folder.join("sizes.txt"),
        step::read("compiling the plugins into the program", &mut pack)?,
    )
    .map_err(failed)?;
    fs::remove_file(&bare).map_err(failed)?;
    let size = fs::metadata(program).map_err(failed)?.len();
    say(&format!(
        "the program with its plugins, one file of {} MB: {}",
        size / 1_000_000,
        place::relative(program)
    ));
    Ok(())
}

/// The program's own plugins, as they are built.
fn components(place: &Place) -> Result<Vec<PathBuf>, Failure> {
    let folder = place.release().join("plugins");
    let entries = fs::read_dir(&folder);
    let entries =
        entries.map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension() == Some(OsStr::new("wasm")))
        .collect();
    files.sort();
    Ok(files)
}

/// Copies the program without what only a debugger reads.
fn strip(place: &Place, to: &Path) -> Result<(), Failure> {
    let program = place.runner();
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(to).arg(&program);
    let stripped = strip.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if stripped.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    say("there is no `strip` (Debian: binutils), so the program keeps its symbols");
    let copied = fs::copy(&program, to);
    copied.map(drop).map_err(|error| {
        let (from, to) = (program.display(), to.display());
        Failure::new(format!("cannot copy {from} to {to}: {error}"))
    })
}

/// The commit of the clone, marked where files differ from it; `None` where git does not know.
fn commit(root: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["describe", "--always", "--dirty"]);
    git.args(["--abbrev=40", "--exclude=*"]);
    let output = git.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
