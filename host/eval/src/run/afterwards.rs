//! What is done when every case has ended: metrics of metrics, and hooks.

use runner_config::plan::Plan;
use runner_sandbox::abi::CallContext;
use serde_json::{Map, Value, json};

use super::Loop;
use crate::around::{derived, hooks};
use crate::call::CallScope;
use crate::event::RunHead;
use crate::masking::masked_json;
use crate::summary::End;

impl Loop {
    /// Works out the metrics that are made of others.
    pub(super) async fn derive(&mut self, plan: &Plan) {
        let (scope, identity) = (CallScope::of_run(&self.context), of_run(&self.head));
        for (head, tally) in self.head.columns.iter().zip(&mut self.totals.columns) {
            derived::add(&scope, &plan.derived_metrics, head, tally, &identity).await;
        }
    }

    /// Hands all rows to the extensions that want them, if every case has ended.
    pub(super) async fn after_all(&mut self, plan: &Plan) {
        let Some(rows) = self.totals.rows.take() else {
            return;
        };
        if self.state.end() != End::Finished {
            return;
        }
        let heads = self.head.columns.iter().zip(&self.totals.columns);
        let prompts: Value = heads
            .map(|(head, tally)| {
                json!({
                    "provider": head.provider, "label": head.prompt, "metrics": tally.metrics_json(),
                })
            })
            .collect();
        let config = masked_json(plan.config_json.clone(), true, &self.context.masker);
        let mut about = Map::new();
        about.insert("evalId".to_owned(), self.head.run_id.as_str().into());
        about.insert("prompts".to_owned(), prompts);
        about.insert("suite".to_owned(), config.clone());
        about.insert("config".to_owned(), config);
        let (scope, identity) = (CallScope::of_run(&self.context), of_run(&self.head));
        hooks::after_all(&scope, rows, &about, &identity).await;
    }
}

/// What code that belongs to no case is called with.
fn of_run(head: &RunHead) -> CallContext {
    CallContext {
        call_id: head.run_id.clone(),
        attempt: 1,
        deadline_ms: None,
        test_index: 0,
        repeat_index: 0,
        labels: Vec::new(),
    }
}
