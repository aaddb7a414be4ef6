//! The provider `cohere`: Cohere's chat and embeddings, by version 2 of its API.
//!
//! `body` turns config and messages into the JSON that is sent, `answer` turns the response
//! into a completion, `vectors` does both for embeddings. The config and the errors are read by
//! `plugin-model-api`. Version 1 has another shape and the same models, so it is not spoken:
//! its config keys are translated where version 2 has something for them, else refused.

mod answer;
mod body;
mod vectors;

use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::{failure, forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, ErrorCode, Info, Provider, Request, Target,
    http, log,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

/// The name by which requests refer to the key.
const KEY: &str = "cohere-key";

const API: Api = Api {
    base_url: "https://api.cohere.com",
    key: Some(KEY),
    ours: &[
        "chatHistory",
        "chat_history",
        "clientName",
        "connectors",
        "preamble",
        "preamble_override",
        "prompt_truncation",
        "search_queries_only",
        "showDocuments",
        "showSearchQueries",
    ],
};

/// The forms of asking, as an id writes them.
const FORMS: [&str; 3] = ["chat", "embedding", "embeddings"];

/// The provider.
pub struct Cohere;

impl Provider for Cohere {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "COHERE_API_KEY", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        let history = json!({ "type": "array", "items": {
            "type": "object",
            "required": ["role", "message"],
            "properties": { "role": { "type": "string" }, "message": { "type": "string" } },
        }});
        runner_plugin::package_info!("cohere", "Chat and embeddings of Cohere.")
            .prefix("cohere")
            .host(API.base_url)
            .base(API.base_url)
            .host_from("apiBaseUrl")
            .credential(key)
            .setting("COHERE_API_BASE_URL", "apiBaseUrl")
            .setting("COHERE_CLIENT_NAME", "clientName")
            .config_schema(&schema::chat(&json!({
                "k": { "type": "integer", "minimum": 0 },
                "p": { "type": "number" },
                "preamble": { "type": "string" },
                "preamble_override": { "type": "string" },
                "chat_history": history,
                "chatHistory": history,
                "documents": { "type": "array", "items": { "type": ["string", "object"] } },
                "citation_options": { "type": "object" },
                "safety_mode": { "type": "string" },
                "stop_sequences": { "type": "array", "items": { "type": "string" } },
                "showDocuments": { "type": "boolean" },
                "input_type": { "type": "string" },
                "truncate": { "type": "string" },
                "clientName": { "type": "string" }
            })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        let mut problems = knobs::problems(config, &knobs::REFUSED);
        problems.extend(body::problems(config));
        problems
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        Knobs::check_model(&API, target, knobs::kind(&target.name, &FORMS).1)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (form, named) = knobs::kind(&target.name, &FORMS);
        if makes_vectors(form) {
            return Err(forms::makes_vectors(target));
        }
        let mut knobs = of_version_2(Knobs::read(&API, target, request)?);
        let model = knobs.model(target, named)?;
        if let Some(warning) = body::warning(&knobs.own) {
            log::warn(warning);
        }
        let body = body::of(&knobs, &model, request)?;
        let response = check(&knobs.post("/chat", &body, &model).send()?)?;
        let shows_documents = knobs.own.get("showDocuments") == Some(&Value::Bool(true));
        let wants_json = request.response_schema_json.is_some();
        answer::completion(&response, wants_json, shows_documents)
    }
}

impl ProviderEmbed for Cohere {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (form, named) = knobs::kind(&target.name, &FORMS);
        if !makes_vectors(form) {
            return Err(forms::no_vectors(target, "cohere:embedding:MODEL"));
        }
        let mut knobs = of_version_2(Knobs::read_target(&API, target)?);
        let model = knobs.model(target, named)?;
        let body = vectors::body(&knobs, &model, inputs);
        let response = check(&knobs.post("/embed", &body, &model).send()?)?;
        vectors::read(&response, inputs.len())
    }
}

fn makes_vectors(form: Option<&str>) -> bool {
    matches!(form, Some("embedding" | "embeddings"))
}

/// The knobs with the address of version 2, whichever version the config's address names, and
/// with the header that says who asks.
fn of_version_2(mut knobs: Knobs) -> Knobs {
    let address = knobs.base_url.as_str();
    let bare = address.strip_suffix("/v1").or(address.strip_suffix("/v2"));
    knobs.base_url = format!("{}/v2", bare.unwrap_or(address));
    if let Some(name) = knobs.text("clientName") {
        let header = ("X-Client-Name".to_owned(), name.to_owned());
        knobs.headers.insert(0, header);
    }
    knobs
}

/// As the shared check; and 498 is Cohere's for a text with a word that is not allowed.
fn check(response: &http::Response) -> Result<Value, Error> {
    failure::check(response).map_err(|mut error| {
        if error.status == Some(498) {
            error.code = ErrorCode::ContentFilter;
        }
        error
    })
}

runner_plugin_embed::export_embedding_provider!(Cohere);
