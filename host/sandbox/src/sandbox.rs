//! From a file to a plugin: read, look, compile or fetch, link, ask it to describe itself.
//!
//! Blocking, and done once per file before anything is spent. Each step has its own codes, so
//! that whoever brought the file learns at which one it stopped.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use runner_files::is_untrusted;
use sha2::{Digest, Sha256};
use wasmtime::component::{Component, InstancePre, Linker};

use crate::call::{CallState, Ready, linking};
use crate::carried::{CarriedSet, ComponentHeader};
use crate::compiled::{self, Cache};
use crate::engine::{self, Engine, Machines};
use crate::limits::{
    COMPILE_TIMEOUT, DEFAULT_MEMORY_BYTES, MAX_FILE_BYTES, MAX_MEMORIES, MAX_MEMORY_BYTES,
    MAX_TABLES,
};
use crate::notice::{Finding, Label, LoadError, MessageCode, bytes};
use crate::plugin::{self, Plugin};
use crate::preflight::{self, Outline};
use crate::v0_1::{self, signatures::Departure};

/// How a sandbox is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where compiled components are kept, closed to other users. `None`: compile each time.
    pub cache_dir: Option<PathBuf>,
    /// Calls at once: what `-j` and the assertion limit need. A quarter more is added for nested
    /// calls; at most `limits::MAX_INSTANCES` in all.
    pub instances: u32,
    /// Longest compilation that is waited for; all together take at most 2.5 times that. A config can
    /// name many components, and they are compiled before anybody is asked about them.
    pub compile_timeout: Duration,
    /// Compile for each machine of our target rather than for this one: the code travels.
    pub travels: bool,
    /// Called before a compilation that somebody who waits would notice.
    pub on_long_compile: OnLongCompile,
    /// Called once if compiled code is not used because others can change it.
    pub on_untrusted_code: OnUntrustedCode,
}

/// What is done before a compilation that somebody who waits would notice; by default nothing.
#[derive(Clone)]
pub struct OnLongCompile(Arc<dyn Fn() + Send + Sync>);

impl OnLongCompile {
    /// Calls this.
    pub fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }
}

impl Default for OnLongCompile {
    fn default() -> Self {
        Self::new(|| ())
    }
}

impl fmt::Debug for OnLongCompile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnLongCompile")
    }
}

/// What is done if compiled code is not used because others can change it, with why; by default
/// nothing.
#[derive(Clone)]
pub struct OnUntrustedCode(Arc<dyn Fn(&str) + Send + Sync>);

impl OnUntrustedCode {
    /// Calls this.
    pub fn new(call: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }
}

impl Default for OnUntrustedCode {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for OnUntrustedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnUntrustedCode")
    }
}

/// Bytes of a component from which compiling it takes seconds: CPython has 25 MB and takes 8 s of
/// two cores, the largest other plugin 3 MB and a second.
const LONG_COMPILE_BYTES: usize = 8 << 20;

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_dir: None,
            instances: 64,
            compile_timeout: COMPILE_TIMEOUT,
            travels: false,
            on_long_compile: OnLongCompile::default(),
            on_untrusted_code: OnUntrustedCode::default(),
        }
    }
}

