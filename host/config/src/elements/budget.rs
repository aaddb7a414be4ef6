//! `budget`: what a run, a provider or a plugin may spend.
//!
//! `{ cost, tokens, requests }`, each optional: US dollars, tokens in and out together, requests
//! that leave the machine. What is not run for lack of it ends as `budget_exceeded`. 0 is a
//! budget, too: only what is cached runs. Money is kept in millionths of a dollar, as integers:
//! sums of floats drift.

use crate::model::Findings;
use crate::plan::Budget;
use crate::read::entry::Entry;

pub(crate) const KNOWN: [&str; 3] = ["cost", "tokens", "requests"];

/// A billion dollars, and exact as a float in millionths.
const MAX_USD: f64 = 1e9;

/// More than anybody counts, and exact in every number format that a config may have.
const MAX_COUNT: u64 = 1_000_000_000_000_000;

/// Millionths of a dollar, rounded to the nearest; `None` unless `usd` is from 0 to a billion.
pub fn microusd(usd: f64) -> Option<u64> {
    (0.0..=MAX_USD)
        .contains(&usd)
        .then(|| (usd * 1e6).round() as u64)
}

/// Reads the map.
pub(crate) fn read(entry: &Entry<'_>, findings: &Findings) -> Budget {
    if !entry.is_map() {
        entry.mismatch(findings, "a map with `cost`, `tokens` or `requests`");
        return Budget::default();
    }
    entry.report_unknown(findings, &KNOWN);
    let [cost, tokens, requests] = KNOWN.map(|key| entry.get(key));
    if cost.is_none() && tokens.is_none() && requests.is_none() {
        findings.error_help(
            entry.at(),
            "has none of `cost`, `tokens` and `requests`",
            "for example: { cost: 2.50, requests: 1000 }",
        );
    }
    let count = |entry: Option<Entry<'_>>| entry?.want_count(findings, 0, MAX_COUNT);
    Budget {
        cost_microusd: cost.and_then(|entry| dollars(&entry, findings)),
        tokens: count(tokens),
        requests: count(requests),
    }
}

fn dollars(entry: &Entry<'_>, findings: &Findings) -> Option<u64> {
    let cost = microusd(entry.want_number(findings)?);
    if cost.is_none() {
        findings.error(entry.at(), "must be US dollars, from 0 to a billion");
    }
    cost
}

/// The run's: what flags say, then what the configs say, the first of them first.
pub(crate) fn of_run(flags: Budget, roots: &[Entry<'_>], findings: &Findings) -> Budget {
    let written = roots.iter().filter_map(|root| root.get("budget"));
    let written = written.map(|entry| read(&entry, findings));
    written.fold(flags, Budget::or)
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;
    use crate::plan::Budget;

    fn folder(more: &str) -> Folder {
        Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{more}"))
    }

    #[test]
    fn a_budget_is_read_for_the_run_and_for_a_provider() {
        let all = Budget {
            cost_microusd: Some(2_500_000),
            tokens: Some(1_000),
            requests: Some(0),
        };
        let cases = [
            ("", Budget::default()),
            ("budget: { cost: 2.50, tokens: 1000, requests: 0 }", all),
            (
                "budget: { cost: '0.000001' }",
                Budget {
                    cost_microusd: Some(1),
                    ..Budget::default()
                },
            ),
            (
                "budget: { cost: 0.1 }",
                Budget {
                    cost_microusd: Some(100_000),
                    ..Budget::default()
                },
            ),
        ];
        for (budget, expected) in cases {
            assert_eq!(folder(budget).plan().options.budget, expected, "{budget}");
        }
        let plan =
            Folder::new("prompts: [p]\nproviders: [{ id: echo, budget: { requests: 3 } }, echo]")
                .plan();
        let requests = |column: usize| plan.columns[column].provider.budget.requests;
        assert_eq!((requests(0), requests(1)), (Some(3), None));
    }

    #[test]
    fn each_flag_wins_over_its_key() {
        let mut folder = folder("budget: { cost: 1, tokens: 10 }");
        folder.overrides.budget = Budget {
            tokens: Some(20),
            requests: Some(5),
            ..Budget::default()
        };
        let expected = Budget {
            cost_microusd: Some(1_000_000),
            tokens: Some(20),
            requests: Some(5),
        };
        assert_eq!(folder.plan().options.budget, expected);
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        let at = "promptfooconfig.yaml:3:";
        let cases = [
            (
                "budget: 5",
                format!(
                    "{at}9: budget: must be a map with `cost`, `tokens` or `requests`, not a number"
                ),
            ),
            (
                "budget: {}",
                format!(
                    "{at}9: budget: has none of `cost`, `tokens` and `requests`\nhelp: for example: {{ cost: 2.50, requests: 1000 }}"
                ),
            ),
            (
                "budget: { cost: -1 }",
                format!("{at}17: budget.cost: must be US dollars, from 0 to a billion"),
            ),
            (
                "budget: { cost: much }",
                format!("{at}17: budget.cost: must be a number, not text"),
            ),
            (
                "budget: { requests: 1.5 }",
                format!(
                    "{at}21: budget.requests: must be a whole number from 0 to 1000000000000000, not 1.5"
                ),
            ),
        ];
        for (budget, expected) in cases {
            assert_eq!(folder(budget).problems(), [expected], "{budget}");
        }
    }
}
