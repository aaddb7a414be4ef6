//! Signature Version 4 of AWS, over a request as it leaves.
//!
//! Everything that a plugin says is signed: method, path, query, each of its headers, body. What the
//! HTTP library adds on the way (`user-agent`, framing) is not, since proxies change it. The rules
//! are those of every service but S3, which encodes paths otherwise (`Scheme::parse` refuses it).
//!
//! AWS's own library would do the same and brings some twenty crates, several of them in versions
//! that are not ours; what is needed of it is this page, and SHA-256 and HMAC are there already.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use ring::hmac;
use sha2::{Digest, Sha256};
use url::Url;

use crate::policy::aws::Scope;
use crate::policy::secret::AwsKey;
use crate::wire::draft::Draft;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// What is escaped in names and values of a query, and in a path besides `/`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const ESCAPED_IN_PATH: &AsciiSet = &ESCAPED.remove(b'/');

/// Adds time, session token and signature.
pub(crate) fn sign(key: &AwsKey<'_>, scope: &Scope, now: Timestamp, draft: &mut Draft) {
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    draft.headers.insert(DATE, plain(&time));
    if let Some(token) = key.token {
        draft.headers.insert(TOKEN, secret(token));
    }
    let (names, listed) = headers(&draft.url, &draft.headers);
    let request = [
        draft.method.as_str(),
        &path(&draft.url),
        &query(&draft.url),
        &listed,
        &names,
        &digest(draft.body.as_deref().unwrap_or_default()),
    ];
    let Scope { service, region } = scope;
    let day = &time[.."YYYYMMDD".len()];
    let within = format!("{day}/{region}/{service}/aws4_request");
    let request = digest(request.join("\n").as_bytes());
    let text = format!("{ALGORITHM}\n{time}\n{within}\n{request}");
    let first = format!("AWS4{}", key.secret).into_bytes();
    let parts = [day, region, service, "aws4_request", &text];
    let signature = parts
        .iter()
        .fold(first, |key, part| keyed(&key, part.as_bytes()));
    let signature = HEXLOWER.encode(&signature);
    let id = key.id;
    let value = format!(
        "{ALGORITHM} Credential={id}/{within}, SignedHeaders={names}, Signature={signature}"
    );
    draft.headers.insert(AUTHORIZATION, secret(&value));
}

/// The names of all headers, and all of them, one a line; the host among them, which is added later.
fn headers(url: &Url, headers: &HeaderMap) -> (String, String) {
    let host = url.host_str().unwrap_or_default();
    let host = url
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut all = vec![("host", host)];
    for name in headers.keys() {
        let values = headers.get_all(name).iter();
        let values: Vec<String> = values.map(squeezed).collect();
        all.push((name.as_str(), values.join(",")));
    }
    all.sort();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let lines = all.iter().map(|(name, value)| format!("{name}:{value}\n"));
    (names.join(";"), lines.collect())
}

/// A value without white space around it and with one blank where there are several within.
fn squeezed(value: &HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes());
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.join(" ")
}

/// The path as it goes on the wire, escaped once more, without empty parts.
fn path(url: &Url) -> String {
    let parts = url.path().split('/').filter(|part| !part.is_empty());
    let parts = parts.map(|part| percent_encode(part.as_bytes(), ESCAPED_IN_PATH).to_string());
    let parts: Vec<String> = parts.collect();
    let end = if url.path().ends_with('/') && !parts.is_empty() {
        "/"
    } else {
        ""
    };
    format!("/{}{end}", parts.join("/"))
}

/// Names and values, each escaped anew, in the order of their bytes.
fn query(url: &Url) -> String {
    let pairs = url.query().unwrap_or_default().split('&');
    let anew = |text: &str| {
        let bytes: Cow<'_, [u8]> = percent_decode_str(text).into();
        percent_encode(&bytes, ESCAPED).to_string()
    };
    let mut pairs: Vec<(String, String)> = pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (anew(name), anew(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(n, v)| format!("{n}={v}")).collect();
    pairs.join("&")
}

fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

fn keyed(key: &[u8], text: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text).as_ref().to_vec()
}

fn secret(text: &str) -> HeaderValue {
    let mut value = plain(text);
    value.set_sensitive(true);
    value
}

fn plain(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("each part was checked: all are printable")
}

#[cfg(test)]
mod tests;
