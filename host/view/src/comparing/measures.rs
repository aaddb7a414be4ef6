//! What a comparison says beside the pass rate: score, cost, latency, and each named metric, of the cases that
//! are in both columns.
//!
//! Metrics are read in a second pass over both lookups, which holds the scores of one side.

use runner_store::{Store, StoreError};

use super::{Comparison, Matched};
use crate::significance::means::Means;

/// Scores that are held.
const MOST_SCORES: usize = 8 << 20;

/// What the figure of a measure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The more the better.
    Score,
    /// US dollars, of which people want the sum.
    Dollars,
    Milliseconds,
}

/// Something that is compared, for each pair of columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) columns: Vec<Means>,
}

impl Measure {
    /// All pairs of columns together.
    pub(crate) fn all(&self) -> Means {
        let mut all = Means::default();
        self.columns.iter().for_each(|it| all.add_all(it));
        all
    }
}

impl Comparison {
    /// What every case has.
    pub(crate) fn measures(&self) -> [Measure; 3] {
        [
            ("Score", Unit::Score),
            ("Cost", Unit::Dollars),
            ("Latency", Unit::Milliseconds),
        ]
        .map(|(name, unit)| Measure {
            name: name.to_owned(),
            unit,
            columns: self
                .columns
                .iter()
                .map(|it| it.means[unit as usize])
                .collect(),
        })
    }

    /// The metrics of these names, as many of the first as there is room for.
    pub(crate) fn metrics(
        &self,
        store: &Store,
        [before, after]: [&str; 2],
        names: &[&str],
    ) -> Result<Vec<Measure>, StoreError> {
        // In the order of the earlier run's places, and the places of the later run's.
        let mut matched = self.matched.clone();
        matched.sort_unstable_by_key(|it| (it.pair, it.before));
        let mut later: Vec<u32> = (0..matched.len() as u32).collect();
        later.sort_unstable_by_key(|at| place(&matched[*at as usize]));
        let names = &names[..names.len().min((MOST_SCORES / matched.len().max(1)).max(1))];
        let mut scores = vec![f32::NAN; names.len() * matched.len()];
        let pair = |column: u32, of: fn(&super::Beside) -> u32| {
            let at = self.columns.iter().position(|it| of(it) == column);
            at.map(|at| at as u32)
        };
        store.scores(before, |name, test, column, score| {
            let found = names
                .iter()
                .position(|it| *it == name)
                .zip(pair(column, |it| it.before));
            if let Some((name, pair)) = found
                && let Ok(at) =
                    matched.binary_search_by_key(&(pair, test), |it| (it.pair, it.before))
            {
                scores[name * matched.len() + at] = score as f32;
            }
        })?;
        let mut measures: Vec<Measure> = names.iter().map(|name| self.measure(name)).collect();
        store.scores(after, |name, test, column, score| {
            let found = names
                .iter()
                .position(|it| *it == name)
                .zip(pair(column, |it| it.after));
            if let Some((name, pair)) = found
                && let Ok(at) =
                    later.binary_search_by_key(&(pair, test), |at| place(&matched[*at as usize]))
            {
                let was = scores[name * matched.len() + later[at] as usize];
                // Both as exact as the one that was held.
                let means = &mut measures[name].columns[pair as usize];
                means.add(was.into(), f64::from(score as f32));
            }
        })?;
        Ok(measures)
    }

    fn measure(&self, name: &str) -> Measure {
        Measure {
            name: name.to_owned(),
            unit: Unit::Score,
            columns: vec![Means::default(); self.columns.len()],
        }
    }
}

fn place(matched: &Matched) -> (u32, u32) {
    (matched.pair, matched.after)
}
