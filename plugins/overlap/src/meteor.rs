//! METEOR: words are aligned, first equal ones, then those with the same stem; the score is a
//! mean of precision and recall that prefers recall, less a penalty for an alignment in pieces.
//!
//! Banerjee and Lavie, 2005. The third stage of the paper, synonyms from WordNet, is left out:
//! the dictionary is 20 times the size of all plugins together.

use std::collections::HashMap;

use crate::{stem, words};

/// How much each part counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights {
    /// The share of recall in the mean, 0 to 1.
    pub(crate) alpha: f64,
    /// The exponent of the penalty.
    pub(crate) beta: f64,
    /// The greatest penalty, 0 to 1.
    pub(crate) gamma: f64,
}

impl Default for Weights {
    /// promptfoo's values, which are NLTK's.
    fn default() -> Self {
        Self {
            alpha: 0.9,
            beta: 3.0,
            gamma: 0.5,
        }
    }
}

/// METEOR against one reference. 0 if no word is aligned.
pub(crate) fn score(candidate: &str, reference: &str, weights: Weights) -> f64 {
    let candidate = words::without_dots(candidate);
    let reference = words::without_dots(reference);
    let mut aligned = align(&candidate, &reference);
    if aligned.is_empty() {
        return 0.0;
    }
    aligned.sort_unstable();
    let matches = aligned.len() as f64;
    let precision = matches / candidate.len() as f64;
    let recall = matches / reference.len() as f64;
    let mean = precision * recall / (weights.alpha * precision + (1.0 - weights.alpha) * recall);
    // Pieces in which both texts go on word by word.
    let breaks = aligned
        .windows(2)
        .filter(|pair| pair[1] != (pair[0].0 + 1, pair[0].1 + 1));
    let pieces = (breaks.count() + 1) as f64;
    let penalty = weights.gamma * (pieces / matches).powf(weights.beta);
    mean * (1.0 - penalty)
}

/// Pairs of places: in the candidate, in the reference.
type Pairs = Vec<(usize, usize)>;

fn align(candidate: &[String], reference: &[String]) -> Pairs {
    let left: Vec<usize> = (0..candidate.len()).collect();
    let right: Vec<usize> = (0..reference.len()).collect();
    let word = |words: &[String], at: usize| words[at].clone();
    let (mut pairs, left, right) = stage(
        left.into_iter().map(|at| (at, word(candidate, at))),
        right.into_iter().map(|at| (at, word(reference, at))),
    );
    let stem = |words: &[String], at: usize| stem::of(&words[at]);
    let (more, ..) = stage(
        left.into_iter().map(|at| (at, stem(candidate, at))),
        right.into_iter().map(|at| (at, stem(reference, at))),
    );
    pairs.extend(more);
    pairs
}

/// Pairs equal words, the last with the last; and says which are left.
fn stage(
    left: impl DoubleEndedIterator<Item = (usize, String)>,
    right: impl Iterator<Item = (usize, String)>,
) -> (Pairs, Vec<usize>, Vec<usize>) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, word) in right {
        places.entry(word).or_default().push(at);
    }
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for (at, word) in left.rev() {
        match places.get_mut(&word).and_then(Vec::pop) {
            Some(place) => pairs.push((at, place)),
            None => alone.push(at),
        }
    }
    alone.reverse();
    let mut rest: Vec<usize> = places.into_values().flatten().collect();
    rest.sort_unstable();
    (pairs, alone, rest)
}
