//! What is graded about tool calls: whether they fit the tools that the model was offered, and
//! whether the right tools were called.
//!
//! The tools are those of the provider's config. The contract has no field for it, so the host
//! hands it over in `extra-json`, as `providerConfig`; a test's options and the assertion's own
//! value come first, so that the check also serves without.

use std::collections::BTreeSet;

use runner_plugin::json::{self, Map, Value};
use runner_plugin::{Error, Grade, Input};

use crate::calls::{self, Call, Tool};
use crate::schema::{Failure, Schema};

/// `is-valid-openai-tools-call`: the answer is a list of calls in OpenAI's form, and each fits
/// its tool. A text that reports a call through MCP is taken at its word.
pub(crate) fn openai_tools(input: &Input) -> Result<Grade, Error> {
    const WHAT: &str = "be valid tool calls";
    if input.output.contains("MCP Tool Error") {
        return Ok(input.judge(false, format_args!("{WHAT} (an MCP tool reports an error)")));
    }
    if input.output.contains("MCP Tool Result") {
        return Ok(input.judge(true, WHAT));
    }
    let output = calls::output(input);
    let listed = output.get("tool_calls").unwrap_or(&output);
    let calls = match listed {
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(openai_call).collect::<Option<Vec<Call>>>()
        }
        _ => Some(calls::beside(input)).filter(|calls| !calls.is_empty()),
    };
    let Some(calls) = calls else {
        let why = "it is no list of calls with `function.name` and `function.arguments`";
        return Ok(input.judge(false, format_args!("{WHAT} ({why})")));
    };
    judge(input, WHAT, &calls, &offered(input, &["tools"])?)
}

/// An item of OpenAI's `tool_calls`.
fn openai_call(item: &Value) -> Option<Call> {
    let function = item.get("function")?;
    Some(Call {
        name: function.get("name")?.as_str()?.to_owned(),
        arguments: function.get("arguments").filter(|a| a.is_string())?.clone(),
    })
}

/// `is-valid-openai-function-call`: the answer is the one `function_call` of older models.
pub(crate) fn openai_function(input: &Input) -> Result<Grade, Error> {
    const WHAT: &str = "be a valid function call";
    let output = calls::output(input);
    let call = output.get("function_call").unwrap_or(&output);
    let fields = (
        call.get("name").and_then(Value::as_str),
        call.get("arguments").filter(|value| value.is_string()),
    );
    let (Some(name), Some(arguments)) = fields else {
        let why = "it is no object with `name` and `arguments`, both text";
        return Ok(input.judge(false, format_args!("{WHAT} ({why})")));
    };
    let call = Call {
        name: name.to_owned(),
        arguments: arguments.clone(),
    };
    judge(
        input,
        WHAT,
        &[call],
        &offered(input, &["functions", "tools"])?,
    )
}

/// `is-valid-function-call`: the answer is a call in the form of any API.
pub(crate) fn any_function(input: &Input) -> Result<Grade, Error> {
    const WHAT: &str = "be a valid function call";
    let output = calls::output(input);
    let mut found = calls::of(&output);
    if found.is_empty() && output.get("arguments").is_some() {
        found = calls::of(&Value::Array(vec![output]));
    }
    if found.is_empty() {
        found = calls::beside(input);
    }
    if found.is_empty() {
        return Ok(input.judge(false, format_args!("{WHAT} (there is no call in it)")));
    }
    judge(
        input,
        WHAT,
        &found,
        &offered(input, &["tools", "functions"])?,
    )
}

/// The tools under these keys, in the first place that has any.
fn offered(input: &Input, keys: &[&str]) -> Result<Vec<Tool>, Error> {
    let object = |what: &str, text: &Option<String>| -> Result<Map<String, Value>, Error> {
        text.as_ref()
            .map_or_else(|| Ok(Map::new()), |text| json::read(what, text))
    };
    if let Some(value) = input.value::<Value>()?.filter(|value| !value.is_null()) {
        let value = match value {
            Value::String(text) => json::read("the list of tools", &text)?,
            value => value,
        };
        return Ok(calls::tools(&value));
    }
    let test = object("the test", &input.test_json)?;
    let extra = object("the provider's config", &input.extra_json)?;
    for place in [test.get("options"), extra.get("providerConfig")] {
        let lists = keys.iter().filter_map(|key| place?.get(*key));
        let tools: Vec<Tool> = lists.flat_map(calls::tools).collect();
        if !tools.is_empty() {
            return Ok(tools);
        }
    }
    Err(Error::invalid_request(format!(
        "`{}` needs the tools that the model was offered: `{}` in the provider's config, or a \
         list of them as the assertion's value",
        input.type_, keys[0]
    )))
}

