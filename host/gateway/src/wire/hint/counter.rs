//! One counter of a server, and when its numbers are believed.
//!
//! **Belief.** Each number is judged when it is read (see [`Reading::MOST`], and `duration` for times).
//! Here they are judged together:
//! - *A limit of zero is no limit.* A server that answers 200 has one; a server that refuses a
//!   model for good (Mistral does) says so with its status, and dividing by zero helps nobody.
//!   On a success "zero of zero" means that nothing is counted, and the counter is absent; on an
//!   error `remaining` zero stays.
//! - *Ten times more than everything is a contradiction.* If more is left than
//!   [`CONTRADICTION`] × limit, one of both numbers is false and nobody knows which: both are
//!   dropped. A little more than everything is normal (a limit was just lowered, a bucket is
//!   larger than its rate) and counts as everything. So `remaining <= limit` holds for whoever
//!   reads it.
//! - *A window of zero is no window*, and so is one longer than a month.
//!
//! **One reading per dimension.** Some servers have several counters for one thing: per minute
//! and per day, or a proxy's own beside the model's. The one that holds is the one with the
//! least left *in absolute numbers*: it is how many can be sent before something is filled
//! again. A share would be wrong here: half of a day's requests is a smaller share than all of
//! a minute's, and far more than a minute lets through. Among equals the one that states its
//! window, then the one that is reset last.

use std::cmp::Reverse;
use std::time::Duration;

use runner_scheduler::{Dimension, Hint, Reading};

use super::duration::{self, Span};
use super::families::Rank;

/// A remainder of so many times its limit contradicts it. Generous: a burst capacity of a few
/// times the rate exists, one of ten times was not seen.
const CONTRADICTION: u64 = 10;

/// What a server says about one counter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counter {
    pub(super) limit: Option<u64>,
    pub(super) remaining: Option<u64>,
    pub(super) reset: Option<Span>,
    pub(super) window: Option<Duration>,
}

impl Counter {
    /// As a reading; `None` if nothing of it is believed. `failed`: it came with an error.
    pub(super) fn reading(mut self, dimension: Dimension, failed: bool) -> Option<Reading> {
        let Self {
            limit, remaining, ..
        } = self;
        if limit == Some(0) {
            self.limit = None;
            self.remaining = remaining.filter(|left| *left == 0 && failed);
            self.remaining?;
        } else if let (Some(limit), Some(left)) = (limit, remaining) {
            if left / CONTRADICTION >= limit {
                self.limit = None;
                self.remaining = None;
            } else {
                self.remaining = Some(left.min(limit));
            }
        }
        (!self.is_empty()).then(|| Reading {
            dimension,
            limit: self.limit,
            remaining: self.remaining,
            reset: self.reset.map(|reset| reset.length),
            resolution: self.reset.map_or(Duration::ZERO, |reset| reset.resolution),
            window: self.window.filter(|_| self.limit.is_some()),
        })
    }

    /// Nothing is said; a window alone is nothing.
    pub(super) const fn is_empty(&self) -> bool {
        self.limit.is_none() && self.remaining.is_none() && self.reset.is_none()
    }
}

/// Of several readings of one dimension the lowest holds.
pub(super) fn order(reading: &Reading) -> impl Ord + use<> {
    (
        reading.remaining.unwrap_or(u64::MAX),
        reading.limit.is_none(),
        reading.window.is_none(),
        Reverse(reading.reset),
    )
}

/// A counter whose parts come from several headers, each with its rank.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartialCounter {
    limit: Option<(Rank, u64)>,
    remaining: Option<(Rank, u64)>,
    reset: Option<(Rank, Span)>,
    window: Option<(Rank, Duration)>,
}

impl PartialCounter {
    pub(super) fn limit(&mut self, rank: Rank, value: Option<u64>) {
        offer(&mut self.limit, rank, value);
    }

    pub(super) fn remaining(&mut self, rank: Rank, value: Option<u64>) {
        offer(&mut self.remaining, rank, value);
    }

