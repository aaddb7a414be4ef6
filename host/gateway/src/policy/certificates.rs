//! Whom one plugin's requests believe, and as whom they come, where that is not as the system has it.
//!
//! Whoever writes the config says so of one provider; the requests of others know nothing of it.

use std::fmt;

use reqwest::{Certificate, ClientBuilder, Identity};
use sha2::{Digest, Sha256};

use crate::policy::secret::Secret;

/// The certificates of one provider's requests.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Certificates {
    /// Certificates in PEM by which a server may be known, beside those of the system's authorities.
    pub authorities: Option<String>,
    /// Certificate and key in PEM, with which the requests say whose they are.
    pub client: Option<(String, Secret)>,
    /// Whether a server is believed whatever it shows.
    pub is_unchecked: bool,
}

/// Which part of [`Certificates`] is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The authorities.
    Authorities,
    /// Certificate or key of the client.
    Client,
}

impl Certificates {
    /// Checks whether they are in a form that can be used.
    ///
    /// # Errors
    /// Which part can't.
    pub fn check(&self) -> Result<(), Malformed> {
        let authorities = self.authorities().map_err(|_| Malformed::Authorities)?;
        if authorities.is_empty() && self.authorities.is_some() {
            return Err(Malformed::Authorities);
        }
        self.identity().map_err(|_| Malformed::Client)?;
        Ok(())
    }

    /// Stands for all of it: the same for the same content.
    pub fn digest(&self) -> String {
        let client = self.client.as_ref();
        let key = client.map(|(_, key)| key.reveal());
        let certificate = client.map(|(certificate, _)| &**certificate);
        let parts = [self.authorities.as_deref(), certificate, key];
        let mut hasher = Sha256::new();
        hasher.update([u8::from(self.is_unchecked)]);
        for part in parts.map(Option::unwrap_or_default) {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        data_encoding::HEXLOWER.encode(&hasher.finalize())
    }

    /// Has a client use them.
    pub(crate) fn apply(&self, builder: ClientBuilder) -> Result<ClientBuilder, reqwest::Error> {
        let mut builder = builder
            .tls_certs_merge(self.authorities()?)
            .tls_danger_accept_invalid_certs(self.is_unchecked);
        if let Some(identity) = self.identity()? {
            builder = builder.identity(identity);
        }
        Ok(builder)
    }

    fn authorities(&self) -> Result<Vec<Certificate>, reqwest::Error> {
        let text = self.authorities.as_deref().unwrap_or_default();
        Certificate::from_pem_bundle(text.as_bytes())
    }

    fn identity(&self) -> Result<Option<Identity>, reqwest::Error> {
        let client = self.client.as_ref();
        let both = client.map(|(certificate, key)| format!("{certificate}\n{}\n", key.reveal()));
        let identity = both.map(|pem| Identity::from_pem(pem.as_bytes()));
        identity.transpose()
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("is_unchecked", &self.is_unchecked)
            .finish_non_exhaustive()
    }
}
