//! What a scenario has to reach, and where the figure comes from.

use std::fmt;
use std::time::Duration;

/// A share in thousandths of a per cent. Printed to a tenth of a per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Share(pub(crate) u64);

impl Share {
    pub(crate) const ZERO: Self = Self(0);

    /// So many tenths of a per cent.
    pub(crate) const fn tenths(tenths: u64) -> Self {
        Self(tenths * 100)
    }

    /// `part` of `whole`; nothing of nothing is zero.
    pub(crate) fn of(part: u64, whole: u64) -> Self {
        Self((u128::from(part) * 100_000 / u128::from(whole.max(1))) as u64)
    }

    /// How far `time` is above `ideal`; zero where it is below.
    pub(crate) fn above(time: Duration, ideal: Duration) -> Self {
        let (time, ideal) = (time.as_nanos(), ideal.as_nanos().max(1));
        Self((time.saturating_sub(ideal) * 100_000 / ideal) as u64)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 + 50) / 100;
        write!(f, "{}.{} %", tenths / 10, tenths % 10)
    }
}

/// The most that a scenario may lose, in its worst seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Time above the oracle's.
    pub(crate) regret: Share,
    /// Attempts that were refused.
    pub(crate) wasted: Share,
    /// Work and credit without a send.
    pub(crate) idle: Option<Duration>,
    /// From a change to 95 % of the new rate.
    pub(crate) recovery: Option<Duration>,
    /// Fairness between lanes, at least.
    pub(crate) fairness: Option<Share>,
    /// The median of what answers take above that of a client that always has one more in flight
    /// than the server has slots.
    pub(crate) slower: Option<Share>,
    /// And of the 95th percentile: what the lane does before it has found out.
    pub(crate) late: Option<Share>,
    /// Where the figures come from.
    pub(crate) why: &'static str,
}

impl Gate {
    /// Limits that the server declares in its headers.
    pub(crate) const DECLARED: Self = Self {
        regret: Share::tenths(20),
        wasted: Share::tenths(10),
        idle: Some(Duration::from_millis(100)),
        recovery: None,
        fairness: None,
        slower: None,
        late: None,
        why: "declared by headers",
    };

    /// Declared where headers can't say when there is credit: the limit has just changed, or
    /// is not the one that is enforced. Nobody can be idle on credit that he can't know of.
    pub(crate) const HALF_DECLARED: Self = Self {
        idle: None,
        ..Self::DECLARED
    };

    /// Declared where a call comes once a second: margins are whole calls, so the shortest
    /// idle time that says anything is that of one.
    pub(crate) const SLOW: Self = Self {
        idle: Some(Duration::from_secs(1)),
        ..Self::DECLARED
    };

    /// Limits that nobody declares.
    pub(crate) const UNDECLARED: Self = Self {
        regret: Share::tenths(70),
        wasted: Share::tenths(50),
        idle: None,
        recovery: None,
        fairness: None,
        slower: None,
        late: None,
        why: "undeclared",
    };

    /// Limits that the user declares: no call is ever refused.
    pub(crate) const BY_USER: Self = Self {
        regret: Share::tenths(20),
        wasted: Share::ZERO,
        idle: None,
        recovery: None,
        fairness: None,
        slower: None,
        late: None,
        why: "declared by the user",
    };

    /// A server that queues: throughput of at least 97 % of the best, and answers that take at most
    /// half as long again, and one of twenty twice as long.
    pub(crate) const QUEUE: Self = Self {
        regret: Share::tenths(31),
        wasted: Share::ZERO,
        slower: Some(Share::tenths(500)),
        late: Some(Share::tenths(1000)),
        idle: None,
        recovery: None,
        fairness: None,
        why: "97 % of what the slots give, latency up to 1.5 times that at the knee",
    };

    /// This gate with a bound on recovery.
    pub(crate) const fn recovering(self, within: Duration) -> Self {
        Self {
            recovery: Some(within),
            ..self
        }
    }

    /// This gate with other shares, for a reason.
    pub(crate) const fn but(self, regret: Share, wasted: Share, why: &'static str) -> Self {
        Self {
            regret,
            wasted,
            why,
            ..self
        }
    }
}
