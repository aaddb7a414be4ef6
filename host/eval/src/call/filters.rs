//! Filters of the config in templates (`nunjucksFilters`): renders, runs what the rendering waits
//! for, and renders again.
//!
//! A template can't wait for code, so it says which calls it lacks (`Case::wanted_filters`).
//! Where a config has no filters, nothing is lacking and a rendering is one rendering.

use runner_config::plan::{Case, FilterCall};
use runner_sandbox::abi::{Argument, CallContext};
use serde_json::Value;

use super::CallScope;
use crate::failure::CallFailure;
use crate::script::{Fault, argument, runnable};

impl CallScope {
    /// Returns what `fill` makes of the case once it lacks no filter any more.
    ///
    /// # Errors
    /// When a filter broke a limit. One that failed by itself fails the template it stands in.
    pub(crate) async fn filled<T>(
        &self,
        case: &Case,
        identity: &CallContext,
        fill: impl Fn(&Case) -> T,
    ) -> Result<T, CallFailure> {
        loop {
            let wanted = {
                let filled = fill(case);
                let wanted = case.wanted_filters();
                if wanted.is_empty() {
                    return Ok(filled);
                }
                wanted
            };
            for call in wanted {
                let given = self.filter(&call, identity).await?;
                case.keep_filtered(&call, &given);
            }
        }
    }

    /// Returns the name of a metric, filled in; as written if that can't be done.
    pub(crate) async fn metric(&self, case: &Case, metric: &str, identity: &CallContext) -> String {
        let fill = |case: &Case| case.render_text(metric);
        let filled = self.filled(case, identity, fill).await;
        filled.unwrap_or_else(|_| metric.to_owned())
    }

    async fn filter(
        &self,
        call: &FilterCall,
        identity: &CallContext,
    ) -> Result<Result<Value, String>, CallFailure> {
        let arguments: Vec<Argument> = call
            .arguments
            .iter()
            .enumerate()
            .map(|(index, value)| match index {
                0 => argument("value", value.to_string()),
                _ => argument(&format!("argument{index}"), value.to_string()),
            })
            .collect();
        let runnable = runnable(&call.script);
        let given = self.run_code(runnable, &arguments, identity).await?;
        // A template is one line of an error; where the code failed is on its first.
        Ok(match given {
            Ok(value) => Ok(value.unwrap_or_default()),
            Err(Fault(message, _)) => Err(message.lines().next().unwrap_or_default().to_owned()),
        })
    }
}
