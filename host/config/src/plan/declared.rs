//! Which metrics are the config's own.

use std::collections::BTreeSet;

use super::{DerivedValue, Plan, Test};

impl Plan {
    /// Names of metrics that the config itself has for its assertions and thresholds, and those that its
    /// derived metrics read: whatever rows of data name, these are summed.
    pub fn declared_metrics(&self) -> BTreeSet<String> {
        let thresholds = self.thresholds.metrics.iter();
        let mut names: BTreeSet<String> = thresholds.map(|it| it.name.clone()).collect();
        for derived in &self.derived_metrics {
            if let DerivedValue::Formula(formula) = &derived.value {
                names.extend(formula.names().into_iter().map(str::to_owned));
            }
        }
        let mut declare = |test: &Test| {
            for check in test.assertions.iter() {
                let members = check.members();
                if members.iter().all(|it| !it.of_data) {
                    let own = members.iter().filter_map(|it| it.metric.as_deref());
                    names.extend(own.chain(check.metric()).map(str::to_owned));
                }
            }
        };
        let has_rows = self.tests.models().any(|test| test.data.is_some());
        for (place, model) in self.tests.models().enumerate() {
            // Tests that are alike may name others. Of rows only what lies under them is the config's.
            let is_own = has_rows && model.data.is_none();
            match is_own.then(|| self.tests.get(place)).flatten() {
                Some(test) => declare(&test),
                None => declare(model),
            }
        }
        names
    }
}
