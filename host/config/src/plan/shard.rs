//! A part of a run, for jobs that run side by side. Which tests it has is decided where tests are chosen
//! (`filters/shard.rs`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Most parts of a run: each is a job and a file.
const MOST: u32 = 10_000;

/// A part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which, from 1.
    pub index: u32,
    /// Of how many.
    pub count: u32,
}

/// A text that is no part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not of the form I/N, two whole numbers of which I is from 1 to N, for example 2/4")]
pub struct ShardError;

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let number = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        };
        let (index, count) = text.split_once('/').ok_or(ShardError)?;
        let index: u32 = number(index.trim()).ok_or(ShardError)?;
        let count: u32 = number(count.trim()).ok_or(ShardError)?;
        if index == 0 || index > count || count > MOST {
            return Err(ShardError);
        }
        Ok(Self { index, count })
    }
}

/// As on the command line.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--shard {}/{}", self.index, self.count)
    }
}

/// A part of a run, with what has to be known to put it where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardRows {
    /// Which part.
    #[serde(flatten)]
    pub shard: Shard,
    /// The rows that it has by its plan, whether they were run or not.
    pub rows: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_two_numbers() {
        let read = |text: &str| text.parse::<Shard>().map(|shard| shard.to_string()).ok();
        for (text, expected) in [
            ("1/1", Some("--shard 1/1")),
            (" 2 / 4 ", Some("--shard 2/4")),
            ("0/4", None),
            ("5/4", None),
            ("1/10001", None),
            ("+1/4", None),
            ("1", None),
            ("/", None),
            ("a/b", None),
        ] {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
    }
}
