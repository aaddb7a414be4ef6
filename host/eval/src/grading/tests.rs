//! Table tests of the aggregation rules.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::failure::FailureCode;
use crate::record::Outcome;

pub(crate) fn assertion(weight: f64) -> Assertion {
    Assertion {
        kind: "equals".into(),
        inverse: false,
        value: None,
        script: None,
        process: None,
        sends: false,
        transform: None,
        context_transform: None,
        threshold: None,
        weight,
        metric: None,
        config: None,
        knobs: Map::new(),
        judges: runner_config::plan::Judges::default(),
        when: None,
        json: json!({"type": "equals"}).into(),
        of_data: false,
        at: runner_config::plan::Position::default(),
        value_at: runner_config::plan::Position::default(),
    }
}

pub(crate) fn graded(pass: bool, score: f64, reason: &str) -> Graded {
    Graded {
        component: ComponentRecord::plain(pass, score, reason.into(), json!({})),
        metric: None,
    }
}

fn set(members: Vec<Assertion>, weight: f64, threshold: Option<f64>) -> Check {
    Check::Set {
        rule: SetRule::All,
        assertions: members,
        weight,
        threshold,
        metric: None,
        json: json!({"type": "assert-set"}).into(),
    }
}

fn grade(checks: &[Check], threshold: Option<f64>, grades: Vec<Graded>) -> CaseGrade {
    aggregate(
        checks,
        threshold,
        grades,
        GraderUsage::default(),
        str::to_owned,
    )
}

#[test]
fn no_assertions_pass_with_one() {
    let case = grade(&[], None, vec![]);
    assert_eq!(
        (case.conclusion().outcome(), case.record.score),
        (Outcome::Passed, 1.0)
    );
    assert_eq!(case.record.reason, "No assertions");
}

#[test]
fn the_score_is_the_weighted_mean_and_one_failure_fails() {
    let checks = [Check::One(assertion(3.0)), Check::One(assertion(1.0))];
    let case = grade(
        &checks,
        None,
        vec![graded(true, 1.0, "fine"), graded(false, 0.0, "no")],
    );
    assert_eq!(
        (case.conclusion().outcome(), case.record.score),
        (Outcome::Failed, 0.75)
    );
    assert_eq!(case.record.reason, "no");
}

#[test]
fn the_reason_is_that_of_the_last_failing_assertion_as_written() {
    let checks = [
        Check::One(assertion(1.0)),
        Check::One(assertion(1.0)),
        Check::One(assertion(1.0)),
    ];
    let grades = vec![
        graded(false, 0.0, "first"),
        graded(false, 0.0, "second"),
        graded(true, 1.0, "ok"),
    ];
    assert_eq!(grade(&checks, None, grades).record.reason, "second");
}

#[test]
fn with_a_threshold_only_the_score_counts() {
    let checks = [Check::One(assertion(1.0)), Check::One(assertion(1.0))];
    let grades = || vec![graded(true, 1.0, ""), graded(false, 0.0, "")];
    let enough = grade(&checks, Some(0.5), grades());
    assert_eq!(enough.conclusion().outcome(), Outcome::Passed);
    assert_eq!(enough.record.reason, "Aggregate score 0.50 ≥ 0.5 threshold");
    let short = grade(&checks, Some(0.6), grades());
    assert_eq!(short.conclusion().outcome(), Outcome::Failed);
    assert_eq!(short.record.reason, "Aggregate score 0.50 < 0.6 threshold");
}

#[test]
fn weight_zero_passes_and_counts_for_nothing() {
    let checks = [Check::One(assertion(0.0)), Check::One(assertion(1.0))];
    let case = grade(
        &checks,
        None,
        vec![graded(false, 0.0, "no"), graded(true, 0.8, "")],
    );
    assert_eq!(
        (case.conclusion().outcome(), case.record.score),
        (Outcome::Passed, 0.8)
    );
    assert!(case.record.component_results[0].pass);
}

#[test]
fn only_weightless_assertions_score_zero() {
    let case = grade(
        &[Check::One(assertion(0.0))],
        None,
        vec![graded(true, 1.0, "")],
    );
    assert_eq!(
        (case.conclusion().outcome(), case.record.score),
        (Outcome::Passed, 0.0)
    );
}

