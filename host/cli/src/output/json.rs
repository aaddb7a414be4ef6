//! The results file in promptfoo's version 3 shape, streamed.
//!
//! Records are copied as the store holds them, one per line: a file of a million rows is
//! written in the memory of one, and a text search finds a row as a line.

use std::io::Write;

use jiff::Timestamp;
use runner_eval::question::Task;
use runner_eval::record::TokenUsage;
use runner_eval::summary::{Summary, Tally};
use serde_json::{Value, json};

use super::{ColumnRecord, Run};
use crate::thresholds;

/// Writes the document.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(crate) fn write(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    let timestamp = instant(run.started_at_ms);
    writeln!(out, "{{\"evalId\":{},", json!(run.summary.run_id))?;
    writeln!(
        out,
        "\"results\":{{\"version\":3,\"timestamp\":{},",
        json!(timestamp)
    )?;
    writeln!(out, "\"prompts\":{},", prompts(run.columns, run.summary))?;
    writeln!(out, "\"results\":[")?;
    let mut separator = "";
    for record in run.records.open()? {
        write!(out, "{separator}{}", record?)?;
        separator = ",\n";
    }
    writeln!(out, "\n],")?;
    if !run.summary.repeats.is_empty() {
        writeln!(out, "\"repeats\":{},", run.summary.repeats.to_json())?;
    }
    if !run.summary.tasks.is_empty() {
        writeln!(out, "\"tasks\":{},", tasks(run.summary))?;
    }
    writeln!(out, "\"stats\":{}}},", stats(run.summary))?;
    writeln!(out, "\"config\":{},", run.config)?;
    writeln!(out, "\"shareableUrl\":null,")?;
    writeln!(out, "\"metadata\":{}}}", metadata(&timestamp))?;
    Ok(())
}

/// RFC 3339 in UTC with milliseconds.
pub(crate) fn instant(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| String::new(), |timestamp| format!("{timestamp:.3}"))
}

/// The columns with their sums.
pub(crate) fn prompts(columns: &[ColumnRecord], summary: &Summary) -> Value {
    let describe = |(column, (_, tally)): (&ColumnRecord, &(_, Tally))| {
        let mut prompt = json!(column);
        prompt["metrics"] = tally.metrics_json();
        prompt
    };
    columns.iter().zip(&summary.columns).map(describe).collect()
}

/// How each task of questions stands.
pub(super) fn tasks(summary: &Summary) -> Value {
    summary.tasks.in_order().iter().map(Task::to_json).collect()
}

/// The run's sums.
pub(super) fn stats(summary: &Summary) -> Value {
    let all = &summary.all;
    let mut usage = tokens(&all.tokens);
    usage["assertions"] = tokens(&all.grading_tokens);
    let duration_ms = summary.duration.as_millis() as u64;
    let mut whole = summary.to_json();
    let mut stats = json!({
        "successes": all.passed,
        "failures": all.failed + all.waiting,
        "errors": all.errors + all.budget_exceeded,
        "notRun": summary.not_run(),
        "tokenUsage": usage,
        "durationMs": duration_ms,
        "evaluationDurationMs": duration_ms,
        "maxConcurrency": summary.concurrency,
        "lanes": whole["lanes"].take(),
        "budgetExceeded": all.budget_exceeded,
        "waiting": all.waiting,
        "withoutAssertions": all.ungraded,
        "budgets": whole["budgets"].take(),
    });
    if let Some(cost) = cost(&summary.all) {
        stats["cost"] = cost;
    }
    if let Some(told) = thresholds::json(summary) {
        stats["thresholds"] = told;
    }
    if let Some(shard) = summary.shard {
        stats["shard"] = json!(shard);
    }
    if !summary.tasks.is_empty() {
        stats["tasks"] = summary.tasks.stats_json();
    }
    stats
}

/// US dollars that a run paid, the part of them that was for grading, and what the cache saved; `None` where none
/// are known.
pub(crate) fn cost(all: &Tally) -> Option<Value> {
    let paid = all.cost?.value();
    let (grading, saved) = (all.grading_cost.value(), all.saved.value());
    Some(json!({ "paid": paid, "grading": grading, "saved": saved }))
}

fn tokens(usage: &TokenUsage) -> Value {
    json!({
        "total": usage.total,
        "prompt": usage.prompt,
        "completion": usage.completion,
        "cached": usage.cached,
        "numRequests": usage.num_requests,
        "completionDetails": { "reasoning": usage.reasoning, "acceptedPrediction": 0, "rejectedPrediction": 0 },
    })
}

/// Where and when the file was made.
pub(super) fn metadata(evaluated_at: &str) -> Value {
    let now = Timestamp::now().as_millisecond();
    json!({
        "runnerVersion": env!("CARGO_PKG_VERSION"),
        "platform": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "exportedAt": instant(now),
        "evaluationCreatedAt": evaluated_at,
    })
}
