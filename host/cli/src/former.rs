//! The rows of a former run that `--filter-failing` and its kin mean: out of the store, or out
//! of a results file, ours or promptfoo's.
//!
//! They are read one at a time, and of those that are meant only what tells a test from another is
//! kept, so a large file takes little memory. A name that is a file, or ends like one, is a file;
//! anything else is a run.

use std::path::Path;

use anyhow::Context as _;
use runner_config::{FormerCase, FormerCases};
use runner_store::{Outcome, Store};
use runner_view::pairing;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::arguments::FormerRows;
use crate::failure::Failure;
use crate::output::Records as _;
use crate::results_file::{self, Shape};
use crate::stored::{self, StoredRun};
use crate::visible;

/// promptfoo's `failureReason` of a row that was not graded.
const ERROR: u8 = 2;

/// A row, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FormerRow {
    success: bool,
    #[serde(default)]
    failure_reason: u8,
    #[serde(default)]
    outcome: Option<String>,
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

/// Reads what `named` has; `flag` is for messages. `store` is asked only if it is a run.
///
/// # Errors
/// When there is no such run or file, or it can't be read.
pub(crate) fn read(
    flag: &str,
    wanted: FormerRows,
    named: &str,
    cwd: &Path,
    store: impl FnOnce() -> Result<Option<Store>, Failure>,
) -> Result<FormerCases, Failure> {
    let path = cwd.join(named);
    let shape = Shape::of(&path);
    let is_test = matches!(wanted, FormerRows::Test(_));
    if !is_test && (shape.is_some() || path.is_file()) {
        let mut cases = FormerCases::new(flag, named);
        of_file(flag, named, &path, shape, &mut |row| {
            take(row, wanted, &mut cases);
        })?;
        return Ok(cases);
    }
    let Some(store) = store()? else {
        return Err(stored::unfound(runner_store::StoreError::NoRuns));
    };
    let run = StoredRun::find(store, named)?;
    let mut cases = FormerCases::new(flag, &run.info.id);
    if let FormerRows::Test(number) = wanted {
        for record in run.cases(number, None)? {
            let record = record?;
            cases.add(&FormerCase {
                description: pairing::given_description(&record.test_case).map(str::to_owned),
                vars: (*record.vars).clone(),
            });
        }
        return Ok(cases);
    }
    for text in run.open()? {
        let row = serde_json::from_str(&text?).context("a stored record is damaged");
        take(row?, wanted, &mut cases);
    }
    Ok(cases)
}

/// Keeps a row if it is meant.
fn take(row: FormerRow, wanted: FormerRows, cases: &mut FormerCases) {
    let is_error = row.failure_reason == ERROR;
    let waits = row.outcome.as_deref() == Some(Outcome::Waiting.as_str());
    let is_meant = match wanted {
        FormerRows::NotPassed | FormerRows::Test(_) => true,
        FormerRows::Failed => !is_error && !waits,
        FormerRows::Errors => is_error,
    };
    if is_meant && !row.success {
        cases.add(&FormerCase {
            vars: row.vars,
            description: row.test_case.description,
        });
    }
}

fn of_file(
    flag: &str,
    named: &str,
    path: &Path,
    shape: Option<Shape>,
    see: &mut dyn FnMut(FormerRow),
) -> Result<(), Failure> {
    let refuse = |why: &str| Failure::usage(format!("{flag} {named}: {why}"));
    let Some(shape) = shape else {
        let help = "results files in .json and .jsonl have what is needed; a run is named by its id, see `runner list`";
        return Err(refuse("is no results file in JSON").help(help));
    };
    let mut rows = |row| {
        see(row);
        Ok(())
    };
    results_file::rows(path, shape, &mut rows).map_err(|error| {
        let help = "it takes a file that `runner eval -o` or `promptfoo eval -o` wrote";
        let why = format!("is no results file: {}", visible::line(&error.0));
        refuse(&why).help(help)
    })
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

    fn count(wanted: FormerRows, named: &str, cwd: &Path) -> Result<usize, String> {
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
        let mut waits = row(false, 1);
        waits["outcome"] = json!("waiting");
        let rows = [
            row(true, 0),
            row(false, 1),
            waits,
            row(false, 2),
            row(false, 2),
        ];
        let document = json!({ "evalId": "e", "results": { "version": 3, "results": rows, "stats": {} }, "config": {} });
        let (_keep, cwd) = file("r.json", &document.to_string())?;
        let lines = rows.each_ref().map(ToString::to_string).join("\n\n");
        std::fs::write(cwd.join("r.jsonl"), lines)?;
        for name in ["r.json", "r.jsonl"] {
            let counts = [
                FormerRows::NotPassed,
                FormerRows::Failed,
                FormerRows::Errors,
            ]
            .map(|wanted| count(wanted, name, &cwd));
            assert_eq!(counts, [Ok(4), Ok(1), Ok(2)], "{name}");
        }
        Ok(())
    }

    #[test]
    fn no_row_is_larger_than_a_part_of_a_file_may_be() -> anyhow::Result<()> {
        let endless = " ".repeat(65 << 20);
        let document = format!("{{\"results\":{{\"results\":[{endless}]}}}}");
        let (_keep, cwd) = file("r.json", &document)?;
        std::fs::write(cwd.join("r.jsonl"), &endless)?;
        for name in ["r.json", "r.jsonl"] {
            let told = count(FormerRows::NotPassed, name, &cwd).expect_err("too large");
            let why = "a part of it is larger than 64 MiB";
            assert!(told.contains(why), "{told}");
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
            FormerRows::Errors,
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
                "error: --filter-failing none.json: is no results file: it can't be read: ",
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
            let told = count(FormerRows::NotPassed, name, &cwd).expect_err("refused");
            assert!(told.starts_with(beginning), "{told}");
        }
        let failure = read(
            "--filter-failing",
            FormerRows::Errors,
            "run-1",
            &cwd,
            || Ok(None),
        );
        assert_eq!(failure.expect_err("refused").code(), USAGE);
        Ok(())
    }
}
