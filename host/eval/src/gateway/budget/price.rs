//! What the tokens of a provider cost.
//!
//! `cost`, or `inputCost` and `outputCost`, in a provider's config: US dollars for one token, the
//! names and units that promptfoo has; or the config's `prices`. Both win over what a plugin
//! states: the user knows the contract with the API. Where the user says nothing, what the API
//! states wins over the list prices that come with the program.

use runner_config::plan::Provider;
use runner_config::{ModelPrice, Prices};
use runner_scheduler::Cost as Tokens;

/// Prices of tables are for so many tokens.
const MILLION: f64 = 1e6;

/// US dollars for one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    input: f64,
    output: f64,
    /// Of input from the API's own cache, and into it.
    cache_read: f64,
    cache_write: f64,
    /// It is the list's and not the user's: what the API states wins.
    listed: bool,
}

/// What a call used, as far as its API says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct UsedTokens {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    /// Part of `input`.
    pub(crate) cache_read: Option<u64>,
    /// Part of `input`.
    pub(crate) cache_write: Option<u64>,
}

impl Price {
    /// What the provider's config says, or else the tables; `None` where nobody knows.
    pub(crate) fn of(provider: &Provider, prices: &Prices) -> Option<Self> {
        Self::configured(provider).or_else(|| {
            let listed = prices.of(provider)?;
            Some(Self::of_model(listed.price, listed.as_of.is_some()))
        })
    }

    /// What the provider's config says; `None` without a number there that can be a price.
    fn configured(provider: &Provider) -> Option<Self> {
        let dollars = |key: &str| {
            let price = provider.config.get(key)?.as_f64()?;
            (price.is_finite() && price >= 0.0).then_some(price)
        };
        let (both, input, output) = (dollars("cost"), dollars("inputCost"), dollars("outputCost"));
        // Half a price would make half of the tokens free.
        let input = input.or(both)?;
        Some(Self {
            input,
            output: output.or(both)?,
            cache_read: input,
            cache_write: input,
            listed: false,
        })
    }

    fn of_model(price: ModelPrice, listed: bool) -> Self {
        let ModelPrice {
            input,
            output,
            cached_input,
            cache_write,
        } = price;
        Self {
            input: input / MILLION,
            output: output / MILLION,
            cache_read: cached_input.unwrap_or(input) / MILLION,
            cache_write: cache_write.unwrap_or(input) / MILLION,
            listed,
        }
    }

    /// Billionths of a dollar, rounded up.
    pub(super) fn nano(self, tokens: Tokens) -> u64 {
        let dollars =
            self.input * tokens.input_tokens as f64 + self.output * tokens.output_tokens as f64;
        nano(dollars)
    }

    /// What a call cost: by this price, or by what its API said, whichever counts. `None` where
    /// neither is known.
    pub(crate) fn cost(price: Option<Self>, used: UsedTokens, said: Option<f64>) -> Option<f64> {
        let by_price = price.and_then(|price| price.usd(used));
        if price.is_some_and(|price| price.listed) {
            said.or(by_price)
        } else {
            by_price.or(said)
        }
    }

    /// What a call costs that states at least one of its counts of tokens.
    fn usd(self, used: UsedTokens) -> Option<f64> {
        used.input.or(used.output)?;
        let count = |tokens: Option<u64>| tokens.unwrap_or(0);
        let input = count(used.input);
        let read = count(used.cache_read).min(input);
        let write = count(used.cache_write).min(input - read);
        Some(
            self.input * (input - read - write) as f64
                + self.cache_read * read as f64
                + self.cache_write * write as f64
                + self.output * count(used.output) as f64,
        )
    }

    #[cfg(test)]
    pub(super) fn per_token(usd: f64) -> Self {
        Self {
            input: usd,
            output: usd,
            cache_read: usd,
            cache_write: usd,
            listed: false,
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
        let per_million = Price::of_model(
            ModelPrice {
                input: 2.5,
                output: 10.0,
                cached_input: None,
                cache_write: None,
            },
            true,
        );
        assert_eq!(per_million.nano(tokens(1, 0)), 2_500);
        assert_eq!(
            per_million.nano(tokens(1_000_000, 1_000_000)),
            12_500_000_000
        );
        assert_eq!(Price::per_token(1e-10).nano(tokens(1, 0)), 1);
        assert_eq!(Price::per_token(0.0).nano(tokens(9, 9)), 0);
        assert_eq!(per_million.usd(UsedTokens::default()), None);
        let output = UsedTokens {
            output: Some(1),
            ..UsedTokens::default()
        };
        assert_eq!(per_million.usd(output), Some(10e-6));
        for (usd, expected) in [
            (0.1, 100_000_000),
            (-1.0, 0),
            (f64::NAN, 0),
            (1e300, u64::MAX),
        ] {
            assert_eq!(nano(usd), expected, "{usd}");
        }
    }

    fn close(one: Option<f64>, other: f64) {
        let one = one.expect("a cost");
        assert!((one - other).abs() < 1e-12, "{one} is not {other}");
    }

    #[test]
    fn tokens_of_the_apis_cache_have_their_own_price() {
        let price = Price::of_model(
            ModelPrice {
                input: 3.0,
                output: 15.0,
                cached_input: Some(0.3),
                cache_write: Some(3.75),
            },
            true,
        );
        let used = |cache_read, cache_write| UsedTokens {
            input: Some(1_000_000),
            output: Some(100_000),
            cache_read,
            cache_write,
        };
        close(price.usd(used(None, None)), 4.5);
        close(
            price.usd(used(Some(500_000), Some(100_000))),
            1.2 + 0.15 + 0.375 + 1.5,
        );
        // A server that counts more than there is gets no negative rest.
        close(price.usd(used(Some(u64::MAX), Some(u64::MAX))), 0.3 + 1.5);
    }

    #[test]
    fn who_states_a_price_wins_over_the_list() {
        let price = |listed| {
            Some(Price {
                listed,
                ..Price::per_token(1.0)
            })
        };
        let used = UsedTokens {
            input: Some(2),
            ..UsedTokens::default()
        };
        assert_eq!(Price::cost(price(true), used, Some(9.0)), Some(9.0));
        assert_eq!(Price::cost(price(true), used, None), Some(2.0));
        assert_eq!(Price::cost(price(false), used, Some(9.0)), Some(2.0));
        assert_eq!(Price::cost(None, used, Some(9.0)), Some(9.0));
        assert_eq!(Price::cost(None, used, None), None);
    }
}
