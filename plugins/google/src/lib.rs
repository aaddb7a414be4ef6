//! The provider `google`: Gemini's `generateContent`, and its embeddings.
//!
//! Gemini's shape is in `plugin-model-api`, since Vertex AI has it too; `vectors` and `pictures` write
//! and read embeddings and Imagen's pictures, which are of other shapes there. Retries, rate limits and
//! the key are the host's.
//!
//! Config keys that mean nothing here go into the body as they are, so that an option which
//! the API learns tomorrow works without a new version.

mod pictures;
mod vectors;

use plugin_model_api::gemini::{self, answer, body, events};
use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::path::segment;
use plugin_model_api::{forms, schema, streaming};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

/// The name by which requests refer to the key.
const KEY: &str = "google-key";

/// The version of the API if the config names none: the one that has every feature.
const VERSION: &str = "v1beta";

const API: Api = Api {
    base_url: "https://generativelanguage.googleapis.com",
    key: Some(KEY),
    ours: &["apiVersion"],
};

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 3] = ["live", "speech", "video"];

/// The provider.
pub struct Google;

impl Provider for Google {
    fn describe() -> Info {
        let key = CredentialWant::header(
            KEY,
            "GEMINI_API_KEY",
            "x-goog-api-key",
            "to call the API in your name",
        )
        .env_key("apiKeyEnvar")
        .value_key("apiKey");
        runner_plugin::package_info!(
            "google",
            "Gemini of Google AI Studio: answers and embeddings."
        )
        .prefix("google")
        .host(API.base_url)
        .base(API.base_url)
        .host_from("apiBaseUrl")
        .credential(key)
        .further_env(KEY, "GOOGLE_API_KEY")
        .setting("GOOGLE_API_BASE_URL", "apiBaseUrl")
        .config_schema(&schema::config(&json!({
            "apiVersion": { "type": "string", "pattern": "^v[0-9a-z]+$" },
            "generationConfig": { "type": "object" },
            "maxOutputTokens": { "type": "integer", "minimum": 1 },
            "max_tokens": { "type": "integer", "minimum": 1 },
            "topP": { "type": "number" },
            "topK": { "type": "number" },
            "stopSequences": { "type": "array", "items": { "type": "string" } },
            "responseMimeType": { "type": "string" },
            "responseSchema": { "type": "object" },
            "safetySettings": { "type": "array", "items": { "type": "object" } },
            "tools": { "type": ["array", "object"], "items": { "type": "object" } },
            "toolConfig": { "type": "object" },
            "systemInstruction": { "type": ["string", "object"] },
            "thinkingConfig": { "type": "object" },
            "stream": { "type": "boolean" },
            "cachedContent": { "type": "string" }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (_, named) = form(target)?;
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        path(&knobs, &model, "").map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (form, named) = form(target)?;
        if form == Some("embedding") {
            return Err(forms::makes_vectors(target));
        }
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = knobs.model(target, named)?;
        if form == Some("image") {
            let model = pictures::model(model);
            let path = path(&knobs, &model, "predict")?;
            let body = pictures::body(&knobs, &request.prompt);
            return pictures::read(&gemini::check(&knobs.post(&path, &body, &model).send()?)?);
        }
        let body = body::of(&knobs, request)?;
        let method = if knobs.streams() {
            "streamGenerateContent?alt=sse"
        } else {
            "generateContent"
        };
        let exchange = knobs.post(&path(&knobs, &model, method)?, &body, &model);
        let response = streaming::send(exchange, knobs.streams(), &events::EVENTS)?;
        let response = gemini::check(&response)?;
        answer::completion(&response, request.response_schema_json.is_some())
    }
}

impl ProviderEmbed for Google {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (form, named) = form(target)?;
        if form != Some("embedding") {
            return Err(forms::no_vectors(target, "google:embedding:MODEL"));
        }
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        let body = vectors::body(&knobs, &model, inputs);
        let path = path(&knobs, &model, "batchEmbedContents")?;
        let response = gemini::check(&knobs.post(&path, &body, &model).send()?)?;
        vectors::read(&response, inputs.len())
    }
}

/// The form that an id asks for, and the model that it names.
fn form(target: &Target) -> Result<(Option<&'static str>, &str), Error> {
    forms::refuse(target, &ABSENT, "write `google:MODEL`")?;
    let (form, named) = knobs::kind(&target.name, &["embedding", "embeddings", "image"]);
    let form = form.map(|form| if form == "image" { form } else { "embedding" });
    Ok((form, named))
}

fn path(knobs: &Knobs, model: &str, method: &str) -> Result<String, Error> {
    let version = segment(knobs.text("apiVersion").unwrap_or(VERSION))?;
    // Tuned models have a collection of their own, which their names begin with.
    let folder = if model.contains('/') { "" } else { "models/" };
    let model: Vec<String> = model.split('/').map(segment).collect::<Result<_, _>>()?;
    Ok(format!("/{version}/{folder}{}:{method}", model.join("/")))
}

runner_plugin_embed::export_embedding_provider!(Google);
