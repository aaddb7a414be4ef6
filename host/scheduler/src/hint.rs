//! What a response says about its server's limits and about trying again.
//!
//! Everything here is text from a machine that we don't know, so the rule of the house is:
//! **a number is believed or it is absent.** What is garbage, negative, overflowing or absurd is
//! as if it had not been sent; the next header that says the same thing is asked. Nothing here
//! can fail, panic, or take longer than the length of what was sent. What to *do* with a
//! number is decided elsewhere; whether to try again, too, is decided by status and code.
//!
//! | what | believed |
//! |---|---|
//! | a count | whole, from 0 to [`Reading::MOST`]; `-1`, `12abc`, `30,000`, `1e3` are absent |
//! | a time | from 0 to [`Hint::LONGEST`]; the past is 0, long ago is absent (`reset`) |
//! | a limit | at least 1 (`counter`) |
//! | what remains | at most the limit; ten times the limit makes both absent (`counter`) |
//! | a window | from 1 s to [`Hint::LONGEST`], only where the server states it (`families`) |
//!
//! The rooms: `families` knows the names of headers, `sheet` goes over them once, `counter`
//! believes numbers, `reset` reads when, with `duration` and `date`; `ietf` reads structured
//! limits, with the grammar of `structured`; `wait` reads `retry-after`, and as a last resort a
//! `message`.
//!
//! All arithmetic is on integers. Floating point would make `8.64s` a little less than it is,
//! and a rule that compares two of them a matter of luck.

use std::fmt;
use std::time::Duration;

mod counter;
mod cursor;
mod date;
mod duration;
mod families;
mod ietf;
mod message;
mod reset;
mod sheet;
mod structured;
#[cfg(test)]
mod tests;
mod wait;

use reset::Clock;
use sheet::Sheet;

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
    /// server writes whole seconds or a point in time that its `date` header dates; zero
    /// without a `reset`.
    pub resolution: Duration,
    /// Length of the window, where the server states it; only with a `limit`.
    pub window: Option<Duration>,
}

impl Reading {
    /// The largest count that is believed, 10¹⁵ − 1: the largest integer of structured headers
    /// (RFC 9651), and a thousand times the largest quota that was seen.
    pub const MOST: u64 = counter::MOST;
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

/// A response as hints are read from it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Response<'a> {
    /// HTTP status.
    pub status: u16,
    /// Headers, names in any case.
    pub headers: &'a [(String, String)],
    /// What its body says about waiting, already taken out of its JSON.
    pub body: BodyHint<'a>,
    /// The caller's wall clock since 1970, for dates in responses without a `date`.
    pub unix_time: Duration,
}

/// The parts of an error body that say when to come back.
#[derive(Debug, Clone, Copy, Default)]
pub struct BodyHint<'a> {
    /// Google's `RetryInfo.retryDelay`: `"45.837906927s"`.
    pub retry_delay: Option<&'a str>,
    /// The error's message, in which some servers say "try again in 6m0s". Read for a duration
    /// and for nothing else.
    pub message: Option<&'a str>,
}

impl Hint {
    /// The longest time that is believed, 31 days: the longest month, and so the longest
    /// window of any published quota.
    pub const LONGEST: Duration = duration::LONGEST;

    /// Reads a response. What is garbage, negative, overflowing or absurd counts as absent.
    ///
    /// The wait is `retry-after-ms`, else `retry-after`, else the body's delay, else a duration
    /// in its message; a limit's own `reset` is in its reading and is nobody else's.
    #[must_use]
    pub fn read(response: &Response<'_>) -> Self {
        let sheet = Sheet::new(response.headers);
        let clock = Clock::new(sheet.date, response.unix_time.as_nanos());
        let failed = response.status >= 400;
        let wait = failed
            .then(|| wait::asked(&sheet, &response.body, &clock))
            .flatten();
        let never = sheet
            .should_retry
            .is_some_and(|text| text.eq_ignore_ascii_case(b"false"));
        Self {
            retry_after: wait.map(|wait| wait.length),
            useless: failed && never,
            readings: sheet.readings(&clock, failed),
        }
    }
}
