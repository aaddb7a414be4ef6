//! `factuality`, `model-graded-closedqa` and `g-eval`.

use runner_plugin::json::{Value, json};

use super::{Row, graded, input, play, refused, replies, table, unreadable};

#[test]
fn factuality_is_a_category_with_a_score() {
    let input = input("factuality", &json!("20 degrees"), "It is 20.");
    for (reply, pass, reason) in [
        (r#"{"category": "A", "reason": "less"}"#, true, "less"),
        (r#"{"category": "b"}"#, true, "Category B: "),
        ("Sure: {category: 'C', reason: ''}", true, "Category C: "),
        (r#"{"category": "D", "reason": "no"}"#, false, "no"),
        (r#"{"category": " E "}"#, true, "Category E: "),
        (
            "(D) They contradict (badly).",
            false,
            "They contradict (badly).",
        ),
        ("My choice is a)", true, "My choice is a)"),
    ] {
        let score = if pass { 1.0 } else { 0.0 };
        table(
            &input,
            &[Row {
                replies: &[reply],
                pass,
                score,
                reason,
            }],
        );
    }
    unreadable(
        &input,
        &[
            &["dunno"],
            &[r#"{"category": "F"}"#],
            &[r#"{"category": "AB"}"#],
            &["(see above)"],
            &["{\"category\": 3}"],
        ],
    );
}

#[test]
fn the_scores_of_factuality_are_the_users() {
    let scores = json!({ "subset": 0.5, "disagree": 0.25, "agree": 0 });
    for (category, pass, score) in [
        ("A", true, 0.5),
        ("B", true, 1.0),
        ("C", false, 0.0),
        ("D", true, 0.25),
    ] {
        let mut input = input("factuality", &json!("x"), "y");
        input.test_json = Some(json!({ "options": { "factuality": scores } }).to_string());
        let reply = format!(r#"{{"category": "{category}", "reason": "r"}}"#);
        table(
            &input,
            &[Row {
                replies: &[&reply],
                pass,
                score,
                reason: "r",
            }],
        );
    }
    for scores in [json!({ "subset": "high" }), json!({ "sbset": 1 }), json!(1)] {
        let mut input = input("factuality", &json!("x"), "y");
        input.config_json = Some(json!({ "factuality": scores }).to_string());
        refused(&input, "factuality");
    }
}

#[test]
fn question_reference_and_answer_reach_the_grader() {
    for (kind, reply) in [("factuality", "(A)"), ("model-graded-closedqa", "Y")] {
        let played = play(&input(kind, &json!("<ref>"), "<out>"), replies(&[reply]));
        let text = played.asked[0].1.messages[1].text();
        for part in ["How warm is it?", "<ref>", "<out>"] {
            assert!(text.contains(part), "{kind}: {text}");
        }
        for value in [Value::Null, json!(""), json!(3), json!(["x"])] {
            refused(&input(kind, &value, "out"), kind);
        }
    }
}

#[test]
fn a_chat_is_the_question_as_json() {
    let mut input = input("model-graded-closedqa", &json!("x"), "y");
    input
        .prompt
        .insert(0, runner_plugin::Message::system("Be \"brief\"."));
    input.config_json = Some(json!({ "rubricPrompt": "{{ input }}" }).to_string());
    let played = play(&input, replies(&["Y"]));
    let chat: Value = serde_json::from_str(&played.asked[0].1.prompt).expect("JSON");
    assert_eq!(
        chat[0],
        json!({ "role": "system", "content": "Be \"brief\"." })
    );
    assert_eq!(chat[1]["role"], json!("user"));
    input.prompt.clear();
    refused(&input, "needs the prompt");
}

#[test]
fn closed_qa_is_the_letter_at_the_end() {
    let input = input("model-graded-closedqa", &json!("is warm"), "It is 20.");
    table(
        &input,
        &[
            Row {
                replies: &["thinking\nY \n"],
                pass: true,
                score: 1.0,
                reason: "The submission meets",
            },
            Row {
                replies: &["Y and yet N"],
                pass: false,
                score: 0.0,
                reason: "does not meet",
            },
        ],
    );
    unreadable(&input, &[&["y"], &["Yes"], &["Y."], &[""]]);
}

const STEPS: &str = r#"Here: {"steps": ["look", "think"]}"#;

#[test]
fn g_eval_plans_and_then_gives_points() {
    let input = input("g-eval", &json!("coherent"), "out");
    table(
        &input,
        &[
            Row {
                replies: &[STEPS, r#"{"score": 7, "reason": "ok"}"#],
                pass: true,
                score: 0.7,
                reason: "ok",
            },
            Row {
                replies: &[STEPS, r#"{"score": "6", "reason": "so"}"#],
                pass: false,
                score: 0.6,
                reason: "so",
            },
            Row {
                replies: &[STEPS, r#"{"score": 10}"#],
                pass: true,
                score: 1.0,
                reason: "10 of 10 points",
            },
        ],
    );
    unreadable(
        &input,
        &[
            &["no steps"],
            &[r#"{"steps": []}"#],
            &[r#"{"steps": [" "]}"#],
            &[r#"{"steps": "look"}"#],
            &[STEPS, "seven"],
            &[STEPS, r#"{"score": 11, "reason": "wow"}"#],
            &[STEPS, r#"{"score": -1, "reason": "bah"}"#],
            &[STEPS, r#"{"score": null, "reason": "?"}"#],
        ],
    );
    for value in [Value::Null, json!([]), json!([1]), json!("")] {
        refused(&super::input("g-eval", &value, "out"), "g-eval");
    }
}

#[test]
fn several_criteria_are_graded_by_their_mean() {
    let mut input = input("g-eval", &json!(["a", "b"]), "out");
    let rows = [
        STEPS,
        r#"{"score": 9, "reason": "A"}"#,
        STEPS,
        r#"{"score": 4, "reason": "B"}"#,
    ];
    table(
        &input,
        &[Row {
            replies: &rows,
            pass: false,
            score: 0.65,
            reason: "A\n\nB",
        }],
    );
    input.threshold = Some(0.65);
    assert!(graded(&input, &rows).pass);
    unreadable(&input, &[&[STEPS, r#"{"score": 9}"#, "no steps"]]);
}

#[test]
fn both_questions_of_g_eval_can_be_the_users() {
    let mut input = input("g-eval", &json!("coherent"), r#"{"k": "out"}"#);
    let prompts = json!({
        "steps": "plan {{ criteria }}",
        "evaluate": "{{ criteria }}|- {{ steps }}|{{ maxScore }}|{{ input }}|{{ output.k }}",
    });
    input.config_json = Some(json!({ "rubricPrompt": prompts }).to_string());
    let played = play(&input, replies(&[STEPS, r#"{"score": 5}"#]));
    assert_eq!(played.asked[0].1.prompt, "plan coherent");
    assert_eq!(
        played.asked[1].1.prompt,
        "coherent|- look\n- think|10|How warm is it?|out"
    );
    input.config_json = Some(json!({ "rubricPrompt": "one text" }).to_string());
    refused(&input, "{steps, evaluate}");
}

#[test]
fn a_prompt_that_a_test_has_for_its_other_assertions_is_not_for_g_eval() {
    let rows = [STEPS, r#"{"score": 9, "reason": "ok"}"#];
    let mut input = input("g-eval", &json!("coherent"), "out");
    let own = play(&input, replies(&rows)).asked;
    for prompt in [
        json!("Is {{ output }} good?"),
        json!([{ "role": "user", "content": "?" }]),
    ] {
        input.test_json = Some(json!({ "options": { "rubricPrompt": prompt } }).to_string());
        let played = play(&input, replies(&rows));
        assert_eq!(played.asked, own, "our own questions");
        input.extra_json = Some(json!({ "rubricPrompt": prompt }).to_string());
        refused(&input, "{steps, evaluate}");
        input.extra_json = None;
    }
    let steps = json!({ "options": { "rubricPrompt": { "steps": "plan {{ criteria }}" } } });
    input.test_json = Some(steps.to_string());
    let played = play(&input, replies(&rows));
    assert_eq!(played.asked[0].1.prompt, "plan coherent");
}
