//! What answers that were streamed took: until their first token, and from that to the last.

use hdrhistogram::Histogram;

use crate::record::rate;

/// Sums of a column's answers that were streamed.
#[derive(Debug, Clone)]
pub(super) struct StreamedAnswers {
    first_tokens: Histogram<u32>,
    tokens: u64,
    /// From the first token to the last, in milliseconds.
    ms: u64,
}

impl StreamedAnswers {
    /// Of no answer yet; `first_tokens` is empty.
    pub(super) fn new(first_tokens: Histogram<u32>) -> Self {
        Self {
            first_tokens,
            tokens: 0,
            ms: 0,
        }
    }

    /// Counts an answer of so many tokens, which took so long.
    pub(super) fn add(&mut self, ttft_ms: u64, latency_ms: u64, tokens: u64) {
        self.first_tokens.saturating_record(ttft_ms);
        self.tokens += tokens;
        self.ms += latency_ms.saturating_sub(ttft_ms);
    }

    /// Time to the first token that a share `q` of them stayed within, in milliseconds.
    pub(super) fn first_token_ms(&self, q: f64) -> u64 {
        self.first_tokens.value_at_quantile(q)
    }

    /// Tokens a second, from the first to the last; `None` where that is not known.
    pub(super) fn tokens_per_second(&self) -> Option<f64> {
        rate(self.tokens, self.ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_time_after_the_first_token() {
        let histogram = Histogram::new_with_max(10_000, 2).expect("in range");
        let mut streamed = StreamedAnswers::new(histogram);
        assert_eq!(streamed.tokens_per_second(), None);
        streamed.add(200, 1_200, 50);
        streamed.add(400, 1_400, 70);
        assert_eq!(streamed.first_token_ms(0.5), 200);
        assert_eq!(streamed.tokens_per_second(), Some(60.0));
    }
}
