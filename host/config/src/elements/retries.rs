//! `maxRetries` of a provider: how often one of its requests is sent again.
//!
//! It stands beside `id`, or where promptfoo has it, inside `config`. There it is taken out of
//! what the plugin gets: retries are the host's, and a plugin that checks its keys would call
//! it unknown.

use serde_json::{Map, Value};

use crate::model::Findings;
use crate::read::entry::Entry;

const KEY: &str = "maxRetries";

/// Pauses double from a second and end at a minute, so twenty retries are a quarter of an hour:
/// whoever wants more is waiting for a server that is down.
const MAX_RETRIES: u64 = 20;

/// Reads it from the provider's object `entry`, and takes it out of `config`, its config.
pub(super) fn read(
    entry: &Entry<'_>,
    config: &mut Map<String, Value>,
    findings: &Findings,
) -> Option<u32> {
    config.remove(KEY);
    let count = |entry: &Entry<'_>| entry.want_count(findings, 0, MAX_RETRIES);
    let own = entry.get(KEY);
    let inner = entry.get("config").and_then(|config| config.get(KEY));
    if let (Some(_), Some(inner)) = (&own, &inner) {
        let message = "ignored: the provider has its own 'maxRetries' outside of `config`";
        findings.warn(inner.at(), message, None);
    }
    let retries = own.or(inner).and_then(|entry| count(&entry));
    retries.map(|retries| retries as u32)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::Folder;

    fn folder(provider: &str) -> Folder {
        Folder::new(&format!(
            "prompts: [p]\nproviders: [{{ id: echo, {provider} }}]"
        ))
    }

    #[test]
    fn retries_are_read_in_both_places_and_never_reach_the_plugin() {
        let cases = [
            ("maxRetries: 5", Some(5)),
            ("maxRetries: '5'", Some(5)),
            ("maxRetries: 0", Some(0)),
            ("config: { a: 1, maxRetries: 2 }", Some(2)),
            ("config: { a: 1, maxRetries: '7' }", Some(7)),
            ("maxRetries: 5, config: { a: 1, maxRetries: 2 }", Some(5)),
            ("config: { a: 1, maxRetries: }", None),
            ("label: x", None),
        ];
        for (provider, expected) in cases {
            let plan = folder(provider).plan();
            let provider = &plan.columns[0].provider;
            assert_eq!(provider.max_retries, expected, "{provider:?}");
            let config = json!(provider.config);
            assert!(
                config == json!({ "a": 1 }) || config == json!({}),
                "{config}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        let at = "promptfooconfig.yaml:2:";
        let cases = [
            (
                "maxRetries: 21",
                format!(
                    "{at}37: providers[0].maxRetries: must be a whole number from 0 to 20, not 21"
                ),
            ),
            (
                "config: { maxRetries: often }",
                format!(
                    "{at}47: providers[0].config.maxRetries: must be a whole number from 0 to 20, not text"
                ),
            ),
            (
                "config: { maxRetries: -1 }",
                format!(
                    "{at}47: providers[0].config.maxRetries: must be a whole number from 0 to 20, not -1"
                ),
            ),
        ];
        for (provider, expected) in cases {
            assert_eq!(folder(provider).problems(), [expected], "{provider}");
        }
    }

    #[test]
    fn of_two_the_providers_own_holds_and_the_other_is_named() {
        assert_eq!(
            folder("maxRetries: 1, config: { maxRetries: 2 }").warnings(),
            [
                "promptfooconfig.yaml:2:62: providers[0].config.maxRetries: ignored: the provider has its own 'maxRetries' outside of `config`"
            ]
        );
    }
}
