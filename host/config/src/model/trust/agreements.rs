//! What the person agreed to, and whether that covers a request.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Position, TextOrigin, TrustRequest, TrustSubject};

/// Whose texts a person agrees to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The config's, and components that a flag names.
    Config,
    /// Those of this data file; its absolute path, links resolved.
    Data(PathBuf),
}

/// Something that was agreed to: exactly this, when this kind of text wants it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustAgreement {
    /// Whose text wants it.
    pub author: Author,
    /// What.
    pub subject: TrustSubject,
}

/// How much is trusted unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Nothing.
    #[default]
    Nothing,
    /// What the config says.
    Config,
    /// What the config and its data say.
    Data,
}

/// What the person agrees to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agreements {
    /// What is trusted unseen. It never grants a component what nobody has written down.
    pub level: Level,
    /// What was agreed to one by one.
    pub agreed: BTreeSet<TrustAgreement>,
}

impl TrustRequest {
    /// That the value of a variable, which a text of the config's takes in, may stand in what is kept.
    pub fn keep(name: &str, at: &Position) -> Self {
        Self {
            subject: TrustSubject::Keep {
                name: name.to_owned(),
            },
            origin: TextOrigin::Config,
            at: at.clone(),
        }
    }

    /// What agreeing to it means.
    pub fn agreed(&self) -> TrustAgreement {
        TrustAgreement {
            author: match &self.origin {
                TextOrigin::Person | TextOrigin::Config | TextOrigin::Vouched => Author::Config,
                TextOrigin::Data(file) => Author::Data(file.real.clone()),
            },
            subject: self.subject.clone(),
        }
    }
}

impl Agreements {
    /// Whether a request is agreed to, by name or unseen.
    pub fn cover(&self, request: &TrustRequest) -> bool {
        let is_trusted_unseen = match request.origin {
            TextOrigin::Person => true,
            TextOrigin::Config | TextOrigin::Vouched => self.level >= Level::Config,
            TextOrigin::Data(_) => self.level >= Level::Data,
        };
        is_trusted_unseen || self.name(request)
    }

    /// Whether exactly this was agreed to.
    pub fn name(&self, request: &TrustRequest) -> bool {
        self.agreed.contains(&request.agreed())
    }
}
