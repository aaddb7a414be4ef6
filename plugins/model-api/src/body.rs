//! What one request sets of its answer, by the names that most APIs share: how it is sampled, its form, its tools.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request};

/// Lays the request's sampling options over the body. `seed` and `limit` are the API's names
/// of those two; the others have one name everywhere in this shape.
pub fn sampling(body: &mut Map<String, Value>, seed: &str, limit: &str, request: &Request) {
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    let options = [
        ("temperature", request.temperature.map(|t| json!(t))),
        ("top_p", request.top_p.map(|p| json!(p))),
        (seed, request.seed.map(|seed| json!(seed))),
        ("stop", stop),
        (limit, request.max_tokens.map(|limit| json!(limit))),
    ];
    for (key, value) in options {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    }
}

/// Lays the form that the answer must have, and the tools that it may call, over the body.
///
/// # Errors
/// When one of them is no JSON.
pub fn form_and_tools(body: &mut Map<String, Value>, request: &Request) -> Result<(), Error> {
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        let format = json!({ "name": "answer", "schema": schema });
        let format = json!({ "type": "json_schema", "json_schema": format });
        body.insert("response_format".to_owned(), format);
    }
    if let Some(tools) = &request.tools_json {
        body.insert("tools".to_owned(), json::read("tools", tools)?);
    }
    Ok(())
}
