//! Whether a difference of means is more than chance: of a score, a metric, a cost, a latency.
//!
//! Both figures are of the same tests, so what counts is how far each test moved (the paired t-test); a test has one
//! figure, whatever repeats it has. It is made
//! of sums, so that a million tests take no more memory than ten. Where few tests moved at all, t promises more
//! than they can show; chance is never less than that all of those went one way (the sign test).

use super::{erfc, told};

/// Above so many cases t is normal for all that is shown.
const NORMAL: u64 = 1000;
/// With fewer that moved nothing is significant, and no interval means anything.
const LEAST_MOVED: u64 = 6;

/// A figure of tests that have it both times: sums, and how far the tests moved.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Means {
    pub(crate) count: u64,
    sums: [f64; 2],
    pub(super) moved: u64,
    /// Mean of the differences, and the sum of their squared distances from it (Welford's, which stays exact).
    change: f64,
    squares: f64,
}

impl Means {
    /// Counts a test; one that lacks the figure on a side is left out.
    pub(crate) fn add(&mut self, before: f64, after: f64) {
        if !before.is_finite() || !after.is_finite() {
            return;
        }
        self.count += 1;
        self.sums[0] += before;
        self.sums[1] += after;
        let difference = after - before;
        self.moved += u64::from(difference.abs() > 1e-9);
        let from_mean = difference - self.change;
        self.change += from_mean / self.count as f64;
        self.squares += from_mean * (difference - self.change);
    }

    /// The sum before and after.
    pub(crate) fn sums(&self) -> [f64; 2] {
        self.sums
    }

    /// The mean before and after.
    pub(crate) fn means(&self) -> [f64; 2] {
        self.sums.map(|sum| sum / self.count.max(1) as f64)
    }

    /// The change of the mean, and its 95 % interval where one can be told.
    pub(crate) fn change(&self) -> (f64, Option<(f64, f64)>) {
        let interval = (self.moved >= LEAST_MOVED).then(|| {
            let width = critical(self.count - 1) * self.error();
            (self.change - width, self.change + width)
        });
        (self.change, interval)
    }

    /// How likely a difference at least as large is by chance (two-sided).
    pub(crate) fn p_value(&self) -> f64 {
        if self.moved == 0 {
            return 1.0;
        }
        let by_sign = 0.5_f64.powf((self.moved - 1) as f64);
        let t = self.change.abs() / self.error();
        if self.count < 2 || t.is_nan() {
            return by_sign;
        }
        two_sided(t, self.count - 1).max(by_sign)
    }

    /// In words.
    pub(crate) fn told(&self) -> String {
        match self.moved {
            0 => "no test changed".to_owned(),
            _ => told(self.p_value()),
        }
    }

    /// The standard error of the change.
    fn error(&self) -> f64 {
        let n = self.count as f64;
        (self.squares.max(0.0) / (n - 1.0).max(1.0) / n).sqrt()
    }
}

/// How likely Student's t is at least as far from zero (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn two_sided(t: f64, degrees: u64) -> f64 {
    if degrees > NORMAL {
        return erfc(t / std::f64::consts::SQRT_2);
    }
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut at = if is_odd { 3 } else { 2 };
    while at <= degrees {
        sum += term;
        term *= cosine * cosine * (at - 1) as f64 / at as f64;
        at += 2;
    }
    let within = if is_odd {
        (angle + sine * sum) * std::f64::consts::FRAC_2_PI
    } else {
        sine * sum
    };
    (1.0 - within).max(0.0)
}

/// How far from zero t is in one of twenty cases.
fn critical(degrees: u64) -> f64 {
    let (mut low, mut high) = (1.9, 13.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, degrees) > 0.05 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Means {
        let mut means = Means::default();
        for (before, after) in pairs {
            means.add(*before, *after);
        }
        means
    }

    #[test]
    fn t_is_what_the_tables_say() {
        for (degrees, t) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (10, 2.228),
            (29, 2.045),
            (1000, 1.962),
            (5000, 1.960),
        ] {
            assert!((two_sided(t, degrees) - 0.05).abs() < 2e-4, "{degrees}");
            assert!((critical(degrees) - t).abs() < 2e-3, "{degrees}");
        }
        assert!((two_sided(3.169, 10) - 0.01).abs() < 1e-4);
    }

    #[test]
    fn what_moves_far_is_significant_and_what_moves_to_and_fro_is_not() {
        // By hand: differences 1 to 8, their mean 4.5, its error the root of 0.75.
        let up: Vec<(f64, f64)> = (1..=8).map(|n| (0.0, f64::from(n))).collect();
        let means = of(&up);
        let (change, interval) = means.change();
        let (low, high) = interval.expect("all moved");
        assert!((change - 4.5).abs() < 1e-12 && (means.error() - 0.75_f64.sqrt()).abs() < 1e-12);
        assert!(
            (low - (4.5 - 2.3646 * 0.75_f64.sqrt())).abs() < 1e-3
                && (high + low - 9.0).abs() < 1e-9
        );
        assert_eq!((means.means(), means.sums()), ([0.0, 4.5], [0.0, 36.0]));
        // The sign test's, since all of eight went one way.
        assert_eq!(means.told(), "significant, p = 0.008");
        let both = of(&[(0.0, 1.0), (1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.5)]);
        assert_eq!(both.told(), "may be chance, p = 1.000");
    }

    #[test]
    fn a_few_cases_that_move_alike_prove_nothing() {
        let three = of(&[(0.0, 1.0); 3]);
        assert_eq!(three.told(), "may be chance, p = 0.250");
        assert_eq!(three.change(), (1.0, None));
        assert_eq!(of(&[(0.0, 1.0)]).told(), "may be chance, p = 1.000");
        assert_eq!(of(&[(1.0, 1.0); 9]).told(), "no test changed");
        let unknown = of(&[(f64::NAN, 1.0), (1.0, f64::NAN)]);
        assert_eq!((unknown.count, unknown.p_value()), (0, 1.0));
    }
}
