//! Whether a file holds results: ours or promptfoo's, of one format.
//!
//! It is asked before a config's `outputPath` takes the place of a file, so that a config can't
//! make an end of anything but results. So the whole file is read, and has to be what a writer
//! writes: a name that results have, too, is not enough. What is in doubt is no result, and stays;
//! a person who is sure can remove it. It is no proof of where a file comes from: whoever can write
//! all of one can end it, too. An empty file holds nothing to lose.
//!
//! Memory is that of a line's beginning, of one line of cells, or of one text of JSON.

use std::fs::File;
use std::io;

use super::Format;

mod cells;
mod document;
mod lines;
mod report;
mod strings;
mod words;

pub(super) use report::{MARKDOWN_MARKS, PAGE_MARK, SUITES_MARK};

/// The largest file that is looked at: what is larger may be a hole without end.
const MOST_BYTES: u64 = 4 << 30;

/// Checks whether `file`, which stands at its beginning, holds results of this format, or nothing.
///
/// # Errors
/// When it can't be read, or is too large for that.
pub(super) fn holds_results(file: &File, format: Format) -> io::Result<bool> {
    match file.metadata()?.len() {
        0 => return Ok(true),
        bytes if bytes > MOST_BYTES => {
            let gib = MOST_BYTES >> 30;
            let message = format!("the existing file is larger than {gib} GiB");
            return Err(io::Error::other(message));
        }
        _ => {}
    }
    match format {
        Format::Json => document::is_document(file),
        Format::Jsonl => document::is_records(file),
        Format::Csv => cells::is_table(file),
        Format::Yaml => report::is_yaml(file),
        // promptfoo's is its YAML.
        Format::Txt => Ok(words::is_report(file)? || report::is_yaml(file)?),
        Format::Html => report::is_page(file),
        Format::Markdown => report::is_summary(file),
        Format::Junit => report::is_suites(file),
    }
}

#[cfg(test)]
mod tests;
