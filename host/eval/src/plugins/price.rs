//! What a provider's tokens cost.
//!
//! `cost`, or `inputCost` and `outputCost`, in a provider's config: US dollars for one token, the
//! names and units that promptfoo has; or the config's `prices`. Both win over what a plugin
//! states: the user knows the contract with the API. Where the user says nothing, what the API
//! states wins over the list prices that come with the program.

use runner_config::plan::Provider;
use runner_config::{ModelPrice, Prices};
use runner_gateway::Price;

/// Prices of tables are for so many tokens.
const MILLION: f64 = 1e6;

/// What the provider's config says, or else the tables; `None` where nobody knows.
pub(crate) fn price(provider: &Provider, prices: &Prices) -> Option<Price> {
    configured(provider).or_else(|| {
        let listed = prices.of(provider)?;
        Some(of_model(listed.price, listed.as_of.is_some()))
    })
}

/// What the provider's config says; `None` without a number there that can be a price.
fn configured(provider: &Provider) -> Option<Price> {
    let dollars = |key: &str| {
        let price = provider.config.get(key)?.as_f64()?;
        (price.is_finite() && price >= 0.0).then_some(price)
    };
    let (both, input, output) = (dollars("cost"), dollars("inputCost"), dollars("outputCost"));
    // Half a price would make half of the tokens free.
    let input = input.or(both)?;
    Some(Price {
        input,
        output: output.or(both)?,
        cache_read: input,
        cache_write: input,
        is_listed: false,
    })
}

fn of_model(price: ModelPrice, is_listed: bool) -> Price {
    let ModelPrice {
        input,
        output,
        cached_input,
        cache_write,
    } = price;
    Price {
        input: input / MILLION,
        output: output / MILLION,
        cache_read: cached_input.unwrap_or(input) / MILLION,
        cache_write: cache_write.unwrap_or(input) / MILLION,
        is_listed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_dollars_for_a_million_tokens_and_may_leave_the_apis_cache_out() {
        let price = |cached_input, cache_write| {
            let model = ModelPrice {
                input: 4.0,
                output: 16.0,
                cached_input,
                cache_write,
            };
            of_model(model, true)
        };
        let whole = Price {
            input: 4e-6,
            output: 16e-6,
            cache_read: 4e-6,
            cache_write: 4e-6,
            is_listed: true,
        };
        assert_eq!(price(None, None), whole);
        let cached = Price {
            cache_read: 1e-6,
            cache_write: 5e-6,
            ..whole
        };
        assert_eq!(price(Some(1.0), Some(5.0)), cached);
    }
}
