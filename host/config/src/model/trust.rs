//! Who wrote a text, and what it needs the person's agreement for.
//!
//! Every text that is read has an [`TextOrigin`], and its rights follow from that alone. What a text
//! wants beyond its rights is no error: the reader notes a [`TrustRequest`].
//!
//! A request to read something (a file, a variable, what code makes) that is not agreed to is
//! not carried out: what would be read stays unknown. So nothing that is said, asked or decided
//! can depend on it, and there is nothing to hide. A config of which something stays unknown has
//! no plan, only requests ([`NotAgreed`](crate::LoadError::NotAgreed)); once they are agreed to it is read anew. Other requests
//! (to send, to write) change nothing about how a config is read; they come with the plan.
//! `docs/security.md` has the table of origins and rights.
//!
//! Not here: who is asked, and what is remembered. This crate reads files and decides nothing
//! for the person.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Permissions, Position};

mod agreements;
mod words;

pub use agreements::{Agreements, Author, Level, TrustAgreement};
pub use words::named_path;

/// Who wrote a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TextOrigin {
    /// The person who runs the program: flags, their environment, their answer to a question. It
    /// may do anything.
    Person,
    /// The config: the file named by `-c`, YAML that it names, its `env`, its prompt files.
    Config,
    /// Text from elsewhere that the config vouches for: rows of a file with `trust: config`, what a hook
    /// made. It has the config's rights, but its inline code runs in the sandbox: nobody who agreed
    /// to an interpreter for the config's code has seen it.
    Vouched,
    /// A data file, or the code that made the data: it gives values, and chooses among what the
    /// config declares.
    Data(Arc<DataFile>),
}

/// Where data comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataFile {
    /// The path that messages call it.
    pub shown: PathBuf,
    /// Its absolute path, links resolved where it exists.
    pub real: PathBuf,
    /// Its own, or that of the data file that named it, up to the one that the config named: what strangers may
    /// take up is counted for that one, whatever number of files it names.
    pub root: PathBuf,
    /// Whether its rows went through the same hands as those of other files, whose paths follow in a row, or
    /// through a hook of a config that may not name the file: such rows name no file, since nobody knows
    /// whose words they have.
    pub is_mixed: bool,
    /// Which part of what a hook made of its rows and of the config's own tests; 0: of rows alone. What
    /// is of one part speaks in no conversation of another, and stores nothing for it.
    pub part: usize,
}

impl DataFile {
    /// The folder whose files its rows may name, if they may name any.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.real.parent().filter(|_| !self.is_mixed)
    }
}

impl TextOrigin {
    /// The rights of the data file that messages call `shown`.
    pub fn data(shown: &Path, real: PathBuf) -> Self {
        let shown = shown.to_owned();
        Self::Data(Arc::new(DataFile {
            shown,
            root: real.clone(),
            real,
            is_mixed: false,
            part: 0,
        }))
    }

    /// The rights of what code made that may have used the words of all of these.
    pub(crate) fn mixed<'a>(origins: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut known = HashSet::new();
        let files = origins.into_iter().filter_map(|origin| match origin {
            Self::Data(file) => known.insert(file).then_some(file),
            Self::Person | Self::Config | Self::Vouched => None,
        });
        let files: Vec<&Arc<DataFile>> = files.collect();
        // As they are, also where they are not UTF-8: two names are never one.
        let real = || {
            let paths: Vec<&OsStr> = files.iter().map(|file| file.real.as_os_str()).collect();
            PathBuf::from(paths.join(OsStr::new("\0")))
        };
        match &*files {
            [] => Self::Vouched,
            [one] => Self::Data((*one).clone()),
            _ => Self::Data(Arc::new(DataFile {
                shown: some(&files),
                // No file has such a path: what is agreed to for all is for none of them alone.
                real: real(),
                root: real(),
                is_mixed: true,
                part: 0,
            })),
        }
    }

    /// This origin, of a file that `namer` names.
    pub(crate) fn under(&self, namer: &DataFile) -> Self {
        match self {
            Self::Data(file) => Self::Data(Arc::new(DataFile {
                root: namer.root.clone(),
                part: namer.part,
                ..DataFile::clone(file)
            })),
            origin => origin.clone(),
        }
    }

    /// This origin without the files that it may name.
    pub(crate) fn nameless(&self) -> Self {
        match self {
            Self::Data(file) => Self::Data(Arc::new(DataFile {
                is_mixed: true,
                ..DataFile::clone(file)
            })),
            origin => origin.clone(),
        }
    }

    /// This origin, as that part of what was made of it.
    pub(crate) fn part(&self, part: usize) -> Self {
        match self {
            Self::Data(file) if file.part != part => Self::Data(Arc::new(DataFile {
                part,
                ..DataFile::clone(file)
            })),
            origin => origin.clone(),
        }
    }

    /// Whether inline code of it may run outside the sandbox.
    pub(crate) fn may_bring_programs(&self) -> bool {
        matches!(self, Self::Person | Self::Config)
    }

    /// This origin without a difference between the config and what it vouches for: what both name by a
    /// path is one thing.
    pub(crate) fn by_name(&self) -> &Self {
        match self {
            Self::Vouched => &Self::Config,
            origin => origin,
        }
    }

    /// Whether it gives values only.
    pub fn is_data(&self) -> bool {
        self.data_file().is_some()
    }

    /// The data file, if it is one's.
    pub(crate) fn data_file(&self) -> Option<&Arc<DataFile>> {
        match self {
            Self::Data(file) => Some(file),
            Self::Person | Self::Config | Self::Vouched => None,
        }
    }
}

