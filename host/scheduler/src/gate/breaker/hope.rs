//! Whether a server that has never worked is still waited for.
//!
//! A breaker waits for a server to come back. One that was never there, since its address is
//! wrong, nobody started it, or it answers every call with 500, does not come back, and each
//! probe uses a try of one job only: hundreds of jobs would wait for minutes to learn what
//! the first minute said. So a lane without a single success is **given up** after a number of
//! failed probes in a row *and* a time:
//!
//! - the time lets a server restart or a storm pass;
//! - the number keeps a few slow failures (connections that take 10 s to fail) from being
//!   taken for a long history.
//!
//! Giving up isn't for good: the breaker's next probe still goes, when a job comes for it, and
//! any answer brings the lane back. A lane that has worked once is never given up here: money
//! is already spent on its run, and outages of minutes do end.

use crate::job::Refusal;
use crate::time::Time;
use crate::tuning::hope::{PATIENCE, PROBES};

/// What is left of it.
#[derive(Debug, Default)]
pub(super) struct Hope {
    /// When the first failure since the last answer came.
    failing_since: Option<Time>,
    /// Probes since then, all failed.
    probes: u32,
    given_up: bool,
    /// Some attempt was a success once.
    succeeded: bool,
}

impl Hope {
    /// Takes in that the server failed an attempt.
    pub(super) fn fails(&mut self, now: Time) {
        let since = *self.failing_since.get_or_insert(now);
        self.given_up |= !self.succeeded && self.probes >= PROBES && now - since >= PATIENCE;
    }

    /// Takes in that the server failed a probe.
    pub(super) fn probe_fails(&mut self, now: Time) {
        self.probes += 1;
        self.fails(now);
    }

    /// Takes in that the server answered, whatever it said.
    pub(super) fn answers(&mut self) {
        *self = Self {
            succeeded: self.succeeded,
            ..Self::default()
        };
    }

    /// Takes in that some attempt was a success.
    pub(super) fn succeeds(&mut self) {
        self.succeeded = true;
        self.answers();
    }

    /// Why nothing more is waited for, if that is so.
    pub(super) fn lost(&self, now: Time) -> Option<Refusal> {
        let since = self.failing_since.filter(|_| self.given_up)?;
        Some(Refusal::Down {
            lasted: now - since,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Duration::from_secs(secs)
    }

    /// Fails once at 0 and with a probe at each of `probes`.
    fn failing(mut hope: Hope, probes: &[u64]) -> Hope {
        hope.fails(at(0));
        for probe in probes {
            hope.probe_fails(at(*probe));
        }
        hope
    }

    /// Of a server that never worked.
    fn unknown(probes: &[u64]) -> Hope {
        failing(Hope::default(), probes)
    }

    #[test]
    fn it_takes_five_failed_probes_and_half_a_minute() {
        assert!(unknown(&[2, 5, 10, 29]).lost(at(29)).is_none());
        assert!(unknown(&[2, 5, 10, 20, 29]).lost(at(99)).is_none());
        assert!(unknown(&[10, 20, 30, 40]).lost(at(99)).is_none());
        let lasted = Duration::from_secs(33);
        let lost = unknown(&[2, 5, 10, 20, 30]).lost(at(33));
        assert_eq!(lost, Some(Refusal::Down { lasted }));
    }

    #[test]
    fn failures_that_are_no_probes_don_t_count() {
        let mut hope = unknown(&[]);
        for second in 1..100 {
            hope.fails(at(second));
        }
        assert_eq!(hope.lost(at(100)), None);
    }

    #[test]
    fn a_server_that_has_worked_is_not_given_up() {
        let mut worked = Hope::default();
        worked.succeeds();
        let hope = failing(worked, &[2, 5, 10, 20, 30, 60, 120, 600]);
        assert_eq!(hope.lost(at(600)), None);
    }

    #[test]
    fn any_answer_brings_all_of_it_back() {
        let mut hope = unknown(&[2, 5, 10, 20, 30]);
        hope.answers();
        assert_eq!(hope.lost(at(31)), None);
        hope.probe_fails(at(32));
        assert_eq!(hope.lost(at(99)), None);
    }
}
