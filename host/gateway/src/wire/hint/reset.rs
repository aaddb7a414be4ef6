//! When a limit is reset: every format that servers use, as a length of time from now.
//!
//! **Formats, in the order in which they are tried**: a bare number, a duration with units
//! (`duration`), RFC 3339 and HTTP dates (`date`). They cannot be mistaken for each other, so
//! the order is only one of speed.
//!
//! **The magnitude rule.** A bare number may be seconds from now, seconds since 1970 or
//! milliseconds since 1970, under the same header's name. Its size tells: below 10⁹ it is
//! seconds from now (10⁹ s are 31 years), below 10¹⁰ seconds since 1970 (good until 2286), else
//! milliseconds since 1970. It is the rule of the published design.
//!
//! **The clock.** Two machines' clocks never agree, so a point in time is compared with the
//! response's own `date`; only a response without one is compared with our clock. `date` has
//! whole seconds, so what was compared with it is good for one second, however exactly the
//! server wrote the other.
//!
//! **Belief.** The past counts as now: the server rounded, or the answer took its time. But a
//! point in time more than [`Hint::LONGEST`] away, in either direction, is nobody's limit: it is a
//! field that was never set (Go writes `0001-01-01T00:00:00Z`), or a wrong unit.

use std::time::Duration;

use jiff::Timestamp;
use runner_scheduler::Hint;

use super::cursor::Decimal;
use super::date;
use super::duration::{self, MILLISECOND, SECOND, Span};

/// Below this a bare number is seconds from now.
const EPOCH_SECONDS: u64 = 1_000_000_000;

/// From this on a bare number is milliseconds since 1970.
const EPOCH_MILLISECONDS: u64 = 10_000_000_000;

/// What time it was when the response was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    now: Timestamp,
    /// How exact it is, in nanoseconds.
    step: u64,
}

impl Clock {
    /// The response's own `date`, or else ours since 1970.
    pub(super) fn new(date: Option<&[u8]>, ours: Duration) -> Self {
        let of_response = date.and_then(date::http);
        let now = of_response.or_else(|| since_1970(ours.as_nanos()));
        Self {
            now: now.unwrap_or(Timestamp::MAX),
            step: if of_response.is_some() { SECOND } else { 1 },
        }
    }

    /// How long until `moment`, which is exact to `step` nanoseconds.
    pub(super) fn until(&self, moment: Timestamp, step: u64) -> Option<Span> {
        let distance = moment.duration_since(self.now);
        if distance.unsigned_abs() > Hint::LONGEST {
            return None;
        }
        let nanos = u128::try_from(distance.as_nanos()).unwrap_or(0);
        Span::new(nanos, step.max(self.step))
    }
}

/// The moment so many nanoseconds after 1970 began in UTC.
fn since_1970(nanos: u128) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::try_from(nanos).ok()?).ok()
}

/// Reads how long until a reset.
pub(super) fn read(text: &[u8], clock: &Clock) -> Option<Span> {
    if let Some(number) = duration::alone(text) {
        return by_magnitude(number, clock);
    }
    duration::with_units(text)
        .or_else(|| date::rfc3339(text).and_then(|(moment, step)| clock.until(moment, step)))
        .or_else(|| clock.until(date::http(text)?, SECOND))
}

/// The magnitude rule.
fn by_magnitude(number: Decimal, clock: &Clock) -> Option<Span> {
    let unit = if number.whole < EPOCH_MILLISECONDS {
        SECOND
    } else {
        MILLISECOND
    };
    let nanos = number.times(unit);
    if number.whole < EPOCH_SECONDS {
        return Span::new(nanos, number.step(unit));
    }
    clock.until(since_1970(nanos)?, number.step(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-02T03:04:05Z.
    const NOW: u64 = 1_767_323_045;

    /// Milliseconds of the length and of the resolution, by our clock.
    fn ours(text: &str) -> Option<(u128, u128)> {
        let clock = Clock::new(None, Duration::from_secs(NOW));
        let span = read(text.as_bytes(), &clock)?;
        Some((span.length.as_millis(), span.resolution.as_millis()))
    }

    #[test]
    fn the_size_of_a_number_tells_its_unit() {
        assert_eq!(ours("0"), Some((0, 1_000)));
        assert_eq!(ours("30"), Some((30_000, 1_000)));
        assert_eq!(ours("0.25"), Some((250, 10)));
        assert_eq!(ours("1767323075"), Some((30_000, 1_000)));
        assert_eq!(ours("1767323075.5"), Some((30_500, 100)));
        assert_eq!(ours("1767323075250"), Some((30_250, 1)));
        assert_eq!(ours("999999999"), None, "31 years from now");
        assert_eq!(ours("1000000000"), None, "2001");
        assert_eq!(ours("9999999999"), None, "2286");
        assert_eq!(ours("10000000000"), None, "1970, in milliseconds");
    }

    #[test]
    fn the_past_is_now_but_long_ago_is_absent() {
        assert_eq!(ours("1767323000"), Some((0, 1_000)));
        assert_eq!(ours("2026-01-02T03:04:04Z"), Some((0, 1_000)));
        assert_eq!(
            ours("0001-01-01T00:00:00Z"),
            None,
            "Go's time that was never set"
        );
        assert_eq!(ours("1970-01-01T00:00:00Z"), None);
        assert_eq!(ours("2027-01-02T03:04:05Z"), None);
        assert_eq!(ours("2026-02-02T03:04:05Z"), Some((31 * 86_400_000, 1_000)));
        assert_eq!(ours("2026-02-02T03:04:06Z"), None);
    }

    #[test]
    fn a_date_counts_from_the_date_of_the_response() {
        let clock = Clock::new(
            Some(b"Fri, 02 Jan 2026 04:00:00 GMT"),
            Duration::from_secs(NOW),
        );
        let span = |text: &str| {
            let span = read(text.as_bytes(), &clock)?;
            Some((span.length.as_millis(), span.resolution.as_millis()))
        };
        assert_eq!(span("Fri, 02 Jan 2026 04:00:20 GMT"), Some((20_000, 1_000)));
        assert_eq!(span("2026-01-02T04:00:20.250Z"), Some((20_250, 1_000)));
        assert_eq!(span("12ms"), Some((12, 1)), "no clock is needed");
    }

    #[test]
    fn a_date_that_is_garbage_leaves_our_clock() {
        let clock = Clock::new(Some(b"yesterday"), Duration::from_secs(NOW));
        let span = read(b"1767323075", &clock).map(|span| span.length.as_secs());
        assert_eq!(span, Some(30));
    }

    #[test]
    fn a_clock_beyond_all_bounds_is_no_danger() {
        let clock = Clock::new(None, Duration::MAX);
        assert_eq!(read(b"1767323075", &clock), None);
    }
}
