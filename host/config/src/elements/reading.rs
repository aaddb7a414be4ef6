//! What every reader of a key needs: the config, the files, and what was found so far.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::books::{CodeBook, FilterBook, request};
use crate::catalog::Catalog;
use crate::fill::Declared;
use crate::model::{Findings, Position, Script};
use crate::read::entry::Entry;
use crate::read::files::{Files, has_extension};
use crate::scripts::Scripts;

/// Where code is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    Sandbox,
    Process,
}

/// What every reader of a key needs.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) files: &'a Files,
    pub(crate) findings: &'a Findings,
    pub(crate) declared: &'a Declared,
    pub(crate) catalog: &'a Catalog,
    /// The files of code that were read.
    pub(crate) code: &'a CodeBook,
    /// What runs code while the plan is made.
    pub(crate) scripts: &'a dyn Scripts,
    /// The filters that the config adds to templates.
    pub(crate) filters: &'a FilterBook,
    /// The config's file, as positions name it.
    pub(crate) config: &'a Path,
    /// The process's environment.
    pub(crate) process: &'a BTreeMap<String, String>,
    /// Where the config's code is to run, if it says so.
    pub(crate) runtime: Option<Runtime>,
    /// The hosts to which code may send requests from the sandbox, by its language; `None`: this code sends none.
    pub(crate) granted: Option<&'a BTreeMap<String, Vec<String>>>,
    /// Whether this is not the first config of the run, whose folder `--var` is relative to.
    pub(crate) is_further: bool,
}

impl<'a> Reading<'a> {
    /// The hosts to which code of this language may send requests from the sandbox.
    pub(crate) fn reaches(&self, language: &str) -> &'a [String] {
        let granted = self.granted.and_then(|granted| granted.get(language));
        granted.map_or(&[], Vec::as_slice)
    }

    /// For code that sends nothing from the sandbox: it runs before there is a run, or for texts that are
    /// not the config's.
    pub(crate) fn without_requests(self) -> Self {
        Self {
            granted: None,
            ..self
        }
    }

    /// What the file holds that a value names: YAML and JSON by their value, anything else by its text
    /// without the white space around it.
    pub(crate) fn content(&self, shown: &Path, named: &Entry<'_>) -> Option<Value> {
        let (at, origin, findings) = (&named.at(), named.origin, self.findings);
        if has_extension(shown, &["json", "yaml", "yml"]) {
            let tree = self.files.tree(shown, at, origin, findings);
            return tree.map(|node| node.json());
        }
        let text = self.files.read_named(shown, at, origin, findings);
        text.map(|text| text.trim().into())
    }

    /// Whether code may be run now: what runs it may have to be agreed to, which is noted.
    #[must_use]
    pub(crate) fn may_run(&self, script: &Script, at: &Position) -> bool {
        let needs = match &script.process {
            Some(process) => Some(request(process, at)),
            None => self.scripts.needs(&script.language),
        };
        needs.is_none_or(|request| self.findings.may_read(request))
    }
}

/// One config of a run, ready to be read.
#[derive(Clone)]
pub(crate) struct Document<'a> {
    pub(crate) root: Entry<'a>,
    pub(crate) reading: Reading<'a>,
}

/// The last config that has `key`; of several configs the later one wins.
pub(crate) fn last<'a>(documents: &[Document<'a>], key: &str) -> Option<Entry<'a>> {
    let mut documents = documents.iter().rev();
    documents.find_map(|document| document.root.get(key))
}
