//! What a user is told when a plugin is at fault: one form, one stable code each.
//!
//! ```text
//! plugin 'acme' (./plugins/acme.wasm, sha256 9f2c41aa…): P002 damaged or incomplete: ends at byte 512
//! help: download or build the file again
//! ```
//!
//! The engine's own text never appears here: it names frames and sections that a user did
//! not write. It goes to the diagnostics (`RUNNER_LOG=debug`) at the place where it is
//! translated. The embedder raises `P009` and `P010` itself, through the same [`Notice`].

use std::fmt;
use std::path::PathBuf;

mod explanation;

pub use explanation::Explanation;

/// Stable identity of a message. `P…` when a plugin is loaded: the command stops before
/// anything is spent. `C…` when it is called: that case is an error and the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageCode {
    /// Not a WebAssembly file.
    P001,
    /// Damaged or incomplete.
    P002,
    /// A core module, not a component.
    P003,
    /// Exports none of the plugin interfaces.
    P004,
    /// Built for another track of the plugin API.
    P005,
    /// Needs a function of a newer minor version.
    P006,
    /// Same version, other signature.
    P007,
    /// Imports what is never offered.
    P008,
    /// Wants what is not granted. Raised by the embedder.
    P009,
    /// Claims a name, prefix or assertion type that another plugin has. Raised by the embedder.
    P010,
    /// `describe` fails, or its answer makes no sense.
    P011,
    /// A JSON Schema of the plugin is not one.
    P012,
    /// A config or value does not pass the plugin's schema. Raised by the embedder.
    P013,
    /// Needs more at start than the limit: memory, instances, tables.
    P014,
    /// The file cannot be read.
    P015,
    /// Takes too long to compile, or the engine refuses it.
    P016,
    /// Another file than the config names.
    P017,
    /// What runs a language of code is not there. Raised by the config.
    P018,
    /// Crashed.
    C101,
    /// Out of memory.
    C102,
    /// Used its CPU budget.
    C103,
    /// Ran too long.
    C104,
    /// Recursion too deep.
    C105,
    /// Passed or returned too much data.
    C106,
    /// Passed a pointer outside its memory, or a value outside its type.
    C107,
    /// Passed text that is not UTF-8.
    C108,
    /// Returned a value that breaks the contract.
    C109,
    /// No free instance.
    C110,
    /// Disabled after crashing too often.
    C111,
    /// Called for something that it does not export.
    C112,
}

impl MessageCode {
    /// Those that a call can fail with.
    pub const CALLS: [Self; 12] = [
        Self::C101,
        Self::C102,
        Self::C103,
        Self::C104,
        Self::C105,
        Self::C106,
        Self::C107,
        Self::C108,
        Self::C109,
        Self::C110,
        Self::C111,
        Self::C112,
    ];

    /// Whether the instance died of it, as opposed to answering nonsense or not being called.
    pub(crate) const fn is_crash(self) -> bool {
        matches!(
            self,
            Self::C101
                | Self::C102
                | Self::C103
                | Self::C104
                | Self::C105
                | Self::C106
                | Self::C107
                | Self::C108
        )
    }
}

