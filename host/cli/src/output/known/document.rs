//! JSON: the document of version 3, and its records line by line.
//!
//! What is not looked at is passed over without being kept, and a record leaves nothing behind.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::strings::BoundedStrings;

/// The version of the shape that we write and read.
const VERSION: u64 = 3;

/// Checks whether it is one document and nothing else.
pub(super) fn is_document(file: &File) -> io::Result<bool> {
    match serde_json::from_reader(reader(file)) {
        Ok(Document {
            results,
            metadata,
            has_url,
            ..
        }) => {
            // Earlier versions of promptfoo did not say who wrote it; they wrote the address.
            let is_signed = metadata.map_or(has_url, |it| it.is_signed());
            Ok(results.version == VERSION && is_signed)
        }
        Err(error) if error.is_io() => Err(error.into()),
        Err(_) => Ok(false),
    }
}

/// Checks whether it is records and nothing else; the last one may be cut off, as when a run is killed.
pub(super) fn is_records(file: &File) -> io::Result<bool> {
    let values = serde_json::Deserializer::from_reader(reader(file));
    let mut whole = 0_u64;
    for record in values.into_iter::<Record>() {
        match record {
            Ok(Record) => whole += 1,
            Err(error) if error.is_io() => return Err(error.into()),
            Err(error) => return Ok(error.is_eof() && whole > 0),
        }
    }
    Ok(whole > 0)
}

fn reader(file: &File) -> impl Read {
    BufReader::new(BoundedStrings::new(file))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(rename = "evalId")]
    _id: Option<String>,
    results: Results,
    #[serde(rename = "config")]
    _config: Object,
    metadata: Option<Metadata>,
    #[serde(rename = "shareableUrl", default, deserialize_with = "is_there")]
    has_url: bool,
}

/// That the key is there, whatever it says.
fn is_there<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(value).map(|_| true)
}

#[derive(Deserialize)]
struct Results {
    version: u64,
    #[serde(rename = "timestamp")]
    _timestamp: String,
    #[serde(rename = "prompts")]
    _prompts: Vec<Object>,
    #[serde(rename = "results")]
    _records: Vec<Record>,
    #[serde(rename = "stats")]
    _stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    #[serde(rename = "successes")]
    _successes: u64,
    #[serde(rename = "failures")]
    _failures: u64,
    #[serde(rename = "errors")]
    _errors: u64,
}

/// Which program wrote it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    runner_version: Option<String>,
    promptfoo_version: Option<String>,
}

impl Metadata {
    fn is_signed(&self) -> bool {
        self.runner_version.is_some() || self.promptfoo_version.is_some()
    }
}

/// A record, as far as both programs write the same. It takes no memory, and neither does a list
/// of them.
#[derive(Deserialize)]
#[serde(from = "Fields")]
struct Record;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "that they can be read is what is asked")]
struct Fields {
    prompt_idx: u64,
    test_idx: u64,
    test_case: Object,
    provider: Object,
    prompt: Object,
    vars: Object,
    success: bool,
    score: f64,
}

impl From<Fields> for Record {
    fn from(_: Fields) -> Self {
        Self
    }
}

/// A map of anything.
struct Object;

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self)
    }
}
