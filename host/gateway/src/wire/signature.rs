//! How a credential gets into a request, at the moment of sending.
//!
//! It is put in anew for each attempt and for each hop of a redirect: a signature holds for one
//! request at one time. Lanes, caches and recordings know a credential by its fingerprint, never by
//! what it becomes here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use reqwest::header::{HeaderName, HeaderValue};

use crate::policy::aws::{AddressOwner, Scope, whose};
use crate::policy::grants::{Credential, Refusal};
use crate::policy::origin::Origin;
use crate::policy::secret::{Fingerprint, Scheme, Secret};
use crate::wire::draft::Draft;
use crate::wire::fault::WireFault;
use crate::wire::sigv4;
use crate::wire::tokens::TokenKey;

/// The header that says whose quota a request of Google's counts against.
const PAYER: HeaderName = HeaderName::from_static("x-goog-user-project");

/// A credential ready to be put into requests to its origin.
#[derive(Debug)]
pub(crate) struct Signature {
    scheme: Scheme,
    secret: Secret,
    /// What a signature of AWS is for.
    scope: Option<Scope>,
}

impl Signature {
    /// The credential `name` of `plugin` for requests to `origin`.
    pub(crate) fn of(
        plugin: &str,
        name: &str,
        credential: &Credential,
        origin: &Origin,
    ) -> Result<Self, WireFault> {
        let env = &credential.env;
        let secret = credential
            .secret
            .as_ref()
            .filter(|secret| !secret.is_empty())
            .ok_or_else(|| WireFault::NoSecret {
                name: name.to_owned(),
                env: env.clone(),
            })?;
        let signature = Self {
            scheme: credential.scheme.clone(),
            secret: secret.clone(),
            scope: scope(plugin, name, &credential.scheme, origin)?,
        };
        let is_usable = match &signature.scheme {
            Scheme::AwsSigV4 { .. } => signature.secret.aws_key().is_some(),
            Scheme::GoogleAdc | Scheme::OAuth2 => signature.token_key().is_some(),
            Scheme::Query(_) => true,
            Scheme::Bearer | Scheme::Basic | Scheme::Header(_) => {
                signature.header(&signature.secret).is_some()
            }
        };
        if is_usable {
            return Ok(signature);
        }
        Err(WireFault::UnusableSecret {
            name: name.to_owned(),
            env: env.clone(),
        })
    }

    /// How it is sent.
    pub(crate) fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// What stands for it.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.secret.fingerprint()
    }

    /// The key that a token is asked for with, where one is needed.
    pub(crate) fn token_key(&self) -> Option<(&Secret, TokenKey)> {
        let key = match self.scheme {
            Scheme::GoogleAdc => TokenKey::Google(self.secret.google_key()?),
            Scheme::OAuth2 => TokenKey::OAuth(self.secret.token_client()?),
            _ => return None,
        };
        Some((&self.secret, key))
    }

    /// What is sent as a header: the secret, or the token that it gave.
    fn header(&self, secret: &Secret) -> Option<HeaderValue> {
        let secret = secret.reveal();
        let text = match &self.scheme {
            Scheme::Bearer | Scheme::GoogleAdc | Scheme::OAuth2 => format!("Bearer {secret}"),
            Scheme::Basic => format!("Basic {}", STANDARD.encode(secret)),
            Scheme::Header(_) => secret.to_owned(),
            Scheme::Query(_) | Scheme::AwsSigV4 { .. } => return None,
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Puts the credential into a request that is about to be sent to its origin; of one that gives
    /// tokens, `token`.
    pub(crate) fn sign(&self, draft: &mut Draft, now: Timestamp, token: Option<&Secret>) {
        if let Scheme::Query(parameter) = &self.scheme {
            // A redirect's target may carry the parameter already: it is replaced.
            let url = &mut draft.url;
            let kept: Vec<(String, String)> = url
                .query_pairs()
                .filter(|(name, _)| name != parameter)
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            if kept.len() < url.query_pairs().count() {
                url.query_pairs_mut().clear().extend_pairs(kept);
            }
            url.query_pairs_mut()
                .append_pair(parameter, self.secret.reveal());
        } else if let (Some(scope), Some(key)) = (&self.scope, self.secret.aws_key()) {
            sigv4::sign(&key, scope, now, draft);
        } else if let Some(name) = self.scheme.header()
            && let Some(value) = self.header(token.unwrap_or(&self.secret))
        {
            let name = HeaderName::from_bytes(name.as_bytes())
                .expect("a scheme's header name was checked when it was read");
            draft.headers.insert(name, value);
            if let Some(project) = self.payer() {
                draft.headers.entry(PAYER).or_insert(project);
            }
        }
    }

    /// Who pays for the requests of a person at Google.
    fn payer(&self) -> Option<HeaderValue> {
        let (_, TokenKey::Google(key)) = self.token_key()? else {
            return None;
        };
        HeaderValue::from_str(&key.quota_project_id?).ok()
    }
}

/// What a signature of AWS for `origin` is for. An address of AWS says it, and has to be one of the
/// scheme's service.
fn scope(
    plugin: &str,
    name: &str,
    scheme: &Scheme,
    origin: &Origin,
) -> Result<Option<Scope>, WireFault> {
    let Scheme::AwsSigV4 { service, region } = scheme else {
        return Ok(None);
    };
    match (whose(origin), region) {
        (AddressOwner::Service(scope), _) if scope.service == *service => Ok(Some(scope)),
        (AddressOwner::Service(_) | AddressOwner::Unknown, _) => Err(Refusal::Service {
            plugin: plugin.to_owned(),
            name: name.to_owned(),
            service: service.clone(),
            origin: origin.to_string(),
        }
        .into()),
        (AddressOwner::Elsewhere, Some(region)) => Ok(Some(Scope {
            service: service.clone(),
            region: region.clone(),
        })),
        (AddressOwner::Elsewhere, None) => Err(WireFault::Invalid(format!(
            "{origin} says no region of AWS to sign for with the credential '{name}'; name it, as \
             in `aws-sigv4:{service}:us-east-1`"
        ))),
    }
}
