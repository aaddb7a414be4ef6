//! What is imported, a results file or a run of promptfoo's database: what its head says, and its rows as records.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use jiff::Timestamp;
use runner_eval::record::CaseRecord;
use runner_store::{PROMPTFOO_COLUMNS, PromptfooFile, PromptfooRun, PromptfooValue, StoreError};
use serde_json::{Map, Value};

use super::{MAX_COLUMNS, row};
use crate::output::ColumnRecord;
use crate::results_file::{self, Head, JsonPart, Shape, Unreadable};

/// Where the rows are.
#[derive(Debug)]
enum Source {
    File {
        path: PathBuf,
        shape: Shape,
    },
    /// A run of promptfoo's database, by its id.
    Promptfoo {
        file: Rc<PromptfooFile>,
        run: String,
    },
}

/// A file and what its head says.
#[derive(Debug)]
pub(in crate::commands) struct ResultsFile {
    source: Source,
    /// The run's id.
    pub(in crate::commands) id: Option<String>,
    /// When it began, RFC 3339.
    pub(in crate::commands) timestamp: Option<String>,
    /// When the file was written.
    pub(in crate::commands) modified: SystemTime,
    /// Its columns; none of JSON lines.
    pub(in crate::commands) columns: Vec<ColumnRecord>,
    /// Sums.
    pub(in crate::commands) stats: Value,
    /// Cases without a row.
    pub(in crate::commands) not_run: u64,
    /// The config.
    pub(in crate::commands) config: Value,
}

impl ResultsFile {
    /// Reads what describes the rows.
    ///
    /// # Errors
    /// When there is no such file, or it is no results file.
    pub(in crate::commands) fn open(path: &Path) -> Result<Self, Unreadable> {
        let Some(shape) = Shape::of(path) else {
            return Err(Unreadable("it is neither .json nor .jsonl".to_owned()));
        };
        let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
        let source = Source::File {
            path: path.to_owned(),
            shape,
        };
        let mut found = Self::new(source, modified.unwrap_or_else(|_| SystemTime::now()));
        if shape == Shape::Lines {
            return Ok(found);
        }
        let head = results_file::head(path)?;
        let Head { version, stats, .. } = head;
        if version != 3 {
            let why = format!("its results have version {version}, and 3 is read");
            return Err(Unreadable(why));
        }
        let said = |value: Value| value.as_str().map(str::to_owned);
        found.id = said(head.eval_id);
        found.timestamp = said(head.timestamp);
        found.columns = columns(&head.prompts)?;
        found.not_run = stats["notRun"].as_u64().unwrap_or(0);
        found.stats = stats;
        if head.config.is_object() {
            found.config = head.config;
        }
        Ok(found)
    }

    /// Reads what describes a run of promptfoo's database.
    ///
    /// # Errors
    /// When it can't be read, or is none.
    pub(in crate::commands) fn of_promptfoo(
        file: &Rc<PromptfooFile>,
        run: &PromptfooRun,
    ) -> Result<Self, Unreadable> {
        let source = Source::Promptfoo {
            file: Rc::clone(file),
            run: run.id.clone(),
        };
        let mut found = Self::new(source, SystemTime::now());
        let began = run.created_at_ms.map(Timestamp::from_millisecond);
        found.timestamp = began.and_then(Result::ok).map(|at| at.to_string());
        found.id = Some(run.id.clone());
        let head = file.head(run).map_err(unreadable)?;
        let mut part = JsonPart::new();
        let mut json = |text: Option<String>| text.map(|text| part.json(&text)).transpose();
        let config = json(head.config)?.filter(Value::is_object);
        found.config = config.unwrap_or(found.config);
        found.columns = columns(&json(head.prompts)?.unwrap_or_default())?;
        found.stats = json(head.stats)?.unwrap_or_default();
        Ok(found)
    }

    fn new(source: Source, modified: SystemTime) -> Self {
        Self {
            source,
            id: None,
            timestamp: None,
            modified,
            columns: Vec::new(),
            stats: Value::Null,
            not_run: 0,
            config: Value::Object(Map::new()),
        }
    }

