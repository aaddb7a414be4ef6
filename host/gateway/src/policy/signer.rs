//! A signature that the config of a provider puts into its requests, wherever it likes: in a header, the
//! address, the body.
//!
//! Who builds the request knows neither the key nor the signature: it writes what stands for them
//! ([`StandIns`]), and the values take that place when the request is about to go. What stands for them is
//! drawn anew for each run, so that no text of anybody's can be it; to caches and recordings it is a
//! fixed word, so that a request is the same each time, though its signature never is.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RsaKeyPair,
};
use url::Url;

use crate::policy::secret::Secret;

/// What stands in a request for what is put in when it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIns {
    /// For the signature, in base64.
    pub signature: String,
    /// For its time, in milliseconds since 1970.
    pub timestamp: String,
}

/// Which digest is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedDigest {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// How the requests of one provider are signed.
#[derive(Debug, Clone)]
pub struct SigningRule {
    /// The private key in PEM.
    pub key: Secret,
    /// Which digest is signed.
    pub digest: SignedDigest,
    /// What is signed: these texts, with the time between them.
    pub data: Vec<String>,
    /// For how long one signature is sent, in milliseconds.
    pub reused_ms: u64,
}

/// Signs the requests of one provider.
pub struct RequestSigner {
    rule: SigningRule,
    /// What tells its signatures from those of another key or rule.
    identity: String,
    pair: KeyPair,
    stand_ins: StandIns,
    last: Mutex<Option<Signed>>,
}

/// A private key is none that signs so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "is no private key in PEM that can sign so: RSA of 2048 bits or more, or a P-256 key with SHA256, \
     without a passphrase"
)]
pub struct NoSigningKey;

enum KeyPair {
    Rsa(Box<RsaKeyPair>),
    Ecdsa(Box<EcdsaKeyPair>),
}

/// A signature, and when it was made.
#[derive(Clone)]
struct Signed {
    at_ms: u64,
    signature: String,
}

