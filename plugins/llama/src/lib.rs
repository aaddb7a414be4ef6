//! The provider `llama`: a server of llama.cpp, by its own shape.
//!
//! `/completion` takes the prompt as it stands in the results and goes on with it. What wraps it for a
//! chat is the prompt's own matter; a server's OpenAI-like side is `llamafile:` in `compatible`. No key is
//! wanted.

use plugin_model_api::body::sampling;
use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::{failure, schema};
use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{
    CallContext, Completion, Error, FinishReason, Info, Provider, Request, Target, Usage,
};

/// The config key of the address, as promptfoo's example has it.
const ADDRESS: &str = "baseUrl";

/// The longest answer if nobody says otherwise, as promptfoo has it: the server itself knows no end.
const LONGEST: u32 = 512;

/// The key that limits the answer.
const LIMIT: &str = "n_predict";

const API: Api = Api {
    base_url: "http://localhost:8080",
    key: None,
    ours: &[ADDRESS],
};

const REFUSED: [Refused; 4] = [
    ("apiBaseUrl", "is not supported; write it as `baseUrl`"),
    (
        "apiHost",
        "is not supported; write the whole address as `baseUrl`",
    ),
    knobs::CALLBACKS,
    knobs::MCP,
];

/// The provider.
pub struct Llama;

impl Provider for Llama {
    fn describe() -> Info {
        runner_plugin::package_info!("llama", "A server of llama.cpp, by its own API.")
            .prefix("llama")
            .host(API.base_url)
            .host_from(ADDRESS)
            .setting("LLAMA_BASE_URL", ADDRESS)
            .config_schema(&schema::config(&json!({
                ADDRESS: { "type": "string", "pattern": "^https?://" },
                "seed": { "type": "integer" },
                "stop": { "type": ["string", "array"], "items": { "type": "string" } }
            })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &REFUSED)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let mut knobs = Knobs::read_at(&API, ADDRESS, target, request)?;
        if let Some(address) = knobs.text(ADDRESS) {
            knobs.base_url = address.trim_end_matches('/').to_owned();
        }
        let body = body_of(&knobs, &target.name, request)?;
        let bucket = body["model"].as_str().unwrap_or("llama");
        let response = failure::check(&knobs.post("/completion", &body, bucket).send()?)?;
        read(&response, request.response_schema_json.is_some())
    }
}

fn body_of(knobs: &Knobs, model: &str, request: &Request) -> Result<Value, Error> {
    let mut body = Map::new();
    // A server of one model has none to choose from, and does not look.
    if !model.is_empty() {
        body.insert("model".to_owned(), json!(model));
    }
    body.insert("prompt".to_owned(), json!(request.prompt));
    body.extend(knobs.body.clone());
    for theirs in ["max_tokens", "max_completion_tokens"] {
        if let Some(limit) = body.remove(theirs) {
            body.insert(LIMIT.to_owned(), limit);
        }
    }
    body.entry(LIMIT).or_insert(json!(LONGEST));
    sampling(&mut body, "seed", LIMIT, request);
    if let Some(Value::String(stop)) = body.get("stop") {
        let list = json!([stop]);
        body.insert("stop".to_owned(), list);
    }
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        body.insert("json_schema".to_owned(), schema);
    }
    Ok(Value::Object(body))
}

fn read(response: &Value, wants_json: bool) -> Result<Completion, Error> {
    let text = response["content"].as_str().ok_or_else(|| {
        Error::bad_response("the response holds no text").detail(response.clone())
    })?;
    let count = |key: &str| response[key].as_u64();
    let usage = Usage {
        input_tokens: count("tokens_evaluated"),
        output_tokens: count("tokens_predicted"),
        ..Usage::default()
    };
    let mut completion = Completion::text(text).usage(usage).raw(response);
    completion.model = response["model"].as_str().map(str::to_owned);
    completion.finish_reason = match response["stop_type"].as_str() {
        Some("eos" | "word") => Some(FinishReason::Stop),
        Some("limit") => Some(FinishReason::Length),
        // Older servers say it so.
        _ if response["stopped_limit"] == true => Some(FinishReason::Length),
        _ if response["stop"] == true => Some(FinishReason::Stop),
        _ => None,
    };
    if wants_json {
        completion = completion.output_if_json(text);
    }
    Ok(completion)
}

runner_plugin::export_provider!(Llama);
