//! promptfoo, run by its command line in an empty home, as a user would.
//!
//! Where node and promptfoo are is the caller's to say: `cargo xtask compat` gets them from npm.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::rows::Said;
use super::server::Server;
use super::suite::Config;

/// What keeps it from talking to anybody, and to us.
const QUIET: [&str; 5] = [
    "PROMPTFOO_DISABLE_TELEMETRY",
    "PROMPTFOO_DISABLE_UPDATE",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION",
    "PROMPTFOO_DISABLE_SHARE_WARNING",
    "PYTHONDONTWRITEBYTECODE",
];

/// An installed promptfoo.
#[derive(Debug, Clone)]
pub struct Promptfoo {
    node: PathBuf,
    entry: PathBuf,
    compiled: PathBuf,
}

impl Promptfoo {
    /// The one whose start file is `entry`, run by `node`; what node compiles is kept in
    /// `compiled`, since that is most of a start.
    pub fn new(node: PathBuf, entry: PathBuf, compiled: PathBuf) -> Self {
        Self {
            node,
            entry,
            compiled,
        }
    }

    /// Runs it; also the whole results file (null if there is none) and what it wrote.
    pub fn run(&self, config: &Config, server: &Server) -> (Said, Value, String) {
        let folder = TempDir::new().expect("the system has a folder for temporary files");
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        std::fs::create_dir(&home).expect("the folder is new");
        config.copy_to(&project);
        let results = folder.path().join("out.json");
        let mut command = Command::new(&self.node);
        command.arg(&self.entry);
        command.args(["eval", "--no-cache", "--no-write", "--no-table"]);
        command
            .args(["--no-progress-bar", "--no-share", "-o"])
            .arg(&results);
        command.arg("-c").arg(config.file_name());
        command.args(config.arguments()).current_dir(&project);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &home);
        command.env("PROMPTFOO_CONFIG_DIR", &home);
        command.env("NODE_COMPILE_CACHE", &self.compiled);
        command.envs(QUIET.map(|name| (name, "1")));
        command.envs(server.environment());
        let output = command.stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", self.node.display()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let talk = text(&output.stdout) + &text(&output.stderr);
        let document = std::fs::read(&results).ok();
        let document = document.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match document {
            Some(document) => {
                let said = Said::of_results(&document, &server.url());
                (said, document, talk)
            }
            None => (Said::Refused, Value::Null, talk),
        }
    }
}
