//! Assertions of type `cost` about providers whose price nobody knows.
//!
//! Each of their rows would end in the same error, so it is one before the first is paid for. Only
//! what is certain counts: the provider is asked itself, at its vendor's own address, by a plugin
//! whose API states no cost, and neither its config nor a table has a price. A proxy at an address of
//! the user's own may state one, and so may code.

use std::collections::HashSet;
use std::sync::Arc;

use runner_config::plan::{Assertion, Plan, Test};
use serde_json::Value;

use crate::plugins::{BindError, ByPlugin, ProviderBackend, Target, Trust, place};

/// The type that needs a price.
const COST: &str = "cost";

/// Plugins of the program whose vendors' APIs say nothing of cost.
const SAY_NO_COST: [&str; 5] = ["anthropic", "google", "groq", "mistral", "openai"];

/// Reports such providers, each once. `columns` are those of the plan; one that can't be bound is
/// reported already.
pub(super) fn refused(plan: &Plan, columns: &[Option<Arc<Target>>], errors: &mut Vec<BindError>) {
    let mut said = HashSet::new();
    for test in plan.tests.models() {
        let Some(assertion) = test.assertions().find(|it| needs_price(it)) else {
            continue;
        };
        let asked = columns.iter().enumerate();
        for (_, target) in asked.filter(|(index, _)| runs_in(test, *index)) {
            let lacking = target.as_ref().filter(|target| has_no_price(target));
            if let Some(Target { id, .. }) = lacking.map(|it| &**it)
                && said.insert(id)
            {
                errors.push(BindError::Config {
                    at: place(&assertion.at),
                    problem: format!(
                        "'{COST}' can't be told: no price of '{id}' is known, and its API states no cost\n\
                         help: give its price under `prices` in the config, in dollars for a million tokens, \
                         or a list with `runner prices import`"
                    ),
                });
            }
        }
    }
}

/// Whether an assertion is graded in every case of its test, and needs what the answer cost.
fn needs_price(assertion: &Assertion) -> bool {
    assertion.kind == COST && assertion.when.is_none()
}

/// Whether a test asks the provider of a column.
fn runs_in(test: &Test, column: usize) -> bool {
    let is_asked = test.provider.is_none() && test.output.is_none();
    let own = test.columns.as_deref();
    is_asked && own.is_none_or(|own| own.iter().any(|it| *it as usize == column))
}

fn has_no_price(target: &Target) -> bool {
    let ProviderBackend::Component(served) = &target.answers else {
        return false;
    };
    let name = &*served.plugin.component.info().name;
    let is_ours = matches!(served.plugin.trust, Trust::Bundled);
    target.price.is_none() && is_ours && SAY_NO_COST.contains(&name) && !has_own_address(served)
}

/// Whether the config or the environment gives another address than the vendor's. What can't be read
/// may be one.
fn has_own_address(served: &ByPlugin) -> bool {
    let Some(key) = &served.plugin.component.info().wants.host_config_key else {
        return false;
    };
    let config: Value = serde_json::from_str(&served.abi.config_json).unwrap_or_default();
    config.as_object().is_none_or(|config| {
        // A plugin may know further names of it.
        let is_address = |name: &String| {
            let name = name.to_lowercase();
            name == key.to_lowercase() || name.ends_with("host") || name.ends_with("url")
        };
        config.keys().any(is_address)
    })
}