#[test]
fn a_set_stands_before_its_members_and_counts_with_its_own_weight() {
    let checks = [
        set(vec![assertion(1.0), assertion(1.0)], 3.0, Some(0.5)),
        Check::One(assertion(1.0)),
    ];
    let grades = vec![
        graded(true, 1.0, ""),
        graded(false, 0.0, "member"),
        graded(true, 1.0, ""),
    ];
    let case = grade(&checks, None, grades);
    assert_eq!(
        case.conclusion().outcome(),
        Outcome::Passed,
        "the set reached its threshold"
    );
    assert!((case.record.score - 0.625).abs() < 1e-12);
    assert_eq!(case.record.component_results.len(), 4);
    assert_eq!(
        case.record.component_results[0].assertion["type"],
        "assert-set"
    );
}

#[test]
fn an_assertion_that_could_not_be_graded_is_an_error_even_above_the_threshold() {
    let mut broken = graded(false, 0.0, "crashed");
    broken.component.error_code = Some(FailureCode::read("C101"));
    let checks = [Check::One(assertion(1.0)), Check::One(assertion(1.0))];
    let case = grade(&checks, Some(0.1), vec![broken, graded(true, 1.0, "")]);
    assert_eq!(case.conclusion().outcome(), Outcome::Error);
    assert_eq!(
        case.record.component_results.len(),
        2,
        "the other grade is kept"
    );
}

#[test]
fn metrics_that_count_a_failed_judge_as_nothing_are_named() {
    let mut broken = graded(false, 0.0, "crashed");
    broken.component.error_code = Some(FailureCode::read("C101"));
    broken.metric = Some("tone".into());
    let named = |rule| {
        let mut set = set(vec![assertion(1.0), assertion(1.0)], 1.0, None);
        let Check::Set {
            rule: of, metric, ..
        } = &mut set
        else {
            unreachable!()
        };
        (*of, *metric) = (rule, Some("both".to_owned()));
        let grades = vec![broken.clone(), graded(true, 1.0, "")];
        let case = grade(&[set], None, grades);
        assert_eq!(case.record.named_scores["tone"], json!(0.0), "as promptfoo");
        case.record.not_graded
    };
    // A judge whose answer was no grade fails its case, and is no score either.
    let mut vague = graded(false, 0.0, "no grade");
    vague.component.metadata = Map::from_iter([(GRADER_ERROR.to_owned(), true.into())]);
    vague.metric = Some("tone".into());
    let case = grade(&[Check::One(assertion(1.0))], None, vec![vague]);
    assert_eq!(case.conclusion().outcome(), Outcome::Failed);
    assert_eq!(case.record.not_graded, ["tone"]);
    assert_eq!(named(SetRule::All), ["tone", "both"]);
    assert_eq!(named(SetRule::Any), ["tone"]);
}

#[test]
fn metrics_are_weighted_means_over_assertions_and_named_scores() {
    let checks = [Check::One(assertion(3.0)), Check::One(assertion(1.0))];
    let mut first = graded(true, 1.0, "");
    first.metric = Some("tone".into());
    let mut second = graded(true, 1.0, "");
    second
        .component
        .named_scores
        .insert("tone".into(), 0.0.into());
    let case = grade(&checks, None, vec![first, second]);
    assert_eq!(case.record.named_scores["tone"], json!(0.75));
    assert_eq!(case.record.named_score_weights["tone"], json!(4.0));
}

proptest! {
    #[test]
    fn the_score_lies_between_the_components_scores(
        parts in prop::collection::vec((0.0f64..1.0, 0.01f64..10.0), 1..20)
    ) {
        let checks: Vec<_> = parts.iter().map(|(_, weight)| Check::One(assertion(*weight))).collect();
        let grades = parts.iter().map(|(score, _)| graded(true, *score, "")).collect();
        let score = grade(&checks, None, grades).record.score;
        let low = parts.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let high = parts.iter().map(|p| p.0).fold(0.0, f64::max);
        prop_assert!(score >= low - 1e-9 && score <= high + 1e-9);
    }
}

fn any(members: Vec<Assertion>, threshold: Option<f64>) -> Check {
    match set(members, 1.0, threshold) {
        Check::Set {
            assertions,
            weight,
            threshold,
            metric,
            json,
            ..
        } => Check::Set {
            rule: SetRule::Any,
            assertions,
            weight,
            threshold,
            metric,
            json,
        },
        one @ Check::One(_) => one,
    }
}

