//! What the assertions about tool calls say of which answers, as tables.

use plugin_json::Json;
use runner_plugin::json::{Value, json};
use runner_plugin::{
    Assertion, Completion, Error, ErrorCode, Grade, Input, Message, Part, Role, ToolCall, testing,
};

/// An answer as the host hands it over: a text stays a text, anything else is a value.
fn input(kind: &str, value: &Value, answer: &Value) -> Input {
    match answer {
        Value::String(text) => testing::input(kind, value, text),
        other => {
            let mut input = testing::input(kind, value, &other.to_string());
            input.output_json = Some(other.to_string());
            input
        }
    }
}

fn evaluate(input: &Input) -> Result<Grade, Error> {
    Json::evaluate(input, &testing::context())
}

fn tools() -> Value {
    let parameters = json!({
        "type": "object", "required": ["city"], "additionalProperties": false,
        "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
    });
    json!([
        { "type": "function", "function": { "name": "weather", "parameters": parameters } },
        { "type": "function", "function": { "name": "now" } },
    ])
}

fn call(name: &str, arguments: &str) -> Value {
    json!({ "id": "1", "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// Each row: answer, whether the type holds. `not-` must say the opposite.
fn table(kind: &str, rows: &[(Value, bool)]) {
    for (answer, holds) in rows {
        for (kind, expected) in [(kind.to_owned(), *holds), (format!("not-{kind}"), !holds)] {
            let mut input = input(&kind, &Value::Null, answer);
            input.extra_json = Some(json!({ "providerConfig": { "tools": tools() } }).to_string());
            let grade = evaluate(&input).expect("a grade");
            assert_eq!(grade.pass, expected, "{kind} of {answer}: {}", grade.reason);
            let score = if expected { 1.0 } else { 0.0 };
            assert!((grade.score - score).abs() < f64::EPSILON);
        }
    }
}

#[test]
fn tool_calls_fit_the_tools_that_were_offered() {
    let good = call("weather", r#"{"city": "Bern"}"#);
    table(
        "is-valid-openai-tools-call",
        &[
            (json!([good]), true),
            (json!({ "tool_calls": [good] }), true),
            (
                json!({ "content": "Sure", "tool_calls": [good, good] }),
                true,
            ),
            (json!([good]).to_string().into(), true),
            (
                json!([call("weather", r#"{"city": "Bern", "days": 2}"#)]),
                true,
            ),
            (json!([call("now", "{}")]), true),
            (json!([call("now", r#"{"zone": "UTC"}"#)]), false),
            (json!([call("weather", r#"{"city": 3}"#)]), false),
            (json!([call("weather", r#"{"town": "Bern"}"#)]), false),
            (json!([call("weather", "{}")]), false),
            (json!([call("weather", "Bern")]), false),
            (json!([call("weather", "")]), false),
            (json!([call("wether", r#"{"city": "Bern"}"#)]), false),
            (json!([good, call("other", "{}")]), false),
            (json!([]), false),
            (json!({ "tool_calls": [] }), false),
            (json!([{ "name": "now", "arguments": "{}" }]), false),
            (
                json!([{ "function": { "name": "now", "arguments": {} } }]),
                false,
            ),
            (
                json!([{ "function": { "name": 1, "arguments": "{}" } }]),
                false,
            ),
            (json!("It is sunny."), false),
            (json!("MCP Tool Result (weather): sunny"), true),
            (json!("MCP Tool Error (weather): no such city"), false),
        ],
    );
}

#[test]
fn a_function_call_may_be_in_the_form_of_any_api() {
    let city = json!({ "city": "Bern" });
    table(
        "is-valid-function-call",
        &[
            (
                json!({ "name": "weather", "arguments": city.to_string() }),
                true,
            ),
            (
                json!([{ "functionCall": { "name": "weather", "args": city } }]),
                true,
            ),
            (
                json!({ "functionCall": { "name": "weather", "args": {} } }),
                false,
            ),
            (
                json!({ "toolCall": { "functionCalls": [{ "name": "now" }] } }),
                true,
            ),
            (
                json!({ "type": "tool_use", "name": "weather", "input": city }),
                true,
            ),
            (
                json!([{ "type": "text", "text": "hm" }, { "type": "tool_use", "name": "now", "input": {} }]),
                true,
            ),
            (json!([call("weather", &city.to_string())]), true),
            (
                json!({ "function_call": { "name": "weather", "arguments": "{}" } }),
                false,
            ),
            (json!({ "name": "weather" }), false),
            (json!("weather"), false),
            (json!({}), false),
        ],
    );
    table(
        "is-valid-openai-function-call",
        &[
            (
                json!({ "name": "weather", "arguments": city.to_string() }),
                true,
            ),
            (
                json!({ "function_call": { "name": "now", "arguments": "{}" } }),
                true,
            ),
            (json!({ "name": "weather", "arguments": city }), false),
            (
                json!({ "functionCall": { "name": "weather", "args": city } }),
                false,
            ),
            (json!({ "name": "other", "arguments": "{}" }), false),
            (json!("weather"), false),
        ],
    );
}

#[test]
fn tools_come_from_the_value_then_the_test_then_the_provider() {
    let answer = json!([call("b", "{}")]);
    let named = |name: &str| json!([{ "function": { "name": name } }]);
    let place = |value: &Value, test: Option<&str>, provider: Option<&str>| {
        let mut input = input("is-valid-openai-tools-call", value, &answer);
        input.test_json =
            test.map(|name| json!({ "options": { "tools": named(name) } }).to_string());
        input.extra_json =
            provider.map(|name| json!({ "providerConfig": { "tools": named(name) } }).to_string());
        evaluate(&input)
    };
    for (value, test, provider, expected) in [
        (named("b"), Some("a"), Some("a"), true),
        (named("a"), Some("b"), Some("b"), false),
        (json!(named("b").to_string()), None, None, true),
        (Value::Null, Some("b"), Some("a"), true),
        (Value::Null, Some("a"), Some("b"), false),
        (Value::Null, None, Some("b"), true),
    ] {
        let grade = place(&value, test, provider).expect("a grade");
        assert_eq!(grade.pass, expected, "{value} {test:?} {provider:?}");
    }
    let error = place(&Value::Null, None, None).expect_err("no tools");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    let gemini = json!([{ "functionDeclarations": [{
        "name": "b", "parameters": { "type": "OBJECT", "properties": { "n": { "type": "INTEGER" } } }
    }] }]);
    for (args, expected) in [(json!({ "n": 1 }), true), (json!({ "n": "1" }), false)] {
        let answer = json!({ "functionCall": { "name": "b", "args": args } });
        let grade = evaluate(&input("is-valid-function-call", &gemini, &answer));
        assert_eq!(grade.expect("a grade").pass, expected);
    }
}

#[test]
fn a_schema_of_a_tool_that_cannot_be_used_is_no_grade() {
    let tools = json!([{ "function": { "name": "b", "parameters": { "type": "text" } } }]);
    let answer = json!([call("b", "{}")]);
    let error = evaluate(&input("is-valid-openai-tools-call", &tools, &answer)).expect_err("none");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    assert!(error.message.starts_with("the parameters of the tool `b`"));
}

/// Names expected, answer, score.
fn f1_rows() -> Vec<(Value, Value, f64)> {
    let two = json!([call("a", "{}"), call("b", "{}")]);
    vec![
        (json!(["a", "b"]), two.clone(), 1.0),
        (json!("a, b"), two.clone(), 1.0),
        (json!(["b", "a", "a"]), two.clone(), 1.0),
        (json!("a"), two.clone(), 2.0 / 3.0),
        (json!("a,b,c,d"), two.clone(), 2.0 / 3.0),
        (json!("c"), two.clone(), 0.0),
        (json!("a"), json!("no call"), 0.0),
        (
            json!("a"),
            json!({ "tool_calls": [call("a", "not json")] }),
            1.0,
        ),
        (
            json!("a"),
            json!({ "type": "function_call", "name": "a" }),
            1.0,
        ),
        (json!("a"), json!([{ "name": "a" }]), 1.0),
        (json!("a"), json!({ "name": "a" }), 0.0),
        (
            json!("a"),
            json!([{ "type": "text" }, { "type": "tool_use", "name": "a" }]),
            1.0,
        ),
        (
            json!("a,b"),
            json!([{ "functionCall": { "name": "a" } }]),
            2.0 / 3.0,
        ),
        (
            json!("a"),
            json!({ "toolCall": { "functionCalls": [{ "name": "a" }] } }),
            1.0,
        ),
        (json!("a"), json!(json!([call("a", "{}")]).to_string()), 1.0),
        (
            json!("a"),
            json!(format!("I call:\n{}", call("a", "{}"))),
            1.0,
        ),
        (
            json!("a"),
            json!(r#"First {"name": "a", "arguments": {}} then"#),
            1.0,
        ),
        (json!("a"), json!(r#"My name: {"name": "a"}"#), 0.0),
        (
            json!("a,b"),
            json!(
                "{\"type\":\"tool_use\",\"name\":\"a\"}\n\n{\"type\":\"tool_use\",\"name\":\"b\"}"
            ),
            1.0,
        ),
        (json!("a"), json!(5), 0.0),
        (json!("a"), Value::Null, 0.0),
    ]
}

#[test]
fn f1_is_that_of_the_sets_of_names() {
    for (value, answer, score) in f1_rows() {
        let grade = evaluate(&input("tool-call-f1", &value, &answer)).expect("a grade");
        assert!(
            (grade.score - score).abs() < 1e-9,
            "{value} {answer}: {}",
            grade.reason
        );
        assert_eq!(grade.pass, score >= 1.0, "{answer}");
        let opposite = evaluate(&input("not-tool-call-f1", &value, &answer)).expect("a grade");
        assert_eq!(opposite.pass, !grade.pass);
        assert!((opposite.score - score).abs() < 1e-9);
    }
    let two = json!([call("a", "{}"), call("b", "{}")]);
    let mut half = input("tool-call-f1", &json!("a"), &two);
    half.threshold = Some(0.6);
    let grade = evaluate(&half).expect("a grade");
    assert!(grade.pass);
    assert_eq!(
        grade.reason,
        "Tool call F1 0.667 reaches the threshold 0.6 (precision 0.500, recall 1.000). \
         Expected: a. Called: a, b"
    );
    for value in [Value::Null, json!(""), json!(" , "), json!([]), json!(3)] {
        let error = evaluate(&input("tool-call-f1", &value, &two)).expect_err("no names");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{value}");
    }
}

#[test]
fn calls_beside_the_text_count_unless_the_text_was_transformed() {
    let part = Part::ToolCall(ToolCall {
        id: "1".to_owned(),
        name: "weather".to_owned(),
        arguments_json: r#"{"city": "Bern"}"#.to_owned(),
    });
    let completion = Completion::message(Message {
        role: Role::Assistant,
        name: None,
        content: vec![Part::Text("Let me see.".to_owned()), part],
    });
    for (text, expected) in [("Let me see.", true), ("LET ME SEE.", false)] {
        for (kind, value) in [
            ("tool-call-f1", json!("weather")),
            ("is-valid-openai-tools-call", tools()),
            ("is-valid-function-call", tools()),
        ] {
            let mut input = testing::input(kind, &value, text);
            input.completion = Some(completion.clone());
            let grade = evaluate(&input).expect("a grade");
            assert_eq!(grade.pass, expected, "{kind} {text}: {}", grade.reason);
        }
    }
}