/// The sandbox itself cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine cannot reserve what the pool needs.
    #[error(
        "no room for {instances} instances of plugins at once; lower `-j`, or allow the process more address space and memory mappings (ulimit -v, vm.max_map_count)"
    )]
    Pool {
        /// The wish.
        instances: u32,
    },
    /// The directory for compiled components cannot be used.
    #[error("the plugin cache {} cannot be used", .directory.display())]
    Cache {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// One engine and what is linked to every plugin. Shared by all plugins of a run.
pub struct Sandbox {
    engine: Arc<Engine>,
    linker: Linker<CallState>,
    cache: Option<Arc<Cache>>,
    compile_timeout: Duration,
    /// What compilations may still take, all together.
    compile_left: Mutex<Duration>,
    on_long_compile: OnLongCompile,
    on_untrusted_code: OnUntrustedCode,
    told_untrusted: Once,
}

/// A file that has been read and looked at.
pub(crate) struct InspectedFile {
    pub(crate) file: Vec<u8>,
    pub(crate) sha256: String,
    pub(crate) outline: Result<Outline, Finding>,
}

impl Sandbox {
    /// Sets up the engine and its pool, and the cache directory.
    ///
    /// # Errors
    /// [`SandboxError`] if the system does not give what they need.
    pub fn new(options: Options) -> Result<Self, SandboxError> {
        let no_room = |error: wasmtime::Error| {
            tracing::debug!(?error, "engine not set up");
            SandboxError::Pool {
                instances: options.instances,
            }
        };
        let machines = if options.travels {
            Machines::All
        } else {
            Machines::This
        };
        let engine = Engine::new(options.instances, machines).map_err(no_room)?;
        let mut linker = Linker::new(engine.wasmtime());
        linking::link(&mut linker)
            .and_then(|()| v0_1::link(&mut linker))
            .expect("each interface is linked once");
        let mut sandbox = Self {
            engine,
            linker,
            cache: None,
            compile_timeout: options.compile_timeout,
            compile_left: Mutex::new(options.compile_timeout * 5 / 2),
            on_long_compile: options.on_long_compile,
            on_untrusted_code: options.on_untrusted_code,
            told_untrusted: Once::new(),
        };
        if let Some(directory) = options.cache_dir {
            match Cache::open(&directory, sandbox.engine.wasmtime()) {
                Ok((cache, emptied)) => {
                    sandbox.cache = Some(Arc::new(cache));
                    if let Some(error) = emptied {
                        sandbox.untrusted(&error);
                    }
                }
                Err(error) if is_untrusted(&error) => {
                    sandbox.untrusted(&error);
                }
                Err(source) => return Err(SandboxError::Cache { directory, source }),
            }
        }
        Ok(sandbox)
    }

    /// Tells that compiled code is not used, once.
    fn untrusted(&self, error: &io::Error) {
        self.told_untrusted
            .call_once(|| (self.on_untrusted_code.0)(&error.to_string()));
    }

    /// Loads a plugin with the default memory limit. Blocks for as long as compiling takes,
    /// once per file and machine if there is a cache.
    ///
    /// `alias` is the name in the config; without it the plugin's own name is used.
    ///
    /// # Errors
    /// [`LoadError`] with the code of the step at which it stopped.
    pub fn load(&self, path: &Path, alias: Option<&str>) -> Result<Plugin, LoadError> {
        self.load_as(path, alias, DEFAULT_MEMORY_BYTES, None)
    }

    /// As [`Self::load`], for a plugin whose instances may have `memory` bytes, at most
    /// `MAX_MEMORY_BYTES`, and whose file must have the digest `sha256`, which is compared before
    /// anything is compiled.
    ///
    /// # Errors
    /// [`LoadError`] with the code of the step at which it stopped.
    pub fn load_as(
        &self,
        path: &Path,
        alias: Option<&str>,
        memory: u64,
        sha256: Option<&str>,
    ) -> Result<Plugin, LoadError> {
        let mut label = Label {
            name: alias.map_or_else(|| stem(path), str::to_owned),
            path: path.to_owned(),
            sha256: None,
        };
        let result = look(path).and_then(|looked| {
            label.sha256 = Some(looked.sha256.clone());
            is_meant(&looked.sha256, sha256)?;
            self.plugin_of(looked, &label, alias, memory)
        });
        result.map_err(|finding| LoadError(Box::new(finding.about(label))))
    }

    fn plugin_of(
        &self,
        looked: InspectedFile,
        label: &Label,
        alias: Option<&str>,
        memory: u64,
    ) -> Result<Plugin, Finding> {
        let outline = looked.outline?;
        preflight::admit(&outline, memory.min(MAX_MEMORY_BYTES))?;
        let component = self.component(looked.file, &looked.sha256)?;
        let core_instances = u32::try_from(outline.instances.core).unwrap_or(u32::MAX);
        let ready = self.link(&component, core_instances)?;
        plugin::PluginParts {
            label: label.clone(),
            named: alias.is_some(),
            sha256: looked.sha256,
            start_memory: outline.start_memory,
            component,
            ready,
            cache: self.cache.clone(),
            description: None,
        }
        .plugin()
    }

    /// Loads a component that the program carries. Nothing is compiled; where there is a cache, the code
    /// is unpacked once per machine.
    ///
    /// # Errors
    /// [`LoadError`] if its code is not there, or not what was put there.
    pub fn load_carried(&self, carried: &CarriedSet, name: &str) -> Result<Plugin, LoadError> {
        let about = carried.about(name);
        let label = Label {
            name: name.to_owned(),
            path: carried.path().to_owned(),
            sha256: about.map(|about| about.sha256.clone()),
        };
        let absent = || not_unpacked(&"the program does not carry it");
        let plugin = about.ok_or_else(absent).and_then(|about| {
            let component = self.unpacked(carried, about)?;
            plugin::PluginParts {
                label: label.clone(),
                named: false,
                sha256: about.sha256.clone(),
                start_memory: about.start_memory,
                ready: self.ready(self.pre(&component)?, about.places),
                component,
                cache: None,
                description: Some(&about.description),
            }
            .plugin()
        });
        plugin.map_err(|finding| LoadError(Box::new(finding.about(label))))
    }

    /// Its code from the cache, else from the program. Mapped, it takes no memory of its own.
    fn unpacked(
        &self,
        carried: &CarriedSet,
        about: &ComponentHeader,
    ) -> Result<Component, Finding> {
        if let Some(cached) = self.cached(&about.sha256) {
            return Ok(cached);
        }
        let code = carried.code(&about.name);
        let code = code.map_err(|error| not_unpacked(&error))?;
        if let Some(cache) = &self.cache {
            cache.put(&about.sha256, &code);
            if let Some(cached) = self.cached(&about.sha256) {
                return Ok(cached);
            }
        }
        compiled::of_code(self.engine.wasmtime(), &code).map_err(|error| {
            tracing::debug!(?error, "carried component not usable");
            not_unpacked(&"it was compiled for another machine")
        })
    }

    /// A compiled component from the cache.
    fn cached(&self, sha256: &str) -> Option<Component> {
        let engine = self.engine.wasmtime();
        match self.cache.as_ref()?.get(engine, sha256) {
            Ok(cached) => cached,
            Err(error) => {
                self.untrusted(&error);
                None
            }
        }
    }

    fn component(&self, file: Vec<u8>, sha256: &str) -> Result<Component, Finding> {
        let engine = self.engine.wasmtime();
        if let Some(cached) = self.cached(sha256) {
            return Ok(cached);
        }
        if file.len() >= LONG_COMPILE_BYTES {
            (self.on_long_compile.0)();
        }
        let cache = self.cache.clone();
        let sha256 = sha256.to_owned();
        // Whoever compiles beside this one waits for it: the time is that of all.
        let mut left = self
            .compile_left
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        let timeout = self.compile_timeout.min(*left);
        let compiled = compiled::compile(engine, file, timeout, move |component| {
            if let (Some(cache), Ok(code)) = (cache, component.serialize()) {
                cache.put(&sha256, &code);
            }
        });
        *left = left.saturating_sub(begun.elapsed());
        compiled
    }

    fn link(&self, component: &Component, core_instances: u32) -> Result<Ready, Finding> {
        let engine = self.engine.wasmtime();
        if let Some(departure) = v0_1::signatures::departure(&component.component_type(), engine) {
            return Err(departed(departure));
        }
        let pre = self.pre(component)?;
        // None: it takes modules from outside, which nothing that is linked here gives.
        let (memories, tables) = component
            .resources_required()
            .map_or((MAX_MEMORIES, MAX_TABLES), |needs| {
                (needs.num_memories, needs.num_tables)
            });
        preflight::has_place(memories, tables)?;
        Ok(self.ready(pre, engine::places(memories, tables, core_instances)))
    }

    fn pre(&self, component: &Component) -> Result<InstancePre<CallState>, Finding> {
        self.linker.instantiate_pre(component).map_err(|error| {
            tracing::debug!(?error, "component not linked");
            Finding::new(
                MessageCode::P008,
                "imports a function of WASI that this runner never offers",
                "rebuild the plugin with a toolchain for WASI 0.2",
            )
        })
    }

    fn ready(&self, pre: InstancePre<CallState>, places: u32) -> Ready {
        Ready {
            engine: Arc::clone(&self.engine),
            pre,
            places,
            is_bundled: AtomicBool::new(false),
        }
    }
}

/// Whether a file is the one that the config names, if it names one.
fn is_meant(actual: &str, expected: Option<&str>) -> Result<(), Finding> {
    match expected {
        Some(expected) if !expected.eq_ignore_ascii_case(actual) => Err(Finding::new(
            MessageCode::P017,
            format!(
                "is not the file that the config names: it has the sha256 {actual}, and {expected} was expected"
            ),
            "check where the file comes from; if the change is wanted, write the new sha256 into the config",
        )),
        _ => Ok(()),
    }
}

/// `P016` for a component that the program carries.
fn not_unpacked(why: &dyn fmt::Display) -> Finding {
    let help = "install the program again; a copy of it must be complete";
    let message = format!("cannot be unpacked: {why}");
    Finding::new(MessageCode::P016, message, help)
}

/// `P006` and `P007`.
fn departed(departure: Departure) -> Finding {
    match departure {
        Departure::UnknownImport { function, version } => {
            preflight::needs_newer(&function, &version)
        }
        Departure::OtherSignature { function, version } => Finding::new(
            MessageCode::P007,
            format!("its WIT differs from the published {version} for `{function}`"),
            "rebuild the plugin with the published WIT",
        ),
        Departure::MissingExport { function, version } => Finding::new(
            MessageCode::P007,
            format!("its WIT differs from the published {version}: it lacks `{function}`"),
            "rebuild the plugin with the published WIT",
        ),
    }
}

/// Reads a file, at most [`MAX_FILE_BYTES`] of it, and its outline. `P015`.
pub(crate) fn look(path: &Path) -> Result<InspectedFile, Finding> {
    let unreadable = |what: String, help: &str| Finding::new(MessageCode::P015, what, help);
    let failed = |error: io::Error| {
        unreadable(
            format!("cannot be read: {error}"),
            "check the path and its permissions",
        )
    };
    if let Some(what) = never_opened(path) {
        return Err(unreadable(what.into(), "name the `.wasm` file itself"));
    }
    let opened = File::open(path).map_err(failed)?;
    if opened.metadata().map_err(failed)?.is_dir() {
        return Err(unreadable(
            "cannot be read: it is a directory".into(),
            "name the `.wasm` file inside",
        ));
    }
    let mut file = Vec::new();
    opened
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut file)
        .map_err(failed)?;
    if file.len() as u64 > MAX_FILE_BYTES {
        return Err(unreadable(
            format!("larger than {}", bytes(MAX_FILE_BYTES)),
            "a plugin is a few megabytes; build it optimised and without debug information",
        ));
    }
    let sha256 = HEXLOWER.encode(&Sha256::digest(&file));
    let outline = preflight::read(&file);
    Ok(InspectedFile {
        file,
        sha256,
        outline,
    })
}

/// Why a path must not even be opened, whoever names it: a pipe would wait for a writer, a device has
/// no end, and what the system shows as files is about this machine. The words are those for a path
/// in a config.
fn never_opened(path: &Path) -> Option<&'static str> {
    let metadata = fs::metadata(path).ok()?;
    let real = path.canonicalize().ok()?;
    let is_below = |folder| real.starts_with(folder);
    if ["/dev", "/proc", "/sys"].into_iter().any(is_below) && !is_below("/dev/shm") {
        return Some("belongs to the system and is never read");
    }
    let is_special = !metadata.is_file() && !metadata.is_dir();
    is_special.then_some("is not an ordinary file")
}

pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(
        || "plugin".into(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
