//! `llm-rubric`, and what all types share: the question's form, knobs, failures, costs.

use runner_plugin::json::{Value, json};
use runner_plugin::testing::Script;
use runner_plugin::{Completion, Error, ErrorCode, Input, Part, Role, Usage};

use super::{Row, failed_to_grade, graded, input, input_with, metadata, near, play, refused};
use super::{replies, table, unreadable};

fn polite(output: &str) -> Input {
    input("llm-rubric", &json!("is polite"), output)
}

const PASS: &str = r#"{"pass": true, "score": 1, "reason": "fine"}"#;

#[test]
fn the_reply_is_the_verdict() {
    let row = |reply, pass, score, reason| (reply, pass, score, reason);
    for (reply, pass, score, reason) in [
        row(PASS, true, 1.0, "fine"),
        row(
            r#"{"pass": false, "score": 0.2, "reason": "rude"}"#,
            false,
            0.2,
            "rude",
        ),
        row(
            "Well:\n```json\n{pass: false, reason: 'rude'}\n```",
            false,
            0.0,
            "rude",
        ),
        row(r#"{"score": 0.4}"#, true, 0.4, "Grading passed"),
        row(r#"{"reason": "good"}"#, true, 1.0, "good"),
        row(r#"{"pass": "Yes"}"#, true, 1.0, "Grading passed"),
        row(r#"{"pass": "nope"}"#, false, 0.0, "Grading failed"),
        row(r#"{"pass": 1}"#, false, 0.0, "Grading failed"),
        row(
            r#"{"pass": true, "score": "0.25"}"#,
            true,
            0.25,
            "Grading passed",
        ),
        row(
            r#"{"pass": true, "score": "high"}"#,
            true,
            1.0,
            "Grading passed",
        ),
        row(r#"{"pass": true, "score": 7}"#, true, 7.0, "Grading passed"),
        row(r#"{"pass": false, "reason": "cut o"#, false, 0.0, "cut o"),
    ] {
        let rows = [Row {
            replies: &[reply],
            pass,
            score,
            reason,
        }];
        table(&polite("hello"), &rows);
    }
}

#[test]
fn a_threshold_is_a_second_condition() {
    let mut input = polite("hello");
    input.threshold = Some(0.5);
    for (reply, pass, reason) in [
        (r#"{"pass": true, "score": 0.5}"#, true, "Grading passed"),
        (
            r#"{"pass": true, "score": 0.4}"#,
            false,
            "Score 0.4 below threshold 0.5",
        ),
        (r#"{"pass": false, "score": 0.9}"#, false, "Grading failed"),
    ] {
        let grade = graded(&input, &[reply]);
        assert_eq!(
            (grade.pass, grade.reason.as_str()),
            (pass, reason),
            "{reply}"
        );
    }
}

#[test]
fn a_reply_without_a_verdict_is_no_verdict() {
    unreadable(
        &polite("hello"),
        &[
            &["I'd rather not."],
            &["{thinking}"],
            &[r#"{"opinion": "good"}"#],
            &["  "],
            &["[true]"],
        ],
    );
}

#[test]
fn a_grader_that_fails_is_a_failed_assertion_and_what_only_users_can_mend_is_an_error() {
    for code in [
        ErrorCode::Timeout,
        ErrorCode::Auth,
        ErrorCode::Other,
        ErrorCode::RateLimited,
    ] {
        for kind in ["llm-rubric", "not-llm-rubric"] {
            let script = Script::new().refuse("grader", Error::new(code, "no luck"));
            let grade = play(&input(kind, &json!("x"), "y"), script)
                .result
                .expect("a grade");
            assert!(!grade.pass && failed_to_grade(&grade), "{kind} {code:?}");
            assert_eq!(grade.reason, "the grader could not answer: no luck");
        }
    }
    for code in [ErrorCode::Denied, ErrorCode::Budget, ErrorCode::Unsupported] {
        let script = Script::new().refuse("grader", Error::new(code, "not you"));
        let error = play(&polite("y"), script).result.expect_err("no grade");
        assert_eq!((error.code, error.message.as_str()), (code, "not you"));
    }
    let script = Script::new().refuse("grader", Error::rate_limited("slow"));
    let grade = play(&polite("y"), script).result.expect("a grade");
    assert_eq!(metadata(&grade)["graderErrorCode"], json!("rate-limited"));
}

#[test]
fn the_answer_may_come_as_json_instead_of_text() {
    let reply = Completion::text("").output(&json!({ "pass": false, "reason": "rude" }));
    let played = play(&polite("y"), Script::new().answer("grader", reply));
    assert_eq!(played.result.expect("a grade").reason, "rude");
    let reply = Completion::text("").output(&json!([1]));
    let played = play(&polite("y"), Script::new().answer("grader", reply));
    assert!(failed_to_grade(&played.result.expect("a grade")));
}

#[test]
fn our_question_holds_answer_and_rubric_as_they_are() {
    let vars = json!({ "output": "a variable", "rubric": "another" });
    for output in [
        "it's \"{{ 1 }}\" {% raw",
        r#"{ "a": [1.0] }"#,
        "1.0",
        "null",
    ] {
        let input = input_with("llm-rubric", &json!("is {{ polite }}"), output, &vars);
        let played = play(&input, replies(&[PASS]));
        let request = &played.asked[0].1;
        let roles: Vec<Role> = request
            .messages
            .iter()
            .map(|message| message.role)
            .collect();
        assert_eq!(roles, [Role::System, Role::User]);
        let text = request.messages[1].text();
        assert!(text.contains(&format!("\n{output}\n")), "{text}");
        assert!(text.contains("\nis {{ polite }}\n"), "{text}");
        let whole: Value = serde_json::from_str(&request.prompt).expect("JSON");
        assert_eq!(whole[1]["content"], json!(text));
        let grade = played.result.expect("a grade");
        assert_eq!(
            metadata(&grade)["renderedGradingPrompt"],
            json!(request.prompt)
        );
        let reply = &metadata(&grade)["judgeReplies"][0];
        assert!(
            reply["text"].as_str().is_some_and(|it| it.contains("pass")),
            "{reply}"
        );
    }
}

#[test]
fn the_users_question_is_asked_as_written() {
    let vars = json!({ "tone": "say \"hi\"", "n": 2.0 });
    for (prompt, expected, messages) in [
        (
            json!("{{ output }}|{{ rubric }}|{{ tone }}"),
            "out|is polite|say \"hi\"",
            1,
        ),
        (
            json!([{ "role": "system", "content": "{{ tone }}" }, { "role": "user", "content": "{{ output }}" }]),
            r#"[{"role":"system","content":"say \"hi\""},{"role":"user","content":"out"}]"#,
            2,
        ),
        (
            json!(r#"[{"role": "user", "content": "{{ tone }} {{ n }}"}]"#),
            r#"[{"role":"user","content":"say \"hi\" 2"}]"#,
            1,
        ),
        (
            json!(r#"{"{{ n }}": ["{{ n }}", 1]}"#),
            r#"{"{{ n }}":["2",1]}"#,
            1,
        ),
        (json!("[not json {{ n }}"), "[not json 2", 1),
    ] {
        let mut input = input_with("llm-rubric", &json!("is polite"), "out", &vars);
        input.test_json = Some(json!({ "options": { "rubricPrompt": prompt } }).to_string());
        let played = play(&input, replies(&[PASS]));
        let request = &played.asked[0].1;
        assert_eq!(request.prompt, expected);
        assert_eq!(request.messages.len(), messages, "{prompt}");
    }
}

#[test]
fn parts_of_a_message_are_kept() {
    let mut input = polite("out");
    let image =
        json!({ "type": "image_url", "image_url": { "url": "https://x.test/{{ output }}" } });
    let parts =
        json!([{ "type": "text", "text": "see" }, image, { "type": "odd", "x": "{{ output }}" }]);
    let config = json!({ "rubricPrompt": [{ "role": "user", "content": parts }] });
    input.config_json = Some(config.to_string());
    let played = play(&input, replies(&[PASS]));
    let odd = json!({ "type": "odd", "x": "out" }).to_string();
    let expected = [
        Part::Text("see".to_owned()),
        Part::Url("https://x.test/out".to_owned()),
        Part::Other(odd),
    ];
    assert_eq!(
        format!("{:?}", played.asked[0].1.messages[0].content),
        format!("{expected:?}")
    );
}

#[test]
fn the_nearest_knob_wins() {
    let at = |text: &str| Some(json!({ "rubricPrompt": text }).to_string());
    let mut input = polite("out");
    input.test_json = Some(json!({ "options": { "rubricPrompt": "test" } }).to_string());
    assert_eq!(play(&input, replies(&[PASS])).asked[0].1.prompt, "test");
    input.config_json = at("config");
    assert_eq!(play(&input, replies(&[PASS])).asked[0].1.prompt, "config");
    input.extra_json = at("beside");
    assert_eq!(play(&input, replies(&[PASS])).asked[0].1.prompt, "beside");
    input.extra_json = at("");
    let prompt = play(&input, replies(&[PASS])).asked[0].1.prompt.clone();
    assert!(prompt.contains("<rubric>"), "{prompt}");
}

#[test]
fn a_test_variable_wins_in_a_prompt_that_was_written_for_it() {
    let vars = json!({ "output": "variable" });
    let mut input = input_with("llm-rubric", &json!("x"), "answer", &vars);
    input.config_json = Some(json!({ "rubricPrompt": "{{ output }}" }).to_string());
    assert_eq!(play(&input, replies(&[PASS])).asked[0].1.prompt, "variable");
}

#[test]
fn a_rubric_may_be_any_value_or_stand_in_the_prompt_alone() {
    for (value, shown) in [
        (json!({ "a": 1 }), r#"{"a":1}"#),
        (json!(["x", "y"]), "x,y"),
        (json!(3), "3"),
    ] {
        let played = play(&input("llm-rubric", &value, "out"), replies(&[PASS]));
        let text = played.asked[0].1.messages[1].text();
        assert!(text.contains(&format!("\n{shown}\n")), "{text}");
    }
    for value in [Value::Null, json!("")] {
        refused(&input("llm-rubric", &value, "out"), "needs a value");
        let mut input = input("llm-rubric", &value, "out");
        input.config_json = Some(json!({ "rubricPrompt": "is it?" }).to_string());
        assert!(graded(&input, &[PASS]).pass);
    }
}

#[test]
fn a_prompt_that_cannot_be_asked_is_said_so() {
    for (prompt, part) in [
        (json!("file://grader.txt"), "file"),
        (json!(7), "takes a text"),
        (json!("{{ output output }}"), "template"),
        (json!("{{ output | nosuch }}"), "nosuch"),
    ] {
        let mut input = polite("out");
        input.config_json = Some(json!({ "rubricPrompt": prompt }).to_string());
        refused(&input, part);
    }
}

#[test]
fn what_asking_cost_is_told() {
    let usage = Usage {
        input_tokens: Some(10),
        output_tokens: Some(4),
        ..Usage::default()
    };
    let reply = Completion::text(PASS).usage(usage);
    let played = play(&polite("y"), Script::new().answer("grader", reply));
    let used = &metadata(&played.result.expect("a grade"))["tokensUsed"];
    let expected =
        json!({ "total": 14, "prompt": 10, "completion": 4, "cached": 0, "numRequests": 1 });
    assert_eq!(used, &expected);
    assert!(near(graded(&polite("y"), &[PASS]).score, 1.0));
}
