//! The rows of a former run that `--filter-failing` and its kin mean: out of the store, or out
//! of a results file, ours or promptfoo's.
//!
//! Only rows that did not pass are kept while reading, and of those only what tells a test from
//! another, so a large file takes little memory. A name that is a file, or ends like one, is a
//! file; anything else is a run.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context as _;
use runner_config::{FormerCase, FormerCases};
use runner_store::Store;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::arguments::Wanted;
use crate::failure::Failure;
use crate::output::Records as _;
use crate::stored::{self, StoredRun};

/// promptfoo's `failureReason` of a row that was not graded.
const ERROR: u8 = 2;

/// A row, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    success: bool,
    #[serde(default)]
    failure_reason: u8,
    #[serde(default)]
    vars: Map<String, Value>,
    #[serde(default)]
    test_case: TestCase,
}

#[derive(Debug, Default, Deserialize)]
struct TestCase {
    #[serde(default)]
    description: Option<String>,
}

/// A results file of version 3.
#[derive(Debug, Deserialize)]
struct Document {
    results: Results,
}

#[derive(Debug, Deserialize)]
struct Results {
    #[serde(deserialize_with = "not_passed")]
    results: Vec<Row>,
}

/// What `named` has; `flag` is for messages. `store` is asked only if it is a run.
///
/// # Errors
/// When there is no such run or file, or it can't be read.
pub(crate) fn read(
    flag: &str,
    wanted: Wanted,
    named: &str,
    cwd: &Path,
    store: impl FnOnce() -> Result<Option<Store>, Failure>,
) -> Result<FormerCases, Failure> {
    let path = cwd.join(named);
    let extension = path.extension().and_then(OsStr::to_str);
    let is_file = path.is_file() || matches!(extension, Some("json" | "jsonl"));
    let (rows, source) = if is_file {
        (of_file(flag, named, &path, extension)?, named.to_owned())
    } else {
        let Some(store) = store()? else {
            return Err(stored::unfound(runner_store::StoreError::NoRuns));
        };
        let run = StoredRun::find(store, named)?;
        (of_run(&run)?, run.info.id.clone())
    };
    let mut cases = FormerCases::new(flag, &source);
    for row in rows.into_iter().filter(|row| is_wanted(row, wanted)) {
        cases.add(FormerCase {
            vars: row.vars,
            description: row.test_case.description,
        });
    }
    Ok(cases)
}

fn is_wanted(row: &Row, wanted: Wanted) -> bool {
    match wanted {
        Wanted::NotPassed => !row.success,
        Wanted::Failed => !row.success && row.failure_reason != ERROR,
        Wanted::Errors => !row.success && row.failure_reason == ERROR,
    }
}

