//! What a run adds up to, for each column and for all, from one pass over its figures.

use hdrhistogram::Histogram;
use runner_store::{Figure, Outcome, Store, StoreError};
use runner_telling::figures;

/// Longest latency that is told apart: a day.
const MAX_LATENCY_MS: u64 = 24 * 60 * 60 * 1000;
/// Columns with sums of their own; a stored row may name any.
const MOST_COLUMNS: usize = 1000;

/// The sums of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub(crate) all: Tally,
    pub(crate) columns: Vec<Tally>,
}

/// Sums over some cases.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    outcomes: [u64; Outcome::ALL.len()],
    score: f64,
    scored: u64,
    /// US dollars that were paid, where any is known.
    pub(crate) cost: Option<f64>,
    /// Cases that were answered at a cost that nobody states.
    unpriced: u64,
    /// The part of them that grading took.
    pub(crate) grading: f64,
    /// What the cache saved beyond them.
    pub(crate) saved: f64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cached: u64,
    pub(crate) latencies: Histogram<u32>,
    /// Those of answers that the cache had, which another run measured.
    cached_latencies: Option<Box<Histogram<u32>>>,
}

/// Latencies of which none is recorded.
fn no_latencies() -> Histogram<u32> {
    Histogram::new_with_bounds(1, MAX_LATENCY_MS, 2).expect("the bounds are in order")
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            outcomes: Default::default(),
            score: 0.0,
            scored: 0,
            cost: None,
            unpriced: 0,
            grading: 0.0,
            saved: 0.0,
            input_tokens: 0,
            output_tokens: 0,
            cached: 0,
            latencies: no_latencies(),
            cached_latencies: None,
        }
    }
}

impl Sums {
    /// Reads every figure of a run.
    pub(crate) fn of(store: &Store, id: &str) -> Result<Self, StoreError> {
        let mut sums = Self::default();
        for figure in store.figures(id)? {
            let figure = figure?;
            let column = figure.prompt_idx as usize;
            if column < MOST_COLUMNS {
                if sums.columns.len() <= column {
                    sums.columns.resize_with(column + 1, Tally::default);
                }
                sums.columns[column].add(&figure);
            }
            sums.all.add(&figure);
        }
        Ok(sums)
    }
}

impl Tally {
    fn add(&mut self, figure: &Figure) {
        self.outcomes[figure.outcome as usize] += 1;
        // What was not carried out has no score, whatever its row says.
        let is_run = !matches!(figure.outcome, Outcome::BudgetExceeded | Outcome::Cancelled);
        if is_run && !figure.score.is_nan() {
            self.score += figure.score;
            self.scored += 1;
        }
        match figure.cost_usd {
            Some(cost) => *self.cost.get_or_insert(0.0) += cost,
            None => self.unpriced += u64::from(is_run && figure.outcome != Outcome::Error),
        }
        self.grading += figure.grading_usd.unwrap_or_default();
        self.saved += figure.saved_usd.unwrap_or_default();
        // A server's counts: a sum ends where numbers do.
        let add = |sum: &mut u64, more: Option<u64>| *sum = sum.saturating_add(more.unwrap_or(0));
        add(&mut self.input_tokens, figure.input_tokens);
        add(&mut self.output_tokens, figure.output_tokens);
        self.cached += u64::from(figure.cached);
        if let Some(latency) = figure.latency_ms {
            self.latencies.saturating_record(latency);
            if figure.cached {
                let cached = &mut self.cached_latencies;
                cached
                    .get_or_insert_with(|| Box::new(no_latencies()))
                    .saturating_record(latency);
            }
        }
    }

    /// Cases that ended so.
    pub(crate) fn of_outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Cases.
    pub(crate) fn total(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Cases that have a row and were not carried out, for a budget or an interrupt.
    pub(crate) fn not_run(&self) -> u64 {
        self.of_outcome(Outcome::BudgetExceeded) + self.of_outcome(Outcome::Cancelled)
    }

    /// What there is to say of the cost beside it: whose is not in it, how much of it was for grading, what the cache
    /// saved.
    pub(crate) fn cost_parts(&self) -> impl Iterator<Item = String> {
        let parts = [(self.grading, "for grading"), (self.saved, "saved")];
        let known = parts.into_iter().filter(|(usd, _)| *usd > 0.0);
        let known = known.map(|(usd, what)| format!("{} {what}", figures::dollars(usd)));
        let is_part = self.cost.is_some() && self.unpriced > 0;
        let lacks = is_part.then(|| {
            let lacks = figures::counted(self.unpriced, "case", "cases");
            format!("without {lacks} of no known price")
        });
        lacks.into_iter().chain(known)
    }

    /// Mean of the scores.
    pub(crate) fn score(&self) -> Option<f64> {
        (self.scored > 0).then(|| self.score / self.scored as f64)
    }

    /// So many in a hundred answered in this time, in milliseconds.
    pub(crate) fn latency(&self, percent: f64) -> Option<u64> {
        (!self.latencies.is_empty()).then(|| self.latencies.value_at_percentile(percent))
    }

    /// The latency of those answers that did not come from the cache.
    pub(crate) fn measured_latency(&self, percent: f64) -> Option<u64> {
        let Some(cached) = &self.cached_latencies else {
            return self.latency(percent);
        };
        let mut own = self.latencies.clone();
        own.subtract(&**cached)
            .expect("what the cache had is among all");
        (!own.is_empty()).then(|| own.value_at_percentile(percent))
    }

    /// What it would have cost without the cache, where that is known.
    pub(crate) fn cost_without_cache(&self) -> Option<f64> {
        self.cost.map(|paid| paid + self.saved)
    }

    /// Shares of the longest bar: how many latencies lie in each of `bins` ranges, each as many times
    /// as long as the one before.
    pub(crate) fn spread(&self, bins: usize) -> Vec<f64> {
        let mut counts = vec![0_u64; bins];
        let (least, most) = (
            self.latencies.min().max(1) as f64,
            self.latencies.max().max(2) as f64,
        );
        let width = (most / least).ln().max(1e-9) / bins as f64;
        for value in self.latencies.iter_recorded() {
            let at = (value.value_iterated_to().max(1) as f64 / least).ln() / width;
            counts[(at.max(0.0) as usize).min(bins - 1)] += u64::from(value.count_at_value());
        }
        let top = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        counts.iter().map(|count| *count as f64 / top).collect()
    }
}
