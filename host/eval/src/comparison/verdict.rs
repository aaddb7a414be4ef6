//! What a comparison makes of the grades of a row. Pure.
//!
//! promptfoo's rules: who is not chosen fails, with score 0 and the comparison's reason, whatever
//! else passed; who is chosen keeps what the other assertions said. Differences, each on purpose:
//! an answer that nothing else grades has the score 1 if it is chosen, and not 0; a comparison of
//! weight 0 only tells; its `metric` counts; and what asking cost stands in one row, not in each.
//!
//! A grade keeps what it was before ([`BeforeComparison`]), so that a row can be compared again
//! when one of its answers changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_config::plan::{HighestScore, Method};
use serde_json::Value;

use crate::failure::FailureCode;
use crate::grading::NamedScores;
use crate::record::{
    BeforeComparison, CaseRecord, ComponentRecord, Conclusion, GraderUsage, GradingRecord,
};

/// What one comparison said of the answers of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// By column.
    pub(crate) components: BTreeMap<u32, ComponentRecord>,
    pub(crate) weight: f64,
    /// Rendered.
    pub(crate) metric: Option<String>,
    /// What asking took; counted in the first column.
    pub(crate) used: GraderUsage,
}

/// Notes in a graded record what it is before it is compared. Records without a grade have
/// nothing to note.
pub(crate) fn open(record: &mut CaseRecord) {
    if let Some(grading) = &mut record.grading_result {
        grading.before_comparison = Some(BeforeComparison {
            pass: grading.pass,
            score: grading.score,
            reason: grading.reason.clone(),
            named_scores: grading.named_scores.clone(),
            named_score_weights: grading.named_score_weights.clone(),
            used: grading.used,
            components: grading.component_results.len(),
            among: 0,
        });
    }
}

/// Takes back that the record will be compared.
pub(crate) fn leave_out(record: &mut CaseRecord) {
    if let Some(grading) = &mut record.grading_result {
        grading.before_comparison = None;
    }
}

/// The record as it was before it was compared; `None` if it was never opened.
pub(crate) fn reopened(mut record: CaseRecord) -> Option<CaseRecord> {
    let grading = record.grading_result.as_mut()?;
    let mut before = grading.before_comparison.clone()?;
    before.among = 0;
    grading.component_results.truncate(before.components);
    *grading = GradingRecord {
        pass: before.pass,
        score: before.score,
        reason: before.reason.clone(),
        named_scores: before.named_scores.clone(),
        named_score_weights: before.named_score_weights.clone(),
        not_graded: std::mem::take(&mut grading.not_graded),
        used: before.used,
        component_results: std::mem::take(&mut grading.component_results),
        before_comparison: Some(before),
        by_people: grading.by_people.take(),
    };
    conclude(&mut record);
    Some(record)
}

/// The record while it waits: answered, not compared. It counts as not run.
pub(crate) fn waiting(mut record: CaseRecord) -> CaseRecord {
    let message = "waits to be compared with the other answers of its row; the run can be resumed";
    record.conclusion = Conclusion::failure(FailureCode::Cancelled, message);
    record.named_scores.clear();
    record
}

/// The record with what comparisons said of it, in their order.
pub(crate) fn settled(mut record: CaseRecord, verdicts: &[Verdict]) -> CaseRecord {
    let column = record.prompt_idx;
    let Some(grading) = &mut record.grading_result else {
        return record;
    };
    let alone = grading.component_results.is_empty();
    for verdict in verdicts {
        let Some(component) = verdict.components.get(&column) else {
            continue;
        };
        let mut component = component.clone();
        let counts = verdict.weight != 0.0;
        if component.error_code.is_none()
            && let Some(metric) = &verdict.metric
        {
            let (scores, weights) = (&mut grading.named_scores, &mut grading.named_score_weights);
            let mut metrics = NamedScores(std::mem::take(scores), std::mem::take(weights));
            metrics.add(metric, component.score, verdict.weight);
            (*scores, *weights) = (metrics.0, metrics.1);
        }
        if counts && !component.pass {
            grading.pass = false;
            grading.score = component.score;
            grading.reason.clone_from(&component.reason);
        }
        component.pass |= !counts;
        if verdict.components.keys().next() == Some(&column) {
            grading.used.add(&verdict.used);
        }
        grading.component_results.push(component);
    }
    if alone && grading.pass {
        "All assertions passed".clone_into(&mut grading.reason);
    }
    let among = verdicts.first().map_or(0, |it| it.components.len());
    let compared = verdicts.iter().all(|it| it.weight == 0.0 || !failed(it));
    if let Some(before) = &mut grading.before_comparison {
        before.among = if compared { among } else { 0 };
    }
    conclude(&mut record);
    record
}

/// Whether a comparison could not be made.
fn failed(verdict: &Verdict) -> bool {
    let mut components = verdict.components.values();
    components.any(|it| it.error_code.is_some())
}

/// Makes the record say what its grade says. A comparison that could not be made is an error of
/// the row; other errors never come here.
fn conclude(record: &mut CaseRecord) {
    let Some(grading) = &record.grading_result else {
        return;
    };
    let before = grading.before_comparison.as_ref();
    let before = before.map_or(0, |before| before.components);
    let mut made = grading.component_results.iter().skip(before);
    let code = made.find_map(|it| it.error_code.clone().filter(|_| !it.pass));
    record.conclusion = Conclusion::graded(grading, code.map(|code| (code, &*grading.reason)));
    record.named_scores.clone_from(&grading.named_scores);
}

/// `max-score`: the first of the answers with the highest score wins, if it reaches the threshold.
pub(crate) fn highest(
    rule: &HighestScore,
    rows: &[(u32, GradingRecord)],
    assertion: &Arc<Value>,
) -> BTreeMap<u32, ComponentRecord> {
    let scores: Vec<(u32, f64)> = rows
        .iter()
        .map(|(column, grading)| (*column, score(rule, grading)))
        .collect();
    let mut best: Option<(u32, f64)> = None;
    for (column, score) in &scores {
        if best.is_none_or(|(_, highest)| *score > highest) {
            best = Some((*column, *score));
        }
    }
    let Some((winner, highest)) = best else {
        return BTreeMap::new();
    };
    let enough = rule.threshold.is_none_or(|threshold| highest >= threshold);
    let component = |(column, score): (u32, f64)| {
        let wins = column == winner && enough;
        let reason = match rule.threshold {
            _ if wins => format!("Has the highest score of the row: {score:.3}"),
            Some(threshold) if column == winner => {
                format!("Has the highest score of the row, {score:.3}, which is below {threshold}")
            }
            _ => format!(
                "Does not have the highest score of the row: {score:.3}, the highest is {highest:.3}"
            ),
        };
        let points = if wins { 1.0 } else { 0.0 };
        let component = ComponentRecord::plain(wins, points, reason, assertion.clone());
        (column, component)
    };
    scores.into_iter().map(component).collect()
}

/// The scores of an answer's assertions as one. Sets are left out, since their members are there.
fn score(rule: &HighestScore, grading: &GradingRecord) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for component in &grading.component_results {
        let kind = component.assertion["type"].as_str().unwrap_or_default();
        if component.skipped || runner_config::plan::SetRule::of(kind).is_some() {
            continue;
        }
        let weight = rule.weights.get(kind).copied().unwrap_or(1.0);
        sum += component.score * weight;
        weights += weight;
    }
    match rule.method {
        Method::Sum => sum,
        Method::Average if weights > 0.0 => sum / weights,
        Method::Average => 0.0,
    }
}

#[cfg(test)]
mod tests;
