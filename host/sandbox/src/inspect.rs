//! What can be said about a file: everything if it loads, and why not if it does not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::abi::Info;
use crate::carried::CarriedSet;
use crate::notice::{Label, LoadError, Notice};
use crate::plugin::Plugin;
use crate::purity::{Capabilities, Purity};
use crate::sandbox::{self, Sandbox};

/// The findings about one file. Each field is as far as the file allowed.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// As given.
    pub path: PathBuf,
    /// Size in bytes, if it could be read.
    pub size: Option<u64>,
    /// Of the file in hex, if it could be read.
    pub sha256: Option<String>,
    /// Version of the plugin API that it names, for example `0.1.0`.
    pub api: Option<String>,
    /// What it imports, by name with version; empty if it is no component.
    pub imports: Vec<String>,
    /// What it exports, by name with version.
    pub exports: Vec<String>,
    /// Linear memory that it starts with, in bytes.
    pub start_memory: Option<u64>,
    /// What it says of itself, if it loads.
    pub info: Option<Info>,
    /// Groups of functions that it imports, if it loads.
    pub capabilities: Option<Capabilities>,
    /// What its answers can depend on, if it loads.
    pub purity: Option<Purity>,
    /// Why it cannot be loaded, if so.
    pub problem: Option<Notice>,
}

impl Sandbox {
    /// What can be said about a file, whether or not it can be loaded.
    pub fn inspect(&self, path: &Path) -> Inspection {
        Inspection::of(self, path)
    }

    /// What can be said about a component that the program carries: it is compiled, and what it
    /// imports and exports is no longer in it.
    pub fn inspect_carried(&self, carried: &Arc<CarriedSet>, name: &str) -> Inspection {
        let mut inspection = Inspection::nothing(carried.path());
        inspection.loaded(self.load_carried(carried, name));
        inspection
    }
}

impl Inspection {
    fn of(sandbox: &Sandbox, path: &Path) -> Self {
        let mut inspection = Self::nothing(path);
        match sandbox::look(path) {
            Ok(looked) => {
                inspection.size = Some(looked.file.len() as u64);
                inspection.sha256 = Some(looked.sha256);
                if let Ok(outline) = looked.outline {
                    inspection.api = outline.api().map(|version| version.to_string());
                    inspection.start_memory = Some(outline.start_memory);
                    let imports = outline.imports.into_iter();
                    inspection.imports = imports.map(|import| import.name).collect();
                    inspection.exports = outline.exports;
                }
            }
            Err(finding) => {
                inspection.problem = Some(finding.about(Label {
                    name: sandbox::stem(path),
                    path: path.to_owned(),
                    sha256: None,
                }));
                return inspection;
            }
        }
        inspection.loaded(sandbox.load(path, None));
        inspection
    }

    /// Adds what a component says of itself, or why it can't.
    fn loaded(&mut self, loaded: Result<Plugin, LoadError>) {
        match loaded {
            Ok(plugin) => {
                self.sha256 = Some(plugin.sha256().to_owned());
                self.api = self.api.take().or(plugin.api().map(str::to_owned));
                self.info = Some(plugin.info().clone());
                self.capabilities = Some(plugin.capabilities());
                self.purity = Some(plugin.purity());
            }
            Err(error) => self.problem = Some(*error.0),
        }
    }

    fn nothing(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            size: None,
            sha256: None,
            api: None,
            imports: Vec::new(),
            exports: Vec::new(),
            start_memory: None,
            info: None,
            capabilities: None,
            purity: None,
            problem: None,
        }
    }
}
