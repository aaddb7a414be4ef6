//! The assertions about the answer as JSON: it is JSON, it contains a JSON object, either
//! conforms to a JSON Schema, and the tool calls in it are the right ones.
//!
//! `found` looks for objects in prose, `schema` checks a value against a schema, `calls` knows
//! how APIs write tool calls, `tool_use` grades them. Tool calls are served here, and not by a
//! plugin of their own, because they need the schemas and the search, and plugins share no
//! code. All are pure, and the component imports no function.

mod calls;
mod found;
mod lenient;
mod schema;
mod tool_use;

use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input, Inputs};

use serde::de::IgnoredAny;

use schema::{Failure, Schema};

/// The grader.
pub struct Json;

impl Assertion for Json {
    fn describe() -> Info {
        let with_schema = |name| AssertionType::new(name).value_schema(&value_schema());
        let of_calls = |name| {
            AssertionType::new(name)
                .value_schema(&json!({ "type": ["array", "string", "null"] }))
                .reads(Inputs::COMPLETION | Inputs::TEST)
        };
        runner_plugin::package_info!(
            "json",
            "Reads the answer as JSON and checks it against a JSON Schema; checks tool calls."
        )
        .checks_values()
        .assertion_type(with_schema("is-json"))
        .assertion_type(with_schema("contains-json"))
        .assertion_type(of_calls("is-valid-openai-tools-call"))
        .assertion_type(of_calls("is-valid-openai-function-call"))
        .assertion_type(of_calls("is-valid-function-call"))
        .assertion_type(
            AssertionType::new("tool-call-f1")
                .value_schema(
                    &json!({ "type": ["array", "string"], "minItems": 1, "minLength": 1 }),
                )
                .reads(Inputs::COMPLETION),
        )
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        match input.type_.as_str() {
            "is-json" => with_schema(input, is_json),
            "contains-json" => with_schema(input, contains_json),
            "is-valid-openai-tools-call" => tool_use::openai_tools(input),
            "is-valid-openai-function-call" => tool_use::openai_function(input),
            "is-valid-function-call" => tool_use::any_function(input),
            "tool-call-f1" => tool_use::f1(input),
            other => Err(Error::no_type("json", other)),
        }
    }

    fn check_value(type_: &str, value: &Value) -> Result<(), String> {
        if !matches!(type_, "is-json" | "contains-json") {
            return Ok(());
        }
        let schema = schema_of(Some(value.clone()))?;
        schema
            .as_ref()
            .map_or(Ok(()), |schema| Schema::read(schema).map(drop))
    }
}

/// Grades with the schema that the assertion's value holds, if any.
fn with_schema(
    input: &Input,
    grade: impl Fn(&Input, Option<&Schema<'_>>) -> Result<Grade, Error>,
) -> Result<Grade, Error> {
    let unusable = |problem: String| unusable(input, &problem);
    let value = schema_of(input.value()?).map_err(unusable)?;
    let schema = value.as_ref().map(Schema::read).transpose();
    let schema = schema.map_err(unusable)?;
    grade(input, schema.as_ref())
}

/// The whole answer is JSON, and conforms if there is a schema.
fn is_json(input: &Input, schema: Option<&Schema<'_>>) -> Result<Grade, Error> {
    let output: Value = match serde_json::from_str(&input.output) {
        Ok(output) => output,
        // What is JSON and more than can be held is no less JSON.
        Err(_) if serde_json::from_str::<IgnoredAny>(&input.output).is_ok() => {
            return match schema {
                None => Ok(input.judge(true, "be valid JSON")),
                Some(_) => Err(too_much()),
            };
        }
        Err(error) => return Ok(input.judge(false, format_args!("be valid JSON ({error})"))),
    };
    let Some(schema) = schema else {
        return Ok(input.judge(true, "be valid JSON"));
    };
    match schema.check(&output) {
        Ok(()) => Ok(input.judge(true, "conform to the JSON Schema")),
        Err(Failure::Value(why)) => {
            Ok(input.judge(false, format_args!("conform to the JSON Schema ({why})")))
        }
        Err(Failure::Schema(problem)) => Err(unusable(input, &problem)),
    }
}

/// Some object in the answer is JSON, and conforms if there is a schema.
fn contains_json(input: &Input, schema: Option<&Schema<'_>>) -> Result<Grade, Error> {
    let mut objects = found::objects(&input.output);
    let Some(schema) = schema else {
        let found = objects.next().is_some();
        if !found && objects.missed() {
            return Err(too_much());
        }
        return Ok(input.judge(found, "contain a JSON object"));
    };
    let what = "contain a JSON object that conforms to the JSON Schema";
    let mut reasons = Vec::new();
    for object in objects.by_ref() {
        match schema.check(&object) {
            Ok(()) => return Ok(input.judge(true, what)),
            Err(Failure::Value(why)) => reasons.push(why),
            Err(Failure::Schema(problem)) => return Err(unusable(input, &problem)),
        }
    }
    if objects.missed() {
        return Err(too_much());
    }
    let why = match &reasons[..] {
        [] => "it contains none".to_owned(),
        [why] => why.clone(),
        [why, ..] => format!("the first of {} objects: {why}", reasons.len()),
    };
    Ok(input.judge(false, format_args!("{what} ({why})")))
}

/// What can be said neither to be so nor not to be so.
fn too_much() -> Error {
    Error::unsupported(
        "JSON that is nested more than 128 deep, or has larger numbers than a float, cannot be graded",
    )
}

/// The schema, if there is one: an object, or the text of one in JSON or YAML.
fn schema_of(value: Option<Value>) -> Result<Option<Value>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            let read = serde_json::from_str(&text)
                .ok()
                .or_else(|| lenient::yaml(&text));
            match read {
                Some(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(Some(schema)),
                _ => Err("its text is neither JSON nor YAML of an object".to_owned()),
            }
        }
        other => Ok(other),
    }
}

fn unusable(input: &Input, problem: &str) -> Error {
    let kind = &input.type_;
    Error::invalid_request(format!(
        "the JSON Schema of `{kind}` cannot be used: {problem}"
    ))
}

/// A schema, or a text: a template, the name of a file, or the schema written as text. Slips
/// in a schema are found when the config is loaded.
fn value_schema() -> Value {
    json!({
        "type": ["object", "boolean", "string", "null"],
        "if": { "type": "object" },
        "then": { "$ref": "#/$defs/schema" },
        "$defs": { "schema": schema::meta_schema() },
    })
}

runner_plugin::export_assertion!(Json);
