//! Whom one plugin's requests believe, and as whom they come, where that is not as the system has it.
//!
//! Whoever writes the config says so of one provider; the requests of others know nothing of it.

use std::fmt;

use data_encoding::HEXLOWER;
use reqwest::{Certificate, ClientBuilder, Identity};

use crate::policy::secret::{Secret, sha256_of};

/// The certificates of one provider's requests, read.
pub struct Certificates {
    /// Those by which a server may be known, beside the system's authorities.
    authorities: Vec<Certificate>,
    /// With what the requests say whose they are.
    client: Option<(Identity, Secret)>,
    is_unchecked: bool,
    digest: String,
}

/// Which part of [`Certificates`] can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The authorities.
    Authorities,
    /// Certificate or key of the client.
    Client,
}

impl Certificates {
    /// Reads them, all in PEM: `authorities`, by which a server may be known beside those of the
    /// system; `client`, the certificate and the key with which the requests say whose they are.
    /// Where `is_unchecked`, a server is believed whatever it shows.
    ///
    /// # Errors
    /// Which part holds none.
    pub fn new(
        authorities: Option<&str>,
        client: Option<(String, Secret)>,
        is_unchecked: bool,
    ) -> Result<Self, Malformed> {
        let (certificate, key) = match &client {
            Some((certificate, key)) => (&**certificate, key.reveal()),
            None => ("", ""),
        };
        let rule = if is_unchecked { "unchecked" } else { "checked" };
        let parts = [rule, authorities.unwrap_or_default(), certificate, key];
        let digest = HEXLOWER.encode(&sha256_of(parts));

        let authorities = match authorities {
            Some(text) => Certificate::from_pem_bundle(text.as_bytes())
                .ok()
                .filter(|read| !read.is_empty())
                .ok_or(Malformed::Authorities)?,
            None => Vec::new(),
        };
        let client = match client {
            Some((certificate, key)) => {
                let pem = format!("{certificate}\n{}\n", key.reveal());
                let identity = Identity::from_pem(pem.as_bytes());
                Some((identity.map_err(|_| Malformed::Client)?, key))
            }
            None => None,
        };
        Ok(Self {
            authorities,
            client,
            is_unchecked,
            digest,
        })
    }

    /// Stands for all of it: the same for the same content.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether a server is believed whatever it shows.
    pub fn is_unchecked(&self) -> bool {
        self.is_unchecked
    }

    /// Whether a server is believed that the system's authorities don't know.
    pub fn believes_others(&self) -> bool {
        self.is_unchecked || !self.authorities.is_empty()
    }

    /// The client's key.
    pub(crate) fn key(&self) -> Option<&Secret> {
        self.client.as_ref().map(|(_, key)| key)
    }

    /// Has a client use them.
    pub(crate) fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        let builder = builder
            .tls_certs_merge(self.authorities.iter().cloned())
            .tls_danger_accept_invalid_certs(self.is_unchecked);
        match &self.client {
            Some((identity, _)) => builder.identity(identity.clone()),
            None => builder,
        }
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("is_unchecked", &self.is_unchecked)
            .finish_non_exhaustive()
    }
}
