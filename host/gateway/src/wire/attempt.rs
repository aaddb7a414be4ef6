//! One attempt: a request goes out, redirects included, and a whole response comes back.
//!
//! This is the only file that sends. It neither retries nor judges. What comes back is without
//! its coding (see `coding`), so that whoever is above sees what there is. Everything is bounded
//! here: the time by a deadline that covers connecting, waiting and reading alike (a body
//! that drips ends with it), the size by counting as chunks arrive, redirects by their
//! number. Dropping the future closes the connection and nothing else happens.

use std::error::Error as StdError;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue};

use crate::exchange::RESPONSE_LIMIT;
use crate::pieces::{PieceEnd, PieceWriter, Told};
use crate::policy::grants::Grants;
use crate::policy::origin::Origin;
use crate::wire::bodies::{Movement, Space};
use crate::wire::class::Transport;
use crate::wire::coding::{self, Coding, DecodeError};
use crate::wire::draft::Draft;
use crate::wire::fault::WireFault;
use crate::wire::redirect::{self, REDIRECT_LIMIT, RedirectAction};
use crate::wire::request::{self, Prepared};
use crate::wire::resolve::{OutOfReach, Unresolved};
use crate::wire::tokens::SendContext;

/// Status of a response that is a range of one.
const PARTIAL_CONTENT: u16 = 206;

/// A whole response as it came, secrets and all: it does not leave the gateway so.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// When its first pieces came, where somebody wanted to know.
    pub(crate) pieces: Vec<PieceEnd>,
}

/// The time on the wire that an exchange may have, over all its attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    left: Duration,
    whole: Duration,
    is_own: bool,
}

impl Limit {
    /// What is left of `whole` after `worked`, where no exchange may have more than `most`.
    pub(crate) fn new(whole: Duration, worked: Duration, most: Duration) -> Self {
        Self {
            left: whole.saturating_sub(worked),
            whole,
            is_own: whole < most,
        }
    }

    /// What is left of it.
    pub(crate) fn left(self) -> Duration {
        self.left
    }
}

/// Sends `prepared` once, following redirects within its origin, for at most what is left. The
/// answer is counted in `space`.
pub(crate) async fn once(
    means: SendContext<'_>,
    grants: &Grants,
    prepared: &Prepared,
    limit: Limit,
    space: &mut Space,
) -> Result<Answer, WireFault> {
    let deadline = Instant::now() + limit.left;
    let hops = follow(means, grants, prepared, space);
    match tokio::time::timeout_at(deadline.into(), hops).await {
        Ok(result) => result,
        Err(_) => Err(WireFault::TimedOut {
            origin: prepared.origin.to_string(),
            limit: limit.whole,
            is_own: limit.is_own,
        }),
    }
}

async fn follow(
    means: SendContext<'_>,
    grants: &Grants,
    prepared: &Prepared,
    space: &mut Space,
) -> Result<Answer, WireFault> {
    let mut draft = prepared.draft.clone();
    let mut redirects = 0;
    loop {
        // No hop is unchecked: within one origin a grant may be for a path of it.
        grants.check(&prepared.origin)?;
        grants.check_path(&prepared.origin, &draft.url)?;
        let response = send(means, grants, prepared, &draft).await?;
        let status = response.status().as_u16();
        match redirect::way(&draft.url, status, response.headers()) {
            RedirectAction::Stay => return whole(means, response, prepared, space).await,
            RedirectAction::Leave(target) => {
                return Err(grants.refuse_redirect(&prepared.origin, &target).into());
            }
            RedirectAction::Follow(_) if redirects == REDIRECT_LIMIT => {
                return Err(WireFault::TooManyRedirects {
                    origin: prepared.origin.to_string(),
                    limit: REDIRECT_LIMIT,
                });
            }
            RedirectAction::Follow(target) => {
                redirects += 1;
                draft = redirect::next(draft, status, target);
            }
        }
    }
}

