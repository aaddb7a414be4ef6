//! What models cost: the list prices that come with the program, and the user's own.
//!
//! `prices.json` beside this crate has the public list price of common models, each with the day
//! on which it was that. A config's `prices` stands over it: a map of provider ids or models to
//! prices, or the name of a file with one. A model that neither knows has no price: nothing is
//! guessed from a name that looks like another. Two liberties are taken, unless that very name has
//! a price of its own: the folder that some write before it (`models/gemini-2.5-flash`,
//! `openai:openai/gpt-4o`), and the date that APIs append to it (`gpt-4o-2024-08-06`). Of two names
//! that fit, the more exact one counts, whoever lists it.
//!
//! Who pays less by contract says so with `cost` in the provider's config, or here.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::Provider;

/// What a model costs, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// Tokens that the model reads.
    pub input: f64,
    /// Tokens that it writes.
    pub output: f64,
    /// Tokens of the prompt that the API had in its own cache; `None`: as `input`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cached_input: Option<f64>,
    /// Tokens of the prompt that the API put into its cache; `None`: as `input`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache_write: Option<f64>,
}

/// A price, and whose word it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The price.
    pub price: ModelPrice,
    /// The day on which it was the list price; `None`: the user says so.
    pub as_of: Option<&'static str>,
    /// Who said so then, where that is the list.
    pub source: Option<&'static str>,
}

/// The prices of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    /// The user's, by provider id or model.
    own: BTreeMap<String, ModelPrice>,
}

/// A line of the table.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    prefix: String,
    model: String,
    as_of: String,
    /// Who says so.
    source: String,
    #[serde(flatten)]
    price: ModelPrice,
}

impl Prices {
    /// The user's own prices, by provider id or model, over the table.
    pub(crate) fn new(own: BTreeMap<String, ModelPrice>) -> Self {
        Self { own }
    }

    /// What the tokens of a provider cost, if that is known.
    pub fn of(&self, provider: &Provider) -> Option<Listed> {
        let model = model(provider);
        let own = |name: &str| {
            let price = *self.own.get(name)?;
            Some(Listed {
                price,
                as_of: None,
                source: None,
            })
        };
        let listed = |name: &str| {
            let line = line(&provider.prefix, name)?;
            Some(Listed {
                price: line.price,
                as_of: Some(&line.as_of),
                source: Some(&line.source),
            })
        };
        let bare = without_folder(model, &provider.prefix);
        let names = [Some(model), Some(bare), without_date(bare)];
        let mut names = names.into_iter().flatten();
        own(&provider.id).or_else(|| names.find_map(|name| own(name).or_else(|| listed(name))))
    }
}

fn line(prefix: &str, model: &str) -> Option<&'static Line> {
    table()
        .iter()
        .find(|line| line.prefix == prefix && line.model == model)
}

/// The table in the program.
fn table() -> &'static [Line] {
    static TABLE: OnceLock<Vec<Line>> = OnceLock::new();
    TABLE.get_or_init(|| {
        serde_json::from_str(include_str!("../../prices.json"))
            .expect("the program's own table is JSON; a test reads it")
    })
}

/// The model of an id: what follows the kind of its API (`chat:gpt-4o`). Models that a user
/// trained (`ft:…`) stay whole, and are in no table.
fn model(provider: &Provider) -> &str {
    let name = provider.name.as_str();
    let name = name.find("ft:").map_or(name, |at| &name[at..]);
    if name.starts_with("ft:") {
        name
    } else {
        name.rsplit(':').next().unwrap_or(name)
    }
}

/// A model's name without `models/`, as Google's own lists have it, or the name of its API.
fn without_folder<'a>(model: &'a str, prefix: &str) -> &'a str {
    match model.split_once('/') {
        Some((folder, name)) if folder == "models" || folder == prefix => name,
        _ => model,
    }
}

