//! The flags that bound what a run may spend. Each wins over its key under `budget:`, and counts
//! for one session: a run that goes on has it anew.

use clap::Args;
use runner_config::microusd;
use runner_config::plan::Budget;

use super::numbers::whole;

/// Flags of `runner eval` that bound.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "How to run")]
pub(crate) struct Spending {
    /// Spend at most USD dollars in this session of the run; cases beyond it end as budget-exceeded [default: no limit]
    #[arg(long = "max-cost", value_name = "USD", value_parser = dollars)]
    pub(crate) cost: Option<u64>,
    /// Use at most N tokens, in and out together; what comes from the cache costs nothing [default: no limit]
    #[arg(long = "max-tokens", value_name = "N", value_parser = whole::<u64>)]
    pub(crate) tokens: Option<u64>,
    /// Send at most N requests, retries included [default: no limit]
    #[arg(long = "max-requests", value_name = "N", value_parser = whole::<u64>)]
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
