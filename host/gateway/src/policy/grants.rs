//! What the user lets one plugin do on the network, and what a plugin that asks for more
//! is told.
//!
//! Pure matching, without I/O. Everything is denied that is not written down; a plugin's
//! own wishes never reach this file. A refusal names the origin it is about and the line
//! of YAML that would allow it, because a suggestion that can't be pasted is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use url::Url;

use crate::policy::address::AddressScope;
use crate::policy::certificates::Certificates;
use crate::policy::google::GoogleKey;
use crate::policy::header_secrets::HeaderSecrets;
use crate::policy::oauth::TokenClient;
use crate::policy::origin::{self, Naming, Origin, OriginPattern};
use crate::policy::secret::{Fingerprint, Scheme, Secret};
use crate::policy::signer::RequestSigner;

#[cfg(test)]
mod tests;

/// A secret that the host adds to a plugin's requests, and where it may go.
#[derive(Debug, Clone)]
pub struct Credential {
    /// How it is sent.
    pub scheme: Scheme,
    /// Its value; `None` when the place it comes from has none, which is an `auth` error
    /// once a request names the credential.
    pub secret: Option<Secret>,
    /// Where the value comes from, for messages: an environment variable's name.
    pub env: String,
    /// The origins that may see it.
    pub hosts: Vec<OriginPattern>,
}

/// The network grants of one plugin. Cheap to share behind an `Arc`.
#[derive(Debug, Clone)]
pub struct Grants {
    plugin: String,
    hosts: Vec<OriginPattern>,
    credentials: BTreeMap<String, Credential>,
    /// Whom its requests believe, where that is not as the system has it.
    certificates: Option<Arc<Certificates>>,
    /// What signs its requests besides, if anything does.
    signer: Option<Arc<RequestSigner>>,
    /// Variables that stand in headers of its config.
    header_secrets: HeaderSecrets,
    /// The plugin is somebody else's: what a server says to it is held against nobody but it.
    is_foreign: bool,
}

/// A capability that the plugin has not been given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The origin is not among the plugin's hosts.
    #[error(
        "plugin '{plugin}' may not reach {origin}; to allow it, put this under \
         `plugins.{plugin}.permissions`: {line}"
    )]
    Host {
        /// Alias of the plugin.
        plugin: String,
        /// What it asked for.
        origin: String,
        /// The line of YAML that allows it.
        line: String,
    },
    /// No credential of that name is granted.
    #[error(
        "plugin '{plugin}' has no credential '{name}'; to give it one for {origin}, put this \
         under `plugins.{plugin}.permissions`: {line}"
    )]
    Credential {
        /// Alias of the plugin.
        plugin: String,
        /// The name that it used.
        name: String,
        /// Where it wanted to use it.
        origin: String,
        /// The line of YAML that allows it.
        line: String,
    },
    /// The credential exists, but not for this origin.
    #[error(
        "credential '{name}' of plugin '{plugin}' is not bound to {origin}; to send it \
         there, put this under `plugins.{plugin}.permissions.credentials.{name}`: {line}"
    )]
    Binding {
        /// Alias of the plugin.
        plugin: String,
        /// The credential.
        name: String,
        /// Where the plugin wanted to send it.
        origin: String,
        /// The line of YAML that allows it.
        line: String,
    },
    /// The credential signs requests to another service than this address is of.
    #[error(
        "credential '{name}' of plugin '{plugin}' signs requests to the service '{service}' of \
         AWS, and {origin} is no address of it"
    )]
    Service {
        /// Alias of the plugin.
        plugin: String,
        /// The credential.
        name: String,
        /// What it signs for.
        service: String,
        /// Where the plugin wanted to send it.
        origin: String,
    },
    /// A header or query parameter that is the host's to set.
    #[error("plugin '{plugin}' may not set {what} itself: {reason}")]
    Reserved {
        /// Alias of the plugin.
        plugin: String,
        /// Which header or parameter.
        what: String,
        /// Whose it is.
        reason: &'static str,
    },
    /// It leads to an address that its grant does not cover.
    #[error("plugin '{plugin}' may not reach {origin}, which leads to {place}; {way_out}")]
    Address {
        /// Alias of the plugin.
        plugin: String,
        /// What it asked for.
        origin: String,
        /// Where its addresses lie.
        place: AddressScope,
        /// What would allow it.
        way_out: String,
    },
    /// The server answered with a redirect to somewhere else.
    #[error(
        "{from} redirects to {to}, and redirects are followed within one origin only; if \
         that is where the requests should go, use it as the address and grant it to plugin \
         '{plugin}' under `plugins.{plugin}.permissions`: {line}"
    )]
    Redirect {
        /// Alias of the plugin.
        plugin: String,
        /// Who answered.
        from: String,
        /// Where it points.
        to: String,
        /// The line of YAML that allows the target.
        line: String,
    },
}

