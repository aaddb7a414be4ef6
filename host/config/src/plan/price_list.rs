//! A list of public prices: the one that comes with the program, or one that a person imported.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// Prices by the API that a provider's id begins with, and the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Line>", into = "Vec<Line>")]
pub struct PriceList(BTreeMap<String, BTreeMap<String, Line>>);

/// One price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    prefix: String,
    model: String,
    /// The day on which it was the list price.
    pub(super) as_of: String,
    /// Who says so.
    pub(super) source: String,
    #[serde(flatten)]
    pub(super) price: ModelPrice,
}

/// What LiteLLM calls an API that has another name here.
const RENAMED: [(&str, &str); 5] = [
    ("gemini", "google"),
    ("together_ai", "togetherai"),
    ("fireworks_ai", "fireworks"),
    ("cohere_chat", "cohere"),
    ("bedrock_converse", "bedrock"),
];

/// Of its entries, those that are paid by tokens.
const MODES: [&str; 4] = ["chat", "completion", EMBEDDING, "responses"];

/// Models that write no tokens, so that a price for them may be absent.
const EMBEDDING: &str = "embedding";

const MILLION: f64 = 1e6;

/// The highest price for a token that is believed, in US dollars: far above any, and a list of prices that
/// was written can be read again.
const HIGHEST: f64 = 1.0;

impl PriceList {
    /// Reads the table that LiteLLM publishes (`model_prices_and_context_window.json`): a map of
    /// models to prices in US dollars for a token. Left out are entries without both prices, of
    /// models that are paid otherwise (what costs nothing is paid by subscription), and those whose
    /// price depends on the length of the prompt. Of a model that is there with and without the
    /// name of its API (`deepseek/deepseek-chat`), the entry with it counts.
    ///
    /// # Errors
    /// When it is no such table, or none of its entries has a price.
    pub fn of_litellm(text: &str, as_of: &str, source: &str) -> Result<Self, String> {
        let entries: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| format!("is no map in JSON: {error}"))?;
        let priced = entries.iter().filter_map(|(name, entry)| {
            let api = api_of(entry["litellm_provider"].as_str()?);
            let model = name
                .split_once('/')
                .filter(|(first, _)| api_of(first) == api);
            let line = Line {
                prefix: api.to_owned(),
                model: model.map_or(name.as_str(), |(_, rest)| rest).to_owned(),
                as_of: as_of.to_owned(),
                source: source.to_owned(),
                price: price(entry)?,
            };
            Some((model.is_some(), line))
        });
        let (full, bare): (Vec<_>, Vec<_>) = priced.partition(|(names_api, _)| *names_api);
        let mut list = Self::default();
        for (_, line) in bare.into_iter().chain(full) {
            list.insert(line);
        }
        if list.is_empty() {
            return Err("has no price of a model (`input_cost_per_token` and the like)".to_owned());
        }
        Ok(list)
    }

    /// Adds a price, and returns the one that stood there.
    fn insert(&mut self, line: Line) -> Option<Line> {
        let of_api = self.0.entry(line.prefix.clone()).or_default();
        of_api.insert(line.model.clone(), line)
    }

    /// How many prices it has.
    pub fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The price of a model of an API.
    pub(super) fn get(&self, prefix: &str, model: &str) -> Option<&Line> {
        self.0.get(prefix)?.get(model)
    }

    /// The list in the program.
    pub(super) fn bundled() -> &'static Self {
        static LIST: OnceLock<PriceList> = OnceLock::new();
        LIST.get_or_init(|| {
            serde_json::from_str(include_str!("../../prices.json"))
                .expect("the program's own list is JSON; a test reads it")
        })
    }
}

/// The API of an entry or of the first part of its name, as ids of providers begin with it.
fn api_of(theirs: &str) -> &str {
    if theirs == "vertex_ai" || theirs.starts_with("vertex_ai-") {
        return "vertex";
    }
    let renamed = RENAMED.iter().find(|(name, _)| *name == theirs);
    renamed.map_or(theirs, |(_, ours)| ours)
}

