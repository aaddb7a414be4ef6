//! `--filter-range START:END`: tests by number, from 0, END left out; `filterRange` in a config.
//!
//! Either side may be missing (`10:` is all but the first ten). Numbers count the tests that the
//! filters before this one left, in the order of the config; not rows, of which a test may have
//! many.

use std::fmt;
use std::str::FromStr;

use crate::plan::Tests;

/// Numbers of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestRange {
    start: usize,
    /// The first one that is not in it; `None`: to the end.
    end: Option<usize>,
}

/// Why a text is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// Not two numbers with a colon.
    #[error("not of the form START:END, two whole numbers from 0, for example 0:10")]
    Form,
    /// Nothing is in it.
    #[error("nothing is in it: START must be less than END")]
    Empty,
}

impl FromStr for TestRange {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let number = |text: &str| -> Result<Option<usize>, RangeError> {
            let text = text.trim();
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            match text {
                "" => Ok(None),
                text if is_number => text.parse().map(Some).map_err(|_| RangeError::Form),
                _ => Err(RangeError::Form),
            }
        };
        let (start, end) = text.split_once(':').ok_or(RangeError::Form)?;
        let (start, end) = (number(start)?, number(end)?);
        if start.is_none() && end.is_none() {
            return Err(RangeError::Form);
        }
        let start = start.unwrap_or(0);
        if end.is_some_and(|end| end <= start) {
            return Err(RangeError::Empty);
        }
        Ok(Self { start, end })
    }
}

/// As on the command line.
impl fmt::Display for TestRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--filter-range {}:", self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, "{end}"))
    }
}

impl TestRange {
    /// Leaves the tests that are in it.
    pub(super) fn cut(self, tests: &mut Tests) {
        let range = self.start..self.end.unwrap_or(usize::MAX);
        tests.keep(|index| range.contains(&index));
    }
}

/// What to say when none of `count` tests is in a range.
pub(super) fn help(count: usize) -> String {
    let last = count.saturating_sub(1);
    format!("the tests are numbered from 0 to {last}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_is_two_numbers_of_which_one_may_be_missing() {
        let cases = [
            ("0:10", Ok("--filter-range 0:10")),
            (" 2 : 3 ", Ok("--filter-range 2:3")),
            ("5:", Ok("--filter-range 5:")),
            (":5", Ok("--filter-range 0:5")),
            (":", Err(RangeError::Form)),
            ("5", Err(RangeError::Form)),
            ("a:b", Err(RangeError::Form)),
            ("-1:2", Err(RangeError::Form)),
            ("+1:2", Err(RangeError::Form)),
            ("0:1:2", Err(RangeError::Form)),
            ("3:3", Err(RangeError::Empty)),
            ("4:3", Err(RangeError::Empty)),
            ("0:99999999999999999999", Err(RangeError::Form)),
        ];
        for (text, expected) in cases {
            let range = text.parse::<TestRange>().map(|range| range.to_string());
            assert_eq!(range, expected.map(str::to_owned), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_a_range_is_read_or_refused_and_reads_back(text in "[0-9: a-]{0,8}") {
            if let Ok(range) = text.parse::<TestRange>() {
                let shown = range.to_string();
                let again = shown.strip_prefix("--filter-range ").expect("its name").parse();
                prop_assert_eq!(again, Ok(range));
            }
        }
    }
}