impl Grants {
    /// The grants of the plugin that the config calls `plugin`.
    pub fn new(
        plugin: impl Into<String>,
        hosts: Vec<OriginPattern>,
        credentials: BTreeMap<String, Credential>,
    ) -> Self {
        Self {
            plugin: plugin.into(),
            hosts,
            credentials,
            certificates: None,
            signer: None,
            header_secrets: HeaderSecrets::default(),
            is_foreign: false,
        }
    }

    /// These, of a plugin that somebody else wrote: its requests have lanes of their own.
    #[must_use]
    pub fn foreign(self) -> Self {
        Self {
            is_foreign: true,
            ..self
        }
    }

    /// These, of requests with certificates of their own.
    #[must_use]
    pub fn with_certificates(self, certificates: Certificates) -> Self {
        Self {
            certificates: Some(Arc::new(certificates)),
            ..self
        }
    }

    /// These, of requests with such values in their headers.
    #[must_use]
    pub fn with_header_secrets(self, header_secrets: HeaderSecrets) -> Self {
        Self {
            header_secrets,
            ..self
        }
    }

    /// Variables that stand in headers of its config.
    pub(crate) fn header_secrets(&self) -> &HeaderSecrets {
        &self.header_secrets
    }

    /// What tells their requests from others' with the same credential: as whom they come, by what they are
    /// signed, whom they believe, and what the host puts into their headers.
    pub(crate) fn identity(
        &self,
        credential: Option<Fingerprint>,
        in_headers: Option<&Fingerprint>,
    ) -> Option<Fingerprint> {
        if self.certificates.is_none() && self.signer.is_none() && in_headers.is_none() {
            return credential;
        }
        let credential = credential.as_ref().map_or("", Fingerprint::as_str);
        let in_headers = in_headers.map(Fingerprint::as_str);
        let certificates = self.certificates().map_or("", Certificates::digest);
        let signer = self.signer().map_or("", RequestSigner::identity);
        let each = [credential, certificates, signer].into_iter();
        Some(Fingerprint::of(each.chain(in_headers)))
    }

    /// These, of requests with a signature in them.
    #[must_use]
    pub fn with_signer(self, signer: RequestSigner) -> Self {
        Self {
            signer: Some(Arc::new(signer)),
            ..self
        }
    }

    /// What signs its requests besides, if anything does.
    pub(crate) fn signer(&self) -> Option<&RequestSigner> {
        self.signer.as_deref()
    }

