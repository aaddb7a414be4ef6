//! What is done while a plan is made that reading files is not: code runs (generators of tests, and
//! `beforeAll`), documents are read, and rows of data sets are fetched.
//!
//! What they give decides what the plan is, so they can't wait for the run. This crate knows no
//! sandbox: whoever makes a plan hands in something that runs code, as it hands in the
//! environment and the catalog. The same code with the same arguments must give the same every
//! time, or a run that goes on would not find its rows again.

use serde_json::Value;

use crate::datasets::Dataset;
use crate::model::{Script, TrustRequest};

/// Runs code, and asks servers, for whoever makes a plan.
pub trait Scripts {
    /// Returns what `script` gives when it is called with `arguments`, by name and in order; `None`: no
    /// value (JavaScript's `undefined`).
    ///
    /// # Errors
    /// One line: the code failed, broke a limit, or can't be run here.
    fn run(&self, script: &Script, arguments: &[(&str, Value)]) -> Result<Option<Value>, String>;

    /// What has to be agreed to before code of this language is run: what runs it may be somebody
    /// else's.
    fn needs(&self, _language: &str) -> Option<TrustRequest> {
        None
    }

    /// Which of these texts are no programs of their languages. Nothing of them is run, and what
    /// can't be said is left out.
    fn mistakes(&self, _texts: &[CodeText<'_>]) -> Vec<Mistake> {
        Vec::new()
    }

    /// The text of a PDF file.
    ///
    /// # Errors
    /// One line: it is damaged, or takes more than it may.
    fn text_of_pdf(&self, _bytes: &[u8]) -> Result<String, String> {
        Err("documents are not read here".to_owned())
    }

    /// Reads a data set from its server: asks what [`Dataset::query`] says, and hands over the answers, until
    /// nothing is left to ask.
    ///
    /// # Errors
    /// One line: there is no such data set, it may not be read, or nothing is asked of servers here.
    fn fetch(&self, _dataset: &mut Dataset) -> Result<(), String> {
        Err("nothing is fetched here".to_owned())
    }

    /// Takes a word about the config's code, for who wants to know more.
    fn note(&self, _word: &str) {}
}

/// A text of code that will run as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeText<'a> {
    /// As plugins name it: `javascript`.
    pub language: &'a str,
    /// What it is.
    pub form: CodeForm<'a>,
    /// The text.
    pub source: &'a str,
    /// Whether it runs outside the sandbox.
    pub is_outside: bool,
}

/// What a text of code is. Names are what it is called with, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeForm<'a> {
    /// An assertion's code that stands in the config or its data.
    Graded {
        /// The names.
        names: &'a [&'a str],
    },
    /// A provider's, around what it sends and gets.
    Exchanged {
        /// The names.
        names: &'a [&'a str],
    },
    /// Any other that stands in the config.
    Inline {
        /// The names.
        names: &'a [&'a str],
    },
    /// A file, by its path among those that it belongs to.
    File {
        /// The path.
        path: &'a str,
    },
}

/// What is wrong with a text of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The text, by its place in the list.
    pub text: usize,
    /// One sentence, as the language says it.
    pub message: String,
    /// Line of the text, from 1.
    pub line: u32,
    /// Column in characters, from 1; 0: not known.
    pub column: u32,
}

/// Runs nothing.
pub(crate) struct NoScripts;

impl Scripts for NoScripts {
    fn run(&self, _: &Script, _: &[(&str, Value)]) -> Result<Option<Value>, String> {
        Err("no code is run here".to_owned())
    }
}
