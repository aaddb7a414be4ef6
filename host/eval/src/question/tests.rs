//! How questions end, and what tasks add up to.

use proptest::prelude::*;
use runner_config::plan::QuestionBudget;
use serde_json::Map;

use super::*;
use crate::record::samples::record;
use crate::record::{GraderUsage, GradingRecord};

pub(crate) fn question(most: Option<u64>) -> Question {
    Question {
        task: "t".into(),
        index: 3,
        id: None,
        text: "q".to_owned(),
        answers: vec!["a".to_owned(), "b".to_owned()],
        correct_answers: vec!["a".to_owned()],
        budget: QuestionBudget {
            tokens: most,
            time: None,
        },
        in_turn: false,
    }
}

/// A record that ended so, with this answer graded.
fn ended(outcome: Outcome, said: &Value) -> CaseRecord {
    let mut record = record(0);
    record.conclusion = Conclusion::foreign(outcome, 0.0, None);
    let pass = outcome == Outcome::Passed;
    let mut component = ComponentRecord::plain(
        pass,
        0.0,
        String::new(),
        json!({ "type": "answer", "value": { "correct": ["a"] } }),
    );
    component.metadata = said.as_object().cloned().unwrap_or_default();
    record.grading_result = Some(GradingRecord {
        pass,
        score: 0.0,
        reason: String::new(),
        named_scores: Map::new(),
        named_score_weights: Map::new(),
        not_graded: Vec::new(),
        before_comparison: None,
        by_people: None,
        used: GraderUsage::default(),
        component_results: vec![component],
    });
    record.token_usage.total = 100;
    record
}

fn settled(mut record: CaseRecord, most: Option<u64>) -> CaseRecord {
    settle(&mut record, &question(most), Duration::from_millis(42));
    record
}

fn end(record: &CaseRecord) -> &'static str {
    record.question.as_ref().expect("it asked").end().word()
}

const RIGHT: fn() -> Value = || json!({ "answer": "a", "correct": true, "parseError": null });
const WRONG: fn() -> Value = || json!({ "answer": "b", "correct": false, "parseError": null });
const UNREAD: fn() -> Value =
    || json!({ "answer": null, "correct": false, "parseError": "trailing-text" });

#[test]
fn each_end_has_its_word() {
    let cases = vec![
        (ended(Outcome::Passed, &RIGHT()), None, "correct"),
        (ended(Outcome::Failed, &WRONG()), None, "incorrect"),
        (ended(Outcome::Failed, &UNREAD()), None, "parse_error"),
        (ended(Outcome::Passed, &RIGHT()), Some(100), "correct"),
        (
            ended(Outcome::Passed, &RIGHT()),
            Some(99),
            "budget_exceeded",
        ),
        (
            ended(Outcome::Failed, &UNREAD()),
            Some(99),
            "budget_exceeded",
        ),
        (
            ended(Outcome::BudgetExceeded, &json!({})),
            None,
            "budget_exceeded",
        ),
        (ended(Outcome::Error, &json!({})), None, "runtime_error"),
        (ended(Outcome::Error, &json!({})), Some(1), "runtime_error"),
        (ended(Outcome::Cancelled, &json!({})), None, "runtime_error"),
    ];
    for (record, most, word) in cases {
        let outcome = record.conclusion.outcome();
        let record = settled(record, most);
        assert_eq!(end(&record), word, "{outcome:?} {most:?}");
    }
}

#[test]
fn a_question_that_used_too_much_fails_and_keeps_its_answer() {
    let record = settled(ended(Outcome::Passed, &RIGHT()), Some(99));
    let error = "the question used 100 tokens of 99 (budget.max_tokens)";
    let over = Conclusion::failure(FailureCode::QuestionBudget, error);
    assert_eq!(
        (&record.conclusion, over.outcome()),
        (&over, Outcome::Failed)
    );
    let question = record.question.expect("it asked");
    assert_eq!(
        (question.answer.as_deref(), question.correct),
        (Some("a"), false)
    );
    assert_eq!((question.tokens_total, question.wall_time_ms), (100, 42));
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = settled(ended(Outcome::Failed, &UNREAD()), None);
    let json = serde_json::to_value(&record).expect("plain data");
    assert_eq!(json["question"]["parseError"], "trailing-text");
    assert_eq!(json["question"]["task"], "t");
    let read: CaseRecord = serde_json::from_value(json).expect("it was written just now");
    assert_eq!(read, record);
}

