//! Whether a server that fails is still waited for.
//!
//! A breaker waits for a server to come back. One that was never there, since its address is
//! wrong, nobody started it, or it answers every call with 500, does not come back, and each
//! probe uses a try of one job only: hundreds of jobs would wait for minutes to learn what
//! the first minute said. So a lane is **given up** after a number of failed probes in a row
//! *and* a time:
//!
//! - the time lets a server restart or a storm pass; a lane that has worked is waited for longer,
//!   since money is already spent on its run, and outages of minutes do end;
//! - the number keeps a few slow failures (connections that take 10 s to fail) from being
//!   taken for a long history.
//!
//! Giving up isn't for good, and it isn't said of jobs that nobody has tried: the failures may be
//! those jobs' own, since a server can't digest what they ask, and the next ones are another's.
//! So jobs end in **waves**: some of those that are queued go as probes, one at a time and from
//! all over the queue, and when each of them has failed the others end too. What is offered
//! later is the next wave. Any answer brings the lane back.

use std::time::Duration;

use crate::job::Refusal;
use crate::time::Time;
use crate::tuning::giving_up::{PATIENCE, PATIENCE_WHERE_IT_WORKED, PROBES, WAVE};

/// How near a server is to being given up.
#[derive(Debug, Default)]
pub(super) struct GivingUp {
    /// When the first failure since the last answer came.
    failing_since: Option<Time>,
    /// Probes since then, all failed.
    probes: u32,
    /// Those of them that were of the present wave.
    of_wave: u32,
    given_up: bool,
    /// Some attempt was a success once.
    succeeded: bool,
}

impl GivingUp {
    /// Takes in that the server failed an attempt.
    pub(super) fn fails(&mut self, now: Time) {
        let since = *self.failing_since.get_or_insert(now);
        let patience = if self.succeeded {
            PATIENCE_WHERE_IT_WORKED
        } else {
            PATIENCE
        };
        self.given_up |= self.probes >= PROBES && now - since >= patience;
    }

    /// How long it has failed.
    pub(super) fn failing_for(&self, now: Time) -> Duration {
        self.failing_since
            .map_or(Duration::ZERO, |since| now - since)
    }

    /// Takes in that the server failed a probe.
    pub(super) fn probe_fails(&mut self, now: Time) {
        self.probes += 1;
        self.of_wave += 1;
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

    /// Whether the server was given up, so that probes wait for nothing.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up
    }

    /// Why the `queued` jobs are not waited with any more, if that is so; said once of each wave.
    pub(super) fn lost(&mut self, now: Time, queued: usize) -> Option<Refusal> {
        let since = self.failing_since.filter(|_| self.given_up)?;
        if self.of_wave < WAVE && (self.of_wave as usize) < queued.max(1) {
            return None;
        }
        self.of_wave = 0;
        Some(Refusal::Down {
            lasted: now - since,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Duration::from_secs(secs)
    }

    /// Fails once at 0 and with a probe at each of `probes`.
    fn failing(mut giving_up: GivingUp, probes: &[u64]) -> GivingUp {
        giving_up.fails(at(0));
        for probe in probes {
            giving_up.probe_fails(at(*probe));
        }
        giving_up
    }

    /// Of a server that never worked.
    fn unknown(probes: &[u64]) -> GivingUp {
        failing(GivingUp::default(), probes)
    }

    /// Whether a queue of a hundred jobs is given up at that second.
    fn is_lost(mut giving_up: GivingUp, second: u64) -> bool {
        giving_up.lost(at(second), 100).is_some()
    }

    #[test]
    fn it_takes_five_failed_probes_and_half_a_minute() {
        assert!(!is_lost(unknown(&[2, 5, 10, 29]), 29));
        assert!(!is_lost(unknown(&[2, 5, 10, 20, 29]), 99));
        assert!(!is_lost(unknown(&[10, 20, 30, 40]), 99));
        let lasted = Duration::from_secs(33);
        let lost = unknown(&[2, 5, 10, 20, 30]).lost(at(33), 100);
        assert_eq!(lost, Some(Refusal::Down { lasted }));
    }

    #[test]
    fn failures_that_are_no_probes_don_t_count() {
        let mut giving_up = unknown(&[]);
        for second in 1..100 {
            giving_up.fails(at(second));
        }
        assert!(!is_lost(giving_up, 100));
    }

    #[test]
    fn a_server_that_has_worked_is_waited_for_ten_minutes() {
        let worked = || {
            let mut giving_up = GivingUp::default();
            giving_up.succeeds();
            giving_up
        };
        assert!(!is_lost(failing(worked(), &[2, 5, 10, 60, 120, 599]), 599));
        assert!(is_lost(failing(worked(), &[2, 5, 10, 60, 120, 600]), 600));
    }

    #[test]
    fn each_wave_has_three_probes_or_as_many_as_it_has_jobs() {
        let mut giving_up = unknown(&[2, 5, 10, 20, 30]);
        assert!(giving_up.lost(at(30), 100).is_some());
        assert_eq!(giving_up.lost(at(30), 100), None, "it was said");
        for (queued, probes) in [(100, 3), (2, 2), (1, 1)] {
            for probe in 1..=probes {
                giving_up.probe_fails(at(31));
                assert_eq!(giving_up.lost(at(31), queued).is_some(), probe == probes);
            }
        }
    }

    #[test]
    fn any_answer_brings_all_of_it_back() {
        let mut giving_up = unknown(&[2, 5, 10, 20, 30]);
        giving_up.answers();
        assert_eq!(giving_up.lost(at(31), 1), None);
        giving_up.probe_fails(at(32));
        assert_eq!(giving_up.lost(at(99), 1), None);
    }
}
