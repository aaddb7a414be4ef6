//! What a grade becomes, and what graders see of a config.

use serde_json::json;

use super::*;
use crate::fixture;

fn assertion() -> Assertion {
    let case = fixture::case(
        "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: equals, value: p }] }]",
    );
    case.test.assertions[0].members()[0].clone()
}

fn passed() -> ReadGrade {
    ReadGrade {
        pass: true,
        score: 1.0,
        reason: "fine".to_owned(),
        named_scores: Vec::new(),
        components: Vec::new(),
        metadata: Map::new(),
    }
}

#[test]
fn a_score_that_is_no_score_fails_with_the_reason() {
    let far = ReadGrade {
        named_scores: vec![
            ("far".to_owned(), LARGEST_SCORE * 10.0),
            ("near".to_owned(), 0.5),
        ],
        ..passed()
    };
    let component = component(&assertion(), far);
    assert!(!component.pass);
    assert!(component.score.abs() < f64::EPSILON);
    assert!(component.reason.contains("beyond"), "{}", component.reason);
    assert_eq!(
        Value::Object(component.named_scores),
        json!({ "near": 0.5 })
    );
}

/// One row of `1e6` held any threshold of a metric that others have, too.
#[test]
fn scores_of_a_row_of_data_are_from_zero_to_one() {
    let row = Assertion {
        of_data: true,
        ..assertion()
    };
    let grade = |score: f64| ReadGrade {
        score,
        named_scores: vec![("good".to_owned(), score), ("fair".to_owned(), 0.5)],
        ..passed()
    };
    for (score, expected) in [(1e6, 1.0), (-1e6, 0.0), (0.25, 0.25)] {
        let component = component(&row, grade(score));
        let named = Value::Object(component.named_scores);
        assert_eq!(named, json!({ "good": expected, "fair": 0.5 }));
        assert!((component.score - expected).abs() < f64::EPSILON && component.pass);
    }
    let own = component(&assertion(), grade(12.0));
    assert!((own.score - 12.0).abs() < f64::EPSILON);
}

#[test]
fn names_of_scores_and_their_number_are_bounded() {
    let long = "n".repeat(LONGEST_METRIC + 1);
    let named = (0..MOST_NAMED_SCORES + 5).map(|at| (format!("n{at}"), 1.0));
    let many = ReadGrade {
        named_scores: [(long, 1.0)].into_iter().chain(named).collect(),
        ..passed()
    };
    let component = component(&assertion(), many);
    assert!(!component.pass);
    assert_eq!(component.named_scores.len(), MOST_NAMED_SCORES);
    assert!(
        component
            .named_scores
            .keys()
            .all(|name| name.len() <= LONGEST_METRIC)
    );
}

#[test]
fn what_could_not_grade_is_an_error_and_no_verdict() {
    let failure = CallFailure::new(FailureCode::TIMEOUT, "too slow");
    let component = ungraded(&assertion(), failure);
    assert!(!component.pass && component.score.abs() < f64::EPSILON);
    assert_eq!(component.reason, "too slow");
    assert_eq!(component.error_code, Some(FailureCode::TIMEOUT));
}

#[test]
fn graders_see_the_tools_that_were_offered_and_nothing_else_of_a_config() {
    let with = |prompt: &str, provider: &str| {
        let case = fixture::case(&format!(
            "prompts: [{{ raw: p, config: {prompt} }}]\nproviders: [{{ id: echo, config: {provider} }}]"
        ));
        offered(&case).map(Value::Object)
    };
    assert_eq!(with("{}", "{ apiKey: k, temperature: 1 }"), None);
    assert_eq!(
        with("{}", "{ apiKey: k, tools: [a], functions: [b] }"),
        Some(json!({ "tools": ["a"], "functions": ["b"] }))
    );
    assert_eq!(
        with("{ tools: [c] }", "{ tools: [a] }"),
        Some(json!({ "tools": ["c"] }))
    );
}
