//! Numbers as they are typed. What is none is refused in words, where Rust's own error says that a
//! digit was found in a string.

use std::str::FromStr;
use std::time::Duration;

/// A number, none included.
pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, &'static str> {
    let number = text.parse();
    number.map_err(|_| "not a whole number, for example 20")
}

/// A number of things of which there must be some.
pub(super) fn some<T: FromStr>(text: &str) -> Result<T, &'static str> {
    let number = text.parse();
    number.map_err(|_| "not a whole number from 1, for example 8")
}

/// A number of milliseconds.
pub(super) fn milliseconds(text: &str) -> Result<Duration, &'static str> {
    let number = text.parse().map(Duration::from_millis);
    number.map_err(|_| "not a whole number of milliseconds, for example 5000")
}

/// Percent of a run that must pass.
pub(super) fn min_pass_rate(text: &str) -> Result<f64, &'static str> {
    let wrong = "not percent, 0 or from 1 to 100, for example 95";
    let percent = percent(text).ok_or(wrong)?;
    runner_config::pass_rate(percent).map_err(|_| wrong)
}

/// Percent from 0 to 100; a sign for it may stand behind.
pub(super) fn percent(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent: f64 = number.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent)
}
