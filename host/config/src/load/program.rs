//! A config that is a program: it runs once, and what it gives is the config.
//!
//! It has the config's rights and no more: what the sandbox lacks is asked for like any other
//! program of a config. Values that it gives stand on no line of it.

use std::collections::BTreeMap;
use std::path::Path;

use super::LoadRequest;
use crate::catalog::Catalog;
use crate::elements::books::{CodeBook, FilterBook};
use crate::elements::code;
use crate::elements::reading::Reading;
use crate::fill::Declared;
use crate::model::{CodePlace, Findings, Position, TextOrigin};
use crate::read::files::{Files, has_extension};
use crate::read::node::{Mark, Node};
use crate::scripts::Scripts;

/// What configs that are programs are run with, before their own plugins are known.
#[derive(Clone, Copy)]
pub struct Interpreters<'a> {
    /// What the bundled plugins serve.
    pub catalog: &'a Catalog,
    /// What runs code.
    pub scripts: &'a dyn Scripts,
}

impl std::fmt::Debug for Interpreters<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interpreters").finish_non_exhaustive()
    }
}

const HELP: &str = "a program gives its config as data: JavaScript and TypeScript by their default \
    export, Python by a function `config`; code in it is named, for example `value: 'file://check.js'`";

/// Whether a config of this name is a program.
pub(super) fn is_program(path: &Path) -> bool {
    has_extension(path, &["js", "cjs", "mjs", "ts", "cts", "mts", "py"])
}

/// What a program gives, and where it ran; `None` if it was reported why there is nothing.
pub(super) fn tree(
    path: &Path,
    files: &Files,
    request: &LoadRequest,
    interpreters: Option<Interpreters<'_>>,
    findings: &Findings,
) -> Option<(Node, Vec<CodePlace>)> {
    let at = Position {
        file: path.to_owned(),
        ..Position::default()
    };
    let Some(Interpreters { catalog, scripts }) = interpreters else {
        findings.error(at, "is a program, and no code is run here");
        return None;
    };
    let code = CodeBook::default();
    let reading = Reading {
        files,
        findings,
        declared: &Declared::default(),
        catalog,
        code: &code,
        scripts,
        filters: &FilterBook::default(),
        config: path,
        process: &request.env,
        runtime: None,
        granted: None,
        is_further: false,
    };
    let node = made(path, &at, reading);
    code.processes
        .ask(&BTreeMap::new(), &BTreeMap::new(), findings);
    Some((node?, code.places()))
}

fn made(path: &Path, at: &Position, reading: Reading<'_>) -> Option<Node> {
    let findings = reading.findings;
    let name = path.file_name()?.to_str()?;
    let script = code::file(name, at, &TextOrigin::Config, reading)?;
    let script = code::meant(script, code::CodePurpose::Config);
    if !reading.may_run(&script, at) {
        return None;
    }
    let refused = |message: String| findings.error_help(at.clone(), message, HELP);
    let made = match reading.scripts.run(&script, &[]) {
        Ok(made) => made.or_else(|| {
            refused("gives nothing".to_owned());
            None
        })?,
        Err(reason) => {
            refused(format!("gave no config: {reason}"));
            return None;
        }
    };
    reading.files.read.count(made.to_string().len());
    let node = Node::made(made, Mark::default());
    if node.is_none() {
        findings.error(at.clone(), "gave a config that is nested too deep");
    }
    node
}
