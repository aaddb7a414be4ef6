//! Tests that are rows of a data set: `huggingface://datasets/owner/name?split=test&limit=100`.
//!
//! A row's cells are the variables of a test. They are data: whoever may write to the data set wrote them, so they
//! name no file and bring nothing of their own, also where a config would vouch for a file.

use std::path::Path;

use serde_json::json;

use super::{Extra, Form, Sources};
use crate::datasets::{Dataset, FORM};
use crate::read::entry::Entry;
use crate::read::node::{Mark, Node};

impl Sources<'_, '_> {
    /// Adds the rows of the data set that `text` names.
    pub(super) fn dataset(&mut self, text: &str, named: &Entry<'_>, extra: &Extra) {
        let (reading, at) = (self.reading, &named.at());
        let wrong = |message: String, help: &str| {
            reading.findings.error_help(at.clone(), message, help);
        };
        if named.origin.is_data() {
            let message = format!("'{text}': data names no data set of a server");
            return wrong(message, "name it in the config, under `tests`");
        }
        if extra.trusts || extra.config.is_some() {
            let message = format!("'{text}' takes neither `trust` nor `config`");
            return wrong(message, "its rows are data; name it alone");
        }
        let mut dataset = match Dataset::read(text) {
            Ok(dataset) => dataset,
            Err(reason) => return wrong(format!("'{text}' {reason}"), FORM),
        };
        if let Err(reason) = reading.scripts.fetch(&mut dataset) {
            let help = "rows that are saved as JSONL or CSV need no server";
            return wrong(format!("'{text}' can't be read: {reason}"), help);
        }
        let (rows, shortened) = dataset.into_rows();
        let warn = |message: String, help: Option<&str>| {
            reading
                .findings
                .warn(at.clone(), message, help.map(str::to_owned));
        };
        if shortened > 0 {
            let message = format!("'{text}': the server shortened long cells in {shortened} rows");
            warn(
                message,
                Some("download the data set where whole texts matter"),
            );
        }
        if rows.is_empty() {
            return warn(format!("'{text}' has no rows"), None);
        }
        let file = Path::new(text);
        let origin = reading.files.data(file).nameless();
        for (number, row) in (1..).zip(rows) {
            let tree = json!({ "vars": row, "options": { "disableVarExpansion": true } });
            reading.files.read.count(tree.to_string().len());
            let mark = Mark {
                line: number,
                column: 1,
            };
            let Some(node) = Node::made(tree, mark) else {
                reading.findings.error(
                    at.clone(),
                    format!("'{text}': row {number} is nested too deep"),
                );
                continue;
            };
            self.test(&Entry::root(&node, file, &origin), Form::Test);
        }
    }
}

#[cfg(test)]
mod tests;
