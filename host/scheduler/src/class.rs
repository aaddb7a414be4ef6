//! How an attempt ended, as far as a scheduler cares.

/// The meaning of an attempt's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A response to hand on as it is.
    Ok,
    /// The server asked to slow down.
    Throttled,
    /// Worth another try: server trouble, connection trouble.
    Transient,
    /// The time was up.
    Timeout,
    /// Trying again gives the same, and says nothing about the next request.
    Permanent,
    /// A quota or a balance is used up: nothing more will pass today.
    QuotaExhausted,
    /// The credential is not accepted.
    Auth,
    /// What was asked for (a model, a deployment, an address) is not there.
    NotFound,
}

impl Class {
    /// Whether the server answered, whatever it said.
    pub(crate) fn is_answer(self) -> bool {
        !matches!(self, Self::Timeout | Self::Transient)
    }
}
