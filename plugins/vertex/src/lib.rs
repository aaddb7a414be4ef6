//! The provider `vertex`: models that Google serves in its cloud, Vertex AI.
//!
//! Gemini's, Anthropic's and Meta's models have the shapes of their makers, all in
//! `plugin-model-api`; what differs is where they are (`place`) and embeddings (`vectors`). Who may
//! ask is said by an access token, which the host fetches and adds: the plugin sees neither it nor the
//! key that it comes from.

mod place;
mod vectors;

use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::{chat, claude, failure, forms, gemini, schema};
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

use place::Place;

/// The name by which requests refer to the token.
const KEY: &str = "google-adc";

const API: Api = Api {
    base_url: "",
    key: Some(KEY),
    ours: &[
        "apiVersion",
        "projectId",
        "publisher",
        "region",
        "anthropicVersion",
        "anthropic_version",
    ],
};

const REFUSED: [Refused; 3] = [
    knobs::API_HOST,
    knobs::CALLBACKS,
    (
        "keyFilename",
        "is not read from a config; export GOOGLE_APPLICATION_CREDENTIALS with the file's path",
    ),
];

/// The version of Anthropic's API as Google serves it.
const ANTHROPIC_VERSION: &str = "vertex-2023-10-16";

/// Keys of Gemini's for which Anthropic's models have others.
const ANTHROPICS: [(&str, &str); 4] = [
    ("maxOutputTokens", "max_tokens"),
    ("topP", "top_p"),
    ("topK", "top_k"),
    ("stopSequences", "stop_sequences"),
];

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 3] = ["image", "live", "video"];

/// The provider.
pub struct Vertex;

impl Provider for Vertex {
    fn describe() -> Info {
        let key = CredentialWant::new(
            KEY,
            "GOOGLE_APPLICATION_CREDENTIALS",
            "google-adc",
            "to call the API in your name",
        )
        .value_key("credentials");
        runner_plugin::package_info!(
            "vertex",
            "Vertex AI of Google Cloud: Gemini, Claude, Llama, and embeddings."
        )
        .prefix("vertex")
        .host("https://aiplatform.googleapis.com")
        .host("https://*-aiplatform.googleapis.com")
        .host_from("apiBaseUrl")
        .credential(key)
        .setting("GOOGLE_VERTEX_BASE_URL", "apiBaseUrl")
        .setting("VERTEX_REGION", "region")
        .setting("GOOGLE_CLOUD_LOCATION", "region")
        .setting("VERTEX_PROJECT_ID", "projectId")
        .setting("GOOGLE_PROJECT_ID", "projectId")
        .setting("GOOGLE_CLOUD_PROJECT", "projectId")
        .setting("VERTEX_PUBLISHER", "publisher")
        .setting("VERTEX_API_VERSION", "apiVersion")
        .config_schema(&schema::config(&json!({
            "apiVersion": { "type": "string", "pattern": "^v[0-9a-z]+$" },
            "region": { "type": "string", "pattern": "^[a-z0-9-]+$" },
            "projectId": { "type": "string" },
            "publisher": { "type": "string" },
            "generationConfig": { "type": "object" },
            "maxOutputTokens": { "type": "integer", "minimum": 1 },
            "max_tokens": { "type": "integer", "minimum": 1 },
            "topP": { "type": "number" },
            "topK": { "type": "number" },
            "stopSequences": { "type": "array", "items": { "type": "string" } },
            "responseSchema": { "type": "object" },
            "safetySettings": { "type": "array", "items": { "type": "object" } },
            "tools": { "type": "array", "items": { "type": "object" } },
            "toolConfig": { "type": "object" },
            "systemInstruction": { "type": ["string", "object"] }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (_, named) = form(target)?;
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        Place::find(&mut knobs)?
            .model("google", &model, "")
            .map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (vectors, named) = form(target)?;
        if vectors {
            return Err(forms::makes_vectors(target));
        }
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = knobs.model(target, named)?;
        let place = Place::find(&mut knobs)?;
        if model.contains("claude") {
            return ask_claude(&mut knobs, &place, &model, request);
        }
        if model.contains("llama") {
            let path = place.openapi();
            let maker = format!("meta/{model}");
            return chat::complete(&chat::PLAIN, &knobs, &path, &maker, request);
        }
        let publisher = knobs.text("publisher").unwrap_or("google").to_owned();
        let path = place.model(&publisher, &model, "generateContent")?;
        let body = gemini::body::of(&knobs, request)?;
        let response = gemini::check(&knobs.post(&path, &body, &model).send()?)?;
        gemini::answer::completion(&response, request.response_schema_json.is_some())
    }
}

impl ProviderEmbed for Vertex {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (vectors, named) = form(target)?;
        if !vectors {
            return Err(forms::no_vectors(target, "vertex:embedding:MODEL"));
        }
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        let place = Place::find(&mut knobs)?;
        let path = place.model("google", &model, "predict")?;
        vectors::embed(&knobs, &path, &model, inputs)
    }
}

/// Anthropic's shape, with the model in the address and the version in the body.
fn ask_claude(
    knobs: &mut Knobs,
    place: &Place,
    model: &str,
    request: &Request,
) -> Result<Completion, Error> {
    for (theirs, own) in ANTHROPICS {
        if let Some(value) = knobs.body.remove(theirs) {
            knobs.body.entry(own).or_insert(value);
        }
    }
    let version = ["anthropicVersion", "anthropic_version"];
    let version = version.iter().find_map(|key| knobs.text(key));
    let version = json!(version.unwrap_or(ANTHROPIC_VERSION));
    let mut body = claude::body::of(knobs, model, request)?;
    let wants_json = claude::body::wants_json(&body);
    let fields: Option<&mut Map<String, Value>> = body.as_object_mut();
    if let Some(fields) = fields {
        fields.remove("model");
        fields.insert("anthropic_version".to_owned(), version);
    }
    let path = place.model("anthropic", model, "rawPredict")?;
    let response = failure::check(&knobs.post(&path, &body, model).send()?)?;
    claude::answer::completion(&response, wants_json)
}

/// Checks whether an id asks for vectors, and the model that it names.
fn form(target: &Target) -> Result<(bool, &str), Error> {
    forms::refuse(target, &ABSENT, "write `vertex:MODEL`")?;
    let (form, named) = knobs::kind(&target.name, &["chat", "embedding", "embeddings"]);
    Ok((form.is_some_and(|form| form != "chat"), named))
}

runner_plugin_embed::export_embedding_provider!(Vertex);
