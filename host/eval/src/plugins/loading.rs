//! Reading components from files and folders into a set.
//!
//! Nothing is run here but `describe`, and nothing is granted: who vouches for a component is
//! noted with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner_config::PluginEntry;
use runner_config::plan::Plan;
use runner_sandbox::limits::DEFAULT_MEMORY_BYTES;
use runner_sandbox::{CarriedSet, MessageCode, Plugin, Sandbox};

use super::bind_error::{beginning, place};
use super::bundle::{PlanNames, PluginServices, UnloadedPlugin, Whereabouts, bundle, optional};
use super::loaded::{LoadedPlugin, Trust};
use super::plugin_error::PluginError;
use super::set::PluginSet;
use super::sources::{BundleProof, BundleSource, PluginSources};

impl PluginSet {
    /// Loads every component but those of the bundle that are known without, see
    /// [`Self::load_needed`]. Files that are no plugins are warnings (the second part of the
    /// result) in a directory, errors where they are named.
    ///
    /// # Errors
    /// All problems together, see [`PluginError`].
    pub fn load(
        sandbox: &Sandbox,
        sources: PluginSources,
    ) -> Result<(Self, Vec<String>), Vec<PluginError>> {
        let mut loading = Loading {
            sandbox,
            set: Self {
                config_folder: sources.config_folder,
                ..Self::default()
            },
            warnings: Vec::new(),
            errors: Vec::new(),
        };
        if let Some(bundled) = sources.bundled {
            loading.bundle(bundled);
        }
        let named: Vec<PathBuf> = sources
            .entries
            .iter()
            .filter_map(|e| canonical(&e.source))
            .collect();
        for entry in sources.entries {
            if entry.source.as_os_str().is_empty() {
                loading.grant(entry);
                continue;
            }
            let (path, alias) = (entry.source.clone(), entry.alias.clone());
            loading.file(&path, Some(&alias), Trust::Foreign(Some(Box::new(entry))));
        }
        for path in &sources.paths {
            if canonical(path).is_some_and(|path| named.contains(&path)) {
                continue; // the entry under `plugins:` says more about the same file
            }
            if path.is_dir() {
                loading.directory_except(path, &Trust::Foreign(None), &named);
            } else {
                loading.file(path, None, Trust::Foreign(None));
            }
        }
        if loading.errors.is_empty() {
            Ok((loading.set, loading.warnings))
        } else {
            Err(loading.errors)
        }
    }

    /// Loads those components of the bundle that `plan` needs.
    ///
    /// # Errors
    /// All problems together, see [`PluginError`].
    pub fn load_needed(self, sandbox: &Sandbox, plan: &Plan) -> Result<Self, Vec<PluginError>> {
        let mut loading = Loading {
            sandbox,
            set: self,
            warnings: Vec::new(),
            errors: Vec::new(),
        };
        let mut names = PlanNames::of(plan);
        names.leave_out(
            |name| loading.set.by_prefix(name).is_some(),
            |name| loading.set.by_type(name).is_some(),
        );
        let waiting = std::mem::take(&mut loading.set.waiting);
        for one in waiting
            .into_iter()
            .filter(|one| one.served.is_needed(&names))
        {
            match one.load(sandbox) {
                Ok(component) if PluginServices::by(&component) == one.served => {
                    loading.bundled(component, one.is_optional);
                }
                Ok(component) => loading.errors.push(PluginError::OtherBundle {
                    path: component.path().to_owned(),
                }),
                Err(error) => loading.errors.push(error.into()),
            }
        }
        if loading.errors.is_empty() {
            Ok(loading.set)
        } else {
            Err(loading.errors)
        }
    }
}

/// A set in the making.
struct Loading<'a> {
    sandbox: &'a Sandbox,
    set: PluginSet,
    warnings: Vec<String>,
    errors: Vec<PluginError>,
}

impl Loading<'_> {
    /// Loads the bundle: what the program knows of waits until somebody needs it.
    fn bundle(&mut self, bundled: BundleSource) {
        match bundled {
            BundleSource::Carried(carried) => self.carried(&carried),
            BundleSource::Folder { directory, known } => self.folder(&directory, known),
        }
    }

    /// Loads what the program carries. It vouches for that itself.
    fn carried(&mut self, carried: &Arc<CarriedSet>) {
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
        self.set.known = BundleProof::Digests(digests.collect());
    }

    /// Loads what is in a folder.
    fn folder(&mut self, directory: &Path, known: BundleProof) {
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
                self.set.waiting.push(UnloadedPlugin {
                    served,
                    place,
                    is_optional: false,
                });
            }
        }
        for option in optional() {
            match has(&option.served.name) {
                Some(place) => self.set.waiting.push(UnloadedPlugin {
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
    fn bundled(&mut self, component: Plugin, is_optional: bool) {
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
    fn directory_except(&mut self, directory: &Path, trust: &Trust, named: &[PathBuf]) {
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

    fn file(&mut self, file: &Path, alias: Option<&str>, trust: Trust) {
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
                if is_added && error.code() == MessageCode::P017 {
                    "it was changed since `runner plugin add`, which puts it right again"
                        .clone_into(&mut error.0.help);
                }
                let at = entry.map(|entry| {
                    let of_digest = (error.code() == MessageCode::P017).then_some("/sha256");
                    let at = of_digest.and_then(|digest| entry.places.of(digest));
                    place(at.unwrap_or_else(|| entry.at_of("/source")))
                });
                self.errors.push(PluginError::Load {
                    at: beginning(at.as_ref()),
                    error,
                });
            }
        }
    }

    /// Takes an entry that only grants something to a component of the bundle.
    fn grant(&mut self, entry: PluginEntry) {
        let is_named = |served: &PluginServices| served.name == entry.alias;
        let others = optional().into_iter().map(|option| option.served);
        let is_there = bundle().into_iter().chain(others).any(|it| is_named(&it));
        // What runs JavaScript is in no table.
        if is_there || entry.alias == "javascript" {
            self.set.granted.insert(entry.alias.clone(), entry);
        } else {
            self.errors
                .push(PluginError::NoSource { alias: entry.alias });
        }
    }

    fn add(&mut self, component: Plugin, alias: Option<&str>, trust: Trust) {
        if matches!(trust, Trust::Bundled) {
            component.mark_bundled();
        }
        let is_there = |other: &Arc<LoadedPlugin>| {
            matches!(other.trust, Trust::Foreign(_))
                && other.component.sha256() == component.sha256()
        };
        if matches!(trust, Trust::Foreign(None)) && self.set.plugins.iter().any(is_there) {
            return; // flags name it twice, or what an entry has
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

fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
