//! What a plugin may do for one provider or assertion type: asked ∩ granted.
//!
//! Made once per provider and type, before anything is spent. A bundled plugin is granted what
//! it asks for: its stated origins, or the one that the user configured as its base address. A
//! foreign one gets what its entry under `plugins:` says; if it asks for more, the run is
//! refused with the YAML that would allow it, and nothing has happened yet.
//!
//! Secrets are taken out of the config and the environment here. The guest gets the config
//! without them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{Position, Provider, ProviderCode};
use runner_config::{Permissions, PluginEntry, Prices};
use runner_sandbox::CallLimits;
use runner_sandbox::abi::{self, CredentialWant, Inputs, Wants};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::bind_error::{BindError, place};
use super::bounds::{call_limits, scheduling};
use super::extras::{Extras, WITHOUT, take, without};
use super::{Budgets, LoadedPlugin, PluginSet, Trust};
use crate::gateway::{
    Bill, Credential, Grants, Origin, OriginPattern, Price, Scheduling, Scheme, Secret,
};
use crate::identity::hex;
use crate::script::exchange;

/// A provider of the config, ready to be called.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) plugin: Arc<LoadedPlugin>,
    pub(crate) abi: abi::Target,
    pub(crate) grants: Arc<Grants>,
    pub(crate) grants_digest: String,
    pub(crate) limits: CallLimits,
    pub(crate) scheduling: Arc<Scheduling>,
    /// Code that the host runs around its calls.
    pub(crate) code: ProviderCode,
    /// Whether it takes the case's variables, for templates in its config.
    pub(crate) reads_vars: bool,
    /// Whether its check of the config reads the id, too.
    pub(crate) checks_itself: bool,
    /// `delay` of the provider or the run.
    pub(crate) delay: Option<Duration>,
    pub(crate) price: Option<Price>,
    /// Whose budgets pay, if any.
    pub(crate) bill: Option<Bill>,
}

/// An assertion type of the plan, ready to be called.
#[derive(Debug)]
pub(crate) struct Grader {
    pub(crate) plugin: Arc<LoadedPlugin>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) limits: CallLimits,
    pub(crate) scheduling: Arc<Scheduling>,
    /// What it reads of an input beyond output and value.
    pub(crate) reads: Inputs,
    /// Targets that it may ask.
    pub(crate) llm: Vec<String>,
    /// Whose budgets pay, if any.
    pub(crate) bill: Option<Bill>,
}

/// Binds the plan's names to components.
pub(crate) struct Binder<'a> {
    pub(crate) set: &'a PluginSet,
    /// The process's environment and `--env-file`.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// The config's `env`, which wins over it.
    pub(crate) config_env: &'a Map<String, Value>,
    /// The run's `delay`.
    pub(crate) delay: Option<Duration>,
    /// The run's `adaptive`.
    pub(crate) adaptive: bool,
    /// Nothing will be sent, so that a credential needs no value.
    pub(crate) offline: bool,
    pub(crate) budgets: &'a Budgets,
    pub(crate) prices: &'a Prices,
}

/// What one use of a plugin may do.
struct Bound {
    grants: Grants,
    digest: String,
    llm: Vec<String>,
}

