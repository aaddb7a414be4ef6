//! The provider `anthropic`: Anthropic's Messages API.
//!
//! One exchange per request. Its shape, the config and the errors are read by `plugin-model-api`.
//! Retries, rate limits and the key are the host's.
//!
//! Config keys that mean nothing here go into the body as they are, so that an option which
//! the API learns tomorrow works without a new version.

use plugin_model_api::claude::{answer, body, events};
use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::{failure, forms, schema, streaming};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};

/// The name by which requests refer to the key.
const KEY: &str = "anthropic-key";

/// The version of the API whose shapes this plugin writes and reads.
const VERSION: &str = "2023-06-01";

const API: Api = Api {
    base_url: "https://api.anthropic.com",
    key: Some(KEY),
    ours: &["beta", "extra_body"],
};

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 4] = [
    "completion",
    "claude-agent-sdk",
    "claude-code",
    "managed-agents",
];

/// The provider.
pub struct Anthropic;

impl Provider for Anthropic {
    fn describe() -> Info {
        let key = CredentialWant::header(
            KEY,
            "ANTHROPIC_API_KEY",
            "x-api-key",
            "to call the API in your name",
        )
        .env_key("apiKeyEnvar")
        .value_key("apiKey");
        runner_plugin::package_info!("anthropic", "The Messages API of Anthropic.")
            .prefix("anthropic")
            .host(API.base_url)
            .base(API.base_url)
            .host_from("apiBaseUrl")
            .credential(key)
            .setting("ANTHROPIC_BASE_URL", "apiBaseUrl")
            .config_schema(&schema::config(&json!({
                "max_tokens": { "type": "integer", "minimum": 1 },
                "top_k": { "type": "integer", "minimum": 0 },
                "stop_sequences": { "type": "array", "items": { "type": "string" } },
                "thinking": { "type": "object" },
                "stream": { "type": "boolean" },
                "tools": { "type": "array", "items": { "type": "object" } },
                "tool_choice": { "type": ["string", "object"] },
                "output_format": { "type": "object" },
                "output_config": { "type": "object" },
                "metadata": { "type": "object" },
                "effort": { "type": "string" },
                "beta": { "type": "array", "items": { "type": "string" } },
                "extra_body": { "type": "object" }
            })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        Knobs::check_model(&API, target, named(target)?)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let named = named(target)?;
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = knobs.model(target, named)?;
        let mut body = body::of(&knobs, &model, request)?;
        if knobs.streams() {
            body["stream"] = json!(true);
        }
        let mut exchange = knobs
            .post("/v1/messages", &body, &model)
            .header("anthropic-version", VERSION);
        let beta = knobs.own.get("beta").and_then(Value::as_array);
        let beta: Vec<&str> = beta
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !beta.is_empty() {
            exchange = exchange.header("anthropic-beta", beta.join(","));
        }
        let response = streaming::send(exchange, knobs.streams(), &events::EVENTS)?;
        let response = failure::check(&response)?;
        answer::completion(&response, body::wants_json(&body))
    }
}

/// The model that the id names.
fn named(target: &Target) -> Result<&str, Error> {
    let (form, named) = knobs::kind(&target.name, &["messages"]);
    let absent = knobs::kind(&target.name, &ABSENT).0;
    // Names of models have no colon here, so what stands before one is meant as a form. Those
    // that a gateway calls otherwise are named behind `messages:`.
    let unknown = named.split_once(':').map(|(first, _)| first);
    if let Some(absent) = absent.or(unknown.filter(|_| form.is_none())) {
        let instead = "write `anthropic:messages:MODEL`, or call an agent from a provider of your own (`file://agent.mjs`)";
        return Err(forms::absent(target, absent, instead));
    }
    Ok(named)
}

runner_plugin::export_provider!(Anthropic);
