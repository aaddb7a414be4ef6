//! The provider `openai`: chat completions of OpenAI and of every server that speaks the same.
//!
//! One exchange per request: `body` turns config and request into the JSON that is sent,
//! `answer` turns the response into a completion, `failure` turns what the API says went
//! wrong into an error that the host can act on. Retries, rate limits and the key are the
//! host's; the plugin names the key and never sees it.
//!
//! Config keys that mean nothing here go into the body as they are, so that an option which
//! the API learns tomorrow works without a new version.

mod answer;
mod body;
mod failure;
mod knobs;
mod messages;

use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target, http,
};

use std::time::Duration;

use knobs::Knobs;

/// The name by which requests refer to the key.
const KEY: &str = "openai-key";

/// The provider.
pub struct OpenAi;

impl Provider for OpenAi {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "OPENAI_API_KEY", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        Info::new(
            "openai",
            env!("CARGO_PKG_VERSION"),
            "Chat completions of OpenAI and of servers that speak the same.",
        )
        .license(env!("CARGO_PKG_LICENSE"))
        .prefix("openai")
        .host("https://api.openai.com")
        .host_from("apiBaseUrl")
        .credential(key)
        .setting("OPENAI_BASE_URL", "apiBaseUrl")
        .setting("OPENAI_ORGANIZATION", "organization")
        .config_schema(&config_schema())
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let knobs = Knobs::read(target, request)?;
        let body = body::of(&knobs, request)?;
        let mut exchange = http::post(format!("{}/chat/completions", knobs.base_url)).json(&body);
        for (name, value) in &knobs.headers {
            exchange = exchange.header(name, value);
        }
        if knobs.needs_key {
            exchange = exchange.credential(KEY);
        }
        if let Some(timeout) = request.timeout_ms {
            exchange = exchange.timeout(Duration::from_millis(timeout));
        }
        let response = exchange.bucket(&knobs.model).send()?;
        let answer = failure::check(&response)?;
        answer::completion(answer, answer::wants_json(&body))
    }
}

/// The knobs with a shape of their own. Everything else is the API's to check.
fn config_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "apiBaseUrl": { "type": "string", "pattern": "^https?://" },
            "apiKeyEnvar": { "type": "string" },
            "apiKeyRequired": { "type": "boolean" },
            "organization": { "type": "string" },
            "headers": { "type": "object", "additionalProperties": { "type": "string" } },
            "passthrough": { "type": "object" },
            "temperature": { "type": "number" },
            "max_tokens": { "type": "integer", "minimum": 1 },
            "max_completion_tokens": { "type": "integer", "minimum": 1 },
            "top_p": { "type": "number" },
            "stop": { "type": ["string", "array", "null"], "items": { "type": "string" } },
            "seed": { "type": "integer" },
            "response_format": { "type": "object" },
            "tools": { "type": "array", "items": { "type": "object" } },
            "tool_choice": { "type": ["string", "object"] }
        }
    })
}

runner_plugin::export_provider!(OpenAi);
