//! The keys of a config, one file each: what it may say, how it is read, what is wrong with it.

mod assertion_text;
pub(crate) mod assertions;
pub(crate) mod budget;
pub(crate) mod code;
pub(crate) mod default_test;
pub(crate) mod derived_metrics;
pub(crate) mod extensions;
pub(crate) mod filter_book;
pub(crate) mod http_code;
pub(crate) mod judges;
pub(crate) mod lane;
pub(crate) mod limits;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod output_path;
pub(crate) mod plugins;
pub(crate) mod prices;
pub(crate) mod process;
pub(crate) mod prompts;
pub(crate) mod provider_config;
pub(crate) mod providers;
pub(crate) mod questions;
pub(crate) mod retries;
pub(crate) mod scan;
pub(crate) mod scenarios;
pub(crate) mod tasks;
pub(crate) mod test_case;
pub(crate) mod test_options;
pub(crate) mod test_sources;
pub(crate) mod thresholds;
pub(crate) mod vars;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::catalog::Catalog;
use crate::elements::code::CodeBook;
use crate::elements::filter_book::FilterBook;
use crate::elements::process::Runtime;
use crate::fill::Declared;
use crate::model::{Findings, Position, Script};
use crate::read::entry::Entry;
use crate::read::files::{Files, has_extension};
use crate::scripts::Scripts;

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
    /// Whether this is not the first config of the run, whose folder `--var` is relative to.
    pub(crate) is_further: bool,
}

impl Reading<'_> {
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
            Some(process) => Some(process::request(process, at)),
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

/// Extensions of programs, whether or not a plugin runs them.
pub(crate) const PROGRAMS: [&str; 12] = [
    "js", "cjs", "mjs", "ts", "cts", "mts", "py", "rb", "go", "sh", "pl", "php",
];

/// The program that `written` names (`file://x.py:function` or a bare path), if it does.
pub(crate) fn program(written: &str) -> Option<&str> {
    let path = crate::read::files::without_scheme(written);
    let is_program = |path: &str| has_extension(path.as_ref(), &PROGRAMS);
    if is_program(path) {
        return Some(path);
    }
    let (path, function) = path.rsplit_once(':')?;
    (is_program(path) && !function.contains(['/', ' '])).then_some(path)
}

/// What to do instead of naming a program.
pub(crate) const PROGRAM_HELP: &str =
    "write the values into the config or a data file, or code in a language that a plugin runs";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_with_and_without_a_function() {
        let cases = [
            ("file://a.py", Some("a.py")),
            ("file://a.py:get_var", Some("a.py")),
            ("a.mjs", Some("a.mjs")),
            ("a.txt", None),
            ("file://a.json:x", None),
            ("see a.py: it is good", None),
        ];
        for (written, expected) in cases {
            assert_eq!(program(written), expected, "{written}");
        }
    }
}
