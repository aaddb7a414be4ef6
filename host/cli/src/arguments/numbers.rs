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

/// A metric and what its mean must be at least.
pub(super) fn min_metric(text: &str) -> Result<(String, f64), &'static str> {
    let wrong = "not a metric and a number, for example accuracy=0.9";
    let (name, least) = text.rsplit_once('=').ok_or(wrong)?;
    let least: f64 = least.trim().parse().map_err(|_| wrong)?;
    let is_metric = !name.trim().is_empty() && least.is_finite();
    is_metric
        .then(|| (name.trim().to_owned(), least))
        .ok_or(wrong)
}

/// Percent from 0 to 100; a sign for it may stand behind.
pub(super) fn percent(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent: f64 = number.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent)
}

/// A span of time that has passed.
pub(super) fn age(text: &str) -> Result<Duration, &'static str> {
    runner_config::span(text).ok_or("not an age such as 45s, 30m, 12h, 7d or 2w")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_a_metric_is_a_name_and_a_number() {
        assert_eq!(min_metric("a=b=0.9"), Ok(("a=b".to_owned(), 0.9)));
        for text in ["accuracy", "=1", "a=", "a=x", "a=NaN", "a=inf"] {
            assert!(min_metric(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_age_is_a_number_with_a_unit() {
        assert_eq!(age("7d"), Ok(Duration::from_hours(7 * 24)));
        assert_eq!(age("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(age("0m"), Ok(Duration::ZERO));
        for text in ["", "7", "d", "-1d", "1.5h", "7ä", "99999999999999999999w"] {
            assert!(age(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_no_percentage() {
        for (text, percent) in [("95", 95.0), ("99.5 %", 99.5), ("0", 0.0), ("100%", 100.0)] {
            assert_eq!(min_pass_rate(text), Ok(percent), "{text}");
        }
        for text in ["0.95", "-1", "101", "most", "", "%"] {
            assert!(min_pass_rate(text).is_err(), "{text}");
        }
    }
}
