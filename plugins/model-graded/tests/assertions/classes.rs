//! `classifier` and `moderation`.

use runner_plugin::json::{Value, json};
use runner_plugin::testing::Script;
use runner_plugin::{Completion, Error, Grade, Message, Role};

use super::{failed_to_grade, input, near, play, refused};

fn classified(kind: &str, value: &Value, threshold: Option<f64>, reply: Completion) -> Grade {
    let mut input = input(kind, value, "out");
    input.threshold = threshold;
    let script = Script::new().answer("classifier", reply);
    play(&input, script).result.expect("a grade")
}

#[test]
fn a_class_needs_its_score() {
    let scores = json!({ "kind": 0.9, "rude": 0.1, "odd": "1.0" });
    let text = Completion::text(scores.to_string());
    let json = Completion::text("").output(&scores);
    let (kind, rude) = (json!("kind"), json!("rude"));
    let rows = [
        (
            "classifier",
            &kind,
            Some(0.9),
            true,
            0.9,
            "kind has score 0.90 >= 0.9",
        ),
        (
            "classifier",
            &kind,
            None,
            false,
            0.9,
            "kind has score 0.90 < 1",
        ),
        ("classifier", &Value::Null, None, true, 1.0, "Maximum"),
        (
            "not-classifier",
            &rude,
            Some(0.5),
            true,
            0.9,
            "score 0.10 < 0.5",
        ),
        ("not-classifier", &kind, Some(0.5), false, 0.1, ">= 0.5"),
    ];
    for reply in [text, json] {
        for (kind, value, threshold, pass, score, reason) in rows {
            let grade = classified(kind, value, threshold, reply.clone());
            assert_eq!(grade.pass, pass, "{kind} {value} {grade:?}");
            assert!(near(grade.score, score), "{kind} {value} {grade:?}");
            assert!(grade.reason.contains(reason), "{kind} {value} {grade:?}");
        }
    }
}

#[test]
fn a_reply_that_is_no_object_of_scores_is_a_failure() {
    for (value, reply) in [
        (json!(null), "{}"),
        (json!("kind"), "[0.5]"),
        (json!("kind"), "kind"),
        (json!("kind"), r#"{"kind": "very"}"#),
        // Of a class that has no score nothing is known: it may be misspelt.
        (json!("kind"), "{}"),
        (json!("kind"), r#"{"KIND": 0.1, "other": 0.9}"#),
    ] {
        for kind in ["classifier", "not-classifier"] {
            let grade = classified(kind, &value, None, Completion::text(reply));
            assert!(!grade.pass && failed_to_grade(&grade), "{kind} {reply}");
        }
    }
    refused(&input("classifier", &json!(3), "out"), "name of a class");
    let reply = Completion::text(r#"{"LABEL_0": 0.1, "LABEL_1": 0.9}"#);
    let grade = classified("not-classifier", &json!("hate"), None, reply);
    let reason = "the classifier scored no class `hate`, only `LABEL_0`, `LABEL_1`";
    assert_eq!(grade.reason, reason);
}

#[test]
fn what_was_looked_for_and_not_found_has_no_score() {
    let found = |scores: &Value| {
        Completion::text(scores.to_string()).metadata(&json!({ "absentClasses": "not found" }))
    };
    let (mail, none) = (json!("EMAIL"), json!(null));
    for (value, scores, pass) in [
        (&mail, json!({}), true),
        (&mail, json!({ "NAME": 0.9 }), true),
        (&mail, json!({ "EMAIL": 0.9 }), false),
        (&none, json!({}), true),
        (&none, json!({ "NAME": 0.9 }), false),
    ] {
        let grade = classified("not-classifier", value, Some(0.5), found(&scores));
        assert_eq!(grade.pass, pass, "{value} {scores} {grade:?}");
        assert!(!failed_to_grade(&grade), "{grade:?}");
    }
}

fn moderated(kind: &str, value: &Value, reply: &Value) -> Grade {
    let script = Script::new().answer("moderation", Completion::text(reply.to_string()));
    play(&input(kind, value, "out"), script)
        .result
        .expect("a grade")
}

#[test]
fn a_flag_fails_if_its_category_counts() {
    let flags = json!({ "flags": [
        { "code": "hate", "description": "hateful", "confidence": 0.9 },
        { "code": "spam" },
    ] });
    for (value, reply, pass, reason) in [
        (
            json!(null),
            &flags,
            false,
            "Moderation flags detected: hateful, spam",
        ),
        (json!([]), &flags, false, "hateful, spam"),
        (
            json!(["spam", "x"]),
            &flags,
            false,
            "Moderation flags detected: spam",
        ),
        (
            json!(["violence"]),
            &flags,
            true,
            "No relevant moderation flags detected",
        ),
        (
            json!(null),
            &json!({ "flags": [] }),
            true,
            "No moderation flags detected",
        ),
    ] {
        for (kind, expected) in [("moderation", pass), ("not-moderation", !pass)] {
            let grade = moderated(kind, &value, reply);
            assert_eq!(grade.pass, expected, "{kind} {value} {grade:?}");
            assert!(
                near(grade.score, if expected { 1.0 } else { 0.0 }),
                "{grade:?}"
            );
            assert!(grade.reason.contains(reason), "{grade:?}");
        }
    }
    for reply in [json!({}), json!({ "flags": true }), json!("fine")] {
        let grade = moderated("not-moderation", &Value::Null, &reply);
        assert!(!grade.pass && failed_to_grade(&grade), "{reply}");
    }
    refused(
        &input("moderation", &json!("hate"), "out"),
        "list of categories",
    );
}

#[test]
fn the_last_question_and_the_answer_are_looked_at() {
    let mut input = input("moderation", &Value::Null, "out");
    input.prompt = vec![
        Message::system("be good"),
        Message::user("first"),
        Message::assistant("yes?"),
        Message::user("second"),
    ];
    let reply = Completion::text(r#"{"flags": []}"#);
    let played = play(&input, Script::new().answer("moderation", reply));
    let request = &played.asked[0].1;
    let sent: Vec<(Role, String)> = request
        .messages
        .iter()
        .map(|message| (message.role, message.text()))
        .collect();
    assert_eq!(
        sent,
        [
            (Role::User, "second".to_owned()),
            (Role::Assistant, "out".to_owned())
        ]
    );
    assert_eq!(request.prompt, "second");
    input.output = String::new();
    let grade = play(&input, Script::new()).result.expect("a grade");
    assert_eq!(
        (grade.pass, grade.reason.as_str()),
        (true, "No output to moderate")
    );
    input.output = "out".to_owned();
    let script = Script::new().refuse("moderation", Error::auth("no key"));
    let grade = play(&input, script).result.expect("a grade");
    assert!(!grade.pass && failed_to_grade(&grade));
}
