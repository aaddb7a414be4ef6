//! Which column of a run leads a metric by more than chance.
//!
//! The best mean is held against the next, test by test, as a comparison of the two columns does: what is best by a
//! hair, or tied, is not marked.

use std::collections::HashMap;

use runner_store::{Metrics, Store, StoreError};

use crate::repeats::Firsts;
use crate::significance::SIGNIFICANT;
use crate::significance::means::Means;

/// Scores that are held; of a run that has more nothing is said.
const MOST_SCORES: usize = 4 << 20;

/// By the name of a metric, the column that leads it.
pub(crate) type Leads = HashMap<String, u32>;

/// A score: of which metric, of which test, whether the best column's or the next, and what it is.
type Score = (u32, u32, bool, f32);

/// Reads them of a run whose lookup is ready.
pub(crate) fn of(store: &Store, id: &str, metrics: &Metrics) -> Result<Leads, StoreError> {
    let rivals: Vec<(&String, [u32; 2])> = metrics
        .sums
        .iter()
        .filter_map(|(name, sums)| {
            let means = sums.iter();
            let means = means.filter_map(|(column, it)| Some((it.mean()?, *column)));
            let mut means: Vec<(f64, u32)> = means.collect();
            means.sort_by(|one, other| other.0.total_cmp(&one.0));
            Some((name, [means.first()?.1, means.get(1)?.1]))
        })
        .collect();
    let numbers = rivals.iter().zip(0_u32..);
    let numbers: HashMap<&str, u32> = numbers
        .map(|(it, number)| (it.0.as_str(), number))
        .collect();
    let mut firsts = Firsts::default();
    store.contents(id, |it| firsts.see(it.test_idx, it.prompt_idx, it.repeats))?;
    let mut scores: Vec<Score> = Vec::new();
    store.scores(id, |name, test, column, score| {
        if let (Some(number), Some(score)) = (numbers.get(name), score)
            && let Some(side) = rivals[*number as usize]
                .1
                .iter()
                .position(|it| *it == column)
            && scores.len() <= MOST_SCORES
        {
            scores.push((*number, firsts.of(test), side == 1, score as f32));
        }
    })?;
    if scores.len() > MOST_SCORES {
        return Ok(Leads::new());
    }
    let leading = leading(scores);
    let name = |number: u32| {
        rivals
            .get(number as usize)
            .map(|(name, best)| ((*name).clone(), best[0]))
    };
    Ok(leading.into_iter().filter_map(name).collect())
}

/// The metrics whose best column leads.
fn leading(mut scores: Vec<Score>) -> Vec<u32> {
    scores.sort_unstable_by_key(|it| (it.0, it.1, it.2));
    let mut leading = Vec::new();
    for metric in scores.chunk_by(|one, other| one.0 == other.0) {
        let mut means = Means::default();
        for test in metric.chunk_by(|one, other| one.1 == other.1) {
            let (best, next) = test.split_at(test.partition_point(|it| !it.2));
            let mean = |part: &[Score]| {
                part.iter().map(|it| f64::from(it.3)).sum::<f64>() / part.len() as f64
            };
            // Without a score on a side it is no number, and left out.
            means.add(mean(next), mean(best));
        }
        if means.change().0 > 0.0 && means.p_value() < SIGNIFICANT {
            leading.push(metric[0].0);
        }
    }
    leading
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_leads_where_it_is_more_than_chance() {
        let scores = |metric: u32, tests: u32, repeats: u32, best: f32| {
            (0..tests * repeats).flat_map(move |it| {
                [
                    (metric, it % tests, false, best),
                    (metric, it % tests, true, 0.5),
                ]
            })
        };
        // Six tests all one way are the fewest that are more than chance; repeats of three are three tests; ties are none.
        let mut all: Vec<Score> = scores(0, 6, 1, 0.75).collect();
        all.extend(scores(1, 5, 1, 0.75));
        all.extend(scores(2, 3, 8, 0.75));
        all.extend(scores(3, 40, 1, 0.5));
        all.extend(scores(4, 40, 1, 0.25));
        all.push((5, 0, false, 1.0));
        assert_eq!(leading(all), [0]);
    }
}
