//! What a comparison says beside the pass rate: score, cost, latency, and each named metric, of the cases that
//! are in both columns.
//!
//! Metrics are read in a second pass over both lookups.

use runner_store::{Store, StoreError};

use super::by_test::by_test;
use super::{Comparison, Unit};
use crate::significance::means::Means;

/// Scores that are held, of both sides.
const MOST_SCORES: usize = 8 << 20;

/// Something that is compared, for each pair of columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    /// Whether the less of it the better.
    pub(crate) is_burden: bool,
    pub(crate) columns: Vec<Means>,
    /// All pairs of columns together.
    pub(crate) all: Means,
    /// Cases of each pair, before and after, that a judge failed to grade, which are in no mean; none of other figures.
    pub(crate) not_graded: Vec<[u64; 2]>,
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
            is_burden: unit != Unit::Score,
            columns: self
                .columns
                .iter()
                .map(|it| it.means[unit as usize])
                .collect(),
            all: self.means[unit as usize],
            not_graded: vec![[0; 2]; self.columns.len()],
        })
    }

    /// The metrics of these names, as many of the first as there is room for.
    pub(crate) fn metrics(
        &self,
        store: &Store,
        [before, after]: [&str; 2],
        names: &[&str],
    ) -> Result<Vec<Measure>, StoreError> {
        let all = self.matched.len();
        let names = &names[..names.len().min((MOST_SCORES / 2 / all.max(1)).max(1))];
        let mut scores = vec![[f32::NAN; 2]; names.len() * all];
        let mut not_graded = vec![vec![[0; 2]; self.columns.len()]; names.len()];
        for (side, run) in [before, after].into_iter().enumerate() {
            let column = |pair: u32| match side {
                0 => self.columns[pair as usize].before,
                _ => self.columns[pair as usize].after,
            };
            let place = |at: &u32| {
                let it = &self.matched[*at as usize];
                (column(it.pair), [it.before, it.after][side])
            };
            let mut order: Vec<u32> = (0..all as u32).collect();
            order.sort_unstable_by_key(place);
            store.scores(run, |name, test, column, score| {
                let found = order.binary_search_by_key(&(column, test), place);
                let name = names.iter().position(|it| *it == name);
                let (Some(name), Ok(at)) = (name, found) else {
                    return;
                };
                let case = order[at] as usize;
                match score {
                    Some(value) => scores[name * all + case][side] = value as f32,
                    None => not_graded[name][self.matched[case].pair as usize][side] += 1,
                }
            })?;
        }
        let measure = |(at, name): (usize, &&str)| {
            let mut measure = Measure {
                name: (*name).to_owned(),
                unit: Unit::Score,
                is_burden: false,
                columns: vec![Means::default(); self.columns.len()],
                all: Means::default(),
                not_graded: std::mem::take(&mut not_graded[at]),
            };
            let columns = measure.columns.len();
            let figure = |case: usize| scores[at * all + case];
            by_test(&self.matched, columns, false, figure, |column, was, is| {
                let own = measure.columns.get_mut(column);
                own.unwrap_or(&mut measure.all).add(was, is);
            });
            measure
        };
        Ok(names.iter().enumerate().map(measure).collect())
    }
}
