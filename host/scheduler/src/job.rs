//! What is asked of a scheduler, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use crate::class::Class;
use crate::hint::Hint;
use crate::limits::LimitId;
use crate::time::Time;

/// A lane of one [`Scheduler`](crate::Scheduler).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub(crate) u32);

impl LaneId {
    /// Lanes are numbered from 0 in the order in which they were opened.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A job of one [`Scheduler`](crate::Scheduler). Its order is the order of arrival, and it
/// keeps its place through all retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub(crate) u64);

impl JobId {
    /// Jobs are numbered from 0 in the order in which they were offered.
    pub fn ticket(self) -> u64 {
        self.0
    }
}

/// What one attempt uses of a quota, estimated before it and counted after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaUse {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer; before the attempt: the most that it may have.
    pub output_tokens: u64,
}

impl QuotaUse {
    /// Both together.
    pub fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// One exchange that wants to go on the wire, with all the attempts that it may take.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// Estimate for one attempt.
    pub cost: QuotaUse,
    /// Retries allowed instead of the lane's number.
    pub max_retries: Option<u32>,
    /// Declared limits that it falls under, beside its lane's learnt ones.
    pub limits: Arc<[LimitId]>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// What it means.
    pub class: Class,
    /// What the server said about its limits and about trying again.
    pub hint: &'a Hint,
    /// What it really used, where the answer says so.
    pub usage: Option<QuotaUse>,
}

/// What becomes of a job after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// It has ended; whatever the attempt gave is its result.
    Return,
    /// It has ended, since the server asks to wait for longer than [`LanePolicy::longest_hint`].
    ///
    /// [`LanePolicy::longest_hint`]: crate::LanePolicy::longest_hint
    TooLong(LongWait),
    /// It is in the queue again and will be started a further time.
    Again {
        /// Number of the retry, from 1.
        retry: u32,
        /// Not before then.
        not_before: Time,
    },
}

/// Something to do now. See [`Scheduler::start`](crate::Scheduler::start).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send the next attempt of this job.
    Start(JobId),
    /// The job has ended without another attempt.
    Refuse(JobId, Refusal),
}

/// A wait that is not sat out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongWait {
    /// When it would be over.
    pub until: Time,
    /// How long it is, from when the server asked for it.
    pub asked: Duration,
    /// How long one may be.
    pub longest: Duration,
}

/// Why a job is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It asks for more than a limit holds when full: no waiting helps.
    Oversize {
        /// Name of the limit.
        limit: String,
        /// What the job needs.
        asked: u64,
        /// What there is.
        capacity: u64,
    },
    /// A quota or balance of the lane is used up.
    QuotaExhausted {
        /// When it is filled again, if the server said so.
        until: Option<Time>,
    },
    /// The server asks to wait for longer than a run sits out.
    TooLong(LongWait),
    /// The server doesn't accept the lane's credential.
    Auth,
    /// The server doesn't have what the lane asks for, a model mostly.
    NotFound,
    /// The server has failed every attempt for long, some that were queued with this job among them.
    /// Of jobs that are offered later some are tried again.
    Down {
        /// For how long, since its first failure.
        lasted: Duration,
    },
    /// It asks for a declared limit that the scheduler doesn't have.
    UnknownLimit,
    /// The scheduler was [drained](crate::Scheduler::drain): the job is not wrong, but comes
    /// too late.
    Draining,
}

impl Refusal {
    /// When it is over, if that is known.
    pub(crate) fn until(&self) -> Option<Time> {
        match self {
            Self::QuotaExhausted { until } => *until,
            Self::TooLong(wait) => Some(wait.until),
            _ => None,
        }
    }
}
