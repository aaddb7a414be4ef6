//! What the tokens of a provider cost, as the user says.
//!
//! `cost`, or `inputCost` and `outputCost`, in a provider's config: US dollars for one token, the
//! names and units that promptfoo has. It wins over what a plugin states: the user knows the
//! contract with the API. There is no table of prices here.

use runner_config::plan::Provider;
use runner_scheduler::Cost as Tokens;

/// US dollars for one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    input: f64,
    output: f64,
}

impl Price {
    /// What the provider's config says; `None` without a number there that can be a price.
    pub(crate) fn of(provider: &Provider) -> Option<Self> {
        let dollars = |key: &str| {
            let price = provider.config.get(key)?.as_f64()?;
            (price.is_finite() && price >= 0.0).then_some(price)
        };
        let (both, input, output) = (dollars("cost"), dollars("inputCost"), dollars("outputCost"));
        // Half a price would make half of the tokens free.
        Some(Self {
            input: input.or(both)?,
            output: output.or(both)?,
        })
    }

    /// Billionths of a dollar, rounded up.
    pub(super) fn nano(self, tokens: Tokens) -> u64 {
        nano(self.dollars(tokens))
    }

    /// What a call costs that states at least one of its counts of tokens.
    pub(crate) fn usd(self, input: Option<u64>, output: Option<u64>) -> Option<f64> {
        input.or(output)?;
        Some(self.dollars(Tokens {
            input_tokens: input.unwrap_or(0),
            output_tokens: output.unwrap_or(0),
        }))
    }

    fn dollars(self, tokens: Tokens) -> f64 {
        self.input * tokens.input_tokens as f64 + self.output * tokens.output_tokens as f64
    }

    #[cfg(test)]
    pub(super) fn per_token(usd: f64) -> Self {
        Self {
            input: usd,
            output: usd,
        }
    }
}

/// Dollars in billionths, rounded up but for what floats add to a whole number. Negative is
/// nothing, and too much is very much.
pub(super) fn nano(usd: f64) -> u64 {
    (usd * 1e9 - 1e-3).ceil().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_rounded_up_and_floats_add_nothing_to_it() {
        let tokens = |input_tokens, output_tokens| Tokens {
            input_tokens,
            output_tokens,
        };
        let per_million = Price {
            input: 2.5e-6,
            output: 10e-6,
        };
        assert_eq!(per_million.nano(tokens(1, 0)), 2_500);
        assert_eq!(
            per_million.nano(tokens(1_000_000, 1_000_000)),
            12_500_000_000
        );
        assert_eq!(Price::per_token(1e-10).nano(tokens(1, 0)), 1);
        assert_eq!(Price::per_token(0.0).nano(tokens(9, 9)), 0);
        assert_eq!(per_million.usd(None, None), None);
        assert_eq!(per_million.usd(None, Some(1)), Some(10e-6));
        for (usd, expected) in [
            (0.1, 100_000_000),
            (-1.0, 0),
            (f64::NAN, 0),
            (1e300, u64::MAX),
        ] {
            assert_eq!(nano(usd), expected, "{usd}");
        }
    }
}
