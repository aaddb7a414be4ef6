//! Draws: seeded, and the same on every machine.
//!
//! Only additions, multiplications and divisions are used, which IEEE 754 defines to the bit.
//! `ln`, `cos` and `exp` of the standard library may differ in the last digit between
//! platforms, and a table of figures in the documentation must not.

use std::time::Duration;

/// A generator (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream `stream` of `seed`: streams don't disturb each other, so that one more draw
    /// for a server leaves all latencies as they were.
    pub(crate) fn stream(seed: u64, stream: u64) -> Self {
        let mut mixer = Self(seed ^ (stream.wrapping_mul(0xd6e8_feb8_6659_fd93)));
        Self(mixer.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `[0, below)`; 0 where `below` is 0.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(below)) >> 64) as u64
    }

    /// A span from `[0, below)`.
    pub(crate) fn span(&mut self, below: Duration) -> Duration {
        Duration::from_nanos(self.below(below.as_nanos() as u64))
    }

    /// `true` in `per_mille` of a thousand.
    pub(crate) fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// A log-normal factor with median 1: `e^(sigma · N)`. The sum of twelve uniform numbers
    /// stands for the normal one; it ends at six sigma.
    pub(crate) fn factor(&mut self, sigma: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.unit()).sum();
        exp(sigma * (sum - 6.0))
    }

    /// A log-normal span with this median.
    pub(crate) fn latency(&mut self, median: Duration, sigma: f64) -> Duration {
        let nanos = median.as_nanos() as f64 * self.factor(sigma);
        Duration::from_nanos(nanos as u64)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `e^x` for moderate `x`, from operations that are exact to the bit.
fn exp(x: f64) -> f64 {
    let small = x / 64.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..=12 {
        term = term * small / f64::from(n);
        sum += term;
    }
    (0..6).fold(sum, |power, _| power * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_exponential_is_the_exponential() {
        for x in [-6.0, -1.0, 0.0, 0.5, 3.0] {
            let error = (exp(x) / f64::exp(x) - 1.0).abs();
            assert!(error < 1e-12, "{x}: {error}");
        }
    }

    #[test]
    fn latencies_have_their_median_and_their_mean() {
        let mut random = Random::stream(1, 1);
        let mut drawn: Vec<u64> = (0..100_000)
            .map(|_| random.latency(Duration::from_millis(1500), 0.5).as_millis() as u64)
            .collect();
        drawn.sort_unstable();
        let mean = drawn.iter().sum::<u64>() / 100_000;
        assert!((1480..1520).contains(&drawn[50_000]), "{}", drawn[50_000]);
        // e^(σ²/2) = 1.133 times the median.
        assert!((1680..1720).contains(&mean), "{mean}");
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |stream| Random::stream(7, stream).next();
        assert_ne!(first(1), first(2));
        assert_eq!(first(1), first(1));
    }
}