fn planned(questions: u64) -> Tasks {
    Tasks::planned(&[PlannedTask {
        task: "t".into(),
        prompt_idx: 0,
        questions,
    }])
}

fn status(records: &[&CaseRecord], questions: u64) -> &'static str {
    let mut tasks = planned(questions);
    for record in records {
        tasks.add(record);
    }
    let [task] = tasks.in_order() else {
        panic!("one task");
    };
    task.status().word()
}

#[test]
fn the_gravest_question_decides_how_its_task_stands() {
    let right = settled(ended(Outcome::Passed, &RIGHT()), None);
    let wrong = settled(ended(Outcome::Failed, &WRONG()), None);
    let unread = settled(ended(Outcome::Failed, &UNREAD()), None);
    let over = settled(ended(Outcome::Passed, &RIGHT()), Some(1));
    let kept_back = settled(ended(Outcome::BudgetExceeded, &json!({})), None);
    let broken = settled(ended(Outcome::Error, &json!({})), None);
    let stopped = settled(ended(Outcome::Cancelled, &json!({})), None);
    assert_eq!(status(&[&right, &right], 2), "pass");
    assert_eq!(status(&[&right, &wrong], 2), "fail/incorrect_answers");
    assert_eq!(status(&[&right, &unread], 2), "fail/incorrect_answers");
    assert_eq!(status(&[&wrong, &over], 2), "fail/budget_exceeded");
    assert_eq!(status(&[&right, &kept_back], 2), "fail/budget_exceeded");
    assert_eq!(status(&[&over, &broken], 2), "error/runtime_error");
    assert_eq!(
        status(&[&right], 2),
        "error/runtime_error",
        "one has not ended"
    );
    assert_eq!(status(&[&right, &stopped], 2), "error/runtime_error");
}

#[test]
fn a_task_is_the_same_again_from_what_is_kept() {
    let tasks = planned(7);
    assert_eq!(Tasks::kept(&tasks.to_keep()), tasks);
    assert!(Tasks::kept(&Value::Null).is_empty());
}

proptest! {
    /// Sums over rows: any order, and every question counted once.
    #[test]
    fn a_task_adds_up_whatever_ends_first(ends in proptest::collection::vec(0_usize..5, 0..40), seed in 0_usize..40) {
        let kinds = [
            settled(ended(Outcome::Passed, &RIGHT()), None),
            settled(ended(Outcome::Failed, &WRONG()), None),
            settled(ended(Outcome::Failed, &UNREAD()), None),
            settled(ended(Outcome::Passed, &RIGHT()), Some(1)),
            settled(ended(Outcome::Error, &json!({})), None),
        ];
        let sum = |order: &[usize]| {
            let mut tasks = planned(ends.len() as u64);
            for kind in order {
                tasks.add(&kinds[*kind]);
            }
            tasks
        };
        let mut turned = ends.clone();
        turned.rotate_left(seed.min(ends.len()));
        let tasks = sum(&ends);
        prop_assert_eq!(&tasks, &sum(&turned));
        let task = &tasks.in_order()[0];
        let incorrect = ends.iter().filter(|kind| **kind == 1).count() as u64;
        prop_assert_eq!(
            task.correct + incorrect + task.parse_errors + task.over_budget + task.runtime_errors,
            ends.len() as u64
        );
        prop_assert_eq!((task.unfinished(), task.tokens), (0, 100 * ends.len() as u64));
        prop_assert_eq!(task.status() == TaskStatus::Pass, ends.iter().all(|kind| *kind == 0));
    }
}
