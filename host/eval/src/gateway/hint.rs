//! What a response says about trying again: when, and whether at all.
//!
//! Read from error responses only; a `retry-after` on a success means something else.
//! Dates are compared with the response's own `date`, since two clocks never agree.
//! Lanes read far more than this (limits, remaining, resets); they get the headers whole.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use super::class;

#[cfg(test)]
mod tests;

/// A server's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// How long to wait, from when the response came.
    pub after: Option<Duration>,
    /// `false`: the server says that trying again is useless.
    pub again: bool,
}

impl Hint {
    /// No wish at all.
    pub const NONE: Self = Self {
        after: None,
        again: true,
    };
}

/// Reads the hint of a response. `now` stands in where it has no `date`.
pub(super) fn read(status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Hint {
    if status < 400 {
        return Hint::NONE;
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let after = text("retry-after-ms")
        .and_then(|ms| seconds(ms, 1000.0))
        .or_else(|| text(RETRY_AFTER.as_str()).and_then(|value| seconds(value, 1.0)))
        .or_else(|| {
            let at = http_date(text(RETRY_AFTER.as_str())?)?;
            let now = text(DATE.as_str()).and_then(http_date).unwrap_or(now);
            Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
        })
        .or_else(|| retry_info(body));
    // OpenAI's servers and those that follow them.
    let again = text("x-should-retry") != Some("false");
    Hint { after, again }
}

/// A non-negative decimal number of seconds (or of parts of them) that fits.
fn seconds(text: &str, parts: f64) -> Option<Duration> {
    let digits = text.trim();
    if !digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return None;
    }
    Duration::try_from_secs_f64(digits.parse::<f64>().ok()? / parts).ok()
}

/// The date format that HTTP requires of senders; its two obsolete forms are not read.
fn http_date(text: &str) -> Option<Timestamp> {
    let zoned = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(zoned.timestamp())
}

/// Google's `RetryInfo` in an error body: `"retryDelay": "45.837906927s"`.
fn retry_info(body: &[u8]) -> Option<Duration> {
    let root = class::parse(body)?;
    class::entries(root.get("error")?, "details")
        .filter_map(|detail| detail.get("retryDelay")?.as_str())
        .find_map(|delay| seconds(delay.strip_suffix('s')?, 1.0))
}
