//! A results file, read row by row: this program's or promptfoo's version 3 JSON, or JSON lines.
//!
//! The document has its rows in the middle, and what describes them before and behind. So its
//! head is read first, the rows passed over; then the rows, the head passed over. Neither
//! reading holds more than one row.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use runner_eval::record::CaseRecord;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::{Unreadable, row};
use crate::output::ColumnRecord;

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Document,
    Lines,
}

/// A file and what its head says.
#[derive(Debug)]
pub(super) struct ResultsFile {
    path: PathBuf,
    shape: Shape,
    /// The run's id.
    pub(super) id: Option<String>,
    /// When it began, RFC 3339.
    pub(super) timestamp: Option<String>,
    /// When the file was written.
    pub(super) modified: SystemTime,
    /// Its columns; none of JSON lines.
    pub(super) columns: Vec<ColumnRecord>,
    /// Sums.
    pub(super) stats: Value,
    /// Cases without a row.
    pub(super) not_run: u64,
    /// The config.
    pub(super) config: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    eval_id: Option<String>,
    results: Head,
    #[serde(default)]
    config: Value,
}

#[derive(Debug, Deserialize)]
struct Head {
    version: u64,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    prompts: Vec<Value>,
    #[serde(default)]
    stats: Value,
}

impl ResultsFile {
    /// Reads what describes the rows.
    ///
    /// # Errors
    /// When there is no such file, or it is no results file.
    pub(super) fn open(path: &Path) -> Result<Self, Unreadable> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let shape = match extension.to_str() {
            Some("json") => Shape::Document,
            Some("jsonl") => Shape::Lines,
            _ => return Err(Unreadable("it is neither .json nor .jsonl".to_owned())),
        };
        let file = open(path)?;
        let metadata = file.get_ref().metadata();
        let modified = metadata.and_then(|metadata| metadata.modified());
        let mut found = Self {
            path: path.to_owned(),
            shape,
            id: None,
            timestamp: None,
            modified: modified.unwrap_or_else(|_| SystemTime::now()),
            columns: Vec::new(),
            stats: Value::Null,
            not_run: 0,
            config: Value::Object(serde_json::Map::new()),
        };
        if shape == Shape::Lines {
            return Ok(found);
        }
        let document: Document =
            serde_json::from_reader(file).map_err(|error| Unreadable(error.to_string()))?;
        let Head {
            version,
            timestamp,
            prompts,
            stats,
        } = document.results;
        if version != 3 {
            let why = format!("its results have version {version}, and 3 is read");
            return Err(Unreadable(why));
        }
        found.id = document.eval_id;
        found.timestamp = timestamp;
        found.columns = prompts.iter().map(column).collect();
        found.not_run = stats["notRun"].as_u64().unwrap_or(0);
        found.stats = stats;
        if document.config.is_object() {
            found.config = document.config;
        }
        Ok(found)
    }

    /// How long the run took, in milliseconds; 0 if it does not say.
    pub(super) fn duration_ms(&self) -> u64 {
        let ms = self.stats["durationMs"].as_f64();
        ms.unwrap_or(0.0).clamp(0.0, 1e15) as u64
    }

    /// Hands over each row.
    ///
    /// # Errors
    /// The first row that can't be understood, or that `see` refuses, with its number.
    pub(super) fn rows(
        &self,
        see: &mut dyn FnMut(CaseRecord) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        let mut number = 0_u64;
        let mut take = |value: Value| {
            number += 1;
            let taken = row::record(value).and_then(&mut *see);
            taken.map_err(|error| Unreadable(format!("result {number}: {error}")))
        };
        let file = open(&self.path)?;
        match self.shape {
            Shape::Document => {
                let mut reader = serde_json::Deserializer::from_reader(file);
                let place = Place {
                    path: &["results", "results"],
                    see: &mut take,
                };
                place
                    .deserialize(&mut reader)
                    .map_err(|error| Unreadable(error.to_string()))
            }
            Shape::Lines => {
                for (idx, line) in file.lines().enumerate() {
                    let at =
                        |why: &dyn fmt::Display| Unreadable(format!("line {}: {why}", idx + 1));
                    let line = line.map_err(|error| at(&error))?;
                    if !line.trim().is_empty() {
                        let value = serde_json::from_str(&line).map_err(|error| at(&error))?;
                        take(value)?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn open(path: &Path) -> Result<BufReader<File>, Unreadable> {
    let file = File::open(path);
    file.map(BufReader::new)
        .map_err(|error| Unreadable(format!("it can't be read: {error}")))
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
        config: prompt["config"].as_object().cloned(),
    }
}

/// The list at a path of maps; each of its items is handed over, everything else passed over.
struct Place<'a> {
    path: &'a [&'a str],
    see: &'a mut dyn FnMut(Value) -> Result<(), Unreadable>,
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            deserializer.deserialize_seq(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.first() {
            Some(name) => write!(f, "a map with `{name}`"),
            None => f.write_str("a list of results"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.path.split_first() else {
            return Err(A::Error::custom(
                "a map where the list of results should be",
            ));
        };
        while let Some(name) = map.next_key::<String>()? {
            if name == *first {
                map.next_value_seed(Place {
                    path: rest,
                    see: &mut *self.see,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        if !self.path.is_empty() {
            return Err(A::Error::custom("a list where a map should be"));
        }
        while let Some(row) = rows.next_element::<Value>()? {
            (self.see)(row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("it can be written");
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
}
