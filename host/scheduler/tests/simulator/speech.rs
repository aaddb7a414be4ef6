//! What servers say about their limits, as real header text.
//!
//! Each style writes the names and formats of one family of APIs, with its rounding: that is
//! where a reader goes wrong. The client reads the text with the scheduler's own
//! [`Hint::read`]; a test holds that against what was meant.

use std::time::Duration;

use runner_scheduler::{BodyHint, Dimension, Hint, Reading, Response, Time};

use super::calendar::{START, http_date, rfc3339, unix_seconds};
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
    /// The same names without a limit and a reset.
    Azure,
    /// `anthropic-ratelimit-requests-remaining`, resets as dates in whole seconds, tokens
    /// rounded to the thousand.
    Anthropic,
    /// `x-ratelimit-remaining-req-minute`, no resets.
    Mistral,
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
    /// `retry-after` as a date, by a server whose clock is this far behind the client's.
    HttpDate { behind: Duration },
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
    /// HTTP status.
    pub(crate) status: u16,
    pub(crate) voice: Voice,
    /// Limits that are declared in this answer.
    pub(crate) levels: Vec<(Unit, Level)>,
    /// How long until the request would have been accepted; on refusals.
    pub(crate) wait: Option<Duration>,
    /// When it was written.
    pub(crate) at: Time,
}

/// How the client gets its hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// From the text, through the scheduler's parser.
    Text,
    /// As they were meant: what is left when the parser is not what is looked at.
    Direct,
}

impl Said {
    /// What the client reads when it comes at `now`.
    pub(crate) fn hint(&self, wire: Wire, now: Time) -> Hint {
        if wire == Wire::Direct {
            return self.meant();
        }
        let headers = self.headers();
        let delay = self.retry_delay();
        Hint::read(&Response {
            status: self.status,
            headers: &headers,
            body: BodyHint {
                retry_delay: delay.as_deref(),
                message: None,
            },
            unix_time: START + now.since(Time::ZERO),
        })
    }

    /// The headers of the answer.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![("date".to_owned(), http_date(self.server_clock()))];
        for (unit, level) in &self.levels {
            headers.extend(self.written(*unit, level));
        }
        if let Some(wait) = self.wait
            && let Some((name, value)) = self.asked(wait)
        {
            headers.push((name.to_owned(), value));
        }
        headers
    }

    /// One limit as headers.
    fn written(&self, unit: Unit, level: &Level) -> Vec<(String, String)> {
        let name = match unit {
            Unit::Requests => "requests",
            Unit::Tokens => "tokens",
        };
        let short = if unit == Unit::Requests { "req" } else { name };
        let (limit, left) = (level.limit.to_string(), level.remaining.to_string());
        match self.voice.style {
            Style::OpenAi => vec![
                (format!("x-ratelimit-limit-{name}"), limit),
                (format!("x-ratelimit-remaining-{name}"), left),
                (
                    format!("x-ratelimit-reset-{name}"),
                    go_duration(level.reset),
                ),
            ],
            Style::Azure => vec![(format!("x-ratelimit-remaining-{name}"), left)],
            Style::Anthropic => {
                let reset = self.server_clock() + whole_seconds(level.reset);
                let left = rounded(unit, level.remaining).to_string();
                vec![
                    (format!("anthropic-ratelimit-{name}-limit"), limit),
                    (format!("anthropic-ratelimit-{name}-remaining"), left),
                    (format!("anthropic-ratelimit-{name}-reset"), rfc3339(reset)),
                ]
            }
            Style::Mistral => vec![
                (format!("x-ratelimit-limit-{short}-minute"), limit),
                (format!("x-ratelimit-remaining-{short}-minute"), left),
            ],
            Style::Ietf if unit == Unit::Requests => {
                let reset = whole_seconds(level.reset).to_string();
                vec![
                    ("ratelimit-limit".to_owned(), limit),
                    ("ratelimit-remaining".to_owned(), left),
                    ("ratelimit-reset".to_owned(), reset),
                ]
            }
            Style::Silent | Style::Ietf => Vec::new(),
        }
    }

    fn asked(&self, wait: Duration) -> Option<(&'static str, String)> {
        match self.voice.ask {
            Ask::Nothing | Ask::RetryInfo => None,
            Ask::Seconds => Some(("retry-after", whole_seconds(wait).to_string())),
            Ask::Millis => Some(("retry-after-ms", whole_millis(wait).to_string())),
            Ask::Always(seconds) => Some(("retry-after", seconds.to_string())),
            Ask::HttpDate { .. } => {
                let date = http_date(self.server_clock() + whole_seconds(wait));
                Some(("retry-after", date))
            }
        }
    }

    /// `RetryInfo.retryDelay` of the body.
    pub(crate) fn retry_delay(&self) -> Option<String> {
        let wait = self.wait.filter(|_| self.voice.ask == Ask::RetryInfo)?;
        Some(format!("{}.{:09}s", wait.as_secs(), wait.subsec_nanos()))
    }

    fn server_clock(&self) -> u64 {
        let behind = match self.voice.ask {
            Ask::HttpDate { behind } => behind.as_secs(),
            _ => 0,
        };
        unix_seconds(self.at) - behind
    }

    /// What a perfect reader takes from it.
    pub(crate) fn meant(&self) -> Hint {
        let readings = self
            .levels
            .iter()
            .filter_map(|(unit, level)| self.reading(*unit, level));
        let retry_after = self.wait.and_then(|wait| match self.voice.ask {
            Ask::Nothing => None,
            Ask::Seconds | Ask::HttpDate { .. } => Some(Duration::from_secs(whole_seconds(wait))),
            Ask::Millis => Some(Duration::from_millis(whole_millis(wait))),
            Ask::Always(seconds) => Some(Duration::from_secs(seconds)),
            Ask::RetryInfo => Some(wait),
        });
        Hint {
            retry_after,
            readings: readings.collect(),
            ..Hint::default()
        }
    }

    fn reading(&self, unit: Unit, level: &Level) -> Option<Reading> {
        let second = Duration::from_secs(1);
        let reset = Duration::from_secs(whole_seconds(level.reset));
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
                reset: Some(Duration::from_millis(whole_millis(level.reset))),
                resolution: Duration::from_millis(1),
                ..plain
            }),
            Style::Azure => Some(Reading {
                limit: None,
                ..plain
            }),
            Style::Anthropic => Some(Reading {
                remaining: Some(rounded(unit, level.remaining)),
                reset: Some(reset),
                resolution: second,
                ..plain
            }),
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