impl Binder<'_> {
    /// Binds a provider.
    ///
    /// # Panics
    /// If no plugin serves its prefix; the config was checked against the catalogue.
    pub(crate) fn target(&self, provider: &Provider) -> Result<Target, BindError> {
        let plugin = self
            .set
            .by_prefix(&provider.prefix)
            .expect("the plan names only prefixes that exist")
            .clone();
        let mut config = provider.config.clone();
        exchange::tell(&mut config, &provider.code);
        let extras = Extras::of(&plugin);
        let wants = &extras.wants_of(&provider.prefix, &plugin.component.info().wants);
        for setting in &wants.settings {
            if matches!(plugin.trust, Trust::Bundled)
                && !config.contains_key(&setting.config_key)
                && let Some(value) = self.variable(provider, &setting.env)
            {
                config.insert(setting.config_key.clone(), Value::String(value));
            }
        }
        // An id that is itself an address (`https://api.example.com/chat`) is the one meant.
        if let Some(key) = &wants.host_config_key
            && !config.contains_key(key)
            && (provider.id.starts_with("https://") || provider.id.starts_with("http://"))
        {
            config.insert(key.clone(), Value::String(provider.id.clone()));
        }
        let bound = match &plugin.trust {
            Trust::Bundled => self.bundled(&plugin, wants, provider, &mut config)?,
            Trust::Foreign(entry) => self.foreign(&plugin, entry.as_deref(), Some(provider))?,
        };
        let config = Value::Object(config);
        if let Some((pointer, message)) =
            plugin.component.validate_config(&config).into_iter().next()
        {
            return Err(BindError::of_config(&plugin, provider, &pointer, message));
        }
        let limits = call_limits(&plugin, CallLimits::provider());
        let price = Price::of(provider, self.prices);
        Ok(Target {
            bill: self.budgets.of_provider(provider, &plugin, price),
            price,
            abi: abi::Target {
                id: provider.id.clone(),
                name: provider.name.clone(),
                config_json: config.to_string(),
            },
            grants: Arc::new(bound.grants),
            grants_digest: bound.digest,
            limits,
            scheduling: Arc::new(scheduling(Some(provider), self.adaptive)),
            code: provider.code.clone(),
            reads_vars: extras.reads("vars"),
            checks_itself: extras.checks_target(),
            delay: provider.delay.or(self.delay),
            plugin,
        })
    }

    /// Binds an assertion type.
    ///
    /// # Panics
    /// If no plugin serves it; the config was checked against the catalogue.
    pub(crate) fn grader(&self, assertion_type: &str) -> Result<Grader, BindError> {
        let plugin = self
            .set
            .by_type(assertion_type)
            .expect("the plan names only types that exist")
            .clone();
        let served = plugin
            .component
            .info()
            .assertion_types
            .iter()
            .find(|served| served.name == assertion_type);
        let reads = served.expect("the set was made from this list").reads;
        let bound = match &plugin.trust {
            Trust::Bundled => self.bundled_grader(&plugin)?,
            Trust::Foreign(entry) => self.foreign(&plugin, entry.as_deref(), None)?,
        };
        let limits = call_limits(&plugin, CallLimits::assertion());
        Ok(Grader {
            bill: self.budgets.of_grader(&plugin),
            grants: Arc::new(bound.grants),
            limits,
            scheduling: Arc::new(scheduling(None, self.adaptive)),
            reads,
            llm: bound.llm,
            plugin,
        })
    }

    /// A grader of the bundle may ask the models that it wants, and reach what the config grants.
    fn bundled_grader(&self, plugin: &LoadedPlugin) -> Result<Bound, BindError> {
        let entry = self.set.granted(&plugin.alias);
        let hosts = match entry {
            Some(entry) => patterns(&entry.permissions.hosts, &entry.at)?,
            None => Vec::new(),
        };
        let granted = entry.map(|entry| granted_json(&entry.permissions));
        let asks = plugin.component.info().wants.llm.iter();
        Ok(Bound {
            grants: Grants::new(plugin.alias.clone(), hosts, BTreeMap::new()),
            digest: digest(&granted.unwrap_or_else(|| json!({}))),
            llm: asks.map(|(alias, _)| alias.clone()).collect(),
        })
    }

    /// A variable: the provider's own `env`, the config's, the process's.
    fn variable(&self, provider: &Provider, name: &str) -> Option<String> {
        let written =
            |map: &Map<String, Value>| map.get(name).and_then(Value::as_str).map(str::to_owned);
        written(&provider.env)
            .or_else(|| written(self.config_env))
            .or_else(|| self.env.get(name).cloned())
            .filter(|value| !value.is_empty())
    }

    fn bundled(
        &self,
        plugin: &LoadedPlugin,
        wants: &Wants,
        provider: &Provider,
        config: &mut Map<String, Value>,
    ) -> Result<Bound, BindError> {
        let configured = wants
            .host_config_key
            .as_ref()
            .and_then(|key| Some((key, config.get(key)?)));
        let hosts = match configured {
            Some((key, address)) => vec![configured_origin(provider, key, address)?],
            None => patterns(&wants.hosts, &provider.at)?,
        };
        let mut credentials = BTreeMap::new();
        let keyless = config.get("apiKeyRequired") == Some(&Value::Bool(false));
        let extras = Extras::of(plugin);
        config.remove(WITHOUT);
        for want in &wants.credentials {
            let if_set = extras.if_set(&want.name);
            let needed = !keyless && !if_set && !extras.can_do_without(&want.name);
            let envs: Vec<&str> = [want.env.as_str()]
                .into_iter()
                .chain(extras.further_envs(&want.name))
                .collect();
            let credential =
                self.wanted_credential(provider, want, &envs, config, &hosts, needed)?;
            if if_set && credential.secret.is_none() {
                without(config, &want.name);
            }
            credentials.insert(want.name.clone(), credential);
        }
        let digest = digest(&json!({
            "hosts": hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "credentials": credentials.keys().collect::<Vec<_>>(),
        }));
        Ok(Bound {
            grants: Grants::new(plugin.alias.clone(), hosts, credentials),
            digest,
            llm: Vec::new(),
        })
    }

    fn wanted_credential(
        &self,
        provider: &Provider,
        want: &CredentialWant,
        envs: &[&str],
        config: &mut Map<String, Value>,
        hosts: &[OriginPattern],
        needed: bool,
    ) -> Result<Credential, BindError> {
        let named = want.env_config_key.as_ref();
        let named = named.and_then(|key| config.get(key)?.as_str());
        let mut envs = named
            .as_ref()
            .map_or(envs, std::slice::from_ref)
            .iter()
            .copied();
        // The first that is set; messages name the first.
        let first = envs.clone().next().unwrap_or(&want.env);
        let is_set = |env: &&str| self.variable(provider, env).is_some();
        let env = envs.find(is_set).unwrap_or(first).to_owned();
        let written = want
            .value_config_key
            .as_ref()
            .and_then(|key| take(config, key));
        let value = match written {
            Some(Value::String(value)) if !value.is_empty() => Some(value),
            _ => self.variable(provider, &env),
        };
        if value.is_none() && !needed {
            // A request that names it after all is refused by the gateway.
            return Ok(Credential {
                scheme: scheme(&want.scheme, &provider.at)?,
                secret: None,
                env,
                hosts: hosts.to_vec(),
            });
        }
        let Some(value) = value.or_else(|| self.offline.then(String::new)) else {
            let elsewhere = match &want.env_config_key {
                Some(key) => {
                    format!(", or name another variable in the provider's config ({key}: …)")
                }
                None => String::new(),
            };
            let (at, provider) = (place(&provider.at), format!("provider '{}'", provider.id));
            return Err(BindError::NoSecret {
                at,
                provider,
                env,
                elsewhere,
            });
        };
        Ok(Credential {
            scheme: scheme(&want.scheme, &provider.at)?,
            secret: Some(Secret::new(value)),
            env,
            hosts: hosts.to_vec(),
        })
    }

    fn foreign(
        &self,
        plugin: &LoadedPlugin,
        entry: Option<&PluginEntry>,
        provider: Option<&Provider>,
    ) -> Result<Bound, BindError> {
        let none = Permissions::default();
        let granted = entry.map_or(&none, |entry| &entry.permissions);
        if let Some(error) = missing(plugin, granted) {
            return Err(error);
        }
        let at = entry.map_or_else(Position::default, |entry| entry.at.clone());
        let hosts = patterns(&granted.hosts, &at)?;
        let mut credentials = BTreeMap::new();
        for (name, grant) in &granted.credentials {
            let value = provider
                .and_then(|provider| self.variable(provider, &grant.env))
                .or_else(|| self.env.get(&grant.env).cloned())
                .filter(|value| !value.is_empty());
            let Some(value) = value.or_else(|| self.offline.then(String::new)) else {
                let provider = format!("credential '{name}' of plugin '{}'", plugin.alias);
                let (env, elsewhere) = (grant.env.clone(), String::new());
                return Err(BindError::NoSecret {
                    at: place(&at),
                    provider,
                    env,
                    elsewhere,
                });
            };
            let credential = Credential {
                scheme: scheme(&grant.scheme, &at)?,
                secret: Some(Secret::new(value)),
                env: grant.env.clone(),
                hosts: patterns(&grant.hosts, &at)?,
            };
            credentials.insert(name.clone(), credential);
        }
        let digest = digest(&granted_json(granted));
        let llm = granted.llm.clone();
        Ok(Bound {
            grants: Grants::new(plugin.alias.clone(), hosts, credentials),
            digest,
            llm,
        })
    }
}

