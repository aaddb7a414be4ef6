//! The code of a run, as it is found: files, each read once, languages, processes, and where each
//! piece runs.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::looked::Looked;
use super::syntax::SyntaxBook;
use crate::elements::Reading;
use crate::elements::process::ProcessBook;
use crate::elements::scan::Names;
use crate::model::{CodeFiles, CodePlace, Process};

/// Files of code, as they were found, with the variables that they read: thousands of providers may name
/// the same.
#[derive(Debug, Clone)]
pub(super) struct FoundCode {
    pub(super) files: Arc<CodeFiles>,
    names: Rc<OnceCell<Names>>,
}

impl FoundCode {
    pub(super) fn new(files: CodeFiles) -> Self {
        Self {
            files: Arc::new(files),
            names: Rc::default(),
        }
    }

    /// The variables that they read.
    pub(super) fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let CodeFiles { main, modules, .. } = &*self.files;
            let all = modules.iter().chain([main]);
            let sources: Vec<&str> = all.map(|file| &*file.source).collect();
            Names::of_all(&sources)
        })
    }
}

/// The code of all configs of a run together.
#[derive(Debug, Default)]
pub(crate) struct CodeBook {
    /// The files that were read; `None`: reported.
    pub(super) files: RefCell<HashMap<PathBuf, Option<FoundCode>>>,
    /// What it has looked up.
    pub(crate) looked: Looked,
    languages: RefCell<BTreeSet<String>>,
    /// What runs outside the sandbox.
    pub(crate) processes: ProcessBook,
    /// Where each piece of code runs.
    places: RefCell<BTreeSet<CodePlace>>,
    /// What of it can be read before it runs.
    pub(super) syntax: SyntaxBook,
}

impl CodeBook {
    /// Notes that there is code in this language.
    pub(crate) fn note(&self, language: &str) {
        let mut languages = self.languages.borrow_mut();
        if !languages.contains(language) {
            languages.insert(language.to_owned());
        }
    }

    /// Notes where code runs: by a process, and why, or in the sandbox.
    pub(super) fn place(&self, code: String, runs: Option<(&Process, String)>) {
        let (command, reason) = match runs {
            Some((process, reason)) => (Some(process.engine.command()), Some(reason)),
            None => (None, None),
        };
        self.places.borrow_mut().insert(CodePlace {
            command,
            code,
            reason,
        });
    }

    /// Notes where configs ran that are programs.
    pub(crate) fn ran<'a>(&self, places: impl IntoIterator<Item = &'a CodePlace>) {
        self.places.borrow_mut().extend(places.into_iter().cloned());
    }

    /// Where each piece of code runs.
    pub(crate) fn places(&self) -> Vec<CodePlace> {
        self.places.borrow().iter().cloned().collect()
    }

    /// The languages that code is in; what of it is no program of its language is reported.
    pub(crate) fn checked(&self, reading: Reading<'_>) -> BTreeSet<String> {
        let findings = reading.findings;
        // What is unknown yet would be read once more.
        if findings.refusals() == 0 {
            self.syntax.check(reading.scripts, reading.files, findings);
        }
        self.languages.borrow().clone()
    }
}
