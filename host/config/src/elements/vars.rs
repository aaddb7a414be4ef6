//! `vars`: a map, or files with maps; and the files that values name.
//!
//! The contents of those files are read here, once each, whatever number of tests names them.
//! Which of them a text may name follows from who wrote it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::code;
use super::code::CodePurpose;
use super::programs::program;
use super::reading::Reading;
use super::test_options;
use crate::model::{DataFile, Position, TextOrigin};
use crate::plan::{Test, VarFiles, weight};
use crate::read::entry::Entry;
use crate::read::files::{FileContents, has_extension, is_pattern, path_named, without_scheme};
use crate::read::node::Kind;

mod media;

/// What all files of variables may hold together.
const MAX_CONTENTS: usize = 256 << 20;

/// Documents that are not read.
const DOCUMENTS: [&str; 3] = ["docx", "pptx", "xlsx"];

/// The largest document that is read, in bytes: what is handed over is a third larger.
const MAX_DOCUMENT: u64 = 11 << 20;

/// The files that variables name, of all configs of a run together.
#[derive(Default)]
pub(crate) struct VarCollector {
    files: RefCell<VarFiles>,
    size: Cell<usize>,
    /// What the tests weigh that were made so far.
    tests: Cell<usize>,
    /// What they weighed before what they have in common was shared.
    made: Cell<u64>,
}

/// What all tests may weigh before what they have in common is shared: each is made whole, with all
/// that `defaultTest` adds, and held against others. Some twenty seconds of one processor.
const MAX_MADE: u64 = 32 << 30;

impl VarCollector {
    /// The files that were named.
    pub(crate) fn into_files(self) -> VarFiles {
        self.files.into_inner()
    }
}

/// Variables that were read.
#[derive(Debug, Default)]
pub(crate) struct ReadVars {
    pub(crate) values: Map<String, Value>,
    /// Those of them that are a data file's word.
    pub(crate) of_data: BTreeSet<String>,
    /// One such file.
    pub(crate) data: Option<Arc<DataFile>>,
    /// Those that are what they say (`rawVars`): no file of theirs was read.
    pub(crate) raw: Vec<RawVar>,
}

/// A variable whose files were not read, for it was to be what it says.
#[derive(Debug, Clone)]
pub(crate) struct RawVar {
    pub(crate) name: String,
    at: Position,
    origin: TextOrigin,
}

impl ReadVars {
    /// Sets one; the later one counts.
    fn insert(&mut self, name: &str, value: Value, origin: &TextOrigin) {
        if let Some(file) = origin.data_file() {
            self.of_data.insert(name.to_owned());
            self.data.get_or_insert_with(|| file.clone());
        } else {
            self.of_data.remove(name);
        }
        self.values.insert(name.to_owned(), value);
    }
}

/// Reads the variables of one config and collects their files.
pub(crate) struct VarReader<'a> {
    reading: Reading<'a>,
    collector: &'a VarCollector,
}

impl<'a> VarReader<'a> {
    pub(crate) fn new(reading: Reading<'a>, collector: &'a VarCollector) -> Self {
        Self { reading, collector }
    }