/// Every call names a tool, and its arguments conform to the tool's schema.
fn judge(input: &Input, what: &str, calls: &[Call], tools: &[Tool]) -> Result<Grade, Error> {
    for call in calls {
        if let Err(failure) = fits(call, tools) {
            return match failure {
                Failure::Value(why) => Ok(input.judge(false, format_args!("{what} ({why})"))),
                Failure::Schema(problem) => Err(Error::invalid_request(format!(
                    "the parameters of the tool `{}` cannot be used: {problem}",
                    call.name
                ))),
            };
        }
    }
    Ok(input.judge(true, what))
}

fn fits(call: &Call, tools: &[Tool]) -> Result<(), Failure> {
    let name = &call.name;
    let Some(tool) = tools.iter().find(|tool| tool.name == *name) else {
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let names = names.join(", ");
        return Err(Failure::Value(format!(
            "it calls \"{name}\", and the tools are: {names}"
        )));
    };
    let arguments = match &call.arguments {
        Value::String(text) => serde_json::from_str(text).map_err(|error| {
            Failure::Value(format!("the arguments of \"{name}\" are no JSON: {error}"))
        })?,
        Value::Null => Value::Object(Map::new()),
        value => value.clone(),
    };
    let Some(parameters) = &tool.parameters else {
        let none = arguments.as_object().is_some_and(Map::is_empty);
        let why = || Failure::Value(format!("\"{name}\" takes no arguments, and has some"));
        return if none { Ok(()) } else { Err(why()) };
    };
    let schema = Schema::read(parameters).map_err(Failure::Schema)?;
    schema.check(&arguments).map_err(|failure| match failure {
        Failure::Value(why) => {
            Failure::Value(format!("the arguments of \"{name}\" don't conform: {why}"))
        }
        broken @ Failure::Schema(_) => broken,
    })
}

/// `tool-call-f1`: how well the set of tools called agrees with the set expected.
pub(crate) fn f1(input: &Input) -> Result<Grade, Error> {
    let expected = expected(input)?;
    let called: BTreeSet<String> = calls::in_answer(input)
        .into_iter()
        .map(|call| call.name)
        .collect();
    let hits = expected.intersection(&called).count() as f64;
    let share = |all: usize| if all == 0 { 0.0 } else { hits / all as f64 };
    let (precision, recall) = (share(called.len()), share(expected.len()));
    // The harmonic mean of the two, written without their quotients.
    let score = 2.0 * hits / (expected.len() + called.len()) as f64;
    let threshold = input.threshold.unwrap_or(1.0);
    let pass = (score >= threshold) != input.inverse;
    let relation = if score >= threshold {
        "reaches"
    } else {
        "is below"
    };
    let reason = format!(
        "Tool call F1 {score:.3} {relation} the threshold {threshold} (precision {precision:.3}, \
         recall {recall:.3}). Expected: {}. Called: {}",
        listed(&expected),
        listed(&called)
    );
    Ok(Grade::new(pass, score, reason))
}

fn expected(input: &Input) -> Result<BTreeSet<String>, Error> {
    let names: Vec<String> = match input.value::<Value>()? {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| match item {
                Value::String(name) => Some(name.clone()),
                Value::Number(_) | Value::Bool(_) => Some(item.to_string()),
                _ => None,
            })
            .collect(),
        Some(Value::String(list)) => list.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let names: BTreeSet<String> = names
        .iter()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    if names.is_empty() {
        return Err(Error::invalid_request(format!(
            "`{}` takes the names of tools as its value: a list, or texts separated by commas",
            input.type_
        )));
    }
    Ok(names)
}

fn listed(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
