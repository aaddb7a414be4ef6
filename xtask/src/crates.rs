//! `cargo xtask crates`: the crates for authors of plugins, as crates.io would get them.
//!
//! Cargo packs them and compiles what it packed, with nothing of the repository beside it. Their tests are
//! then run there, too: whoever unpacks a crate must find it whole. Nothing is published:
//! `docs/releasing.md` says how that is done.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::Place;
use crate::step::{self, Failure};
use crate::tool::Tool;

/// The crates, each after those that it needs.
const CRATES: [&str; 2] = ["runner-plugin", "runner-plugin-embed"];

/// What crates.io asks for, and what whoever gets a crate has to find in it.
const FILES: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Knows which changes of a crate's interface ask for which version.
const SEMVER: Tool = Tool {
    name: "cargo-semver-checks",
    version: "0.51.0",
    features: "",
    takes: "some minutes",
};

/// What fails where that which has changed since a commit asks for another version than the crates have.
pub(crate) fn since(commit: String) -> impl FnOnce(&Place) -> Result<(), Failure> {
    move |place| {
        let mut check = Command::new(SEMVER.installed(place)?);
        step::forget_cargo(&mut check);
        check.current_dir(&place.root).arg("semver-checks");
        check.args(CRATES.iter().flat_map(|name| ["--package", name]));
        check.args(["--baseline-rev", &commit]);
        let what = format!("comparing the crates with those of {commit}");
        step::run(&what, &mut check)
    }
}

/// Packs and tries all of them.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    // Files that no commit has, yet, are packed as well: it is a trial.
    let mut package = step::cargo(&place.root);
    package.args(["package", "--locked", "--allow-dirty"]);
    package.args(CRATES.iter().flat_map(|name| ["--package", name]));
    step::run("packing the crates", &mut package)?;
    let packed = place.target.join("package");
    let tried = packed.join("tried");
    let folders: Vec<PathBuf> = CRATES.iter().map(|name| tried.join(name)).collect();
    for (name, folder) in CRATES.iter().zip(&folders) {
        unpack(place, &packed, name, folder)?;
        if let Some(file) = FILES.iter().find(|file| !folder.join(file).is_file()) {
            return Err(Failure::new(format!("{name} is packed without {file}")));
        }
    }
    for (name, folder) in CRATES.iter().zip(&folders) {
        let mut test = step::cargo(folder);
        test.args(["test", "--quiet"]);
        // What is not published, yet, is what was packed.
        for (other, folder) in CRATES
            .iter()
            .zip(&folders)
            .filter(|(other, _)| *other != name)
        {
            let patch = format!("patch.crates-io.{other}.path='{}'", folder.display());
            test.args(["--config", &patch]);
        }
        test.env("CARGO_TARGET_DIR", packed.join("build"));
        step::run(&format!("testing {name} as it was packed"), &mut test)?;
    }
    Ok(())
}

/// Unpacks a crate into a folder of its own.
fn unpack(place: &Place, packed: &Path, name: &str, folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("{}: {error}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    let packages = place.metadata["packages"].as_array();
    let package = packages
        .into_iter()
        .flatten()
        .find(|one| one["name"] == name);
    let version = package.and_then(|package| package["version"].as_str());
    let file = format!("{name}-{}.crate", version.unwrap_or_default());
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(packed.join(file)).arg("-C").arg(folder);
    tar.arg("--strip-components=1");
    step::read("unpacking the crate", &mut tar)?;
    // Cargo would take it for a member of the workspace that the target folder is in.
    let mut manifest = OpenOptions::new();
    let manifest = manifest.append(true).open(folder.join("Cargo.toml"));
    let ended = manifest.and_then(|mut file| file.write_all(b"\n[workspace]\n"));
    ended.map_err(failed)
}
