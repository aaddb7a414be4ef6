//! Numbers for the providers of a run, so that slots and memory can be shared out among them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use runner_config::plan::{Case, Column, JudgeId};

use crate::state::ProviderNumber;

/// The provider of each column, by the first column that has it.
pub(crate) struct Providers(Vec<ProviderNumber>);

impl Providers {
    pub(crate) fn of(columns: &[Arc<Column>]) -> Self {
        let mut known = HashMap::new();
        let columns = columns.iter().zip(0..);
        let numbers = columns.map(|(column, number)| {
            let first = known.entry(Arc::as_ptr(&column.provider));
            *first.or_insert(number)
        });
        Self(numbers.collect())
    }

    /// The number of each column's provider.
    pub(crate) fn of_columns(&self) -> &[ProviderNumber] {
        &self.0
    }

    /// How many providers there are, with those that tests have of their own.
    pub(crate) fn count(&self, own: impl Iterator<Item = JudgeId>) -> usize {
        let columns: HashSet<ProviderNumber> = self.0.iter().copied().collect();
        let own: HashSet<u32> = own.map(|own| own.0).collect();
        columns.len() + own.len()
    }

    /// The number of the provider that answers a case: a test's own comes after those of the columns.
    pub(crate) fn number(&self, case: &Case) -> ProviderNumber {
        match case.test.provider {
            Some(own) => self.0.len() as ProviderNumber + own.0,
            None => self.0[case.id.prompt_idx as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_one_provider_share_its_number() {
        let plan = crate::fixture::plan(
            "prompts: [p, q]\nproviders: [echo, { id: echo, label: other }]\ntests: [{ vars: { a: 1 } }]",
        );
        let providers = Providers::of(&plan.columns);
        let numbers = plan.cases().map(|case| providers.number(&case));
        let numbers: Vec<ProviderNumber> = numbers.take(4).collect();
        assert_eq!(numbers[0], numbers[1]);
        assert_eq!(numbers[2], numbers[3]);
        assert_ne!(numbers[0], numbers[2]);
        let are_several = |providers: &Providers| providers.of_columns().iter().any(|it| *it != 0);
        assert!(are_several(&providers));
        assert!(!are_several(&Providers::of(&plan.columns[..2])));
    }
}