async fn send(
    means: SendContext<'_>,
    grants: &Grants,
    prepared: &Prepared,
    draft: &Draft,
) -> Result<reqwest::Response, WireFault> {
    let mut draft = draft.clone();
    request::fill(grants, &mut draft.headers)?;
    if let Some(signature) = &prepared.signature {
        let token = match signature.token_key() {
            Some((secret, key)) => Some(means.tokens.get(&means, secret, &key).await?),
            None => None,
        };
        signature.sign(&mut draft, Timestamp::now(), token.as_ref());
    }
    let signature = grants.signer().and_then(|signer| {
        let now = Timestamp::now().as_millisecond().try_into().unwrap_or(0);
        signer.fill((&mut draft.url, &mut draft.headers, &mut draft.body), now)
    });
    if let (Some(signer), Some(signature)) = (grants.signer(), &signature) {
        let origin = prepared.origin.to_string();
        means.tokens.hide(signer.key(), signature, &origin)?;
        prepared.carry(signature);
    } else if grants.signer().is_some_and(|signer| {
        let Draft {
            url, headers, body, ..
        } = &draft;
        signer.signs(url, headers, body.as_ref())
    }) {
        let why =
            "the signature can't be put into the request: a part of it would be none any more";
        return Err(WireFault::Invalid(why.to_owned()));
    }
    // Without the header any coding would do.
    let identity = HeaderValue::from_static("identity");
    draft.headers.insert(ACCEPT_ENCODING, identity);
    let client = means
        .clients
        .get(&draft.url, prepared.reach, grants.certificates())?;
    let request = client.request(draft.method, draft.url);
    let mut request = request.headers(draft.headers);
    if let Some(body) = draft.body {
        request = request.body(body);
    }
    let response = request.send().await;
    let response = response.map_err(|error| explain(&error, grants, &prepared.origin))?;
    Ok(response)
}

/// Reads the answer, if it is one that the masker can look through.
async fn whole(
    means: SendContext<'_>,
    response: reqwest::Response,
    prepared: &Prepared,
    space: &mut Space,
) -> Result<Answer, WireFault> {
    let origin = &prepared.origin;
    let pieces = means.pieces.filter(|_| is_streamed(&response));
    let mut answer = read(response, origin, space, pieces).await?;
    if answer.status == PARTIAL_CONTENT && prepared.has_secret {
        let origin = origin.to_string();
        return Err(WireFault::Partial { origin });
    }
    let coding = coding::coding(&answer.headers, &answer.body);
    if !answer.body.is_empty() && coding != Coding::Plain {
        space.reserve(RESPONSE_LIMIT).await?;
        unpack(&mut answer, coding, origin)?;
        space.count(answer.body.len())?;
    }
    Ok(answer)
}

/// Whether a response is one that is told while it comes: an answer, and one without a coding.
fn is_streamed(response: &reqwest::Response) -> bool {
    let status = response.status();
    status.is_success()
        && status.as_u16() != PARTIAL_CONTENT
        && coding::coding(response.headers(), &[]) == Coding::Plain
}

/// Takes the coding off an answer. Of a failure that can't be unpacked the status is left, which
/// says more than that it can't be.
fn unpack(answer: &mut Answer, coding: Coding, origin: &Origin) -> Result<(), WireFault> {
    answer.body = match coding::unpacked(&answer.body, coding, RESPONSE_LIMIT) {
        Ok(plain) => plain,
        Err(DecodeError::TooLarge) => return Err(too_large(origin)),
        Err(DecodeError::Broken) if answer.status >= 400 => Vec::new(),
        Err(DecodeError::Broken) => {
            return Err(WireFault::Coded {
                origin: origin.to_string(),
            });
        }
    };
    answer.headers.remove(CONTENT_ENCODING);
    Ok(())
}

fn too_large(origin: &Origin) -> WireFault {
    WireFault::ResponseTooLarge {
        origin: origin.to_string(),
        limit: RESPONSE_LIMIT,
    }
}

async fn read(
    mut response: reqwest::Response,
    origin: &Origin,
    space: &mut Space,
    pieces: Option<PieceWriter<'_>>,
) -> Result<Answer, WireFault> {
    // What the server announces is believed when it is too much, not when it is little.
    let announced = response.content_length().unwrap_or(0);
    if announced > RESPONSE_LIMIT as u64 {
        return Err(too_large(origin));
    }
    space.grow(announced as usize).await?;
    let mut body = Vec::with_capacity((announced as usize).min(64 << 10));
    let mut told = Told::default();
    let mut tell = |body: &[u8], is_end| match pieces {
        // What looks packed whatever its header says is told when it is unpacked.
        Some(pieces) if coding::coding(&HeaderMap::new(), body) == Coding::Plain => {
            pieces.tell(body, &mut told, is_end);
        }
        _ => {}
    };
    let mut movement = Movement::new(tokio::time::Instant::now());
    loop {
        let chunk = tokio::time::timeout_at(movement.due(), response.chunk()).await;
        let stands = movement.stands(tokio::time::Instant::now(), body.len());
        if stands && space.holds_up_others() {
            let origin = origin.to_string();
            return Err(WireFault::Stands { origin });
        }
        let Ok(chunk) = chunk else { continue };
        match chunk {
            Ok(Some(chunk)) if body.len() + chunk.len() > RESPONSE_LIMIT => {
                return Err(too_large(origin));
            }
            Ok(Some(chunk)) => {
                space
                    .grow((body.len() + chunk.len()).max(announced as usize))
                    .await?;
                body.extend_from_slice(&chunk);
                tell(&body, false);
            }
            Ok(None) => break,
            Err(error) => return Err(transport(Transport::Broken, origin, &error)),
        }
    }
    tell(&body, true);
    // More may have been announced.
    space.count(body.len())?;
    Ok(Answer {
        status: response.status().as_u16(),
        headers: std::mem::take(response.headers_mut()),
        body,
        pieces: told.ends,
    })
}

