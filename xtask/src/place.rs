//! Where things are: the workspace and its target directory, asked of cargo itself.
//!
//! `CARGO_TARGET_DIR` and cargo's own settings can move the target directory, so nothing
//! here guesses it; and a clone that was moved after its first build must still work.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::step::{self, Failure};

/// The workspace on this disk.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo puts what it builds.
    pub(crate) target: PathBuf,
    /// What `cargo metadata --no-deps` says about the workspace's packages.
    pub(crate) metadata: Value,
}

impl Place {
    /// Asks cargo about the workspace that this program was built from.
    pub(crate) fn find() -> Result<Self, Failure> {
        // Set by `cargo run`, and right even if the clone has moved since the build.
        let own = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = own.parent().unwrap_or(&own).to_owned();
        let metadata = metadata(&root)?;
        let target = metadata["target_directory"]
            .as_str()
            .ok_or_else(|| Failure::new("cargo metadata names no target directory"))?
            .into();
        Ok(Self {
            root,
            target,
            metadata,
        })
    }

    /// Where the program and its tests are built.
    pub(crate) fn release(&self) -> PathBuf {
        self.target.join("release")
    }

    /// The built program.
    pub(crate) fn runner(&self) -> PathBuf {
        self.release()
            .join(format!("runner{}", std::env::consts::EXE_SUFFIX))
    }

    /// The program with its plugins in it, as one file.
    pub(crate) fn bundled_runner(&self) -> PathBuf {
        self.target
            .join("bundle")
            .join(format!("runner{}", std::env::consts::EXE_SUFFIX))
    }

    /// A workspace apart, with programs by "strangers"; `None` while there is none.
    pub(crate) fn outside(&self) -> Option<PathBuf> {
        let folder = self.root.join("tests/outside");
        folder.join("Cargo.toml").is_file().then_some(folder)
    }
}

/// `cargo metadata --no-deps` of the workspace in `root`.
pub(crate) fn metadata(root: &Path) -> Result<Value, Failure> {
    let mut cargo = step::cargo(root);
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let text = step::read("cargo metadata", &mut cargo)?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("cargo metadata is not JSON: {error}")))
}

/// A path as short as it can be written from the current folder.
pub(crate) fn relative(path: &Path) -> std::path::Display<'_> {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
        .display()
}
