//! What the host alone holds of a config: certificates and what signs, of `http`, and the values of variables in
//! headers.

use std::collections::{BTreeMap, BTreeSet};

use runner_config::plan::Provider;
use runner_gateway::{
    Certificates, Credential, Grants, HeaderSecrets, OriginPattern, RequestSigner,
};
use serde_json::{Map, Value, json};

use super::bind_error::{BindError, place_of};
use super::binder::digest;
use super::{certificates, signature_auth};
use crate::trust::Need;

/// Certificates and signer of one provider.
pub(super) struct HeldKeys {
    certificates: Option<Certificates>,
    signer: Option<RequestSigner>,
}

/// Takes out of the headers of a config what variables were filled into them. What the guest gets stands for that.
pub(super) fn header_secrets(
    provider: &Provider,
    config: &mut Map<String, Value>,
    filled_in: &BTreeSet<&str>,
) -> Result<HeaderSecrets, BindError> {
    let Some(Value::Object(headers)) = config.get_mut("headers") else {
        return Ok(HeaderSecrets::default());
    };
    let within = |text: &str| {
        let found = filled_in.iter().filter(|value| text.contains(**value));
        found.copied().collect::<Vec<_>>()
    };
    let values: BTreeSet<&str> = headers
        .values()
        .filter_map(Value::as_str)
        .flat_map(within)
        .collect();
    let secrets = HeaderSecrets::of(values).ok_or_else(|| BindError::Config {
        at: place_of(provider, "/headers"),
        problem: "the system gives no random numbers, without which no key is put into a request"
            .to_owned(),
    })?;
    for (name, value) in headers {
        // The plugin reads it, and the person agreed to that.
        if let Value::String(text) = value
            && !name.eq_ignore_ascii_case("content-type")
        {
            *text = secrets.hidden(text);
        }
    }
    Ok(secrets)
}

impl HeldKeys {
    /// Takes them out of a config. Of a plugin that knows none (`is_http` is false) they are refused: it would send
    /// them on as options of its API.
    pub(super) fn take(
        provider: &Provider,
        config: &mut Map<String, Value>,
        is_http: bool,
    ) -> Result<Self, BindError> {
        let keys = [certificates::KEY, signature_auth::KEY];
        let mut there = keys.into_iter().filter(|key| config.contains_key(*key));
        if let Some(key) = there.next().filter(|_| !is_http) {
            return Err(BindError::Config {
                at: place_of(provider, &format!("/{key}")),
                problem: format!("`{key}` is a key of the provider `http` alone"),
            });
        }
        Ok(Self {
            certificates: certificates::take(provider, config)?,
            signer: signature_auth::take(provider, config)?,
        })
    }

    /// Stands for what a provider is granted, with what of it says whom its requests believe.
    pub(super) fn digest_of(
        &self,
        hosts: &[OriginPattern],
        credentials: &BTreeMap<String, Credential>,
    ) -> String {
        let mut granted = json!({
            "hosts": hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "credentials": credentials.keys().collect::<Vec<_>>(),
        });
        if let Some(certificates) = &self.certificates {
            granted["certificates"] = certificates.digest().into();
        }
        digest(&granted)
    }

    /// What they need of the person for requests to `hosts`.
    pub(super) fn needs(&self, provider: &Provider, hosts: &[OriginPattern]) -> Vec<Need> {
        let certificates = self.certificates.iter();
        let needs = certificates.flat_map(|it| certificates::needs(it, provider, hosts));
        needs.collect()
    }

    /// These grants, of requests that they go with.
    pub(super) fn with(self, mut grants: Grants) -> Grants {
        if let Some(certificates) = self.certificates {
            grants = grants.with_certificates(certificates);
        }
        match self.signer {
            Some(signer) => grants.with_signer(signer),
            None => grants,
        }
    }
}
