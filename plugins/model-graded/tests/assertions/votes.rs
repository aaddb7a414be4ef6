//! Votes: several questions at once, one verdict.

use runner_plugin::json::{Value, json};
use runner_plugin::testing::Script;
use runner_plugin::{Completion, Error, ErrorCode, Input};

use super::{failed_to_grade, graded, input, input_with, near, play, refused, replies};

const YES: &str = r#"{"pass": true, "reason": "good"}"#;
const NO: &str = r#"{"pass": false, "reason": "bad"}"#;

fn with_votes(mut input: Input, votes: &Value) -> Input {
    input.config_json = Some(json!({ "votes": votes }).to_string());
    input
}

#[test]
fn the_majority_decides_and_each_vote_is_shown() {
    let input = with_votes(input("llm-rubric", &json!("x"), "y"), &json!(3));
    let grade = graded(&input, &[YES, NO, YES]);
    assert!(grade.pass && near(grade.score, 2.0 / 3.0));
    assert_eq!(grade.reason, "2 of 3 votes passed: good");
    let votes: Vec<(&str, bool, &str)> = grade
        .components
        .iter()
        .map(|part| (&*part.name, part.pass, &*part.reason))
        .collect();
    assert_eq!(
        votes,
        [
            ("vote 1", true, "good"),
            ("vote 2", false, "bad"),
            ("vote 3", true, "good")
        ]
    );
    let mut inverse = input;
    inverse.inverse = true;
    let grade = graded(&inverse, &[YES, NO, YES]);
    assert!(!grade.pass && near(grade.score, 1.0 / 3.0));
}

#[test]
fn votes_without_a_word_count_against_a_majority() {
    let input = with_votes(input("not-llm-rubric", &json!("x"), "y"), &json!(3));
    let grade = graded(&input, &[YES, "hm", NO]);
    assert!(!grade.pass && failed_to_grade(&grade));
    assert!(grade.reason.contains("no majority"), "{}", grade.reason);
    assert!(graded(&input, &[NO, "hm", NO]).pass);
}

#[test]
fn no_two_votes_are_the_same_request() {
    for prompt in [json!("ask"), json!([{ "role": "user", "content": "ask" }])] {
        let mut input = input("llm-rubric", &json!("x"), "y");
        input.config_json = Some(json!({ "votes": 3, "rubricPrompt": prompt }).to_string());
        let played = play(&input, replies(&[YES, YES, YES]));
        let asked: Vec<String> = played
            .asked
            .iter()
            .map(|(_, request)| request.messages[0].text())
            .collect();
        assert_eq!(asked[0], "ask");
        assert_eq!(asked[1], "ask\n\n(Independent attempt 2 of 3.)");
        assert_eq!(asked[2], "ask\n\n(Independent attempt 3 of 3.)");
    }
}

#[test]
fn each_type_with_one_verdict_can_vote() {
    let vars = json!({ "query": "q", "context": "It is warm. It rains." });
    let steps = r#"{"steps": ["look"]}"#;
    for (kind, replies) in [
        (
            "factuality",
            vec![r#"{"category":"C"}"#, r#"{"category":"D"}"#, "(B)"],
        ),
        ("model-graded-closedqa", vec!["Y", "N", "Y"]),
        (
            "g-eval",
            vec![steps, r#"{"score":9}"#, r#"{"score":1}"#, r#"{"score":8}"#],
        ),
        (
            "context-recall",
            vec!["a [Attributed]", "a [Not Attributed]", "a [Attributed]"],
        ),
        (
            "context-relevance",
            vec!["It is warm.", "Insufficient Information", "It rains."],
        ),
        (
            "context-faithfulness",
            vec!["s", "verdict: yes", "verdict: no", "verdict: yes"],
        ),
    ] {
        let input = with_votes(input_with(kind, &json!("v"), "out", &vars), &json!(3));
        let grade = graded(&input, &replies);
        assert!(
            grade.reason.contains("2 of 3 votes passed"),
            "{kind}: {}",
            grade.reason
        );
        assert_eq!(grade.components.len(), 3, "{kind}");
    }
}

#[test]
fn a_budget_that_runs_out_while_voting_is_an_error() {
    let input = with_votes(input("llm-rubric", &json!("x"), "y"), &json!(3));
    let script = Script::new()
        .answer("grader", Completion::text(YES))
        .refuse("grader", Error::new(ErrorCode::Budget, "spent"))
        .answer("grader", Completion::text(YES));
    let error = play(&input, script).result.expect_err("no grade");
    assert_eq!(error.code, ErrorCode::Budget);
}

#[test]
fn votes_are_an_odd_number_and_where_they_mean_something() {
    for votes in [
        json!(2),
        json!(0),
        json!(-1),
        json!(17),
        json!("3"),
        json!(1.5),
    ] {
        refused(
            &with_votes(input("llm-rubric", &json!("x"), "y"), &votes),
            "odd number",
        );
    }
    for kind in [
        "similar",
        "classifier",
        "moderation",
        "answer-relevance",
        "conversation-relevance",
    ] {
        refused(
            &with_votes(input(kind, &json!("x"), "y"), &json!(3)),
            "no meaning",
        );
    }
}
