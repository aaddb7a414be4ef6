//! Whole responses: what each provider sends, who wins where several say the same, and what
//! holds for any bytes.

use proptest::prelude::*;
use runner_scheduler::{Dimension, Reading};

use super::*;

mod any_bytes;
mod providers;

/// 2026-01-02T03:04:05Z, in seconds since 1970.
const NOW: u64 = 1_767_323_045;

/// Headers from lines of `name: value`.
fn headers(lines: &str) -> Vec<(String, String)> {
    lines
        .lines()
        .filter_map(|line| line.trim().split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// A response without a body, read by our clock.
fn read(status: u16, lines: &str) -> Hint {
    read_with(status, lines, BodyHint::default())
}

fn read_with(status: u16, lines: &str, body: BodyHint<'_>) -> Hint {
    HintSource {
        status,
        headers: &headers(lines),
        body,
        unix_time: Duration::from_secs(NOW),
    }
    .read()
}

/// A reading of counts alone.
fn counts(dimension: Dimension, limit: u64, remaining: u64) -> Reading {
    Reading {
        dimension,
        limit: Some(limit),
        remaining: Some(remaining),
        reset: None,
        resolution: Duration::ZERO,
        window: None,
    }
}

/// A reading with more than counts.
trait More {
    /// With a reset in milliseconds that is exact to so many.
    fn resets(self, milliseconds: u64, resolution: u64) -> Self;

    /// With a window in seconds.
    fn per(self, seconds: u64) -> Self;
}

impl More for Reading {
    fn resets(mut self, milliseconds: u64, resolution: u64) -> Self {
        self.reset = Some(Duration::from_millis(milliseconds));
        self.resolution = Duration::from_millis(resolution);
        self
    }

    fn per(mut self, seconds: u64) -> Self {
        self.window = Some(Duration::from_secs(seconds));
        self
    }
}

fn wait(lines: &str) -> Option<u128> {
    read(429, lines).retry_after.map(|wait| wait.as_millis())
}

#[test]
fn a_wait_is_seconds_milliseconds_or_a_date() {
    for (lines, expected) in [
        ("retry-after: 20", Some(20_000)),
        ("Retry-After:  0.25 ", Some(250)),
        ("retry-after: 0", Some(0)),
        ("retry-after-ms: 1500", Some(1_500)),
        ("retry-after-ms: 1500.5", Some(1_500)),
        ("retry-after: 2\nretry-after-ms: 1500", Some(1_500)),
        ("retry-after-ms: soon\nretry-after: 2", Some(2_000)),
        ("retry-after-ms: -1\nretry-after: 2", Some(2_000)),
        ("retry-after: Fri, 02 Jan 2026 03:04:35 GMT", Some(30_000)),
        ("retry-after: Friday, 02-Jan-26 03:04:35 GMT", Some(30_000)),
        ("retry-after: Fri Jan  2 03:04:35 2026", Some(30_000)),
        ("retry-after: Fri, 02 Jan 2026 03:04:00 GMT", Some(0)),
        (
            "retry-after: Fri, 02 Jan 2026 03:04:35 GMT\ndate: Fri, 02 Jan 2026 03:04:15 GMT",
            Some(20_000),
        ),
        ("retry-after: 2678400", Some(2_678_400_000)),
        ("retry-after: 2678401", None),
        ("retry-after: 1767323075", None),
        ("retry-after: Fri, 02 Jan 2032 03:04:35 GMT", None),
        ("retry-after: 1\nretry-after: 2", Some(1_000)),
    ] {
        assert_eq!(wait(lines), expected, "{lines}");
    }
}

#[test]
fn what_is_no_wait_is_absent() {
    for value in [
        "",
        "-1",
        "+1",
        "1e3",
        "inf",
        "NaN",
        "12abc",
        "1.2.3",
        "20 s",
        "1,000",
        "0x10",
        "soon",
        "99999999999999999999999",
    ] {
        assert_eq!(wait(&format!("retry-after: {value}")), None, "{value}");
        assert_eq!(wait(&format!("retry-after-ms: {value}")), None, "{value}");
    }
}

#[test]
fn a_header_comes_before_the_body_and_the_body_before_its_words() {
    let body = BodyHint {
        retry_delay: Some("45.837906927s"),
        message: Some("Please retry after 6 seconds"),
    };
    let wait = |lines, body| read_with(429, lines, body).retry_after;
    assert_eq!(wait("retry-after: 1", body), Some(Duration::from_secs(1)));
    let delay = Some(Duration::new(45, 837_906_927));
    assert_eq!(wait("", body), delay);
    assert_eq!(wait("retry-after: never", body), delay, "garbage is absent");
    let words = |retry_delay| BodyHint {
        retry_delay,
        ..body
    };
    for absent in [
        None,
        Some("soon"),
        Some("-1s"),
        Some("99999999s"),
        Some("45"),
    ] {
        assert_eq!(
            wait("", words(absent)),
            Some(Duration::from_secs(6)),
            "{absent:?}"
        );
    }
}

#[test]
fn a_success_asks_for_no_wait() {
    let body = BodyHint {
        retry_delay: Some("1s"),
        message: Some("try again in 1s"),
    };
    let lines = "retry-after: 20\nx-should-retry: false\nx-ratelimit-remaining: 0";
    let hint = read_with(200, lines, body);
    assert_eq!((hint.retry_after, hint.useless), (None, false));
    assert_eq!(hint.readings[0].remaining, Some(0), "its limits are read");
    assert_eq!(read_with(399, lines, body).retry_after, None);
    assert_eq!(
        read_with(400, lines, body).retry_after,
        Some(Duration::from_secs(20))
    );
}

#[test]
fn a_server_may_forbid_another_try() {
    assert!(read(500, "X-Should-Retry: False").useless);
    assert!(!read(500, "x-should-retry: true").useless);
    assert!(!read(500, "x-should-retry: 0").useless);
    assert!(!read(500, "").useless);
}

#[test]
fn the_first_that_can_be_read_counts_within_a_field() {
    let lines = "ratelimit-limit: 7
        ratelimit-remaining: 7
        ratelimit-reset: 7
        x-ratelimit-reset-requests: soon
        x-ratelimit-reset: 1767323055
        x-ratelimit-reset-after: 9.5
        x-ratelimit-remaining-requests: -1
        x-ratelimit-remaining: 50
        x-ratelimit-limit-requests: 100";
    let expected = counts(Dimension::Requests, 100, 50).resets(9_500, 100);
    assert_eq!(read(200, lines).readings, [expected]);
}

#[test]
fn of_one_header_sent_twice_the_first_that_can_be_read_counts() {
    let lines = "x-ratelimit-remaining: many
        x-ratelimit-remaining: 40
        x-ratelimit-remaining: 30
        x-ratelimit-limit: 60";
    assert_eq!(
        read(200, lines).readings,
        [counts(Dimension::Requests, 60, 40)]
    );
}

#[test]
fn of_several_counters_the_one_with_the_least_left_holds() {
    let minute = "x-ratelimit-limit-requests-minute: 30
        x-ratelimit-remaining-requests-minute: 30\n";
    let day = |left| {
        format!(
            "{minute}x-ratelimit-limit-requests-day: 14400
            x-ratelimit-remaining-requests-day: {left}"
        )
    };
    let of_minute = counts(Dimension::Requests, 30, 30).per(60);
    assert_eq!(read(200, &day(7_200)).readings, [of_minute]);
    let of_day = counts(Dimension::Requests, 14_400, 3).per(86_400);
    assert_eq!(read(200, &day(3)).readings, [of_day]);
}

#[test]
fn a_counter_that_is_not_believed_makes_room_for_another() {
    let lines = "x-ratelimit-limit: 0
        x-ratelimit-remaining: 0
        ratelimit: \"p\";r=50;t=30";
    let mut expected = counts(Dimension::Requests, 1, 50).resets(30_000, 1_000);
    expected.limit = None;
    assert_eq!(read(200, lines).readings, [expected]);
}

#[test]
fn a_reset_belongs_to_its_own_counter() {
    let lines = "x-ratelimit-remaining-requests: 5
        x-ratelimit-remaining-tokens: 0
        x-ratelimit-reset-requests: 1s";
    let readings = read(429, lines).readings;
    assert_eq!(readings[0].reset, Some(Duration::from_secs(1)));
    assert_eq!(readings[1].reset, None);
}

#[test]
fn a_value_that_is_too_long_is_absent() {
    let long = |length: usize| format!("x-ratelimit-limit: {:0>length$}", 5);
    assert_eq!(read(200, &long(255)).readings[0].limit, Some(5));
    assert_eq!(
        read(200, &long(256)).readings,
        [],
        "with the space in front"
    );
    let padded = |length: usize| format!("ratelimit: \"{}\";r=5", "p".repeat(length));
    assert_eq!(read(200, &padded(1_000)).readings[0].remaining, Some(5));
    assert_eq!(read(200, &padded(1_024)).readings, []);
}
