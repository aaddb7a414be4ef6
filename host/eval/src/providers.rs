//! Numbers for the providers of a run, so that slots and memory can be shared out among them.
//!
//! Memory is its provider's. A slot is kept by whoever is slow, and that may be the judge: so cases of one
//! provider whose answers go to different judges, or to none, have shares of the slots of their own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use runner_config::plan::{Case, Check, Column, JudgeId, Judges, Plan, Test};

use crate::state::ShareNumber;

/// A provider of the run.
pub(crate) type ProviderNumber = u32;

/// Who answers the cases of a run, and who judges them.
pub(crate) struct Providers {
    /// The provider of each column, by the first column that has it.
    of_columns: Vec<ProviderNumber>,
    /// How many numbers providers have, those of tests included.
    numbers: ProviderNumber,
}

impl Providers {
    /// Of these columns; tests name at most so many more, and judges.
    pub(crate) fn of(columns: &[Arc<Column>], others: usize) -> Self {
        let mut known = HashMap::new();
        let numbers = (columns.len() + others) as ProviderNumber;
        let columns = columns.iter().zip(0..);
        let of_columns = columns.map(|(column, number)| {
            let first = known.entry(Arc::as_ptr(&column.provider));
            *first.or_insert(number)
        });
        Self {
            of_columns: of_columns.collect(),
            numbers,
        }
    }

    /// The number of each column's provider.
    pub(crate) fn of_columns(&self) -> &[ProviderNumber] {
        &self.of_columns
    }

    /// How many shares of the slots the cases of a plan may have.
    pub(crate) fn shares(&self, plan: &Plan) -> usize {
        let columns: HashSet<ProviderNumber> = self.of_columns.iter().copied().collect();
        let own: HashSet<u32> = plan.own_providers().map(|own| own.0).collect();
        let judges: HashSet<Option<u32>> = plan.tests.models().map(judge).collect();
        (columns.len() + own.len()) * judges.len()
    }

    /// The number of a case's share of the slots: of its provider, and of the judge of its answer.
    pub(crate) fn share(&self, case: &Case) -> ShareNumber {
        let judge = judge(&case.test).map_or(0, |judge| judge + 1);
        // Beyond what the number holds, which a hundred thousand judges reach, shares are one.
        let before = judge.saturating_mul(self.numbers);
        before.saturating_add(self.number(case))
    }

    /// The number of the provider that answers a case: a test's own comes after those of the columns.
    pub(crate) fn number(&self, case: &Case) -> ProviderNumber {
        match case.test.provider {
            Some(own) => self.of_columns.len() as ProviderNumber + own.0,
            None => self.of_columns[case.id.prompt_idx as usize],
        }
    }
}

/// The first model that the assertions of a test ask.
fn judge(test: &Test) -> Option<u32> {
    let mut asked = test.assertions.iter().flat_map(Check::members);
    let judge = asked.find_map(|assertion| {
        let Judges {
            text,
            embedding,
            classification,
            moderation,
        } = assertion.judges;
        text.or(embedding).or(classification).or(moderation)
    });
    judge.map(|JudgeId(number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_one_provider_share_its_number() {
        let plan = crate::fixture::plan(
            "prompts: [p, q]\nproviders: [echo, { id: echo, label: other }]\ntests: [{ vars: { a: 1 } }]",
        );
        let providers = Providers::of(&plan.columns, 0);
        let numbers = plan.cases().map(|case| providers.number(&case));
        let numbers: Vec<ProviderNumber> = numbers.take(4).collect();
        assert_eq!(numbers[0], numbers[1]);
        assert_eq!(numbers[2], numbers[3]);
        assert_ne!(numbers[0], numbers[2]);
        let are_several = |providers: &Providers| providers.of_columns().iter().any(|it| *it != 0);
        assert!(are_several(&providers));
        assert!(!are_several(&Providers::of(&plan.columns[..2], 0)));
    }

    #[test]
    fn answers_that_go_to_other_judges_have_other_shares() {
        let plan = crate::fixture::plan(
            "prompts: [p]\nproviders: [echo, { id: echo, label: slow }]\ntests: [{ vars: { a: 1 } }, \
             { assert: [{ type: llm-rubric, value: v, provider: slow }] }, \
             { assert: [{ type: equals, value: v }, { type: assert-set, assert: [{ type: llm-rubric, value: v, provider: echo }] }] }]",
        );
        let providers = Providers::of(&plan.columns, plan.judges.len());
        let shares: HashSet<ShareNumber> = plan.cases().map(|it| providers.share(&it)).collect();
        assert_eq!(shares.len(), 6);
        assert_eq!(providers.shares(&plan), 6);
        let numbers: HashSet<ProviderNumber> =
            plan.cases().map(|it| providers.number(&it)).collect();
        assert_eq!(numbers.len(), 2);
    }
}
