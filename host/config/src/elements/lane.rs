//! `minConcurrency`, `maxConcurrency`, `pool`, `retryTimeouts` and `maxRetryAfter` of a provider: the
//! knobs of its lane.
//!
//! A lane is what shares a quota at a server; it finds by itself how many requests may be in
//! flight. These bound what it finds, and say which providers share it. Cases in flight are
//! another matter: that is `maxConcurrency` of `evaluateOptions`, or `-j`.

use std::time::Duration;

use super::options::MAX_CONCURRENCY;
use crate::model::Findings;
use crate::read::entry::Entry;

/// The knobs of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) min_concurrency: Option<u32>,
    pub(super) max_concurrency: Option<u32>,
    pub(super) pool: Option<String>,
    pub(super) retry_timeouts: bool,
    pub(super) max_retry_after: Option<Duration>,
}

/// Longest `maxRetryAfter`, in seconds: 31 days, the longest wait of a server that is believed.
const MOST_SECONDS: u64 = 31 * 86_400;

/// Reads the provider's object. `default_min` is the environment's, which gives way to a lower
/// `maxConcurrency`: who sets it means lanes in general.
pub(super) fn read(entry: &Entry<'_>, default_min: Option<u32>, findings: &Findings) -> Lane {
    let count = |key| {
        let entry: Entry<'_> = entry.get(key)?;
        let count = entry.want_count(findings, 1, MAX_CONCURRENCY)?;
        Some((count as u32, entry.at()))
    };
    let (min, max) = (count("minConcurrency"), count("maxConcurrency"));
    if let (Some((min, at)), Some((max, _))) = (&min, &max)
        && min > max
    {
        let message = format!("must not be more than 'maxConcurrency', which is {max}");
        findings.error(at.clone(), message);
    }
    let max_concurrency = max.map(|(max, _)| max);
    let default_min = default_min.map(|min| min.min(max_concurrency.unwrap_or(min)));
    Lane {
        min_concurrency: min.map(|(min, _)| min).or(default_min),
        max_concurrency,
        pool: entry.get("pool").and_then(|entry| pool(&entry, findings)),
        retry_timeouts: entry
            .get("retryTimeouts")
            .and_then(|entry| entry.want_bool(findings))
            .unwrap_or(false),
        max_retry_after: entry
            .get("maxRetryAfter")
            .and_then(|entry| entry.want_count(findings, 0, MOST_SECONDS))
            .map(Duration::from_secs),
    }
}

fn pool(entry: &Entry<'_>, findings: &Findings) -> Option<String> {
    let name = entry.want_text(findings)?.trim().to_owned();
    if name.is_empty() {
        findings.error_help(
            entry.at(),
            "must not be empty",
            "a name of your choice; providers with the same one share a quota",
        );
        return None;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::fixture::Folder;

    fn folder(provider: &str) -> Folder {
        Folder::new(&format!(
            "prompts: [p]\nproviders: [{{ id: echo, {provider} }}]"
        ))
    }

    #[test]
    fn the_knobs_of_a_lane_are_read() {
        let cases = [
            ("label: x", None, None, None),
            (
                "minConcurrency: 2, maxConcurrency: 8, pool: account",
                Some(2),
                Some(8),
                Some("account"),
            ),
            (
                "minConcurrency: 2, maxConcurrency: 2",
                Some(2),
                Some(2),
                None,
            ),
            ("pool: 7", None, None, Some("7")),
        ];
        for (provider, min, max, pool) in cases {
            let plan = folder(provider).plan();
            let provider = &plan.columns[0].provider;
            assert_eq!(
                (
                    provider.min_concurrency,
                    provider.max_concurrency,
                    provider.pool.as_deref()
                ),
                (min, max, pool),
                "{provider:?}"
            );
        }
    }

    #[test]
    fn waits_and_timeouts_are_read() {
        let said = |provider: &str| {
            let plan = folder(provider).plan();
            let provider = &plan.columns[0].provider;
            (provider.retry_timeouts, provider.max_retry_after)
        };
        assert_eq!(said("label: x"), (false, None));
        let both = said("retryTimeouts: true, maxRetryAfter: 3600");
        assert_eq!(both, (true, Some(Duration::from_hours(1))));
        assert_eq!(said("maxRetryAfter: 0"), (false, Some(Duration::ZERO)));
        let wrong = folder("maxRetryAfter: 1h").problems();
        let expected = "promptfooconfig.yaml:2:40: providers[0].maxRetryAfter: must be a whole \
                        number from 0 to 2678400, not text";
        assert_eq!(wrong, [expected]);
    }

    #[test]
    fn the_environments_minimum_holds_where_the_provider_says_nothing() {
        let cases = [
            ("label: x", Some(5)),
            ("minConcurrency: 2", Some(2)),
            ("maxConcurrency: 3", Some(3)),
        ];
        for (provider, expected) in cases {
            let plan = folder(provider)
                .env("PROMPTFOO_MIN_CONCURRENCY", "5")
                .plan();
            assert_eq!(
                plan.columns[0].provider.min_concurrency, expected,
                "{provider}"
            );
        }
        assert_eq!(
            folder("label: x")
                .env("RUNNER_MIN_CONCURRENCY", "0")
                .problems(),
            [
                "environment variable RUNNER_MIN_CONCURRENCY must be a whole number from 1 to 10000, not '0'"
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        let at = "promptfooconfig.yaml:2:";
        let cases = [
            (
                "minConcurrency: 0",
                format!(
                    "{at}41: providers[0].minConcurrency: must be a whole number from 1 to 10000, not 0"
                ),
            ),
            (
                "maxConcurrency: many",
                format!(
                    "{at}41: providers[0].maxConcurrency: must be a whole number from 1 to 10000, not text"
                ),
            ),
            (
                "minConcurrency: 3, maxConcurrency: 2",
                format!(
                    "{at}41: providers[0].minConcurrency: must not be more than 'maxConcurrency', which is 2"
                ),
            ),
            (
                "pool: ' '",
                format!(
                    "{at}31: providers[0].pool: must not be empty\nhelp: a name of your choice; providers with the same one share a quota"
                ),
            ),
            (
                "pool: [a]",
                format!("{at}31: providers[0].pool: must be text, not a list"),
            ),
        ];
        for (provider, expected) in cases {
            assert_eq!(folder(provider).problems(), [expected], "{provider}");
        }
    }
}
