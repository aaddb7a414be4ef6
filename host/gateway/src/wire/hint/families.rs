//! The names of headers, as data.
//!
//! **Two word orders, one table.** OpenAI and all who follow it write
//! `x-ratelimit-<part>-<subject>`, Anthropic `anthropic-ratelimit-<subject>-<part>`. So a name
//! is a house's prefix, a part and perhaps a subject, in either order; each of the three is a
//! row of a table, and a new provider is a row more. A name with an unknown word is not ours.
//!
//! | who | what is sent |
//! |---|---|
//! | OpenAI | limit, remaining, reset of requests, tokens, project-tokens |
//! | Azure, GitHub Models | the same, often without limit or reset, -1 for "none"; `renewalperiod` = the window in seconds |
//! | Groq | OpenAI's names, but requests are per day: **a name without a window says nothing about the window** |
//! | Anthropic | requests, tokens, input-tokens, output-tokens |
//! | Mistral | req-minute, req-10-second, tokens-minute, tokens-5-minute, tokens-month: the window is in the name |
//! | Cerebras | requests and tokens, each per minute, hour and day |
//! | Cohere, on trial | `x-trial-endpoint-call-` limit and remaining |
//! | others | `x-ratelimit-<part>`, `ratelimit-<part>`: requests, we assume |
//!
//! **Rank.** Counters without a window in their name are filled in by field: of several
//! headers for one field the one of the lowest rank that can be read counts. What names its
//! subject comes before what does not, then OpenAI's house before Anthropic's before Cohere's
//! before the draft's. It is the published order. `reset-after` comes before `reset`, since it
//! needs no clock. Of one header sent twice the first that can be read counts: the server wrote
//! it, and proxies append.

use std::time::Duration;

use runner_scheduler::Dimension;

/// What a header is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// When the response was written.
    Date,
    /// How long to wait, in seconds or as a date.
    RetryAfter,
    /// How long to wait, in milliseconds.
    RetryAfterMs,
    /// Whether to try again at all.
    ShouldRetry,
    /// The structured state of limits.
    State,
    /// The structured description of limits.
    Policies,
    /// One part of one counter.
    Part(NumberPlace),
}

/// Where a number belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberPlace {
    /// What the counter counts.
    pub(super) dimension: Dimension,
    /// The window that the name states; counters with different windows are different counters.
    pub(super) window: Option<Duration>,
    /// Which part of the counter.
    pub(super) part: Part,
    /// Who comes first.
    pub(super) rank: Rank,
}

/// The parts of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Limit,
    Remaining,
    Reset,
    Window,
}

/// Lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    nameless: bool,
    house: usize,
    part: usize,
}

impl Rank {
    /// Of the early drafts of the IETF's headers, whose limit may be a list.
    pub(super) fn is_draft(self) -> bool {
        HOUSES.get(self.house) == Some(&DRAFT)
    }
}

/// Headers that are not parts of a counter.
const SINGLES: [(&str, Name); 6] = [
    ("date", Name::Date),
    ("retry-after", Name::RetryAfter),
    ("retry-after-ms", Name::RetryAfterMs),
    ("x-should-retry", Name::ShouldRetry),
    ("ratelimit", Name::State),
    ("ratelimit-policy", Name::Policies),
];

/// The prefix of the IETF's early drafts.
const DRAFT: &str = "ratelimit-";

/// Prefixes, in the order of their rank.
const HOUSES: [&str; 4] = [
    "x-ratelimit-",
    "anthropic-ratelimit-",
    "x-trial-endpoint-call-",
    DRAFT,
];

/// Parts; a name that begins like another stands before it.
const PARTS: [(&str, Part); 5] = [
    ("limit", Part::Limit),
    ("remaining", Part::Remaining),
    ("reset-after", Part::Reset),
    ("reset", Part::Reset),
    ("renewalperiod", Part::Window),
];

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;
/// The name says nothing about a window. A month says nothing either: it has no one length,
/// and nobody should pace a run by it.
const UNSAID: u64 = 0;

/// Subjects: what is counted, and the window in seconds. The first is a name without subject.
pub(super) const SUBJECTS: [(&str, Dimension, u64); 16] = [
    ("", Dimension::Requests, UNSAID),
    ("requests", Dimension::Requests, UNSAID),
    ("tokens", Dimension::Tokens, UNSAID),
    ("input-tokens", Dimension::InputTokens, UNSAID),
    ("output-tokens", Dimension::OutputTokens, UNSAID),
    ("project-tokens", Dimension::ProjectTokens, UNSAID),
    ("tokens-month", Dimension::TokensPerMonth, UNSAID),
    ("req-10-second", Dimension::Requests, 10),
    ("req-minute", Dimension::Requests, MINUTE),
    ("requests-minute", Dimension::Requests, MINUTE),
    ("requests-hour", Dimension::Requests, HOUR),
    ("requests-day", Dimension::Requests, DAY),
    ("tokens-minute", Dimension::Tokens, MINUTE),
    ("tokens-5-minute", Dimension::Tokens, 5 * MINUTE),
    ("tokens-hour", Dimension::Tokens, HOUR),
    ("tokens-day", Dimension::Tokens, DAY),
];

