//! What becomes of a case: which row it gets, whether it may still run, what waits and what is left to others.

use runner_config::plan::{CaseResource, Needs, Question, QuestionBudget};
use runner_gateway::Secret;
use serde_json::Value;

use super::*;
use crate::fixture;
use crate::record::samples;
use crate::record::{GraderUsage, GradingRecord};

const ALONE: &str = "prompts: [p]\nproviders: [echo]";
const COMPARED: &str = "prompts: [p, q]\nproviders: [echo]\ntests: [{ assert: [{ type: equals, value: p }, { type: max-score }] }]";

/// What a run's cases share, as far as it decides about their ends.
struct Shared {
    masker: Masker,
    memory: Memory,
    identities: Identities,
    time_up: Option<Duration>,
}

impl Shared {
    fn of(config: &str) -> Self {
        let masker = Masker::default();
        Self {
            identities: Identities::new(&fixture::plan(config), &masker),
            masker,
            memory: Memory::default(),
            time_up: None,
        }
    }

    fn rules(&self) -> EndRules<'_> {
        EndRules {
            masker: &self.masker,
            memory: &self.memory,
            identities: &self.identities,
            time_up: self.time_up,
        }
    }

    fn end(&self, case: &Case, record: Option<CaseRecord>) -> CaseEnd {
        self.rules().end(case, record, Duration::from_millis(42))
    }
}

/// The record of an answer that was graded.
fn graded() -> CaseRecord {
    CaseRecord {
        grading_result: Some(GradingRecord {
            pass: true,
            score: 1.0,
            reason: "fine".to_owned(),
            named_scores: serde_json::Map::new(),
            named_score_weights: serde_json::Map::new(),
            not_graded: Vec::new(),
            used: GraderUsage::default(),
            component_results: Vec::new(),
            before_comparison: None,
            by_people: None,
        }),
        ..samples::record(0)
    }
}

fn said(output: Value) -> CaseRecord {
    let mut record = graded();
    record.response.as_mut().expect("an answer").output = output;
    record
}

fn ended(code: FailureCode) -> CaseRecord {
    CaseRecord {
        conclusion: Conclusion::failure(code, "so it is"),
        ..samples::record(0)
    }
}

fn asks(mut case: Case, most_tokens: Option<u64>) -> Case {
    Arc::make_mut(&mut case.test).question = Some(Arc::new(Question {
        task: "t".into(),
        index: 0,
        id: None,
        text: "q".to_owned(),
        answers: vec!["a".to_owned()],
        correct_answers: vec!["a".to_owned()],
        budget: QuestionBudget {
            tokens: most_tokens,
            time: None,
        },
        in_turn: false,
    }));
    case
}

fn leaves(mut case: Case) -> Case {
    case.needs = Some(Arc::new(Needs {
        alone: false,
        reads: Vec::new(),
        writes: vec![CaseResource::Register("r".into())],
    }));
    case
}

/// How a case ended, in a word, and how its row did.
fn word(end: &CaseEnd) -> (&'static str, Option<Outcome>) {
    let how = match end.how {
        EndStatus::Answered(_) => "answered",
        EndStatus::Done => "done",
        EndStatus::Open => "open",
    };
    let row = end.finished.as_ref();
    (how, row.map(|finished| finished.row.outcome))
}

fn held(end: CaseEnd) -> Uncompared {
    match end.how {
        EndStatus::Answered(held) => held,
        how => panic!("it does not wait: {how:?}"),
    }
}

fn message(end: &CaseEnd) -> &str {
    let finished = end.finished.as_ref().expect("it has a row");
    finished.record.conclusion.error().unwrap_or_default()
}

#[test]
fn a_case_that_was_cut_off_without_an_answer_has_no_row_and_may_still_run() {
    let (shared, case) = (Shared::of(ALONE), fixture::case(ALONE));
    let end = shared.end(&case, None);
    assert_eq!(word(&end), ("open", None));
    assert!(!end.leaves_question && end.left.is_none());
    assert!(shared.end(&asks(case, None), None).leaves_question);
}

#[test]
fn when_the_run_s_time_is_up_whatever_has_no_verdict_is_done_with_an_error() {
    let shared = Shared {
        time_up: Some(Duration::from_millis(250)),
        ..Shared::of(ALONE)
    };
    let case = fixture::case(ALONE);
    for record in [None, Some(ended(FailureCode::Cancelled))] {
        let end = shared.end(&case, record);
        assert_eq!(word(&end), ("done", Some(Outcome::Error)));
        let told = "cut off: the run took longer than 250 ms (maxEvalTimeMs)";
        assert_eq!(message(&end), told);
    }
    let end = shared.end(&case, Some(graded()));
    assert_eq!(word(&end), ("done", Some(Outcome::Passed)));
}

#[test]
fn what_may_still_get_an_answer_stays_open_and_has_its_row_all_the_same() {
    let (shared, case) = (Shared::of(ALONE), fixture::case(ALONE));
    for (record, how, outcome) in [
        (graded(), "done", Outcome::Passed),
        (ended(FailureCode::Template), "done", Outcome::Error),
        (ended(FailureCode::Budget), "open", Outcome::BudgetExceeded),
        (ended(FailureCode::Cancelled), "open", Outcome::Cancelled),
    ] {
        let end = shared.end(&case, Some(record));
        assert_eq!(word(&end), (how, Some(outcome)));
        assert!(!end.leaves_question && end.left.is_none());
    }
}

