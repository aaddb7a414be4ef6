//! What the pages share: the store, and what was added up already.
//!
//! Sums of a run that ended don't change, so they are kept; of one that grows they are made again,
//! not more often than it costs. The lookup of a run is brought up to date on a thread of its own,
//! and a page waits for it a moment only: a small run's is there at once, a large one's page says how
//! far it is.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use runner_store::{Metrics, RunHead, RunInfo, RunState, Store, StoreError};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::facts;
use crate::leads::{self, Leads};
use crate::pairing::ColumnNames;
use crate::repeats::{OfColumns, Repeats};
use crate::sums::Sums;

/// How long a page waits for a lookup.
const PATIENCE: Duration = Duration::from_millis(400);
/// Runs of which sums are kept.
const MOST_KEPT: usize = 200;

/// A column of a run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Column {
    pub(crate) provider: String,
    /// What tells that provider from others of this name.
    pub(crate) variant: Option<String>,
    pub(crate) label: String,
    pub(crate) raw: String,
    /// Options that go to the provider with the prompt.
    pub(crate) config: Option<Map<String, Value>>,
}

impl Column {
    /// The provider, told apart from others of the same name.
    pub(crate) fn model(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{} ({variant})", self.provider),
            None => self.provider.clone(),
        }
    }

    /// What it is paired by with one of another run.
    pub(crate) fn names(&self) -> ColumnNames<'_> {
        let variant = self.variant.as_deref().unwrap_or_default();
        [&self.provider, variant, &self.label, &self.raw]
    }
}

/// How far a lookup is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LookedUp {
    Ready,
    /// Cases that are done, and all.
    Underway(u64, u64),
}

/// What everything that is kept of a run was made of.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment {
    ended_at_ms: Option<i64>,
    ended: bool,
}

/// Something that was made of a run.
#[derive(Debug, Clone)]
struct CachedValue<T> {
    of: Moment,
    at: Instant,
    took: Duration,
    it: T,
}

impl<T> CachedValue<T> {
    /// Whether it still holds; of a run that grows it does for some times what it cost.
    fn holds(&self, now: Moment) -> bool {
        self.of == now && (now.ended || self.at.elapsed() < self.took * 4)
    }
}

type RunCache<T> = Mutex<HashMap<String, CachedValue<T>>>;

/// A lookup that is being made: how far it is, or how it ended.
type Making = Arc<(Mutex<Result<(u64, u64), Option<String>>>, Condvar)>;

#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) store: Store,
    sums: RunCache<Arc<Sums>>,
    metrics: RunCache<Arc<Metrics>>,
    repeats: RunCache<Arc<OfColumns>>,
    leads: RunCache<Arc<Leads>>,
    looked_up: RunCache<()>,
    making: Mutex<HashMap<String, Making>>,
}

