//! Lengths of time as servers write them: `6m0s`, `8.64s`, `12ms`, `45.837906927s`, `20`.
//!
//! **Grammar.** Go's: pairs of a decimal and a unit without anything between them, in any
//! order. We add `d` for days, which Go lacks and some servers write. Google's protobuf
//! durations are a part of the same grammar. Letters are taken up to the next digit, so `ms` is
//! never read as minutes. A sign makes it garbage: a wait cannot be negative.
//!
//! **Resolution.** The last digit written says how exact a length is: `8.64s` is good for 10 ms,
//! `12ms` for 1 ms. Coarser than a second is never assumed, since `2h` most likely leaves out
//! minutes and seconds because they are zero.
//!
//! **The cap.** [`Span::new`] is the only way to a [`Span`], and it refuses what is longer than
//! [`Hint::LONGEST`]. So no format can forget the cap, and nothing after it can overflow.

use std::time::Duration;

use runner_scheduler::Hint;

use super::cursor::{Cursor, Decimal};

/// Nanoseconds of a second.
pub(super) const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of a millisecond.
pub(super) const MILLISECOND: u64 = 1_000_000;

/// Units of Go's durations, and days. In nanoseconds.
const UNITS: [(&str, u64); 9] = [
    ("s", SECOND),
    ("ms", MILLISECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
    ("d", 86_400 * SECOND),
    ("us", 1_000),
    ("\u{b5}s", 1_000),  // the micro sign, which Go writes
    ("\u{3bc}s", 1_000), // the Greek letter, which Go reads as well
    ("ns", 1),
];

/// A believable length of time, and how exact it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// How long: at most [`Hint::LONGEST`].
    pub(super) length: Duration,
    /// The truth is less than this away: from 1 ns to 1 s.
    pub(super) resolution: Duration,
}

impl Span {
    /// A length in nanoseconds, exact to `step` of them; `None` beyond [`Hint::LONGEST`].
    pub(super) fn new(nanos: u128, step: u64) -> Option<Self> {
        let length = Duration::from_nanos(u64::try_from(nanos).ok()?);
        (length <= Hint::LONGEST).then_some(Self {
            length,
            resolution: Duration::from_nanos(step.clamp(1, SECOND)),
        })
    }
}

/// A sum of lengths with their units.
#[derive(Debug, Clone, Copy)]
pub(super) struct DurationSum {
    nanos: u128,
    step: u64,
}

impl DurationSum {
    /// Nothing yet.
    pub(super) const ZERO: Self = Self {
        nanos: 0,
        step: SECOND,
    };

    /// Adds `amount` units of `unit` nanoseconds.
    pub(super) fn add(&mut self, amount: Decimal, unit: u64) {
        self.nanos = self.nanos.saturating_add(amount.times(unit));
        self.step = self.step.min(amount.step(unit));
    }

    /// The sum, if it is believable.
    pub(super) fn span(self) -> Option<Span> {
        Span::new(self.nanos, self.step)
    }
}

/// A number without unit, counted in units of `unit` nanoseconds. Nothing may follow it.
pub(super) fn bare(text: &[u8], unit: u64) -> Option<Span> {
    let amount = alone(text)?;
    Span::new(amount.times(unit), amount.step(unit))
}

/// A decimal with nothing behind it.
pub(super) fn alone(text: &[u8]) -> Option<Decimal> {
    let mut cursor = Cursor::new(text);
    let amount = cursor.decimal()?;
    cursor.is_done().then_some(amount)
}

/// A Go or protobuf duration. Nothing may follow it.
pub(super) fn with_units(text: &[u8]) -> Option<Span> {
    let mut cursor = Cursor::new(text);
    let mut sum = DurationSum::ZERO;
    loop {
        let amount = cursor.decimal()?;
        sum.add(amount, unit(cursor.run(is_letter))?);
        if cursor.is_done() {
            return sum.span();
        }
    }
}

/// Nanoseconds of a unit by its short name.
pub(super) fn unit(name: &[u8]) -> Option<u64> {
    let found = UNITS.iter().find(|(known, _)| known.as_bytes() == name)?;
    Some(found.1)
}

/// A byte of a unit's name; the micro sign has two bytes that are not ASCII.
pub(super) const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Nanoseconds of the length and of the resolution.
    fn read(text: &str) -> Option<(u128, u128)> {
        let span = with_units(text.as_bytes())?;
        Some((span.length.as_nanos(), span.resolution.as_nanos()))
    }

    #[test]
    fn every_unit_is_known() {
        const S: u128 = 1_000_000_000;
        for (text, length, resolution) in [
            ("1s", S, S),
            ("0s", 0, S),
            ("6m0s", 360 * S, S),
            ("1h30m", 5_400 * S, S),
            ("1h30s", 3_630 * S, S),
            ("2h15m30s", 8_130 * S, S),
            ("2d", 172_800 * S, S),
            ("1d1h", 90_000 * S, S),
            ("8.64s", 8_640_000_000, S / 100),
            ("2m59.56s", 179_560_000_000, S / 100),
            ("1.5h", 5_400 * S, S),
            ("12ms", 12_000_000, 1_000_000),
            ("1s820ms", 1_820_000_000, 1_000_000),
            ("1.5ms", 1_500_000, 100_000),
            ("7us", 7_000, 1_000),
            ("7\u{b5}s", 7_000, 1_000),
            ("7\u{3bc}s", 7_000, 1_000),
            ("45.837906927s", 45_837_906_927, 1),
            ("9ns", 9, 1),
        ] {
            assert_eq!(read(text), Some((length, resolution)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_absent() {
        for text in [
            "",
            "s",
            "1",
            "1 s",
            "1s ",
            "-1s",
            "+1s",
            "1s-",
            "1x",
            "1S",
            "1..5s",
            ".5s",
            "5.s",
            "1e3s",
            "infs",
            "NaN",
            "1s1",
            "1m 0s",
            "1sm",
            "1\u{b5}",
            "\u{b5}s",
            "99999999999999999999s",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_month_is_believed_and_a_moment_more_is_not() {
        assert!(read("31d").is_some());
        assert_eq!(read("31d1ns"), None);
        assert_eq!(read("18446744073709551615d18446744073709551615d"), None);
    }

    proptest! {
        #[test]
        fn a_written_duration_reads_as_itself(
            hours in 0_u64..700, minutes in 0_u64..60, seconds in 0_u64..60, nanos in 0_u32..1_000_000_000,
        ) {
            let text = format!("{hours}h{minutes}m{seconds}.{nanos:09}s");
            let whole = Duration::new(hours * 3_600 + minutes * 60 + seconds, nanos);
            let span = with_units(text.as_bytes()).expect("it is well written");
            prop_assert_eq!(span.length, whole);
            prop_assert_eq!(span.resolution, Duration::from_nanos(1));
        }

        #[test]
        fn parts_add_up_in_any_order(parts in prop::collection::vec((0_u64..1_000, 0_usize..9), 1..6)) {
            let mut text = String::new();
            let mut nanos = 0_u128;
            for (amount, place) in parts {
                let (name, unit) = UNITS[place];
                text.push_str(&amount.to_string());
                text.push_str(name);
                nanos += u128::from(amount) * u128::from(unit);
            }
            let read = with_units(text.as_bytes()).map(|span| span.length.as_nanos());
            prop_assert_eq!(read, (nanos <= Hint::LONGEST.as_nanos()).then_some(nanos));
        }
    }
}
