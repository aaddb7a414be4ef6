//! The provider for servers that speak OpenAI's chat completions and have no plugin of their
//! own: companies, gateways, and servers on one's own machine.
//!
//! `servers` is the list of them; what a row means is in `plugin-model-api`. The component asks
//! for the keys and addresses of all, and says of each prefix which are its: a provider gets the
//! key of its server and can reach the address of its server, and no others.

mod hyperbolic;
mod servers;

use plugin_model_api::client::{Client, Served};
use plugin_model_api::schema;
use plugin_model_api::server::Server;
use runner_plugin::Info;
use runner_plugin::json::{Value, json};

/// What the plugin serves.
pub struct Names;

impl Served for Names {
    const SERVERS: &'static [Server] = servers::SERVERS;

    fn info() -> Info {
        let summary = "Servers that speak as OpenAI does: companies, gateways, your own machine.";
        runner_plugin::package_info!("compatible", summary)
    }

    fn properties() -> Value {
        json!({ "response_format": schema::format_or_kind() })
    }
}

/// The provider.
pub type Compatible = Client<Names>;

runner_plugin_embed::export_embedding_provider!(Compatible);
