//! The provider `openrouter`: chat completions of OpenRouter, a gateway to the models of
//! many companies.
//!
//! OpenAI's shape, in `plugin-model-api`. The gateway states the price of each call, and
//! reports what failed behind it within an answer of status 200.

use plugin_model_api::chat::{self, Dialect};

use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::schema;
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};

/// The name by which requests refer to the key.
const KEY: &str = "openrouter-key";

const API: Api = Api {
    base_url: "https://openrouter.ai/api/v1",
    key: Some(KEY),
    ours: &[],
};

/// In what it differs from OpenAI's API.
const DIALECT: Dialect = Dialect {
    seed: "seed",
    token_limit: chat::max_tokens,
    developer: "system",
    names_model: true,
    states_cost: true,
};

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 2] = ["embedding", "embeddings"];

/// The provider.
pub struct OpenRouter;

impl Provider for OpenRouter {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "OPENROUTER_API_KEY", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        Info::new(
            "openrouter",
            env!("CARGO_PKG_VERSION"),
            "Chat completions of OpenRouter, with the price of each.",
        )
        .license(env!("CARGO_PKG_LICENSE"))
        .prefix("openrouter")
        .host("https://openrouter.ai")
        .host_from("apiBaseUrl")
        .credential(key)
        .setting("OPENROUTER_API_BASE_URL", "apiBaseUrl")
        .config_schema(&schema::chat(&json!({
            "models": { "type": "array", "items": { "type": "string" } },
            "provider": { "type": "object" },
            "reasoning": { "type": "object" },
            "transforms": { "type": "array", "items": { "type": "string" } },
            "plugins": { "type": "array", "items": { "type": "object" } }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let named = named(target)?;
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = knobs.model(target, named)?;
        chat::complete(&DIALECT, &knobs, "/chat/completions", &model, request)
    }
}

/// The model that the id names.
fn named(target: &Target) -> Result<&str, Error> {
    if let (Some(absent), _) = knobs::kind(&target.name, &ABSENT) {
        let id = &target.id;
        return Err(Error::unsupported(format!(
            "`{id}` is not supported: the plugin has no form `{absent}`; write `openrouter:MODEL`"
        )));
    }
    Ok(knobs::kind(&target.name, &["chat"]).1)
}

runner_plugin::export_provider!(OpenRouter);
