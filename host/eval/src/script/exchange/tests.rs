//! What code says of an answer, and what becomes of it.

use runner_sandbox::abi::{Completion, Form, Usage};
use serde_json::json;

use super::*;

/// What a plugin gives that was told to give the body as it came.
fn raw() -> ReadCompletion {
    let metadata =
        json!({ "http": { "status": 200 }, "$response": { "status": 200, "headers": {} } });
    let completion = Completion {
        message: Message {
            role: Role::Assistant,
            name: None,
            content: vec![Part::Text("{\"a\": 1}".to_owned())],
        },
        output_json: Some("{\"a\":1}".to_owned()),
        finish_reason: None,
        usage: Usage::unknown(),
        cost_usd: None,
        model: None,
        raw_json: Some("{\"a\":1}".to_owned()),
        metadata_json: Some(metadata.to_string()),
    };
    ReadCompletion {
        completion,
        output: Some(json!({ "a": 1 })),
        raw: Some(json!({ "a": 1 })),
        metadata: metadata.as_object().expect("a map").clone(),
    }
}

fn read_of(value: Value) -> ReadCompletion {
    let mut read = raw();
    Stated::of(value).expect("an answer").put_into(&mut read);
    read
}

fn made_of(value: Value) -> Completion {
    read_of(value).completion
}

fn text_of(completion: &Completion) -> &str {
    match completion.message.content.as_slice() {
        [Part::Text(text)] => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_text_is_the_output_and_so_is_any_value_without_an_output() {
    let made = made_of(json!("ONE"));
    assert_eq!((text_of(&made), &made.output_json), ("ONE", &None));
    for value in [json!({ "b": 1 }), json!([1]), json!(1.5), json!(false)] {
        let made = read_of(value.clone());
        let text = value.to_string();
        assert_eq!(made.completion.output_json, Some(text));
        assert_eq!(made.output, Some(value));
    }
}

#[test]
fn an_object_with_an_output_says_more() {
    let read = read_of(json!({
        "output": { "b": 1 },
        "tokenUsage": { "total": 5, "prompt": 3, "completion": 2, "completionDetails": { "reasoning": 1 } },
        "cost": 0.25,
        "finishReason": "stop",
        "metadata": { "id": "x" },
        "raw": "left",
    }));
    let made = read.completion;
    assert_eq!(made.output_json.as_deref(), Some("{\"b\":1}"));
    let usage = &made.usage;
    assert_eq!(
        (usage.total_tokens, usage.input_tokens, usage.output_tokens),
        (Some(5), Some(3), Some(2))
    );
    assert_eq!(usage.reasoning_tokens, Some(1));
    assert_eq!(made.cost_usd, Some(0.25));
    let metadata = read.metadata;
    assert_eq!(made.metadata_json, Some(json(&metadata)));
    assert_eq!(metadata["id"], "x");
    assert_eq!(metadata["http"]["status"], 200);
    assert_eq!(made.raw_json.as_deref(), Some("{\"a\":1}"));
}

#[test]
fn what_nothing_was_read_of_the_wire_for_has_its_own_raw_answer() {
    let mut read = raw();
    read.raw = None;
    let stated = Stated::of(json!({ "output": "x", "raw": { "b": 2 }, "cached": true }));
    let stated = stated.expect("an answer");
    assert!(stated.is_cached());
    stated.put_into(&mut read);
    assert_eq!(read.raw, Some(json!({ "b": 2 })));
    assert_eq!(read.completion.raw_json.as_deref(), Some("{\"b\":2}"));
}

#[test]
fn what_code_calls_an_error_is_one() {
    let why = |value: Value| Stated::of(value).expect_err("an error");
    assert_eq!(why(json!({ "error": "no" })), "the code says: no");
    assert_eq!(
        why(json!({ "output": "x", "error": [1] })),
        "the code says: [1]"
    );
    for none in [json!(null), json!(""), json!(false)] {
        assert!(Stated::of(json!({ "output": "x", "error": none })).is_ok());
    }
    for (value, word) in [
        (json!({ "output": null }), "no value"),
        (json!({ "output": 1, "cost": "much" }), "`cost`"),
        (json!({ "output": 1, "cost": -1 }), "`cost`"),
        (json!({ "output": 1, "tokenUsage": [1] }), "`tokenUsage`"),
    ] {
        assert!(why(value).contains(word), "{word}");
    }
}

#[test]
fn a_text_of_the_config_is_a_program_in_its_own_form() {
    let script = Script {
        language: "javascript".to_owned(),
        key: "k".to_owned(),
        code: Code::Inline {
            text: "json => json.a".to_owned(),
        },
        process: None,
        sends: false,
    };
    let program = shaped(&script, &["json"]).program;
    assert_eq!(program.form, Form::Expression);
    assert_eq!(program.source, "(json => json.a\n)(json)");
}

#[test]
fn what_graders_look_for_in_metadata_may_stand_beside_the_answer() {
    let said = json!({ "output": "a", "logProbs": [-0.5], "guardrails": { "flagged": true },
        "metadata": { "guardrails": { "flagged": false } } });
    let metadata = read_of(said).metadata;
    assert_eq!(metadata["logProbs"], json!([-0.5]));
    assert_eq!(
        metadata["guardrails"],
        json!({ "flagged": false }),
        "metadata says so itself"
    );
}

#[test]
fn a_vector_is_a_list_of_numbers() {
    let said = json!({ "embedding": [1, 0.5], "tokenUsage": { "total": 2 }, "cost": 0.1 });
    let Embedded {
        vector,
        usage,
        cost_usd,
    } = Embedded::of(&said).expect("a vector");
    assert_eq!(
        (vector, usage.total_tokens, cost_usd),
        (vec![1.0, 0.5], Some(2), Some(0.1))
    );
    for (wrong, why) in [
        (json!({ "error": "no" }), "the code says: no"),
        (
            json!({ "embedding": ["1"] }),
            "the code gave no `embedding`, a list of numbers",
        ),
        (
            json!(null),
            "the code gave no `embedding`, a list of numbers",
        ),
    ] {
        assert_eq!(Embedded::of(&wrong).expect_err("no vector"), why);
    }
}
