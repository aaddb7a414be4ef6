//! Calls the code in a provider's config, before its plugin is called and after it.

use std::borrow::Cow;

use runner_config::plan::{ProviderCode, Script};
use runner_sandbox::abi::{CallContext, Part, ReadCompletion, Request};
use serde_json::{Map, Value, json};

use super::CallScope;
use crate::failure::CallFailure;
use crate::private_door::{REQUEST, take_response};
use crate::script::exchange::{Stated, shaped};
use crate::script::{Fault, argument, failure, made};

/// Returns the request with what `transformRequest` makes of its prompt.
pub(crate) async fn sent<'a>(
    scope: &CallScope,
    code: &ProviderCode,
    request: &'a Request,
    identity: &CallContext,
) -> Result<Cow<'a, Request>, CallFailure> {
    let Some(script) = &code.request else {
        return Ok(Cow::Borrowed(request));
    };
    let options = request.options_json.as_deref();
    let options = options.and_then(|text| serde_json::from_str(text).ok());
    let mut options: Map<String, Value> = options.unwrap_or_default();
    let vars = options.get("vars").cloned().unwrap_or_else(|| json!({}));
    let context = json!({ "vars": vars, "prompt": { "raw": request.prompt } });
    let arguments = [
        ("prompt", Value::from(request.prompt.as_str())),
        ("vars", vars),
        ("context", context),
    ];
    let given = run(scope, script, &arguments, identity).await?;
    let body = made::something(given).map_err(|why| failure(script, &why))?;
    options.insert(REQUEST.to_owned(), body);
    Ok(Cow::Owned(Request {
        options_json: Some(Value::Object(options).to_string()),
        ..request.clone()
    }))
}

/// Makes an answer of what came over the wire, by `transformResponse`. Where it fails the
/// completion stays as it came.
pub(crate) async fn read(
    scope: &CallScope,
    code: &ProviderCode,
    read: &mut ReadCompletion,
    identity: &CallContext,
) -> Result<(), CallFailure> {
    let Some(script) = &code.response else {
        return Ok(());
    };
    let response = take_response(read);
    let text = read
        .completion
        .message
        .content
        .iter()
        .find_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
    let arguments = [
        ("json", read.output.clone().unwrap_or_default()),
        ("text", Value::from(text.unwrap_or_default())),
        ("context", json!({ "response": response })),
    ];
    let given = run(scope, script, &arguments, identity).await?;
    let stated = made::something(given).and_then(Stated::of);
    let stated = stated.map_err(|why| failure(script, &why))?;
    stated.put_into(read);
    Ok(())
}

async fn run(
    scope: &CallScope,
    script: &Script,
    arguments: &[(&str, Value)],
    identity: &CallContext,
) -> Result<Option<Value>, CallFailure> {
    let names: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
    let given = arguments.iter();
    let given: Vec<_> = given
        .map(|(name, value)| argument(name, value.to_string()))
        .collect();
    let result = scope.run_code(shaped(script, &names), &given, identity);
    result
        .await?
        .map_err(|Fault(message, _)| failure(script, &message))
}