/// What the header `name` is about, in any case; `None`: nothing of ours.
pub(super) fn recognise(name: &str) -> Option<Name> {
    let single = SINGLES
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known));
    if let Some((_, name)) = single {
        return Some(*name);
    }
    let (house, words) = HOUSES
        .iter()
        .enumerate()
        .find_map(|(house, prefix)| Some((house, without_prefix(name.as_bytes(), prefix)?)))?;
    let (part, subject) = split(words)?;
    let (name, dimension, seconds) = SUBJECTS
        .iter()
        .find(|(known, ..)| subject.eq_ignore_ascii_case(known.as_bytes()))?;
    Some(Name::Part(NumberPlace {
        dimension: *dimension,
        window: (*seconds > 0).then(|| Duration::from_secs(*seconds)),
        part: PARTS[part].1,
        rank: Rank {
            nameless: name.is_empty(),
            house,
            part,
        },
    }))
}

/// Splits the words behind the prefix into a part (its place in the table) and a subject.
fn split(words: &[u8]) -> Option<(usize, &[u8])> {
    let part_first = |part: &str| match without_prefix(words, part)? {
        [] => Some(&[][..]),
        [b'-', subject @ ..] if !subject.is_empty() => Some(subject),
        _ => None,
    };
    let part_last = |part: &str| match without_suffix(words, part)? {
        [subject @ .., b'-'] if !subject.is_empty() => Some(subject),
        _ => None,
    };
    let mut parts = PARTS.iter().enumerate();
    parts
        .find_map(|(place, (part, _))| Some((place, part_first(part).or_else(|| part_last(part))?)))
}

/// What follows `prefix`.
fn without_prefix<'a>(text: &'a [u8], prefix: &str) -> Option<&'a [u8]> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start
        .eq_ignore_ascii_case(prefix.as_bytes())
        .then_some(rest)
}

/// What precedes `suffix`.
fn without_suffix<'a>(text: &'a [u8], suffix: &str) -> Option<&'a [u8]> {
    let (rest, end) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    end.eq_ignore_ascii_case(suffix.as_bytes()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Option<(Dimension, Part, u64)> {
        match recognise(name)? {
            Name::Part(place) => Some((
                place.dimension,
                place.part,
                place.window.map_or(0, |window| window.as_secs()),
            )),
            _ => None,
        }
    }

    #[test]
    fn every_family_is_known_by_its_names() {
        use Dimension::{InputTokens, OutputTokens, ProjectTokens, Requests, Tokens};
        for (name, expected) in [
            ("x-ratelimit-limit-requests", (Requests, Part::Limit, 0)),
            ("X-RateLimit-Remaining-Tokens", (Tokens, Part::Remaining, 0)),
            (
                "x-ratelimit-reset-project-tokens",
                (ProjectTokens, Part::Reset, 0),
            ),
            (
                "x-ratelimit-project-tokens-limit",
                (ProjectTokens, Part::Limit, 0),
            ),
            (
                "x-ratelimit-renewalperiod-requests",
                (Requests, Part::Window, 0),
            ),
            (
                "anthropic-ratelimit-requests-reset",
                (Requests, Part::Reset, 0),
            ),
            (
                "anthropic-ratelimit-input-tokens-limit",
                (InputTokens, Part::Limit, 0),
            ),
            (
                "ANTHROPIC-RATELIMIT-OUTPUT-TOKENS-REMAINING",
                (OutputTokens, Part::Remaining, 0),
            ),
            ("x-ratelimit-limit-req-minute", (Requests, Part::Limit, 60)),
            (
                "x-ratelimit-remaining-req-10-second",
                (Requests, Part::Remaining, 10),
            ),
            (
                "x-ratelimit-remaining-tokens-minute",
                (Tokens, Part::Remaining, 60),
            ),
            (
                "x-ratelimit-limit-tokens-month",
                (Dimension::TokensPerMonth, Part::Limit, 0),
            ),
            (
                "x-ratelimit-remaining-requests-day",
                (Requests, Part::Remaining, 86_400),
            ),
            ("x-trial-endpoint-call-limit", (Requests, Part::Limit, 0)),
            (
                "x-trial-endpoint-call-remaining",
                (Requests, Part::Remaining, 0),
            ),
            ("x-ratelimit-limit", (Requests, Part::Limit, 0)),
            ("x-ratelimit-reset-after", (Requests, Part::Reset, 0)),
            ("ratelimit-remaining", (Requests, Part::Remaining, 0)),
        ] {
            assert_eq!(place(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_name_with_an_unknown_word_is_not_ours() {
        for name in [
            "",
            "x-ratelimit",
            "x-ratelimit-",
            "x-ratelimit-limit-",
            "x-ratelimit--limit",
            "x-ratelimit-limits",
            "x-ratelimit-limit-images",
            "x-ratelimit-limit-project-requests",
            "x-ratelimit-requests",
            "x-ratelimit-used",
            "anthropic-ratelimit-unified-reset",
            "ratelimit-limit-tokens-minute-x",
            "content-type",
            "x-ratelimit-limité",
        ] {
            assert_eq!(recognise(name), None, "{name}");
        }
    }

    #[test]
    fn the_rank_is_the_published_order() {
        let rank = |name| match recognise(name) {
            Some(Name::Part(place)) => place.rank,
            other => panic!("{name} is {other:?}"),
        };
        let order = [
            "x-ratelimit-reset-requests",
            "anthropic-ratelimit-requests-reset",
            "x-ratelimit-reset-after",
            "x-ratelimit-reset",
            "ratelimit-reset",
        ];
        assert!(order.is_sorted_by_key(|name| rank(name)));
        assert!(rank("ratelimit-limit").is_draft());
        assert!(!rank("x-ratelimit-limit").is_draft());
    }
}
