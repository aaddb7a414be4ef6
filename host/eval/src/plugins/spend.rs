//! What a plugin has used of the budget that its entry gives it, in this run.

use std::sync::atomic::{AtomicU64, Ordering};

use runner_config::PluginLimits;

/// Counters of one plugin. Money in millionths of a dollar, so that it can be atomic.
#[derive(Debug, Default)]
pub(crate) struct Spend {
    request_limit: Option<u64>,
    micro_usd_limit: Option<u64>,
    requests: AtomicU64,
    micro_usd: AtomicU64,
}

impl Spend {
    /// Nothing used yet.
    pub(crate) fn new(limits: Option<&PluginLimits>) -> Self {
        Self {
            request_limit: limits.and_then(|limits| limits.requests),
            micro_usd_limit: limits.and_then(|limits| limits.usd).map(micro),
            ..Self::default()
        }
    }

    /// Takes one request from the budget; otherwise says which limit is spent.
    pub(crate) fn request(&self) -> Result<(), String> {
        if let Some(limit) = self.micro_usd_limit
            && self.micro_usd.load(Ordering::Relaxed) >= limit
        {
            return Err(format!("limits.usd ({}) is spent", limit as f64 / 1e6));
        }
        let used = self.requests.fetch_add(1, Ordering::Relaxed);
        match self.request_limit {
            Some(limit) if used >= limit => Err(format!("limits.requests ({limit}) is spent")),
            _ => Ok(()),
        }
    }

    /// Adds the price of an answer.
    pub(crate) fn cost(&self, usd: f64) {
        self.micro_usd.fetch_add(micro(usd), Ordering::Relaxed);
    }
}

/// Negative and absurd prices count as nothing and as very much.
fn micro(usd: f64) -> u64 {
    (usd * 1e6).max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_after_the_last_allowed_one_is_refused() {
        let limits = PluginLimits {
            requests: Some(2),
            ..PluginLimits::default()
        };
        let spend = Spend::new(Some(&limits));
        assert_eq!(spend.request(), Ok(()));
        assert_eq!(spend.request(), Ok(()));
        assert_eq!(
            spend.request(),
            Err("limits.requests (2) is spent".to_owned())
        );
    }

    #[test]
    fn a_spent_price_stops_the_next_request() {
        let limits = PluginLimits {
            usd: Some(0.01),
            ..PluginLimits::default()
        };
        let spend = Spend::new(Some(&limits));
        assert_eq!(spend.request(), Ok(()));
        spend.cost(0.02);
        assert_eq!(
            spend.request(),
            Err("limits.usd (0.01) is spent".to_owned())
        );
    }
}
