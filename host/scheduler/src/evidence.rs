//! What two readings of one limit say about how it refills.
//!
//! With `L` the limit, `m` what remained, `t` when the request was sent:
//!
//! - A continuous refill is full again after `reset = (L − m) · W / L`: the reset is proportional
//!   to what is missing, with the window `W` as the factor.
//! - A fixed window ends at `t + reset`, and so do all its readings.
//!
//! Both are compared within what the server's rounding leaves open. A pair that fits both (all
//! requests at one moment; resets in whole seconds) or neither (two windows, a lying server)
//! says nothing.

use std::time::Duration;

use crate::time::{Time, nanos};
use crate::tuning::evidence::JITTER;

/// One reading with what is known about its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimedReading {
    /// When the request was sent. The server took its snapshot then or later.
    pub(crate) sent_at: Time,
    /// When the response came.
    pub(crate) received_at: Time,
    /// The lane's total of the dimension right after the request was sent.
    pub(crate) mark: u64,
    /// Attempts that were on their way together with it: each may have overtaken it, or been overtaken.
    pub(crate) beside: u64,
    /// What the server said is left.
    pub(crate) remaining: u64,
    /// How long until it is reset.
    pub(crate) reset: Option<Duration>,
    /// How exact that is.
    pub(crate) resolution: Duration,
}

/// What a pair of readings suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefillEvidence {
    /// Even refill, all of it in `window`.
    Continuous { window: Duration },
    /// All at once at `end`.
    Fixed { end: Time },
    /// Nothing.
    Neither,
}

/// Compares an older reading with a newer one.
pub(crate) fn lean(old: &TimedReading, new: &TimedReading, limit: u64) -> RefillEvidence {
    let (Some(old_reset), Some(new_reset)) = (old.reset, new.reset) else {
        return RefillEvidence::Neither;
    };
    let tolerance = old.resolution + new.resolution + JITTER;
    let missing = |seen: &TimedReading| limit.saturating_sub(seen.remaining);
    let fixed = apart(old.sent_at + old_reset, new.sent_at + new_reset) <= tolerance
        || apart(old.received_at + old_reset, new.received_at + new_reset) <= tolerance;
    if old_reset.max(new_reset) < 2 * tolerance {
        return RefillEvidence::Neither;
    }
    let continuous = missing(old) > 0 && missing(new) > 0 && {
        let predicted = scaled(old_reset, missing(new), missing(old));
        // Remaining tokens may be rounded to the thousand: two per cent beside the tolerance.
        predicted.abs_diff(new_reset) <= tolerance + new_reset.max(predicted) / 50
    };
    match (continuous, fixed) {
        (true, false) => {
            let (reset, missing) = if missing(new) >= missing(old) {
                (new_reset, missing(new))
            } else {
                (old_reset, missing(old))
            };
            RefillEvidence::Continuous {
                window: scaled(reset, limit, missing),
            }
        }
        (false, true) => RefillEvidence::Fixed {
            end: new.sent_at + new_reset + new.resolution,
        },
        _ => RefillEvidence::Neither,
    }
}

fn apart(a: Time, b: Time) -> Duration {
    a.since(b).max(b.since(a))
}

/// `span · by / over`, saturating; `over` is not 0.
fn scaled(span: Duration, by: u64, over: u64) -> Duration {
    let scaled = u128::from(nanos(span)) * u128::from(by) / u128::from(over.max(1));
    Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(sent_ms: u64, remaining: u64, reset_ms: u64, resolution_ms: u64) -> TimedReading {
        let sent_at = Time::ZERO + Duration::from_millis(sent_ms);
        TimedReading {
            sent_at,
            received_at: sent_at + Duration::from_millis(700),
            mark: 0,
            beside: 0,
            remaining,
            reset: Some(Duration::from_millis(reset_ms)),
            resolution: Duration::from_millis(resolution_ms),
        }
    }

    #[test]
    fn a_reset_in_proportion_to_what_is_missing_is_a_continuous_refill() {
        let pair = (seen(0, 56, 133, 1), seen(250, 40, 667, 1));
        let RefillEvidence::Continuous { window } = lean(&pair.0, &pair.1, 60) else {
            panic!("{:?}", lean(&pair.0, &pair.1, 60));
        };
        assert!(window.abs_diff(Duration::from_secs(2)) < Duration::from_millis(5));
    }

    #[test]
    fn resets_that_point_at_one_moment_are_a_fixed_window() {
        let lean = lean(&seen(0, 46, 980, 1), &seen(250, 20, 730, 1), 50);
        let end = Time::ZERO + Duration::from_millis(981);
        assert_eq!(lean, RefillEvidence::Fixed { end });
    }

    #[test]
    fn readings_of_one_moment_in_whole_seconds_say_nothing() {
        let lean = lean(
            &seen(0, 3999, 1000, 1000),
            &seen(10, 3998, 1000, 1000),
            4000,
        );
        assert_eq!(lean, RefillEvidence::Neither);
    }

    #[test]
    fn whole_seconds_tell_after_some_of_them() {
        let lean = lean(
            &seen(0, 3900, 2000, 1000),
            &seen(9000, 3500, 8000, 1000),
            4000,
        );
        assert!(
            matches!(lean, RefillEvidence::Continuous { .. }),
            "{lean:?}"
        );
    }

    #[test]
    fn a_server_that_always_says_the_same_says_nothing() {
        let lean = lean(&seen(0, 60, 60_000, 1), &seen(5000, 60, 60_000, 1), 60);
        assert_eq!(lean, RefillEvidence::Neither);
    }
}