fn of_run(run: &StoredRun) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for text in run.open()? {
        let row: Row = serde_json::from_str(&text?).context("a stored record is damaged")?;
        if !row.success {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn of_file(
    flag: &str,
    named: &str,
    path: &Path,
    extension: Option<&str>,
) -> Result<Vec<Row>, Failure> {
    let refuse = |why: String| Failure::usage(format!("{flag} {named}: {why}"));
    let file = File::open(path).map_err(|error| refuse(format!("can't be read: {error}")))?;
    let file = BufReader::new(file);
    let rows = match extension {
        Some("json") => of_json(file),
        Some("jsonl") => of_lines(file),
        _ => {
            let help = "results files in .json and .jsonl have what is needed; a run is named by its id, see `runner list`";
            return Err(refuse("is no results file in JSON".to_owned()).help(help));
        }
    };
    rows.map_err(|error| {
        let help = "it takes a file that `runner eval -o` or `promptfoo eval -o` wrote";
        refuse(format!("is no results file: {error}")).help(help)
    })
}

fn of_json(file: impl Read) -> serde_json::Result<Vec<Row>> {
    let document: Document = serde_json::from_reader(file)?;
    Ok(document.results.results)
}

fn of_lines(file: impl BufRead) -> serde_json::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in file.lines() {
        let line = line.map_err(serde_json::Error::io)?;
        if line.trim().is_empty() {
            continue;
        }
        let row: Row = serde_json::from_str(&line)?;
        if !row.success {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Reads a list of rows, dropping those that passed as they come.
fn not_passed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Row>, D::Error> {
    struct NotPassed;

    impl<'de> Visitor<'de> for NotPassed {
        type Value = Vec<Row>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of results")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Vec<Row>, A::Error> {
            let mut kept = Vec::new();
            while let Some(row) = rows.next_element::<Row>()? {
                if !row.success {
                    kept.push(row);
                }
            }
            Ok(kept)
        }
    }

    deserializer.deserialize_seq(NotPassed)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use runner_eval::record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::exit::USAGE;
    use crate::findings::tests::record;
    use crate::stored::tests::keep;

    /// A folder with a file `name`.
    fn file(name: &str, content: &str) -> anyhow::Result<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().to_owned();
        std::fs::write(path.join(name), content)?;
        Ok((folder, path))
    }

    fn count(wanted: Wanted, named: &str, cwd: &Path) -> Result<usize, String> {
        let cases = read("--filter-failing", wanted, named, cwd, || Ok(None));
        cases
            .map(|cases| cases.len())
            .map_err(|error| error.render())
    }

    fn row(success: bool, reason: u8) -> Value {
        json!({ "success": success, "failureReason": reason, "vars": { "q": 1 }, "testCase": { "vars": {} }, "more": [] })
    }

    #[test]
    fn rows_come_from_files_of_both_kinds() -> anyhow::Result<()> {
        let rows = [row(true, 0), row(false, 1), row(false, 2), row(false, 2)];
        let document = json!({ "evalId": "e", "results": { "version": 3, "results": rows, "stats": {} }, "config": {} });
        let (_keep, cwd) = file("r.json", &document.to_string())?;
        let lines = rows.each_ref().map(ToString::to_string).join("\n\n");
        std::fs::write(cwd.join("r.jsonl"), lines)?;
        for name in ["r.json", "r.jsonl"] {
            let counts = [Wanted::NotPassed, Wanted::Failed, Wanted::Errors]
                .map(|wanted| count(wanted, name, &cwd));
            assert_eq!(counts, [Ok(3), Ok(1), Ok(2)], "{name}");
        }
        Ok(())
    }

    #[test]
    fn a_name_that_is_no_file_is_a_run() -> anyhow::Result<()> {
        let records = [
            record(0, 0, Outcome::Passed, "yes"),
            record(0, 1, Outcome::Failed, "no"),
            record(1, 0, Outcome::Error, ""),
        ];
        let kept = keep(&records, 3)?;
        let folder = tempfile::tempdir()?;
        let store = || Ok(Some(kept.store.clone()));
        let cases = read(
            "--filter-errors-only",
            Wanted::Errors,
            "latest",
            folder.path(),
            store,
        );
        let cases = cases.map_err(|failure| anyhow::anyhow!(failure.render()))?;
        assert_eq!(cases.len(), 1);
        assert_eq!(cases.to_string(), "--filter-errors-only run-1");
        Ok(())
    }

    #[test]
    fn what_can_not_be_read_is_said() -> anyhow::Result<()> {
        let (_keep, cwd) = file("r.csv", "a,b")?;
        std::fs::write(cwd.join("x.json"), "{}")?;
        let cases = [
            (
                "none.json",
                "error: --filter-failing none.json: can't be read: ",
            ),
            (
                "x.json",
                "error: --filter-failing x.json: is no results file: missing field `results`",
            ),
            (
                "r.csv",
                "error: --filter-failing r.csv: is no results file in JSON\nhelp: ",
            ),
            ("run-1", "error: "),
        ];
        for (name, beginning) in cases {
            let told = count(Wanted::NotPassed, name, &cwd).expect_err("refused");
            assert!(told.starts_with(beginning), "{told}");
        }
        let failure = read("--filter-failing", Wanted::Errors, "run-1", &cwd, || {
            Ok(None)
        });
        assert_eq!(failure.expect_err("refused").code(), USAGE);
        Ok(())
    }
}
