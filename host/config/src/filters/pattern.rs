//! A regular expression of a filter.
//!
//! ECMAScript's, as in promptfoo: what a user tried there means the same here, lookahead
//! included (`^(?!slow)` chooses everything but). It may be slow on purpose; only the user's own
//! command line can say one.

use std::fmt;
use std::str::FromStr;

/// A compiled pattern; equal to another with the same text.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    regex: regress::Regex,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a regular expression: {reason}")]
pub struct PatternError {
    reason: String,
}

impl Pattern {
    /// Whether it is found anywhere in `text`.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.find(text).is_some()
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let regex = regress::Regex::new(text).map_err(|error| PatternError {
            reason: error.to_string(),
        })?;
        Ok(Self {
            text: text.to_owned(),
            regex,
        })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// As written.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_found_anywhere_and_may_look_ahead() {
        let cases = [
            ("gpt", "openai:gpt-4o", true),
            ("^gpt", "openai:gpt-4o", false),
            ("GPT", "gpt", false),
            ("^(?!slow)", "slow one", false),
            ("^(?!slow)", "fast one", true),
            ("", "", true),
        ];
        for (pattern, text, expected) in cases {
            let pattern: Pattern = pattern.parse().expect("a pattern");
            assert_eq!(pattern.is_in(text), expected, "{pattern:?} in {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        let error = "(".parse::<Pattern>().expect_err("it has no end");
        assert!(
            error.to_string().starts_with("not a regular expression: "),
            "{error}"
        );
    }
}