    /// The files that were named so far.
    pub(crate) fn files(&self) -> std::cell::Ref<'_, VarFiles> {
        self.collector.files.borrow()
    }

    /// Counts what a test is made of; whether that is not too much work.
    pub(crate) fn may_make(&self, test: &Test) -> bool {
        let made = self.collector.made.get() + weight::of_test(test) as u64;
        self.collector.made.set(made);
        made <= MAX_MADE
    }

    /// Counts what a test takes; how much all of them may take, if that is less.
    pub(crate) fn make_room(&self, weight: usize) -> Result<(), usize> {
        let weight = self.collector.tests.get() + weight;
        self.collector.tests.set(weight);
        let max = weight::max_of_tests(self.reading.files.read.bytes());
        if weight <= max { Ok(()) } else { Err(max) }
    }

    /// What a `file://` value is called: as written, but with its whole path where another
    /// config's folder is meant than the first one's, so that two files are never one.
    fn key<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match path_named(text) {
            Some(path) if self.reading.is_further => {
                let path = self.reading.files.absolute(path);
                Cow::Owned(format!("file://{}", path.display()))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// A value with its files called by their [`Self::key`]s.
    fn keyed(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.key(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.keyed(item)).collect(),
            other => other,
        }
    }

    /// Reads the variables of a test, or of a part of one. Those of a file of tests name files of variables relative to it.
    pub(crate) fn of_test(&self, entry: &Entry<'_>, is_in_file: bool) -> ReadVars {
        let Some(vars) = entry.get("vars") else {
            return ReadVars::default();
        };
        let mut fields = vars.fields();
        if let Some((name, value)) = fields.find(|(name, _)| name.starts_with("__expected")) {
            let message = format!("'{name}' is a column of CSV files, not a variable");
            let help = "as a variable it checks nothing; write `assert` beside `vars`";
            (self.reading.findings).error_help(value.at(), message, help);
        }
        let options = entry.get("options");
        match options.and_then(|options| options.get(test_options::RAW_VARS)) {
            Some(raw) if raw.node.json() == Value::Bool(true) => {
                let values = vars.want_map(self.reading.findings);
                let raw = vars.fields().map(|(name, value)| RawVar {
                    name: name.to_owned(),
                    at: value.at(),
                    origin: value.origin.clone(),
                });
                ReadVars {
                    values: values.unwrap_or_default(),
                    raw: raw.collect(),
                    ..ReadVars::default()
                }
            }
            _ => {
                let own = entry.file.parent().filter(|_| is_in_file);
                self.read(&vars, own)
            }
        }
    }

    /// Reads `vars`, environment templates filled in. Files of variables are relative to `base`,
    /// where that is not the config's folder.
    fn read(&self, entry: &Entry<'_>, base: Option<&Path>) -> ReadVars {
        let mut vars = ReadVars::default();
        match &entry.node.kind {
            Kind::Map(_) => self.fields(entry, &mut vars),
            Kind::Text(_) => self.file(entry, base, &mut vars),
            Kind::List(_) => entry
                .items()
                .for_each(|item| self.file(&item, base, &mut vars)),
            _ => entry.mismatch(self.reading.findings, "a map of names to values"),
        }
        vars
    }

    fn fields(&self, entry: &Entry<'_>, vars: &mut ReadVars) {
        for (name, value) in entry.fields() {
            self.values(&value);
            vars.insert(name, self.keyed(value.node.json()), value.origin);
        }
    }

    /// Reads a file (or pattern) with a map of variables; later ones win.
    fn file(&self, entry: &Entry<'_>, base: Option<&Path>, vars: &mut ReadVars) {
        let findings = self.reading.findings;
        let Some(text) = entry.text() else {
            return entry.mismatch(findings, "the path of a YAML or JSON file");
        };
        if let Some(path) = program(text) {
            let message = format!("'{path}': code can't make all variables at once");
            let help = "name the code for one variable, vars: { name: file://x.js }, or make the \
                        tests with it, tests: file://x.js";
            return findings.error_help(entry.at(), message, help);
        }
        let mut files = self.reading.files.clone();
        if let Some(base) = base {
            base.clone_into(&mut files.base);
        }
        let paths = match files.expand(without_scheme(text), (&entry.at(), entry.origin, findings))
        {
            Ok(paths) => paths,
            Err(reason) => return findings.error(entry.at(), format!("'{text}' {reason}")),
        };
        for path in paths {
            let tree = files.tree(&path, &entry.at(), entry.origin, findings);
            let Some(mut node) = tree else {
                continue;
            };
            let origin = files.origin_of(&path, FileContents::Tests, entry.origin);
            let declared = self.reading.declared;
            if !origin.is_data() && !declared.fill(&mut node, &path, findings) {
                continue;
            }
            let file = Entry::root(&node, &path, &origin);
            if file.is_map() {
                self.fields(&file, vars);
            } else {
                file.mismatch(findings, "a map of names to values");
            }
        }
    }

    /// Reads the files of variables that were to be what they say and, by what lies over them, are not.
    pub(crate) fn read_late(&self, raw: &[RawVar], vars: &mut Map<String, Value>) {
        for RawVar { name, at, origin } in raw {
            let Some(value) = vars.get_mut(name) else {
                continue;
            };
            match &*value {
                Value::String(text) => self.value(text, at, origin, true),
                Value::Array(items) => {
                    let texts = items.iter().filter_map(Value::as_str);
                    texts.for_each(|text| self.value(text, at, origin, false));
                }
                _ => {}
            }
            *value = self.keyed(value.take());
        }
    }

    /// Reads the files that a value names: a text, or the texts of a list.
    fn values(&self, entry: &Entry<'_>) {
        match entry.text() {
            Some(text) => self.value(text, &entry.at(), entry.origin, true),
            None => {
                for item in entry.items() {
                    if let Some(text) = item.text() {
                        self.value(text, &item.at(), item.origin, false);
                    }
                }
            }
        }
    }

    /// Reads the file or files that a text names, if it names any.
    pub(crate) fn value(&self, text: &str, at: &Position, origin: &TextOrigin, may_expand: bool) {
        let findings = self.reading.findings;
        if text.starts_with("package:") && !origin.is_data() {
            let message = format!("'{text}': packages are not read");
            let help = "name a file of code that asks the package: file://x.js; or, for the text itself, options: { rawVars: true }";
            return findings.error_help(at.clone(), message, help);
        }
        let Some(path) = path_named(text) else {
            return;
        };
        if let Some((line, _)) = text.split_once(['\n', '\r']) {
            let message = format!("'{line}…' is several lines, which is no path");
            let help =
                "the path alone, on one line; or, for the text itself, options: { rawVars: true }";
            return findings.error_help(at.clone(), message, help);
        }
        let key = self.key(text);
        // Whoever names a file needs the right to it, also where another has named it before.
        if self.ask_again(&key, text, path, at, origin) {
            return;
        }
        if program(path).is_some() && !is_pattern(path) {
            let script = code::file(text, at, origin, self.reading);
            let script = script.map(|script| code::meant(script, CodePurpose::Variable));
            let mut files = self.collector.files.borrow_mut();
            return files
                .scripts
                .extend(script.map(|script| (key.into_owned(), script)));
        }
        if !(may_expand && is_pattern(path)) {
            let content = self.content(&self.reading.files.shown(path), at, origin);
            let mut files = self.collector.files.borrow_mut();
            files
                .contents
                .insert(key.into_owned(), content.unwrap_or_default());
            return;
        }
        match self.reading.files.expand(path, (at, origin, findings)) {
            Err(reason) => findings.error(at.clone(), format!("'{text}' {reason}")),
            Ok(paths) => self.matches(key.into_owned(), paths, at, origin),
        }
    }

    /// Whether the files that a text names are known already. What this origin may not name of
    /// them is noted.
    fn ask_again(
        &self,
        key: &str,
        text: &str,
        path: &str,
        at: &Position,
        origin: &TextOrigin,
    ) -> bool {
        let Reading {
            files, findings, ..
        } = self.reading;
        let known = self.files();
        if known.scripts.contains_key(key) {
            drop(known);
            // Code is read once for each file, whoever names it.
            code::file(text, at, origin, self.reading);
            return true;
        }
        if let Some(matches) = known.matches.get(key) {
            for one in matches.iter() {
                // What was read for another is not read again.
                files.permit(one, at, origin, findings);
            }
            return true;
        }
        let is_known = known.contents.contains_key(key);
        if is_known {
            files.permit(&files.shown(path), at, origin, findings);
        }
        is_known
    }

    /// Reads every file that a pattern matches.
    fn matches(&self, key: String, paths: Vec<PathBuf>, at: &Position, origin: &TextOrigin) {
        for path in &paths {
            let content = self.content(path, at, origin);
            let mut files = self.collector.files.borrow_mut();
            files
                .matched
                .insert(path.clone(), content.unwrap_or_default());
        }
        let mut files = self.collector.files.borrow_mut();
        files.matches.insert(key, Arc::from(paths));
    }

    /// What a file stands for: its text; YAML for its value as JSON. What a template reads of either by
    /// key, it finds.
    fn content(&self, path: &Path, at: &Position, origin: &TextOrigin) -> Option<Value> {
        let findings = self.reading.findings;
        let shown = path.display().to_string();
        if let Some(program) = program(&shown) {
            let message = format!("'{program}': a pattern can't name code");
            findings.error_help(at.clone(), message, "name each file by itself");
            return None;
        }
        if has_extension(path, &DOCUMENTS) {
            let message = format!("'{shown}': documents in variables are not supported");
            let help = "save its text as .txt, for example with `pdftotext`";
            findings.error_help(at.clone(), message, help);
            return None;
        }
        let (content, size) = if has_extension(path, &["pdf"]) {
            let files = self.reading.files;
            let file = files.permit(path, at, origin, findings)?;
            let text = files
                .read_bytes(&file, MAX_DOCUMENT)
                .and_then(|bytes| self.reading.scripts.text_of_pdf(&bytes));
            let refused = |why| findings.error(at.clone(), format!("'{shown}': {why}"));
            let text = text.map_err(refused).ok()?;
            let size = text.len();
            (Value::from(text.trim()), size)
        } else if media::is_media(path) {
            let files = self.reading.files;
            let file = files.permit(path, at, origin, findings)?;
            let bytes = files.read_bytes(&file, media::MAX_MEDIA);
            let text = bytes.map(|bytes| media::text(path, &bytes));
            let refused = |why| findings.error(at.clone(), format!("'{shown}': {why}"));
            let text = text.map_err(refused).ok()?;
            let size = text.len();
            (Value::from(text), size)
        } else if has_extension(path, &["yaml", "yml"]) {
            let files = self.reading.files;
            let tree = files.tree(path, at, origin, findings)?;
            let text = tree.json().to_string();
            let size = text.len();
            (Value::from(text), size)
        } else {
            let files = self.reading.files;
            let text = files.read_named(path, at, origin, findings)?;
            (Value::from(text.trim()), text.len())
        };
        let total = &self.collector.size;
        total.set(total.get() + size);
        if total.get() > MAX_CONTENTS {
            findings.error(
                at.clone(),
                format!(
                    "the files of variables hold more than {} MiB",
                    MAX_CONTENTS >> 20
                ),
            );
            return None;
        }
        Some(content)
    }
}

#[cfg(test)]
mod tests;
