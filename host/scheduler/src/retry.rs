//! What is tried again, and when.
//!
//! This is the only layer that retries: layers that each try three times multiply one refused
//! request into a storm.
//!
//! - **Transient** failures have 3 retries (published), each after a pause drawn from all of
//!   [0, base · 2ⁿ): full jitter, which spreads those that failed together. A wait that the
//!   server asks for is kept to instead.
//! - **Throttled** attempts don't use up retries: being refused says nothing about the request,
//!   and the lane, not the job, waits. Twenty of them end it all the same (published): no
//!   limit of a run is that far off. Who sets retries to 0 gets the first refusal back. A job that is
//!   refused while others pass uses them up: it asks for more than the limit holds, or for what this
//!   server never grants.
//! - A **timeout** is not retried: a completion that was slow once costs as much to be slow again. Where
//!   the user wants it all the same it is a failure like others, except that a probe counts, too: all that
//!   a lane has would be hours.
//! - **Retry tokens** bound retries of failures to about a tenth of all calls: 500 of them, 5
//!   for a retry, 1 back for a success (published, after AWS). Without tokens a retry waits
//!   for them, or until nothing else is in flight: storms end and no job is lost.

use std::time::Duration;

use crate::chance::Chance;
use crate::class::Class;
use crate::job::LongWait;
use crate::policy::LanePolicy;
use crate::time::{Time, nanos};
use crate::tuning::retry::{MOST_PROBES, MOST_REFUSALS, RETRY_COST, RETRY_TOKENS};

/// A job's past.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    /// Retries that counted.
    pub(crate) counted: u32,
    /// Attempts that didn't, since they were refused.
    pub(crate) free: u32,
    /// And those that were probes of a broken lane, and failed.
    pub(crate) probes: u32,
}

impl Tries {
    /// Attempts before the one that ended.
    pub(crate) fn retries(self) -> u32 {
        self.counted + self.free + self.probes
    }
}

/// What the decision looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempted {
    pub(crate) class: Class,
    /// The wait that the server asked for.
    pub(crate) asked: Option<Duration>,
    /// The server said that trying again is useless.
    pub(crate) useless: bool,
    pub(crate) tries: Tries,
    pub(crate) max_retries: u32,
    /// The lane takes care of when: it is blocked or paced.
    pub(crate) lane_waits: bool,
    /// The lane is broken: the attempt was everybody's probe.
    pub(crate) probe: bool,
    /// Others are answered where this job alone fails or is refused.
    pub(crate) to_blame: bool,
}

/// What becomes of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has ended.
    Return,
    /// It has ended, since the server asks to wait for longer than one may.
    TooLong(LongWait),
    /// It goes back into the queue.
    Again { not_before: Time, counts: bool },
}

/// Decides.
pub(crate) fn decide(
    now: Time,
    attempted: &Attempted,
    policy: &LanePolicy,
    chance: &mut Chance,
) -> Fate {
    let throttled = attempted.class == Class::Throttled;
    let late = attempted.class == Class::Timeout;
    let retryable =
        throttled || attempted.class == Class::Transient || late && policy.retry_timeouts;
    if !retryable || attempted.useless || attempted.max_retries == 0 {
        return Fate::Return;
    }
    let asked = attempted.asked.filter(|wait| !wait.is_zero());
    if let Some(wait) = asked.and_then(|wait| policy.too_long(now, wait)) {
        return Fate::TooLong(wait);
    }
    let free =
        (attempted.lane_waits && throttled || attempted.probe && !late) && !attempted.to_blame;
    let spent = if free && !throttled {
        attempted.tries.probes >= MOST_PROBES
    } else if free {
        attempted.tries.free >= MOST_REFUSALS
    } else {
        attempted.tries.counted >= attempted.max_retries
    };
    if spent {
        return Fate::Return;
    }
    let pause = match asked {
        _ if free => Duration::ZERO,
        // Those who were asked the same must not return as a herd.
        Some(wait) => wait + jitter((wait / 10).min(Duration::from_secs(1)), chance),
        None => jitter(ceiling(policy, attempted.tries.counted), chance),
    };
    let not_before = now + pause;
    Fate::Again {
        not_before,
        counts: !free,
    }
}

