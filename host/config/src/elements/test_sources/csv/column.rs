//! What the name of a column says.
//!
//! A name that has a special one in it, and is none, is refused: `x;__expected` is what a file with
//! another separator looks like, or one that was edited where nobody sees what stands before the name.
//! As a variable its assertions would not be held against anything, and every row would pass.

use crate::elements::reading::Reading;
use crate::model::Position;

/// What a column says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ColumnMeaning {
    Variable(String),
    /// The n-th assertion, from 1.
    Expected(u32),
    /// Threshold of the n-th assertion.
    ExpectedThreshold(u32),
    Description,
    Prefix,
    Suffix,
    Metric,
    Threshold,
    ProviderOutput,
    Metadata {
        key: String,
        list: bool,
    },
    /// No name, or a special one that means nothing.
    Nothing,
}

/// Columns that are no variables.
const SPECIAL: [&str; 9] = [
    "__expected",
    "__description",
    "__prefix",
    "__suffix",
    "__providerOutput",
    "__metric",
    "__threshold",
    "__metadata:",
    "__config:",
];

/// Reads what a header says. `text` is that of its file, to find it there.
pub(super) fn read(header: &str, text: &str, at: &Position, reading: Reading<'_>) -> ColumnMeaning {
    if let Some(column) = column(header) {
        return column;
    }
    let findings = reading.findings;
    if let Some((special, help)) = mistaken(header).or_else(|| is_expected(header)) {
        let message =
            format!("the column '{header}' has '{special}' in its name, and is not that column");
        findings.error_help(place(header, text, at), message, help);
        ColumnMeaning::Nothing
    } else if header.starts_with("__") {
        findings.unknown(at.clone(), "column", header, &SPECIAL);
        ColumnMeaning::Nothing
    } else {
        if let Some(meant) = nearly(header) {
            let message = format!("the column '{header}' is a variable like any other");
            let help = Some(format!("did you mean '{meant}'?"));
            findings.warn(at.clone(), message, help);
        }
        ColumnMeaning::Variable(header.to_owned())
    }
}

/// A special column.
fn column(header: &str) -> Option<ColumnMeaning> {
    let number = |rest: &str| {
        if rest.is_empty() {
            Some(1)
        } else {
            rest.parse().ok().filter(|number| *number > 0)
        }
    };
    let expected = |name: &str| number(name.strip_prefix("__expected")?);
    if let Some(number) = expected(header) {
        return Some(ColumnMeaning::Expected(number));
    }
    if let Some(key) = header.strip_prefix("__metadata:") {
        let (key, list) = key
            .strip_suffix("[]")
            .map_or((key, false), |key| (key, true));
        let key = key.to_owned();
        return mistaken(&key)
            .is_none()
            .then_some(ColumnMeaning::Metadata { key, list });
    }
    if let Some(rest) = header.strip_prefix("__config:") {
        let number = expected(rest.strip_suffix(":threshold")?)?;
        return Some(ColumnMeaning::ExpectedThreshold(number));
    }
    Some(match header {
        "" => ColumnMeaning::Nothing,
        "__description" => ColumnMeaning::Description,
        "__prefix" => ColumnMeaning::Prefix,
        "__suffix" => ColumnMeaning::Suffix,
        "__metric" => ColumnMeaning::Metric,
        "__threshold" => ColumnMeaning::Threshold,
        "__providerOutput" => ColumnMeaning::ProviderOutput,
        _ => return None,
    })
}

/// The special column that stands among others in a name, and what to do. A name such as
/// `my__prefix` is one that templates can say.
fn mistaken(name: &str) -> Option<(&'static str, String)> {
    let is_plain = |sign: char| sign.is_ascii_graphic() || sign == ' ' || sign.is_alphanumeric();
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let seen: String = name.chars().filter(|sign| is_plain(*sign)).collect();
    let seen = seen.to_ascii_lowercase();
    let is_in = |special: &&&str| seen.contains(&special.to_ascii_lowercase());
    let special = SPECIAL.iter().find(is_in)?;
    if name.chars().all(is_word) {
        return None;
    }
    let separator = name
        .chars()
        .find(|sign| [';', '\t', '|', ','].contains(sign));
    let help = if let Some(separator) = separator {
        let separator = separator.escape_default();
        format!(
            "if the columns are separated by '{separator}': RUNNER_CSV_DELIMITER='{separator}' \
             reads a CSV file so; else write one name into each cell of the first row"
        )
    } else if let Some(unseen) = name.chars().find(|sign| !is_plain(*sign)) {
        let code = u32::from(unseen);
        format!("the character U+{code:04X} stands there, which may not be seen; remove it")
    } else {
        format!("write '{special}' and nothing else")
    };
    Some((special, help))
}

/// Whether a cell below the first row says what a column of assertions is called: then the names are
/// not where they should be.
pub(super) fn is_name_of_assertions(cell: &str) -> bool {
    matches!(column(cell.trim()), Some(ColumnMeaning::Expected(_)))
}

/// A name of assertions that can't be read as one, `__expected99999999999` or `__Expected`, or one that
/// is written with other signs: its assertions would be held against nothing.
fn is_expected(name: &str) -> Option<(&'static str, String)> {
    let special = SPECIAL[0];
    // Full-width letters are those of ASCII elsewhere.
    let ascii = |sign: char| match u32::from(sign) {
        wide @ 0xFF01..=0xFF5E => char::from_u32(wide - 0xFEE0).unwrap_or(sign),
        _ => sign,
    };
    let seen: String = name.chars().map(ascii).collect();
    let seen = seen.to_ascii_lowercase();
    let word = seen.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    let before = &seen[..seen.len() - word.len()];
    let rest = word.strip_prefix("expected")?;
    let is_meant = match before {
        "" | "_" => name.contains(|sign: char| ascii(sign) != sign),
        _ => true,
    };
    let is_number = rest.bytes().all(|sign| sign.is_ascii_digit());
    let help = format!("write '{special}', or '{special}2' and so on for more of a row");
    (is_meant && (is_number || before == "__")).then_some((special, help))
}

/// `_expected` and `my__expected` are variables, and hardly meant as such.
fn nearly(name: &str) -> Option<&'static str> {
    let doubled = format!("_{name}");
    let is_meant = |special: &&&str| doubled.starts_with(**special) || name.contains(**special);
    SPECIAL.iter().find(is_meant).copied()
}

/// Where a header stands in the text of its file, unless it is written otherwise there.
fn place(header: &str, text: &str, at: &Position) -> Position {
    let before = text.find(header).map_or("", |start| &text[..start]);
    let (lines, rest) = before.rsplit_once('\n').unwrap_or(("", before));
    let is_below = before.len() > rest.len();
    Position {
        line: at.line + u32::from(is_below) + lines.matches('\n').count() as u32,
        column: 1 + rest.chars().count() as u32,
        ..at.clone()
    }
}
