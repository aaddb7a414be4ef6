//! The provider `openrouter`: chat completions of OpenRouter, a gateway to the models of
//! many companies.
//!
//! OpenAI's shape, in `plugin-model-api`. The gateway states the price of each call, and
//! reports what failed behind it within an answer of status 200.

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::client::{Client, Served};
use plugin_model_api::server::{self, Key, Server};
use runner_plugin::Info;
use runner_plugin::json::{Value, json};

/// What the plugin serves.
pub struct Names;

impl Served for Names {
    const SERVERS: &'static [Server] = &[Server {
        prefixes: &["openrouter"],
        base_url: "https://openrouter.ai/api/v1",
        key: Some(Key::needed("openrouter-key", &["OPENROUTER_API_KEY"])),
        setting: Some("OPENROUTER_API_BASE_URL"),
        dialect: Dialect {
            states_cost: true,
            ..chat::PLAIN
        },
        ..server::PLAIN
    }];

    fn info() -> Info {
        let summary = "Chat completions of OpenRouter, with the price of each.";
        runner_plugin::package_info!("openrouter", summary)
    }

    fn properties() -> Value {
        json!({
            "models": { "type": "array", "items": { "type": "string" } },
            "provider": { "type": "object" },
            "reasoning": { "type": "object" },
            "transforms": { "type": "array", "items": { "type": "string" } },
            "plugins": { "type": "array", "items": { "type": "object" } }
        })
    }
}

/// The provider.
pub type OpenRouter = Client<Names>;

runner_plugin::export_provider!(OpenRouter);
