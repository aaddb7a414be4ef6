//! Whether a file holds results: ours or promptfoo's, of one format.
//!
//! It is asked before a config's `outputPath` takes the place of a file, so that a config can't
//! make an end of anything but results. It keeps other files safe from a path, and is no proof of
//! where a file comes from: only the beginning is looked at. An empty file holds nothing to lose.

use std::fs::File;
use std::io::{self, BufReader, Read};

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Format;

/// Bytes of the beginning in which a mark must be: promptfoo's page begins with its style.
const HEAD_BYTES: u64 = 64 << 10;
/// Bytes of the first line of a file of records or cells.
const LINE_BYTES: u64 = 64 << 20;
/// What a page of ours says of itself.
pub(super) const PAGE_MARK: &str = "<meta name=\"generator\" content=\"runner\">";

/// Whether `file`, which stands at its beginning, holds results of this format, or nothing.
///
/// # Errors
/// When it can't be read.
pub(super) fn holds_results(file: &mut File, format: Format) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    Ok(match format {
        Format::Csv => headings(file),
        Format::Jsonl => record(file),
        Format::Json | Format::Yaml | Format::Txt | Format::Html | Format::Junit => {
            let mut head = Vec::new();
            file.take(HEAD_BYTES).read_to_end(&mut head)?;
            begins_as(&String::from_utf8_lossy(&head), format)
        }
    })
}

fn begins_as(head: &str, format: Format) -> bool {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    match format {
        Format::Json => {
            let words: String = head.chars().filter(|c| !c.is_whitespace()).collect();
            words.starts_with("{\"evalId\":") || words.starts_with("{\"results\":{\"version\":")
        }
        Format::Yaml => yaml(head),
        // promptfoo's is its YAML.
        Format::Txt => report(head) || yaml(head),
        Format::Html => {
            let page = head.get(..9).unwrap_or_default();
            page.eq_ignore_ascii_case("<!doctype")
                && (head.contains(PAGE_MARK)
                    || head.contains("Promptfoo")
                    || head.contains("data-status='pass'"))
        }
        // A report of JUnit's form may be any test's: ours number their suites.
        Format::Junit => {
            head.contains("<promptfoo>")
                || head.contains("<testsuites name=\"promptfoo")
                || (head.contains("<testsuites ")
                    && (head.contains("<testsuite id=\"0\" name=\"(0) ")
                        || head.contains(" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\"")))
        }
        Format::Csv | Format::Jsonl => false,
    }
}

fn yaml(head: &str) -> bool {
    head.starts_with("evalId:")
        || head
            .strip_prefix("results:")
            .is_some_and(|rest| rest.trim_start().starts_with("version:"))
}

/// The first line of a report in words: the run, and when it began.
fn report(head: &str) -> bool {
    let line = head.lines().next().unwrap_or_default();
    let when = line.split(" · ").nth(1);
    when.is_some_and(|when| when.parse::<Timestamp>().is_ok())
}

/// Headings of cells, which are promptfoo's.
fn headings(file: &mut File) -> bool {
    let mut lines = csv::Reader::from_reader(file.take(LINE_BYTES));
    let Ok(headings) = lines.headers() else {
        return false;
    };
    let headings: Vec<&str> = headings.iter().collect();
    headings.windows(2).any(|pair| pair == ["Status", "Score"])
        && headings.ends_with(&["Grader Reason", "Comment"])
}

/// The first of the records.
fn record(file: &mut File) -> bool {
    #[derive(Deserialize)]
    struct Indices {
        #[serde(rename = "promptIdx")]
        _prompt: IgnoredAny,
        #[serde(rename = "testIdx")]
        _test: IgnoredAny,
    }
    let bytes = BufReader::new(file.take(LINE_BYTES));
    let mut values = serde_json::Deserializer::from_reader(bytes).into_iter::<Indices>();
    values.next().is_some_and(|first| first.is_ok())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    fn holds(format: Format, text: &str) -> bool {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file.rewind().expect("rewound");
        holds_results(&mut file, format).expect("read")
    }

    #[test]
    fn results_of_promptfoo_are_results() {
        let cases = [
            (
                Format::Json,
                "{\n  \"evalId\": \"eval-a\",\n  \"results\": {}",
            ),
            (Format::Json, "{\"results\": { \"version\": 2, "),
            (Format::Yaml, "evalId: eval-a\nresults:\n  version: 3\n"),
            (Format::Txt, "results:\n  version: 3\n"),
            (
                Format::Csv,
                "q,[openai:m] p,Status,Score,Named Scores,Grader Reason,Comment\n",
            ),
            (
                Format::Jsonl,
                "{\"promptIdx\":0,\"testIdx\":0,\"testCase\":{}}\n{",
            ),
            (
                Format::Html,
                "<!doctype html>\n<html><head></head><div aria-label=\"Promptfoo\">",
            ),
            (Format::Junit, "<?xml version=\"1.0\"?><promptfoo><evalId>"),
        ];
        for (format, text) in cases {
            assert!(holds(format, text), "{format:?} {text}");
            assert!(holds(format, ""), "{format:?}");
        }
    }

    #[test]
    fn other_files_are_none() {
        let cases = [
            (
                Format::Json,
                "{ \"name\": \"app\", \"version\": \"1.0.0\" }",
            ),
            (Format::Json, "{ \"results\": [1] }"),
            (Format::Json, "\u{0}\u{ff}"),
            (Format::Yaml, "on: push\njobs:\n  a: 1\n"),
            (Format::Yaml, "results: 1\n"),
            (Format::Txt, "numpy==2.0\n"),
            (Format::Txt, "alias ls='ls · 2 · x'\n"),
            (Format::Csv, "name,Status,Score\na,b,c\n"),
            (Format::Csv, "question,answer\na,b\n"),
            (Format::Jsonl, "{\"messages\":[]}\n"),
            (Format::Jsonl, "no JSON"),
            (Format::Html, "<!doctype html><title>my page</title>"),
            (Format::Html, "ä"),
            (
                Format::Junit,
                "<?xml version=\"1.0\"?><testsuites name=\"pytest\" tests=\"3\"><testsuite>",
            ),
            (Format::Junit, "<project><modelVersion>"),
        ];
        for (format, text) in cases {
            assert!(!holds(format, text), "{format:?} {text}");
        }
    }
}
