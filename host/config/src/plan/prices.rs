//! What models cost: list prices that come with the program or were imported, and the user's own.
//!
//! `prices.json` beside this crate has the public list price of common models, each with the day
//! on which it was that; of it and what `runner prices import` took, the later day counts. A
//! config's `prices` stands over both: a map of provider ids or models to prices, or the name of a
//! file with one. A model that none of them knows has no price: nothing is
//! guessed from a name that looks like another. Two liberties are taken, unless that very name has
//! a price of its own: the folder that some write before it (`models/gemini-2.5-flash`,
//! `openai:openai/gpt-4o`), and the date that APIs append to it (`gpt-4o-2024-08-06`). Of two names
//! that fit, the more exact one counts, whoever lists it.
//!
//! Who pays less by contract says so with `cost` in the provider's config, or here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ModelPrice, PriceList, Provider};

/// A price, and whose word it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPrice<'a> {
    /// The price.
    pub price: ModelPrice,
    /// The day on which it was the list price; `None`: the user says so.
    pub as_of: Option<&'a str>,
    /// Who said so then, where that is a list.
    pub source: Option<&'a str>,
}

/// The prices of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    /// The user's, by provider id or model.
    own: BTreeMap<String, ModelPrice>,
    /// What the person imported.
    imported: Arc<PriceList>,
}

impl Prices {
    /// The user's own prices, by provider id or model, over the lists.
    pub(crate) fn new(own: BTreeMap<String, ModelPrice>, imported: Arc<PriceList>) -> Self {
        Self { own, imported }
    }

    /// What the tokens of a provider cost, if that is known.
    pub fn of(&self, provider: &Provider) -> Option<ListedPrice<'_>> {
        let model = model(provider);
        let own = |name: &str| {
            let price = *self.own.get(name)?;
            Some(ListedPrice {
                price,
                as_of: None,
                source: None,
            })
        };
        let listed = |name: &str| {
            let lists = [PriceList::bundled(), &*self.imported];
            let lines = lists.map(|list| list.get(&provider.prefix, name));
            // Of two of one day the imported one.
            let line = lines.into_iter().flatten().max_by_key(|line| &line.as_of)?;
            Some(ListedPrice {
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
    fn price(id: &str, prices: &str) -> Option<(f64, Option<String>)> {
        let folder = Folder::new(&format!(
            "prompts: [p]\nproviders: ['{id}']\nprices: {prices}"
        ))
        .file("prices.yaml", "gpt-4o: { input: 1, output: 2 }");
        let plan = folder.plan();
        let listed = plan.prices.of(&plan.columns[0].provider)?;
        Some((listed.price.input, listed.as_of.map(str::to_owned)))
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
    fn of_an_imported_price_and_the_programs_the_later_counts() {
        let input = |as_of: &str| {
            let table = r#"{ "gpt-4o": { "litellm_provider": "openai", "mode": "chat",
                "input_cost_per_token": 7e-06, "output_cost_per_token": 1e-06 } }"#;
            let list = PriceList::of_litellm(table, as_of, "a file").expect("a table");
            let plan = Folder::new("prompts: [p]\nproviders: ['openai:gpt-4o-2024-08-06']").plan();
            let prices = Prices::new(BTreeMap::new(), Arc::new(list));
            let listed = prices.of(&plan.columns[0].provider).expect("listed");
            Some(listed.price.input)
        };
        assert_eq!(input("2100-01-01"), Some(7.0));
        assert_eq!(input("2020-01-01"), Some(2.5));
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
