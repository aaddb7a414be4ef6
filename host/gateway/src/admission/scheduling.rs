//! How the exchanges of a call share their quota with others: what the user set for a provider.

use std::sync::Arc;

use runner_scheduler::{LanePolicy, Limit};

/// What a provider's config says about its lanes. The default is the scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scheduling {
    /// The knobs of its lanes. Where providers share a lane the more careful one of each holds.
    pub policy: LanePolicy,
    /// Retries of one exchange instead of the policy's number. Apart from the policy, since it
    /// is a provider's own wish and must not bind others that share its lane.
    pub max_retries: Option<u32>,
    /// Takes the place of an exchange's bucket in its lane's key: providers that name the same
    /// pool share a quota, providers that name different ones don't.
    pub pool: Option<String>,
    /// Limits that the user declared; each exchange falls under all of them. Limits of the same
    /// name are the same limit, whoever names it.
    pub limits: Vec<Arc<Limit>>,
    /// What the user calls the provider: equal requests of a recording are told apart by it.
    pub caller: Option<String>,
}