    pub(super) fn reset(&mut self, rank: Rank, value: Option<Span>) {
        offer(&mut self.reset, rank, value);
    }

    pub(super) fn window(&mut self, rank: Rank, value: Option<Duration>) {
        offer(&mut self.window, rank, value);
    }

    /// The counter, with the `window` that its names state.
    pub(super) fn counter(&self, window: Option<Duration>) -> Counter {
        Counter {
            limit: self.limit.map(|(_, value)| value),
            remaining: self.remaining.map(|(_, value)| value),
            reset: self.reset.map(|(_, value)| value),
            window: window.or(self.window.map(|(_, value)| value)),
        }
    }
}

/// Keeps the value of the lower rank, and of two with the same rank the earlier.
fn offer<T>(place: &mut Option<(Rank, T)>, rank: Rank, value: Option<T>) {
    let Some(value) = value else { return };
    if place.as_ref().is_none_or(|(known, _)| rank < *known) {
        *place = Some((rank, value));
    }
}

/// A count: digits, perhaps with a fraction, which is rounded down since less is the safe side.
/// Strict where others take the digits in front (`12abc`): half a number is garbage.
pub(super) fn count(text: &[u8]) -> Option<u64> {
    let number = duration::alone(text)?;
    (number.whole <= Reading::MOST).then_some(number.whole)
}

/// A window in seconds.
pub(super) fn window(seconds: u64) -> Option<Duration> {
    let window = Duration::from_secs(seconds);
    (seconds > 0 && window <= Hint::LONGEST).then_some(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(limit: Option<u64>, remaining: Option<u64>, failed: bool) -> Option<Reading> {
        let counter = Counter {
            limit,
            remaining,
            window: Some(Duration::from_mins(1)),
            ..Counter::default()
        };
        counter.reading(Dimension::Requests, failed)
    }

    fn numbers(limit: u64, remaining: u64, failed: bool) -> Option<(Option<u64>, Option<u64>)> {
        let reading = reading(Some(limit), Some(remaining), failed)?;
        Some((reading.limit, reading.remaining))
    }

    #[test]
    fn a_limit_of_zero_is_no_limit() {
        assert_eq!(reading(Some(0), None, false), None);
        assert_eq!(reading(Some(0), None, true), None);
        assert_eq!(numbers(0, 0, false), None, "nothing is counted");
        assert_eq!(
            numbers(0, 0, true),
            Some((None, Some(0))),
            "nothing is left"
        );
        assert_eq!(numbers(0, 5, true), None);
    }

    #[test]
    fn more_than_everything_is_everything_or_a_contradiction() {
        assert_eq!(numbers(100, 100, false), Some((Some(100), Some(100))));
        assert_eq!(numbers(100, 150, false), Some((Some(100), Some(100))));
        assert_eq!(numbers(100, 999, false), Some((Some(100), Some(100))));
        assert_eq!(numbers(100, 1_000, false), None);
        assert_eq!(numbers(1, 1, false), Some((Some(1), Some(1))));
    }

    #[test]
    fn a_window_belongs_to_a_limit() {
        let with = |limit| reading(limit, Some(1), false).and_then(|reading| reading.window);
        assert_eq!(with(Some(5)), Some(Duration::from_mins(1)));
        assert_eq!(with(None), None);
        assert_eq!(window(0), None);
        assert_eq!(window(u64::MAX), None);
        assert_eq!(window(31 * 86_400), Some(Hint::LONGEST));
    }

    #[test]
    fn a_count_is_digits_and_nothing_else() {
        assert_eq!(count(b"59"), Some(59));
        assert_eq!(count(b"59.9"), Some(59));
        assert_eq!(count(b"999999999999999"), Some(Reading::MOST));
        let garbage: [&[u8]; 9] = [
            b"",
            b"-1",
            b"+1",
            b"12abc",
            b"30,000",
            b"1e3",
            b"0x10",
            b"NaN",
            b"1000000000000000",
        ];
        for text in garbage {
            assert_eq!(count(text), None, "{}", text.escape_ascii());
        }
    }
}