/// What the plugin wants and the user did not grant.
fn missing(plugin: &LoadedPlugin, granted: &Permissions) -> Option<BindError> {
    let wants = &plugin.component.info().wants;
    let mut missing = Vec::new();
    let mut wide = granted.clone();
    for host in &wants.hosts {
        if !granted.hosts.contains(host) {
            missing.push(format!("the address {host}"));
            wide.hosts.push(host.clone());
        }
    }
    for want in &wants.credentials {
        if !granted.credentials.contains_key(&want.name) {
            missing.push(format!("the credential '{}' ({})", want.name, want.reason));
            let grant = runner_config::CredentialGrant {
                env: want.env.clone(),
                scheme: want.scheme.clone(),
                hosts: wants.hosts.clone(),
            };
            wide.credentials.insert(want.name.clone(), grant);
        }
    }
    for (alias, reason) in &wants.llm {
        if !granted.llm.contains(alias) {
            missing.push(format!("to ask the provider '{alias}' ({reason})"));
            wide.llm.push(alias.clone());
        }
    }
    (!missing.is_empty()).then(|| BindError::NotGranted {
        plugin: plugin.named(),
        missing: missing.join(", "),
        yaml: entry_yaml(plugin, &wide),
    })
}

/// The entry under `plugins:` that grants `permissions`. Every key and value is quoted as JSON,
/// which YAML reads as it is.
fn entry_yaml(plugin: &LoadedPlugin, permissions: &Permissions) -> String {
    use std::fmt::Write as _;
    let quoted = |text: &str| Value::from(text).to_string();
    let mut yaml = format!(
        "plugins:\n  {}:\n    source: {}\n    permissions:\n",
        quoted(&plugin.alias),
        quoted(&plugin.component.path().display().to_string())
    );
    let list = |items: &[String]| Value::from(items.to_vec()).to_string();
    if !permissions.hosts.is_empty() {
        writeln!(yaml, "      hosts: {}", list(&permissions.hosts))
            .expect("a string takes everything");
    }
    if !permissions.credentials.is_empty() {
        yaml.push_str("      credentials:\n");
        for (name, grant) in &permissions.credentials {
            writeln!(
                yaml,
                "        {}: {{ env: {}, scheme: {}, hosts: {} }}",
                quoted(name),
                quoted(&grant.env),
                quoted(&grant.scheme),
                list(&grant.hosts)
            )
            .expect("a string takes everything");
        }
    }
    if !permissions.llm.is_empty() {
        writeln!(yaml, "      llm: {}", list(&permissions.llm)).expect("a string takes everything");
    }
    yaml.trim_end().to_owned()
}