impl RequestSigner {
    /// Reads the key.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(rule: SigningRule) -> Result<Self, NoSigningKey> {
        let pair = pair(rule.key.reveal(), rule.digest).ok_or(NoSigningKey)?;
        let mut drawn = [0; 16];
        SystemRandom::new()
            .fill(&mut drawn)
            .map_err(|_| NoSigningKey)?;
        let drawn = HEXLOWER.encode(&drawn);
        let stand_in = |what: &str| format!("runner-{what}-{drawn}");
        let key = rule.key.fingerprint();
        Ok(Self {
            pair,
            identity: format!("{} {:?} {:?}", key.as_str(), rule.digest, rule.data),
            stand_ins: StandIns {
                signature: stand_in("signature"),
                timestamp: stand_in("timestamp"),
            },
            rule,
            last: Mutex::default(),
        })
    }

    /// What templates write.
    pub fn stand_ins(&self) -> &StandIns {
        &self.stand_ins
    }

    /// Its key.
    pub(crate) fn key(&self) -> &Secret {
        &self.rule.key
    }

    /// What tells its signatures from those of another key or rule.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether a signature will stand in a request.
    pub(crate) fn signs(&self, url: &Url, headers: &HeaderMap, body: Option<&Bytes>) -> bool {
        let stand_in = &self.stand_ins.signature;
        place_of(url.as_str().as_bytes(), stand_in).is_some()
            || (headers.values()).any(|value| place_of(value.as_bytes(), stand_in).is_some())
            || body.is_some_and(|body| place_of(body, stand_in).is_some())
    }

    /// Puts time and signature into a request of the time `now_ms` where something stands for them. Gives
    /// the signature that it put there.
    pub(crate) fn fill(
        &self,
        (url, headers, body): (&mut Url, &mut HeaderMap, &mut Option<Bytes>),
        now_ms: u64,
    ) -> Option<Secret> {
        let signed = self.signed(now_ms)?;
        let plain = self.put(&signed, &signed.signature);
        let encoded = utf8_percent_encode(&signed.signature, NON_ALPHANUMERIC).to_string();
        let encoded = self.put(&signed, &encoded);
        let mut is_put = self.signs(url, headers, body.as_ref());
        let filled = encoded(url.as_str().as_bytes());
        if let Some(filled) = String::from_utf8(filled)
            .ok()
            .and_then(|it| Url::parse(&it).ok())
        {
            *url = filled;
        }
        let is_form = headers.get(CONTENT_TYPE).is_some_and(|kind| {
            kind.as_bytes()
                .starts_with(b"application/x-www-form-urlencoded")
        });
        for value in headers.values_mut() {
            if let Ok(filled) = HeaderValue::from_bytes(&plain(value.as_bytes())) {
                *value = filled;
            }
        }
        if let Some(bytes) = body {
            let filled = if is_form {
                encoded(bytes)
            } else {
                plain(bytes)
            };
            *body = Some(filled.into());
        }
        is_put &= !self.signs(url, headers, body.as_ref());
        is_put.then(|| Secret::new(&*signed.signature))
    }

    /// What puts the time, and `signature` in this form, in the place of what stands for them.
    fn put<'a>(&'a self, signed: &Signed, signature: &'a str) -> impl Fn(&[u8]) -> Vec<u8> + 'a {
        let at = signed.at_ms.to_string();
        // A time that is all of a text of JSON is the number that it is.
        let quoted = format!("\"{}\"", self.stand_ins.timestamp);
        move |bytes| {
            let bytes = replaced(bytes, &quoted, &at);
            let bytes = replaced(&bytes, &self.stand_ins.timestamp, &at);
            replaced(&bytes, &self.stand_ins.signature, signature)
        }
    }

    /// A part of a request with fixed words for what stands for time and signature.
    pub(crate) fn to_remember(&self, part: &[u8]) -> Vec<u8> {
        let part = replaced(part, &self.stand_ins.timestamp, "[time of signature]");
        replaced(&part, &self.stand_ins.signature, "[signature]")
    }

    /// The last signature while it may be sent again, else a new one.
    fn signed(&self, now_ms: u64) -> Option<Signed> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |signed: &&Signed| {
            now_ms >= signed.at_ms && now_ms - signed.at_ms < self.rule.reused_ms
        };
        if let Some(signed) = last.as_ref().filter(holds) {
            return Some(signed.clone());
        }
        let data = self.rule.data.join(&now_ms.to_string());
        let signature = self.pair.sign(self.rule.digest, data.as_bytes())?;
        let signed = Signed {
            at_ms: now_ms,
            signature: STANDARD.encode(signature),
        };
        *last = Some(signed.clone());
        Some(signed)
    }
}

