//! The arguments of `runner cache`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::numbers::whole;

/// `runner cache …`
#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Say how many answers are remembered, and how much room they take
    Stats,
    /// List the answers that were used last
    Ls(ListCache),
    /// Show a remembered answer in full
    Show {
        /// Its key, or the beginning of it
        key: String,
    },
    /// Forget answers; no results are lost
    Clear(ClearCache),
}

/// `runner cache ls`
#[derive(Debug, Args)]
pub(crate) struct ListCache {
    /// List only those with TEXT in their address or model
    #[arg(value_name = "TEXT")]
    pub(crate) containing: Option<String>,
    /// List at most N answers
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>)]
    pub(crate) limit: usize,
}

/// `runner cache clear`
#[derive(Debug, Args)]
pub(crate) struct ClearCache {
    /// Forget only those that were stored longer ago: 45s, 30m, 12h, 7d, 2w [default: all]
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Option<Duration>,
}

/// A whole number with a unit.
fn age(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "not an age such as 45s, 30m, 12h, 7d or 2w";
    let (place, unit) = text.char_indices().next_back().ok_or(WRONG)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return Err(WRONG),
    };
    let count: u64 = text[..place].parse().map_err(|_| WRONG)?;
    count
        .checked_mul(seconds)
        .map(Duration::from_secs)
        .ok_or(WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_with_a_unit() {
        assert_eq!(age("7d"), Ok(Duration::from_hours(7 * 24)));
        assert_eq!(age("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(age("0m"), Ok(Duration::ZERO));
        for text in ["", "7", "d", "-1d", "1.5h", "7ä", "99999999999999999999w"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
