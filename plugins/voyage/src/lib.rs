//! The provider `voyage`: embeddings of Voyage AI.
//!
//! OpenAI's shape, in `plugin-model-api`; no record among the servers of that shape, because here
//! every model makes vectors and none answers, and ids have no form in them.

use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::{embeddings, forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

/// The name by which requests refer to the key.
const KEY: &str = "voyage-key";

const API: Api = Api {
    base_url: "https://api.voyageai.com/v1",
    key: Some(KEY),
    ours: &[],
};

/// Forms that may stand before a model, and say what is the case anyhow.
const FORMS: [&str; 2] = ["embedding", "embeddings"];

/// The provider.
pub struct Voyage;

impl Provider for Voyage {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "VOYAGE_API_KEY", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        runner_plugin::package_info!("voyage", "Embeddings of Voyage AI.")
            .prefix("voyage")
            .host("https://api.voyageai.com")
            .base(API.base_url)
            .host_from("apiBaseUrl")
            .credential(key)
            .setting("VOYAGE_API_BASE_URL", "apiBaseUrl")
            .config_schema(&schema::config(&json!({
                "input_type": { "type": ["string", "null"] },
                "truncation": { "type": "boolean" },
                "output_dimension": { "type": "integer", "minimum": 1 }
            })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        Knobs::check_model(&API, target, knobs::kind(&target.name, &FORMS).1)
    }

    fn complete(target: &Target, _: &Request, _: &CallContext) -> Result<Completion, Error> {
        Err(forms::makes_vectors(target))
    }
}

impl ProviderEmbed for Voyage {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, knobs::kind(&target.name, &FORMS).1)?;
        let mut made = embeddings::embed(&knobs, "/embeddings", &model, true, inputs)?;
        // The API states the total alone, and all of it was read.
        made.usage.input_tokens = made.usage.input_tokens.or(made.usage.total_tokens);
        Ok(made)
    }
}

runner_plugin_embed::export_embedding_provider!(Voyage);