impl KeyPair {
    fn sign(&self, digest: SignedDigest, data: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            Self::Ecdsa(pair) => Some(pair.sign(&random, data).ok()?.as_ref().to_vec()),
            Self::Rsa(pair) => {
                let padding = match digest {
                    SignedDigest::Sha256 => &RSA_PKCS1_SHA256,
                    SignedDigest::Sha384 => &RSA_PKCS1_SHA384,
                    SignedDigest::Sha512 => &RSA_PKCS1_SHA512,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, data, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

impl fmt::Debug for RequestSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSigner")
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

/// Where a text stands in bytes.
fn place_of(bytes: &[u8], text: &str) -> Option<usize> {
    let text = text.as_bytes();
    let mut places = bytes.windows(text.len());
    places.position(|it| it[0] == text[0] && it == text)
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let (mut made, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some(at) = place_of(rest, from) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(to.as_bytes());
        rest = &rest[at + from.len()..];
    }
    made.extend_from_slice(rest);
    made
}

fn pair(pem: &str, digest: SignedDigest) -> Option<KeyPair> {
    if let Some(der) = der(pem, "RSA PRIVATE KEY") {
        return Some(KeyPair::Rsa(Box::new(RsaKeyPair::from_der(&der).ok()?)));
    }
    let der = der(pem, "PRIVATE KEY")?;
    if let Ok(pair) = RsaKeyPair::from_pkcs8(&der) {
        return Some(KeyPair::Rsa(Box::new(pair)));
    }
    let is_sha256 = digest == SignedDigest::Sha256;
    let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, &der, &SystemRandom::new()).ok();
    pair.filter(|_| is_sha256)
        .map(|pair| KeyPair::Ecdsa(Box::new(pair)))
}

/// What stands in a PEM under this name.
pub(crate) fn der(pem: &str, name: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(&format!("-----BEGIN {name}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {name}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    const KEY: &str = include_str!("../../tests/gateway/rsa.pem");

    fn signer(data: &[&str]) -> RequestSigner {
        RequestSigner::new(SigningRule {
            key: Secret::new(KEY),
            digest: SignedDigest::Sha256,
            data: data.iter().map(|text| (*text).to_owned()).collect(),
            reused_ms: 1_000,
        })
        .expect("a key")
    }

    fn signature_at(signer: &RequestSigner, now_ms: u64) -> String {
        let StandIns {
            signature,
            timestamp,
        } = signer.stand_ins();
        let url = format!("https://a.test/x?s={signature}&t={timestamp}");
        let (mut url, mut headers, mut body) =
            (Url::parse(&url).expect("a URL"), HeaderMap::new(), None);
        assert!(signer.signs(&url, &headers, None));
        let put = signer.fill((&mut url, &mut headers, &mut body), now_ms);
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        assert_eq!(put, Some(Secret::new(&*pairs[0].1)));
        format!("{} {}", pairs[1].1, pairs[0].1)
    }

    #[test]
    fn the_time_is_signed_and_the_signature_is_sent_as_long_as_it_holds() {
        let signer = signer(&["a:", "\n"]);
        let first = signature_at(&signer, 5_000);
        let (at, signature) = first.split_once(' ').expect("both");
        assert_eq!(at, "5000");
        let KeyPair::Rsa(pair) = &signer.pair else {
            panic!("an RSA key");
        };
        let public = pair.public().as_ref();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
        let signature = STANDARD.decode(signature).expect("base64");
        public
            .verify(b"a:5000\n", &signature)
            .expect("it is signed");
        assert_eq!(signature_at(&signer, 5_999), first);
        assert!(signature_at(&signer, 6_000).starts_with("6000 "));
    }

    #[test]
    fn it_goes_where_something_stands_for_it_and_nowhere_else() {
        let signer = signer(&["", ""]);
        let mut url = Url::parse("https://a.test/x").expect("a URL");
        let mut headers = HeaderMap::new();
        let timestamp = &signer.stand_ins().timestamp;
        headers.insert("x-time", timestamp.parse().expect("a header"));
        let text = format!("{{\"t\":\"{timestamp}\",\"u\":\"at {timestamp}\"}}");
        let mut body = Some(Bytes::from(text));
        let kept = signer.to_remember(body.as_deref().unwrap_or_default());
        let expected = "{\"t\":\"[time of signature]\",\"u\":\"at [time of signature]\"}";
        assert_eq!(kept, expected.as_bytes());
        assert!(!signer.signs(&url, &headers, body.as_ref()));
        let put = signer.fill((&mut url, &mut headers, &mut body), 7);
        assert_eq!(put, None, "the time is no secret");
        assert_eq!(url.as_str(), "https://a.test/x");
        assert_eq!(headers["x-time"], "7");
        assert_eq!(body.as_deref(), Some(&b"{\"t\":7,\"u\":\"at 7\"}"[..]));
    }

    #[test]
    fn a_body_that_is_no_text_is_signed_too() {
        let (one, other) = (signer(&[""]), signer(&[""]));
        assert_ne!(one.stand_ins(), other.stand_ins(), "drawn anew");
        let mut url = Url::parse("https://a.test/x").expect("a URL");
        let mut headers = HeaderMap::new();
        let signature = one.stand_ins().signature.as_bytes();
        let mut body = Some(Bytes::from([b"\xff\0", signature, b"\xfe"].concat()));
        let put = one.fill((&mut url, &mut headers, &mut body), 7);
        let put = put.expect("it is put");
        let expected = [b"\xff\0", put.reveal().as_bytes(), b"\xfe"].concat();
        assert_eq!(body.as_deref(), Some(&*expected));
    }

    #[test]
    fn a_key_that_signs_otherwise_is_none() {
        let rule = SigningRule {
            key: Secret::new("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"),
            digest: SignedDigest::Sha256,
            data: Vec::new(),
            reused_ms: 0,
        };
        assert_eq!(RequestSigner::new(rule).err(), Some(NoSigningKey));
    }
}
