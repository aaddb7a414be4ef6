//! ROUGE-1: the harmonic mean of precision and recall over single words, each word counted as
//! often as it occurs in both texts.

use crate::words;

/// The F1 of the words. 0 if either text has none.
pub(crate) fn score(candidate: &str, reference: &str) -> f64 {
    let candidate = words::treebank(candidate);
    let reference = words::treebank(reference);
    let both = candidate.len() + reference.len();
    if both == 0 {
        return 0.0;
    }
    let shared = words::shared(&words::counts(&candidate, 1), &words::counts(&reference, 1));
    2.0 * shared as f64 / both as f64
}