fn granted_json(granted: &Permissions) -> Value {
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
    json!({ "hosts": granted.hosts, "credentials": credentials, "llm": granted.llm })
}

fn digest(granted: &Value) -> String {
    hex(&Sha256::digest(granted.to_string()))
}

/// The origin of an address that the user configured: granted because the user wrote it.
fn configured_origin(
    provider: &Provider,
    key: &str,
    address: &Value,
) -> Result<OriginPattern, BindError> {
    let origin = address
        .as_str()
        .and_then(|address| Origin::of(&Url::parse(address).ok()?));
    origin
        .map(OriginPattern::exactly)
        .ok_or_else(|| BindError::Config {
            at: place(&provider.at),
            problem: format!(
                "config.{key} must be a URL such as https://api.example.com/v1, not {address}"
            ),
        })
}

fn patterns(hosts: &[String], at: &Position) -> Result<Vec<OriginPattern>, BindError> {
    let parse = |host: &String| {
        OriginPattern::parse(host).map_err(|error| BindError::Config {
            at: place(at),
            problem: error.to_string(),
        })
    };
    hosts.iter().map(parse).collect()
}

fn scheme(text: &str, at: &Position) -> Result<Scheme, BindError> {
    Scheme::parse(text).map_err(|error| BindError::Config {
        at: place(at),
        problem: error.to_string(),
    })
}
