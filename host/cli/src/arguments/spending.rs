//! The flags that bound what a run may spend. Each wins over its key under `budget:`, and counts
//! for one session: a run that goes on has it anew.

use clap::Args;
use runner_config::microusd;
use runner_config::plan::Budget;

/// Flags of `runner eval` that bound.
#[derive(Debug, Clone, Args)]
pub(crate) struct Spending {
    /// US dollars that this session of the run may spend; cases beyond it end as budget-exceeded [default: no limit]
    #[arg(long = "max-cost", value_name = "USD", value_parser = dollars, help_heading = "How to run")]
    pub(crate) cost: Option<u64>,
    /// Tokens that it may use, in and out together; what comes from the cache costs nothing [default: no limit]
    #[arg(long = "max-tokens", value_name = "N", help_heading = "How to run")]
    pub(crate) tokens: Option<u64>,
    /// Requests that it may send, retries included [default: no limit]
    #[arg(long = "max-requests", value_name = "N", help_heading = "How to run")]
    pub(crate) requests: Option<u64>,
}

impl Spending {
    /// As the config takes it.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            cost_microusd: self.cost,
            tokens: self.tokens,
            requests: self.requests,
        }
    }
}

/// Millionths of a dollar; `$` may stand before.
fn dollars(text: &str) -> Result<u64, &'static str> {
    let number = text.strip_prefix('$').unwrap_or(text);
    let usd = number.trim().parse().ok();
    usd.and_then(microusd)
        .ok_or("not US dollars from 0 to a billion, for example 2.50")
}
