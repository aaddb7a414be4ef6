//! What the store keeps of a run from its beginning: its head, its columns, how it was asked for.

use std::sync::Arc;

use runner_config::plan::{Column, Plan};
use runner_store::NewRun;
use serde_json::{Value, json};

use crate::event::{ColumnHead, RunHead};
use crate::gateway::Masker;
use crate::plugins::PluginSet;
use crate::question::Tasks;
use crate::resume::Beginning;

pub(super) fn head(plan: &Plan, beginning: &Beginning) -> RunHead {
    let now = jiff::Timestamp::now();
    let run_id = match beginning {
        Beginning::Again(again) => again.run_id.clone(),
        Beginning::New => {
            let day = now.strftime("%Y%m%d-%H%M%S");
            let unique = uuid::Uuid::new_v4().simple().to_string();
            format!("run-{day}-{}", &unique[..6])
        }
    };
    let head = |column: &Arc<Column>| ColumnHead {
        provider: column
            .provider
            .label
            .clone()
            .unwrap_or_else(|| column.provider.id.clone()),
        prompt: column.prompt.label.clone(),
    };
    RunHead {
        run_id,
        description: plan.description.clone(),
        total: plan.case_count(),
        columns: plan.columns.iter().map(head).collect(),
        concurrency: plan.options.max_concurrency,
        started_at_ms: now.as_millisecond(),
    }
}

pub(super) fn new_run(
    plan: &Plan,
    plugins: &PluginSet,
    head: &RunHead,
    seed: u64,
    masker: &Masker,
    options_json: String,
) -> NewRun {
    let column = |column: &Arc<Column>| {
        json!({
            "id": column.prompt.id,
            "raw": column.prompt.raw,
            "label": column.prompt.label,
            "provider": column.provider.label.as_ref().unwrap_or(&column.provider.id),
            "config": column.prompt.config,
        })
    };
    NewRun {
        id: head.run_id.clone(),
        created_at_ms: head.started_at_ms,
        description: plan.description.clone(),
        tags_json: Value::Object(plan.tags.clone()).to_string(),
        config_json: masker.mask(&plan.config_json.to_string()).into_owned(),
        columns_json: plan
            .columns
            .iter()
            .map(column)
            .collect::<Value>()
            .to_string(),
        plugins_json: plugins.provenance().to_string(),
        options_json,
        seed,
    }
}

/// How the run is carried out, and how it was asked for.
pub(super) fn options(plan: &Plan, head: &RunHead, invocation: &Value, masker: &Masker) -> String {
    let options = json!({
        "maxConcurrency": plan.options.max_concurrency,
        "adaptive": plan.options.adaptive,
        "repeat": plan.options.repeat,
        "total": head.total,
        "tasks": Tasks::planned(&plan.tasks()).to_keep(),
        "invocation": invocation,
    });
    masker.mask(&options.to_string()).into_owned()
}
