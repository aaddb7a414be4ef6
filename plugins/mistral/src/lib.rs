//! The provider `mistral`: chat completions and embeddings of Mistral.
//!
//! OpenAI's shape, in `plugin-model-api`, with another name for the seed. Answers of reasoning
//! models are lists of parts, which the shared reader knows.

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::embeddings;
use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::schema;
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

/// The name by which requests refer to the key.
const KEY: &str = "mistral-key";

const API: Api = Api {
    base_url: "https://api.mistral.ai/v1",
    key: Some(KEY),
    ours: &[],
};

/// In what it differs from OpenAI's API.
const DIALECT: Dialect = Dialect {
    seed: "random_seed",
    token_limit: chat::max_tokens,
    developer: "system",
    names_model: true,
    states_cost: false,
};

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 3] = ["agent", "ocr", "moderation"];

/// The provider.
pub struct Mistral;

impl Provider for Mistral {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "MISTRAL_API_KEY", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        Info::new(
            "mistral",
            env!("CARGO_PKG_VERSION"),
            "Chat completions and embeddings of Mistral.",
        )
        .license(env!("CARGO_PKG_LICENSE"))
        .prefix("mistral")
        .host("https://api.mistral.ai")
        .host_from("apiBaseUrl")
        .credential(key)
        .setting("MISTRAL_API_BASE_URL", "apiBaseUrl")
        .config_schema(&schema::chat(&json!({
            "safe_prompt": { "type": "boolean" },
            "random_seed": { "type": "integer" }
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
        let (form, named) = form(target)?;
        if form == "embedding" {
            let id = &target.id;
            return Err(Error::unsupported(format!(
                "`{id}` makes vectors and answers no prompts; name it as the provider of `similar`"
            )));
        }
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = knobs.model(target, named)?;
        chat::complete(&DIALECT, &knobs, "/chat/completions", &model, request)
    }
}

impl ProviderEmbed for Mistral {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (form, named) = form(target)?;
        if form != "embedding" {
            let id = &target.id;
            return Err(Error::unsupported(format!(
                "`{id}` makes no vectors; write `mistral:embedding:MODEL`"
            )));
        }
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        embeddings::embed(&knobs, "/embeddings", &model, true, inputs)
    }
}

/// The form that an id asks for, and the model that it names.
fn form(target: &Target) -> Result<(&'static str, &str), Error> {
    if let (Some(absent), _) = knobs::kind(&target.name, &ABSENT) {
        let id = &target.id;
        return Err(Error::unsupported(format!(
            "`{id}` is not supported: the plugin has no form `{absent}`; write `mistral:MODEL`"
        )));
    }
    let (form, named) = knobs::kind(&target.name, &["chat", "embedding", "embeddings"]);
    let makes_vectors = form.is_some_and(|form| form != "chat");
    Ok((if makes_vectors { "embedding" } else { "chat" }, named))
}

runner_plugin_embed::export_embedding_provider!(Mistral);
