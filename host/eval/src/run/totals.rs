//! What the rows of a run add up to, row by row.

use std::iter::zip;
use std::time::Duration;

use runner_config::plan::{Hook, Plan, ShardRows, Thresholds};

use crate::around::hooks::AllRows;
use crate::context::RunContext;
use crate::event::{LaneMetrics, RunHead};
use crate::masking::{mask_summary, masked_tasks};
use crate::question::Tasks;
use crate::record::CaseRecord;
use crate::repeats::Repeats;
use crate::summary::{End, Metrics, Summary, Tally};

/// The sums so far.
pub(super) struct Totals {
    all: Tally,
    pub(super) columns: Vec<Tally>,
    metrics: Metrics,
    repeats: Repeats,
    tasks: Tasks,
    thresholds: Thresholds,
    shard: Option<ShardRows>,
    /// Every row, where an extension wants them.
    pub(super) rows: Option<AllRows>,
}

impl Totals {
    /// No row has come.
    pub(super) fn new(plan: &Plan, context: &RunContext, head: &RunHead) -> Self {
        Self {
            all: Tally::default(),
            columns: head.columns.iter().map(|_| Tally::default()).collect(),
            metrics: Metrics::declaring(plan.declared_metrics()),
            repeats: Repeats::default(),
            tasks: Tasks::planned(&masked_tasks(plan, &context.masker)),
            thresholds: plan.thresholds.clone(),
            shard: plan.shard_rows(),
            rows: context.hooks.has(Hook::AfterAll).then(AllRows::default),
        }
    }

    /// Adds a row, given with its JSON.
    pub(super) fn add(&mut self, record: &CaseRecord, json: &str) {
        self.all.add(record);
        if let Some(rows) = &mut self.rows {
            rows.keep(record, json);
        }
        self.repeats.add(record);
        self.tasks.add(record);
        let column = &mut self.columns[record.prompt_idx as usize];
        column.add(record);
        self.metrics.add(column, record);
    }

    /// Whether no metric was left out of the sums.
    pub(super) fn all_summed(&self) -> bool {
        self.metrics.unsummed == 0
    }

    /// The summary of a run that ended so after this time.
    pub(super) fn summary(
        self,
        context: &RunContext,
        head: &RunHead,
        end: End,
        duration: Duration,
    ) -> Summary {
        let lanes = context.gateway.lanes();
        let sum = |count: fn(&LaneMetrics) -> u64| {
            lanes.iter().map(|lane| count(&lane.metrics)).sum::<u64>()
        };
        let mut summary = Summary {
            run_id: head.run_id.clone(),
            end,
            total: head.total,
            duration,
            concurrency: head.concurrency,
            all: self.all,
            columns: zip(head.columns.iter().cloned(), self.columns).collect(),
            metrics: self.metrics,
            repeats: self.repeats,
            tasks: self.tasks,
            throttled: sum(|metrics| metrics.rate_limit_hits),
            retries: sum(|metrics| metrics.retried_requests),
            lanes,
            budgets: context.ledger.statements(),
            thresholds: self.thresholds,
            shard: self.shard,
        };
        mask_summary(&mut summary, &context.masker);
        summary
    }
}
