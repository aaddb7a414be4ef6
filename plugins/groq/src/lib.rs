//! The provider `groq`: chat completions of Groq.
//!
//! OpenAI's shape, in `plugin-model-api`; the limit of the answer has its newer name.

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::client::{Client, Served};
use plugin_model_api::server::{self, Key, Server};
use runner_plugin::Info;
use runner_plugin::json::{Value, json};

/// What the plugin serves.
pub struct Names;

impl Served for Names {
    const SERVERS: &'static [Server] = &[Server {
        prefixes: &["groq"],
        base_url: "https://api.groq.com/openai/v1",
        key: Some(Key::needed("groq-key", &["GROQ_API_KEY"])),
        setting: Some("GROQ_BASE_URL"),
        dialect: Dialect {
            token_limit: chat::max_completion_tokens,
            ..chat::PLAIN
        },
        absent: &["responses", "speech", "transcription"],
        ..server::PLAIN
    }];

    fn info() -> Info {
        runner_plugin::package_info!("groq", "Chat completions of Groq.")
    }

    fn properties() -> Value {
        json!({
            "reasoning_effort": { "type": "string" },
            "reasoning_format": { "type": "string" },
            "include_reasoning": { "type": "boolean" },
            "service_tier": { "type": "string" }
        })
    }
}

/// The provider.
pub type Groq = Client<Names>;

runner_plugin::export_provider!(Groq);
