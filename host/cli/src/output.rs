//! Results files: `-o results.json`, `.jsonl`, `.csv`, `.yaml`, `.txt`, `.html`, `.md`,
//! `.junit.xml`.
//!
//! They are written from the store at the end of a run, record by record in index order, in
//! memory that doesn't grow with the run, to a file beside the target that then takes its name:
//! a reader never sees half a file, and a failed write leaves the old one. jsonl is besides
//! streamed while the run goes on. Every problem with a path that can be found without making
//! anything is found before anything is spent; a folder is made when its file is written.
//!
//! Files for programs hold texts as they are, but for formulas in CSV; files for people (txt,
//! html, md, junit.xml) have what could mislead a reader replaced by `visible`, as a terminal has.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use runner_config::TextOrigin;
use runner_config::plan::{CaseId, OutputPath};
use runner_eval::record::CaseRecord;
use runner_eval::summary::{ColumnHead, Summary};
use runner_files::{ReadAccess, Replacement, try_place};
use runner_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod csv;
mod html;
mod json;
mod jsonl;
mod junit;
mod known;
mod markdown;
mod place;
mod txt;
mod yaml;

pub(crate) use json::{cost, instant, prompts, write as write_json};
pub(crate) use jsonl::Stream;
pub(crate) use markdown::{Bad, RegressionSummary, text as summary, worst};
pub(crate) use yaml::block as yaml_block;

use crate::failure::Failure;
use crate::visible;
use place::Place;

/// What a results file can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// promptfoo's version 3 shape.
    Json,
    /// One record per line.
    Jsonl,
    /// One test per line.
    Csv,
    /// The document of [`Format::Json`] as YAML.
    Yaml,
    /// Every case in words.
    Txt,
    /// A page for a browser, whole in itself.
    Html,
    /// A summary for a pull request.
    Markdown,
    /// What CI servers read.
    Junit,
}

/// Extensions and their formats. There is one XML that anything reads, so `.xml` is JUnit with
/// or without `.junit` before it (promptfoo's plain `.xml` is its JSON in other brackets).
const FORMATS: [(&str, Format); 10] = [
    ("json", Format::Json),
    ("jsonl", Format::Jsonl),
    ("csv", Format::Csv),
    ("yaml", Format::Yaml),
    ("yml", Format::Yaml),
    ("txt", Format::Txt),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("md", Format::Markdown),
    ("xml", Format::Junit),
];

/// A results file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    path: OutputPath,
    format: Format,
    /// Whether cells of CSV may be formulas.
    raw_cells: bool,
}

/// A run as the files tell it.
pub(crate) struct Run<'a> {
    /// Sums.
    pub(crate) summary: &'a Summary,
    /// Columns as the results file describes them.
    pub(crate) columns: &'a [ColumnRecord],
    /// When it began, milliseconds since 1970.
    pub(crate) started_at_ms: i64,
    /// The config, environment templates unrendered.
    pub(crate) config: &'a Value,
    /// Its records in index order.
    pub(crate) records: &'a dyn Records,
    /// Says how much of a disk results leave free.
    pub(crate) store: &'a Store,
    /// What an earlier run says of it, if one was named.
    pub(crate) against: Option<&'a RegressionSummary>,
}

/// A column in the results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnRecord {
    /// sha256 of the prompt's label.
    pub(crate) id: String,
    /// The prompt's template.
    pub(crate) raw: String,
    /// The prompt's name.
    pub(crate) label: String,
    /// The provider's label or id.
    pub(crate) provider: String,
    /// What tells that provider from others of this name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) variant: Option<String>,
    /// Options that go to the provider with the prompt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) config: Option<Map<String, Value>>,
}

impl ColumnRecord {
    /// The provider, told apart from others of the same name.
    pub(crate) fn model(&self) -> String {
        ColumnHead::told_apart(&self.provider, self.variant.as_deref())
    }
}

/// Where records come from, as JSON texts in index order; can be asked more than once.
pub(crate) trait Records {
    /// Starts from the first record.
    ///
    /// # Errors
    /// When they can't be read.
    fn open(&self) -> anyhow::Result<RecordTexts<'_>>;

    /// Where records stand, in index order.
    ///
    /// # Errors
    /// When they can't be read.
    fn places(&self) -> anyhow::Result<Places<'_>>;

    /// Reads records by their places, in any order.
    ///
    /// # Errors
    /// When they can't be read.
    fn by_place(&self) -> anyhow::Result<TextByPlace<'_>>;
}

/// Records as JSON texts.
pub(crate) type RecordTexts<'a> = Box<dyn Iterator<Item = anyhow::Result<String>> + 'a>;

/// Places of records.
pub(crate) type Places<'a> = Box<dyn Iterator<Item = anyhow::Result<CaseId>> + 'a>;

/// The record in a place as JSON text, if there is one.
pub(crate) type TextByPlace<'a> = Box<dyn Fn(CaseId) -> anyhow::Result<Option<String>> + 'a>;

impl<'a> Run<'a> {
    /// Its records, parsed, one at a time.
    ///
    /// # Errors
    /// When they can't be read.
    fn cases(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<CaseRecord>> + use<'a>> {
        let texts = self.records.open()?;
        Ok(texts.map(|text| parsed(&text?)))
    }

    /// What the user calls it.
    fn description(&self) -> Option<&'a str> {
        self.config.get("description").and_then(Value::as_str)
    }
}

fn parsed(text: &str) -> anyhow::Result<CaseRecord> {
    serde_json::from_str(text).context("a stored record is damaged")
}

