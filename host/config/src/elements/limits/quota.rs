//! So much in such a time: `60 per 1m`, or `{ max: 60, per: 1m }`.
//!
//! Two forms and no third. The span is always written with its number, so that nobody has to
//! know what `/min` and `/h` stand for, and `10s` is as easy to say as `1s`.

use std::time::Duration;

use crate::model::Findings;
use crate::read::entry::Entry;

/// More than any quota that is sold, and exact in every number format that a config may have.
const MAX_CAPACITY: u64 = 1_000_000_000_000_000;

/// The longest window: a month of whatever length.
const MAX_WINDOW: Duration = Duration::from_hours(31 * 24);

/// Units of a span and their lengths in milliseconds, longer names first.
const UNITS: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 7 * 86_400_000),
];

/// Reads how much, and in which span of time.
pub(super) fn read(entry: &Entry<'_>, findings: &Findings) -> Option<(u64, Duration)> {
    if entry.is_map() {
        return map(entry, findings);
    }
    let Some(text) = entry.text() else {
        entry.mismatch(findings, "like '60 per 1m' or { max: 60, per: 1m }");
        return None;
    };
    let Some((max, per)) = text.split_once(" per ") else {
        let message = format!("must be like '60 per 1m' or {{ max: 60, per: 1m }}, not '{text}'");
        findings.error(entry.at(), message);
        return None;
    };
    let max = max.trim();
    let capacity = max.parse().ok();
    let capacity = capacity.filter(|capacity| (1..=MAX_CAPACITY).contains(capacity));
    if capacity.is_none() {
        let message =
            format!("must begin with a whole number from 1 to {MAX_CAPACITY}, not '{max}'");
        findings.error(entry.at(), message);
    }
    let window = window(per, entry, findings);
    Some((capacity?, window?))
}

fn map(entry: &Entry<'_>, findings: &Findings) -> Option<(u64, Duration)> {
    entry.report_unknown(findings, &["max", "per"]);
    let part = |key| {
        let part = entry.get(key);
        if part.is_none() {
            let example = "for example: { max: 60, per: 1m }";
            findings.error_help(entry.at(), format!("has no `{key}`"), example);
        }
        part
    };
    let (max, per) = (part("max"), part("per"));
    let capacity = max.and_then(|max| max.want_count(findings, 1, MAX_CAPACITY));
    let window = per.and_then(|per| {
        if per.text().is_none() {
            per.mismatch(findings, "a time such as 10s, 1m or 1d");
        }
        window(per.text()?, &per, findings)
    });
    Some((capacity?, window?))
}

fn window(text: &str, entry: &Entry<'_>, findings: &Findings) -> Option<Duration> {
    let text = text.trim();
    let window = span(text).filter(|span| !span.is_zero() && *span <= MAX_WINDOW);
    if window.is_none() {
        findings.error(
            entry.at(),
            format!(
                "a time must be a number and ms, s, m, h, d or w, from 1ms to 31d, not '{text}'"
            ),
        );
    }
    window
}

/// Reads a span of time as people write it: a whole number and ms, s, m, h, d or w.
pub fn span(text: &str) -> Option<Duration> {
    let (number, length) = UNITS
        .iter()
        .find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)))?;
    let number: u64 = number.trim_end().parse().ok()?;
    number.checked_mul(*length).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_written_a_span_is_a_time_or_none(text in "[0-9]{0,25} ?[a-zé]{0,3}") {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            if let Some(span) = span(&text) {
                let number: u128 = digits.parse().expect("a span has a number");
                prop_assert_eq!(span.as_millis() % number.max(1), 0);
                prop_assert!(span.as_millis() >= number);
            }
        }
    }

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        let cases = [
            ("250ms", Some(250)),
            ("1s", Some(1_000)),
            ("10 s", Some(10_000)),
            ("1m", Some(60_000)),
            ("1h", Some(3_600_000)),
            ("1d", Some(86_400_000)),
            ("0s", Some(0)),
            ("1", None),
            ("m", None),
            ("1.5s", None),
            ("-1s", None),
            ("1min", None),
            ("99999999999999999999d", None),
            ("9999999999999999999d", None),
            ("", None),
        ];
        for (text, ms) in cases {
            assert_eq!(span(text), ms.map(Duration::from_millis), "{text}");
        }
    }
}
