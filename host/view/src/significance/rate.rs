//! How a pass rate changed, test by test.
//!
//! The repeats of a test are no cases of their own: if it got harder, all of them are. So a test counts once, with the
//! share of its repeats that passed, and of its columns where several are pooled. Where every test passed or failed as a
//! whole, McNemar's test says whether the change is more than chance; shares have the paired t-test. Cases that wait for a
//! person passed whatever else is held against them, and a run that ended early left out those behind: what is left is no fair
//! sample, so while any has no verdict, nothing is said of chance.

use runner_telling::figures;

use super::means::Means;
use super::{Pairs, told};

/// A pass rate before and after: of every test, the share of its cases that passed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PassRate {
    /// Tests that passed or failed as a whole, both times.
    whole: Pairs,
    shares: Means,
    /// Cases without a verdict, before or after.
    open: u64,
}

impl PassRate {
    /// Counts a test: which share of it passed before and after.
    pub fn add(&mut self, before: f64, after: f64) {
        self.shares.add(before, after);
        if [before, after].iter().all(|it| *it <= 0.0 || *it >= 1.0) {
            self.whole.add(before > 0.5, after > 0.5);
        }
    }

    /// Leaves out a case that waits for a person or was not carried out, before or after.
    pub fn leave_out(&mut self) {
        self.open += 1;
    }

    /// How many tests are counted.
    pub fn tests(&self) -> u64 {
        self.shares.count
    }

    /// The rate before and after.
    pub(crate) fn rates(&self) -> [f64; 2] {
        self.shares.means()
    }

    fn are_whole(&self) -> bool {
        self.whole.total() == self.tests()
    }

    /// The change, and its 95 % interval where one can be told.
    pub fn change(&self) -> (f64, Option<(f64, f64)>) {
        let (change, interval) = if self.are_whole() {
            self.whole.change()
        } else {
            self.shares.change()
        };
        let within = |(low, high): (f64, f64)| (low.max(-1.0), high.min(1.0));
        (change, interval.filter(|_| self.open == 0).map(within))
    }

    /// How likely a difference at least as large is by chance (two-sided). None: that can't be told.
    pub fn p_value(&self) -> Option<f64> {
        if self.open > 0 {
            None
        } else if self.are_whole() {
            Some(self.whole.p_value())
        } else {
            Some(self.shares.p_value())
        }
    }

    /// Whether a test came out differently.
    pub fn differs(&self) -> bool {
        self.shares.moved > 0
    }

    /// In words.
    pub fn told(&self) -> String {
        match self.p_value() {
            Some(p) if self.differs() => told(p),
            Some(_) => "no test came out differently".to_owned(),
            None => {
                let open = figures::counted(self.open, "case has", "cases have");
                format!("not told while {open} no verdict")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tests: &[(f64, f64)]) -> PassRate {
        let mut rate = PassRate::default();
        for (was, is) in tests {
            rate.add(*was, *is);
        }
        rate
    }

    #[test]
    fn tests_that_pass_as_a_whole_have_mcnemar_s_test() {
        let mut tests = vec![(0.0, 1.0); 9];
        tests.extend([(1.0, 0.0); 2]);
        tests.extend([(1.0, 1.0); 29]);
        let rate = of(&tests);
        let (change, interval) = rate.change();
        let (low, high) = interval.expect("some came out differently");
        assert_eq!(rate.tests(), 40);
        assert_eq!(rate.told(), "may be chance, p = 0.065");
        // 9 of 11 are 0.4822 to 0.9772 of those that came out differently.
        assert!((change - 0.175).abs() < 1e-12);
        assert!((low - -0.0098).abs() < 1e-3 && (high - 0.2625).abs() < 1e-3);
        assert_eq!(of(&[(1.0, 1.0)]).told(), "no test came out differently");
        let mut open = rate;
        open.leave_out();
        assert_eq!((open.p_value(), open.change().1), (None, None));
        assert_eq!(open.told(), "not told while 1 case has no verdict");
        assert_eq!(of(&[]).change(), (0.0, None));
    }

    #[test]
    fn shares_of_repeats_have_the_paired_t_test() {
        // By hand: differences of a third in seven tests, none in one; their mean 7/24, its error 1/24, so that t is 7.
        let mut tests = vec![(1.0 / 3.0, 2.0 / 3.0); 7];
        tests.push((1.0, 1.0));
        let rate = of(&tests);
        let (change, interval) = rate.change();
        let (low, high) = interval.expect("seven moved");
        assert!((change - 7.0 / 24.0).abs() < 1e-12);
        assert!((low - (7.0 - 2.3646) / 24.0).abs() < 1e-4);
        assert!((high - (7.0 + 2.3646) / 24.0).abs() < 1e-4);
        // All of seven went one way, which is never more certain than the sign test.
        assert_eq!(rate.told(), "significant, p = 0.016");
        assert_eq!((rate.tests(), rate.differs()), (8, true));
        assert!((rate.rates()[0] - 10.0 / 24.0).abs() < 1e-12);
    }
}
