//! What each assertion type asks and what it makes of which replies, as tables.

use plugin_model_graded::ModelGraded;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::testing::{self, Played, Script};
use runner_plugin::{Assertion, Completion, Error, ErrorCode, Grade, Input, Message};

mod categories;
mod choice;
mod classes;
mod context;
mod nearness;
mod rubric;
mod votes;

/// An answer to the prompt "How warm is it?", to be graded.
fn input(kind: &str, value: &Value, output: &str) -> Input {
    let mut input = testing::input(kind, value, output);
    input.prompt = vec![Message::user("How warm is it?")];
    input
}

/// An answer to that prompt, with variables.
fn input_with(kind: &str, value: &Value, output: &str, vars: &Value) -> Input {
    let mut input = input(kind, value, output);
    input.vars_json = Some(vars.to_string());
    input
}

fn play(input: &Input, script: Script) -> Played<Result<Grade, Error>> {
    script.play(|| ModelGraded::evaluate(input, &testing::context()))
}

/// Replies of the grader, in order.
fn replies(texts: &[&str]) -> Script {
    texts.iter().fold(Script::new(), |script, text| {
        script.answer("grader", Completion::text(*text))
    })
}

fn graded(input: &Input, texts: &[&str]) -> Grade {
    play(input, replies(texts)).result.expect("a grade")
}

fn metadata(grade: &Grade) -> Map<String, Value> {
    let text = grade.metadata_json.as_deref().unwrap_or("{}");
    serde_json::from_str(text).expect("an object")
}

fn failed_to_grade(grade: &Grade) -> bool {
    metadata(grade).get("graderError") == Some(&json!(true))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

/// A reply of the grader, for `kind` and for `not-kind`.
struct Row<'a> {
    replies: &'a [&'a str],
    pass: bool,
    score: f64,
    reason: &'a str,
}

/// Each row's verdict, and its opposite with `not-`.
fn table(input: &Input, rows: &[Row<'_>]) {
    for row in rows {
        let grade = graded(input, row.replies);
        let told = format!("{} {:?}: {grade:?}", input.type_, row.replies);
        assert_eq!(grade.pass, row.pass, "{told}");
        assert!(near(grade.score, row.score), "{told}");
        assert!(grade.reason.contains(row.reason), "{told}");
        let mut inverse = input.clone();
        inverse.inverse = true;
        let grade = graded(&inverse, row.replies);
        assert_eq!(grade.pass, !row.pass, "not-{told}");
        assert!(
            near(grade.score, (1.0 - row.score).clamp(0.0, 1.0)),
            "not-{told}"
        );
        assert!(grade.reason.contains(row.reason), "not-{told}");
    }
}

/// Replies that say nothing fail the assertion, and `not-` too.
fn unreadable(input: &Input, rows: &[&[&str]]) {
    for replies in rows {
        for inverse in [false, true] {
            let mut input = input.clone();
            input.inverse = inverse;
            let grade = graded(&input, replies);
            let told = format!("{} {replies:?}: {grade:?}", input.type_);
            assert!(!grade.pass && near(grade.score, 0.0), "{told}");
            assert!(failed_to_grade(&grade), "{told}");
        }
    }
}

fn refused(input: &Input, part: &str) {
    let error = play(input, Script::new()).result.expect_err("no grade");
    assert!(error.message.contains(part), "{}", error.message);
}

#[test]
fn each_type_is_described_and_served() {
    let info = ModelGraded::describe();
    assert_eq!(info.assertion_types.len(), 17);
    let wanted: Vec<&str> = info.wants.llm.iter().map(|(alias, _)| &**alias).collect();
    assert_eq!(wanted, ["grader", "embedding", "classifier", "moderation"]);
    // A value that none of them takes: what is refused is the value, not the type.
    let takes_any = |name: &str| name == "llm-rubric";
    for kind in info
        .assertion_types
        .iter()
        .filter(|kind| !takes_any(&kind.name))
    {
        let input = testing::input(&kind.name, &json!({}), "");
        let error = play(&input, Script::new()).result.expect_err("no grade");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{}", error.message);
    }
    refused(&input("no-such-type", &json!({}), ""), "no assertion type");
}

#[test]
fn every_type_that_serves_as_a_name_for_another_does_the_same() {
    let reply = r#"{"category": "D", "reason": "no"}"#;
    for kind in ["factuality", "model-graded-factuality"] {
        assert!(!graded(&input(kind, &json!("20 degrees"), "30"), &[reply]).pass);
    }
}
