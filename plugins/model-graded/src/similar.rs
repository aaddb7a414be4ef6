//! `similar`: how near the answer is to a text, or to one of several, by their vectors.
//!
//! The metric is the knob `measure` or part of the type: `cosine`, which `similar` alone means, `dot`, the
//! product, or `euclidean`, the distance, where less is nearer. `not-similar` is not just
//! turned around: it passes *at* the threshold too, and with a list only if the answer is far
//! from every text of it.

use crate::bench::Bench;
use crate::vectors;
use crate::verdict::{Failure, TOLERANCE, Verdict};

/// promptfoo's default.
const THRESHOLD: f64 = 0.75;

#[derive(Debug, Clone, Copy)]
enum Metric {
    Cosine,
    Dot,
    Euclidean,
}

/// The verdict, with `not-` in it.
pub(crate) fn grade(bench: &Bench<'_>) -> Result<Verdict, Failure> {
    let written = match (bench.kind().split_once(':'), &bench.knobs.measure) {
        (Some((_, metric)), _) => Some(metric),
        (None, Some(measure)) => measure.as_str(),
        (None, None) => Some("cosine"),
    };
    let metric = match written {
        Some("cosine") => Metric::Cosine,
        Some("dot") => Metric::Dot,
        Some("euclidean") => Metric::Euclidean,
        _ => return Err(bench.refuse("takes cosine, dot or euclidean as its `measure`")),
    };
    let inverse = bench.input.inverse;
    let threshold = bench.threshold_or(THRESHOLD);
    let mut texts = bench.texts_value()?;
    texts.insert(0, bench.input.output.clone());
    let embedded = bench.embed(&texts)?;
    let (answer, others) = embedded
        .split_first()
        .expect("there is a vector for each text");
    let mut verdicts = Vec::with_capacity(others.len());
    for other in others {
        verdicts.push(compare(metric, answer, other, threshold, inverse)?);
    }
    Ok(decide(verdicts, inverse))
}

fn compare(
    metric: Metric,
    answer: &[f32],
    other: &[f32],
    threshold: f64,
    inverse: bool,
) -> Result<Verdict, Failure> {
    let (measure, what) = match metric {
        Metric::Cosine => (vectors::cosine(answer, other), "Similarity"),
        Metric::Dot => (vectors::dot(answer, other), "Similarity"),
        Metric::Euclidean => (vectors::distance(answer, other), "Distance"),
    };
    if !measure.is_finite() {
        return Err(Failure::unreadable(
            "the embedding gave vectors whose similarity is no number",
        ));
    }
    let far = matches!(metric, Metric::Euclidean);
    // At least the threshold is wanted by a similarity, at most by `not-` and by a distance.
    let at_least = far == inverse;
    let pass = if at_least {
        measure >= threshold - TOLERANCE
    } else {
        measure <= threshold + TOLERANCE
    };
    let nearness = if far { 1.0 / (1.0 + measure) } else { measure };
    let score = if inverse {
        (1.0 - nearness).clamp(0.0, 1.0)
    } else {
        nearness
    };
    let relation = match (pass == at_least, far) {
        (true, false) => "is greater than or equal to",
        (false, false) => "is less than",
        (true, true) => "is greater than",
        (false, true) => "is less than or equal to",
    };
    let reason = format!("{what} {measure:.2} {relation} threshold {threshold}");
    Ok(Verdict::new(pass, score, reason))
}

/// One text that is near enough does; for `not-`, one that is too near is too many.
fn decide(verdicts: Vec<Verdict>, inverse: bool) -> Verdict {
    let several = verdicts.len() > 1;
    let deciding = verdicts.iter().position(|verdict| verdict.pass != inverse);
    if let Some(index) = deciding {
        return verdicts.into_iter().nth(index).expect("it was just found");
    }
    let nearer = |a: &Verdict, b: &Verdict| a.score.total_cmp(&b.score);
    let mut verdicts = verdicts.into_iter();
    if inverse {
        return verdicts
            .min_by(nearer)
            .expect("there is at least one value");
    }
    let mut best = verdicts
        .by_ref()
        .max_by(nearer)
        .expect("there is at least one value");
    if several {
        best.reason = format!("no value is near enough; of the nearest: {}", best.reason);
    }
    best
}
