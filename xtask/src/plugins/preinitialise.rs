//! Guests that start slowly are started at build time.
//!
//! A JavaScript engine needs longer to start than for what most configs ask of it. Such a guest
//! says `[package.metadata.guest] preinitialise = true`, is linked to a core module, and goes
//! through the tool in `xtask/preinitialise`, which starts it and makes the component. The tool
//! is a workspace apart: xtask itself stays quick to build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Component;
use crate::place::Place;
use crate::step::{self, Failure};

/// Does the package in `folder` ask for it?
pub(super) fn wanted(place: &Place, folder: &Path) -> bool {
    let packages = place.metadata["packages"].as_array();
    let manifest = folder.join("Cargo.toml");
    let of_folder = |package: &&Value| {
        let path = package["manifest_path"].as_str();
        path.is_some_and(|path| Path::new(path) == manifest)
    };
    let package = packages.and_then(|packages| packages.iter().find(of_folder));
    package.is_some_and(|package| package["metadata"]["guest"]["preinitialise"] == true)
}

/// Builds the tool.
pub(super) fn tool(place: &Place) -> Result<PathBuf, Failure> {
    let home = place.target.join("tools");
    let manifest = place.root.join("xtask/preinitialise/Cargo.toml");
    let mut cargo = step::cargo(&place.root);
    cargo.args([
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--manifest-path",
    ]);
    cargo.arg(manifest).arg("--target-dir").arg(&home);
    step::run("building the tool that starts guests", &mut cargo)?;
    let name = format!("preinitialise{}", std::env::consts::EXE_SUFFIX);
    Ok(home.join("release").join(name))
}

/// Starts a core module and gives the component that has started, beside it.
pub(super) fn component(tool: &Path, core: Component) -> Result<Component, Failure> {
    let file = core.file.with_extension("started.wasm");
    if !(core.fresh && is_newer(&file, &core.file) && is_newer(&file, tool)) {
        let mut start = Command::new(tool);
        start.arg(&core.file).arg(&file);
        step::run("starting a guest ahead", &mut start)?;
    }
    Ok(Component { file, ..core })
}

/// Is the file there, and not older than the other?
fn is_newer(file: &Path, than: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    time(file).is_some_and(|made| time(than).is_some_and(|from| made >= from))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_packages_that_ask_are_started_ahead() {
        let package = |folder: &str, metadata: Value| json!({ "manifest_path": format!("{folder}/Cargo.toml"), "metadata": metadata });
        let place = Place {
            root: "/clone".into(),
            target: "/clone/target".into(),
            metadata: json!({ "packages": [
                package("/clone/plugins/slow", json!({ "guest": { "preinitialise": true } })),
                package("/clone/plugins/no", json!({ "guest": { "preinitialise": false } })),
                package("/clone/plugins/quick", Value::Null),
            ] }),
        };
        let asks = |name: &str| wanted(&place, &place.root.join("plugins").join(name));
        assert_eq!(
            ["slow", "no", "quick", "absent"].map(asks),
            [true, false, false, false]
        );
    }
}
