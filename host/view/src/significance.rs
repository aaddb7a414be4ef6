//! Whether a difference in pass rate is more than chance.
//!
//! Both tries are of the same cases, so what counts are the cases that came out differently: if
//! nothing changed, each of them is as likely to have got better as worse (McNemar's test). The interval is what that
//! test would not refuse: of the cases that came out differently a share got better, which has an exact interval
//! (Clopper and Pearson's), so that interval and test never contradict each other. Both are
//! exact where those cases are few and use the normal approximation with continuity correction where they
//! are many. No bootstrap: it would say the same with chance in it. Figures that are more than yes or no have
//! `means`; what repeats and columns of one test come to has `rate`.

pub(crate) mod means;
pub mod rate;

/// Above so many cases that differ the exact sum is no better than the approximation.
const EXACT: u64 = 1000;

/// Cases of a comparison by how they came out before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pairs {
    /// They passed both times.
    pub both: u64,
    /// They passed before, and not after.
    pub worse: u64,
    /// They passed after, and not before.
    pub better: u64,
    /// They passed neither time.
    pub neither: u64,
}

impl Pairs {
    /// Counts a case: whether it passed before and after.
    pub fn add(&mut self, before: bool, after: bool) {
        *match (before, after) {
            (true, true) => &mut self.both,
            (true, false) => &mut self.worse,
            (false, true) => &mut self.better,
            (false, false) => &mut self.neither,
        } += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.both + self.worse + self.better + self.neither
    }

    /// The change of the pass rate, and its 95 % interval where some case came out differently.
    fn change(&self) -> (f64, Option<(f64, f64)>) {
        let (all, worse, better) = (self.total() as f64, self.worse, self.better);
        let different = worse + better;
        if different == 0 {
            return (0.0, None);
        }
        // What the change were if such a share of those that came out differently got better.
        let change = |share: f64| (2.0 * share - 1.0) * different as f64 / all;
        let (low, high) = (
            least_share(better, different),
            least_share(worse, different),
        );
        (
            (better as f64 - worse as f64) / all,
            Some((change(low), change(1.0 - high))),
        )
    }

    /// How likely a difference at least as large is by chance (two-sided).
    fn p_value(&self) -> f64 {
        let different = self.worse + self.better;
        (2.0 * at_least(self.worse.max(self.better), different, 0.5)).min(1.0)
    }
}

/// How likely at least `least` of `all` is, where each is so by this chance.
fn at_least(least: u64, all: u64, chance: f64) -> f64 {
    if least == 0 {
        return 1.0;
    }
    if all > EXACT {
        let expected = all as f64 * chance;
        let z = (least as f64 - 0.5 - expected) / (expected * (1.0 - chance)).sqrt();
        return erfc(z / std::f64::consts::SQRT_2) / 2.0;
    }
    // Terms of the binomial distribution from the last, each from the one behind it; in logarithms, since 2^-1000
    // is hardly a number.
    let odds = ((1.0 - chance) / chance).ln();
    let mut term = all as f64 * chance.ln();
    let mut sum = 0.0;
    for k in (least..=all).rev() {
        sum += term.exp();
        term += (k as f64 / (all - k + 1) as f64).ln() + odds;
    }
    sum.min(1.0)
}

/// The lower end of the 95 % interval of a share of which `count` of `all` were seen.
fn least_share(count: u64, all: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if at_least(count, all, middle) < SIGNIFICANT / 2.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// From so little chance on a difference counts.
pub(crate) const SIGNIFICANT: f64 = 0.05;

/// In words, how likely a difference is by chance.
fn told(p: f64) -> String {
    let told = if p < 0.001 {
        "p < 0.001".to_owned()
    } else {
        format!("p = {p:.3}")
    };
    if p < SIGNIFICANT {
        format!("significant, {told}")
    } else {
        format!("may be chance, {told}")
    }
}

/// The complementary error function, to seven digits (Abramowitz and Stegun, 7.1.26).
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = [
        1.061_405_429,
        -1.453_152_027,
        1.421_413_741,
        -0.284_496_736,
        0.254_829_592,
    ]
    .iter()
    .fold(0.0, |sum, factor| (sum + factor) * t);
    sum * (-x * x).exp()
}