fn whole_seconds(span: Duration) -> u64 {
    span.as_nanos().div_ceil(1_000_000_000) as u64
}

fn whole_millis(span: Duration) -> u64 {
    span.as_nanos().div_ceil(1_000_000) as u64
}

/// `6m0s`, `8.64s`, `12ms`: a Go duration in milliseconds, rounded up.
fn go_duration(span: Duration) -> String {
    let millis = whole_millis(span);
    if millis < 1000 {
        return format!("{millis}ms");
    }
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let mut seconds = format!("{}.{:03}", rest / 1000, rest % 1000);
    seconds.truncate(seconds.trim_end_matches('0').trim_end_matches('.').len());
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(style: Style, ask: Ask) -> Said {
        let level = |limit, remaining, reset| Level {
            limit,
            remaining,
            reset: Duration::from_millis(reset),
        };
        Said {
            status: 429,
            voice: Voice { style, ask },
            levels: vec![
                (Unit::Requests, level(600, 58, 54_200)),
                (Unit::Tokens, level(60_000, 23_456, 360_000)),
            ],
            wait: Some(Duration::from_millis(1234)),
            at: Time::from_nanos(1_500_000_000),
        }
    }

    #[test]
    fn go_durations_are_written_as_go_writes_them() {
        let written = |millis| go_duration(Duration::from_millis(millis));
        assert_eq!(written(12), "12ms");
        assert_eq!(written(8640), "8.64s");
        assert_eq!(written(360_000), "6m0s");
        assert_eq!(written(179_560), "2m59.56s");
        assert_eq!(written(5_400_000), "1h30m0s");
    }

    #[test]
    fn an_openai_refusal_looks_like_one() {
        let headers = said(Style::OpenAi, Ask::Seconds).headers();
        let of = |name: &str| {
            headers
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.as_str())
        };
        assert_eq!(of("x-ratelimit-remaining-requests"), Some("58"));
        assert_eq!(of("x-ratelimit-reset-requests"), Some("54.2s"));
        assert_eq!(of("x-ratelimit-reset-tokens"), Some("6m0s"));
        assert_eq!(of("retry-after"), Some("2"));
    }

    #[test]
    fn the_scheduler_reads_from_the_text_what_was_meant() {
        let skew = Duration::from_secs(90);
        for style in [
            Style::Silent,
            Style::OpenAi,
            Style::Azure,
            Style::Anthropic,
            Style::Mistral,
            Style::Ietf,
        ] {
            for ask in [
                Ask::Nothing,
                Ask::Seconds,
                Ask::Millis,
                Ask::Always(89),
                Ask::Always(0),
                Ask::HttpDate { behind: skew },
                Ask::RetryInfo,
            ] {
                let said = said(style, ask);
                let read = |wire| {
                    let mut hint = said.hint(wire, said.at + Duration::from_millis(20));
                    hint.readings.sort_by_key(|reading| reading.dimension);
                    // How exactly a reset is written is the parser's to judge.
                    for reading in &mut hint.readings {
                        reading.resolution = Duration::ZERO;
                    }
                    hint
                };
                assert_eq!(read(Wire::Text), read(Wire::Direct), "{style:?} {ask:?}");
            }
        }
    }
}
