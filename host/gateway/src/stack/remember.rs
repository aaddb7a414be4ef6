//! What is remembered of a request, and of its end.

use super::fault::Fault;
use crate::exchange::{ExchangeUsage, Reply};
use crate::memory::remembered::{Ending, Envelope, Interaction, StoredResponse};
use crate::policy::grants::Grants;
use crate::policy::masker::Masker;
use crate::policy::signer::RequestSigner;
use crate::wire::draft::Draft;
use crate::wire::request::{Prepared, pairs};

/// What may be remembered of a request: of its credential only the fingerprint.
pub(super) fn envelope(prepared: &Prepared, grants: &Grants, repeat: u32) -> Envelope {
    let Draft {
        method,
        url,
        headers,
        body,
    } = &prepared.draft;
    let mut headers = pairs(headers);
    for (_, value) in &mut headers {
        *value = grants.header_secrets().to_remember(std::mem::take(value));
    }
    Envelope {
        method: method.to_string(),
        url: url.to_string(),
        headers,
        body: body.clone().unwrap_or_default(),
        credential: prepared.lane.credential.clone(),
        repeat,
    }
}

/// An envelope with fixed words where a signature is to stand: what stands for one is of this run alone.
pub(super) fn unsigned(envelope: Envelope, signer: &RequestSigner) -> Envelope {
    let text = |text: String| {
        let part = signer.to_remember(text.as_bytes());
        String::from_utf8(part).unwrap_or(text)
    };
    let headers = envelope.headers.into_iter();
    Envelope {
        url: text(envelope.url),
        headers: headers.map(|(name, value)| (name, text(value))).collect(),
        body: signer.to_remember(&envelope.body).into(),
        ..envelope
    }
}

/// What a recording keeps of an end.
pub(super) fn interaction(
    masker: &Masker,
    result: &Result<Reply, Fault>,
    spent: &ExchangeUsage,
) -> Interaction {
    let ending = match result {
        Ok(reply) => Ending::Answered {
            response: StoredResponse {
                status: reply.status,
                headers: reply.headers.clone(),
                body: reply.body.clone(),
                pieces: reply.pieces.clone(),
            },
            retry_after: reply.retry_after,
            cached: reply.cached,
        },
        Err(fault) => Ending::Failed {
            code: fault.code(),
            class: fault.class(),
            message: masker.mask(&fault.to_string()).into_owned(),
        },
    };
    Interaction {
        ending,
        attempts: spent.attempts,
        latency: spent.worked + spent.past_latency,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::exchange::Exchange;
    use crate::lane::Lane;
    use crate::policy::grants::Credential;
    use crate::policy::origin::OriginPattern;
    use crate::policy::secret::{Scheme, Secret};
    use crate::wire::request::prepare;

    #[test]
    fn what_may_be_remembered_has_no_secret_in_it() {
        let hosts = vec![OriginPattern::parse("https://api.acme.com").expect("an origin")];
        let credential = Credential {
            scheme: Scheme::Query("key".to_owned()),
            secret: Some(Secret::new("sk-12345678")),
            env: "ACME_API_KEY".to_owned(),
            hosts: hosts.clone(),
        };
        let credentials = BTreeMap::from([("key".to_owned(), credential)]);
        let grants = Grants::new("acme", hosts, credentials);
        let exchange = Exchange {
            method: "post".to_owned(),
            url: "https://api.acme.com/v1".to_owned(),
            headers: vec![("openai-organization".to_owned(), "org-1".to_owned())],
            credential: Some("key".to_owned()),
            bucket: Some("gpt".to_owned()),
            ..Exchange::default()
        };
        let prepared = prepare(&grants, &BTreeSet::new(), exchange, true).expect("it is granted");
        let envelope = envelope(&prepared, &grants, 3);
        let everything = format!(
            "{:?}{}{:?}{:?}",
            envelope, envelope.url, envelope.headers, prepared
        );
        assert!(!everything.contains("12345678"));
        assert_eq!((envelope.method.as_str(), envelope.repeat), ("POST", 3));
        assert_eq!(
            envelope.credential,
            Some(Secret::new("sk-12345678").fingerprint())
        );
        assert_eq!(
            prepared.lane,
            Lane {
                origin: "https://api.acme.com".to_owned(),
                credential: envelope.credential,
                organization: Some("org-1".to_owned()),
                bucket: Some("gpt".to_owned()),
                plugin: None,
            }
        );
    }
}