#[test]
fn one_member_of_an_any_set_is_enough_and_the_best_score_counts() {
    let members = || vec![assertion(1.0), assertion(1.0), assertion(0.0)];
    let scores = |first: f64, second: f64| {
        vec![
            graded(first > 0.5, first, "first"),
            graded(second > 0.5, second, "second"),
            graded(false, 0.9, "weighs nothing"),
        ]
    };
    let passed = grade(&[any(members(), None)], None, scores(0.25, 0.75));
    assert_eq!(
        (passed.conclusion().outcome(), passed.record.score),
        (Outcome::Passed, 0.75)
    );
    assert_eq!(
        passed.record.component_results[0].reason,
        "1 of 2 assertions passed, one is enough"
    );
    assert_eq!(passed.record.component_results.len(), 4, "all are shown");
    let failed = grade(&[any(members(), None)], None, scores(0.25, 0.5));
    assert_eq!(
        (failed.conclusion().outcome(), failed.record.score),
        (Outcome::Failed, 0.5)
    );
    assert_eq!(
        failed.record.reason,
        "None of 2 assertions passed; the last: second"
    );
    let enough = grade(&[any(members(), Some(0.4))], None, scores(0.25, 0.5));
    assert_eq!(enough.conclusion().outcome(), Outcome::Passed);
}

#[test]
fn a_member_that_could_not_be_graded_does_not_spoil_an_any_set_that_passed() {
    let mut broken = graded(false, 0.0, "crashed");
    broken.component.error_code = Some(FailureCode::read("C101"));
    let checks = || [any(vec![assertion(1.0), assertion(1.0)], None)];
    let fine = vec![broken.clone(), graded(true, 1.0, "")];
    assert_eq!(
        grade(&checks(), None, fine).conclusion().outcome(),
        Outcome::Passed
    );
    let not = vec![broken, graded(false, 0.0, "no")];
    assert_eq!(
        grade(&checks(), None, not).conclusion().outcome(),
        Outcome::Error
    );
}

#[test]
fn what_was_skipped_counts_for_nothing() {
    let mut skipped = graded(true, 0.0, "skipped");
    skipped.component.skipped = true;
    skipped.metric = Some("m".to_owned());
    let checks = [Check::One(assertion(1.0)), Check::One(assertion(9.0))];
    let case = grade(&checks, None, vec![graded(true, 0.5, ""), skipped]);
    assert_eq!(
        (case.conclusion().outcome(), case.record.score),
        (Outcome::Passed, 0.5)
    );
    assert!(case.record.named_scores.is_empty());
}

#[test]
fn an_attack_that_a_guardrail_stops_is_what_the_test_wants() {
    let blocked = |purpose: &str| {
        let json = json!({ "type": "guardrails", "config": { "purpose": purpose } });
        Graded {
            component: ComponentRecord::plain(false, 0.0, "filtered".into(), json),
            metric: None,
        }
    };
    let checks = || [Check::One(assertion(1.0)), Check::One(assertion(1.0))];
    let grades = |purpose| vec![blocked(purpose), graded(false, 0.5, "no")];
    let wanted = grade(&checks(), Some(0.9), grades("redteam"));
    assert_eq!(
        (wanted.conclusion().outcome(), wanted.record.score),
        (Outcome::Passed, 0.25)
    );
    assert_eq!(
        grade(&checks(), None, grades("x")).conclusion().outcome(),
        Outcome::Failed
    );
    let weightless = [Check::One(assertion(0.0)), Check::One(assertion(1.0))];
    let case = grade(&weightless, None, grades("redteam"));
    assert_eq!(
        case.conclusion().outcome(),
        Outcome::Failed,
        "it did not count as a failure"
    );
}

#[test]
fn metrics_of_members_count_with_the_weight_of_their_set() {
    let mut checks = [
        set(vec![assertion(1.0)], 3.0, None),
        Check::One(assertion(1.0)),
    ];
    let named = |score| Graded {
        metric: Some("tone".to_owned()),
        ..graded(true, score, "")
    };
    let case = grade(&checks, None, vec![named(1.0), named(0.0)]);
    assert_eq!(case.record.named_scores["tone"], json!(0.75));
    assert_eq!(case.record.named_score_weights["tone"], json!(4.0));
    // Under the name of the set itself, the set alone counts.
    if let Check::Set { metric, .. } = &mut checks[0] {
        *metric = Some("tone".to_owned());
    }
    let case = grade(&checks, None, vec![named(1.0), named(0.0)]);
    assert_eq!(case.record.named_score_weights["tone"], json!(4.0));
}

