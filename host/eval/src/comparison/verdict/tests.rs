//! What comparisons make of rows, as tables, and what must never break as properties.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::record::samples::record as sample;
use crate::record::{Outcome, TokenUsage};

/// A graded record in this column whose assertions gave these scores; a score of 0 fails.
fn graded(column: u32, scores: &[f64]) -> CaseRecord {
    let component = |score: &f64| {
        ComponentRecord::plain(
            *score > 0.0,
            *score,
            format!("scored {score}"),
            json!({ "type": "equals" }),
        )
    };
    let pass = scores.iter().all(|score| *score > 0.0);
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let mut record = sample(0);
    record.prompt_idx = column;
    record.grading_result = Some(GradingRecord {
        pass,
        score: if scores.is_empty() { 1.0 } else { mean },
        reason: "as graded".to_owned(),
        named_scores: serde_json::Map::new(),
        named_score_weights: serde_json::Map::new(),
        not_graded: Vec::new(),
        used: GraderUsage::default(),
        component_results: scores.iter().map(component).collect(),
        before_comparison: None,
        by_people: None,
    });
    open(&mut record);
    conclude(&mut record);
    record
}

/// A verdict over these columns, of which one wins.
fn verdict(columns: &[u32], winner: Option<u32>) -> Verdict {
    let component = |column: &u32| {
        let wins = winner == Some(*column);
        let score = if wins { 1.0 } else { 0.0 };
        let component = ComponentRecord::plain(
            wins,
            score,
            format!("{column} {wins}"),
            json!({ "type": "select-best" }),
        );
        (*column, component)
    };
    Verdict {
        components: columns.iter().map(component).collect(),
        weight: 1.0,
        metric: None,
        used: GraderUsage::of(
            TokenUsage {
                total: 7,
                ..TokenUsage::default()
            },
            Some(0.5),
            false,
        ),
    }
}

fn tokens(record: &CaseRecord) -> u64 {
    record
        .grading_result
        .as_ref()
        .map_or(0, |it| it.used.tokens_used.total)
}

/// With how many it was compared; nothing of one that never will be.
fn among(record: &CaseRecord) -> Option<usize> {
    let grading = record.grading_result.as_ref()?;
    Some(grading.before_comparison.as_ref()?.among)
}

fn reason(record: &CaseRecord) -> &str {
    let grading = record.grading_result.as_ref();
    &grading.expect("graded").reason
}

#[test]
fn who_is_chosen_keeps_its_grade_and_the_others_fail_with_nothing() {
    let said = [verdict(&[0, 1], Some(1))];
    let loser = settled(graded(0, &[1.0]), &said);
    assert_eq!(
        (loser.conclusion.outcome(), loser.conclusion.score()),
        (Outcome::Failed, 0.0)
    );
    assert_eq!(loser.conclusion.error(), Some("0 false"));
    let winner = settled(graded(1, &[0.5, 1.0]), &said);
    assert_eq!(
        (winner.conclusion.outcome(), winner.conclusion.score()),
        (Outcome::Passed, 0.75)
    );
    let chosen_and_bad = settled(graded(1, &[0.0, 1.0]), &said);
    assert_eq!(
        (
            chosen_and_bad.conclusion.outcome(),
            chosen_and_bad.conclusion.score()
        ),
        (Outcome::Failed, 0.5)
    );
    assert_eq!(chosen_and_bad.conclusion.error(), Some("as graded"));
    assert_eq!((tokens(&loser), tokens(&winner)), (7, 0), "counted once");
    assert_eq!(reason(&winner), "as graded");
    assert_eq!(among(&winner), Some(2));
}

#[test]
fn an_answer_that_nothing_else_grades_has_the_score_of_the_choice() {
    let said = [verdict(&[0, 1], Some(0))];
    let winner = settled(graded(0, &[]), &said);
    assert_eq!(
        (winner.conclusion.outcome(), winner.conclusion.score()),
        (Outcome::Passed, 1.0)
    );
    assert_eq!(reason(&winner), "All assertions passed");
    let loser = settled(graded(1, &[]), &said);
    assert_eq!(
        (loser.conclusion.outcome(), loser.conclusion.score()),
        (Outcome::Failed, 0.0)
    );
    assert_eq!(loser.conclusion.error(), Some("1 false"));
}

