//! Whether a difference in pass rate is more than chance.
//!
//! Both tries are of the same cases, so what counts are the cases that came out differently: if
//! nothing changed, each of them is as likely to have got better as worse (McNemar's test). It is
//! exact where they are few and uses the normal approximation with continuity correction where they
//! are many. No bootstrap: it would say the same with chance in it. Figures that are more than yes or no have
//! `means`.

pub(crate) mod means;

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

    /// Counts those of others as well.
    pub(crate) fn add_all(&mut self, others: &Self) {
        self.both += others.both;
        self.worse += others.worse;
        self.better += others.better;
        self.neither += others.neither;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.both + self.worse + self.better + self.neither
    }

    /// The change of the pass rate, and its 95 % interval (Wald's for paired shares, with continuity
    /// correction, so that it says what the test says).
    pub fn change(&self) -> (f64, f64, f64) {
        let (n, worse, better) = (self.total() as f64, self.worse as f64, self.better as f64);
        if self.total() == 0 {
            return (0.0, 0.0, 0.0);
        }
        let change = (better - worse) / n;
        let error = 1.96
            * (better + worse - (better - worse).powi(2) / n)
                .max(0.0)
                .sqrt()
            / n;
        (
            change,
            (change - error).max(-1.0),
            (change + error).min(1.0),
        )
    }

    /// How likely a difference at least as large is by chance (two-sided).
    pub fn p_value(&self) -> f64 {
        let (n, least) = (self.worse + self.better, self.worse.min(self.better));
        if n == 0 {
            return 1.0;
        }
        if n > EXACT {
            let z = ((self.better.abs_diff(self.worse) as f64) - 1.0).max(0.0) / (n as f64).sqrt();
            return erfc(z / std::f64::consts::SQRT_2);
        }
        // Terms of the binomial distribution, each from the one before; in logarithms, since 2^-1000
        // is hardly a number.
        let mut term = n as f64 * 0.5_f64.ln();
        let mut sum = 0.0;
        for k in 0..=least {
            sum += term.exp();
            term += (((n - k) as f64) / ((k + 1) as f64)).ln();
        }
        (2.0 * sum).min(1.0)
    }

    /// In words.
    pub fn told(&self) -> String {
        match self.worse + self.better {
            0 => "no case came out differently".to_owned(),
            _ => told(self.p_value()),
        }
    }
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

/// The complementary error function for x ≥ 0, to seven digits (Abramowitz and Stegun, 7.1.26).
fn erfc(x: f64) -> f64 {
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
        assert_eq!(pairs(5, 9, 1, 5).told(), "significant, p = 0.021");
        assert_eq!(pairs(5, 2, 1, 5).told(), "may be chance, p = 1.000");
        assert_eq!(pairs(1, 0, 0, 0).told(), "no case came out differently");
    }

    #[test]
    fn many_cases_are_near_what_the_exact_sum_says() {
        let exact = pairs(0, 530, 470, 0).p_value();
        let near = pairs(0, 531, 471, 0).p_value();
        assert!((exact - near).abs() < 0.005, "{exact} {near}");
        assert!(pairs(0, 200_000, 100_000, 0).p_value() < 1e-9);
        assert!((erfc(0.0) - 1.0).abs() < 1e-6 && (erfc(1.0) - 0.157_299).abs() < 1e-5);
    }

    #[test]
    fn a_change_has_an_interval_around_it() {
        let (change, low, high) = pairs(60, 5, 25, 10).change();
        assert!((change - 0.2).abs() < 1e-12 && low > 0.08 && low < change && high < 0.32);
    }

    #[test]
    fn agreement_is_what_is_beyond_chance() {
        // The textbook's: 20 yes and yes, 5 and 10 differ, 15 no and no.
        assert!((kappa(&pairs(20, 5, 10, 15)).expect("a figure") - 0.4).abs() < 1e-9);
        assert_eq!(kappa(&pairs(7, 0, 0, 0)), None);
        assert_eq!(kappa(&pairs(0, 0, 0, 0)), None);
    }
}