fn ceiling(policy: &LanePolicy, retries: u32) -> Duration {
    let factor = 1u32.checked_shl(retries).unwrap_or(u32::MAX);
    policy
        .retry_base
        .saturating_mul(factor)
        .min(policy.retry_cap)
}

fn jitter(span: Duration, chance: &mut Chance) -> Duration {
    Duration::from_nanos(chance.below(nanos(span)))
}

/// What a lane may still spend on retries of failures.
#[derive(Debug)]
pub(crate) struct RetryTokens(u32);

impl Default for RetryTokens {
    fn default() -> Self {
        Self(RETRY_TOKENS)
    }
}

impl RetryTokens {
    /// Whether there are tokens for one more retry.
    pub(crate) fn allows(&self) -> bool {
        self.0 >= RETRY_COST
    }

    pub(crate) fn spend(&mut self) {
        self.0 = self.0.saturating_sub(RETRY_COST);
    }

    pub(crate) fn succeed(&mut self) {
        self.0 = (self.0 + 1).min(RETRY_TOKENS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Attempted = Attempted {
        class: Class::Transient,
        asked: None,
        useless: false,
        tries: Tries {
            counted: 0,
            free: 0,
            probes: 0,
        },
        max_retries: 3,
        lane_waits: true,
        probe: false,
        to_blame: false,
    };

    fn decide(attempted: Attempted) -> Fate {
        super::decide(
            Time::ZERO,
            &attempted,
            &LanePolicy::default(),
            &mut Chance::new(1),
        )
    }

    fn after(attempted: Attempted) -> Duration {
        match decide(attempted) {
            Fate::Again { not_before, .. } => not_before - Time::ZERO,
            fate => panic!("no retry: {fate:?}"),
        }
    }

    #[test]
    fn only_failures_that_may_pass_are_tried_again() {
        for (class, again) in [
            (Class::Ok, false),
            (Class::Throttled, true),
            (Class::Transient, true),
            (Class::Timeout, false),
            (Class::Permanent, false),
            (Class::QuotaExhausted, false),
            (Class::Auth, false),
            (Class::NotFound, false),
        ] {
            let verdict = decide(Attempted { class, ..FAILED });
            assert_eq!(verdict != Fate::Return, again, "{class:?}");
        }
    }

    #[test]
    fn pauses_are_drawn_from_nothing_to_a_doubling_ceiling() {
        let mut chance = Chance::new(9);
        for (counted, ceiling) in [(0, 1), (1, 2), (2, 4)] {
            let attempted = Attempted {
                tries: Tries {
                    counted,
                    ..Tries::default()
                },
                ..FAILED
            };
            let pauses: Vec<u64> = (0..1000)
                .map(|_| {
                    match super::decide(Time::ZERO, &attempted, &LanePolicy::default(), &mut chance)
                    {
                        Fate::Again { not_before, .. } => not_before.as_nanos() / 1_000_000,
                        fate => panic!("no retry: {fate:?}"),
                    }
                })
                .collect();
            assert!(pauses.iter().all(|ms| *ms < ceiling * 1000));
            assert!(pauses.iter().any(|ms| *ms < ceiling * 100));
            assert!(pauses.iter().any(|ms| *ms > ceiling * 900));
        }
    }

    #[test]
    fn the_fourth_failure_is_the_last() {
        let tries = Tries {
            counted: 3,
            free: 7,
            ..Tries::default()
        };
        assert_eq!(decide(Attempted { tries, ..FAILED }), Fate::Return);
    }

    #[test]
    fn a_wait_that_was_asked_for_is_kept_to() {
        let asked = Some(Duration::from_secs(20));
        let pause = after(Attempted { asked, ..FAILED });
        assert!((20_000..=21_000).contains(&pause.as_millis()));
    }

    #[test]
    fn a_wait_of_hours_is_not_sat_out_whatever_failed() {
        let long = Duration::from_hours(2);
        let too_long = Fate::TooLong(LongWait {
            until: Time::ZERO + long,
            asked: long,
            longest: Duration::from_mins(15),
        });
        for (class, asked, told) in [
            (Class::Transient, long, true),
            (Class::Throttled, long, true),
            (Class::Throttled, Duration::from_mins(15), false),
            (Class::Permanent, long, false),
        ] {
            let asked = Some(asked);
            let fate = decide(Attempted {
                class,
                asked,
                ..FAILED
            });
            assert_eq!(fate == too_long, told, "{class:?} {asked:?}");
        }
        let (asked, max_retries) = (Some(long), 0);
        let unwilling = Attempted {
            asked,
            max_retries,
            ..FAILED
        };
        assert_eq!(decide(unwilling), Fate::Return, "it would not wait at all");
    }

    #[test]
    fn being_refused_uses_no_retries_but_has_an_end() {
        let refused = Attempted {
            class: Class::Throttled,
            ..FAILED
        };
        let with = |counted, free| {
            decide(Attempted {
                tries: Tries {
                    counted,
                    free,
                    ..Tries::default()
                },
                ..refused
            })
        };
        let again = Fate::Again {
            not_before: Time::ZERO,
            counts: false,
        };
        assert_eq!(with(3, 19), again);
        assert_eq!(with(0, 20), Fate::Return);
    }

    #[test]
    fn a_probe_uses_neither_retries_nor_refusals_but_has_an_end() {
        let probe = |probes| {
            decide(Attempted {
                probe: true,
                tries: Tries {
                    counted: 0,
                    free: 20,
                    probes,
                },
                ..FAILED
            })
        };
        assert!(matches!(probe(64), Fate::Again { counts: false, .. }));
        assert_eq!(probe(65), Fate::Return);
    }

    #[test]
    fn without_a_lane_that_waits_being_refused_counts() {
        let refused = Attempted {
            class: Class::Throttled,
            lane_waits: false,
            ..FAILED
        };
        assert!(matches!(decide(refused), Fate::Again { counts: true, .. }));
    }

    #[test]
    fn a_timeout_is_tried_again_by_who_wants_it_and_uses_a_retry() {
        let policy = LanePolicy {
            retry_timeouts: true,
            ..LanePolicy::default()
        };
        let with = |counted, probe| {
            let attempted = Attempted {
                class: Class::Timeout,
                tries: Tries {
                    counted,
                    ..Tries::default()
                },
                probe,
                ..FAILED
            };
            super::decide(Time::ZERO, &attempted, &policy, &mut Chance::new(1))
        };
        for probe in [false, true] {
            assert!(matches!(with(0, probe), Fate::Again { counts: true, .. }));
            assert_eq!(with(3, probe), Fate::Return);
        }
    }

    #[test]
    fn no_retries_means_none_for_refusals_either() {
        let class = Class::Throttled;
        let attempted = Attempted {
            class,
            max_retries: 0,
            ..FAILED
        };
        assert_eq!(decide(attempted), Fate::Return);
    }

    #[test]
    fn the_server_s_word_that_it_is_useless_is_taken() {
        let useless = true;
        assert_eq!(decide(Attempted { useless, ..FAILED }), Fate::Return);
    }

    #[test]
    fn a_hundred_retries_spend_all_tokens_and_five_successes_buy_one() {
        let mut tokens = RetryTokens::default();
        for _ in 0..100 {
            assert!(tokens.allows());
            tokens.spend();
        }
        assert!(!tokens.allows());
        for _ in 0..5 {
            tokens.succeed();
        }
        assert!(tokens.allows());
    }
}
