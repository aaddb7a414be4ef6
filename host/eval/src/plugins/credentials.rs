//! Where the value of a credential is found: in the config, or in a variable. Keys of clouds, which
//! are more than a value, are read in `aws` and `google`.

use runner_config::plan::Provider;
use runner_gateway::{Credential, OriginPattern, Scheme, Secret};
use runner_sandbox::abi::CredentialWant;
use serde_json::{Map, Value};

use super::aws;
use super::bind_error::{BindError, place};
use super::binder::{Binder, scheme, secret, take};
use super::said::said;

impl Binder<'_> {
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
