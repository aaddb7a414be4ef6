//! Prompts in files: what each kind of file holds.

use std::path::Path;

use super::{PromptDraft, has_extension, without_scheme};
use crate::elements::programs::PROGRAMS;
use crate::elements::reading::Reading;
use crate::model::{Position, TextOrigin};
use crate::read::csv_rows::Blanks;
use crate::read::files::{FileContents, malformed_at, names_file, parse_tree};
use crate::read::node::{Kind, Node};
use crate::template::is_plain;

/// How many files one file may name, one inside the other.
const MAX_NESTING: usize = 8;

/// Reads the prompts of one file; what is wrong is reported at `at`, or in the file.
pub(super) fn read(
    path: &Path,
    label: Option<&str>,
    (at, origin): (&Position, &TextOrigin),
    reading: Reading<'_>,
) -> Vec<PromptDraft> {
    let shown = path.display().to_string();
    if has_extension(path, &PROGRAMS) {
        let message = format!("'{shown}': a pattern can't name code");
        let help = "name each file of code by itself";
        reading.findings.error_help(at.clone(), message, help);
        return Vec::new();
    }
    if has_extension(path, &["xlsx", "xls"]) {
        let message = format!("'{shown}': spreadsheets are not supported yet");
        reading
            .findings
            .error_help(at.clone(), message, "save it as CSV");
        return Vec::new();
    }
    let Some(text) = reading.files.read_named(path, at, origin, reading.findings) else {
        return Vec::new();
    };
    let texts: Vec<(String, Option<String>, u32)> = if has_extension(path, &["json", "yaml", "yml"])
    {
        let origin = reading.files.origin_of(path, FileContents::Prompts, origin);
        let texts = tree(path, &text, &origin, reading).into_iter();
        texts.map(|text| (text, None, 1)).collect()
    } else if has_extension(path, &["jsonl"]) {
        lines(&text)
    } else if has_extension(path, &["csv"]) {
        csv(path, &text, reading)
    } else if has_extension(path, &["md", "j2"]) {
        vec![(text, None, 1)]
    } else {
        sections(&text)
    };
    if texts.is_empty() && reading.findings.is_clean() {
        reading
            .findings
            .error(at.clone(), format!("'{shown}' holds no prompt"));
    }
    let several = texts.len() > 1;
    let draft = |(raw, own, line): (String, Option<String>, u32)| {
        let label = match (own, label) {
            (Some(own), _) => own,
            (None, Some(label)) if !several => label.to_owned(),
            (None, Some(label)) => format!("{label}: {shown}: {raw}"),
            (None, None) => format!("{shown}: {raw}"),
        };
        let at = Position::of_line(path, line);
        PromptDraft { raw, label, at }
    };
    texts.into_iter().map(draft).collect()
}

/// The parts between lines of `---`.
fn sections(text: &str) -> Vec<(String, Option<String>, u32)> {
    let mut sections: Vec<(String, u32)> = vec![(String::new(), 1)];
    for (index, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            sections.push((String::new(), index as u32 + 2));
        } else if let Some((section, _)) = sections.last_mut() {
            section.push_str(line);
            section.push('\n');
        }
    }
    let trimmed = sections
        .into_iter()
        .map(|(text, line)| (text.trim().to_owned(), None, line));
    trimmed.filter(|(text, ..)| !text.is_empty()).collect()
}

/// One prompt a line.
fn lines(text: &str) -> Vec<(String, Option<String>, u32)> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (line.trim().to_owned(), None, index as u32 + 1));
    lines.filter(|(line, ..)| !line.is_empty()).collect()
}

/// A column `prompt`, perhaps a column `label`; without a delimiter, one prompt a line.
fn csv(path: &Path, text: &str, reading: Reading<'_>) -> Vec<(String, Option<String>, u32)> {
    let delimiter = crate::read::csv_rows::delimiter(reading.process, reading.findings);
    if !text.contains(char::from(delimiter)) {
        let mut lines = lines(text);
        if lines.first().is_some_and(|(line, ..)| line == "prompt") {
            lines.remove(0);
        }
        return lines;
    }
    let with = (reading.process, reading.findings);
    let Some(table) = crate::read::csv_rows::read(path, text, Blanks::Trimmed, with) else {
        return Vec::new();
    };
    let column = |name: &str| table.headers.iter().position(|header| header == name);
    let Some(prompt) = column("prompt") else {
        let at = Position::of_line(path, 1);
        reading.findings.error(at, "has no column 'prompt'");
        return Vec::new();
    };
    let label = column("label");
    let row = |row: crate::read::csv_rows::Row| {
        let label = label
            .and_then(|label| row.cells.get(label))
            .filter(|label| !label.is_empty());
        Some((row.cells.get(prompt)?.clone(), label.cloned(), row.line))
    };
    table
        .rows
        .filter_map(row)
        .filter(|(prompt, ..)| !prompt.is_empty())
        .collect()
}

/// JSON and YAML become compact JSON. A JSON file that is JSON only after its templates are
/// filled in is a text.
fn tree(path: &Path, text: &str, origin: &TextOrigin, reading: Reading<'_>) -> Option<String> {
    match parse_tree(text, has_extension(path, &["json"])) {
        Ok(mut node) => {
            nested(&mut node, (path, origin), reading, 0);
            Some(node.json_as_written().to_string())
        }
        Err(_) if !is_plain(text) => Some(text.to_owned()),
        Err(malformed) => {
            reading.findings.problem(malformed_at(path, malformed));
            None
        }
    }
}

/// Puts the contents of `file://` strings in their place.
fn nested(
    node: &mut Node,
    (path, origin): (&Path, &TextOrigin),
    reading: Reading<'_>,
    depth: usize,
) {
    let mark = node.mark;
    match &mut node.kind {
        Kind::Text(text) if names_file(&text.written) => {
            let named = Position {
                file: path.to_owned(),
                line: mark.line,
                column: mark.column,
                key: String::new(),
            };
            let file = reading.files.shown(without_scheme(&text.written));
            if depth >= MAX_NESTING {
                reading.findings.error(
                    named,
                    format!("files name each other more than {MAX_NESTING} deep"),
                );
            } else if has_extension(&file, &["json", "yaml", "yml"]) {
                if let Some(mut tree) = reading.files.tree(&file, &named, origin, reading.findings)
                {
                    nested(&mut tree, (&file, origin), reading, depth + 1);
                    node.kind = tree.kind;
                }
            } else if let Some(content) =
                reading
                    .files
                    .read_named(&file, &named, origin, reading.findings)
            {
                text.written = content.into();
            }
        }
        Kind::List(items) => items
            .iter_mut()
            .for_each(|item| nested(item, (path, origin), reading, depth)),
        Kind::Map(fields) => fields
            .iter_mut()
            .for_each(|(_, value)| nested(value, (path, origin), reading, depth)),
        _ => {}
    }
}
