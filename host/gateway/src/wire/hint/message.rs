//! The last resort: a duration in the message of an error.
//!
//! Some servers say when to come back in words only: "Please try again in 6m0s", "Please retry
//! after 6 seconds", "Please retry in 45.8s". A message is never read for a *decision*: whether
//! to try again has been decided by status and code before, and all that is taken from here is
//! *how long* to wait, where nothing else says it. A wrong reading costs a wait that is too
//! short or too long, never a row.
//!
//! So the reading is narrow: a phrase of the table, directly followed by a number **with its
//! unit**. "retry after 6" could be six of anything and is absent. The first phrase that is
//! followed by a duration counts. Messages can be long (some repeat the prompt), so only their
//! beginning is searched.

use super::cursor::Cursor;
use super::duration::{self, DurationSum, SECOND, Span, is_letter};

/// Bytes of a message that are searched; known messages have a few hundred.
const MAX_MESSAGE: usize = 4096;

/// What stands in front of a duration, in any case.
const PHRASES: [&str; 4] = [
    "try again in ",
    "try again after ",
    "retry in ",
    "retry after ",
];

/// Units as words, in nanoseconds; each may have a plural's `s`.
const WORDS: [(&str, u64); 8] = [
    ("millisecond", SECOND / 1_000),
    ("sec", SECOND),
    ("second", SECOND),
    ("min", 60 * SECOND),
    ("minute", 60 * SECOND),
    ("hr", 3_600 * SECOND),
    ("hour", 3_600 * SECOND),
    ("day", 86_400 * SECOND),
];

/// The wait that a message names.
pub(super) fn wait(message: &str) -> Option<Span> {
    let text = message.as_bytes();
    let text = text.get(..MAX_MESSAGE).unwrap_or(text);
    (0..text.len()).find_map(|start| {
        let rest = &text[start..];
        let after = PHRASES.iter().find_map(|phrase| {
            let (begin, after) = rest.split_at_checked(phrase.len())?;
            begin
                .eq_ignore_ascii_case(phrase.as_bytes())
                .then_some(after)
        })?;
        duration(after)
    })
}

/// Pairs of a number and a unit, with or without space between, as far as they go.
fn duration(text: &[u8]) -> Option<Span> {
    let mut at = Cursor::new(text);
    let mut sum = DurationSum::ZERO;
    let mut any = false;
    while let Some((amount, unit)) = pair(&mut at) {
        sum.add(amount, unit);
        any = true;
    }
    any.then(|| sum.span()).flatten()
}

/// A number and its unit.
fn pair(at: &mut Cursor<'_>) -> Option<(super::cursor::Decimal, u64)> {
    at.skip_space();
    let amount = at.decimal()?;
    at.skip_space();
    Some((amount, unit(at.run(is_letter))?))
}

/// A unit by its short name or as a word.
fn unit(name: &[u8]) -> Option<u64> {
    let singular = name.strip_suffix(b"s").unwrap_or(name);
    let mut words = WORDS.iter();
    let word = words.find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(singular));
    word.map(|(_, unit)| *unit).or_else(|| duration::unit(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(message: &str) -> Option<u128> {
        wait(message).map(|span| span.length.as_millis())
    }

    #[test]
    fn known_sentences_are_understood() {
        for (message, expected) in [
            (
                "Rate limit reached for gpt-4o on requests per min: Limit 3, Used 3, Requested 1. Please try again in 20s. Visit x.",
                20_000,
            ),
            ("Please try again in 6m0s.", 360_000),
            ("Please try again in 1.5s.", 1_500),
            ("Please try again in 820ms. Visit x.", 820),
            ("please TRY AGAIN IN 1h2m3s", 3_723_000),
            (
                "Please retry after 6 seconds. To increase your quota, see 5 pages.",
                6_000,
            ),
            ("Please retry after 1 second.", 1_000),
            ("retry in 6 seconds", 6_000),
            ("Please retry in 45.837906927s.", 45_837),
            ("Try again after 2 minutes 30 seconds", 150_000),
            ("Try again in 2 hours", 7_200_000),
            ("Retry in a moment; if that fails, retry in 5s", 5_000),
        ] {
            assert_eq!(milliseconds(message), Some(expected), "{message}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_no_duration() {
        for message in [
            "",
            "retry after 6",
            "retry after 6.",
            "retry after 2026-01-02T03:04:05Z",
            "try again in a few seconds",
            "try again in -5s",
            "try again in 5 retries",
            "try again in 99999999999999999999s",
            "try again in 90 days",
            "wait 20s",
            "retry after ",
        ] {
            assert_eq!(milliseconds(message), None, "{message}");
        }
    }

    #[test]
    fn only_the_beginning_of_a_message_is_searched() {
        let message = |padding: usize| format!("{}retry in 5s", "ä".repeat(padding));
        assert_eq!(milliseconds(&message(2_000)), Some(5_000));
        assert_eq!(milliseconds(&message(3_000)), None);
        assert_eq!(
            milliseconds(&message(MAX_MESSAGE / 2 - 2)),
            None,
            "cut in the phrase"
        );
    }
}
