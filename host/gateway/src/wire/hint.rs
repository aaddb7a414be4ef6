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
//! limits; `wait` reads `retry-after`, and as a last resort a `message`. Dates are read by `jiff`, the grammar of structured fields by `sfv`; lengths of
//! time by ourselves, since `jiff` neither says how exactly one was written nor where it ends in
//! a sentence.
//!
//! All arithmetic is on integers. Floating point would make `8.64s` a little less than it is,
//! and a rule that compares two of them a matter of luck.

use std::time::Duration;

use runner_scheduler::Hint;

mod counter;
mod cursor;
mod date;
mod duration;
mod families;
mod ietf;
mod message;
mod reset;
mod sheet;
#[cfg(test)]
mod tests;
mod wait;

use reset::Clock;
use sheet::Sheet;

/// A response as hints are read from it.
#[derive(Debug, Clone, Copy, Default)]
pub struct HintSource<'a> {
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

impl HintSource<'_> {
    /// Reads a self. What is garbage, negative, overflowing or absurd counts as absent.
    ///
    /// The wait is `retry-after-ms`, else `retry-after`, else the body's delay, else a duration
    /// in its message; a limit's own `reset` is in its reading and is nobody else's.
    #[must_use]
    pub fn read(&self) -> Hint {
        let sheet = Sheet::new(self.headers);
        let clock = Clock::new(sheet.date, self.unix_time);
        let failed = self.status >= 400;
        let wait = failed
            .then(|| wait::asked(&sheet, &self.body, &clock))
            .flatten();
        let never = sheet
            .should_retry
            .is_some_and(|text| text.eq_ignore_ascii_case(b"false"));
        Hint {
            retry_after: wait.map(|wait| wait.length),
            useless: failed && never,
            readings: sheet.readings(&clock, failed),
        }
    }
}
