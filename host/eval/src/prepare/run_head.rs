//! What the store keeps of a run from its beginning: its head, its columns, how it was asked for.

use runner_config::plan::{Plan, ServerLimits, Shard};
use runner_config::redacted_config;
use runner_gateway::Masker;
use runner_store::NewRun;
use serde_json::{Value, json};

use crate::beginning::Beginning;
use crate::event::RunHead;
use crate::masking::masked_json;
use crate::plugins::PluginSet;
use crate::question::Tasks;
use crate::summary::ColumnHead;

use super::variants;

pub(super) fn head(plan: &Plan, beginning: &Beginning, masker: &Masker) -> RunHead {
    let clean = |text: &str| masker.mask(text).into_owned();
    let now = jiff::Timestamp::now();
    let run_id = match beginning {
        Beginning::Again(again) => again.run_id.clone(),
        Beginning::New => {
            let day = now.strftime("%Y%m%d-%H%M%S");
            let unique = uuid::Uuid::new_v4().simple().to_string();
            format!("run-{day}-{}", &unique[..6])
        }
    };
    let columns = plan.columns.iter().zip(variants::of(&plan.columns, masker));
    let columns = columns.map(|(column, variant)| ColumnHead {
        provider: clean(&ColumnHead::told_apart(
            column.provider.called(),
            variant.as_deref(),
        )),
        prompt: clean(&column.prompt.label),
    });
    RunHead {
        run_id,
        description: plan.description.as_deref().map(clean),
        total: plan.case_count(),
        columns: columns.collect(),
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
    invocation: &Value,
) -> NewRun {
    let columns = plan.columns.iter().zip(variants::of(&plan.columns, masker));
    let columns = columns.map(|(column, variant)| {
        json!({
            "id": column.prompt.id,
            "raw": column.prompt.raw,
            "label": column.prompt.label,
            "provider": column.provider.called(),
            "variant": variant,
            "config": column.prompt.config.as_ref().map(redacted_config),
        })
    });
    let mut tags = plan.tags.clone();
    if let Some(Shard { index, count }) = plan.shard {
        // In a list it is told from the whole and from the other parts.
        let part = format!("{index}/{count}");
        tags.entry("shard").or_insert_with(|| part.into());
    }
    let ours = |value: Value| masked_json(value, false, masker).to_string();
    let users = |value: Value| masked_json(value, true, masker).to_string();
    NewRun {
        id: head.run_id.clone(),
        created_at_ms: head.started_at_ms,
        description: head.description.clone(),
        tags_json: users(Value::Object(tags)),
        config_json: users(plan.config_json.clone()),
        columns_json: ours(columns.collect()),
        plugins_json: ours(plugins.provenance()),
        options_json: options(plan, head, invocation, masker),
        seed,
    }
}

/// How the run is carried out, and how it was asked for.
fn options(plan: &Plan, head: &RunHead, invocation: &Value, masker: &Masker) -> String {
    let options = json!({
        "maxConcurrency": plan.options.max_concurrency,
        "adaptive": plan.options.server_limits == ServerLimits::Learnt,
        "repeat": plan.options.repeat,
        "total": head.total,
        "tasks": Tasks::planned(&plan.tasks()).to_keep(),
        "thresholds": plan.thresholds,
        "shard": plan.shard_rows(),
        "invocation": invocation,
    });
    masked_json(options, false, masker).to_string()
}
