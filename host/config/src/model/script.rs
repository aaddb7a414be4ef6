//! Code in a config, as the plan hands it over: text, and every file that it may import.
//!
//! Nothing is run here, and nothing is known of any language but its name. Everything that the
//! code needs was read when the plan was made, so that running it later touches no disk, and a
//! case is known by all of its code.

use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{CodeFile, CodeFiles, Process};

/// Code of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// As plugins name it: `javascript`.
    pub language: String,
    /// The key of the config that holds or names it, for messages; may be empty.
    pub key: String,
    /// What is run.
    pub code: Code,
    /// What runs it outside the sandbox; `None`: it runs in the sandbox.
    pub process: Option<Arc<Process>>,
    /// Whether it may send requests from the sandbox, as the config grants to code of its language.
    pub sends: bool,
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

/// Where code of a config runs, for whoever wants to know before it does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodePlace {
    /// The command that runs it on the person's machine; `None`: it runs in the sandbox.
    pub command: Option<String>,
    /// The file as the config names it; what stands in the config itself by its language.
    pub code: String,
    /// Why it does not run in the sandbox: `imports numpy`.
    pub reason: Option<String>,
    /// The hosts to which it may send requests from the sandbox, as the config grants them.
    pub reaches: Vec<String>,
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

fn is_data(file: &CodeFile) -> bool {
    Path::new(&file.path).extension() == Some("json".as_ref())
}

impl Script {
    /// Everything that decides what it does, files by their digest, as one value: what makes two
    /// scripts the same.
    pub fn content(&self) -> Value {
        let mut content = match &self.code {
            Code::Inline { text } => vec![json!(self.language), json!(text)],
            Code::File { files, entry } => {
                vec![json!(self.language), json!(files.digest()), json!(entry)]
            }
        };
        // Code may do something else there.
        if let Some(process) = &self.process {
            content.push(json!(process.engine.command()));
            // What a command is hangs on the files that it names; an interpreter has no digest.
            content.extend((!process.digest.is_empty()).then(|| json!(process.digest)));
        }
        content.extend(self.sends.then(|| json!({ "sends": true })));
        Value::Array(content)
    }

    /// sha256 (hex) of its text, or of its files.
    pub fn digest(&self) -> String {
        match &self.code {
            Code::Inline { text } => HEXLOWER.encode(&Sha256::digest(text)),
            Code::File { files, .. } => files.digest().to_owned(),
        }
    }

    /// Whether it imports data: a collection of chats, say, whoever wrote them.
    pub fn imports_data(&self) -> bool {
        match &self.code {
            Code::Inline { .. } => false,
            Code::File { files, .. } => files.modules.iter().any(is_data),
        }
    }

    /// Whether a name stands in its code as a word of its own. Data that it imports is not its code.
    pub fn names(&self, name: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        self.texts(|file| !is_data(file)).any(|source| {
            source.match_indices(name).any(|(at, _)| {
                let before = source[..at].chars().next_back();
                let after = source[at + name.len()..].chars().next();
                !before.into_iter().chain(after).any(is_part)
            })
        })
    }

    /// Every text of it: what a search for a word has to look through.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        self.texts(|_| true)
    }

    /// Its own text, and those of the files that it imports and that are `wanted`.
    fn texts(&self, wanted: fn(&CodeFile) -> bool) -> impl Iterator<Item = &str> {
        let (inline, files) = match &self.code {
            Code::Inline { text } => (Some(text.as_str()), None),
            Code::File { files, .. } => (None, Some(files)),
        };
        let files = files.into_iter().flat_map(move |files| {
            let modules = files.modules.iter().filter(move |file| wanted(file));
            modules.chain([&files.main]).map(|file| &*file.source)
        });
        inline.into_iter().chain(files)
    }
}
