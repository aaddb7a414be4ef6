//! What a comparison comes to test by test.
//!
//! The repeats of a test are no cases of their own, nor are its columns where all of them are pooled: a test that got
//! harder got harder for each. So each test has one figure, the mean of its cases, or the sum of what they cost, and
//! tests are what chance is reckoned with.

use super::{Comparison, Figures, Matched, Unit};

/// Cases of a test in a pair of columns: sums before and after, and how many.
type Summed = ([f64; 2], u32);

/// Tells `add` the figure of every test: in each pair of columns, and in all of them, which is the number behind the
/// last. The cases stand test by test; one that lacks the figure on a side is left out.
pub(super) fn by_test(
    matched: &[Matched],
    columns: usize,
    is_sum: bool,
    figure: impl Fn(usize) -> [f32; 2],
    mut add: impl FnMut(usize, f64, f64),
) {
    let mut parts: Vec<Summed> = vec![Summed::default(); columns + 1];
    let mut at = 0;
    for test in matched.chunk_by(|one, other| one.first == other.first) {
        for case in test {
            let figures = figure(at).map(f64::from);
            at += 1;
            if figures.iter().all(|it| it.is_finite()) {
                for part in [case.pair as usize, columns] {
                    let (sums, count) = &mut parts[part];
                    sums.iter_mut()
                        .zip(figures)
                        .for_each(|(sum, it)| *sum += it);
                    *count += 1;
                }
            }
        }
        for (column, part) in parts.iter_mut().enumerate() {
            let ([before, after], count) = std::mem::take(part);
            let of = if is_sum { 1.0 } else { f64::from(count) };
            if count > 0 {
                add(column, before / of, after / of);
            }
        }
    }
}

impl Comparison {
    /// Adds up what the cases that are in both come to.
    pub(super) fn add_up(&mut self, mut cases: Vec<(Matched, Figures)>) {
        cases.sort_unstable_by_key(|(it, _)| (it.first, it.pair, it.after));
        let matched: Vec<Matched> = cases.iter().map(|it| it.0).collect();
        let columns = self.columns.len();
        let passed = |at: usize| cases[at].1[0];
        by_test(&matched, columns, false, passed, |column, was, is| {
            let own = self.columns.get_mut(column).map(|it| &mut it.rate);
            own.unwrap_or(&mut self.rate).add(was, is);
        });
        for (case, _) in cases.iter().filter(|(_, figures)| figures[0][0].is_nan()) {
            self.columns[case.pair as usize].rate.leave_out();
            self.rate.leave_out();
        }
        for unit in 0..self.means.len() {
            let figure = |at: usize| cases[at].1[unit + 1];
            let is_sum = unit == Unit::Dollars as usize;
            by_test(&matched, columns, is_sum, figure, |column, was, is| {
                let own = self.columns.get_mut(column).map(|it| &mut it.means);
                own.unwrap_or(&mut self.means)[unit].add(was, is);
            });
        }
        self.matched = matched;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_one_figure_whatever_repeats_and_columns_it_has() {
        let case = |first: u32, pair: u32| Matched {
            pair,
            before: 0,
            after: 0,
            first,
        };
        let cases = [case(0, 0), case(0, 0), case(0, 1), case(3, 0), case(3, 1)];
        let figures = [
            [1.0, 0.0],
            [0.0, 0.0],
            [1.0, 1.0],
            [f32::NAN, 1.0],
            [0.5, 1.0],
        ];
        for (is_sum, expected) in [
            (
                false,
                vec![
                    (0, 0.5, 0.0),
                    (1, 1.0, 1.0),
                    (2, 2.0 / 3.0, 1.0 / 3.0),
                    (1, 0.5, 1.0),
                    (2, 0.5, 1.0),
                ],
            ),
            (
                true,
                vec![
                    (0, 1.0, 0.0),
                    (1, 1.0, 1.0),
                    (2, 2.0, 1.0),
                    (1, 0.5, 1.0),
                    (2, 0.5, 1.0),
                ],
            ),
        ] {
            let mut told = Vec::new();
            by_test(
                &cases,
                2,
                is_sum,
                |at| figures[at],
                |column, was, is| told.push((column, was, is)),
            );
            assert_eq!(told, expected);
        }
    }
}
