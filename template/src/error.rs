//! What is wrong with a template.

use std::fmt;

/// Where a tag begins, from 1.
pub(crate) type Line = u32;

/// Why a text is no template, or a template gives no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What is wrong: a fragment.
    pub reason: String,
    /// Where the tag begins, from 1.
    pub line: Line,
}

/// The line is said where there are others.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        if self.line > 1 {
            write!(f, " (line {})", self.line)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
