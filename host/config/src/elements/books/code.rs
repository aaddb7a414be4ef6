//! The code of a run, as it is found: files, each read once, languages, processes, and where each
//! piece runs.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::looked::LookedUp;
use super::processes::ProcessBook;
use super::syntax::SyntaxBook;
use crate::elements::scan::{TYPED, VariableNames};
use crate::model::{CodeFiles, CodePlace, Findings, Process};
use crate::read::files::{Files, has_extension};
use crate::scripts::Scripts;

/// Files of code, as they were found, with the variables that they read: thousands of providers may name
/// the same.
#[derive(Debug, Clone)]
pub(crate) struct FoundCode {
    pub(crate) files: Arc<CodeFiles>,
    names: Rc<OnceCell<VariableNames>>,
}

impl FoundCode {
    fn new(files: CodeFiles) -> Self {
        Self {
            files: Arc::new(files),
            names: Rc::default(),
        }
    }

    /// Whether one of them is TypeScript.
    pub(crate) fn is_typed(&self) -> bool {
        let CodeFiles { main, modules, .. } = &*self.files;
        let mut all = modules.iter().chain([main]);
        all.any(|file| has_extension(Path::new(&file.path), &TYPED))
    }

    /// The variables that they read.
    pub(crate) fn names(&self) -> &VariableNames {
        self.names.get_or_init(|| {
            let CodeFiles { main, modules, .. } = &*self.files;
            let all = modules.iter().chain([main]);
            let sources: Vec<&str> = all.map(|file| &*file.source).collect();
            VariableNames::of_all(&sources)
        })
    }
}

/// The code of all configs of a run together.
#[derive(Debug, Default)]
pub(crate) struct CodeBook {
    /// The files that were read; `None`: reported.
    files: RefCell<HashMap<PathBuf, Option<FoundCode>>>,
    /// What it has looked up.
    pub(crate) looked: LookedUp,
    languages: RefCell<BTreeSet<String>>,
    /// What runs outside the sandbox.
    pub(crate) processes: ProcessBook,
    /// Where each piece of code runs.
    places: RefCell<BTreeSet<CodePlace>>,
    /// What of it can be read before it runs.
    pub(crate) syntax: SyntaxBook,
}

impl CodeBook {
    /// The files of a piece of code, which `gather` reads the first time; `None`: reported.
    pub(crate) fn found(
        &self,
        path: PathBuf,
        gather: impl FnOnce() -> Option<CodeFiles>,
    ) -> Option<FoundCode> {
        let known = self.files.borrow().get(&path).cloned();
        known.unwrap_or_else(|| {
            let found = gather().map(FoundCode::new);
            self.files.borrow_mut().insert(path, found.clone());
            found
        })
    }

    /// Notes that there is code in this language.
    pub(crate) fn note(&self, language: &str) {
        let mut languages = self.languages.borrow_mut();
        if !languages.contains(language) {
            languages.insert(language.to_owned());
        }
    }

    /// Notes where code runs: by a process, and why, or in the sandbox, from where it may send requests to
    /// the hosts that it `reaches`.
    pub(crate) fn place(&self, code: String, runs: Option<(&Process, String)>, reaches: &[String]) {
        let (command, reason) = match runs {
            Some((process, reason)) => (Some(process.engine.command()), Some(reason)),
            None => (None, None),
        };
        self.places.borrow_mut().insert(CodePlace {
            command,
            code,
            reason,
            reaches: reaches.to_vec(),
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
    pub(crate) fn checked(
        &self,
        files: &Files,
        scripts: &dyn Scripts,
        findings: &Findings,
    ) -> BTreeSet<String> {
        // What is unknown yet would be read once more.
        if findings.refusals() == 0 {
            self.syntax.check(scripts, files, findings);
        }
        self.languages.borrow().clone()
    }
}
