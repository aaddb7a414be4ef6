//! Each rule broken once, and the answers that keep all of them.

use serde_json::json;

use super::*;
use crate::abi::{ErrorCode, GradeComponent, Message, Role, ToolCall, Usage};

fn good_grade() -> Grade {
    Grade {
        pass: true,
        score: 0.5,
        reason: String::new(),
        named_scores: vec![("tone".into(), 1.0), ("length".into(), 0.0)],
        components: vec![GradeComponent {
            name: "a".into(),
            pass: true,
            score: 1.0,
            weight: 1.0,
            reason: String::new(),
        }],
        metadata_json: Some("[1]".into()),
    }
}

fn good_completion() -> Completion {
    Completion {
        output_json: Some("{\"a\": [1, 2]}".into()),
        cost_usd: Some(0.1),
        metadata_json: Some(" {}".into()),
        ..Completion::new(vec![Part::Text("hi".into())])
    }
}

fn field_of_grade(change: impl FnOnce(&mut Grade)) -> String {
    let mut answer = good_grade();
    change(&mut answer);
    grade(Ok(answer)).expect_err("a rule is broken").field
}

fn field_of_completion(change: impl FnOnce(&mut Completion)) -> String {
    let mut answer = good_completion();
    change(&mut answer);
    completion(Ok(answer)).expect_err("a rule is broken").field
}

#[test]
fn a_result_of_code_is_json_or_nothing() {
    let outcome = |text: Option<&str>| ScriptOutcome {
        result: Ok(text.map(str::to_owned)),
        console: Vec::new(),
    };
    let read = |text: Option<&str>| {
        let (result, _) = script(outcome(text)).map_err(|violation| violation.field)?;
        Ok(result.expect("no failure"))
    };
    assert_eq!(read(None), Ok(None));
    assert_eq!(read(Some("[1]")), Ok(Some(json!([1]))));
    assert_eq!(read(Some("NaN")), Err("outcome.result".to_owned()));
}

#[test]
fn answers_that_keep_the_rules_pass() {
    let read = grade(Ok(good_grade())).expect("it keeps them");
    assert_eq!(read.expect("a grade").metadata, Map::new());
    let with_members = Grade {
        metadata_json: Some("{\"a\": [1, 2]}".into()),
        ..good_grade()
    };
    let read = grade(Ok(with_members)).expect("it keeps them");
    assert_eq!(
        json!(read.expect("a grade").metadata),
        json!({ "a": [1, 2] })
    );
    let read = completion(Ok(good_completion())).expect("it keeps them");
    let read = read.expect("an answer");
    assert_eq!(read.output, Some(json!({ "a": [1, 2] })));
    assert_eq!((read.raw, read.metadata), (None, Map::new()));
    assert!(grade(Err(Error::new(ErrorCode::Other, "no"))).is_ok());
}

#[test]
fn each_number_of_a_grade_must_be_finite() {
    assert_eq!(field_of_grade(|g| g.score = f64::NAN), "grade.score");
    assert_eq!(
        field_of_grade(|g| g.named_scores[1].1 = f64::INFINITY),
        "grade.named-scores[length]"
    );
    assert_eq!(
        field_of_grade(|g| g.components[0].weight = f64::NEG_INFINITY),
        "grade.components[0].weight"
    );
}

#[test]
fn a_named_score_stands_once() {
    assert_eq!(
        field_of_grade(|g| g.named_scores.push(("tone".into(), 0.2))),
        "grade.named-scores"
    );
}

#[test]
fn json_fields_are_json_and_objects_where_the_contract_says_so() {
    assert_eq!(
        field_of_completion(|c| c.raw_json = Some("{".into())),
        "completion.raw-json"
    );
    assert_eq!(
        field_of_completion(|c| c.metadata_json = Some("[]".into())),
        "completion.metadata-json"
    );
    assert_eq!(
        field_of_completion(|c| {
            c.message.content.push(Part::ToolCall(ToolCall {
                id: "1".into(),
                name: "f".into(),
                arguments_json: "{'a': 1}".into(),
            }));
        }),
        "completion.message.content[1]"
    );
    let mut failure = Error::new(ErrorCode::Other, "no");
    failure.detail_json = Some("<html>".into());
    assert_eq!(
        grade(Err(failure)).map_err(|v| v.field).err(),
        Some("error.detail-json".into())
    );
}

