//! `context-recall`, `context-relevance`, `context-faithfulness`, `conversation-relevance`.

use runner_plugin::json::{Value, json};

use super::{
    Row, graded, input, input_with, metadata, near, play, refused, replies, table, unreadable,
};

const CONTEXT: &str = "Berlin is the capital. It has 3.7 million people. It rains!";

fn vars(context: &Value) -> Value {
    json!({ "query": "Where?", "context": context })
}

#[test]
fn recall_counts_what_is_attributed() {
    let input = input_with(
        "context-recall",
        &json!("Berlin."),
        "out",
        &vars(&json!(CONTEXT)),
    );
    table(
        &input,
        &[
            Row {
                replies: &["1. B. So. [Attributed]"],
                pass: true,
                score: 1.0,
                reason: "Recall 1.00 is >= 0.5",
            },
            Row {
                replies: &[
                    "Let's see:\n1. a [ATTRIBUTED]\n\n2. b [Not Attributed]\n3. c [not attributed]",
                ],
                pass: false,
                score: 1.0 / 3.0,
                reason: "Recall 0.33 is < 0.5",
            },
            Row {
                replies: &["a [Attributed]\nb [Not Attributed]"],
                pass: true,
                score: 0.5,
                reason: ">= 0.5",
            },
        ],
    );
    unreadable(&input, &[&["I cannot say."], &[""]]);
}

#[test]
fn recall_without_a_context_looks_at_the_prompt() {
    let played = play(
        &input("context-recall", &json!("20"), "out"),
        replies(&["a [Attributed]"]),
    );
    assert!(
        played.asked[0].1.messages[1]
            .text()
            .contains("How warm is it?")
    );
}

#[test]
fn relevance_counts_sentences_lines_or_chunks() {
    for (context, reply, score) in [
        (json!(CONTEXT), "Berlin is the capital.", 1.0 / 3.0),
        (
            json!(CONTEXT),
            "Berlin is the capital. It rains!",
            2.0 / 3.0,
        ),
        (json!(CONTEXT), "It rains! It rains!", 1.0 / 3.0),
        (json!(CONTEXT), "1. berlin is\nthe capital.", 2.0 / 3.0),
        (json!(CONTEXT), "Insufficient Information", 0.0),
        (json!("one. two.\nthree.\n\nfour."), "three.", 1.0 / 3.0),
        (json!(["first chunk. more.", "second", " "]), "second", 0.5),
        (json!(["first", "second"]), "first\nsecond\nthird", 1.0),
    ] {
        let input = input_with("context-relevance", &Value::Null, "out", &vars(&context));
        let row = Row {
            replies: &[reply],
            pass: score >= 0.5,
            score,
            reason: "Context relevance",
        };
        table(&input, &[row]);
    }
    let input = input_with(
        "context-relevance",
        &Value::Null,
        "out",
        &vars(&json!(CONTEXT)),
    );
    unreadable(&input, &[&["I'm sorry, I can't help with that."]]);
}

#[test]
fn faithfulness_counts_statements_that_are_borne_out() {
    let input = input_with(
        "context-faithfulness",
        &Value::Null,
        "out",
        &vars(&json!(CONTEXT)),
    );
    let three = "It is Berlin.\n\nIt rains.\nIt is large.";
    for (reply, score) in [
        (
            "Final verdict for each statement in order: Yes. Yes. Yes.",
            1.0,
        ),
        (
            "Final verdict for each statement in order: Yes. No. Yes.",
            2.0 / 3.0,
        ),
        ("Final verdict for each statement in order: Yes.", 1.0 / 3.0),
        (
            "1. so. Verdict: No.\n2. so. Verdict: No.\n3. so. Verdict: Yes.",
            1.0 / 3.0,
        ),
        (
            "Final verdict for each statement in order: No. No. No. No. No.",
            0.0,
        ),
    ] {
        let row = Row {
            replies: &[three, reply],
            pass: score >= 0.5,
            score,
            reason: "Faithfulness",
        };
        table(&input, &[row]);
    }
    unreadable(&input, &[&[" "], &[three, "All fine."]]);
    let played = play(&input, replies(&[three, "verdict: yes"]));
    let text = played.asked[1].1.messages[1].text();
    assert!(
        text.contains("1. It is Berlin.\n2. It rains.\n3. It is large.\n"),
        "{text}"
    );
}

#[test]
fn both_questions_of_faithfulness_can_be_the_users() {
    let chat = json!([{ "role": "user", "content": "{{ context }}:{{ statements }}" }]);
    for (prompts, second) in [
        (
            json!(["{{ question }} {{ answer }}", "{{ statements[0] }}"]),
            "s1",
        ),
        (
            json!([{ "role": "user", "content": "{{ question }} {{ answer }}" }, { "content": "{{ statements }}" }]),
            "s1,s2",
        ),
        (
            json!(["{{ question }} {{ answer }}", chat]),
            r#"[{"role":"user","content":"c:s1,s2"}]"#,
        ),
    ] {
        let mut input = input_with(
            "context-faithfulness",
            &Value::Null,
            "out",
            &vars(&json!("c")),
        );
        input.config_json = Some(json!({ "rubricPrompt": prompts }).to_string());
        let played = play(&input, replies(&["s1\ns2", "verdict: yes"]));
        assert_eq!(played.asked[0].1.prompt, "Where? out");
        assert_eq!(played.asked[1].1.prompt, second);
    }
    let mut input = input_with(
        "context-faithfulness",
        &Value::Null,
        "out",
        &vars(&json!("c")),
    );
    input.config_json = Some(json!({ "rubricPrompt": "one" }).to_string());
    refused(&input, "list of two");
}

