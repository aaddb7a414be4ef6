//! A results file, read row by row: this program's or promptfoo's version 3 JSON, or JSON lines.
//!
//! The document has its rows in the middle, and what describes them before and behind. So its
//! head is read first, the rows passed over; then the rows, the head passed over. Neither
//! reading holds more than one row, and no row, like all that describes them, may be larger than
//! [`MAX_PART`].

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use runner_eval::record::CaseRecord;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::{MAX_COLUMNS, Unreadable, row};
use crate::output::ColumnRecord;

/// Bytes of one row, and of everything before and behind the rows: the most that a row of this
/// program has.
const MAX_PART: u64 = 64 << 20;

/// Values of a part, as far as commas and brackets tell: some take 400 bytes of memory for two of the
/// file.
const MAX_VALUES: u64 = 1_000_000;

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

/// What describes the rows, as it is written.
#[derive(Debug, Default)]
struct Head {
    eval_id: Value,
    config: Value,
    version: Value,
    timestamp: Value,
    prompts: Value,
    stats: Value,
}

impl Head {
    /// Where a field belongs that stands so many maps above the rows.
    fn place(&mut self, above: usize, name: &str) -> Option<&mut Value> {
        Some(match (above, name) {
            (2, "evalId") => &mut self.eval_id,
            (2, "config") => &mut self.config,
            (1, "version") => &mut self.version,
            (1, "timestamp") => &mut self.timestamp,
            (1, "prompts") => &mut self.prompts,
            (1, "stats") => &mut self.stats,
            _ => return None,
        })
    }
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
        let (file, room) = open(path)?;
        let metadata = file.get_ref().file.metadata();
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
        let mut head = Head::default();
        document(file, &room, &mut Wanted::Head(&mut head))?;
        let Head { version, stats, .. } = head;
        if version != 3 {
            let why = format!("its results have version {version}, and 3 is read");
            return Err(Unreadable(why));
        }
        let said = |value: Value| value.as_str().map(str::to_owned);
        found.id = said(head.eval_id);
        found.timestamp = said(head.timestamp);
        let columns = head.prompts.as_array().map(Vec::as_slice);
        let columns = columns.unwrap_or_default();
        if columns.len() > MAX_COLUMNS {
            let count = columns.len();
            let why = format!("it has {count} columns, and at most {MAX_COLUMNS} are read");
            return Err(Unreadable(why));
        }
        found.columns = columns.iter().map(column).collect();
        found.not_run = stats["notRun"].as_u64().unwrap_or(0);
        found.stats = stats;
        if head.config.is_object() {
            found.config = head.config;
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
        let (file, room) = open(&self.path)?;
        match self.shape {
            Shape::Document => document(file, &room, &mut Wanted::Rows(&mut take)),
            Shape::Lines => {
                for (idx, line) in file.lines().enumerate() {
                    let at =
                        |why: &dyn fmt::Display| Unreadable(format!("line {}: {why}", idx + 1));
                    let line = line.map_err(|error| at(&error))?;
                    room.set(WHOLE);
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

/// How much may still be read before the end of a part.
type Room = Rc<Cell<Left>>;

#[derive(Debug, Clone, Copy)]
struct Left {
    bytes: u64,
    values: u64,
}

const WHOLE: Left = Left {
    bytes: MAX_PART,
    values: MAX_VALUES,
};

impl Left {
    /// What is left after this, if anything.
    fn after(self, read: &[u8]) -> io::Result<Self> {
        let values = read.iter().filter(|byte| b",[{".contains(byte)).count();
        let less = |left: u64, taken: usize, what: &dyn fmt::Display| {
            let too_much = || io::Error::other(format!("a part of it {what}"));
            left.checked_sub(taken as u64).ok_or_else(too_much)
        };
        let max = MAX_PART >> 20;
        Ok(Self {
            bytes: less(
                self.bytes,
                read.len(),
                &format_args!("is larger than {max} MiB"),
            )?,
            values: less(
                self.values,
                values,
                &format_args!("has more than {MAX_VALUES} values"),
            )?,
        })
    }
}

/// A file that ends with an error where a part of it is too large.
#[derive(Debug)]
struct Parts {
    file: File,
    room: Room,
}

impl Read for Parts {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.room.set(self.room.get().after(&into[..read])?);
        Ok(read)
    }
}

fn open(path: &Path) -> Result<(BufReader<Parts>, Room), Unreadable> {
    let file = File::open(path);
    let file = file.map_err(|error| Unreadable(format!("it can't be read: {error}")))?;
    let room = Room::new(Cell::new(WHOLE));
    let parts = Parts {
        file,
        room: room.clone(),
    };
    Ok((BufReader::new(parts), room))
}

/// Reads a document for one thing.
fn document(
    file: BufReader<Parts>,
    room: &Room,
    wanted: &mut Wanted<'_>,
) -> Result<(), Unreadable> {
    let mut reader = serde_json::Deserializer::from_reader(file);
    let place = Place {
        path: &["results", "results"],
        room,
        wanted,
    };
    let read = place.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|error| Unreadable(error.to_string()))
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

/// What a document is read for.
enum Wanted<'a> {
    Head(&'a mut Head),
    Rows(&'a mut dyn FnMut(Value) -> Result<(), Unreadable>),
}

/// The rows, a list at a path of maps, and what stands beside them.
struct Place<'a, 'w> {
    path: &'a [&'static str],
    room: &'a Room,
    wanted: &'a mut Wanted<'w>,
}

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            deserializer.deserialize_seq(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }
}

impl<'de> Visitor<'de> for Place<'_, '_> {
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
        let mut is_there = false;
        while let Some(name) = map.next_key::<String>()? {
            let of_head = match self.wanted {
                Wanted::Head(head) => head.place(self.path.len(), &name),
                Wanted::Rows(_) => None,
            };
            if let Some(value) = of_head {
                *value = map.next_value()?;
            } else if name == *first {
                is_there = true;
                map.next_value_seed(Place {
                    path: rest,
                    room: self.room,
                    wanted: &mut *self.wanted,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if is_there || rest.is_empty() {
            Ok(())
        } else {
            Err(A::Error::missing_field(first))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        if !self.path.is_empty() {
            return Err(A::Error::custom("a list where a map should be"));
        }
        loop {
            self.room.set(WHOLE);
            let more = match self.wanted {
                Wanted::Head(_) => rows.next_element::<IgnoredAny>()?.map(|_| ()),
                Wanted::Rows(see) => {
                    let row = rows.next_element::<Value>()?;
                    row.map(see).transpose().map_err(A::Error::custom)?
                }
            };
            if more.is_none() {
                return Ok(());
            }
        }
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
