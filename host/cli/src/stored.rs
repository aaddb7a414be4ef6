//! A run that is kept in the store: found again, summed up again, told again.
//!
//! Sums are made from the rows, not remembered, so that they are true also for a run whose
//! process died. What no row knows (duration, throttling) comes from the summary that the run
//! left, if it came to its end.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use runner_config::plan::{CaseId, ShardRows, Thresholds};
use runner_eval::event::{LaneMetrics, LaneSummary};
use runner_eval::question::Tasks;
use runner_eval::record::CaseRecord;
use runner_eval::repeats::Repeats;
use runner_eval::summary::{ColumnHead, End, Metrics, Summary, Tally};
use runner_gateway::Statement;
use runner_store::{Annotation, Outcome, Row, RunInfo, RunState, Store, StoreError};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::output::{ColumnRecord, Places, RecordTexts, Records, Run, TextByPlace};

/// A run in the store.
#[derive(Debug)]
pub(crate) struct StoredRun {
    store: Store,
    /// What a list says of it.
    pub(crate) info: RunInfo,
    /// Its columns.
    pub(crate) columns: Vec<ColumnRecord>,
    /// Its config, environment templates unrendered.
    pub(crate) config: Value,
    /// `maxConcurrency`, `repeat`, `total`.
    options: Value,
}

impl StoredRun {
    /// Finds the run that `wanted` names: an id, the beginning of one, or `latest`.
    ///
    /// # Errors
    /// When there is none or more than one, or the database can't be read.
    pub(crate) fn find(store: Store, wanted: &str) -> Result<Self, Failure> {
        let info = store.find_run(wanted).map_err(unfound)?;
        Ok(Self::read(store, info)?)
    }

    fn read(store: Store, info: RunInfo) -> anyhow::Result<Self> {
        let head = store.run_head(&info.id)?;
        let damaged = |what| format!("the {what} of run {} can't be read", info.id);
        Ok(Self {
            columns: serde_json::from_str(&head.columns_json)
                .with_context(|| damaged("columns"))?,
            config: serde_json::from_str(&head.config_json).with_context(|| damaged("config"))?,
            options: serde_json::from_str(&head.options_json)
                .with_context(|| damaged("options"))?,
            store,
            info,
        })
    }

    /// As the files tell it, with its sums.
    pub(crate) fn run<'a>(&'a self, summary: &'a Summary) -> Run<'a> {
        Run {
            summary,
            columns: &self.columns,
            started_at_ms: self.info.created_at_ms,
            config: &self.config,
            records: self,
            store: &self.store,
            against: None,
        }
    }

    /// Column titles.
    pub(crate) fn heads(&self) -> Vec<ColumnHead> {
        let head = |column: &ColumnRecord| ColumnHead {
            provider: column.model(),
            prompt: column.label.clone(),
        };
        self.columns.iter().map(head).collect()
    }

    /// Reads every record in index order, showing each to `see`; gives their sums.
    ///
    /// # Errors
    /// When a record can't be read.
    pub(crate) fn sum_up(&self, mut see: impl FnMut(&CaseRecord)) -> anyhow::Result<Summary> {
        let (mut all, mut repeats) = (Tally::default(), Repeats::default());
        let thresholds = Thresholds::deserialize(&self.options["thresholds"]).unwrap_or_default();
        let judged = thresholds.metrics.iter().map(|it| it.name.as_str());
        let mut metrics = Metrics::declaring(judged);
        let mut tasks = Tasks::kept(&self.options["tasks"]);
        let mut columns: Vec<(ColumnHead, Tally)> = self
            .heads()
            .into_iter()
            .map(|head| (head, Tally::default()))
            .collect();
        for text in self.open()? {
            let record: CaseRecord =
                serde_json::from_str(&text?).context("a stored record is damaged")?;
            all.add(&record);
            repeats.add(&record);
            tasks.add(&record);
            if let Some((_, tally)) = columns.get_mut(record.prompt_idx as usize) {
                tally.add(&record);
                metrics.add(tally, &record);
            }
            see(&record);
        }
        let left = self.left();
        let number = |name: &str| left.get(name).and_then(Value::as_u64);
        let written = self
            .info
            .ended_at_ms
            .map_or(0, |ended| ended - self.info.created_at_ms);
        let mut summary = Summary {
            run_id: self.info.id.clone(),
            end: end(self.info.state, left.get("end").and_then(Value::as_str)),
            total: self.planned().unwrap_or(all.count()),
            duration: Duration::from_millis(number("durationMs").unwrap_or(written.max(0) as u64)),
            concurrency: self.options["maxConcurrency"].as_u64().unwrap_or(1) as usize,
            all,
            columns,
            metrics,
            repeats,
            tasks,
            throttled: number("throttled").unwrap_or(0),
            retries: number("retries").unwrap_or(0),
            lanes: lanes(&left["lanes"]),
            budgets: {
                let budgets = left["budgets"].as_array().into_iter().flatten();
                budgets.filter_map(Statement::from_json).collect()
            },
            thresholds,
            shard: ShardRows::deserialize(&self.options["shard"]).ok(),
        };
        // What works them out stands in the config, not in the rows.
        summary.take_derived(&left["derivedMetrics"]);
        Ok(summary)
    }

