//! How often the repeats of a test came out the same.

use std::collections::HashMap;

use runner_store::{Outcome, Store, StoreError};

/// The repeats of the tests of a run, or of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Repeats {
    /// Tests that ran several times.
    pub(crate) tests: u64,
    /// Of these, those that passed at times, and at times didn't.
    pub(crate) flaky: u64,
    /// The most repeats that all of them have.
    pub(crate) k: u64,
    /// `pass^k`: the chance that so many of a test, drawn without putting back, all passed; the mean over the tests.
    pub(crate) pass_hat: f64,
}

/// Those of all columns, and of each that has some.
pub(crate) type OfColumns = (Repeats, Vec<(u32, Repeats)>);

/// How often a test ran, and passed.
type Ran = (u64, u64);

impl Repeats {
    /// Of a run whose lookup is ready.
    pub(crate) fn of(store: &Store, id: &str) -> Result<OfColumns, StoreError> {
        let mut groups: HashMap<(u32, u64), Ran> = HashMap::new();
        store.contents(id, |case| {
            if let Some(repeats) = case
                .repeats
                .filter(|_| !matches!(case.outcome, Outcome::Cancelled | Outcome::Waiting))
            {
                let (ran, passed) = groups.entry((case.prompt_idx, repeats)).or_default();
                *ran += 1;
                *passed += u64::from(case.outcome == Outcome::Passed);
            }
        })?;
        let mut columns: Vec<u32> = groups.keys().map(|(column, _)| *column).collect();
        columns.sort_unstable();
        columns.dedup();
        let of = |column: u32| {
            let own = groups.iter().filter(|((it, _), _)| *it == column);
            Self::sum(own.map(|(_, ran)| *ran))
        };
        let columns = columns.into_iter().take(MOST_COLUMNS);
        let columns = columns.map(|column| (column, of(column))).collect();
        Ok((Self::sum(groups.values().copied()), columns))
    }

    fn sum(all: impl Iterator<Item = Ran> + Clone) -> Self {
        let k = all.clone().map(|(ran, _)| ran).min().unwrap_or_default();
        let tests = all.clone().count() as u64;
        let flaky = all
            .clone()
            .filter(|(ran, passed)| (1..*ran).contains(passed));
        let flaky = flaky.count() as u64;
        let chance = |(ran, passed): Ran| {
            let drawn = (0..k).map(|it| passed.saturating_sub(it) as f64 / (ran - it) as f64);
            drawn.product::<f64>()
        };
        Self {
            tests,
            flaky,
            k,
            pass_hat: all.map(chance).sum::<f64>() / tests.max(1) as f64,
        }
    }
}

/// Which test each case is one of: repeats go by the place of their first.
#[derive(Debug, Default)]
pub(crate) struct Firsts {
    of_repeats: HashMap<(u32, u64), u32>,
    of_place: HashMap<u32, u32>,
}

impl Firsts {
    /// Takes in a case at this place and in this column, with what its repeats have in common; in the plan's order.
    pub(crate) fn see(&mut self, place: u32, column: u32, repeats: Option<u64>) {
        if let Some(repeats) = repeats {
            // Another column may have had the first.
            let first = self.of(place);
            let first = *self.of_repeats.entry((column, repeats)).or_insert(first);
            self.of_place.insert(place, first);
        }
    }

    pub(crate) fn of(&self, place: u32) -> u32 {
        self.of_place.get(&place).copied().unwrap_or(place)
    }
}

/// Columns that are told of.
const MOST_COLUMNS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_one_test_in_every_column() {
        let mut firsts = Firsts::default();
        // The second column lacks the first of the repeats.
        let seen = [
            (4, 0, Some(7)),
            (5, 0, None),
            (6, 0, Some(7)),
            (6, 1, Some(8)),
        ];
        for (place, column, repeats) in seen {
            firsts.see(place, column, repeats);
        }
        firsts.see(8, 1, Some(8));
        assert_eq!([4, 5, 6, 8].map(|it| firsts.of(it)), [4, 5, 4, 4]);
    }

    #[test]
    fn so_many_in_a_row_pass_as_are_drawn() {
        let found = Repeats::sum([(3, 3), (3, 2), (4, 0)].into_iter());
        let expected = Repeats {
            tests: 3,
            flaky: 1,
            k: 3,
            pass_hat: 1.0 / 3.0,
        };
        assert_eq!(found, expected);
        assert_eq!(Repeats::sum(std::iter::empty()).tests, 0);
    }
}
