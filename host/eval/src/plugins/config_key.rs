//! A key of a provider's config that the host reads itself, and of which the guest learns little.

use std::fmt::Display;

use runner_config::plan::Provider;
use serde_json::{Map, Value};

use super::bind_error::{BindError, place_of};

/// Such a key, with its members as they are written.
pub(super) struct ConfigKey<'a> {
    provider: &'a Provider,
    name: &'static str,
    pub(super) members: Map<String, Value>,
}

impl<'a> ConfigKey<'a> {
    /// Takes it out of a config, if it is there.
    pub(super) fn take(
        provider: &'a Provider,
        config: &mut Map<String, Value>,
        name: &'static str,
    ) -> Result<Option<Self>, BindError> {
        let mut key = Self {
            provider,
            name,
            members: Map::new(),
        };
        match config.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(members)) => key.members = members,
            Some(_) => return Err(key.problem("", "must be a map")),
        }
        Ok(Some(key))
    }

    /// Complains of a member that can't be honoured, with what to do instead.
    pub(super) fn refuse(&self, members: &[(&str, &str)]) -> Result<(), BindError> {
        let mut there = members
            .iter()
            .filter(|(member, _)| self.members.contains_key(*member));
        there
            .next()
            .map_or(Ok(()), |(member, why)| Err(self.problem(member, why)))
    }

    /// What is wrong with a member, at its place; with the key itself where `member` is empty.
    pub(super) fn problem(&self, member: &str, problem: impl Display) -> BindError {
        let (pointer, named) = match member {
            "" => (format!("/{}", self.name), self.name.to_owned()),
            member => (
                format!("/{}/{member}", self.name),
                format!("{}.{member}", self.name),
            ),
        };
        BindError::Config {
            at: place_of(self.provider, &pointer),
            problem: format!("`{named}` {problem}"),
        }
    }
}