/// The price of an entry, if it has one for each token alike.
fn price(entry: &Value) -> Option<ModelPrice> {
    let mode = MODES.iter().find(|mode| entry["mode"] == ***mode)?;
    let steps = |key: &String| key.contains("_cost_per_token_above_");
    if entry.as_object()?.keys().any(steps) {
        return None;
    }
    let unwritten = (*mode == EMBEDDING).then_some(0.0);
    let price = ModelPrice {
        input: dollars(entry, "input_cost_per_token")?,
        output: dollars(entry, "output_cost_per_token").or(unwritten)?,
        cached_input: dollars(entry, "cache_read_input_token_cost"),
        cache_write: dollars(entry, "cache_creation_input_token_cost"),
    };
    (price.input + price.output > 0.0).then_some(price)
}

/// Dollars for a million tokens, of a price for one. Rounded: a price has few digits, and the
/// product of two binary fractions has many.
fn dollars(entry: &Value, key: &str) -> Option<f64> {
    let price = entry[key]
        .as_f64()
        .filter(|price| (0.0..=HIGHEST).contains(price))?;
    Some((price * MILLION * MILLION).round() / MILLION)
}

impl TryFrom<Vec<Line>> for PriceList {
    type Error = String;

    fn try_from(lines: Vec<Line>) -> Result<Self, String> {
        let mut list = Self::default();
        for line in lines {
            if let Some(twice) = list.insert(line) {
                return Err(format!(
                    "`{}:{}` is listed twice",
                    twice.prefix, twice.model
                ));
            }
        }
        Ok(list)
    }
}

impl From<PriceList> for Vec<Line> {
    fn from(list: PriceList) -> Self {
        let apis = list.0.into_values();
        apis.flat_map(BTreeMap::into_values).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_bundled_list_is_a_price_of_a_day() {
        for line in Vec::from(PriceList::bundled().clone()) {
            let ModelPrice { input, output, .. } = line.price;
            assert!(input > 0.0 && output >= 0.0, "{line:?}");
            let day: Vec<usize> = line.as_of.split('-').map(str::len).collect();
            assert_eq!(day, [4, 2, 2], "{line:?}");
            assert!(!line.source.is_empty(), "{line:?}");
            let cheaper = line.price.cached_input.unwrap_or(input);
            assert!(cheaper <= input, "{line:?}");
        }
    }

    #[test]
    fn the_table_of_litellm_becomes_a_list() {
        let text = r#"{
            "sample_spec": { "litellm_provider": "one of …", "mode": "one of …", "input_cost_per_token": 0, "output_cost_per_token": 0 },
            "m": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06,
                "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.25e-06 },
            "gemini/g": { "litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 3e-07, "output_cost_per_token": 2.5e-06 },
            "image": { "litellm_provider": "openai", "mode": "image_generation", "input_cost_per_token": 1, "output_cost_per_token": 1 },
            "long": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1, "output_cost_per_token": 1,
                "input_cost_per_token_above_200k_tokens": 2 },
            "plan": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0 },
            "dear": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e300, "output_cost_per_token": 1e300 },
            "half": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1 },
            "v": { "litellm_provider": "vertex_ai-embedding-models", "mode": "embedding", "input_cost_per_token": 1e-07 },
            "bedrock/b": { "litellm_provider": "bedrock_converse", "mode": "chat", "input_cost_per_token": 2e-06, "output_cost_per_token": 0 },
            "b": { "litellm_provider": "bedrock", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 0 }
        }"#;
        let list = PriceList::of_litellm(text, "2026-11-24", "a file").expect("a table");
        assert_eq!(list.len(), 4);
        let price = list.get("openai", "m").expect("listed").price;
        assert_eq!(
            [Some(price.input), Some(price.output), price.cached_input],
            [Some(2.5), Some(10.0), Some(1.25)]
        );
        let input = |api, model| list.get(api, model).map(|line| line.price.input);
        assert_eq!(input("google", "g"), Some(0.3));
        assert_eq!(input("vertex", "v"), Some(0.1));
        assert_eq!(input("bedrock", "b"), Some(2.0));
        // What is kept is read again as it was.
        let kept = serde_json::to_string(&list).expect("JSON");
        assert_eq!(
            serde_json::from_str::<PriceList>(&kept).expect("kept"),
            list
        );
    }

    #[test]
    fn what_is_no_table_is_said() {
        let refused = |text: &str| PriceList::of_litellm(text, "d", "s").expect_err(text);
        assert!(refused("[]").contains("no map in JSON"));
        assert!(refused("{}").contains("no price"));
        assert!(refused(r#"{"m": 3}"#).contains("no price"));
    }
}
