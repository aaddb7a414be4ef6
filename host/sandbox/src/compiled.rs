//! Compiled components on disk, so that a plugin is compiled once on a machine.
//!
//! Loading compiled code is running it: the engine checks little. So only files are loaded
//! that this program wrote, from a folder that only its user can change ([`PrivateFolder`]),
//! under a name that holds the digest of the plugin's bytes and of everything in the engine that
//! changes the code. The engine's own cache is not used: it takes 50 times as long on a large
//! guest, since it compresses.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use runner_files::PrivateFolder;
use wasmtime::component::Component;

use crate::notice::{Finding, MessageCode};
use crate::preflight;

/// Largest description that is read back: what crosses from a guest, escaped as JSON.
const MAX_DESCRIPTION_BYTES: u64 = 8 * crate::limits::MAX_CROSSING_BYTES as u64;

/// What compiled components may take on the disk: each config can bring others, and is compiled
/// before anybody agreed to anything.
const MAX_KEPT_BYTES: u64 = 2 << 30;

/// Where compiled components are, for one engine configuration.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PrivateFolder,
    engine: u64,
}

impl Cache {
    /// Opens a cache in `directory`, as [`PrivateFolder::open`] gives it.
    pub(crate) fn open(
        directory: &Path,
        engine: &wasmtime::Engine,
    ) -> io::Result<(Self, Option<io::Error>)> {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let engine = hasher.finish();
        let (folder, emptied) = PrivateFolder::open(directory)?;
        Ok((Self { folder, engine }, emptied))
    }

    /// The compiled component of a plugin with this digest, if there is one.
    ///
    /// # Errors
    /// If there is one that others can change.
    pub(crate) fn get(
        &self,
        engine: &wasmtime::Engine,
        sha256: &str,
    ) -> io::Result<Option<Component>> {
        let name = self.name(sha256);
        let Some(opened) = self.folder.read(&name)? else {
            return Ok(None);
        };
        #[expect(unsafe_code, reason = "loads compiled code; see the safety comment")]
        // SAFETY: the file was written by `put` of a process of this user: its name ends in
        // the digest of this engine's configuration, it appears by rename only when complete,
        // and no other user can write to it or to its folder (`PrivateFolder::read`). The path
        // leads to the very file of which that was found.
        let loaded = unsafe { Component::deserialize_file(engine, &opened.path) };
        Ok(loaded
            .inspect_err(|error| tracing::debug!(?error, name, "compiled component not usable"))
            .ok())
    }

    /// Keeps the code of a compiled component, and what was used last of the others. Failure only costs
    /// the next run a compilation.
    pub(crate) fn put(&self, sha256: &str, code: &[u8]) {
        let others = MAX_KEPT_BYTES.saturating_sub(code.len() as u64);
        let written = self.folder.shrink(others);
        let written = written.and_then(|()| self.folder.write(&self.name(sha256), code));
        if let Err(error) = written {
            tracing::debug!(%error, "compiled component not kept");
        }
    }

    /// What `describe` said last time, as [`Self::put_description`] was given it.
    pub(crate) fn description(&self, sha256: &str, track: &str) -> Option<String> {
        let opened = self.folder.read(&description_name(sha256, track)).ok()??;
        let mut text = String::new();
        let read = opened
            .file
            .take(MAX_DESCRIPTION_BYTES)
            .read_to_string(&mut text);
        read.is_ok().then_some(text)
    }

    /// Keeps a description.
    pub(crate) fn put_description(&self, sha256: &str, track: &str, text: &str) {
        let name = description_name(sha256, track);
        if let Err(error) = self.folder.write(&name, text.as_bytes()) {
            tracing::debug!(%error, "description not kept");
        }
    }

    fn name(&self, sha256: &str) -> String {
        format!("{sha256}-{:016x}.component", self.engine)
    }
}

/// Those without `checked` were kept before anybody had looked at their schemas.
fn description_name(sha256: &str, track: &str) -> String {
    format!("{sha256}-{track}.checked.json")
}

/// A component from code that was compiled elsewhere by this engine and came with the program.
pub(crate) fn of_code(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Component> {
    #[expect(unsafe_code, reason = "loads compiled code; see the safety comment")]
    // SAFETY: an engine of this program wrote it when the program was built, and its bytes are those of
    // then: `Carried::code` has held them against the digest that the program has in memory.
    unsafe {
        Component::deserialize(engine, code)
    }
}

/// Compiles a component, for at most `timeout`.
///
/// The engine cannot be interrupted, so an overlong compilation goes on in its thread while
/// the caller is told; if the process lives long enough, `done` keeps its fruit for next time.
pub(crate) fn compile(
    engine: &wasmtime::Engine,
    file: Vec<u8>,
    timeout: Duration,
    done: impl FnOnce(&Component) + Send + 'static,
) -> Result<Component, Finding> {
    let (sender, receiver) = sync_channel(1);
    let engine = engine.clone();
    let thread = std::thread::Builder::new().name("wasm-compile".into());
    let started = thread.spawn(move || {
        let result = Component::from_binary(&engine, &file);
        if let Ok(component) = &result {
            done(component);
        }
        // The receiver is gone when the time was up.
        let _ = sender.send(result.map_err(|error| refused(&error, &file)));
    });
    if let Err(error) = started {
        return Err(Finding::new(
            MessageCode::P016,
            format!("could not be compiled: {error}"),
            "the system has no thread to spare; lower `-j`",
        ));
    }
    match receiver.recv_timeout(timeout) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(Finding::new(
            MessageCode::P016,
            format!("takes longer than {} s to compile", timeout.as_secs_f64()),
            "use a smaller build of the plugin (optimised, without debug information)",
        )),
        Err(RecvTimeoutError::Disconnected) => Err(Finding::new(
            MessageCode::P016,
            "could not be compiled: the compiler gave up",
            "report this with the file",
        )),
    }
}

/// Why the engine refused the file: not valid at an offset, or valid but beyond the engine.
fn refused(error: &wasmtime::Error, file: &[u8]) -> Finding {
    tracing::debug!(?error, "component not compiled");
    match wasmparser::Validator::new().validate_all(file) {
        Err(error) => preflight::invalid(error.offset()),
        Ok(_) => Finding::new(
            MessageCode::P016,
            "uses WebAssembly features that this runner does not run (threads, 64-bit memory, asynchronous components and the like)",
            "build it for the baseline of WebAssembly 2.0 components",
        ),
    }
}
