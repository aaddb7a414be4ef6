//! What a job of GitHub Actions is told, and what it, and one of Azure Pipelines or TeamCity, must not be told by others.
//!
//! The services read commands to the job from what its steps print: `::error::…` where a line begins,
//! `##[error]…`, `##vso[…]`, `##teamcity[…]` anywhere in it. So what this program prints there for people has nothing of the kind in it, but
//! for its own annotations. JSON escapes it (`visible::json`). What goes into a file stays as it is.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// Nothing is seen of it, and it ends a command before it begins.
const APART: char = '\u{200b}';

/// What commands begin with, anywhere in a line.
const COMMANDS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// `text` with no command to the job in it.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let begins = |line: &str| line.trim_start().starts_with("::");
    if !COMMANDS.iter().any(|it| text.contains(it)) && !text.lines().any(begins) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive('\n') {
        if begins(line) {
            let (space, rest) = line.split_at(line.len() - line.trim_start().len());
            harmless.push_str(space);
            harmless.push(APART);
            harmless.push_str(rest);
        } else {
            harmless.push_str(line);
        }
    }
    for command in COMMANDS {
        harmless = harmless.replace(command, &format!("##{APART}{}", &command[2..]));
    }
    Cow::Owned(harmless)
}

/// An error in the list of the job's.
pub(crate) fn annotation(title: &str, message: &str) -> String {
    let data = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let title = data(title).replace(':', "%3A").replace(',', "%2C");
    format!("::error title={title}::{}", data(message))
}

/// Adds a text to the summary of a job.
///
/// # Errors
/// When the file can't be written.
pub(crate) fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_others_are_none() {
        let table = [
            ("fine: a::b\n# [x]\n", "fine: a::b\n# [x]\n"),
            ("::error::x", "\u{200b}::error::x"),
            ("a\n \t::add-mask::x\nb", "a\n \t\u{200b}::add-mask::x\nb"),
            ("so ##[error]x\n", "so ##\u{200b}[error]x\n"),
            (
                "##vso[a]##teamcity[b]",
                "##\u{200b}vso[a]##\u{200b}teamcity[b]",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(harmless(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_annotation_is_one_line_whatever_it_says() {
        assert_eq!(
            annotation("test 1, column 0: FAIL", "100 %\n::warning::x\r"),
            "::error title=test 1%2C column 0%3A FAIL::100 %25%0A::warning::x%0D"
        );
    }
}