#[test]
fn a_comparison_without_weight_only_tells() {
    let mut said = verdict(&[0, 1], Some(1));
    said.weight = 0.0;
    said.metric = Some("best".to_owned());
    let loser = settled(graded(0, &[1.0]), &[said.clone()]);
    assert_eq!(
        (loser.conclusion.outcome(), loser.conclusion.score()),
        (Outcome::Passed, 1.0)
    );
    assert_eq!(loser.named_scores["best"], 0.0);
    said.weight = 2.0;
    let winner = settled(graded(1, &[1.0]), &[said]);
    assert_eq!(winner.named_scores["best"], 1.0);
}

#[test]
fn a_comparison_that_could_not_be_made_is_an_error_of_every_row() {
    for (code, outcome) in [
        (FailureCode::read("C101"), Outcome::Error),
        (FailureCode::Budget, Outcome::BudgetExceeded),
    ] {
        let mut said = verdict(&[0, 1], None);
        for component in said.components.values_mut() {
            component.error_code = Some(code.clone());
        }
        let row = settled(graded(0, &[1.0]), &[said]);
        assert_eq!(
            (row.conclusion.outcome(), row.conclusion.code()),
            (outcome, Some(&code))
        );
        assert!(row.response.is_some(), "the answer is kept");
        assert_eq!(among(&row), Some(0), "it was not compared");
    }
}

#[test]
fn a_comparison_without_weight_that_could_not_be_made_keeps_nobody_waiting() {
    let mut said = verdict(&[0, 1], None);
    said.weight = 0.0;
    for component in said.components.values_mut() {
        component.error_code = Some(FailureCode::read("C101"));
    }
    let row = settled(graded(0, &[1.0]), &[said]);
    assert_eq!(row.conclusion.outcome(), Outcome::Passed);
    assert_eq!(among(&row), Some(2));
}

#[test]
fn an_answer_that_is_left_out_is_not_compared_later() {
    let mut record = graded(0, &[1.0]);
    assert_eq!(among(&record), Some(0));
    leave_out(&mut record);
    assert_eq!(among(&record), None);
    assert_eq!(reopened(record), None);
}

#[test]
fn the_highest_score_wins_and_of_equal_ones_the_first() {
    let winner = |rule: &HighestScore, rows: &[&[f64]]| {
        let records: Vec<CaseRecord> = (0..)
            .zip(rows)
            .map(|(column, scores)| graded(column, scores))
            .collect();
        let rows: Vec<_> = records
            .iter()
            .map(|it| (it.prompt_idx, it.grading_result.clone().expect("graded")))
            .collect();
        let said = highest(rule, &rows, &json!({ "type": "max-score" }).into());
        assert_eq!(said.len(), records.len());
        let mut winners = said
            .iter()
            .filter(|(_, it)| it.pass)
            .map(|(column, _)| *column);
        let winner = winners.next();
        assert_eq!(winners.next(), None);
        winner
    };
    let plain = HighestScore::default();
    assert_eq!(winner(&plain, &[&[0.5], &[1.0], &[1.0]]), Some(1));
    assert_eq!(winner(&plain, &[&[0.0], &[0.0]]), Some(0), "the least bad");
    assert_eq!(winner(&plain, &[&[0.9], &[0.6, 0.6]]), Some(0));
    let sum = HighestScore {
        method: Method::Sum,
        ..plain.clone()
    };
    assert_eq!(winner(&sum, &[&[0.9], &[0.6, 0.6]]), Some(1));
    let weighted = HighestScore {
        weights: [("equals".to_owned(), 0.0)].into(),
        ..plain.clone()
    };
    assert_eq!(
        winner(&weighted, &[&[0.1], &[0.9]]),
        Some(0),
        "nothing counts"
    );
    let high = HighestScore {
        threshold: Some(0.8),
        ..plain
    };
    assert_eq!(winner(&high, &[&[0.5], &[0.7]]), None);
    assert_eq!(winner(&high, &[&[0.5], &[0.8]]), Some(1));
}

