//! The filters that the configs of a run add to templates.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::model::{Findings, Position};
use crate::template::{FilterScripts, Template};

/// The filters of all configs of a run together.
#[derive(Debug, Default)]
pub(crate) struct FilterBook(OnceCell<Arc<FilterScripts>>);

impl FilterBook {
    /// Takes in the filters of all configs, once for each plan.
    pub(crate) fn fill(&self, filters: FilterScripts) {
        drop(self.0.set(Arc::new(filters)));
    }

    /// Every filter by its name.
    pub(crate) fn filters(&self) -> Arc<FilterScripts> {
        self.0.get().cloned().unwrap_or_default()
    }

    /// Reports the filters that a template names and nobody has.
    pub(crate) fn check(&self, template: &Template, at: &Position, findings: &Findings) {
        let filters = self.filters();
        for name in template.custom() {
            if filters.contains_key(&name) {
                continue;
            }
            let message = format!("there is no filter '{name}'");
            let help = match findings.did_you_mean(&name, filters.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => format!(
                    "nunjucksFilters: {{ {name}: file://{name}.js }} makes one; text that is not \
                     meant as a template goes between {{% raw %}} and {{% endraw %}}"
                ),
            };
            findings.error_help(at.clone(), message, help);
        }
    }
}