impl Output {
    /// A file whose extension says its format.
    ///
    /// # Errors
    /// When there is no such format.
    pub(crate) fn at(path: OutputPath) -> Result<Self, Failure> {
        let shown = in_line(&path.path);
        // What a config calls a link says nothing about what it leads to.
        let named = match path.origin {
            TextOrigin::Person => &path.path,
            TextOrigin::Config | TextOrigin::Vouched | TextOrigin::Data(_) => &path.place,
        };
        let extension = named
            .extension()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let Some((_, format)) = FORMATS.iter().find(|(known, _)| *known == extension) else {
            return Err(Failure::usage(format!(
                "can't write {shown}: its extension names no results format"
            ))
            .help("use .json, .jsonl, .csv, .yaml, .txt, .html, .md or .junit.xml"));
        };
        let format = *format;
        let raw_cells = false;
        Ok(Self {
            path,
            format,
            raw_cells,
        })
    }

    /// Prepares several files, each named once and each in a place where it can be written; `raw_cells`:
    /// cells of CSV may be formulas. Nothing is made.
    ///
    /// # Errors
    /// The first problem found.
    pub(crate) fn prepare(paths: &[OutputPath], raw_cells: bool) -> Result<Vec<Self>, Failure> {
        let mut outputs: Vec<Self> = Vec::new();
        let mut named = HashSet::new();
        for path in paths {
            let output = Self {
                raw_cells,
                ..Self::at(path.clone())?
            };
            if !named.insert(&path.path) {
                return Err(Failure::usage(format!(
                    "{} is named twice as a results file",
                    path.path.display()
                )));
            }
            output.check()?;
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// Checks whether a file can be put there.
    fn check(&self) -> Result<(), Failure> {
        check_place(self.path())?;
        if self.path.origin == TextOrigin::Person {
            return Ok(());
        }
        // A folder that is not there has no file, and is not made for the question.
        let exists = self.path.place.symlink_metadata().is_ok();
        let place = exists.then(|| Place::of(&self.path, self.format));
        place.transpose().map(drop).map_err(|error| {
            let shown = in_line(self.path());
            Failure::usage(format!("can't write {shown}: {error}")).help(
                "the config's outputPath replaces results only: name another file there, \
                 remove this one, or name it yourself with -o",
            )
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path.path
    }

    /// Opens it for what is written bit by bit: what was in it is gone.
    ///
    /// # Errors
    /// When it can't be written there, or must not.
    fn emptied(&self) -> io::Result<File> {
        Place::of(&self.path, self.format)?.emptied()
    }

    /// What it is.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Writes the run there.
    ///
    /// # Errors
    /// When the records can't be read or the file can't be written; what was there stays.
    pub(crate) fn write(&self, run: &Run<'_>) -> anyhow::Result<()> {
        let replace = || -> anyhow::Result<()> {
            let place = Place::of(&self.path, self.format)?;
            let new = Replacement::begin(place.folder, &place.name, ReadAccess::Usual)?;
            let mut file = BufWriter::new(Sparing {
                out: new,
                store: run.store,
                path: self.path(),
                checked: 0,
            });
            match self.format {
                Format::Json => json::write(&mut file, run)?,
                Format::Jsonl => jsonl::write(&mut file, run)?,
                Format::Csv => csv::write(&mut file, run, self.raw_cells)?,
                Format::Yaml => yaml::write(&mut file, run)?,
                Format::Txt => txt::write(&mut file, run)?,
                Format::Html => html::write(&mut file, run)?,
                Format::Markdown => file.write_all(markdown::text(run)?.as_bytes())?,
                Format::Junit => junit::write(&mut file, run)?,
            }
            let replacement = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            replacement.out.commit()?;
            Ok(())
        };
        replace().with_context(|| format!("can't write {}", self.path().display()))
    }
}

/// A file that is written as long as its disk has room: rows of a stranger's can make files of any
/// size, and a config names them.
struct Sparing<'a, W> {
    out: W,
    store: &'a Store,
    path: &'a Path,
    /// Bytes for which there was room when it was asked, and that are not written yet.
    checked: usize,
}

impl<W: Write> Write for Sparing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const STEP: usize = 4 << 20;
        if bytes.len() > self.checked {
            let more = bytes.len().max(STEP);
            has_room(self.store, self.path, more)?;
            self.checked = more;
        }
        let written = self.out.write(bytes)?;
        self.checked = self.checked.saturating_sub(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What stands for a character that begins or ends markup, in XML and HTML.
fn entity(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        _ => return None,
    })
}

/// Checks whether a results file may become so many bytes longer.
fn has_room(store: &Store, path: &Path, more: usize) -> io::Result<()> {
    store
        .check_room(path, more as u64)
        .map_err(io::Error::other)
}

/// A path as messages have it: on their line.
fn in_line(path: &Path) -> String {
    visible::line(&path.display().to_string()).into_owned()
}

/// Checks whether a file can be put at `path`; nothing is made.
///
/// # Errors
/// When it can't, with what to do.
pub(crate) fn check_place(path: &Path) -> Result<(), Failure> {
    let shown = in_line(path);
    if path.is_dir() {
        return Err(Failure::usage(format!(
            "can't write {shown}: it is a folder"
        )));
    }
    try_place(path).map_err(|error| {
        let folder = path.parent().unwrap_or(path);
        let why = if folder.is_dir() {
            error.to_string()
        } else {
            format!("the folder {} can't be made: {error}", in_line(folder))
        };
        Failure::usage(format!("can't write {shown}: {why}"))
    })
}

#[cfg(test)]
mod tests;
