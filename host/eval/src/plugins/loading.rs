//! Reading components from files and folders into a set.
//!
//! Nothing is run here but `describe`, and nothing is granted: who vouches for a component is
//! noted with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner_config::PluginEntry;
use runner_sandbox::limits::DEFAULT_MEMORY_BYTES;
use runner_sandbox::{Carried, Code, Plugin, Sandbox};

use super::bundle::{Waiting, Whereabouts, bundle, optional};
use super::{Bundled, Known, LoadedPlugin, PluginError, PluginSet, Trust};

/// A set in the making.
pub(super) struct Loading<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) set: PluginSet,
    pub(super) warnings: Vec<String>,
    pub(super) errors: Vec<PluginError>,
}

impl Loading<'_> {
    /// Loads the bundle: what the program knows of waits until somebody needs it.
    pub(super) fn bundle(&mut self, bundled: Bundled) {
        match bundled {
            Bundled::Carried(carried) => self.carried(&carried),
            Bundled::Folder { directory, known } => self.folder(&directory, known),
        }
    }

    /// Loads what the program carries. It vouches for that itself.
    fn carried(&mut self, carried: &Arc<Carried>) {
        let has = |name: &str| {
            let carried = carried.about(name).map(|_| carried.clone());
            carried.map(Whereabouts::Carried)
        };
        self.wait(has);
        for about in carried.components() {
            let mut waiting = self.set.waiting.iter();
            if waiting.any(|one| one.served.name == about.name) {
                continue;
            }
            match self.sandbox.load_carried(carried, &about.name) {
                Ok(component) => self.add(component, None, Trust::Bundled),
                Err(error) => self.errors.push(error.into()),
            }
        }
        let digests = carried.components().map(|about| about.sha256.clone());
        self.set.known = Known::Digests(digests.collect());
    }

    /// Loads what is in a folder.
    fn folder(&mut self, directory: &Path, known: Known) {
        self.set.known = known;
        let has = |name: &str| {
            let path = directory.join(format!("{name}.wasm"));
            path.is_file().then_some(Whereabouts::File(path))
        };
        self.wait(has);
        let waiting = self.set.waiting.iter();
        let known: Vec<PathBuf> = waiting.filter_map(|one| canonical(one.path())).collect();
        self.directory_except(directory, &Trust::Bundled, &known);
    }

    /// Lets wait what the program knows of and has.
    fn wait(&mut self, has: impl Fn(&str) -> Option<Whereabouts>) {
        for served in bundle() {
            if let Some(place) = has(&served.name) {
                self.set.waiting.push(Waiting {
                    served,
                    place,
                    is_optional: false,
                });
            }
        }
        for option in optional() {
            match has(&option.served.name) {
                Some(place) => self.set.waiting.push(Waiting {
                    served: option.served,
                    place,
                    is_optional: true,
                }),
                None => self.set.absent.push(option),
            }
        }
    }

    /// Loads a component that stands in the bundle's place for it. One that is not of this program's
    /// making is an error, or, where there may be none, somebody else's.
    pub(super) fn bundled(&mut self, component: Plugin, is_optional: bool) {
        if self.set.known.vouches(component.sha256()) {
            self.add(component, None, Trust::Bundled);
        } else if is_optional {
            self.add(component, None, Trust::Foreign(None));
        } else {
            self.errors.push(PluginError::OtherBundle {
                path: component.path().to_owned(),
            });
        }
    }

    /// Loads every `*.wasm` directly inside, sorted.
    pub(super) fn directory_except(&mut self, directory: &Path, trust: &Trust, named: &[PathBuf]) {
        let entries = std::fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut files: Vec<PathBuf> = match entries {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(source) => {
                self.errors.push(PluginError::Unreadable {
                    path: directory.to_owned(),
                    source,
                });
                return;
            }
        };
        files.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "wasm")
                && path.is_file()
        });
        files.sort();
        if files.is_empty() {
            self.warnings.push(format!(
                "{}: no .wasm file in this directory",
                directory.display()
            ));
        }
        for file in files {
            if canonical(&file).is_some_and(|file| named.contains(&file)) {
                continue;
            }
            match self.sandbox.load(&file, None) {
                Ok(component)
                    if matches!(trust, Trust::Bundled)
                        && !self.set.known.vouches(component.sha256()) =>
                {
                    self.warnings.push(format!(
                        "{shown}: this component did not come with the program and is left out: \
                         to use it, name it: --plugin {shown}",
                        shown = file.display()
                    ));
                }
                Ok(component) => self.add(component, None, trust.clone()),
                Err(error) => self.warnings.push(error.to_string()),
            }
        }
    }

    pub(super) fn file(&mut self, file: &Path, alias: Option<&str>, trust: Trust) {
        let entry = match &trust {
            Trust::Foreign(entry) => entry.as_deref(),
            Trust::Bundled => None,
        };
        let memory = entry.and_then(|entry| entry.limits.memory_mb);
        let memory = memory.map_or(DEFAULT_MEMORY_BYTES, |megabytes| megabytes << 20);
        let sha256 = entry.and_then(|entry| entry.sha256.as_deref());
        let is_added = entry.is_some_and(|entry| entry.added.is_some());
        match self.sandbox.load_as(file, alias, memory, sha256) {
            Ok(component) => self.add(component, alias, trust),
            Err(mut error) => {
                if is_added && error.code() == Code::P017 {
                    "it was changed since `runner plugin add`, which puts it right again"
                        .clone_into(&mut error.0.help);
                }
                self.errors.push(error.into());
            }
        }
    }

    /// Takes an entry that only grants something to a component of the bundle.
    pub(super) fn grant(&mut self, entry: PluginEntry) {
        let is_bundled = bundle().iter().any(|served| served.name == entry.alias);
        if is_bundled {
            self.set.granted.insert(entry.alias.clone(), entry);
        } else {
            self.errors
                .push(PluginError::NoSource { alias: entry.alias });
        }
    }

    pub(super) fn add(&mut self, component: Plugin, alias: Option<&str>, trust: Trust) {
        if matches!(trust, Trust::Bundled) {
            component.mark_bundled();
        }
        let alias = alias.unwrap_or(&component.info().name).to_owned();
        if let Err(mut wrong) = self.set.add(LoadedPlugin {
            component,
            alias,
            trust,
        }) {
            self.errors.append(&mut wrong);
        }
    }
}

pub(super) fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
