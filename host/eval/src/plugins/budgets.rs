//! Whose budgets pay for the calls of a provider and of a grader.
//!
//! A provider's call is paid by the run, the provider and its plugin; a grader's own requests
//! by the run and its plugin; what a grader asks of a model by all of these together. Here the
//! config's words become accounts; how they are kept is the gateway's business.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use runner_config::plan::{Budget, Provider};
use runner_config::{PluginLimits, microusd};

use super::{LoadedPlugin, Trust};
use crate::gateway::{AccountId, Bill, Owner, Price, Till};

/// The accounts of a run, opened as they are needed.
#[derive(Debug)]
pub(crate) struct Budgets {
    till: Arc<Till>,
    run: Option<AccountId>,
    /// By alias: a plugin may serve many providers, and has one budget.
    plugins: Mutex<BTreeMap<String, Option<AccountId>>>,
}

impl Budgets {
    /// Nothing is spent yet.
    pub(crate) fn new(run: Budget) -> Self {
        let till = Arc::new(Till::default());
        Self {
            run: till.open(Owner::Run, run),
            till,
            plugins: Mutex::default(),
        }
    }

    /// Where all of them are kept.
    pub(crate) fn till(&self) -> Arc<Till> {
        Arc::clone(&self.till)
    }

    /// Who pays for a provider; to be asked once for each.
    pub(super) fn of_provider(
        &self,
        provider: &Provider,
        plugin: &LoadedPlugin,
        price: Option<Price>,
    ) -> Option<Bill> {
        let name = provider.label.as_ref().unwrap_or(&provider.id);
        let own = self
            .till
            .open(Owner::Provider(name.clone()), provider.budget);
        Bill::new(
            &self.till,
            [self.run, own, self.plugin(plugin)],
            price,
            true,
        )
    }

    /// Who pays for the requests that a grader sends itself. They have tokens, and no cost:
    /// only a provider's call states one.
    pub(super) fn of_grader(&self, plugin: &LoadedPlugin) -> Option<Bill> {
        Bill::new(&self.till, [self.run, self.plugin(plugin)], None, false)
    }

    fn plugin(&self, plugin: &LoadedPlugin) -> Option<AccountId> {
        let Trust::Foreign(Some(entry)) = &plugin.trust else {
            return None;
        };
        let mut plugins = self.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || {
            self.till
                .open(Owner::Plugin(plugin.alias.clone()), budget(&entry.limits))
        };
        *plugins.entry(plugin.alias.clone()).or_insert_with(open)
    }
}

/// The part of a plugin's limits that is a budget. More dollars than can be counted are as many
/// as can be.
fn budget(limits: &PluginLimits) -> Budget {
    Budget {
        cost_microusd: limits.usd.map(|usd| microusd(usd).unwrap_or(u64::MAX)),
        tokens: limits.tokens,
        requests: limits.requests,
    }
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
            cost_microusd: Some(10_000),
            tokens: Some(3),
            requests: Some(2),
        };
        assert_eq!(budget(&limits), expected);
        assert_eq!(budget(&PluginLimits::default()), Budget::default());
    }

    #[test]
    fn a_run_without_limits_keeps_no_accounts() {
        let budgets = Budgets::new(Budget::default());
        assert!(budgets.run.is_none());
        assert!(budgets.till().statements().is_empty());
    }
}
