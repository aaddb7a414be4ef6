//! Where the value of a credential is found: in the config, or in a variable. Keys of clouds, which
//! are more than a value, are read in `aws` and `google`.

use runner_config::plan::Provider;
use runner_gateway::{Credential, OriginPattern, Scheme, Secret};
use runner_sandbox::abi::{CredentialWant, Wants};
use serde_json::{Map, Value};

use super::aws;
use super::bind_error::{BindError, place};
use super::binding::{Binder, scheme, secret};
use super::foreign::said;

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

    /// A credential that a bundled plugin wants: what the config says, or the first of `envs` that is set;
    /// with the variables that it is made of.
    pub(super) fn wanted_credential(
        &self,
        provider: &Provider,
        want: &CredentialWant,
        envs: &[&str],
        config: &mut Map<String, Value>,
        hosts: &[OriginPattern],
        needed: bool,
    ) -> Result<(Credential, Vec<String>), BindError> {
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
        let scheme = aws::in_region(scheme(&want.scheme, &provider.at)?, config);
        let (value, takes) = match scheme {
            Scheme::AwsSigV4 { .. } => aws::found(&env, config, self.env, |name| {
                let found = self.variable(provider, name)?;
                Some((found.value, found.takes))
            }),
            Scheme::GoogleAdc => self.google_key(provider, want, &env, config),
            _ => {
                let (value, takes) = self.plain_value(provider, want, &env, config);
                (value.map(|value| secret(value, &env)), takes)
            }
        };
        let value = value.transpose().map_err(|problem| BindError::Config {
            at: place(&provider.at),
            problem,
        })?;
        let credential = |secret: Option<Secret>| Credential {
            scheme: scheme.clone(),
            secret,
            env: env.clone(),
            hosts: hosts.to_vec(),
        };
        if value.is_none() && !needed {
            // A request that names it after all is refused by the gateway.
            return Ok((credential(None), takes));
        }
        let nothing = || self.offline.then(|| Secret::new(""));
        let Some(value) = value.or_else(nothing) else {
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
                env: said(&env),
                elsewhere,
            });
        };
        Ok((credential(Some(value)), takes))
    }

    /// Takes the keys out of a config that a stranger's component sees: they are nothing for it, whoever
    /// they are granted to.
    pub(super) fn hide_keys(wants: &Wants, config: &mut Map<String, Value>) {
        let keys = wants.credentials.iter();
        for key in keys.filter_map(|want| want.value_config_key.as_ref()) {
            drop(take(config, key));
        }
    }

    /// The value itself: what the config says, or a variable.
    fn plain_value(
        &self,
        provider: &Provider,
        want: &CredentialWant,
        env: &str,
        config: &mut Map<String, Value>,
    ) -> (Option<String>, Vec<String>) {
        let key = want.value_config_key.as_ref();
        match key.and_then(|key| take(config, key)) {
            Some(Value::String(value)) if !value.is_empty() => (Some(value), Vec::new()),
            _ => match self.variable(provider, env) {
                Some(found) => (Some(found.value), found.takes),
                None => (None, Vec::new()),
            },
        }
    }
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
