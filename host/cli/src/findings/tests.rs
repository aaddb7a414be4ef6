//! Tests of the gathering, and records that other tests of this crate render.

use runner_config::plan::CaseId;
use runner_eval::failure::FailureCode;
use runner_eval::record::{
    CaseRecord, ComponentRecord, Conclusion, GraderUsage, GradingRecord, NotPassed, Outcome,
    PromptRecord, ProviderRef, ResponseRecord, TokenUsage,
};
use serde_json::{Map, Value, json};

use super::*;

/// A record as a run makes it: `output` answered, graded by one `contains` assertion.
pub(crate) fn record(test_idx: u32, prompt_idx: u32, outcome: Outcome, output: &str) -> CaseRecord {
    let pass = outcome == Outcome::Passed;
    let score = f64::from(u8::from(pass));
    let graded = matches!(
        outcome,
        Outcome::Passed | Outcome::Failed | Outcome::Waiting
    );
    let vars: Map<String, Value> = [("name".to_owned(), json!(format!("user {test_idx}")))]
        .into_iter()
        .collect();
    let reason = if pass {
        "Assertion passed".to_owned()
    } else {
        format!("Expected output to contain \"yes\", got {output}")
    };
    let error = match outcome {
        Outcome::Passed | Outcome::Failed => &reason,
        Outcome::Waiting => "waits for a person's verdict",
        Outcome::Error => output,
        Outcome::BudgetExceeded => "the run's budget is spent",
        Outcome::Cancelled => "the run was stopped",
    };
    CaseRecord {
        id: format!("row-{test_idx}-{prompt_idx}"),
        prompt_idx,
        test_idx,
        repeat_index: 0,
        repeat_group: None,
        data_file: None,
        prompt_id: "p".repeat(64),
        provider: ProviderRef {
            id: "echo".to_owned(),
            label: None,
        },
        prompt: PromptRecord {
            raw: format!("Hello user {test_idx}"),
            label: "Hello {{name}}".to_owned(),
            config: None,
        },
        test_case: json!({ "vars": vars }).into(),
        vars: vars.into(),
        response: graded.then(|| response(output)),
        grading_result: graded.then(|| grading(pass, score, &reason)),
        named_scores: Map::new(),
        conclusion: conclusion(outcome, score, error),
        latency_ms: 100 + u64::from(test_idx),
        cost: graded.then_some(0.001),
        token_usage: if graded { USAGE } else { TokenUsage::default() },
        metadata: Map::new(),
        question: None,
        provenance: None,
        log: Vec::new(),
        attempts: Vec::new(),
        annotation: None,
    }
}

pub(crate) fn conclusion(outcome: Outcome, score: f64, error: &str) -> Conclusion {
    let code = match outcome {
        Outcome::Passed | Outcome::Failed => None,
        Outcome::Waiting => Some(FailureCode::Human),
        _ => Some(FailureCode::read("auth")),
    };
    let what = NotPassed {
        score,
        error: Some(error.to_owned()),
        code,
    };
    match outcome {
        Outcome::Passed => Conclusion::Passed { score },
        Outcome::Failed => Conclusion::Failed(what),
        Outcome::Waiting => Conclusion::Waiting(what),
        Outcome::Error => Conclusion::Error(what),
        Outcome::BudgetExceeded => Conclusion::BudgetExceeded(what),
        Outcome::Cancelled => Conclusion::Cancelled(what),
    }
}

const USAGE: TokenUsage = TokenUsage {
    total: 15,
    prompt: 10,
    completion: 5,
    cached: 0,
    num_requests: 1,
    reasoning: 0,
};

fn response(output: &str) -> ResponseRecord {
    ResponseRecord {
        output: json!(output),
        token_usage: USAGE,
        cost: Some(0.001),
        ..ResponseRecord::default()
    }
}

fn grading(pass: bool, score: f64, reason: &str) -> GradingRecord {
    let assertion = json!({ "type": "contains", "value": "yes" });
    GradingRecord {
        pass,
        score,
        reason: reason.to_owned(),
        named_scores: Map::new(),
        named_score_weights: Map::new(),
        not_graded: Vec::new(),
        used: GraderUsage::default(),
        component_results: vec![ComponentRecord::plain(
            pass,
            score,
            reason.to_owned(),
            assertion,
        )],
        before_comparison: None,
        by_people: None,
    }
}

fn indexes(findings: &Findings) -> Vec<u32> {
    findings.rows().map(|(test_idx, _)| test_idx).collect()
}

fn row(findings: &Findings, test_idx: u32) -> &Row {
    findings
        .rows()
        .find(|(idx, _)| *idx == test_idx)
        .expect("the row is kept")
        .1
}

fn limits(rows: usize) -> Limits {
    Limits {
        rows,
        cell_chars: 20,
        failing_only: false,
    }
}

#[test]
fn the_first_rows_are_kept_whatever_finishes_first() {
    let mut findings = Findings::new(limits(2));
    for test_idx in [5, 3, 0, 4, 1, 2] {
        let outcome = if test_idx == 3 {
            Outcome::Failed
        } else {
            Outcome::Passed
        };
        findings.add(&record(test_idx, 0, outcome, "x"));
    }
    assert_eq!(indexes(&findings), [0, 1]);
    assert_eq!(findings.hidden(), (4, 1));
}