/// What messages call several files, of which there may be thousands.
fn some(files: &[&Arc<DataFile>]) -> PathBuf {
    const FIRST: usize = 3;
    let first = files.iter().take(FIRST);
    let first: Vec<&OsStr> = first.map(|file| file.shown.as_os_str()).collect();
    let mut some = first.join(OsStr::new(", "));
    if files.len() > FIRST {
        some.push(format!(" and {} more", files.len() - FIRST));
    }
    some.into()
}

/// Something that a text needs beyond the rights of its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequest {
    /// What it needs.
    pub subject: TrustSubject,
    /// Who wrote the text.
    pub origin: TextOrigin,
    /// Where the text stands.
    pub at: Position,
}

/// What the person may agree to, exactly: a request that differs in anything is a new one. The
/// serialised form is what is remembered.
#[expect(
    clippy::large_enum_variant,
    reason = "there are few of them, and each is asked about"
)]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrustSubject {
    /// Reading a file.
    Read {
        /// Its absolute path, links resolved where it exists.
        path: PathBuf,
    },
    /// Finding out which files a pattern matches, which is not to read them.
    Match {
        /// The pattern as an absolute path, links resolved where it exists.
        pattern: PathBuf,
    },
    /// Writing a file.
    Write {
        /// Its absolute path, links resolved as far as it exists.
        path: PathBuf,
    },
    /// Sending a variable of the environment.
    Variable {
        /// Its name.
        name: String,
        /// The origin (scheme, host and port) that receives it.
        to: String,
    },
    /// Putting a variable of the environment into what is kept, printed or quoted.
    Keep {
        /// Its name.
        name: String,
    },
    /// Connecting to an address that is private or link-local.
    Address {
        /// The origin, as granted.
        origin: String,
    },
    /// Letting code of the config send requests from the sandbox.
    Requests {
        /// The language of the code.
        code: String,
        /// The origin, as granted; it may be a pattern.
        to: String,
    },
    /// Believing that a server is who it says, though no authority of the system's does.
    Certificates {
        /// The origin, as granted.
        to: String,
        /// The digest of the config's own certificates; `None`: whatever it shows.
        sha256: Option<String>,
    },
    /// Using a component that somebody else built.
    Component {
        /// What the config calls it.
        alias: String,
        /// Its file; empty in what was remembered before it was said.
        #[serde(default)]
        source: PathBuf,
        /// Which component: the digest of its bytes.
        sha256: String,
        /// What it is granted.
        grants: Permissions,
        /// Where the config allows it more than components have, or says something else of its own.
        #[serde(default, rename = "raised", skip_serializing_if = "Terms::is_nothing")]
        terms: Terms,
    },
    /// A provider or judge that a row brings instead of naming one of the config's.
    Provider {
        /// Its id.
        id: String,
        /// What it is asked for. What was remembered before it was said is for cases.
        #[serde(default)]
        role: Role,
        /// Its config in short, addresses first; may be empty.
        config: String,
        /// The digest of everything that the row says of it.
        sha256: String,
    },
    /// An option of a row that says more of its request than what is asked of the model.
    RequestOption {
        /// Its name.
        name: String,
        /// What the row says, as JSON.
        value: String,
    },
    /// Letting a hook that was given rows change the config: what it makes may be a row's words.
    Change {
        /// The config's key.
        key: String,
    },
    /// Running a program of the person's machine, outside the sandbox.
    Program {
        /// The command, as a person would type it.
        command: String,
        /// The folder that it runs in, whose code it runs; an absolute path.
        folder: PathBuf,
        /// The variables of the environment that it is given; `*` for all.
        variables: BTreeSet<String>,
    },
    /// A file of code that a row names.
    Code {
        /// Its absolute path, links resolved.
        path: PathBuf,
    },
}

/// The name that stands for all variables of the environment, where a text chooses among them.
pub(crate) const ANY_VARIABLE: &str = "*";

/// The assertion whose value is an address, and what a row's own one is called as a
/// [`TrustSubject::RequestOption`].
pub const WEBHOOK: &str = "webhook";

/// On what terms a config uses a component. Another word on any of them asks anew: who agreed to a component that
/// spends a cent did not agree to one that spends a fortune, or that is suddenly called like another's assertion.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// Mebibytes of memory for each call, where that is more than each component may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Milliseconds of processor time for each call, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Requests in a run at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Tokens in a run at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What it may spend in a run, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// Its types and prefixes that the config calls otherwise: its own name and that one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed: BTreeMap<String, String>,
}

impl Terms {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a provider that a row brings is asked for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Answers to cases.
    #[default]
    Case,
    /// Grades of answers, which it gets to see.
    Judge,
}

#[cfg(test)]
mod tests;
