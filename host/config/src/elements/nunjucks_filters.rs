//! `nunjucksFilters`: names of filters, and the code that each is.
//!
//! Unlike in promptfoo, where prompts alone know them, they work wherever a case's templates are
//! filled in: prompts, prefixes and suffixes, variables, values and metrics of assertions. Their
//! names are known here, so that a template which names none of them is refused at load. How they
//! are called is in `template::custom`.

use super::code;
use super::programs::program;
use super::reading::Document;
use crate::template::FilterScripts;

/// Most characters of a name.
const MAX_NAME: usize = 64;

/// Reads the key of every config; of a name that several have, the last one's code counts.
pub(crate) fn read(documents: &[Document<'_>]) -> FilterScripts {
    let mut filters = FilterScripts::new();
    for Document { root, reading } in documents {
        let Some(entry) = root.get("nunjucksFilters") else {
            continue;
        };
        let findings = reading.findings;
        if !entry.is_map() {
            entry.mismatch(findings, "a map of names to files of code");
            continue;
        }
        for (name, named) in entry.fields() {
            let is_name = name.len() <= MAX_NAME
                && name.chars().all(|c| c.is_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_numeric() || c == '_');
            if !is_name {
                let help = "a name has letters, digits and `_`, and begins with a letter";
                findings.error_help(named.at(), "is no name that a template can say", help);
                continue;
            }
            let Some(text) = named.want_text(findings) else {
                continue;
            };
            if program(&text).is_none() {
                let help = format!("{name}: file://filter.js, or file://filter.js:function");
                findings.error_help(named.at(), "must name a file of code", help);
                continue;
            }
            if crate::template::is_filter(name) {
                let message = format!("'{name}' is a filter of templates already");
                findings.error_help(named.at(), message, "give it another name");
                continue;
            }
            let script = code::file(&text, &named.at(), named.origin, reading.without_requests());
            filters.extend(script.map(|script| (name.to_owned(), script)));
        }
    }
    filters
}

#[cfg(test)]
mod tests;
