//! The provider `ollama`: models on a server of one's own, by Ollama's native API.
//!
//! `ollama:chat:MODEL` asks `/api/chat`, `ollama:completion:MODEL` and `ollama:MODEL` ask
//! `/api/generate`, `ollama:embeddings:MODEL` asks `/api/embed`. `body` writes the first two,
//! `answer` reads them. The config and the errors are read by `plugin-model-api`.
//!
//! No key is wanted: the server has none. For one behind a gateway that asks for a key, its
//! OpenAI-compatible address under `openai:` does.

mod answer;
mod body;

use plugin_model_api::embeddings::{vector, whole};
use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::streaming::{self, EventShape, has_items, has_text, lay_over};
use plugin_model_api::{failure, forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, Error, ErrorCode, Info, Provider, Request, Target, Usage, http,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

const API: Api = Api {
    base_url: "http://localhost:11434",
    key: None,
    ours: &[],
};

/// The forms of asking, as an id writes them.
const FORMS: [&str; 5] = ["chat", "completion", "generate", "embeddings", "embedding"];

/// The provider.
pub struct Ollama;

impl Provider for Ollama {
    fn describe() -> Info {
        runner_plugin::package_info!(
            "ollama",
            "Models of an Ollama server: chat, completion, embeddings."
        )
        .prefix("ollama")
        .host(API.base_url)
        .host_from("apiBaseUrl")
        .setting("OLLAMA_BASE_URL", "apiBaseUrl")
        .config_schema(&schema::config(&json!({
            "num_predict": { "type": "integer" },
            "num_ctx": { "type": "integer", "minimum": 1 },
            "top_k": { "type": "number" },
            "seed": { "type": "integer" },
            "stream": { "type": "boolean" },
            "stop": { "type": ["string", "array"], "items": { "type": "string" } },
            "options": { "type": "object" },
            "tools": { "type": "array", "items": { "type": "object" } },
            "format": { "type": ["string", "object"] },
            "think": { "type": ["boolean", "string"] },
            "keep_alive": { "type": ["string", "number"] }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
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
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = knobs.model(target, named)?;
        match form {
            Some("chat") => {
                let body = body::chat(&knobs, &model, request)?;
                let response = ask(&knobs, "/api/chat", &body, &model)?;
                answer::of_chat(&response, body["format"].is_object())
            }
            Some("embedding" | "embeddings") => Err(forms::makes_vectors(target)),
            _ => {
                let body = body::generate(&knobs, &model, request)?;
                let response = ask(&knobs, "/api/generate", &body, &model)?;
                answer::of_generate(&response, body["format"].is_object())
            }
        }
    }
}

impl ProviderEmbed for Ollama {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (form, named) = knobs::kind(&target.name, &FORMS);
        if !matches!(form, Some("embedding" | "embeddings")) {
            return Err(forms::no_vectors(target, "ollama:embeddings:MODEL"));
        }
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        let body = body::embed(&knobs, &model, inputs);
        let response = check(&knobs.post("/api/embed", &body, &model).send()?)?;
        let list = response["embeddings"].as_array().into_iter().flatten();
        let usage = Usage {
            input_tokens: response["prompt_eval_count"].as_u64(),
            ..Usage::default()
        };
        whole(list.map(vector).collect(), inputs.len(), usage)
    }
}

fn ask(knobs: &Knobs, path: &str, body: &Value, model: &str) -> Result<Value, Error> {
    let exchange = knobs.post(path, body, model);
    check(&streaming::send(exchange, knobs.streams(), &EVENTS)?)
}

/// An object on each line, with what the answer says more; the last has the counts.
const EVENTS: EventShape = EventShape {
    has_token: |event| {
        let message = &event["message"];
        let texts = [&event["response"], &event["thinking"]];
        let said = [&message["content"], &message["thinking"]];
        texts.into_iter().chain(said).any(has_text) || has_items(&message["tool_calls"])
    },
    add: |whole, event| lay_over(whole, event, &["content", "thinking", "response"]),
    is_whole: |whole| whole["done"] == true,
};

/// As the shared check. The server's errors are texts without codes, so the status decides; a
/// busy one says 503, which is worth another try.
fn check(response: &http::Response) -> Result<Value, Error> {
    failure::check(response).map_err(|mut error| {
        // An error after the first words comes with status 200.
        if response.is_success() && error.detail.as_ref().is_some_and(Value::is_string) {
            error.code = ErrorCode::Transient;
        }
        error
    })
}

runner_plugin_embed::export_embedding_provider!(Ollama);
