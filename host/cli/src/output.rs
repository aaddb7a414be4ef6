//! Results files: `-o results.json`, `.jsonl`, `.csv`, `.yaml`, `.txt`, `.html`, `.junit.xml`.
//!
//! They are written from the store at the end of a run, record by record in index order, in
//! memory that doesn't grow with the run, to a file beside the target that then takes its name:
//! a reader never sees half a file, and a failed write leaves the old one. jsonl is besides
//! streamed while the run goes on. Every problem with a path that can be found is found before
//! anything is spent. Files for programs hold texts as they are; files for people (txt, html,
//! junit.xml) have what could mislead a reader replaced by `visible`, as a terminal has.

use std::ffi::OsStr;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::Context;
use runner_eval::record::CaseRecord;
use runner_eval::summary::Summary;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod csv;
mod html;
mod json;
mod jsonl;
mod junit;
mod replacement;
mod txt;
mod yaml;

pub(crate) use json::{instant, write as write_json};
pub(crate) use jsonl::Stream;
pub(crate) use yaml::block as yaml_block;

use crate::failure::Failure;
use crate::stored::StoredRun;
use replacement::Replacement;

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
    /// What CI servers read.
    Junit,
}

/// Extensions and their formats. There is one XML that anything reads, so `.xml` is JUnit with
/// or without `.junit` before it (promptfoo's plain `.xml` is its JSON in other brackets).
const FORMATS: [(&str, Format); 9] = [
    ("json", Format::Json),
    ("jsonl", Format::Jsonl),
    ("csv", Format::Csv),
    ("yaml", Format::Yaml),
    ("yml", Format::Yaml),
    ("txt", Format::Txt),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("xml", Format::Junit),
];

/// A results file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    path: PathBuf,
    format: Format,
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
    /// Options that go to the provider with the prompt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) config: Option<Map<String, Value>>,
}

/// Where records come from, as JSON texts in index order; can be asked more than once.
pub(crate) trait Records {
    /// Starts from the first record.
    ///
    /// # Errors
    /// When they can't be read.
    fn open(&self) -> anyhow::Result<RecordTexts<'_>>;
}

/// Records as JSON texts.
pub(crate) type RecordTexts<'a> = Box<dyn Iterator<Item = anyhow::Result<String>> + 'a>;

impl<'a> Run<'a> {
    /// A kept run with its sums.
    pub(crate) fn of(stored: &'a StoredRun, summary: &'a Summary) -> Self {
        Self {
            summary,
            columns: &stored.columns,
            started_at_ms: stored.info.created_at_ms,
            config: &stored.config,
            records: stored,
        }
    }

    /// Its records, parsed, one at a time.
    ///
    /// # Errors
    /// When they can't be read.
    fn cases(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<CaseRecord>> + use<'a>> {
        let texts = self.records.open()?;
        Ok(texts.map(|text| serde_json::from_str(&text?).context("a stored record is damaged")))
    }

    /// What the user calls it.
    fn description(&self) -> Option<&'a str> {
        self.config.get("description").and_then(Value::as_str)
    }
}

impl Output {
    /// A file whose extension says its format.
    ///
    /// # Errors
    /// When there is no such format.
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let extension = path
            .extension()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let Some((_, format)) = FORMATS.iter().find(|(known, _)| *known == extension) else {
            return Err(Failure::usage(format!(
                "can't write {shown}: its extension names no results format"
            ))
            .help("use .json, .jsonl, .csv, .yaml, .txt, .html or .junit.xml"));
        };
        Ok(Self {
            path: path.to_owned(),
            format: *format,
        })
    }

    /// Several files, each named once and each in a place where it can be written.
    ///
    /// # Errors
    /// The first problem found.
    pub(crate) fn prepare(paths: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        let mut outputs: Vec<Self> = Vec::new();
        for path in paths {
            let output = Self::at(path)?;
            if outputs.contains(&output) {
                return Err(Failure::usage(format!(
                    "{} is named twice as a results file",
                    path.display()
                )));
            }
            output.check()?;
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// Whether a file can be put there.
    fn check(&self) -> Result<(), Failure> {
        check_place(&self.path)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
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
            let mut file = BufWriter::new(Replacement::create(&self.path)?);
            match self.format {
                Format::Json => json::write(&mut file, run)?,
                Format::Jsonl => jsonl::write(&mut file, run)?,
                Format::Csv => csv::write(&mut file, run)?,
                Format::Yaml => yaml::write(&mut file, run)?,
                Format::Txt => txt::write(&mut file, run)?,
                Format::Html => html::write(&mut file, run)?,
                Format::Junit => junit::write(&mut file, run)?,
            }
            let replacement = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            Ok(replacement.commit()?)
        };
        replace().with_context(|| format!("can't write {}", self.path.display()))
    }
}

/// Whether a file can be put at `path`; leaves nothing behind but the folder, which is made.
///
/// # Errors
/// When it can't, with what to do.
pub(crate) fn check_place(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    if path.is_dir() {
        return Err(Failure::usage(format!(
            "can't write {shown}: it is a folder"
        )));
    }
    let folder = folder(path);
    std::fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        Failure::usage(format!(
            "can't write {shown}: the folder {folder} can't be made: {error}"
        ))
    })?;
    // The only test that knows read-only mounts, quotas and access lists is to do it.
    Replacement::create(path)
        .map(drop)
        .map_err(|error| Failure::usage(format!("can't write {shown}: {error}")))
}

/// The folder that holds `path`.
fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