#[test]
fn repeats_of_a_case_are_cases_of_their_own_and_of_one_group() {
    let config = "prompts: [p]\nproviders: [echo]\ntests: [{ vars: {}, options: { repeat: 2 } }]";
    let shared = Shared::of(config);
    let cases: Vec<Case> = fixture::plan(config).cases().collect();
    let rows: Vec<Finished> = cases
        .iter()
        .filter_map(|case| shared.end(case, Some(graded())).finished)
        .collect();
    let [one, other] = &*rows else {
        panic!("two repeats and not {}", rows.len())
    };
    assert!(one.row.identity.is_some() && one.row.identity != other.row.identity);
    assert!(one.record.repeat_group.is_some());
    assert_eq!(one.record.repeat_group, other.record.repeat_group);
}

#[test]
fn a_question_is_settled_before_anything_else_is_said_of_its_case() {
    let shared = Shared::of(ALONE);
    let mut record = graded();
    record.token_usage.total = 100;
    let end = shared.end(&asks(fixture::case(ALONE), Some(99)), Some(record));
    let finished = end.finished.as_ref().expect("it has a row");
    assert!(finished.record.question.is_some());
    assert_ne!(finished.row.outcome, Outcome::Passed);
}

#[test]
fn an_answer_that_is_compared_waits_and_stands_on_the_disk_as_not_compared() {
    let (shared, case) = (Shared::of(COMPARED), fixture::case(COMPARED));
    let end = shared.end(&case, Some(graded()));
    assert_eq!(word(&end), ("answered", Some(Outcome::Cancelled)));
    let stored = end.finished.as_ref().and_then(|it| it.row.identity);
    let held = held(end);
    assert_eq!(held.record.conclusion.outcome(), Outcome::Passed);
    assert_eq!((held.identity.is_some(), held.identity), (true, stored));
    let grading = held.record.grading_result.as_ref().expect("its grade");
    assert!(grading.before_comparison.is_some());
}

#[test]
fn what_has_no_grade_does_not_wait_to_be_compared() {
    let (shared, case) = (Shared::of(COMPARED), fixture::case(COMPARED));
    for (record, how) in [
        (ended(FailureCode::Template), "done"),
        (ended(FailureCode::Budget), "open"),
    ] {
        assert_eq!(word(&shared.end(&case, Some(record))).0, how);
    }
}

#[test]
fn an_answer_that_waits_has_no_secret() {
    let shared = Shared {
        masker: Masker::new(&[Secret::new("hunter2-hunter2")]),
        ..Shared::of(COMPARED)
    };
    let record = said("it is hunter2-hunter2".into());
    let held = held(shared.end(&fixture::case(COMPARED), Some(record)));
    let answer = held.record.response.as_ref().expect("an answer");
    assert_eq!(answer.output, "it is [masked]");
}

#[test]
fn an_answer_for_which_its_row_has_no_room_is_an_error_and_compared_with_nothing() {
    let (shared, case) = (Shared::of(COMPARED), fixture::case(COMPARED));
    assert!(shared.memory.keep_answer(case.id.test_idx, MAX_ROW));
    let end = shared.end(&case, Some(graded()));
    assert_eq!(word(&end), ("done", Some(Outcome::Error)));
    assert_eq!(message(&end), too_large_to_compare());
    let finished = end.finished.expect("it has a row");
    let grading = finished.record.grading_result.as_ref().expect("its grade");
    assert!(grading.before_comparison.is_none());
}

#[test]
fn what_is_left_to_later_cases_comes_with_the_end() {
    let shared = Shared::of(ALONE);
    let case = leaves(fixture::case(ALONE));
    let values = |end: &CaseEnd| -> Vec<Value> {
        let left = end.left.as_ref().expect("it leaves something");
        left.values().cloned().collect()
    };
    assert_eq!(
        values(&shared.end(&case, Some(said("kept".into())))),
        ["kept"]
    );
    assert!(shared.end(&case, Some(said("".into()))).left.is_none());
    assert!(shared.end(&case, None).left.is_none());
    let compared = leaves(fixture::case(COMPARED));
    let end = Shared::of(COMPARED).end(&compared, Some(said("kept".into())));
    assert_eq!(
        (word(&end).0, values(&end)),
        ("answered", vec!["kept".into()])
    );
}

#[test]
fn what_there_is_no_room_to_leave_is_an_error_and_its_readers_are_told() {
    let shared = Shared::of(ALONE);
    let all = Value::from("x".repeat(MAX_CARRIED as usize - size_of::<Value>()));
    assert!(shared.memory.carry(None, [&all]));
    let case = leaves(fixture::case(ALONE));
    let end = shared.end(&case, Some(said("more".into())));
    assert_eq!(word(&end), ("done", Some(Outcome::Error)));
    assert_eq!(message(&end), too_large_to_carry());
    let left = end.left.expect("its readers have to hear of it");
    assert_eq!(left.values().next(), None);
}

#[test]
fn answers_that_are_compared_with_nothing_any_more_may_run_again_or_came_too_late() {
    let mut shared = Shared::of(COMPARED);
    let case = fixture::case(COMPARED);
    let held = held(shared.end(&case, Some(graded())));
    let outcomes = |shared: &Shared| -> Vec<Outcome> {
        let rows = shared.rules().uncompared([held.clone()]);
        rows.iter().map(|it| it.row.outcome).collect()
    };
    assert_eq!(outcomes(&shared), [Outcome::Cancelled]);
    shared.time_up = Some(Duration::ZERO);
    assert_eq!(outcomes(&shared), [Outcome::Error]);
}
