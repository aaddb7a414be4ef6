//! Where something stands in the files of a config.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a file that the user wrote, for messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// The file as the user named it.
    pub file: PathBuf,
    /// Line, from 1; 0 where the file has no lines to speak of.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Path of the key, for example `providers[0].config.temperature`.
    pub key: String,
}

/// What messages call the config that flags make.
pub(crate) const COMMAND_LINE: &str = "command line";

impl Position {
    /// The beginning of a line of a file.
    pub(crate) fn of_line(file: &Path, line: u32) -> Self {
        Self {
            file: file.to_owned(),
            line,
            column: 1,
            key: String::new(),
        }
    }

    /// Whether both are the same place of the same file, by whatever key it is named.
    pub fn is_where(&self, other: &Self) -> bool {
        (&self.file, self.line, self.column) == (&other.file, other.line, other.column)
    }

    /// Whether the text there was typed by the person; what stands in a file has a line.
    pub(crate) fn is_typed(&self) -> bool {
        self.line == 0 && self.file.as_os_str() == COMMAND_LINE
    }
}

/// `file:line:column`, without what is not known.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&on_one_line(&self.file.to_string_lossy()))?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

/// A text that may quote a config, without what would begin a line: a line of our own is read as our
/// own words.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    let breaks = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    if text.contains(breaks) {
        text.replace(breaks, " ").into()
    } else {
        text.into()
    }
}
