//! What runs on the person's machine for a config, outside the sandbox.
//!
//! Plain data: whether it may run is agreed to as a [`Program`](super::TrustSubject::Program), how it
//! is started is `runner-eval`'s business.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{CodeFiles, TextOrigin};

/// A program of the person's machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    /// What is started.
    pub engine: Engine,
    /// sha256 (hex) of a command and the files that it names, as far as they are known; of an
    /// interpreter empty, since its code has a digest of its own.
    pub digest: String,
    /// Where: the folder of the config, an absolute path.
    pub folder: PathBuf,
    /// Who brings what it runs: what rows bring has no part in what the config's code is given.
    pub origin: TextOrigin,
    /// What its provider's own `env` says, as it is shown to the person.
    pub env: BTreeMap<String, String>,
    /// The variables of the person's environment that it gets, beside those without which few
    /// programs start (`PATH`, `HOME`, …) and those of the config's `env`.
    pub variables: BTreeSet<String>,
    /// How many run side by side; `None`: as many as the engine has by itself.
    pub workers: Option<u32>,
    /// How long a call may take; `None`: [`DEFAULT_TIMEOUT`](Self::DEFAULT_TIMEOUT).
    pub timeout: Option<Duration>,
    /// MiB of memory that it may take with all that it starts; `None`:
    /// [`DEFAULT_MEMORY_MB`](Self::DEFAULT_MEMORY_MB).
    pub memory_mb: Option<u64>,
    /// Whether an answer of before may be given again.
    pub is_cached: bool,
    /// Code in TypeScript: whoever starts Node.js hands it over as JavaScript.
    pub typed: Option<Arc<CodeFiles>>,
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// A Python interpreter.
    Python {
        /// `pythonExecutable`; `None`: the project's, else the system's.
        executable: Option<String>,
    },
    /// Node.js.
    Node,
    /// A command of its own, started anew for each call.
    Command {
        /// The program and its arguments, as the config has them.
        line: String,
    },
}

impl Engine {
    /// As a person would type it.
    pub fn command(&self) -> String {
        match self {
            Self::Python { executable } => {
                executable.clone().unwrap_or_else(|| "python3".to_owned())
            }
            Self::Node => "node".to_owned(),
            Self::Command { line } => line.clone(),
        }
    }

    /// The words of a command line: parted by blanks, unless they stand in quotes.
    pub fn words(&self) -> Vec<String> {
        let Self::Command { line } = self else {
            return vec![self.command()];
        };
        let mut words = Vec::new();
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let quote = Some(first).filter(|first| matches!(first, '"' | '\''));
            let closed = quote.and_then(|quote| rest[1..].find(quote));
            let (word, length) = if let Some(length) = closed {
                (&rest[1..=length], length + 2)
            } else {
                // A quote that none closes is passed over.
                let begin = usize::from(quote.is_some());
                let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
                let length = rest[begin..].find(ends).map_or(rest.len(), |at| at + begin);
                (&rest[begin..length], length)
            };
            words.extend(Some(word.to_owned()).filter(|word| !word.is_empty()));
            rest = rest[length..].trim_start();
        }
        words
    }
}

impl Process {
    /// How long a call may take where the config says nothing.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

    /// MiB of memory that a program may take where the config says nothing.
    pub const DEFAULT_MEMORY_MB: u64 = 4096;
}

/// Whether a program that is given these variables is given this one: `*` are all, `OPENAI_*` those
/// that begin so.
pub fn is_given(variables: &BTreeSet<String>, name: &str) -> bool {
    let begins = |it: &String| {
        it.strip_suffix('*')
            .is_some_and(|start| name.starts_with(start))
    };
    variables.contains(name) || variables.iter().any(begins)
}

/// Variables of the person's environment that every program gets: without them few start, and none
/// is a secret.
pub const GIVEN_VARIABLES: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "NVM_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_command_are_promptfoo_s() {
        let words = |line: &str| {
            let line = line.to_owned();
            Engine::Command { line }.words()
        };
        assert_eq!(words("python x.py --a b"), ["python", "x.py", "--a", "b"]);
        assert_eq!(words("a 'b c' \"d e\"f"), ["a", "b c", "d e", "f"]);
        assert_eq!(words("  a  'b "), ["a", "b"]);
        assert_eq!(words("é\u{3000}ü"), ["é", "ü"]);
        assert!(words(" \"\" ").is_empty());
    }
}
