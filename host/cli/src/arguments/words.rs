//! A command line in words, for who is told what to type.

use std::fmt::Display;
use std::path::Path;

/// A command line that is being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// The words, unquoted.
    pub(crate) words: Vec<String>,
    /// Names of variables whose values are not in them.
    pub(crate) left_out: Vec<String>,
}

impl Words {
    /// Adds a flag with its value; a value that looks like a flag is tied to it.
    pub(crate) fn flag(&mut self, flag: &str, value: &str) {
        match (value.starts_with('-'), flag.starts_with("--")) {
            (false, _) => self.words.extend([flag.to_owned(), value.to_owned()]),
            (true, true) => self.words.push(format!("{flag}={value}")),
            (true, false) => self.words.push(format!("{flag}{value}")),
        }
    }

    /// Adds the flag once for each value.
    pub(super) fn flags<T: Display>(&mut self, flag: &str, values: impl IntoIterator<Item = T>) {
        for value in values {
            self.flag(flag, &value.to_string());
        }
    }

    /// Adds the flag once for each path.
    pub(crate) fn paths<'a, P: AsRef<Path> + 'a>(
        &mut self,
        flag: &str,
        paths: impl IntoIterator<Item = &'a P>,
    ) {
        self.flags(flag, paths.into_iter().map(|path| path.as_ref().display()));
    }

    /// Adds what another part of the program writes as one text of a flag and its value.
    pub(super) fn written(&mut self, flag: &str, text: &str) {
        let value = text.strip_prefix(flag).unwrap_or(text).trim_start();
        self.flag(flag, value);
    }
}
