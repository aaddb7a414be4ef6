//! BLEU of one sentence: the geometric mean of the precisions of 1- to 4-grams, times a penalty
//! for answers that are shorter than the reference of the nearest length.
//!
//! Papineni and others, 2002. For single sentences two things are usual that the paper, which
//! is about corpora, has no need for: an order for which the answer is too short is left out,
//! and a precision of zero counts as [`ZERO`].

use std::collections::HashMap;

use crate::words::{self, MAX_ORDER};

/// What stands for a precision of zero; promptfoo's value.
const ZERO: f64 = 1e-7;

/// BLEU against all references at once. 0 if the answer has no words.
pub(crate) fn score(candidate: &str, references: &[String]) -> f64 {
    let candidate = words::plain(candidate);
    let references: Vec<Vec<String>> = references.iter().map(|text| words::plain(text)).collect();
    let length = candidate.len();
    // Of two that are as near, the shorter one.
    let nearest = references
        .iter()
        .map(Vec::len)
        .min_by_key(|other| (other.abs_diff(length), *other));
    let (Some(nearest), 1..) = (nearest, length) else {
        return 0.0;
    };
    let orders = length.min(MAX_ORDER);
    let logs = (1..=orders).map(|order| precision(&candidate, &references, order).ln());
    let mean = logs.sum::<f64>() / orders as f64;
    let penalty = if length > nearest {
        1.0
    } else {
        (1.0 - nearest as f64 / length as f64).exp()
    };
    penalty * mean.exp()
}

/// The share of the answer's n-grams that the reference with the most of them has.
fn precision(candidate: &[String], references: &[Vec<String>], order: usize) -> f64 {
    let counts = words::counts(candidate, order);
    let shared = |reference: &Vec<String>| {
        let reference: HashMap<&[String], usize> = words::counts(reference, order);
        words::shared(&counts, &reference)
    };
    match references.iter().map(shared).max() {
        None | Some(0) => ZERO,
        Some(most) => most as f64 / (candidate.len() - order + 1) as f64,
    }
}