/// Sorts an error by the types in its chain; texts are passed on, never read.
fn explain(error: &reqwest::Error, grants: &Grants, origin: &Origin) -> WireFault {
    if let Some(OutOfReach(place)) = find::<OutOfReach>(error) {
        return grants.refuse_address(origin, *place).into();
    }
    let kind = if find::<Unresolved>(error).is_some() {
        Transport::Resolve
    } else if find::<rustls::Error>(error).is_some_and(is_lasting) {
        Transport::Tls
    } else if error.is_connect() || error.is_timeout() {
        // The only timeout of the client itself is that of connecting.
        Transport::Connect
    } else if error.is_builder() {
        return WireFault::Invalid("the URL and headers make no HTTP request".to_owned());
    } else {
        Transport::Broken
    };
    transport(kind, origin, error)
}

/// Whether a certificate is signed by nobody who is known.
fn is_of_nobody(error: &rustls::Error) -> bool {
    use rustls::{CertificateError, Error};
    matches!(
        error,
        Error::InvalidCertificate(CertificateError::UnknownIssuer)
    )
}

/// Whether a TLS error says something about the server rather than about the moment.
fn is_lasting(error: &rustls::Error) -> bool {
    use rustls::Error;
    matches!(
        error,
        Error::InvalidCertificate(_)
            | Error::NoCertificatesPresented
            | Error::PeerIncompatible(_)
            | Error::InvalidMessage(_)
            | Error::UnsupportedNameType
    )
}

fn transport(kind: Transport, origin: &Origin, error: &reqwest::Error) -> WireFault {
    // The outer layers repeat the URL, which may hold a secret; the innermost has the
    // reason.
    let reason = if find::<rustls::Error>(error).is_some_and(is_of_nobody) {
        "its certificate is of no authority that this system knows; name that one's certificate in \
         SSL_CERT_FILE, or as `tls: { caPath: … }` of a provider `http`"
            .to_owned()
    } else {
        let cause = causes(error).last();
        cause.map(ToString::to_string).unwrap_or_default()
    };
    WireFault::Transport {
        origin: origin.to_string(),
        kind,
        detail: if reason.is_empty() {
            reason
        } else {
            format!(": {reason}")
        },
    }
}

fn find<E: StdError + 'static>(error: &reqwest::Error) -> Option<&E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// The causes of an error, from outside in, without the error itself. An I/O error that
/// wraps another names that one's *source* as its own; the wrapped error is visited too.
fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(error.source(), |cause: &&'a (dyn StdError + 'static)| {
        let cause: &'a (dyn StdError + 'static) = *cause;
        match cause
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped as &(dyn StdError + 'static)),
            None => cause.source(),
        }
    })
}

#[cfg(test)]
mod tests {
    use rustls::{CertificateError, Error, InvalidMessage, PeerIncompatible};

    use super::*;

    #[test]
    fn a_bad_certificate_lasts_and_a_broken_record_does_not() {
        let cases = [
            (Error::InvalidCertificate(CertificateError::Expired), true),
            (
                Error::InvalidCertificate(CertificateError::UnknownIssuer),
                true,
            ),
            (
                Error::InvalidMessage(InvalidMessage::InvalidContentType),
                true,
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                true,
            ),
            (Error::DecryptError, false),
            (Error::HandshakeNotComplete, false),
            (Error::General("anything".to_owned()), false),
        ];
        for (error, lasting) in cases {
            assert_eq!(is_lasting(&error), lasting, "{error}");
        }
    }
}
