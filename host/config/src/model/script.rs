//! Code in a config, as the plan hands it over: text, and every file that it may import.
//!
//! Nothing is run here, and nothing is known of any language but its name. Everything that the
//! code needs was read when the plan was made, so that running it later touches no disk, and a
//! case is known by all of its code.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Code of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// As plugins name it: `javascript`.
    pub language: String,
    /// The key of the config that holds or names it, for messages; may be empty.
    pub key: String,
    /// What is run.
    pub code: Code,
}

/// What of a script is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// A text of the config itself, environment templates filled in.
    Inline {
        /// The text.
        text: String,
    },
    /// A file.
    File {
        /// The file, and what it imports.
        files: Arc<CodeFiles>,
        /// The export that is meant; `None`: the default one.
        entry: Option<String>,
    },
}

/// Code of a provider's `config`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderCode {
    /// `transformRequest`: from `prompt`, `vars` and `context` to what is sent.
    pub request: Option<Arc<Script>>,
    /// `transformResponse`: from `json`, `text` and `context` to the answer.
    pub response: Option<Arc<Script>>,
}

impl ProviderCode {
    /// Both, in the order in which they are run.
    pub fn scripts(&self) -> [&Option<Arc<Script>>; 2] {
        [&self.request, &self.response]
    }
}

/// A file of code with the files that it imports, directly or through others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFiles {
    /// The file itself.
    pub main: CodeFile,
    /// What it imports, without itself, in the order found.
    pub modules: Vec<CodeFile>,
    /// sha256 (hex) of all of them. Thousands of scripts of one config may be one file, and each
    /// case is known by what they do.
    digest: String,
}

impl CodeFiles {
    /// A file, and what it imports.
    pub fn new(main: CodeFile, modules: Vec<CodeFile>) -> Self {
        let mut digest = Sha256::new();
        for file in [&main].into_iter().chain(&modules) {
            for text in [&file.path, &file.source] {
                digest.update((text.len() as u64).to_be_bytes());
                digest.update(text);
            }
        }
        Self {
            main,
            modules,
            digest: HEXLOWER.encode(&digest.finalize()),
        }
    }
}

/// One file of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// Relative to the lowest folder that has all files of the script in it, with `/`.
    pub path: String,
    /// Its text.
    pub source: String,
}

impl Script {
    /// Everything that decides what it does, files by their digest, as one value: what makes two
    /// scripts the same.
    pub fn content(&self) -> Value {
        match &self.code {
            Code::Inline { text } => json!([self.language, text]),
            Code::File { files, entry } => {
                json!([self.language, files.digest, entry])
            }
        }
    }

    /// Every text of it: what a search for a word has to look through.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        let (inline, files) = match &self.code {
            Code::Inline { text } => (Some(text.as_str()), None),
            Code::File { files, .. } => (None, Some(files)),
        };
        let files = files.into_iter().flat_map(|files| {
            let modules = files.modules.iter();
            modules.chain([&files.main]).map(|file| &*file.source)
        });
        inline.into_iter().chain(files)
    }
}
