//! The arguments of the commands that list kept runs, show one, and delete some.

use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use jiff::civil::Date;

use super::numbers::{age, whole};
use super::{help, named};

/// `runner list`
#[derive(Debug, Args)]
#[command(after_help = help::LIST)]
pub(crate) struct List {
    /// List at most N runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>)]
    pub(crate) limit: usize,
    /// List only runs with this tag, with any value or with VALUE; repeatable: a run must have all of them
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = named)]
    pub(crate) tag: Vec<(String, Option<String>)>,
    /// List only runs that are in this state; repeatable: any of them
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    pub(crate) status: Vec<ListedState>,
    /// List only runs that began since then: an age (12h, 7d), a day (2026-11-20), or a time with its zone
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<SinceTime>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What has become of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListedState {
    /// It is going on
    Running,
    /// Every case ended
    Finished,
    /// It was stopped, or its process died
    Interrupted,
    /// Every case passed
    Passed,
    /// Not every case passed, and it is not going on
    Failed,
}

/// Since when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SinceTime {
    /// So long before now.
    Age(Duration),
    /// The beginning of a day, where the person is.
    Day(Date),
    At(Timestamp),
}

fn since(text: &str) -> Result<SinceTime, &'static str> {
    let by_age = || age(text).ok().map(SinceTime::Age);
    let by_day = || text.parse().ok().map(SinceTime::Day);
    let by_time = || text.parse().ok().map(SinceTime::At);
    // A time has a day before it, so it is tried first.
    by_time().or_else(by_age).or_else(by_day).ok_or(
        "not an age such as 12h, 7d or 2w, nor a day such as 2026-11-20, nor a time such as 2026-11-20T09:00:00Z",
    )
}

/// `runner show`
#[derive(Debug, Args)]
#[command(after_help = help::SHOW)]
pub(crate) struct Show {
    /// The run: its id, the beginning of its id, or latest
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// Print JSON, in the shape of `runner eval -o results.json`; with --test its results alone
    #[arg(long, conflicts_with_all = ["failed", "rows"])]
    pub(crate) json: bool,
    /// Show only tests in which some case did not pass
    #[arg(long)]
    pub(crate) failed: bool,
    /// Show at most N tests
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = whole::<usize>)]
    pub(crate) rows: usize,
    /// Show only this test (its number in the table): all there is about its cases
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    pub(crate) test: Option<u32>,
    /// Show only this column (its number in the table's head)
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    pub(crate) column: Option<u32>,
    /// Show only tests that have TEXT in the description, variables, prompt, metadata, an answer or a reason; upper and lower case are the same
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["json", "test"])]
    pub(crate) grep: Option<String>,
    /// Show the metrics of each column instead of the table: the means of named scores, and derived ones
    #[arg(long, conflicts_with_all = ["failed", "rows", "test", "grep"])]
    pub(crate) metrics: bool,
    /// Cut answers and variables in the table to N characters
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = whole::<usize>)]
    pub(crate) table_cell_max_length: usize,
}

/// `runner delete`
#[derive(Debug, Args)]
#[command(after_help = help::DELETE)]
pub(crate) struct Delete {
    /// The runs: their ids, the beginnings of their ids, or latest
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_when_is_an_age_a_day_or_a_time() {
        let day = jiff::civil::date(2026, 11, 20);
        assert_eq!(since("2d"), Ok(SinceTime::Age(Duration::from_hours(48))));
        assert_eq!(since("2026-11-20"), Ok(SinceTime::Day(day)));
        let at = Timestamp::from_millisecond(1_700_000_000_000).expect("a time");
        assert_eq!(since("2023-11-14T22:13:20Z"), Ok(SinceTime::At(at)));
        for text in ["", "yesterday", "2026", "2026-13-01", "7"] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
