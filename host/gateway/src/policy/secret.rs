//! A secret, and how it goes into a request.
//!
//! The value leaves this type where a request is about to go on the wire, where the masker and the
//! cache learn what must not be kept, and where a key of Google's is read as the document that it
//! is; nowhere else. `Debug` shows neither value nor length. Memory is not wiped on drop: the value also lives in the process environment
//! and in the HTTP client's buffers, so wiping one copy would promise what it can't keep.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::policy::{aws, header};

mod parts;

/// A credential's value. White space around it is dropped when it is made: keys that were
/// read from files and shells often carry a newline, and no scheme below can send one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(String);

/// The longest credential, in bytes: what servers take in one header. Each byte of a secret costs
/// the masker some thousand.
const LONGEST_CREDENTIAL: usize = 8 << 10;

/// A credential is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is longer than {} KiB, which no server takes", LONGEST_CREDENTIAL >> 10)]
pub struct TooLong;

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        let value: String = value.into();
        Self(value.trim().to_owned())
    }

    /// How many bytes the masker looks for.
    pub fn bytes(&self) -> usize {
        self.to_mask().map(|text| text.len()).sum()
    }

    /// What no text may show: the value, and what is a secret in it by itself.
    pub(crate) fn to_mask(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let parts = parts::parts(&self.0).into_iter().map(Cow::Owned);
        [Cow::Borrowed(self.reveal())].into_iter().chain(parts)
    }

    /// What no text may show and is no text, or not looked for in all encodings of one, so that it costs the masker a few
    /// tenths more and no more: the longer lines of the value, and the bytes that it and its parts stand for in base64.
    pub(crate) fn bytes_to_mask(&self) -> impl Iterator<Item = Vec<u8>> {
        let lines = parts::lines(self.reveal()).map(|line| line.as_bytes().to_vec());
        lines.chain(self.to_mask().filter_map(|text| parts::bytes(&text)))
    }

    /// The value itself, for the wire and the masker.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether nothing is in it, which is never a usable credential.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a credential.
    ///
    /// # Errors
    /// When it is longer than any server takes.
    pub fn credential(value: impl Into<String>) -> Result<Self, TooLong> {
        let secret = Self::new(value);
        if secret.0.len() > LONGEST_CREDENTIAL {
            return Err(TooLong);
        }
        Ok(secret)
    }

    /// A key of AWS, whose parts are one credential.
    ///
    /// # Errors
    /// When they are longer together than any server takes.
    pub fn aws(id: &str, secret: &str, token: Option<&str>) -> Result<Self, TooLong> {
        let parts = [Some(id), Some(secret), token].map(|part| part.map(str::trim));
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        Self::credential(parts.join("\n"))
    }

    /// The parts of a key of AWS; `None` where it is none that a header could carry.
    pub(crate) fn aws_key(&self) -> Option<AwsKey<'_>> {
        let parts: Vec<&str> = self.0.split('\n').collect();
        let (id, secret, token) = match parts[..] {
            [id, secret] => (id, secret, None),
            [id, secret, token] => (id, secret, Some(token)),
            _ => return None,
        };
        let is_plain =
            |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_graphic());
        let all = [Some(id), Some(secret), token];
        let all = all.iter().flatten().all(is_plain);
        all.then_some(AwsKey { id, secret, token })
    }

    /// What stands for the value in keys of lanes, caches and recordings.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let digest = Sha256::new()
            .chain_update(b"runner credential 1\0")
            .chain_update(self.0.as_bytes())
            .finalize();
        Fingerprint::short(&digest)
    }
}

/// A key of AWS.
pub(crate) struct AwsKey<'a> {
    /// Its name, which goes along with each request.
    pub(crate) id: &'a str,
    /// What signs, and never leaves.
    pub(crate) secret: &'a str,
    /// Goes along with each request, where the key is a temporary one.
    pub(crate) token: Option<&'a str>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// 96 bits of a salted SHA-256 of a secret, in hex: tells credentials apart without
/// telling them. Enough for keys; not meant to be shown, since a short password could be
/// guessed from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// That of all of these together.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::short(&sha256_of(parts))
    }

    fn short(digest: &[u8]) -> Self {
        let mut low = [0; 16];
        low[4..].copy_from_slice(&digest[..12]);
        Self(format!("{:024x}", u128::from_be_bytes(low)))
    }

    /// 24 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One digest of several texts, in which each has its bounds.
pub(super) fn sha256_of<'a>(parts: impl IntoIterator<Item = &'a str>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// How a credential is put into a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// `authorization: Bearer <secret>`.
    Bearer,
    /// `authorization: Basic <base64 of the secret>`; the secret is `user:password`.
    Basic,
    /// A header of its own; the name in lower case.
    Header(String),
    /// A query parameter. URLs end in logs of proxies and servers: only for APIs that
    /// know nothing better.
    Query(String),
    /// Signature Version 4 of AWS. The secret is a key of AWS ([`Secret::aws`]); it is not sent.
    AwsSigV4 {
        /// The service that is signed for, by the name that AWS has for that: `bedrock`.
        service: String,
        /// The region, where the address does not say it.
        region: Option<String>,
    },
    /// `authorization: Bearer <token>`, of a token that is asked for with the secret, a key of
    /// Google's ([`Secret::google`]).
    GoogleAdc,
    /// The like, where the secret says where and in whose name ([`Secret::oauth`]). No plugin can ask
    /// for it: an address that may see secrets is the config's to say.
    OAuth2,
}

/// A scheme that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a credential scheme; write bearer, basic, header:<name>, query:<name> or aws-sigv4:<service>"
)]
pub struct SchemeError(pub String);