/// A model's name without the date of its version: `-2024-08-06` or `-20250219` at its end.
fn without_date(model: &str) -> Option<&str> {
    let is_date = |text: &str| {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let shape = text.len() == 8 || (text.len() == 10 && text.split('-').count() == 3);
        shape
            && digits.len() == 8
            && digits.starts_with("20")
            && digits.chars().all(|c| c.is_ascii_digit())
    };
    [8, 10].into_iter().find_map(|length| {
        let cut = model.len().checked_sub(length + 1)?;
        let (name, date) = (model.get(..cut)?, model.get(cut..)?);
        let date = date.strip_prefix('-')?;
        is_date(date).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Folder;

    /// The price of input of a provider under `prices`, and the day of the list.
    fn price(id: &str, prices: &str) -> Option<(f64, Option<&'static str>)> {
        let folder = Folder::new(&format!(
            "prompts: [p]\nproviders: ['{id}']\nprices: {prices}"
        ))
        .file("prices.yaml", "gpt-4o: { input: 1, output: 2 }");
        let plan = folder.plan();
        let listed = plan.prices.of(&plan.columns[0].provider)?;
        Some((listed.price.input, listed.as_of))
    }

    #[test]
    fn every_line_of_the_table_is_a_price_of_a_day() {
        let mut seen = std::collections::BTreeSet::new();
        for line in table() {
            let ModelPrice { input, output, .. } = line.price;
            assert!(input > 0.0 && output >= 0.0, "{line:?}");
            assert!(
                without_date(&format!("x-{}", line.as_of)).is_some(),
                "{line:?}"
            );
            assert!(!line.source.is_empty(), "{line:?}");
            assert!(seen.insert((&line.prefix, &line.model)), "twice: {line:?}");
            let cheaper = line.price.cached_input.unwrap_or(input);
            assert!(cheaper <= input, "{line:?}");
        }
    }

    #[test]
    fn a_model_is_known_by_its_name_and_by_no_other() {
        let known = |id: &str| price(id, "{}").map(|(input, _)| input);
        assert_eq!(known("openai:gpt-4o"), Some(2.5));
        assert_eq!(known("openai:chat:gpt-4o-mini"), Some(0.15));
        assert_eq!(known("openai:gpt-4o-2024-08-06"), Some(2.5));
        assert_eq!(known("openai:gpt-4o-2024-05-13"), Some(5.0));
        assert_eq!(known("openai:chat:openai/gpt-4o"), Some(2.5));
        assert_eq!(known("openai:openai/gpt-4o-2024-05-13"), Some(5.0));
        assert_eq!(known("openai:models/gpt-4o-2024-08-06"), Some(2.5));
        for unknown in [
            "openai:gpt-4o-audio-preview",
            "openai:gpt-4o-latest",
            "openai:azure/gpt-4o",
            "openai:gpt-4o/openai",
            "openai:ft:gpt-4o-mini:me::x",
            "openai:chat:ft:gpt-4o-mini",
            "openai:m",
            "echo",
        ] {
            assert_eq!(known(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_users_prices_stand_over_the_table() {
        let own = "{ 'openai:gpt-4o': { input: 9, output: 9 }, m: { input: 3, output: 4 } }";
        assert_eq!(price("openai:gpt-4o", own), Some((9.0, None)));
        assert_eq!(price("openai:chat:m", own), Some((3.0, None)));
        assert_eq!(
            price("openai:gpt-4o", "file://prices.yaml"),
            Some((1.0, None))
        );
        let (_, day) = price("openai:gpt-4o-mini", own).expect("in the table");
        assert!(day.is_some());
    }

    #[test]
    fn the_users_price_of_a_model_is_that_of_its_versions_unless_they_are_listed() {
        let own = "{ gpt-4o: { input: 9, output: 9 }, 'openai/m': { input: 3, output: 4 } }";
        for (id, input) in [
            ("openai:gpt-4o-2024-08-06", 9.0),
            ("openai:openai/gpt-4o", 9.0),
            ("openai:gpt-4o-2024-05-13", 5.0),
            ("openai:openai/m", 3.0),
        ] {
            assert_eq!(price(id, own).map(|(input, _)| input), Some(input), "{id}");
        }
        assert_eq!(price("openai:m", own), None);
    }

    #[test]
    fn what_is_no_price_is_said() {
        let problem = |prices: &str| {
            let config = format!("prompts: [p]\nproviders: [echo]\nprices: {prices}");
            Folder::new(&config).problems().join("\n")
        };
        assert!(problem("[1]").contains("must be a map of models"));
        assert!(problem("{ m: 3 }").contains("must be a map with `input`"));
        assert!(problem("{ m: { input: 1 } }").contains("needs both"));
        assert!(problem("{ m: { input: -1, output: 1 } }").contains("must not be negative"));
        assert!(problem("file://none.yaml").contains("none.yaml"));
    }

    #[test]
    fn a_date_is_taken_off_and_nothing_else() {
        for (model, name) in [
            ("gpt-4o-2024-08-06", Some("gpt-4o")),
            ("claude-3-7-sonnet-20250219", Some("claude-3-7-sonnet")),
            ("gpt-4o", None),
            ("gpt-4o-12345678", None),
            ("gpt-4-0613", None),
            ("ä-2024-08-06x", None),
        ] {
            assert_eq!(without_date(model), name, "{model}");
        }
    }
}
