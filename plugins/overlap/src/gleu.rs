//! GLEU: the lesser of precision and recall over all 1- to 4-grams together.
//!
//! Wu and others, 2016. Made for single sentences, so it needs neither smoothing nor a penalty.

use crate::words::{self, MAX_ORDER};

/// GLEU against one reference; texts with the same words have 1. 0 if the answer has none.
pub(crate) fn score(candidate: &str, reference: &str) -> f64 {
    let candidate = words::without_dots(candidate);
    let reference = words::without_dots(reference);
    if candidate.is_empty() {
        return 0.0;
    }
    if candidate == reference {
        return 1.0;
    }
    let grams = |words: &[String]| -> usize {
        (1..=MAX_ORDER)
            .map(|order| (words.len() + 1).saturating_sub(order))
            .sum()
    };
    let shared: usize = (1..=MAX_ORDER)
        .map(|order| {
            let candidate = words::counts(&candidate, order);
            words::shared(&candidate, &words::counts(&reference, order))
        })
        .sum();
    // The lesser of the two has the greater divisor.
    shared as f64 / grams(&candidate).max(grams(&reference)) as f64
}