#[test]
fn what_is_missing_is_named() {
    for kind in ["context-relevance", "context-faithfulness"] {
        let no_context = json!({ "query": "q" });
        refused(
            &input_with(kind, &Value::Null, "out", &no_context),
            "needs a context",
        );
        let no_query = json!({ "context": "c" });
        refused(&input_with(kind, &Value::Null, "out", &no_query), "`query`");
        let odd = json!({ "query": "q", "context": [1] });
        refused(
            &input_with(kind, &Value::Null, "out", &odd),
            "list of texts",
        );
    }
    refused(
        &input("context-recall", &Value::Null, "out"),
        "takes a text",
    );
}

#[test]
fn what_a_transform_made_wins_over_the_variable() {
    let mut input = input_with(
        "context-recall",
        &json!("x"),
        "out",
        &vars(&json!("from the variable")),
    );
    input.extra_json = Some(json!({ "context": ["from", "the transform"] }).to_string());
    let played = play(&input, replies(&["a [Attributed]"]));
    let text = played.asked[0].1.messages[1].text();
    assert!(text.contains("from\n\nthe transform"), "{text}");
}

#[test]
fn a_threshold_moves_the_line() {
    for (kind, replies) in [
        ("context-recall", vec!["a [Attributed]\nb [Not Attributed]"]),
        ("context-relevance", vec!["one"]),
        (
            "context-faithfulness",
            vec!["s\nt", "verdict: yes verdict: no"],
        ),
    ] {
        let mut input = input_with(kind, &json!("v"), "out", &vars(&json!(["one", "two"])));
        input.threshold = Some(0.6);
        let grade = graded(&input, &replies);
        assert!(!grade.pass && near(grade.score, 0.5), "{kind}: {grade:?}");
        input.threshold = Some(0.0);
        assert!(graded(&input, &replies).pass);
    }
}

fn conversation(turns: usize) -> Value {
    let turn = |n| json!({ "prompt": "p", "input": format!("q{n}"), "output": format!("a{n}") });
    json!({ "_conversation": (0..turns).map(turn).collect::<Vec<_>>() })
}

const YES: &str = r#"{"verdict": "yes"}"#;
const NO: &str = r#"{"verdict": "No", "reason": "off topic."}"#;

#[test]
fn a_window_slides_over_the_conversation() {
    let kind = "conversation-relevance";
    for (turns, replies, pass, score, reason) in [
        (
            1,
            vec![YES],
            true,
            1.0,
            "1 out of 1 conversation windows were relevant",
        ),
        (
            5,
            vec![NO],
            false,
            0.0,
            "0 out of 1 conversation windows were relevant: off topic.",
        ),
        (7, vec![YES, NO, YES], true, 2.0 / 3.0, "2 out of 3"),
    ] {
        let input = input_with(kind, &Value::Null, "out", &conversation(turns));
        table(
            &input,
            &[Row {
                replies: &replies,
                pass,
                score,
                reason,
            }],
        );
    }
    let input = input_with(kind, &Value::Null, "out", &conversation(6));
    unreadable(&input, &[&[YES, "hm"], &[r#"{"verdict": "maybe"}"#, YES]]);
    let played = play(&input, replies(&[YES, YES]));
    let text = played.asked[1].1.messages[1].text();
    assert!(
        text.contains("User: q1\nAssistant: a1\n") && !text.contains("q0"),
        "{text}"
    );
    assert_eq!(
        metadata(&played.result.expect("a grade"))["tokensUsed"]["numRequests"],
        json!(2)
    );
}

#[test]
fn a_conversation_is_the_variable_or_the_one_turn_there_is() {
    let kind = "conversation-relevance";
    let played = play(&input(kind, &Value::Null, "It is 20."), replies(&[YES]));
    let text = played.asked[0].1.messages[1].text();
    assert!(
        text.contains("User: How warm is it?\nAssistant: It is 20.\n"),
        "{text}"
    );
    let odd = json!({ "_conversation": "hello" });
    refused(&input_with(kind, &Value::Null, "x", &odd), "_conversation");
    let mut input = input_with(kind, &Value::Null, "x", &conversation(3));
    input.config_json = Some(json!({ "windowSize": 1 }).to_string());
    assert!(graded(&input, &[YES, YES, NO]).pass);
    for size in [json!(0), json!("5"), json!(2000)] {
        input.config_json = Some(json!({ "windowSize": size }).to_string());
        refused(&input, "windowSize");
    }
}
