//! The provider `openai`: chat completions of OpenAI and of every server that speaks the same,
//! and OpenAI's other forms of asking.
//!
//! The part of the id behind `openai:` says which form: `chat` (also when it says nothing),
//! `responses`, `completion`, `embedding`, `moderation`, `image`. One exchange per request each. What
//! the forms share (config, chat shape, errors) is in `plugin-model-api`; `moderation`
//! has a file. Retries, rate limits and the key are the
//! host's; the plugin names the key and never sees it.
//!
//! Config keys that mean nothing here go into the body as they are, so that an option which
//! the API learns tomorrow works without a new version.

mod moderation;

use plugin_model_api::images::{self, GENERATIONS};
use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::{chat, completions, embeddings, forms, responses, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

/// The name by which requests refer to the key.
const KEY: &str = "openai-key";

const API: Api = Api {
    base_url: "https://api.openai.com/v1",
    key: Some(KEY),
    ours: &["organization"],
};

/// The forms of asking, as an id writes them.
const FORMS: [&str; 7] = [
    "chat",
    "responses",
    "completion",
    "embedding",
    "embeddings",
    "moderation",
    "image",
];

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 11] = [
    "agents",
    "assistant",
    "chatkit",
    "codex",
    "codex-app-server",
    "codex-desktop",
    "codex-sdk",
    "realtime",
    "speech",
    "transcription",
    "video",
];

/// Models that know no chat. Where the id names no form, they are asked for a completion.
const WITHOUT_CHAT: [&str; 10] = [
    "babbage-002",
    "davinci-002",
    "gpt-3.5-turbo-instruct",
    "gpt-3.5-turbo-instruct-0914",
    "text-ada-001",
    "text-babbage-001",
    "text-babbage-002",
    "text-curie-001",
    "text-davinci-002",
    "text-davinci-003",
];

/// The provider.
pub struct OpenAi;

impl Provider for OpenAi {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "OPENAI_API_KEY", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        runner_plugin::package_info!(
            "openai",
            "Chat completions of OpenAI and of servers that speak the same; responses, embeddings."
        )
        .prefix("openai")
        .host("https://api.openai.com")
        .base(API.base_url)
        .host_from("apiBaseUrl")
        .credential(key)
        .setting("OPENAI_BASE_URL", "apiBaseUrl")
        .setting("OPENAI_ORGANIZATION", "organization")
        .config_schema(&schema::chat(&json!({
            "organization": { "type": "string" },
            "response_format": schema::format_or_kind(),
            "max_output_tokens": { "type": "integer", "minimum": 1 },
            "instructions": { "type": "string" }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (_, named) = form(target)?;
        Knobs::check_model(&API, target, named)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (form, named) = form(target)?;
        let mut knobs = with_organization(Knobs::read(&API, target, request)?);
        let model = knobs.model(target, named)?;
        match form {
            "responses" => responses::complete(&knobs, &model, request),
            "completion" => completions::complete(&knobs, &model, request),
            "moderation" => moderation::complete(&knobs, &model, request),
            "image" => images::complete(&knobs, GENERATIONS, &model, request),
            "embedding" | "embeddings" => Err(forms::makes_vectors(target)),
            _ => chat::complete(&chat::OPENAI, &knobs, "/chat/completions", &model, request),
        }
    }
}

impl ProviderEmbed for OpenAi {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (form, named) = form(target)?;
        if !matches!(form, "embedding" | "embeddings") {
            return Err(forms::no_vectors(target, "openai:embedding:MODEL"));
        }
        let mut knobs = with_organization(Knobs::read_target(&API, target)?);
        let model = knobs.model(target, named)?;
        embeddings::embed(&knobs, "/embeddings", &model, true, inputs)
    }
}

/// The form that an id asks for, and the model that it names.
fn form(target: &Target) -> Result<(&'static str, &str), Error> {
    forms::refuse(target, &ABSENT, &format!("it has {}", FORMS.join(", ")))?;
    let (form, named) = knobs::kind(&target.name, &FORMS);
    let unsaid = if WITHOUT_CHAT.contains(&named) {
        "completion"
    } else {
        "chat"
    };
    Ok((form.unwrap_or(unsaid), named))
}

fn with_organization(mut knobs: Knobs) -> Knobs {
    if let Some(organization) = knobs.text("organization") {
        let header = ("OpenAI-Organization".to_owned(), organization.to_owned());
        knobs.headers.insert(0, header);
    }
    knobs
}

runner_plugin_embed::export_embedding_provider!(OpenAi);
