//! What binding a use of a plugin needs, whoever it is bound to, and what comes of it.
//!
//! What a config grants and what a variable holds is read here in one way for all: `credentials` and `google` find
//! secrets, `foreign` and `binding` grant.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use data_encoding::HEXLOWER;
use runner_config::plan::{EnvRead, Position, Provider};
use runner_config::{Permissions, Prices, TextOrigin as Author};
use runner_gateway::{Grants, OriginPattern, Scheme, Secret};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::bind_error::{BindError, place};
use super::bounds::AllLanes;
use super::budgets::Budgets;
use super::set::PluginSet;
use super::ways::{AddressSource, Noted, ReachableOrigin};
use crate::programs::Programs;
use crate::trust::Agreements;

/// Binds the plan's names to components.
pub(crate) struct Binder<'a> {
    pub(crate) set: &'a PluginSet,
    /// The process's environment and `--env-file`.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// The config's `env`, which wins over it.
    pub(crate) config_env: &'a Map<String, Value>,
    /// Which variables of the process's environment the config's were made of.
    pub(crate) env_sources: &'a BTreeMap<String, BTreeSet<String>>,
    /// Values of variables that were filled into providers.
    pub(crate) filled_in: BTreeSet<&'a str>,
    /// The run's `delay`.
    pub(crate) delay: Option<Duration>,
    /// What holds for all lanes.
    pub(crate) lanes: AllLanes,
    /// Nothing will be sent, so that a credential needs no value.
    pub(crate) offline: bool,
    pub(crate) budgets: &'a Budgets,
    pub(crate) prices: &'a Prices,
    /// What runs outside the sandbox.
    pub(crate) programs: &'a Programs,
    pub(crate) agreements: &'a Agreements,
    /// What binding finds out about agreements that are needed.
    pub(crate) noted: Noted,
}

/// What one use of a plugin may do.
pub(super) struct Bound {
    pub(super) grants: Grants,
    pub(super) digest: String,
    pub(super) llm: Vec<String>,
    /// Whether it is agreed to that it sees what it is configured with: what it says of that would
    /// tell it.
    pub(super) may_see_config: bool,
}

/// A variable that was found.
pub(super) struct Found {
    pub(super) value: String,
    /// The variables of the process's environment that it was made of, as far as the provider
    /// does not say so itself.
    pub(super) takes: Vec<String>,
}

impl Binder<'_> {
    /// A variable: the provider's own `env`, the config's, the process's.
    pub(super) fn variable(&self, provider: &Provider, name: &str) -> Option<Found> {
        let written =
            |map: &Map<String, Value>| map.get(name).and_then(Value::as_str).map(str::to_owned);
        let (value, takes) = if let Some(value) = written(&provider.env) {
            (value, Vec::new())
        } else if let Some(value) = written(self.config_env) {
            let sources = self.env_sources.get(name).into_iter().flatten();
            (value, sources.cloned().collect())
        } else {
            (self.env.get(name)?.clone(), vec![name.to_owned()])
        };
        if value.is_empty() {
            return None;
        }
        Some(Found { value, takes })
    }

    /// Notes what a config lets a plugin reach.
    pub(super) fn granted_ways(&self, hosts: &[OriginPattern], at: &Position, takes: &[EnvRead]) {
        for to in hosts {
            self.noted.way(ReachableOrigin {
                to: to.clone(),
                named: AddressSource::Text,
                author: Author::Config,
                at: at.clone(),
                own: BTreeSet::new(),
                takes: takes.to_vec(),
                named_by: takes.to_vec(),
            });
        }
    }
}

/// Variables that are taken at a place.
pub(super) fn reads(names: Vec<String>, at: &Position) -> impl Iterator<Item = EnvRead> {
    names.into_iter().map(|name| EnvRead {
        name,
        at: at.clone(),
    })
}

/// Reads origins, each of which stands `at` its place.
pub(super) fn patterns<'p>(
    hosts: &[String],
    at: impl Fn(usize) -> &'p Position,
) -> Result<Vec<OriginPattern>, BindError> {
    let parse = |(index, host): (usize, &String)| {
        OriginPattern::parse(host).map_err(|error| BindError::Config {
            at: place(at(index)),
            problem: error.to_string(),
        })
    };
    hosts.iter().enumerate().map(parse).collect()
}

pub(super) fn scheme(text: &str, at: &Position) -> Result<Scheme, BindError> {
    Scheme::parse(text).map_err(|error| BindError::Config {
        at: place(at),
        problem: error.to_string(),
    })
}

/// A value as a secret, or what is wrong with it.
pub(super) fn secret(value: String, env: &str) -> Result<Secret, String> {
    Secret::credential(value).map_err(|why| format!("the value for {env} {why}"))
}

pub(super) fn digest(granted: &Value) -> String {
    HEXLOWER.encode(&Sha256::digest(granted.to_string()))
}

/// What is granted, as the digest covers it.
pub(super) fn granted_json(granted: &Permissions) -> Value {
    let credentials: Map<String, Value> = granted
        .credentials
        .iter()
        .map(|(name, grant)| {
            (
                name.clone(),
                json!({ "env": grant.env, "scheme": grant.scheme, "hosts": grant.hosts }),
            )
        })
        .collect();
    let mut json =
        json!({ "hosts": granted.hosts, "credentials": credentials, "llm": granted.llm });
    if !granted.llm_providers.is_empty() {
        json["llmProviders"] = json!(granted.llm_providers);
    }
    if granted.wasi_http {
        json["wasiHttp"] = Value::Bool(true);
    }
    json
}

/// Takes a secret out of the config. A key with a dot is a member of an object, in any case,
/// as names of headers are; there an empty text stays, so that the plugin sees that it was set.
pub(super) fn take(config: &mut Map<String, Value>, key: &str) -> Option<Value> {
    let Some((outer, inner)) = key.split_once('.') else {
        return config.remove(key);
    };
    let members = config.get_mut(outer)?.as_object_mut()?;
    let member = members
        .iter_mut()
        .find(|(name, _)| name.eq_ignore_ascii_case(inner));
    let (_, value) = member?;
    Some(std::mem::replace(value, Value::String(String::new())))
}