impl Scheme {
    /// Reads `bearer`, `basic`, `header:<name>`, `query:<name>`, `aws-sigv4:<service>`,
    /// `aws-sigv4:<service>:<region>` or `google-adc`.
    pub fn parse(text: &str) -> Result<Self, SchemeError> {
        let unreadable = || SchemeError(text.to_owned());
        match text.split_once(':') {
            None if text.eq_ignore_ascii_case("bearer") => Ok(Self::Bearer),
            None if text.eq_ignore_ascii_case("basic") => Ok(Self::Basic),
            None if text == "google-adc" => Ok(Self::GoogleAdc),
            Some(("header", name)) => reqwest::header::HeaderName::from_bytes(name.as_bytes())
                .ok()
                .filter(|name| header::takes_credential(name.as_str()))
                .map(|name| Self::Header(name.as_str().to_owned()))
                .ok_or_else(unreadable),
            Some(("query", name)) if !name.is_empty() => Ok(Self::Query(name.to_owned())),
            Some(("aws-sigv4", scope)) => Self::aws(scope).ok_or_else(unreadable),
            _ => Err(unreadable()),
        }
    }

    /// Services have names of one word; one of them is signed by rules of its own.
    fn aws(scope: &str) -> Option<Self> {
        let (service, region) = match scope.split_once(':') {
            Some((service, region)) => (service, Some(region)),
            None => (scope, None),
        };
        let is_name = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == b'-';
        let is_service = !service.is_empty() && service.bytes().all(is_name) && service != "s3";
        (is_service && region.is_none_or(aws::is_region)).then(|| Self::AwsSigV4 {
            service: service.to_owned(),
            region: region.map(str::to_owned),
        })
    }

    /// The header that carries the credential, in lower case; `None` for a query
    /// parameter.
    pub fn header(&self) -> Option<&str> {
        match self {
            Self::Bearer | Self::Basic | Self::AwsSigV4 { .. } | Self::GoogleAdc | Self::OAuth2 => {
                Some("authorization")
            }
            Self::Header(name) => Some(name),
            Self::Query(_) => None,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bearer => f.write_str("bearer"),
            Self::Basic => f.write_str("basic"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::AwsSigV4 { service, region } => {
                write!(f, "aws-sigv4:{service}")?;
                region.iter().try_for_each(|region| write!(f, ":{region}"))
            }
            Self::GoogleAdc => f.write_str("google-adc"),
            Self::OAuth2 => f.write_str("oauth2"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn debug_tells_neither_value_nor_length() {
        assert_eq!(
            format!("{:?}", Secret::new("sk-12345678")),
            format!("{:?}", Secret::new("x"))
        );
    }

    #[test]
    fn surrounding_white_space_is_not_part_of_a_secret() {
        assert_eq!(Secret::new(" sk-1\n").reveal(), "sk-1");
    }

    #[test]
    fn fingerprints_tell_secrets_apart_and_hide_them() {
        let (a, b) = (
            Secret::new("sk-a").fingerprint(),
            Secret::new("sk-b").fingerprint(),
        );
        assert_ne!(a, b);
        assert_eq!(a, Secret::new("sk-a").fingerprint());
        assert_eq!(a.as_str().len(), 24);
    }

    #[test]
    fn a_key_of_aws_has_two_parts_or_three_and_each_could_stand_in_a_header() {
        let parts = |id: &str, secret: &str, token: Option<&str>| {
            let key = Secret::aws(id, secret, token).unwrap();
            let key = key.aws_key()?;
            Some(format!("{} {} {:?}", key.id, key.secret, key.token))
        };
        let expected = Some("AKID abc Some(\"t==\")".to_owned());
        assert_eq!(parts(" AKID\n", "abc ", Some("t==\n")), expected);
        for nothing in [None, Some("")] {
            let expected = Some("AKID abc None".to_owned());
            assert_eq!(parts("AKID", "abc", nothing), expected);
        }
        for (id, secret, token) in [
            ("", "abc", None),
            ("AKID", "", None),
            ("AK\nID", "abc", Some("t")),
            ("AK ID", "abc", None),
            ("AKID", "a\u{e4}c", None),
        ] {
            assert_eq!(
                parts(id, secret, token),
                None,
                "{id:?} {secret:?} {token:?}"
            );
        }
        let (one, other) = (Secret::aws("A", "b", None), Secret::aws("A", "c", None));
        assert_ne!(one.unwrap().fingerprint(), other.unwrap().fingerprint());
    }

    #[test]
    fn schemes_read_and_show_alike() {
        for text in [
            "bearer",
            "basic",
            "header:x-api-key",
            "query:key",
            "aws-sigv4:bedrock",
            "aws-sigv4:bedrock:eu-central-1",
            "google-adc",
        ] {
            assert_eq!(Scheme::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Scheme::parse("header:X-Api-Key").unwrap().header(),
            Some("x-api-key")
        );
        for text in [
            "",
            "digest",
            "header:",
            "header:bad name",
            "header:Host",
            "header:content-length",
            "header:cookie",
            "header:proxy-authorization",
            "header:range",
            "query:",
            "bearer:x",
            "google-adc:x",
            "aws-sigv4",
            "aws-sigv4:",
            "aws-sigv4:s3",
            "aws-sigv4:Bedrock",
            "aws-sigv4:bedrock:",
            "aws-sigv4:bedrock:europe",
            "aws-sigv4:bedrock:eu-central-1:x",
        ] {
            assert!(Scheme::parse(text).is_err(), "{text}");
        }
    }
}
