//! What is done when every case has ended: metrics of metrics, and hooks. It is code of the config.

use runner_config::plan::Plan;
use runner_sandbox::abi::CallContext;
use serde_json::{Map, Value, json};

use crate::around::hooks::AllRows;
use crate::around::{derived, hooks};
use crate::call::CallScope;
use crate::event::RunHead;
use crate::masking::masked_json;
use crate::summary::Tally;

/// Works out the metrics that are made of others, then hands all rows to the extensions that want
/// them.
pub(super) async fn work(
    scope: &CallScope,
    plan: &Plan,
    head: &RunHead,
    (mut columns, all_summed): (Vec<Tally>, bool),
    rows: Option<AllRows>,
) -> Vec<Tally> {
    let metrics = (&*plan.derived_metrics, all_summed);
    let identity = of_run(head);
    for (head, tally) in head.columns.iter().zip(&mut columns) {
        derived::add(scope, metrics, head, tally, &identity).await;
    }
    if let Some(rows) = rows {
        let about = about(scope, plan, head, &columns);
        hooks::after_all(scope, rows, &about, &identity).await;
    }
    columns
}

/// What `afterAll` is told beside the rows.
fn about(scope: &CallScope, plan: &Plan, head: &RunHead, columns: &[Tally]) -> Map<String, Value> {
    let heads = head.columns.iter().zip(columns);
    let prompts: Value = heads
        .map(|(head, tally)| {
            json!({
                "provider": head.provider, "label": head.prompt, "metrics": tally.metrics_json(),
            })
        })
        .collect();
    let config = masked_json(plan.config_json.clone(), true, &scope.context.masker);
    let mut about = Map::new();
    about.insert("evalId".to_owned(), head.run_id.as_str().into());
    about.insert("prompts".to_owned(), prompts);
    about.insert("suite".to_owned(), config.clone());
    about.insert("config".to_owned(), config);
    about
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
