//! From what a plugin states to what may go on the wire.
//!
//! The first two stages of the stack: every check that needs no network, then the
//! credential. Checks come first and in full, so that a refused request has cost nothing
//! and a secret never exists in one. The credential is kept apart from the request until
//! the moment of sending, and is put in anew for each hop of a redirect.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::exchange::{Exchange, REQUEST_LIMIT};
use crate::lane::{Lane, NAME_LIMIT};
use crate::policy::address::{self, Reach};
use crate::policy::grants::{Grants, Refusal};
use crate::policy::header;
use crate::policy::origin::Origin;
use crate::policy::secret::{Scheme, Secret};
use crate::wire::draft::Draft;
use crate::wire::fault::WireFault;
use crate::wire::signature::Signature;

#[cfg(test)]
mod tests;

/// Longest URL: the HTTP library's own limit is 65,534 bytes, and a credential may still
/// be added.
const URL_LIMIT: usize = 32 << 10;

/// Longest host: a name of the DNS has no more.
const HOST_LIMIT: usize = 253;

/// Most bytes of header names and values together. Servers refuse more than 8 to 64 KiB.
const HEADERS_LIMIT: usize = 64 << 10;

/// Headers that say whose quota a request counts against, besides the credential.
const ORGANIZATION_HEADERS: [&str; 2] = ["openai-organization", "openai-project"];

/// A request that has passed every check, and its credential beside it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) draft: Draft,
    pub(crate) origin: Origin,
    pub(crate) reach: Reach,
    pub(crate) signature: Option<Signature>,
    /// Something in it is for its server alone, so that the answer has to come whole.
    pub(crate) has_secret: bool,
    pub(crate) lane: Lane,
    /// Signatures that its attempts have had in them, redirects included: answers may repeat each.
    carried: Mutex<Vec<Secret>>,
}

impl Prepared {
    /// Notes a signature that goes with it.
    pub(crate) fn carry(&self, signature: &Secret) {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        if !carried.contains(signature) {
            carried.push(signature.clone());
        }
    }

    /// The signatures that went with it so far.
    pub(crate) fn carried(&self) -> Vec<Secret> {
        let carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        carried.clone()
    }
}

/// Checks an exchange against the grants, and against the private addresses to which the person
/// `agreed`. The credential of one that is never sent (not to `sign`) needs no value.
pub(crate) fn prepare(
    grants: &Grants,
    agreed: &BTreeSet<Origin>,
    exchange: Exchange,
    sign: bool,
) -> Result<Prepared, WireFault> {
    let method = method(&exchange.method)?;
    let url = url(&exchange.url)?;
    let origin = Origin::of(&url).ok_or_else(|| {
        WireFault::Invalid(format!("'{}' is neither https nor http", url.scheme()))
    })?;
    let reach = reach(grants, agreed, &origin)?;
    grants.check_path(&origin, &url)?;
    let body = body(exchange.body)?;
    let credential = match &exchange.credential {
        Some(name) => Some((name, grants.credential(name, &origin)?)),
        None => None,
    };
    let scheme = credential.map(|(_, credential)| &credential.scheme);
    let headers = headers(&exchange.headers)?;
    let in_headers = grants.header_secrets().identity(&headers);
    let has_secret = scheme.is_some() || grants.signer().is_some() || in_headers.is_some();
    refuse_reserved(grants.plugin(), &headers, (scheme, has_secret))?;
    refuse_own_parameter(grants.plugin(), &url, scheme)?;
    let signature = match credential.filter(|_| sign) {
        Some((name, credential)) => {
            let plugin = grants.plugin();
            Some(Signature::of(plugin, name, credential, &origin)?)
        }
        None => None,
    };
    if let Some(signer) = grants.signer()
        && !signer.signs(&url, &headers, body.as_ref())
    {
        return Err(WireFault::Invalid(
            "`signatureAuth` signs nothing: no `{{signature}}` stands in the request".to_owned(),
        ));
    }
    let lane = Lane {
        origin: origin.to_string(),
        credential: grants.identity(
            signature.as_ref().map(Signature::fingerprint),
            in_headers.as_ref(),
        ),
        organization: short("organization", organization(grants, &headers)?)?,
        bucket: short("bucket", exchange.bucket)?,
        plugin: grants.own_lanes(),
    };
    Ok(Prepared {
        draft: Draft {
            method,
            url,
            headers,
            body,
        },
        origin,
        reach,
        signature,
        has_secret,
        lane,
        carried: Mutex::default(),
    })
}

fn body(body: Option<Vec<u8>>) -> Result<Option<Bytes>, WireFault> {
    let (size, limit) = (body.as_ref().map_or(0, Vec::len), REQUEST_LIMIT);
    if size > limit {
        return Err(WireFault::RequestTooLarge { size, limit });
    }
    Ok(body.map(Bytes::from))
}