#[test]
fn a_million_cases_take_no_more_room_than_a_few() {
    let mut findings = Findings::new(limits(3));
    for n in 0..2_000u32 {
        findings.add(&record(n, 0, Outcome::Error, &format!("message {n}")));
    }
    assert_eq!(findings.rows().count(), 3);
    let (top, others) = findings.errors().top(1);
    assert_eq!(top[0].count, 1);
    assert_eq!(top[0].name, "auth: message 0");
    assert_eq!(others, 1_999);
}

#[test]
fn failing_rows_alone_can_be_asked_for_and_are_whole() {
    let mut findings = Findings::new(Limits {
        failing_only: true,
        ..limits(1)
    });
    for (test_idx, prompt_idx, outcome) in [
        (0, 0, Outcome::Passed),
        (1, 0, Outcome::Passed),
        (1, 1, Outcome::Failed),
        (1, 2, Outcome::Passed),
        (2, 0, Outcome::Passed),
        (3, 0, Outcome::Passed),
        (3, 1, Outcome::Error),
    ] {
        findings.add(&record(test_idx, prompt_idx, outcome, "x"));
    }
    assert_eq!(indexes(&findings), [1]);
    assert_eq!(row(&findings, 1).cells.len(), 3);
    assert_eq!(findings.hidden(), (1, 1));
}

#[test]
fn a_last_row_that_passed_is_not_a_failing_one() {
    let mut findings = Findings::new(Limits {
        failing_only: true,
        ..limits(5)
    });
    findings.add(&record(0, 0, Outcome::Passed, "x"));
    assert!(indexes(&findings).is_empty());
}

#[test]
fn failures_are_counted_by_assertion_and_not_by_what_was_answered() {
    let mut findings = Findings::new(limits(1));
    for (test_idx, output) in [(2, "b"), (1, "a"), (3, "c")] {
        findings.add(&record(test_idx, 0, Outcome::Failed, output));
    }
    let (top, others) = findings.failures().top(3);
    let cause = Cause {
        name: "contains \"yes\"".to_owned(),
        count: 3,
        first: CaseId {
            test_idx: 1,
            prompt_idx: 0,
        },
        example: "Expected output to contain \"yes\", got a".to_owned(),
    };
    assert_eq!(top, [&cause]);
    assert_eq!(others, 0);
}

#[test]
fn a_judge_that_gave_no_grade_is_told_apart_and_who_waits_has_not_failed() {
    let mut findings = Findings::new(limits(2));
    findings.add(&record(0, 0, Outcome::Failed, "a"));
    let mut unjudged = record(1, 0, Outcome::Failed, "HTTP 400");
    let components = |record: &mut CaseRecord| {
        let grading = record.grading_result.as_mut().expect("graded");
        std::mem::take(&mut grading.component_results)
    };
    let mut given = components(&mut unjudged);
    given[0]
        .metadata
        .insert("graderError".to_owned(), true.into());
    let waiting = ComponentRecord {
        skipped: true,
        ..ComponentRecord::plain(false, 0.0, "waits".to_owned(), json!({ "type": "human" }))
    };
    given.push(waiting);
    unjudged
        .grading_result
        .as_mut()
        .expect("graded")
        .component_results = given;
    findings.add(&unjudged);
    let (top, _) = findings.failures().top(3);
    let names: Vec<(&str, u64)> = top.iter().map(|it| (&*it.name, it.count)).collect();
    assert_eq!(
        names,
        [
            ("contains \"yes\"", 1),
            ("contains \"yes\", without a judge's grade", 1)
        ]
    );
    assert_eq!(
        row(&findings, 1).cells[&0].reasons.len(),
        2,
        "a reason, and that one was skipped"
    );
}

#[test]
fn a_failure_by_threshold_alone_is_counted_as_such() {
    let mut record = record(0, 0, Outcome::Failed, "x");
    record.conclusion = conclusion(Outcome::Failed, 0.4, "Aggregate score 0.40 < 0.5 threshold");
    for component in &mut record
        .grading_result
        .as_mut()
        .expect("graded")
        .component_results
    {
        component.pass = true;
    }
    let mut findings = Findings::new(limits(1));
    findings.add(&record);
    let (top, _) = findings.failures().top(1);
    assert_eq!(
        (top[0].name.as_str(), top[0].example.as_str()),
        ("threshold", "Aggregate score 0.40 < 0.5 threshold")
    );
    assert_eq!(
        row(&findings, 0).cells[&0].reasons,
        ["Aggregate score 0.40 < 0.5 threshold"]
    );
}

#[test]
fn hostile_texts_are_cut_and_made_safe() {
    let mut findings = Findings::new(limits(1));
    findings.add(&record(
        0,
        0,
        Outcome::Passed,
        &format!("\u{1b}[2J{}", "x".repeat(1 << 20)),
    ));
    assert_eq!(
        row(&findings, 0).cells[&0].output.as_deref(),
        Some("␛[2Jxxxxxxxxxxxxxxx…")
    );
    let mut findings = Findings::new(Limits {
        cell_chars: 250,
        ..limits(1)
    });
    findings.add(&record(0, 0, Outcome::Passed, &"a\n".repeat(100)));
    let cell = &row(&findings, 0).cells[&0];
    assert_eq!(
        cell.output.as_deref().map(|output| output.lines().count()),
        Some(12)
    );
}
