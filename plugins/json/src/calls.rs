//! The tool calls in an answer, whatever API they come from.
//!
//! Every API writes a call in its own form, and configs for promptfoo rely on all of them. This
//! file knows the forms and nothing about grading: it turns an answer into [`Call`]s and a list
//! of tools into [`Tool`]s. A form that it does not know is no call; guessing would turn any
//! object with a `name` into one.

use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Input, Part};

use crate::found;

/// One call: what is called, and with what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// As the API gives them: text that should be JSON, or a value. Null where there are none.
    pub(crate) arguments: Value,
}

/// One tool that a model was offered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// JSON Schema of its arguments.
    pub(crate) parameters: Option<Value>,
}

/// The calls in the answer: in its JSON value, else in its text, else beside its text.
pub(crate) fn in_answer(input: &Input) -> Vec<Call> {
    let output = output(input);
    let calls = match &output {
        Value::String(text) => found::objects(text)
            .flat_map(|object| written(&object))
            .collect(),
        value => of(value),
    };
    if calls.is_empty() {
        beside(input)
    } else {
        calls
    }
}

/// The answer as a value; text that is JSON counts as what it holds.
pub(crate) fn output(input: &Input) -> Value {
    let text = || Value::String(input.output.clone());
    match &input.output_json {
        Some(value) => serde_json::from_str(value).unwrap_or_else(|_| text()),
        None => match serde_json::from_str(&input.output) {
            Ok(value @ (Value::Array(_) | Value::Object(_))) => value,
            _ => text(),
        },
    }
}

/// The calls that the provider reported beside its text, unless a transform made the text into
/// something else: then what is graded is the transform's result.
pub(crate) fn beside(input: &Input) -> Vec<Call> {
    let completion = input
        .completion
        .as_ref()
        .filter(|completion| completion.message.text() == input.output);
    let parts = completion.map_or(&[][..], |completion| &completion.message.content);
    let call = |part: &Part| match part {
        Part::ToolCall(call) => Some(Call {
            name: call.name.clone(),
            arguments: Value::String(call.arguments_json.clone()),
        }),
        _ => None,
    };
    parts.iter().filter_map(call).collect()
}

/// The calls in a value: a list of calls, an object that holds some, or one call.
pub(crate) fn of(value: &Value) -> Vec<Call> {
    match value {
        Value::Array(items) => of_list(items),
        Value::Object(object) => of_object(object),
        _ => Vec::new(),
    }
}

/// In a list, an object with a name is a call, too.
fn of_list(items: &[Value]) -> Vec<Call> {
    let calls = items.iter().flat_map(|item| {
        let calls = of(item);
        if calls.is_empty() {
            item.as_object().and_then(named).into_iter().collect()
        } else {
            calls
        }
    });
    calls.collect()
}

fn of_object(object: &Map<String, Value>) -> Vec<Call> {
    // OpenAI's message, and Gemini's live message.
    if let Some(Value::Array(calls)) = object.get("tool_calls") {
        return of_list(calls);
    }
    if let Some(Value::Array(calls)) = object
        .get("toolCall")
        .and_then(|call| call.get("functionCalls"))
    {
        return of_list(calls);
    }
    // One call each: OpenAI's, the older OpenAI's, Gemini's, and those with a `type`.
    for key in ["function", "function_call", "functionCall"] {
        if let Some(Value::Object(call)) = object.get(key) {
            return named(call).into_iter().collect();
        }
    }
    let kind = object.get("type").and_then(Value::as_str);
    match kind {
        Some("tool_use" | "function_call") => named(object).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The calls in an object that stands in prose, where a model also writes them as a name with
/// arguments. A name alone is no call there.
fn written(value: &Value) -> Vec<Call> {
    let calls = of(value);
    let Value::Object(object) = value else {
        return calls;
    };
    let has_arguments = ARGUMENTS.iter().any(|key| object.contains_key(*key));
    if calls.is_empty() && has_arguments {
        return named(object).into_iter().collect();
    }
    calls
}

/// The keys under which APIs and models write arguments.
const ARGUMENTS: [&str; 4] = ["arguments", "args", "input", "parameters"];

/// A call written as a name, with or without arguments.
fn named(object: &Map<String, Value>) -> Option<Call> {
    let name = object.get("name")?.as_str()?.to_owned();
    let arguments = ARGUMENTS.iter().find_map(|key| object.get(*key));
    Some(Call {
        name,
        arguments: arguments.cloned().unwrap_or_default(),
    })
}

/// The tools in a list of definitions: OpenAI's `tools` (of both APIs) and `functions`,
/// Anthropic's `tools`, Gemini's `functionDeclarations`.
pub(crate) fn tools(definitions: &Value) -> Vec<Tool> {
    let items = definitions.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().flat_map(declared).collect()
}

fn declared(item: &Value) -> Vec<Tool> {
    for key in ["functionDeclarations", "function_declarations"] {
        if let Some(declarations) = item.get(key) {
            let mut tools = tools(declarations);
            for parameters in tools.iter_mut().filter_map(|tool| tool.parameters.as_mut()) {
                lower_case_types(parameters);
            }
            return tools;
        }
    }
    let function = item.get("function").unwrap_or(item);
    let Some(name) = function.get("name").and_then(Value::as_str) else {
        return Vec::new();
    };
    let parameters = function
        .get("parameters")
        .or_else(|| function.get("input_schema"));
    vec![Tool {
        name: name.to_owned(),
        parameters: parameters.filter(|value| !value.is_null()).cloned(),
    }]
}

/// Changes the types of a schema to lower case: Gemini writes the types of a schema in capitals.
fn lower_case_types(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(lower_case_types),
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(name) if key == "type" => *value = json!(name.to_lowercase()),
                    _ => lower_case_types(value),
                }
            }
        }
        _ => {}
    }
}
