//! The providers `cloudflare-ai`, models that Cloudflare runs (Workers AI), and
//! `cloudflare-gateway`, models of others behind a gateway of one's own (AI Gateway).
//!
//! Both speak OpenAI's shape, in `plugin-model-api`, at addresses that name an account: `place`
//! finds them. A gateway is handed the key of the company behind it. The component asks for the
//! keys of all and says of each beginning of an id which is its own, so that no other leaves.

mod place;

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::knobs::{self, Refused};
use plugin_model_api::server::Form;
use plugin_model_api::{completions, embeddings, forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, ErrorCode, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

use place::{GATEWAY, GATEWAY_ID, Place, VENDORS, WORKERS, WORKERS_KEY};

/// The variables that fill config keys.
const SETTINGS: [(&str, &str); 2] = [
    ("CLOUDFLARE_ACCOUNT_ID", place::ACCOUNT),
    ("CLOUDFLARE_GATEWAY_ID", GATEWAY_ID),
];

const BY_TEMPLATE: &str = "is not supported; write the value itself, or a template: '{{env.NAME}}'";

const AS_HEADER: &str = "is not supported; write the token as a header of the config: `headers: { cf-aig-authorization: 'Bearer {{env.CF_AIG_TOKEN}}' }`";

const REFUSED: [Refused; 6] = [
    knobs::API_HOST,
    knobs::CALLBACKS,
    ("accountIdEnvar", BY_TEMPLATE),
    ("gatewayIdEnvar", BY_TEMPLATE),
    ("cfAigToken", AS_HEADER),
    ("cfAigTokenEnvar", AS_HEADER),
];

/// The limit of the answer is called as the model's name says: any may be behind a gateway.
const DIALECT: Dialect = Dialect {
    token_limit: chat::token_limit,
    ..chat::PLAIN
};

/// The provider.
pub struct Cloudflare;

impl Provider for Cloudflare {
    fn describe() -> Info {
        let (account, gateway) = (SETTINGS[0].0, SETTINGS[1].0);
        let summary = "Workers AI, and models of others behind an AI Gateway.";
        let mut info = runner_plugin::package_info!("cloudflare", summary)
            .prefix("cloudflare-ai")
            .prefix("cloudflare-gateway")
            .host(WORKERS)
            .host(GATEWAY)
            .host_from("apiBaseUrl")
            .credential(key(WORKERS_KEY, "CLOUDFLARE_API_KEY"))
            .wants_of("cloudflare-ai", &[WORKERS], &[WORKERS_KEY], &[account])
            .wants_of("cloudflare-gateway", &[GATEWAY], &[], &[account, gateway]);
        for vendor in &VENDORS {
            // The gateway may have the key itself.
            let id = format!("cloudflare-gateway:{}", vendor.id);
            let address = format!("{GATEWAY}/v1/{{accountId}}/{{gatewayId}}/{}", vendor.id);
            info = info
                .credential(key(vendor.key, vendor.env))
                .credential_if_set(vendor.key)
                .wants_of(&id, &[GATEWAY], &[vendor.key], &[account, gateway])
                .shared(&id, &address, !vendor.is_ours());
        }
        for (env, config_key) in SETTINGS {
            info = info.setting(env, config_key);
        }
        info.config_schema(&schema::chat(&json!({
            "accountId": { "type": "string", "minLength": 1 },
            "gatewayId": { "type": "string", "minLength": 1 }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let place = Place::of(target)?;
        let mut knobs = knobs::Knobs::read_target(&place.api(), target)?;
        knobs.model(target, place.named)?;
        place.address(&knobs).map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let place = Place::of(target)?;
        let mut knobs = knobs::Knobs::read(&place.api(), target, request)?;
        let model = knobs.model(target, place.named)?;
        knobs.base_url = place.address(&knobs)?;
        let answered = match place.form {
            Form::Chat => chat::complete(&DIALECT, &knobs, "/chat/completions", &model, request),
            Form::Completion => completions::complete(&knobs, &model, request),
            Form::Embedding => Err(forms::makes_vectors(target)),
        };
        answered.map_err(by_number)
    }
}

impl ProviderEmbed for Cloudflare {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let place = Place::of(target)?;
        if place.form != Form::Embedding {
            return Err(forms::no_vectors(target, "cloudflare-ai:embedding:MODEL"));
        }
        let mut knobs = knobs::Knobs::read_target(&place.api(), target)?;
        let model = knobs.model(target, place.named)?;
        knobs.base_url = place.address(&knobs)?;
        embeddings::embed(&knobs, "/embeddings", &model, true, inputs).map_err(by_number)
    }
}

fn key(name: &str, env: &str) -> CredentialWant {
    CredentialWant::bearer(name, env, "to call the API in your name")
        .env_key("apiKeyEnvar")
        .value_key("apiKey")
}

/// The error with what Workers AI says by number: that the day's share is used up, which is no
/// pause, and that there is no such model, which comes with status 400.
fn by_number(mut error: Error) -> Error {
    let number = error.detail.as_ref().and_then(|it| it["code"].as_u64());
    match number {
        Some(3036) => error.code = ErrorCode::QuotaExhausted,
        Some(5007) => error.code = ErrorCode::NotFound,
        _ => {}
    }
    error
}

runner_plugin_embed::export_embedding_provider!(Cloudflare);
