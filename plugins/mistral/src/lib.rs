//! The provider `mistral`: chat completions and embeddings of Mistral.
//!
//! OpenAI's shape, in `plugin-model-api`, with another name for the seed. Answers of reasoning
//! models are lists of parts, which the shared reader knows.

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::client::{Client, Served};
use plugin_model_api::server::{self, Form, Key, Server};
use runner_plugin::Info;
use runner_plugin::json::{Value, json};

/// What the plugin serves.
pub struct Names;

impl Served for Names {
    const SERVERS: &'static [Server] = &[Server {
        prefixes: &["mistral"],
        base_url: "https://api.mistral.ai/v1",
        key: Some(Key::needed("mistral-key", &["MISTRAL_API_KEY"])),
        setting: Some("MISTRAL_API_BASE_URL"),
        dialect: Dialect {
            seed: "random_seed",
            counts_if_asked: false,
            ..chat::PLAIN
        },
        forms: &[Form::Embedding],
        absent: &["agent", "ocr", "moderation"],
        ..server::PLAIN
    }];

    fn info() -> Info {
        let summary = "Chat completions and embeddings of Mistral.";
        runner_plugin::package_info!("mistral", summary)
    }

    fn properties() -> Value {
        json!({
            "safe_prompt": { "type": "boolean" },
            "random_seed": { "type": "integer" }
        })
    }
}

/// The provider.
pub type Mistral = Client<Names>;

runner_plugin_embed::export_embedding_provider!(Mistral);