impl Site {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            sums: RunCache::default(),
            metrics: RunCache::default(),
            repeats: RunCache::default(),
            leads: RunCache::default(),
            looked_up: RunCache::default(),
            making: Mutex::default(),
        }
    }

    /// The columns of a run, and what else was said at its beginning.
    pub(crate) fn head(&self, id: &str) -> Result<(Vec<Column>, RunHead), StoreError> {
        let head = self.store.run_head(id)?;
        Ok((
            serde_json::from_str(&head.columns_json).unwrap_or_default(),
            head,
        ))
    }

    /// Cases of a run's plan, as far as it said.
    pub(crate) fn planned(&self, id: &str) -> Result<u64, StoreError> {
        let options = self.store.run_options(id)?;
        let options: Value = serde_json::from_str(&options).unwrap_or_default();
        Ok(options["total"].as_u64().unwrap_or_default())
    }

    /// Whether two runs have about as many cases: a part of the tests, or a shard, is not held against all of them.
    pub(crate) fn are_of_a_size(&self, one: &str, other: &str) -> Result<bool, StoreError> {
        let (one, other) = (self.planned(one)?, self.planned(other)?);
        Ok(one <= other.saturating_mul(2) && other <= one.saturating_mul(2))
    }

    /// The sums of a run.
    pub(crate) fn sums(&self, run: &RunInfo) -> Result<Arc<Sums>, StoreError> {
        kept(&self.sums, run, || {
            Sums::of(&self.store, &run.id).map(Arc::new)
        })
    }

    /// The sums of a run, if they were made before.
    pub(crate) fn known_sums(&self, run: &RunInfo) -> Option<Arc<Sums>> {
        known(&self.sums, run)
    }

    /// Forgets what was made of a run of which a case has another verdict now.
    pub(crate) fn forget(&self, id: &str) {
        lock(&self.sums).remove(id);
        lock(&self.metrics).remove(id);
        lock(&self.repeats).remove(id);
        lock(&self.leads).remove(id);
        lock(&self.looked_up).remove(id);
    }

    /// The first metrics of the first columns of a run whose lookup is ready.
    pub(crate) fn metrics(
        &self,
        run: &RunInfo,
        names: u32,
        columns: u32,
    ) -> Result<Arc<Metrics>, StoreError> {
        kept(&self.metrics, run, || {
            let metrics = self.store.metrics(&run.id, names, columns);
            metrics.map(Arc::new)
        })
    }

    /// How often the repeats of a run whose lookup is ready came out the same.
    pub(crate) fn repeats(&self, run: &RunInfo) -> Result<Arc<OfColumns>, StoreError> {
        kept(&self.repeats, run, || {
            Repeats::of(&self.store, &run.id).map(Arc::new)
        })
    }

    /// The repeats of a run, if they were counted before.
    pub(crate) fn known_repeats(&self, run: &RunInfo) -> Option<Arc<OfColumns>> {
        known(&self.repeats, run)
    }

    /// Which column leads each of these metrics of a run whose lookup is ready.
    pub(crate) fn leads(&self, run: &RunInfo, of: &Metrics) -> Result<Arc<Leads>, StoreError> {
        kept(&self.leads, run, || {
            leads::of(&self.store, &run.id, of).map(Arc::new)
        })
    }

    /// The metrics of a run, if they were added up before.
    pub(crate) fn known_metrics(&self, run: &RunInfo) -> Option<Arc<Metrics>> {
        known(&self.metrics, run)
    }

    /// Brings the lookup of a run up to date, or says how far that is.
    pub(crate) fn look_up(self: &Arc<Self>, run: &RunInfo) -> Result<LookedUp, String> {
        if known(&self.looked_up, run).is_some() {
            return Ok(LookedUp::Ready);
        }
        let making = self.making(run);
        let (state, ended) = &*making;
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, _) = ended
            .wait_timeout_while(state, PATIENCE, |state| state.is_ok())
            .unwrap_or_else(PoisonError::into_inner);
        match &*state {
            Ok((done, all)) => Ok(LookedUp::Underway(*done, *all)),
            Err(None) => Ok(LookedUp::Ready),
            Err(Some(why)) => Err(why.clone()),
        }
    }

    /// The thread that makes a lookup; a new one if none is at it.
    fn making(self: &Arc<Self>, run: &RunInfo) -> Making {
        let mut all = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(making) = all.get(&run.id) {
            return making.clone();
        }
        let making: Making = Arc::new((Mutex::new(Ok((0, 0))), Condvar::new()));
        all.insert(run.id.clone(), making.clone());
        let (site, run, its) = (self.clone(), run.clone(), making.clone());
        std::thread::spawn(move || {
            let made = kept(&site.looked_up, &run, || {
                site.store
                    .lookup(&run.id)?
                    .catch_up(facts::of, |done, all| {
                        *its.0.lock().unwrap_or_else(PoisonError::into_inner) = Ok((done, all));
                        true
                    })
            });
            let ended = Err(made.err().map(|error| error.to_string()));
            site.making
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&run.id);
            *its.0.lock().unwrap_or_else(PoisonError::into_inner) = ended;
            its.1.notify_all();
        });
        making
    }
}

fn lock<T>(all: &RunCache<T>) -> MutexGuard<'_, HashMap<String, CachedValue<T>>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known<T: Clone>(all: &RunCache<T>, run: &RunInfo) -> Option<T> {
    let all = lock(all);
    let made = all.get(&run.id)?;
    made.holds(moment(run)).then(|| made.it.clone())
}

/// What was made before, or is made now.
fn kept<T: Clone>(
    all: &RunCache<T>,
    run: &RunInfo,
    afresh: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if let Some(it) = known(all, run) {
        return Ok(it);
    }
    let began = Instant::now();
    let it = afresh()?;
    let made = CachedValue {
        of: moment(run),
        at: Instant::now(),
        took: began.elapsed(),
        it: it.clone(),
    };
    let mut all = lock(all);
    drop_oldest(&mut all);
    all.insert(run.id.clone(), made);
    Ok(it)
}

fn drop_oldest<K: Clone + Eq + Hash, T>(all: &mut HashMap<K, CachedValue<T>>) {
    if all.len() >= MOST_KEPT
        && let Some(oldest) = all
            .iter()
            .min_by_key(|(_, made)| made.at)
            .map(|(key, _)| key.clone())
    {
        all.remove(&oldest);
    }
}

fn moment(run: &RunInfo) -> Moment {
    Moment {
        ended_at_ms: run.ended_at_ms,
        ended: run.state != RunState::Running,
    }
}
