//! The flags that bound what a run may spend. Each wins over its key under `budget:`.

use clap::Args;
use runner_config::microusd;
use runner_config::plan::Budget;

/// Flags of `runner eval` that bound. They are not in the help while they are refused by name.
#[derive(Debug, Clone, Args)]
pub(crate) struct Spending {
    /// What the run may cost, in US dollars
    #[arg(long = "max-cost", value_name = "USD", value_parser = dollars, hide = true, help_heading = "How to run")]
    pub(crate) cost: Option<u64>,
    /// Tokens that the run may use, in and out together
    #[arg(
        long = "max-tokens",
        value_name = "N",
        hide = true,
        help_heading = "How to run"
    )]
    pub(crate) tokens: Option<u64>,
    /// Requests that the run may send
    #[arg(
        long = "max-requests",
        value_name = "N",
        hide = true,
        help_heading = "How to run"
    )]
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

    /// Those that were typed.
    pub(super) fn asked(&self) -> impl Iterator<Item = &'static str> {
        let asked = [
            ("--max-cost", self.cost.is_some()),
            ("--max-tokens", self.tokens.is_some()),
            ("--max-requests", self.requests.is_some()),
        ];
        asked
            .into_iter()
            .filter_map(|(flag, is_asked)| is_asked.then_some(flag))
    }
}

/// Millionths of a dollar; `$` may stand before.
fn dollars(text: &str) -> Result<u64, &'static str> {
    let number = text.strip_prefix('$').unwrap_or(text);
    let usd = number.trim().parse().ok();
    usd.and_then(microusd)
        .ok_or("not US dollars from 0 to a billion, for example 2.50")
}
