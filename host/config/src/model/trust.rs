//! Who wrote a text, and what it needs the person's agreement for.
//!
//! Every text that is read has an [`Origin`], and its rights follow from that alone. What a text
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

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Permissions, Position};

mod agreements;

pub use agreements::{Agreed, Agreements, Author, Level};

/// Who wrote a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// The person who runs the program: flags, their environment, their answer to a question. It
    /// may do anything.
    Person,
    /// The config: the file named by `-c`, YAML that it names, its `env`, its prompt files.
    #[default]
    Config,
    /// A data file, or the code that made the data: it gives values, and chooses among what the
    /// config declares.
    Data(Arc<DataFile>),
}

/// Where data comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataFile {
    /// The path that messages call it.
    pub shown: PathBuf,
    /// Its absolute path, links resolved where it exists.
    pub real: PathBuf,
}

impl Origin {
    /// The rights of the data file that messages call `shown`.
    pub fn data(shown: &Path, real: PathBuf) -> Self {
        let shown = shown.to_owned();
        Self::Data(Arc::new(DataFile { shown, real }))
    }

    /// Whether it gives values only.
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Data(_))
    }
}

/// Something that a text needs beyond the rights of its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequest {
    /// What it needs.
    pub subject: TrustSubject,
    /// Who wrote the text.
    pub origin: Origin,
    /// Where the text stands.
    pub at: Position,
}

/// What the person may agree to, exactly: a request that differs in anything is a new one. The
/// serialised form is what is remembered.
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
    /// A file of code that a row names.
    Code {
        /// Its absolute path, links resolved.
        path: PathBuf,
    },
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

/// What the person agrees to, in words that end a sentence: "may …".
impl fmt::Display for TrustSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path } => write!(f, "read the file {}", path.display()),
            Self::Match { pattern } => {
                write!(f, "find out which files match {}", pattern.display())
            }
            Self::Write { path } => {
                write!(f, "write the file {}{}", path.display(), tilde(path))
            }
            Self::Variable { name, to } => {
                let network = network(to).unwrap_or_default();
                write!(f, "send the environment variable {name} to {to}{network}")
            }
            Self::Keep { name } => {
                write!(
                    f,
                    "let the value of the environment variable {name} appear in results and files"
                )
            }
            Self::Address { origin } => {
                // No name leads to a link-local address.
                write!(f, "connect to {origin}{}", network(origin).unwrap_or(OWN))
            }
            Self::Component {
                alias,
                source,
                sha256,
                grants,
            } => component(f, alias, source, sha256, grants),
            Self::Provider {
                id,
                role,
                config,
                sha256,
            } => {
                let sha256 = sha256.get(..12).unwrap_or(sha256);
                let end = if config.is_empty() { "" } else { "; " };
                let whom = format!("the provider '{id}'");
                let what = match role {
                    Role::Case => format!("ask {whom}"),
                    Role::Judge => format!("let {whom} grade answers"),
                };
                write!(f, "{what} ({config}{end}sha256 {sha256}…)")
            }
            Self::RequestOption { name, value } => {
                write!(f, "set `{name}` of its request to {value}")
            }
            Self::Change { key } => {
                write!(
                    f,
                    "let a hook that was given rows change `{key}` of the config"
                )
            }
            Self::Code { path } => write!(f, "run the code of {} in the sandbox", path.display()),
        }
    }
}

/// Said of an address of a private network.
const OWN: &str = " (this machine's network)";
/// Said of a link-local address.
const LINK_LOCAL: &str = " (link-local: a cloud's metadata service)";

/// What is to be said of an origin that is written as a number; nothing of a public one.
fn network(origin: &str) -> Option<&'static str> {
    let (_, host) = origin.split_once("://")?;
    let number = match host.strip_prefix('[') {
        Some(number) => number.split(']').next()?,
        None => host.split(':').next()?,
    };
    let (is_link_local, is_private) = match number.parse::<IpAddr>().ok()?.to_canonical() {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.is_private()),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.is_unique_local()),
    };
    is_link_local
        .then_some(LINK_LOCAL)
        .or(is_private.then_some(OWN))
}

/// What is to be said of a path that a shell would have led home.
fn tilde(path: &Path) -> &'static str {
    if path.iter().any(|name| name == "~") {
        " (`~` is not the home folder here)"
    } else {
        ""
    }
}

/// A component of somebody else's, with all that it may.
fn component(
    f: &mut fmt::Formatter<'_>,
    alias: &str,
    source: &Path,
    sha256: &str,
    grants: &Permissions,
) -> fmt::Result {
    let sha256 = sha256.get(..12).unwrap_or(sha256);
    let source = source.display().to_string();
    let end = if source.is_empty() { "" } else { ", " };
    write!(
        f,
        "use the component '{alias}' ({source}{end}sha256 {sha256}…)"
    )?;
    granted(grants, f)
}

/// What comes with a component.
fn granted(grants: &Permissions, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut abilities = Vec::new();
    if !grants.hosts.is_empty() {
        abilities.push(format!("reach {}", grants.hosts.join(", ")));
    }
    for grant in grants.credentials.values() {
        let hosts = grant.hosts.join(", ");
        abilities.push(format!(
            "send the environment variable {} to {hosts}",
            grant.env
        ));
    }
    if !grants.llm.is_empty() {
        abilities.push(format!("ask the providers {}", grants.llm.join(", ")));
    }
    if abilities.is_empty() {
        return f.write_str(", no network, no keys");
    }
    write!(f, ", which may {}", abilities.join("; "))
}

#[cfg(test)]
mod tests;
