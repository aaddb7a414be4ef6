//! What leaves the run by the stack: a request to a server, or a call of a program.
//!
//! Here, and only here, the stages meet what is different about the two.

use std::sync::Arc;

use runner_store::Digest;

use super::remember;
use crate::admission::tokens::{self, Guess};
use crate::lane::Lane;
use crate::memory::cache;
use crate::memory::remembered::Envelope;
use crate::policy::grants::Grants;
use crate::policy::masker::Masker;
use crate::policy::secret::Fingerprint;
use crate::process::ProcessCall;
use crate::wire::attempt::{self, Answer, Limit};
use crate::wire::bodies::{Space, SpaceOwner};
use crate::wire::fault::WireFault;
use crate::wire::request::Prepared;
use crate::wire::signature::Signature;
use crate::wire::tokens::SendContext;

/// What leaves the run.
#[expect(
    clippy::large_enum_variant,
    reason = "each is made once, behind an `Arc`, and nearly every one is a request"
)]
pub(super) enum Outbound {
    /// A request that was granted.
    Http {
        grants: Arc<Grants>,
        prepared: Prepared,
    },
    /// A call of a program that the person agreed to.
    Process(ProcessCall),
}

impl Outbound {
    /// On whose behalf.
    pub(super) fn plugin(&self) -> &str {
        match self {
            Self::Http { grants, .. } => grants.plugin(),
            Self::Process(call) => call.peer.name(),
        }
    }

    /// Whose answer it is, for the space that answers take.
    pub(super) fn space_owner(&self) -> SpaceOwner<'_> {
        SpaceOwner {
            plugin: self.plugin(),
            server: &self.lane().origin,
        }
    }

    /// What it shares a quota with.
    pub(super) fn lane(&self) -> &Lane {
        match self {
            Self::Http { prepared, .. } => &prepared.lane,
            Self::Process(call) => call.peer.lane(),
        }
    }

    /// What its answer is read with: the run's, with what its own attempts carried, whatever was signed since.
    pub(super) fn masker(&self, of_run: &Masker) -> Masker {
        let Self::Http { grants, prepared } = self else {
            return of_run.declared();
        };
        let credential = prepared.signature.as_ref().map(Signature::fingerprint);
        let signer = grants.signer().map(|signer| signer.key().fingerprint());
        let keys: Vec<Fingerprint> = credential.into_iter().chain(signer).collect();
        let masker = of_run.of_keys(&keys);
        let mut carried = prepared.carried();
        carried.retain(|signature| !masker.hides(signature));
        if carried.is_empty() {
            return masker;
        }
        Masker::union([&masker, &Masker::new(&carried)])
    }

    /// What it is likely to use.
    pub(super) fn guess(&self) -> Guess {
        match self {
            Self::Http { prepared, .. } => {
                let body = prepared.draft.body.as_deref().unwrap_or_default();
                tokens::guess(prepared.draft.url.path(), body)
            }
            Self::Process(_) => tokens::guess("", &[]),
        }
    }

    /// What may be remembered of it.
    pub(super) fn envelope(&self, repeat: u32) -> Envelope {
        match self {
            Self::Http { grants, prepared } => {
                let envelope = remember::envelope(prepared, grants, repeat);
                match grants.signer() {
                    Some(signer) => remember::unsigned(envelope, signer),
                    None => envelope,
                }
            }
            Self::Process(call) => call.envelope(repeat),
        }
    }

    /// Under what the cache has its answer.
    pub(super) fn cache_key(&self, envelope: &Envelope) -> Digest {
        match self {
            Self::Http { prepared, .. } => {
                let scheme = prepared.signature.as_ref().map(Signature::scheme);
                cache::key(envelope, prepared.reach, scheme)
            }
            Self::Process(call) => call.cache_key(envelope),
        }
    }

    /// Goes once.
    pub(super) async fn attempt(
        &self,
        means: SendContext<'_>,
        limit: Limit,
        space: &mut Space,
    ) -> Result<Answer, WireFault> {
        match self {
            Self::Http { grants, prepared } => {
                attempt::once(means, grants, prepared, limit, space).await
            }
            Self::Process(call) => call.attempt(limit.left(), space).await,
        }
    }
}
