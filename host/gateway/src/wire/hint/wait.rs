//! How long a server that refused asks us to stay away.
//!
//! **Who is asked, in this order**: `retry-after-ms`, `retry-after`, the delay in the body, a
//! duration in the body's message. A header is meant for us by whoever answered, a body may
//! have been passed on, and a sentence is written for people. Where both headers exist they
//! agree: the second is the first in whole seconds, so the finer one wins. What is garbage or
//! absurd counts as absent, and the next is asked.
//!
//! **Only errors are asked** (status 400 and above). On a redirect or a 202 `retry-after` is
//! about something else, and on a 200 nothing has to be tried again.
//!
//! **`retry-after`** is seconds or an HTTP date by RFC 9110 §10.2.3; fractions of seconds are
//! sent by many. There is no magnitude rule here: no server writes a point in time as a
//! number, and 10⁹ seconds are absurd anyway. Zero is an answer too: "at once".

use super::BodyHint;
use super::date;
use super::duration::{self, MILLISECOND, SECOND, Span};
use super::message;
use super::reset::Clock;
use super::sheet::{MAX_VALUE, Sheet};

/// What an error response asks for.
pub(super) fn asked(sheet: &Sheet<'_>, body: &BodyHint<'_>, clock: &Clock) -> Option<Span> {
    sheet
        .retry_after_ms
        .and_then(|text| duration::bare(text, MILLISECOND))
        .or_else(|| retry_after(sheet.retry_after?, clock))
        .or_else(|| retry_delay(body.retry_delay?))
        .or_else(|| message::wait(body.message?))
}

/// Seconds or a date.
fn retry_after(text: &[u8], clock: &Clock) -> Option<Span> {
    duration::bare(text, SECOND).or_else(|| clock.until(date::http(text)?, SECOND))
}

/// A protobuf duration: `45.837906927s`.
fn retry_delay(text: &str) -> Option<Span> {
    let text = text.as_bytes();
    (text.len() <= MAX_VALUE)
        .then(|| duration::with_units(text.trim_ascii()))
        .flatten()
}