/// The grade of an answer whose assertions gave these scores, by their types.
fn typed(scores: &[(&str, f64)]) -> GradingRecord {
    let plain: Vec<f64> = scores.iter().map(|(_, score)| *score).collect();
    let mut grading = graded(0, &plain).grading_result.expect("graded");
    for (component, (kind, _)) in grading.component_results.iter_mut().zip(scores) {
        component.assertion = json!({ "type": kind }).into();
    }
    grading
}

#[test]
fn scores_count_with_the_weight_of_their_type_and_sets_and_skipped_ones_not_at_all() {
    let rule = |method| HighestScore {
        method,
        weights: [("contains".to_owned(), 3.0)].into(),
        threshold: None,
    };
    let kinds = [
        ("assert-set", 0.9),
        ("equals", 0.5),
        ("contains", 0.25),
        ("equals", 0.9),
    ];
    let mut grading = typed(&kinds);
    grading.component_results[3].skipped = true;
    let scores = |grading: &GradingRecord| {
        let methods = [Method::Sum, Method::Average];
        json!(methods.map(|method| score(&rule(method), grading)))
    };
    assert_eq!(scores(&grading), json!([1.25, 0.3125]));
    assert_eq!(scores(&typed(&[])), json!([0.0, 0.0]));
}

#[test]
fn each_answer_is_told_how_far_it_was_from_the_highest_score() {
    let rows = [
        (0, typed(&[("equals", 0.5)])),
        (3, typed(&[("equals", 0.75)])),
    ];
    let reasons = |threshold| {
        let rule = HighestScore {
            threshold,
            ..HighestScore::default()
        };
        let said = highest(&rule, &rows, &json!({ "type": "max-score" }).into());
        let said = said.into_iter();
        said.map(|(column, it)| (column, it.score, it.reason))
            .collect::<Vec<_>>()
    };
    let behind = "Does not have the highest score of the row: 0.500, the highest is 0.750";
    let best = "Has the highest score of the row: 0.750";
    let loser = (0, 0.0, behind.to_owned());
    assert_eq!(
        reasons(Some(0.75)),
        [loser.clone(), (3, 1.0, best.to_owned())]
    );
    let low = "Has the highest score of the row, 0.750, which is below 0.8";
    assert_eq!(reasons(Some(0.8)), [loser, (3, 0.0, low.to_owned())]);
}

proptest! {
    /// Comparing is no one-way street: whatever was said of a row, it can be taken back to the
    /// last bit, and said again.
    #[test]
    fn a_row_comes_back_as_it_was_and_says_the_same_again(
        scores in prop::collection::vec(0.0_f64..1.0, 0..4),
        winners in prop::collection::vec(prop::option::of(0_u32..3), 1..3),
        weight in prop_oneof![Just(0.0), Just(1.0), Just(2.5)],
    ) {
        let said: Vec<Verdict> = winners
            .iter()
            .map(|winner| Verdict { weight, metric: Some("m".into()), ..verdict(&[0, 1, 2], *winner) })
            .collect();
        let row = graded(1, &scores);
        let compared = settled(row.clone(), &said);
        let json = serde_json::to_string(&compared).expect("JSON");
        let stored: CaseRecord = serde_json::from_str(&json).expect("a record");
        let back = reopened(stored).expect("it was opened");
        prop_assert_eq!(&back, &row);
        prop_assert_eq!(settled(back, &said), compared.clone());
        let waits = reopened(waiting(row.clone())).expect("it was opened");
        prop_assert_eq!(waits, row);
        let lost = weight != 0.0 && winners.iter().any(|winner| *winner != Some(1));
        prop_assert!(!lost || (compared.conclusion.score() == 0.0 && compared.conclusion.outcome() == Outcome::Failed));
    }
}
