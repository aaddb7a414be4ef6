//! What is started, and with what.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::{Child, Command};

use crate::ended::Fault;
use crate::supervisor::SUPERVISE;

/// A program with everything that it is started with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// What messages call it: `python rag.py`.
    pub shown: String,
    /// The program itself: a path, or a name that is looked up in its `PATH`.
    pub executable: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Its whole environment, which thousands of programs of one config may share.
    pub env: Arc<[(OsString, OsString)]>,
    /// Bytes of memory that it may take together with what it starts, where the system tells.
    pub memory: u64,
}

/// Who ends programs when the run is gone: an executable that calls [`supervised`](crate::supervised)
/// first of all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Supervisor {
    /// The executable.
    pub executable: PathBuf,
}

impl Supervisor {
    /// This program itself.
    ///
    /// # Errors
    /// The system does not say where it is.
    pub fn this() -> std::io::Result<Self> {
        // Not by its path: an upgrade may put another file there while a run goes on.
        let executable = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe()?
        };
        Ok(Self { executable })
    }

    /// Starts a program below it, in a group of its own, with pipes; `further` come after its
    /// arguments.
    pub(crate) fn start(&self, program: &Program, further: &[OsString]) -> Result<Child, Fault> {
        let mut command = Command::new(&self.executable);
        command
            .arg(SUPERVISE)
            .arg(std::process::id().to_string())
            .arg(program.memory.to_string())
            .arg(&program.executable)
            .args(&program.arguments)
            .args(further)
            .current_dir(&program.folder)
            .env_clear()
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(target_os = "linux")]
        let child = crate::terminal::held(|| command.spawn());
        #[cfg(not(target_os = "linux"))]
        let child = command.spawn();
        child.map_err(|error| Fault::NotStarted {
            program: program.shown.clone(),
            reason: error.to_string(),
        })
    }
}
