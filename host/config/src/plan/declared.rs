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
        let has_rows = self.tests.models().any(|test| test.data.is_some());
        for (place, model) in self.tests.models().enumerate() {
            let of_model = declared_by(model);
            // A test that is like another may name others. Of a row only what lies under it is the config's, which
            // parts of scenarios may have differently.
            let matters = if model.data.is_none() {
                has_rows
            } else {
                !of_model.is_empty()
            };
            let may_differ = matters && self.tests.has_own_checks(place);
            match may_differ.then(|| self.tests.get(place)).flatten() {
                Some(test) => names.extend(declared_by(&test).into_iter().map(str::to_owned)),
                None => names.extend(of_model.into_iter().map(str::to_owned)),
            }
        }
        names
    }
}

/// The metrics of a test's checks that are the config's.
fn declared_by(test: &Test) -> Vec<&str> {
    let mut names = Vec::new();
    for check in test.assertions.iter() {
        let members = check.members();
        if members.iter().all(|it| !it.of_data) {
            names.extend(members.iter().filter_map(|it| it.metric.as_deref()));
            names.extend(check.metric());
        }
    }
    names
}