#[test]
fn the_place_and_the_beginning_of_broken_json_are_told() {
    let text = format!("{{\n  \"key\": nope{}", "é".repeat(100));
    let violation = json("f", &text, Shape::Any).expect_err("broken");
    assert_eq!(violation.what, "is not JSON at byte 12");
    assert!(violation.excerpt.len() <= EXCERPT_BYTES, "cut");
    assert!(text.starts_with(&violation.excerpt), "the beginning");
}

#[test]
fn lists_are_as_long_as_asked() {
    let vectors = |vectors: Vec<Vec<f32>>| {
        Ok(Embeddings {
            vectors,
            usage: Usage::unknown(),
            cost_usd: None,
        })
    };
    assert_eq!(embeddings(&vectors(vec![vec![1.0]]), 1), Ok(()));
    assert!(embeddings(&vectors(vec![]), 1).is_err(), "none for one");
    assert!(
        embeddings(&vectors(vec![vec![f32::NAN]]), 1).is_err(),
        "NaN"
    );
}

#[test]
fn brackets_in_strings_are_not_depth() {
    assert_eq!(extent(r#"{"a\"[[[": [[1], "]"]}"#).0, 3);
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(json("f", &deep, Shape::Any).is_err(), "200 levels");
}

#[test]
fn what_a_guest_asks_is_held_to_the_same_before_it_is_read() {
    let asked = |change: &dyn Fn(&mut Request)| {
        let mut asked = Request::new(vec![Message::text(Role::User, "hi")], "");
        change(&mut asked);
        let told = |violation: Violation| format!("{} {}", violation.field, violation.what);
        request(&asked).map_err(told)
    };
    let list = |items: usize| format!("[{}]", vec!["0"; items].join(","));
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(asked(&|_| {}), Ok(()));
    assert_eq!(
        asked(&|it| {
            it.options_json = some(r#"{"temperature":0}"#);
            it.tools_json = Some(list(MAX_VALUES / 2));
            it.response_schema_json = some("{}");
        }),
        Ok(())
    );
    let many = || Err(format!("request has more than {MAX_VALUES} values"));
    let half = list(MAX_VALUES / 2 + 1);
    assert_eq!(
        asked(&|it| it.options_json = Some(format!(r#"{{"a":{}}}"#, list(MAX_VALUES)))),
        many()
    );
    assert_eq!(
        asked(&|it| {
            it.tools_json = Some(half.clone());
            it.response_schema_json = Some(half.clone());
        }),
        many()
    );
    let in_parts = |part: &Part| asked(&|it| it.messages[0].content = vec![part.clone(); 2]);
    assert_eq!(in_parts(&Part::Other(half.clone())), many());
    let call = ToolCall {
        id: String::new(),
        name: "f".to_owned(),
        arguments_json: half.clone(),
    };
    assert_eq!(in_parts(&Part::ToolCall(call)), many());
    assert_eq!(
        asked(&|it| it.tools_json = Some(nested(MAX_DEPTH + 1))),
        Err(format!("request is nested deeper than {MAX_DEPTH} levels"))
    );
    // What one reader refuses and another takes would be asked unseen.
    for (options, told) in [
        (
            r#"{"apiBaseUrl":"http://evil.example","n":1e999}"#,
            "request.options-json has a number that is too large, at byte ",
        ),
        (r#"{"a":1,}"#, "request.options-json is not JSON at byte "),
        ("[]", "request.options-json is not a JSON object"),
    ] {
        let refused = asked(&|it| it.options_json = some(options)).expect_err("refused");
        assert!(refused.starts_with(told), "{refused}");
    }
}
