//! `tls` of a provider's config, as promptfoo's `http` has it: whom its requests believe, and as whom they
//! come.
//!
//! The guest learns nothing of it. By default a server is believed by what the system's authorities say;
//! who writes another rule into a config says whose server may be taken for the one that is meant, and
//! that is the person's to agree to.

use std::mem;

use runner_config::plan::Provider;
use runner_config::{TextOrigin as Author, TrustRequest, TrustSubject};
use runner_gateway::{Certificates, Malformed, OriginPattern, Secret};
use serde_json::{Map, Value};

use super::bind_error::BindError;
use super::config_key::ConfigKey;
use super::ways::is_loopback;
use crate::trust::Need;

/// The key of the config.
pub(super) const KEY: &str = "tls";

/// What an archive of both is to be written as.
const AS_PEM: &str = "is not read; write it as PEM: `openssl pkcs12 -in FILE -nodes -out own.pem`, \
                      then `certPath: own.pem` and `keyPath: own.pem`";

/// Keys of promptfoo's that can't be honoured, and what to do instead.
const REFUSED: [(&str, &str); 7] = [
    ("pfx", AS_PEM),
    ("pfxPath", AS_PEM),
    ("jksPath", AS_PEM),
    (
        "passphrase",
        "is not read; write the key without one: `openssl pkey -in FILE -out key.pem`",
    ),
    (
        "servername",
        "is not supported; it is the name in the address",
    ),
    (
        "ciphers",
        "is not supported; only ciphers that are safe are used",
    ),
    ("secureProtocol", "is not supported; it is TLS 1.2 or 1.3"),
];

/// What promptfoo's bounds of the version say where they bound nothing here.
const BOUNDS: [(&str, &str); 2] = [("minVersion", "TLSv1.2"), ("maxVersion", "TLSv1.3")];

/// Takes them out of a config.
pub(super) fn take(
    provider: &Provider,
    config: &mut Map<String, Value>,
) -> Result<Option<Certificates>, BindError> {
    let Some(mut written) = ConfigKey::take(provider, config, KEY)? else {
        return Ok(None);
    };
    written.refuse(&REFUSED)?;
    let mut members = mem::take(&mut written.members);
    let problem = |member: &str, problem: &str| written.problem(member, problem);
    for (key, usual) in BOUNDS {
        if members.remove(key).is_some_and(|said| said != usual) {
            return Err(problem(key, "is not supported; it is TLS 1.2 or 1.3"));
        }
    }
    let mut text = |key: &str| match members.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Ok(Some(texts.join("\n")))
        }
        Some(_) => Err(problem(key, "must be a text in PEM")),
    };
    let authorities = text("ca")?;
    let client = match (text("cert")?, text("key")?) {
        (None, None) => None,
        (Some(certificate), Some(key)) => {
            let key = Secret::credential(key).map_err(|why| problem("key", &why.to_string()))?;
            Some((certificate, key))
        }
        (Some(_), None) => return Err(problem("cert", "needs a key beside it (`keyPath`)")),
        (None, Some(_)) => {
            return Err(problem("key", "needs a certificate beside it (`certPath`)"));
        }
    };
    let is_unchecked = match members.remove("rejectUnauthorized") {
        None | Some(Value::Null | Value::Bool(true)) => false,
        Some(Value::Bool(false)) => true,
        Some(_) => return Err(problem("rejectUnauthorized", "must be true or false")),
    };
    if let Some(key) = members.keys().next() {
        let why = "is not known; there are caPath, certPath and keyPath (or ca, cert and key), and rejectUnauthorized";
        return Err(problem(key, why));
    }
    let certificates = Certificates::new(authorities.as_deref(), client, is_unchecked);
    let certificates = certificates.map_err(|part| match part {
        Malformed::Authorities => problem("ca", "holds no certificate in PEM"),
        Malformed::Client => problem("cert", "and `key` are no certificate and key in PEM"),
    })?;
    Ok(Some(certificates))
}

/// What believing these servers needs of the person.
pub(super) fn needs<'a>(
    certificates: &'a Certificates,
    provider: &'a Provider,
    hosts: &'a [OriginPattern],
) -> impl Iterator<Item = Need> + 'a {
    let is_far = |to: &&OriginPattern| !to.exact().is_some_and(is_loopback);
    let at = provider.places.of(&format!("/{KEY}"));
    let at = at.unwrap_or(&provider.at);
    hosts
        .iter()
        .filter(|_| certificates.believes_others())
        .filter(is_far)
        .map(move |to| {
            Need::of(TrustRequest {
                subject: TrustSubject::Certificates {
                    to: to.to_string(),
                    sha256: (!certificates.is_unchecked())
                        .then(|| certificates.digest().to_owned()),
                },
                origin: match &provider.origin {
                    Author::Person => Author::Config,
                    author => author.clone(),
                },
                at: at.clone(),
            })
        })
}
