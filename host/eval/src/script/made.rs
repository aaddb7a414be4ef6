//! What code made, read as what it was asked for: an output, variables, a prompt, a value.
//!
//! Pure. An error is one line about the value; whose it is, the caller says.

use runner_config::plan::MadePrompt;
use serde_json::{Map, Value};

/// What `null` and `undefined` are to whoever asked for something.
const NOTHING: &str = "the code gave no value";

/// Anything but nothing: an output, or a context.
pub(crate) fn something(given: Option<Value>) -> Result<Value, String> {
    given
        .filter(|value| !value.is_null())
        .ok_or_else(|| NOTHING.to_owned())
}

/// The `value` of an assertion: no verdict, which a boolean would be.
pub(crate) fn value(given: Option<Value>) -> Result<Value, String> {
    match something(given)? {
        Value::Bool(is) => Err(format!(
            "the code gave {is}, and `value` is what the output is held against; \
             code that grades is an assertion of its own type"
        )),
        value => Ok(value),
    }
}

/// Variables by name.
pub(crate) fn vars(given: Option<Value>) -> Result<Map<String, Value>, String> {
    match given {
        Some(Value::Object(vars)) => Ok(vars),
        other => Err(format!(
            "the code must give an object of variables, not {}",
            word(other.as_ref())
        )),
    }
}

/// The value of one variable: `{ output }`, or `{ error }` where there is none.
pub(crate) fn var(given: Option<Value>) -> Result<Value, String> {
    let Some(Value::Object(mut stated)) = given else {
        let what = word(given.as_ref());
        return Err(format!("the code must give {{ output }}, not {what}"));
    };
    match (stated.remove("error"), stated.remove("output")) {
        (Some(error), _) if !error.is_null() => Err(match error.as_str() {
            Some(text) => format!("the code says: {text}"),
            None => format!("the code says: {error}"),
        }),
        (_, Some(output)) if !output.is_null() => Ok(output),
        _ => Err("the code must give { output }, and its `output` is missing".to_owned()),
    }
}

/// A prompt with options for the provider. A text is the prompt; an object with `prompt` says both; any
/// other object, or a list, is a chat.
pub(crate) fn prompt(given: Option<Value>) -> Result<MadePrompt, String> {
    let made = |text, is_text| MadePrompt {
        text,
        is_text,
        config: Map::new(),
    };
    match given {
        Some(Value::String(text)) => Ok(made(text, true)),
        Some(Value::Object(mut fields)) if fields.contains_key("prompt") => {
            let made = prompt(fields.remove("prompt"))?;
            match fields.remove("config") {
                Some(Value::Object(config)) => Ok(MadePrompt { config, ..made }),
                None | Some(Value::Null) => Ok(made),
                other => Err(format!(
                    "the code's `config` must be an object, not {}",
                    word(other.as_ref())
                )),
            }
        }
        Some(chat @ (Value::Array(_) | Value::Object(_))) => Ok(made(chat.to_string(), false)),
        other => Err(format!(
            "the code must give a prompt (a text, a list of messages, or {{ prompt, config }}), not {}",
            word(other.as_ref())
        )),
    }
}

/// What a value is, for a sentence.
pub(crate) fn word(value: Option<&Value>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Value::String(_)) => "a text".to_owned(),
        Some(Value::Array(_)) => "a list".to_owned(),
        Some(Value::Object(_)) => "an object".to_owned(),
        Some(plain) => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_no_output() {
        assert_eq!(something(Some(json!(""))), Ok(json!("")));
        assert_eq!(something(Some(json!(0))), Ok(json!(0)));
        for nothing in [None, Some(Value::Null)] {
            assert_eq!(something(nothing), Err(NOTHING.to_owned()));
        }
    }

    #[test]
    fn a_verdict_is_no_value() {
        assert_eq!(value(Some(json!(["a"]))), Ok(json!(["a"])));
        assert!(value(Some(json!(true))).is_err_and(|why| why.contains("gave true")));
        assert!(value(None).is_err());
    }

    #[test]
    fn variables_are_an_object() {
        assert_eq!(vars(Some(json!({"a": 1}))).map(|vars| vars.len()), Ok(1));
        let why = "the code must give an object of variables, not ";
        for (given, what) in [
            (None, "undefined"),
            (Some(json!([])), "a list"),
            (Some(json!(1.5)), "1.5"),
        ] {
            assert_eq!(vars(given), Err(format!("{why}{what}")));
        }
    }

    #[test]
    fn a_variable_is_an_output_or_an_error() {
        assert_eq!(var(Some(json!({"output": [1]}))), Ok(json!([1])));
        assert_eq!(
            var(Some(json!({"output": "", "error": null}))),
            Ok(json!(""))
        );
        let cases = [
            (Some(json!({"error": "no"})), "says: no"),
            (Some(json!({})), "`output` is missing"),
            (Some(json!("x")), "not a text"),
            (None, "not undefined"),
        ];
        for (given, why) in cases {
            assert!(var(given).is_err_and(|said| said.ends_with(why)), "{why}");
        }
    }

    #[test]
    fn a_prompt_is_a_text_a_chat_or_both_with_options() {
        let text = |given: Value| prompt(Some(given)).map(|it| (it.text, json!(it.config)));
        let cases = [
            (json!("hi"), "hi", json!({})),
            (json!([{"role": "user"}]), r#"[{"role":"user"}]"#, json!({})),
            (json!({"role": "user"}), r#"{"role":"user"}"#, json!({})),
            (
                json!({"prompt": "hi", "config": {"a": 1}}),
                "hi",
                json!({"a": 1}),
            ),
            (json!({"prompt": [1], "config": null}), "[1]", json!({})),
        ];
        for (given, expected, config) in cases {
            assert_eq!(text(given), Ok((expected.to_owned(), config)));
        }
        for wrong in [json!(null), json!(1), json!({"prompt": "p", "config": 1})] {
            assert!(text(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(prompt(None).is_err());
    }
}
