//! `extensions`, and `-x`: code that is called around the run and its cases.
//!
//! `file://hooks.js:beforeEach` names a hook and is called for it alone; any other function, and
//! the default export, is called for each hook and told which one it is.

use super::code;
use super::reading::Document;
use crate::model::{Position, TextOrigin};
use crate::plan::{Extension, Hook};

/// An example of what the key holds.
const HELP: &str = "for example: extensions: ['file://hooks.js:beforeAll']";

/// Reads those of the flags where there are any, else those of the last config that has some.
pub(crate) fn read(documents: &[Document<'_>], flags: &[String]) -> Vec<Extension> {
    let Some(first) = documents.first() else {
        return Vec::new();
    };
    if !flags.is_empty() {
        let at = Position {
            key: "--extension".to_owned(),
            ..Position::default()
        };
        let one = |text: &String| one(text, &at, &TextOrigin::Person, first);
        return flags.iter().filter_map(one).collect();
    }
    let mut extensions = Vec::new();
    for document in documents {
        let findings = document.reading.findings;
        let Some(list) = document.root.get("extensions") else {
            continue;
        };
        for entry in list.want_items(findings, "a list of files of code") {
            let text = entry.want_text(findings);
            let extension = text.and_then(|text| one(&text, &entry.at(), entry.origin, document));
            extensions.extend(extension);
        }
    }
    extensions
}

fn one(
    text: &str,
    at: &Position,
    origin: &TextOrigin,
    document: &Document<'_>,
) -> Option<Extension> {
    if !code::is_file(text) {
        let message = format!("'{text}' must name a file of code");
        document
            .reading
            .findings
            .error_help(at.clone(), message, HELP);
        return None;
    }
    let script = code::file(text, at, origin, document.reading.without_requests())?;
    let named = match &script.code {
        crate::model::Code::File { entry, .. } => entry.as_deref(),
        crate::model::Code::Inline { .. } => None,
    };
    let hook = Hook::ALL
        .into_iter()
        .find(|hook| named == Some(hook.name()));
    Some(Extension {
        script,
        hook,
        at: at.clone(),
    })
}