    /// Whom its requests believe, where that is not as the system has it.
    pub(crate) fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_deref()
    }

    /// Whose lanes the plugin's requests are in, where they share none with other plugins.
    pub(crate) fn own_lanes(&self) -> Option<String> {
        self.is_foreign.then(|| self.plugin.clone())
    }

    /// The plugin's alias.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// What the masker takes out.
    pub fn secrets(&self) -> Vec<Secret> {
        let keys = [
            self.certificates().and_then(Certificates::key),
            self.signer().map(RequestSigner::key),
        ];
        let mut secrets = hidden(self.credentials.values());
        secrets.extend(keys.into_iter().flatten().cloned());
        secrets.extend(self.header_secrets.secrets().cloned());
        secrets
    }

    /// Checks whether the plugin may reach `origin`, and by what kind of grant.
    pub fn check(&self, origin: &Origin) -> Result<Naming, Refusal> {
        origin::naming(&self.hosts, origin).ok_or_else(|| Refusal::Host {
            plugin: self.plugin.clone(),
            origin: origin.to_string(),
            line: hosts_line(&self.hosts, origin),
        })
    }

    /// Checks whether the plugin may reach this address of an origin that it may reach.
    pub(crate) fn check_path(&self, origin: &Origin, url: &Url) -> Result<(), Refusal> {
        if origin::holds(&self.hosts, origin, url) {
            return Ok(());
        }
        Err(Refusal::Host {
            plugin: self.plugin.clone(),
            origin: format!("{origin}{}", url.path()),
            line: hosts_line(&self.hosts, origin),
        })
    }

    /// The credential of that name, if it may go to `origin`.
    pub fn credential(&self, name: &str, origin: &Origin) -> Result<&Credential, Refusal> {
        let credential = self.credentials.get(name).ok_or_else(|| Refusal::Credential {
            plugin: self.plugin.clone(),
            name: name.to_owned(),
            origin: origin.to_string(),
            line: format!(
                "credentials: {{ {name}: {{ env: {}, scheme: bearer, hosts: [\"{origin}\"] }} }}",
                name.to_ascii_uppercase().replace('-', "_")
            ),
        })?;
        if origin::naming(&credential.hosts, origin).is_none() {
            return Err(Refusal::Binding {
                plugin: self.plugin.clone(),
                name: name.to_owned(),
                origin: origin.to_string(),
                line: hosts_line(&credential.hosts, origin),
            });
        }
        Ok(credential)
    }

    /// What to say when `origin` turned out to lead to `place`.
    pub(crate) fn refuse_address(&self, origin: &Origin, place: AddressScope) -> Refusal {
        Refusal::Address {
            plugin: self.plugin.clone(),
            origin: origin.to_string(),
            place,
            way_out: self.way_out(origin, place),
        }
    }

    /// What the user can do about `origin` leading to `place`.
    fn way_out(&self, origin: &Origin, place: AddressScope) -> String {
        if origin.address().is_none()
            && matches!(place, AddressScope::Metadata | AddressScope::Nowhere)
        {
            return "no name may lead there".to_owned();
        }
        let mut steps = Vec::new();
        if place != AddressScope::Loopback {
            steps.push("agree to this address with `runner trust`".to_owned());
        }
        if origin::naming(&self.hosts, origin) != Some(Naming::Exact) {
            let line = hosts_line(&self.hosts, origin);
            steps.push(format!(
                "put this under `plugins.{}.permissions`: {line}",
                self.plugin
            ));
        }
        format!("to allow it, {}", steps.join(", and "))
    }

    /// What to say about a redirect that leaves `from`.
    pub(crate) fn refuse_redirect(&self, from: &Origin, to: &Url) -> Refusal {
        let target = Origin::of(to);
        let line = match &target {
            Some(target) => hosts_line(&self.hosts, target),
            None => "(nothing: only https and http can be granted)".to_owned(),
        };
        Refusal::Redirect {
            plugin: self.plugin.clone(),
            from: from.to_string(),
            to: target.map_or_else(|| format!("a {}: address", to.scheme()), |t| t.to_string()),
            line,
        }
    }
}

/// The line that adds `origin` to a list of hosts, with what is there already.
fn hosts_line(hosts: &[OriginPattern], origin: &Origin) -> String {
    let mut entries: Vec<String> = hosts.iter().map(|host| format!("\"{host}\"")).collect();
    entries.push(format!("\"{origin}\""));
    format!("hosts: [{}]", entries.join(", "))
}

/// All values to mask: the secrets, the password alone out of `user:password`, and the parts of a
/// key of AWS or Google's and of what asks for tokens, which never stand together.
fn hidden<'a>(credentials: impl Iterator<Item = &'a Credential>) -> Vec<Secret> {
    let mut hidden = Vec::new();
    for credential in credentials {
        let Some(secret) = &credential.secret else {
            continue;
        };
        if let (Scheme::Basic, Some((_, password))) =
            (&credential.scheme, secret.reveal().split_once(':'))
        {
            hidden.push(Secret::new(password));
        }
        match &credential.scheme {
            Scheme::AwsSigV4 { .. } => {
                hidden.extend(secret.reveal().split('\n').map(Secret::new));
            }
            Scheme::GoogleAdc => {
                let key = secret.google_key();
                hidden.extend(key.into_iter().flat_map(GoogleKey::secrets));
            }
            Scheme::OAuth2 => {
                let client = secret.token_client();
                hidden.extend(client.into_iter().flat_map(TokenClient::secrets));
            }
            _ => hidden.push(secret.clone()),
        }
    }
    hidden
}
