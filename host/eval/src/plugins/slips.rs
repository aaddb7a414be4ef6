//! Keys of providers' `config` that are nearly keys of their plugin.
//!
//! A plugin hands keys that it doesn't know to its API, which grows faster than the plugin does: no
//! key is wrong for being unknown. But one that is nearly a key that the plugin's schema has is
//! worth a word.

use std::collections::BTreeSet;

use runner_config::plan::{Plan, Provider};
use runner_config::{is_of_the_answer, misspelt};
use serde_json::Value;

use super::bind_error::place_of;
use super::set::PluginSet;

impl PluginSet {
    /// What is odd about the configs of the plan's providers, with its place.
    pub fn slips(&self, plan: &Plan) -> BTreeSet<String> {
        let providers = plan.providers.iter().chain(&plan.judges);
        providers.flat_map(|it| self.slips_of(it)).collect()
    }

    fn slips_of(&self, provider: &Provider) -> Vec<String> {
        let Some((plugin, _)) = self.by_prefix(&provider.prefix) else {
            return Vec::new();
        };
        let info = plugin.component.info();
        let schema = info.config_schema_json.as_deref().unwrap_or_default();
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        let Some(known) = schema["properties"].as_object() else {
            return Vec::new();
        };
        let unknown = provider
            .config
            .keys()
            .filter(|key| !known.contains_key(*key));
        let slips = unknown.filter_map(|key| Some((key, meant(key, known.keys())?)));
        let told = slips.map(|(key, meant)| {
            let pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            let at = place_of(provider, &pointer);
            format!("{at}: unknown key '{key}' goes to the API\nhelp: did you mean '{meant}'?")
        });
        told.collect()
    }
}

/// The key that was probably meant. APIs have short keys that are nearly others: `speed` is no `seed`, and
/// `top_k` no `top_p`.
fn meant<'a>(key: &str, known: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    let meant = misspelt(key, known.map(String::as_str))?;
    let letters = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let is_of_api = meant.len() < 5 || is_of_the_answer(key);
    (!is_of_api || letters(key) == letters(meant)).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_some_api_is_no_slip() {
        let known = ["apiBaseUrl", "max_tokens", "seed", "temperature", "top_p"].map(str::to_owned);
        let cases = [
            ("temprature", Some("temperature")),
            ("maxTokens", Some("max_tokens")),
            ("apibaseurl", Some("apiBaseUrl")),
            ("top_k", None),
            ("speed", None),
            ("Seed", Some("seed")),
            ("store", None),
        ];
        for (key, expected) in cases {
            assert_eq!(meant(key, known.iter()), expected, "{key}");
        }
    }
}