impl fmt::Display for MessageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Which plugin a message is about: `plugin 'acme' (./plugins/acme.wasm, sha256 9f2c41aa…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Alias in the config, else the name it gives itself, else the file's stem.
    pub name: String,
    /// The path as the user wrote it.
    pub path: PathBuf,
    /// Of the file in hex, once it has been read.
    pub sha256: Option<String>,
}

/// Characters of a name or a path in a message, as many as a path may have.
const LONGEST_NAME: usize = 4_096;

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin '{}' ({})", self.said_name(), self.said_file())
    }
}

impl Label {
    fn said_name(&self) -> String {
        one_line(&self.name, LONGEST_NAME)
    }

    /// The path, and the digest where it is known.
    fn said_file(&self) -> String {
        let path = one_line(&self.path.display().to_string(), LONGEST_NAME);
        match self.sha256.as_deref().and_then(|hex| hex.get(..8)) {
            Some(short) => format!("{path}, sha256 {short}…"),
            None => path,
        }
    }
}

/// One message about one plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{label}: {code} {message}\nhelp: {help}")]
pub struct Notice {
    /// Stable code.
    pub code: MessageCode,
    /// The plugin.
    pub label: Label,
    /// What is wrong, a fragment without a full stop. May have several lines where a guest's
    /// own last words follow.
    pub message: String,
    /// What to do about it, one line.
    pub help: String,
}

/// A plugin that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub Box<Notice>);

/// A call that gave no answer through the plugin's fault. Data, not an abort: the case ends
/// as an error and the run goes on.
///
/// Where there is little room for it, as in a table, the plugin's own words are what is seen of it:
/// its file comes after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError(pub Box<Notice>);

impl std::error::Error for CallError {}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Notice {
            code,
            label,
            message,
            help,
        } = &*self.0;
        writeln!(f, "plugin '{}': {code} {message}", label.said_name())?;
        write!(f, "({})\nhelp: {help}", label.said_file())
    }
}

impl LoadError {
    /// The message's stable code.
    pub fn code(&self) -> MessageCode {
        self.0.code
    }
}

impl CallError {
    /// The message's stable code.
    pub fn code(&self) -> MessageCode {
        self.0.code
    }
}

/// A message before it is known which plugin it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) code: MessageCode,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Finding {
    pub(crate) fn new(
        code: MessageCode,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            help: help.into(),
        }
    }

    pub(crate) fn about(self, label: Label) -> Notice {
        Notice {
            code: self.code,
            label,
            message: self.message,
            help: self.help,
        }
    }
}

/// A guest's words as part of a message: on one line, so that they cannot pass for a line of ours,
/// with what is not printable escaped, and at most `most` characters of them.
pub(crate) fn one_line(words: &str, most: usize) -> String {
    let mut line = String::new();
    for (at, character) in words.chars().enumerate() {
        if at == most {
            line.push('…');
            break;
        }
        // After another, since a mark that goes with one would be escaped alone.
        let pair = format!("x{character}");
        if "\"'\\".contains(character) || pair.escape_debug().eq(pair.chars()) {
            line.push(character);
        } else {
            line.extend(character.escape_debug());
        }
    }
    line
}

/// A number of bytes for people: `62.5 MiB`, `900 KiB`, `12 bytes`.
pub(crate) fn bytes(count: u64) -> String {
    let scaled = |unit: u64, name: &str| {
        let text = format!("{:.1}", count as f64 / unit as f64);
        format!("{} {name}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match count {
        0..1_024 => format!("{count} bytes"),
        1_024..1_048_576 => scaled(1 << 10, "KiB"),
        1_048_576..1_073_741_824 => scaled(1 << 20, "MiB"),
        _ => scaled(1 << 30, "GiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_config_begins_no_line() {
        let label = Label {
            name: "a\nhelp: all is well".to_owned(),
            path: "b\nhelp.wasm".into(),
            sha256: None,
        };
        assert_eq!(
            label.to_string(),
            r"plugin 'a\nhelp: all is well' (b\nhelp.wasm)"
        );
    }

    #[test]
    fn a_notice_names_plugin_file_digest_code_and_help() {
        let label = Label {
            name: "acme".into(),
            path: "./plugins/acme.wasm".into(),
            sha256: Some("9f2c41aa00".into()),
        };
        let notice = Finding::new(MessageCode::P002, "damaged", "build it again").about(label);
        assert_eq!(
            notice.to_string(),
            "plugin 'acme' (./plugins/acme.wasm, sha256 9f2c41aa…): P002 damaged\nhelp: build it again"
        );
    }

    #[test]
    fn words_of_a_guest_stay_on_one_line() {
        for (words, line) in [
            ("it's \"fine\" \\o/", "it's \"fine\" \\o/"),
            ("naïve हिन्दी 日本 🦀", "naïve हिन्दी 日本 🦀"),
            ("a\r\nhelp: b", "a\\r\\nhelp: b"),
            (
                "\u{1b}[2K\u{202e}x\u{2028}",
                "\\u{1b}[2K\\u{202e}x\\u{2028}",
            ),
        ] {
            assert_eq!(one_line(words, 40), line);
        }
        assert_eq!(one_line("abcd", 3), "abc…");
    }

    #[test]
    fn sizes_read_well() {
        for (count, text) in [
            (12, "12 bytes"),
            (900 << 10, "900 KiB"),
            (65_536_000, "62.5 MiB"),
            (128 << 20, "128 MiB"),
            (3 << 29, "1.5 GiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
