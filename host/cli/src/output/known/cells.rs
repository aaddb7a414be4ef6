//! CSV: promptfoo's headings, and below them lines that keep to them.

use std::fs::File;
use std::io::{self, Read as _};

use csv::{ErrorKind, StringRecord};

/// Bytes of one line of cells.
const LINE_BYTES: u64 = 64 << 20;

/// Checks whether it is such a table.
pub(super) fn is_table(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut table = csv::Reader::from_reader(file.take(LINE_BYTES));
    match is_kept_to(&mut table) {
        // Where a line was too long, the end came too soon.
        Ok(is_kept_to) => Ok(is_kept_to && table.position().byte() == length),
        Err(error) => match error.into_kind() {
            ErrorKind::Io(error) => Err(error),
            _ => Ok(false),
        },
    }
}

fn is_kept_to(table: &mut csv::Reader<io::Take<&File>>) -> csv::Result<bool> {
    let headings: Vec<String> = table.headers()?.iter().map(str::to_owned).collect();
    let verdicts: Vec<usize> = (1..headings.len())
        .filter(|idx| headings[idx - 1..=*idx] == ["Status", "Score"])
        .collect();
    if verdicts.is_empty() || !headings.ends_with(&["Grader Reason", "Comment"].map(str::to_owned))
    {
        return Ok(false);
    }
    let mut line = StringRecord::new();
    loop {
        table.get_mut().set_limit(LINE_BYTES);
        if !table.read_record(&mut line)? {
            return Ok(true);
        }
        let is_verdict = |score: &usize| {
            matches!(&line[score - 1], "PASS" | "FAIL" | "ERROR" | "")
                && (line[*score].is_empty() || line[*score].parse::<f64>().is_ok())
        };
        if !verdicts.iter().all(is_verdict) {
            return Ok(false);
        }
    }
}