/// How far `origin` may lead. An address in its URL never reaches the resolver, so that it is
/// checked here.
fn reach(grants: &Grants, agreed: &BTreeSet<Origin>, origin: &Origin) -> Result<Reach, Refusal> {
    let reach = Reach::of(grants.check(origin)?, origin, agreed);
    match origin.address() {
        Some(address) if !reach.allows_literal(address) => {
            Err(grants.refuse_address(origin, address::place(address)))
        }
        _ => Ok(reach),
    }
}

fn method(text: &str) -> Result<Method, WireFault> {
    let upper = text.to_ascii_uppercase();
    match Method::from_bytes(upper.as_bytes()) {
        Ok(Method::CONNECT | Method::TRACE) | Err(_) => Err(WireFault::Invalid(format!(
            "the method {upper:?} can't be used"
        ))),
        Ok(method) => Ok(method),
    }
}

fn url(text: &str) -> Result<Url, WireFault> {
    if text.len() > URL_LIMIT {
        return Err(WireFault::Invalid(format!(
            "the URL is longer than {URL_LIMIT} bytes"
        )));
    }
    let mut url = Url::parse(text)
        .map_err(|error| WireFault::Invalid(format!("not an absolute URL: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(WireFault::Invalid(
            "the URL has a user name or password in it".to_owned(),
        ));
    }
    if url.host_str().is_some_and(|host| host.len() > HOST_LIMIT) {
        return Err(WireFault::Invalid(format!(
            "the URL's host is longer than {HOST_LIMIT} bytes"
        )));
    }
    url.set_fragment(None);
    Ok(url)
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, WireFault> {
    let total: usize = pairs
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if total > HEADERS_LIMIT {
        return Err(WireFault::Invalid(format!(
            "the headers have more than {HEADERS_LIMIT} bytes"
        )));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| WireFault::Invalid(format!("{name:?} is not a header name")))?;
        let value = HeaderValue::from_str(value).map_err(|_| {
            WireFault::Invalid(format!(
                "the value of header '{name}' has control characters"
            ))
        })?;
        headers
            .try_append(name, value)
            .map_err(|_| WireFault::Invalid("too many headers".to_owned()))?;
    }
    Ok(headers)
}

fn refuse_reserved(
    plugin: &str,
    headers: &HeaderMap,
    (scheme, has_secret): (Option<&Scheme>, bool),
) -> Result<(), Refusal> {
    for name in headers.keys() {
        if let Some(reason) = reserved(name.as_str(), scheme, has_secret) {
            return Err(Refusal::Reserved {
                plugin: plugin.to_owned(),
                what: format!("the header '{name}'"),
                reason,
            });
        }
    }
    Ok(())
}

fn reserved(name: &str, scheme: Option<&Scheme>, has_secret: bool) -> Option<&'static str> {
    if scheme.and_then(Scheme::header) == Some(name) {
        return Some("the credential goes there");
    }
    if matches!(scheme, Some(Scheme::AwsSigV4 { .. })) && name.starts_with("x-amz-") {
        return Some("the signature has it");
    }
    if has_secret && header::PARTIAL.contains(&name) {
        return Some("with a credential answers come whole");
    }
    header::reserved(name)
}

fn refuse_own_parameter(plugin: &str, url: &Url, scheme: Option<&Scheme>) -> Result<(), Refusal> {
    match scheme {
        Some(Scheme::Query(parameter)) if url.query_pairs().any(|(name, _)| name == *parameter) => {
            Err(Refusal::Reserved {
                plugin: plugin.to_owned(),
                what: format!("the query parameter '{parameter}'"),
                reason: "the credential goes there",
            })
        }
        _ => Ok(()),
    }
}

/// Whose quota the headers say that it counts against, as the server will read them.
fn organization(grants: &Grants, headers: &HeaderMap) -> Result<Option<String>, WireFault> {
    let named = ORGANIZATION_HEADERS
        .into_iter()
        .map(HeaderName::from_static);
    let named = named.filter_map(|name| Some((name.clone(), headers.get(&name)?.clone())));
    let mut named: HeaderMap = named.collect();
    fill(grants, &mut named)?;
    let named: Vec<&str> = ORGANIZATION_HEADERS
        .iter()
        .filter_map(|name| named.get(*name)?.to_str().ok())
        .collect();
    Ok((!named.is_empty()).then(|| named.join("/")))
}

/// Puts the values of variables into headers.
pub(crate) fn fill(grants: &Grants, headers: &mut HeaderMap) -> Result<(), WireFault> {
    let filled = grants.header_secrets().fill(headers);
    filled.map_err(|name| {
        WireFault::Invalid(format!(
            "the value of header '{name}' has control characters"
        ))
    })
}

/// A name of a lane, which is kept to the end of the run.
fn short(what: &str, name: Option<String>) -> Result<Option<String>, WireFault> {
    match name.as_ref().map(String::len) {
        Some(bytes) if bytes > NAME_LIMIT => Err(WireFault::Invalid(format!(
            "the name of the {what} has {bytes} bytes, {NAME_LIMIT} are allowed"
        ))),
        _ => Ok(name),
    }
}

/// Headers as pairs of texts.
pub(crate) fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect()
}
