//! Whose budgets pay for the calls of a provider and of a grader.
//!
//! A provider's call is paid by the run, the provider and its plugin; a grader's own requests
//! by the run and its plugin; what a grader asks of a model by all of these together. Here the
//! config's words become budgets; how they are kept is the gateway's business.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use runner_config::plan::{self, Provider};
use runner_config::{PluginLimits, microusd};
use runner_gateway::{Budget, BudgetId, BudgetLedger, Owner, Payers, Price};

use super::loaded::{LoadedPlugin, Trust};

/// The budgets of a run, opened as they are needed.
#[derive(Debug)]
pub(crate) struct Budgets {
    ledger: Arc<BudgetLedger>,
    run: Option<BudgetId>,
    /// By alias: a plugin may serve many providers, and has one budget.
    plugins: Mutex<BTreeMap<String, Option<BudgetId>>>,
}

impl Budgets {
    /// Nothing is spent yet.
    pub(crate) fn new(run: plan::Budget) -> Self {
        let ledger = Arc::new(BudgetLedger::default());
        Self {
            run: ledger.open(Owner::Run, written(run)),
            ledger,
            plugins: Mutex::default(),
        }
    }

    /// Where all of them are kept.
    pub(crate) fn ledger(&self) -> Arc<BudgetLedger> {
        Arc::clone(&self.ledger)
    }

    /// Who pays for a provider; to be asked once for each.
    pub(super) fn of_provider(
        &self,
        provider: &Provider,
        plugin: Option<&LoadedPlugin>,
        price: Option<Price>,
    ) -> Option<Payers> {
        let name = provider.label.as_ref().unwrap_or(&provider.id);
        let own = self
            .ledger
            .open(Owner::Provider(name.clone()), written(provider.budget));
        Payers::new(
            &self.ledger,
            [self.run, own, plugin.and_then(|plugin| self.plugin(plugin))],
            price,
            true,
        )
    }

    /// Who pays for the requests that a grader sends itself. They have tokens, and no cost:
    /// only a provider's call states one.
    pub(super) fn of_grader(&self, plugin: &LoadedPlugin) -> Option<Payers> {
        Payers::new(&self.ledger, [self.run, self.plugin(plugin)], None, false)
    }

    fn plugin(&self, plugin: &LoadedPlugin) -> Option<BudgetId> {
        let Trust::Foreign(Some(entry)) = &plugin.trust else {
            return None;
        };
        let mut plugins = self.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || {
            self.ledger
                .open(Owner::Plugin(plugin.alias.clone()), granted(&entry.limits))
        };
        *plugins.entry(plugin.alias.clone()).or_insert_with(open)
    }
}

/// Billionths of a dollar in a millionth.
const NANO_PER_MICRO: u64 = 1_000;

/// A budget as the config has it.
fn written(budget: plan::Budget) -> Budget {
    let nano = |micro: u64| micro.saturating_mul(NANO_PER_MICRO);
    Budget {
        requests: budget.requests,
        tokens: budget.tokens,
        nano_usd: budget.cost_microusd.map(nano),
    }
}

/// The part of a plugin's limits that is a budget. More dollars than can be counted are as many
/// as can be.
fn granted(limits: &PluginLimits) -> Budget {
    written(plan::Budget {
        cost_microusd: limits.usd.map(|usd| microusd(usd).unwrap_or(u64::MAX)),
        tokens: limits.tokens,
        requests: limits.requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugins_limits_are_a_budget() {
        let limits = PluginLimits {
            usd: Some(0.01),
            requests: Some(2),
            tokens: Some(3),
            memory_mb: Some(4),
            cpu_ms: Some(5),
        };
        let expected = Budget {
            requests: Some(2),
            tokens: Some(3),
            nano_usd: Some(10_000_000),
        };
        assert_eq!(granted(&limits), expected);
        assert_eq!(granted(&PluginLimits::default()), Budget::default());
    }

    #[test]
    fn a_run_without_limits_keeps_no_budget() {
        let budgets = Budgets::new(plan::Budget::default());
        assert!(budgets.run.is_none());
        assert!(budgets.ledger().statements().is_empty());
    }
}
