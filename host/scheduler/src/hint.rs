//! What a response said about its server's limits and about trying again, as plain data.
//!
//! Names of headers, formats and vendors are the business of whoever speaks HTTP; what stands here
//! is believed already, and what was garbage or absurd is absent. What to *do* with a number is
//! decided by the lane.

use std::fmt;
use std::time::Duration;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Requests.
    Requests,
    /// Tokens in and out together.
    Tokens,
    /// Tokens of prompts.
    InputTokens,
    /// Tokens of answers.
    OutputTokens,
    /// Tokens in and out together, of the project that the credential belongs to.
    ProjectTokens,
    /// Tokens in and out together, of a month.
    TokensPerMonth,
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::InputTokens => "input tokens",
            Self::OutputTokens => "output tokens",
            Self::ProjectTokens => "project tokens",
            Self::TokensPerMonth => "tokens per month",
        })
    }
}

/// One limit as a response states it. Every part may be missing, but not all: there is a
/// limit, a remainder or a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// What it counts.
    pub dimension: Dimension,
    /// How much a window holds: from 1 to [`Reading::MOST`].
    pub limit: Option<u64>,
    /// How much of it was left when the server wrote this: never more than `limit`.
    pub remaining: Option<u64>,
    /// How long until it is reset (some servers: until it is full), from when the server
    /// wrote this. At most [`Hint::LONGEST`].
    pub reset: Option<Duration>,
    /// How exact `reset` is: the truth is less than this away, to either side. 1 s where the
    /// server writes whole seconds, or its clock is known in whole seconds; zero without a
    /// `reset`.
    pub resolution: Duration,
    /// Length of the window, where the server states it; only with a `limit`.
    pub window: Option<Duration>,
}

impl Reading {
    /// The largest count that is believed, 10¹⁵ − 1: the largest integer of structured headers
    /// (RFC 9651), and a thousand times the largest quota that was seen.
    pub const MOST: u64 = 999_999_999_999_999;
}

/// All that a response says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hint {
    /// How long the server asked to wait, from when the response came. Only from errors
    /// (status 400 and above); at most [`Hint::LONGEST`].
    pub retry_after: Option<Duration>,
    /// The server says that trying again is useless (`x-should-retry: false`). Only from errors.
    pub useless: bool,
    /// Its limits, at most one reading for each dimension, in the order of [`Dimension`].
    pub readings: Vec<Reading>,
}

impl Hint {
    /// The longest time that is believed, 31 days: the longest month, and so the longest
    /// window of any published quota.
    pub const LONGEST: Duration = Duration::from_hours(31 * 24);
}
