//! What tokens cost, and which price counts.

use runner_scheduler::QuotaUse as Tokens;

/// US dollars for one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Of a prompt.
    pub input: f64,
    /// Of an answer.
    pub output: f64,
    /// Of input from the API's own cache.
    pub cache_read: f64,
    /// Of input into the API's own cache.
    pub cache_write: f64,
    /// It is a list's and not the user's: what the API states wins.
    pub is_listed: bool,
}

/// What a call used, as far as its API says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsedTokens {
    /// Its prompt.
    pub input: Option<u64>,
    /// Its answer.
    pub output: Option<u64>,
    /// Part of `input`.
    pub cache_read: Option<u64>,
    /// Part of `input`.
    pub cache_write: Option<u64>,
}

impl Price {
    /// Billionths of a dollar, rounded up.
    pub(super) fn nano(self, tokens: Tokens) -> u64 {
        let dollars =
            self.input * tokens.input_tokens as f64 + self.output * tokens.output_tokens as f64;
        nano(dollars)
    }

    /// What a call cost: by this price, or by what its API said, whichever counts. `None` where
    /// neither is known.
    pub fn cost(price: Option<Self>, used: UsedTokens, said: Option<f64>) -> Option<f64> {
        let by_price = price.and_then(|price| price.usd(used));
        if price.is_some_and(|price| price.is_listed) {
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
            is_listed: false,
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
            output: 10.0 / 1e6,
            ..Price::per_token(2.5 / 1e6)
        };
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
        let price = Price {
            output: 15.0 / 1e6,
            cache_read: 0.3 / 1e6,
            cache_write: 3.75 / 1e6,
            ..Price::per_token(3.0 / 1e6)
        };
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
        let price = |is_listed| {
            Some(Price {
                is_listed,
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