/// How far two judges agree beyond chance: Cohen's kappa of yes and no; `None` where one of
/// them always says the same, so that chance alone agrees as much.
pub(crate) fn kappa(pairs: &Pairs) -> Option<f64> {
    let n = pairs.total() as f64;
    let share = |count: u64| count as f64 / n;
    let agreed = share(pairs.both + pairs.neither);
    let (first, second) = (
        share(pairs.both + pairs.worse),
        share(pairs.both + pairs.better),
    );
    let by_chance = first * second + (1.0 - first) * (1.0 - second);
    let room = 1.0 - by_chance;
    (n > 0.0 && room > 1e-9).then(|| (agreed - by_chance) / room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(both: u64, worse: u64, better: u64, neither: u64) -> Pairs {
        Pairs {
            both,
            worse,
            better,
            neither,
        }
    }

    #[test]
    fn few_cases_are_counted_exactly() {
        // By hand: of 10, 1 or less on one side: (1 + 10) / 1024, twice.
        assert!((pairs(5, 9, 1, 5).p_value() - 0.021_484_375).abs() < 1e-12);
        assert!((pairs(5, 3, 3, 5).p_value() - 1.0).abs() < 1e-12);
        assert!((pairs(5, 0, 0, 5).p_value() - 1.0).abs() < 1e-12);
        assert!((pairs(29, 2, 9, 0).p_value() - 2.0 * 67.0 / 2048.0).abs() < 1e-12);
    }

    #[test]
    fn many_cases_are_near_what_the_exact_sum_says() {
        let exact = pairs(0, 530, 470, 0).p_value();
        let near = pairs(0, 531, 471, 0).p_value();
        assert!((exact - near).abs() < 0.005, "{exact} {near}");
        assert!(pairs(0, 200_000, 100_000, 0).p_value() < 1e-9);
        assert!((erfc(0.0) - 1.0).abs() < 1e-6 && (erfc(1.0) - 0.157_299).abs() < 1e-5);
        assert!((erfc(-1.0) - 1.842_701).abs() < 1e-5);
    }

    #[test]
    fn a_change_has_the_interval_of_those_that_came_out_differently() {
        // Clopper and Pearson's tables: 9 of 10 are 0.5550 to 0.9975, 10 of 10 are 0.6915 to 1.
        for (count, of, low, high) in [(9, 10, 0.5550, 0.9975), (10, 10, 0.6915, 1.0)] {
            assert!((least_share(count, of) - low).abs() < 1e-4, "{count}");
            assert!((1.0 - least_share(of - count, of) - high).abs() < 1e-4);
        }
        let (change, interval) = pairs(5, 1, 9, 5).change();
        let (low, high) = interval.expect("some came out differently");
        assert!((change - 0.4).abs() < 1e-12);
        assert!((low - 0.055).abs() < 1e-4 && (high - 0.4975).abs() < 1e-4);
        assert_eq!(pairs(5, 0, 0, 5).change(), (0.0, None));
    }

    #[test]
    fn an_interval_has_zero_in_it_where_the_test_says_chance() {
        for different in [1, 5, 6, 10, 11, 40, 200, 1500] {
            for better in 0..=different {
                let pairs = pairs(20, different - better, better, 20);
                let (_, interval) = pairs.change();
                let (low, high) = interval.expect("some came out differently");
                let is_chance = pairs.p_value() >= SIGNIFICANT;
                assert_eq!(low <= 0.0 && high >= 0.0, is_chance, "{pairs:?}");
            }
        }
    }

    #[test]
    fn agreement_is_what_is_beyond_chance() {
        // The textbook's: 20 yes and yes, 5 and 10 differ, 15 no and no.
        assert!((kappa(&pairs(20, 5, 10, 15)).expect("a figure") - 0.4).abs() < 1e-9);
        assert_eq!(kappa(&pairs(7, 0, 0, 0)), None);
        assert_eq!(kappa(&pairs(0, 0, 0, 0)), None);
    }
}
