//! `prices`: what models cost by the user's word, over the table that comes with the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::reading::{Document, last};
use crate::model::Findings;
use crate::plan::{ModelPrice, PriceList, Prices};
use crate::read::entry::Entry;
use crate::read::files::without_scheme;

const KEYS: [&str; 4] = ["input", "output", "cachedInput", "cacheWrite"];
const EXAMPLE: &str = "prices: { openai:gpt-4o: { input: 2.5, output: 10 } }, in US dollars for a million tokens; or prices: file://prices.yaml";

/// Reads `prices`; of several configs the last one's counts.
pub(crate) fn read(
    documents: &[Document<'_>],
    imported: &Arc<PriceList>,
    findings: &Findings,
) -> Prices {
    Prices::new(own(documents, findings), imported.clone())
}

/// The config's own, by provider id or model.
fn own(documents: &[Document<'_>], findings: &Findings) -> BTreeMap<String, ModelPrice> {
    let Some(entry) = last(documents, "prices") else {
        return BTreeMap::new();
    };
    let Some(path) = entry.text() else {
        return map(&entry, findings);
    };
    let mut with = documents.iter().rev();
    let document = with.find(|document| document.root.get("prices").is_some());
    let Some(Document { reading, .. }) = document else {
        return BTreeMap::new();
    };
    let shown = reading.files.shown(without_scheme(path));
    match reading
        .files
        .tree(&shown, &entry.at(), entry.origin, findings)
    {
        Some(node) => map(&Entry::root(&node, &shown, entry.origin), findings),
        None => BTreeMap::new(),
    }
}

fn map(entry: &Entry<'_>, findings: &Findings) -> BTreeMap<String, ModelPrice> {
    if !entry.is_map() {
        findings.error_help(
            entry.at(),
            "must be a map of models to prices, or a file with one",
            EXAMPLE,
        );
    }
    let price = |(name, entry): (&str, Entry<'_>)| {
        if !entry.is_map() {
            findings.error_help(
                entry.at(),
                "must be a map with `input` and `output`",
                EXAMPLE,
            );
            return None;
        }
        entry.report_unknown(findings, &KEYS);
        let dollars = |key: &str| {
            let value = entry.get(key)?;
            let number = value.want_number(findings)?;
            if number < 0.0 {
                findings.error(value.at(), format!("must not be negative, not {number}"));
            }
            Some(number)
        };
        let (Some(input), Some(output)) = (dollars("input"), dollars("output")) else {
            let missing = ["input", "output"].map(|key| entry.get(key).is_none());
            if missing.contains(&true) {
                findings.error_help(entry.at(), "needs both `input` and `output`", EXAMPLE);
            }
            return None;
        };
        let price = ModelPrice {
            input,
            output,
            cached_input: dollars("cachedInput"),
            cache_write: dollars("cacheWrite"),
        };
        Some((name.to_owned(), price))
    };
    entry.fields().filter_map(price).collect()
}