#[test]
fn the_best_of_an_any_set_counts_wherever_it_stands_and_if_all_are_below_zero() {
    let checks = || [any(vec![assertion(1.0), assertion(1.0)], None)];
    for (scores, best) in [([0.75, 0.25], 0.75), ([-2.0, -1.0], -1.0)] {
        let grades = scores.map(|score| graded(true, score, "")).into();
        let case = grade(&checks(), None, grades);
        assert_eq!(json!(case.record.score), json!(best));
    }
}

#[test]
fn an_any_set_of_which_nothing_counted_fails_nobody() {
    let checks = [any(vec![assertion(1.0)], None), Check::One(assertion(1.0))];
    let mut skipped = graded(true, 0.0, "skipped");
    skipped.component.skipped = true;
    let case = grade(&checks, None, vec![skipped, graded(true, 1.0, "")]);
    let set = &case.record.component_results[0];
    let reason = "No assertion of the set counted";
    assert_eq!((set.pass, &*set.reason), (true, reason));
    assert_eq!(case.conclusion().outcome(), Outcome::Passed);
}

#[test]
fn a_score_that_a_grader_gives_under_its_own_metric_or_that_of_its_set_counts_once() {
    let mut checks = [set(vec![assertion(1.0)], 3.0, None)];
    if let Check::Set { metric, .. } = &mut checks[0] {
        *metric = Some("whole".to_owned());
    }
    let mut one = graded(true, 1.0, "");
    one.metric = Some("own".to_owned());
    for name in ["own", "whole", "other"] {
        one.component.named_scores.insert(name.into(), 0.5.into());
    }
    let case = grade(&checks, None, vec![one]);
    let scores = json!({ "own": 1.0, "other": 0.5, "whole": 1.0 });
    assert_eq!(json!(case.record.named_scores), scores);
    let weights = json!({ "own": 3.0, "other": 3.0, "whole": 3.0 });
    assert_eq!(json!(case.record.named_score_weights), weights);
}

#[test]
fn a_check_passed_by_itself_whatever_it_weighs_unless_it_was_skipped() {
    let one = Check::One(assertion(0.0));
    assert_eq!(passed(&one, &[graded(true, 1.0, "")]), Some(true));
    assert_eq!(passed(&one, &[graded(false, 0.0, "")]), Some(false));
    let mut skipped = graded(true, 0.0, "skipped");
    skipped.component.skipped = true;
    assert_eq!(passed(&one, &[skipped]), None);
    let members = vec![assertion(1.0), assertion(0.0)];
    let all = set(members, 0.0, None);
    let grades = |first: bool| [graded(first, 0.0, ""), graded(false, 0.0, "")];
    assert_eq!(passed(&all, &grades(true)), Some(true));
    assert_eq!(passed(&all, &grades(false)), Some(false));
}

#[test]
fn a_score_counts_up_to_a_million_millions_and_if_it_is_a_number() {
    assert_eq!(beyond([0.0, 1e12, -1e12]), None);
    let wrong =
        |score: &str| format!("the score {score} is beyond 1e12, the largest one that counts");
    for (score, shown) in [
        (1.5e12, "1.5e12"),
        (-1.5e12, "-1.5e12"),
        (f64::INFINITY, "inf"),
        (f64::NAN, "NaN"),
    ] {
        assert_eq!(beyond([1.0, score, 2.0]), Some(wrong(shown)));
    }
}

#[test]
fn a_grade_has_at_most_a_thousand_named_scores_with_names_of_a_kilobyte() {
    let named = |many: usize, bytes: usize| vec![("n".repeat(bytes), 1.0); many];
    assert_eq!(overnamed(&[]), None);
    assert_eq!(overnamed(&named(1_000, 1_024)), None);
    assert_eq!(
        overnamed(&named(1_001, 1)).as_deref(),
        Some("the grade has 1001 named scores, 1000 are allowed")
    );
    let mut one_long = named(3, 5);
    one_long[1].0 = "n".repeat(1_025);
    assert_eq!(
        overnamed(&one_long).as_deref(),
        Some("the name of a score has 1025 bytes, 1024 are allowed")
    );
}

#[test]
fn of_assertions_that_could_not_be_graded_the_one_without_budget_says_how_the_case_ended() {
    let broken = |code: FailureCode| {
        let mut one = graded(false, 0.0, "not graded");
        one.component.error_code = Some(code);
        one
    };
    let checks = [Check::One(assertion(1.0)), Check::One(assertion(1.0))];
    let grades = vec![
        broken(FailureCode::read("C101")),
        broken(FailureCode::Budget),
    ];
    let case = grade(&checks, None, grades);
    assert_eq!(case.conclusion().outcome(), Outcome::BudgetExceeded);
}