    /// The records of one test, or the one in `column`; each is read when it is asked for, since all
    /// of them may be more than fits.
    ///
    /// # Errors
    /// When they can't be read.
    pub(crate) fn cases(
        &self,
        test_idx: u32,
        column: Option<u32>,
    ) -> anyhow::Result<impl Iterator<Item = anyhow::Result<CaseRecord>> + use<>> {
        let columns = 0..self.columns.len() as u32;
        let columns = columns.filter(move |idx| column.is_none_or(|only| only == *idx));
        let rows = self.store.rows_by_key(&self.info.id)?;
        let said = self.said()?;
        let found = columns.filter_map(move |column| rows.row(test_idx, column).transpose());
        Ok(found.map(move |row| {
            let text = annotated(row?, &said)?;
            serde_json::from_str(&text).context("a stored record is damaged")
        }))
    }

    /// What people said of its cases, by the ids of their rows.
    fn said(&self) -> anyhow::Result<HashMap<String, Annotation>> {
        let said = self.store.annotations(&self.info.id)?.into_iter();
        Ok(said.map(|it| (it.row_id, it.annotation)).collect())
    }

    /// Cases of the plan that have not ended.
    pub(crate) fn not_run(&self) -> u64 {
        let outcomes = &self.info.outcomes;
        let ended = outcomes.total() - outcomes.of(Outcome::Cancelled);
        self.planned().unwrap_or(ended).saturating_sub(ended)
    }

    /// Cases of the plan, as far as the run says.
    fn planned(&self) -> Option<u64> {
        let told = self.left()["total"].as_u64();
        told.or(self.options["total"].as_u64())
    }

    /// The summary that the run left.
    fn left(&self) -> Value {
        let text = self.info.summary_json.as_deref();
        text.and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or(Value::Null)
    }
}

impl Records for StoredRun {
    fn open(&self) -> anyhow::Result<RecordTexts<'_>> {
        let said = self.said()?;
        let rows = self.store.rows(&self.info.id)?;
        Ok(Box::new(rows.map(move |row| annotated(row?, &said))))
    }

    fn places(&self) -> anyhow::Result<Places<'_>> {
        let cases = self.store.cases(&self.info.id)?;
        Ok(Box::new(cases.map(|case| {
            let case = case?;
            let (test_idx, prompt_idx) = (case.test_idx, case.prompt_idx);
            Ok(CaseId {
                test_idx,
                prompt_idx,
            })
        })))
    }

    fn by_place(&self) -> anyhow::Result<TextByPlace<'_>> {
        let said = self.said()?;
        let rows = self.store.rows_by_key(&self.info.id)?;
        Ok(Box::new(move |place| {
            let row = rows.row(place.test_idx, place.prompt_idx)?;
            row.map(|row| annotated(row, &said)).transpose()
        }))
    }
}

/// The record of a row, with what a person said of it.
fn annotated(row: Row, said: &HashMap<String, Annotation>) -> anyhow::Result<String> {
    let Some(said) = said.get(&row.row_id) else {
        return Ok(row.record_json);
    };
    let record = serde_json::from_str(&row.record_json);
    let mut record: Map<String, Value> = record.context("a stored record is damaged")?;
    record.insert("annotation".to_owned(), json!(said));
    Ok(Value::Object(record).to_string())
}

/// The lanes, as a summary has them; none of a run that came from before there were any.
fn lanes(left: &Value) -> Vec<LaneSummary> {
    let lane = |lane: &Value| {
        let number = |name: &str| lane[name].as_u64().unwrap_or(0);
        let ms = |name: &str| Duration::from_millis(number(name));
        Some(LaneSummary {
            lane: lane["lane"].as_str()?.into(),
            metrics: LaneMetrics {
                total_requests: number("totalRequests"),
                completed_requests: number("completedRequests"),
                failed_requests: number("failedRequests"),
                rate_limit_hits: number("rateLimitHits"),
                retried_requests: number("retriedRequests"),
                latency_avg: ms("avgLatencyMs"),
                latency_p50: ms("p50LatencyMs"),
                latency_p99: ms("p99LatencyMs"),
                knee: lane["inFlightAtKnee"]
                    .as_u64()
                    .and_then(|knee| u32::try_from(knee).ok()),
            },
        })
    };
    let lanes = left.as_array().into_iter().flatten();
    lanes.filter_map(lane).collect()
}

/// Why a run ended, from its state and the word that its summary has.
fn end(state: RunState, word: Option<&str>) -> End {
    match (state, word) {
        (RunState::Running | RunState::Finished, _) => End::Finished,
        (RunState::Interrupted, Some("time-limit")) => End::TimeLimit,
        (RunState::Interrupted, Some("store-failed")) => End::StoreFailed,
        (RunState::Interrupted, _) => End::Interrupted,
    }
}

/// A run that isn't there is the user's to mend; a database that can't be read is not.
pub(crate) fn unfound(error: StoreError) -> Failure {
    match error {
        StoreError::NoRuns => Failure::usage(error).help("make one with `runner eval`"),
        StoreError::NoSuchRun { .. } | StoreError::AmbiguousRun { .. } => {
            Failure::usage(error).help("`runner list` shows the runs that are kept")
        }
        other => anyhow::Error::new(other).into(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
