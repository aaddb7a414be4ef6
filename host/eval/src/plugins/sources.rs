//! Where components are looked for, and how those of the bundle are told from others.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use runner_config::PluginEntry;
use runner_sandbox::CarriedSet;

/// Where to look for components.
#[derive(Debug, Default)]
pub struct PluginSources {
    /// The bundled components.
    pub bundled: Option<BundleSource>,
    /// `--plugin`: files and directories.
    pub paths: Vec<PathBuf>,
    /// The config's `plugins:`.
    pub entries: Vec<PluginEntry>,
    /// The folder of the config, absolute, to which what it names is relative; `None`: there is no config.
    pub config_folder: Option<PathBuf>,
}

/// Where the components are that came with the program, and how they are told from others.
#[derive(Debug, Clone)]
pub enum BundleSource {
    /// In the program itself, which vouches for them.
    Carried(Arc<CarriedSet>),
    /// In files.
    Folder {
        /// Their directory.
        directory: PathBuf,
        /// Who says that they are.
        known: BundleProof,
    },
}

/// How a component is known to have come with the program.
#[derive(Debug, Clone)]
pub enum BundleProof {
    /// By its digest, one of these: a folder beside the program may be anybody's.
    Digests(BTreeSet<String>),
    /// By its folder, which the user named.
    Folder,
}

impl BundleProof {
    /// Whether a component with this digest came with the program.
    pub(super) fn vouches(&self, sha256: &str) -> bool {
        match self {
            Self::Digests(digests) => digests.contains(sha256),
            Self::Folder => true,
        }
    }
}

/// Nothing came with it.
impl Default for BundleProof {
    fn default() -> Self {
        Self::Digests(BTreeSet::new())
    }
}
