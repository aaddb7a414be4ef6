//! The provider `groq`: chat completions of Groq.
//!
//! OpenAI's shape, in `plugin-model-api`; the limit of the answer has its newer name.

use plugin_model_api::chat::{self, Dialect};

use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::schema;
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};

/// The name by which requests refer to the key.
const KEY: &str = "groq-key";

const API: Api = Api {
    base_url: "https://api.groq.com/openai/v1",
    key: Some(KEY),
    ours: &[],
};

/// In what it differs from OpenAI's API.
const DIALECT: Dialect = Dialect {
    seed: "seed",
    token_limit: chat::max_completion_tokens,
    developer: "system",
    names_model: true,
    states_cost: false,
};

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 3] = ["responses", "speech", "transcription"];

/// The provider.
pub struct Groq;

impl Provider for Groq {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "GROQ_API_KEY", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        Info::new(
            "groq",
            env!("CARGO_PKG_VERSION"),
            "Chat completions of Groq.",
        )
        .license(env!("CARGO_PKG_LICENSE"))
        .prefix("groq")
        .host("https://api.groq.com")
        .host_from("apiBaseUrl")
        .credential(key)
        .setting("GROQ_BASE_URL", "apiBaseUrl")
        .config_schema(&schema::chat(&json!({
            "reasoning_effort": { "type": "string" },
            "reasoning_format": { "type": "string" },
            "include_reasoning": { "type": "boolean" },
            "service_tier": { "type": "string" }
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
            "`{id}` is not supported: the plugin has no form `{absent}`; write `groq:MODEL`"
        )));
    }
    Ok(knobs::kind(&target.name, &["chat"]).1)
}

runner_plugin::export_provider!(Groq);