    /// How long the run took, in milliseconds; 0 if it does not say.
    pub(in crate::commands) fn duration_ms(&self) -> u64 {
        let ms = self.stats["durationMs"].as_f64();
        ms.unwrap_or(0.0).clamp(0.0, 1e15) as u64
    }

    /// Hands over each row.
    ///
    /// # Errors
    /// The first row that can't be understood, or that `see` refuses, with its number.
    pub(in crate::commands) fn rows(
        &self,
        see: &mut dyn FnMut(CaseRecord) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        let mut number = 0_u64;
        let mut take = |value: Value| {
            number += 1;
            let taken = row::record(value).and_then(&mut *see);
            taken.map_err(|error| Unreadable(format!("result {number}: {error}")))
        };
        match &self.source {
            Source::File { path, shape } => results_file::rows(path, *shape, &mut take),
            Source::Promptfoo { file, run } => {
                let mut see = |values: &[PromptfooValue<'_>]| take(exported(values)?);
                file.rows(run, &mut see).map_err(unreadable)?
            }
        }
    }
}

fn unreadable(error: StoreError) -> Unreadable {
    Unreadable(format!("{:#}", anyhow::Error::new(error)))
}

/// A row of the database as promptfoo exports it.
fn exported(values: &[PromptfooValue<'_>]) -> Result<Value, Unreadable> {
    let mut row = Map::new();
    let mut part = JsonPart::new();
    for ((_, name), value) in PROMPTFOO_COLUMNS.iter().zip(values) {
        let value = match (*name, *value) {
            (_, PromptfooValue::Null) => continue,
            ("success", PromptfooValue::Int(number)) => Value::Bool(number != 0),
            (_, PromptfooValue::Int(number)) => number.into(),
            (_, PromptfooValue::Real(number)) => number.into(),
            ("id" | "promptId" | "error", PromptfooValue::Text(text)) => text.into(),
            (_, PromptfooValue::Text(text)) => part.json(text)?,
        };
        row.insert((*name).to_owned(), value);
    }
    let vars = row.get("testCase").and_then(|test| test.get("vars"));
    if let Some(vars) = vars.cloned() {
        row.insert("vars".to_owned(), vars);
    }
    Ok(Value::Object(row))
}

/// The columns as the head has them.
fn columns(prompts: &Value) -> Result<Vec<ColumnRecord>, Unreadable> {
    let columns = prompts.as_array().map(Vec::as_slice).unwrap_or_default();
    if columns.len() > MAX_COLUMNS {
        let count = columns.len();
        let why = format!("it has {count} columns, and at most {MAX_COLUMNS} are read");
        return Err(Unreadable(why));
    }
    Ok(columns.iter().map(column).collect())
}

fn column(prompt: &Value) -> ColumnRecord {
    let text = |name: &str| row::text(prompt.get(name));
    let provider = match &prompt["provider"] {
        Value::Object(provider) => row::text(provider.get("label").or_else(|| provider.get("id"))),
        other => row::text(Some(other)),
    };
    let raw = text("raw");
    let label = text("label");
    ColumnRecord {
        id: text("id"),
        label: if label.is_empty() { raw.clone() } else { label },
        raw,
        provider: if provider.is_empty() {
            "unknown".to_owned()
        } else {
            provider
        },
        variant: prompt["variant"].as_str().map(str::to_owned),
        config: prompt["config"].as_object().cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        fs::write(&path, content).expect("it can be written");
        (folder, path)
    }

    fn rows(path: &Path) -> Result<Vec<CaseRecord>, Unreadable> {
        let mut rows = Vec::new();
        ResultsFile::open(path)?.rows(&mut |record| {
            rows.push(record);
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn a_document_of_promptfoo_is_read_wherever_its_rows_stand() {
        let row = r#"{"promptIdx":0,"testIdx":3,"success":false,"failureReason":2,"error":"x","vars":{"q":1}}"#;
        let text = format!(
            r#"{{"evalId":"eval-1","results":{{"version":3,"timestamp":"2024-01-02T03:04:05.000Z",
            "prompts":[{{"raw":"Hi {{{{q}}}}","label":"Hi","provider":"openai:m","id":"p","metrics":{{}}}}],
            "results":[{row},{row}],"stats":{{"successes":0,"durationMs":12.5}}}},"config":{{"description":"d"}},"shareableUrl":null}}"#
        );
        let (_keep, path) = file("r.json", &text);
        let found = ResultsFile::open(&path).expect("it is one");
        assert_eq!(
            (found.id.as_deref(), found.duration_ms()),
            (Some("eval-1"), 12)
        );
        assert_eq!(found.columns[0].provider, "openai:m");
        let read = rows(&path).expect("they can be read");
        assert_eq!((read.len(), read[1].test_idx), (2, 3));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases = [
            ("a.csv", "", "it is neither .json nor .jsonl"),
            ("a.json", "{}", "missing field `results` at line 1 column 2"),
            (
                "a.json",
                r#"{"results":{"version":2,"results":[]}}"#,
                "its results have version 2, and 3 is read",
            ),
            (
                "a.json",
                r#"{"results":{"version":3,"results":[{"promptIdx":0}]}}"#,
                "result 1: it has no testIdx at line 1 column 51",
            ),
            ("a.jsonl", "{\"x\":1}", "result 1: it has no promptIdx"),
            (
                "a.jsonl",
                "\n{",
                "line 2: EOF while parsing an object at line 1 column 1",
            ),
        ];
        for (name, content, expected) in cases {
            let (_keep, path) = file(name, content);
            let error = rows(&path).expect_err(name);
            assert_eq!(error.to_string(), expected, "{content}");
        }
        assert!(rows(Path::new("/nowhere/x.json")).is_err());
    }

    #[test]
    fn no_part_may_be_larger_than_a_row_and_all_together_may() {
        let large = "x".repeat(48 << 20);
        let row = format!(r#"{{"promptIdx":0,"testIdx":3,"success":true,"error":"{large}"}}"#);
        let document = |head: &str, row: &str| {
            format!(
                r#"{{"config":{{"a":"{head}"}},"results":{{"version":3,"results":[{row},{row}]}}}}"#
            )
        };
        let endless = " ".repeat(65 << 20);
        let read = |name: &str, content: &str| {
            let (_keep, path) = file(name, content);
            rows(&path).map(|rows| rows.len()).map_err(|error| error.0)
        };
        assert_eq!(read("a.jsonl", &format!("{row}\n{row}\n")), Ok(2));
        assert_eq!(read("a.json", &document("", &row)), Ok(2));
        assert_eq!(
            read("a.jsonl", &format!("{row}\n{endless}")),
            Err("line 2: a part of it is larger than 64 MiB".to_owned())
        );
        for text in [
            document(&endless, ""),
            document("", &format!("{row},\"{endless}\"")),
        ] {
            let error = read("a.json", &text).expect_err("a part is too large");
            assert!(
                error.starts_with("a part of it is larger than 64 MiB"),
                "{error}"
            );
        }
    }

    #[test]
    fn values_of_a_row_have_a_bound() {
        let components = "0,".repeat(1 << 20) + "0";
        let row = format!(r#"{{"gradingResult":{{"componentResults":[{components}]}}}}"#);
        let (_keep, path) = file("a.jsonl", &row);
        let error = rows(&path).expect_err("too many");
        assert_eq!(error.0, "line 1: a part of it has more than 1000000 values");
    }

    #[test]
    fn columns_have_a_bound() {
        let columns = "{},".repeat(MAX_COLUMNS) + "{}";
        let text = format!(r#"{{"results":{{"version":3,"prompts":[{columns}],"results":[]}}}}"#);
        let (_keep, path) = file("o.json", &text);
        let error = ResultsFile::open(&path).expect_err("too many");
        assert_eq!(error.0, "it has 10001 columns, and at most 10000 are read");
    }
}
