//! What servers say about their limits, as their readers understand it.
//!
//! Each style has the parts and the rounding of one family of APIs, and so the resolution that a
//! reader sees. That it is read so from the text of headers is for the tests of that reader, in
//! the gateway.

use std::time::Duration;

use runner_scheduler::{Dimension, Hint, Reading};

use super::quota::Level;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Requests,
    Tokens,
}

/// How limits are written on every answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Nothing.
    Silent,
    /// `x-ratelimit-remaining-requests`, resets as Go durations.
    OpenAi,
    /// Only what remains, by the names of OpenAI.
    Azure,
    /// `anthropic-ratelimit-requests-remaining`, resets as dates in whole seconds, tokens
    /// rounded to the thousand.
    Anthropic,
    /// `x-ratelimit-remaining-req-minute`, no resets.
    Mistral,
    /// LiteLLM's proxy: limit and remaining on answers, nothing on refusals, no resets.
    LiteLlm,
    /// `ratelimit-remaining`, resets in whole seconds; requests only.
    Ietf,
}

/// What a refusal says about coming back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Nothing.
    Nothing,
    /// `retry-after` in whole seconds, rounded up.
    Seconds,
    /// `retry-after-ms`.
    Millis,
    /// `retry-after` that is always this many seconds.
    Always(u64),
    /// Google's `RetryInfo` in the body.
    RetryInfo,
}

/// How a server talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Voice {
    pub(crate) style: Style,
    pub(crate) ask: Ask,
}

/// What one answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) voice: Voice,
    /// Limits that are declared in this answer.
    pub(crate) levels: Vec<(Unit, Level)>,
    /// How long until the request would have been accepted; on refusals.
    pub(crate) wait: Option<Duration>,
}

impl Said {
    /// What the client knows when it has read it.
    pub(crate) fn hint(&self) -> Hint {
        let levels = self.levels.iter();
        let mut readings: Vec<_> = levels
            .filter_map(|(unit, level)| self.reading(*unit, level))
            .collect();
        readings.sort_by_key(|reading| reading.dimension);
        Hint {
            retry_after: self.wait.and_then(|wait| self.asked(wait)),
            readings,
            ..Hint::default()
        }
    }

    fn asked(&self, wait: Duration) -> Option<Duration> {
        match self.voice.ask {
            Ask::Nothing => None,
            Ask::Seconds => Some(whole_seconds(wait)),
            Ask::Millis => Some(whole_millis(wait)),
            Ask::Always(seconds) => Some(Duration::from_secs(seconds)),
            Ask::RetryInfo => Some(wait),
        }
    }

    fn reading(&self, unit: Unit, level: &Level) -> Option<Reading> {
        let second = Duration::from_secs(1);
        let reset = whole_seconds(level.reset);
        let plain = Reading {
            dimension: match unit {
                Unit::Requests => Dimension::Requests,
                Unit::Tokens => Dimension::Tokens,
            },
            limit: Some(level.limit),
            remaining: Some(level.remaining),
            reset: None,
            resolution: Duration::ZERO,
            window: None,
        };
        match self.voice.style {
            Style::OpenAi => Some(Reading {
                reset: Some(whole_millis(level.reset)),
                resolution: last_digit(whole_millis(level.reset)),
                ..plain
            }),
            Style::Azure => Some(Reading {
                limit: None,
                ..plain
            }),
            Style::Anthropic => Some(Reading {
                remaining: Some(rounded(unit, level.remaining).min(level.limit)),
                reset: Some(reset),
                resolution: second,
                ..plain
            }),
            Style::LiteLlm => Some(plain),
            Style::Mistral => Some(Reading {
                window: Some(Duration::from_mins(1)),
                ..plain
            }),
            Style::Ietf if unit == Unit::Requests => Some(Reading {
                reset: Some(reset),
                resolution: second,
                ..plain
            }),
            Style::Silent | Style::Ietf => None,
        }
    }
}

/// Anthropic rounds remaining tokens to the thousand.
fn rounded(unit: Unit, remaining: u64) -> u64 {
    match unit {
        Unit::Requests => remaining,
        Unit::Tokens => (remaining + 500) / 1000 * 1000,
    }
}

fn whole_seconds(span: Duration) -> Duration {
    Duration::from_secs(span.as_nanos().div_ceil(1_000_000_000) as u64)
}

fn whole_millis(span: Duration) -> Duration {
    Duration::from_millis(span.as_nanos().div_ceil(1_000_000) as u64)
}

/// How exact a Go duration of whole milliseconds is: `12ms` to one of them, and from a second on
/// (`8.64s`, `6m0s`) as far as there are digits, since zeros at the end are not written.
fn last_digit(span: Duration) -> Duration {
    let millis = span.as_millis() as u64;
    let steps = [1000, 100, 10].into_iter();
    let step = steps
        .filter(|_| millis >= 1000)
        .find(|step| millis.is_multiple_of(*step));
    Duration::from_millis(step.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_as_exact_as_its_last_digit() {
        let exact = |millis| last_digit(Duration::from_millis(millis)).as_millis();
        let written = [0, 12, 900, 8640, 1500, 54_200, 54_201, 360_000];
        assert_eq!(written.map(exact), [1, 1, 1, 10, 100, 100, 1, 1000]);
    }
}
