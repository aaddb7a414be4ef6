//! The provider `huggingface`: models that Hugging Face serves, or an endpoint of one's own that
//! speaks as it does.
//!
//! The part of the id behind `huggingface:` is the task, see `task`. `generation` continues
//! texts, `classes` sorts them, `vectors` compares them; `body` is what their requests have in
//! common. A chat is OpenAI's shape, in `plugin-model-api`.
//!
//! The address is `apiEndpoint`, a whole one, since an inference endpoint serves one model at
//! one address. Only for a chat something is added to it.

mod body;
mod classes;
mod generation;
mod task;
mod vectors;

use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::{chat, forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

use task::Task;

/// The name by which requests refer to the key.
const KEY: &str = "huggingface-key";

/// Where everything is served.
const ROUTER: &str = "https://router.huggingface.co";

const API: Api = Api {
    base_url: ROUTER,
    key: Some(KEY),
    ours: &["apiEndpoint", "chatCompletion", "inferenceProvider"],
};

const BASE_URL: Refused = (
    "apiBaseUrl",
    "is not supported; write the whole address as `apiEndpoint`",
);

const REFUSED: [Refused; 3] = [knobs::API_HOST, knobs::CALLBACKS, BASE_URL];

/// The end of a chat's address.
const CHAT: &str = "/chat/completions";

/// The provider.
pub struct HuggingFace;

impl Provider for HuggingFace {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "HF_TOKEN", "to call the API in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        runner_plugin::package_info!(
            "huggingface",
            "Models of Hugging Face: chat, texts, classes, vectors."
        )
        .prefix("huggingface")
        .prefix("hf")
        .host(ROUTER)
        .host_from("apiEndpoint")
        .credential(key)
        .further_env(KEY, "HF_API_TOKEN")
        .credential_if_set(KEY)
        .config_schema(&schema::chat(&json!({
            "apiEndpoint": { "type": "string", "pattern": "^https?://" },
            "chatCompletion": { "type": "boolean" },
            "inferenceProvider": { "type": "string" },
            "max_new_tokens": { "type": "integer", "minimum": 1 },
            "top_k": { "type": "integer" },
            "repetition_penalty": { "type": "number" },
            "return_full_text": { "type": "boolean" },
            "aggregation_strategy": { "type": "string" },
            "use_cache": { "type": "boolean" },
            "wait_for_model": { "type": "boolean" }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (task, named) = task::of(target)?;
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        task.address(&knobs, &model).map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (task, named) = task::of(target)?;
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = knobs.model(target, named)?;
        let address = task.address(&knobs, &model)?;
        match task {
            Task::Chat => converse(knobs, &address, model, request),
            Task::TextGeneration if speaks_chat(&knobs) => {
                let address = Task::Chat.address(&knobs, &model)?;
                converse(knobs, &address, model, request)
            }
            Task::TextGeneration => {
                knobs.base_url = address;
                generation::complete(&knobs, &model, request)
            }
            Task::TextClassification | Task::TokenClassification => {
                knobs.base_url = address;
                classes::complete(task, &knobs, &model, request)
            }
            Task::FeatureExtraction | Task::SentenceSimilarity => {
                let id = &target.id;
                Err(Error::unsupported(format!(
                    "`{id}` compares texts and answers no prompts; name it as the provider of `similar`"
                )))
            }
        }
    }
}

impl ProviderEmbed for HuggingFace {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (task, named) = task::of(target)?;
        let mut knobs = Knobs::read_target(&API, target)?;
        let model = knobs.model(target, named)?;
        knobs.base_url = task.address(&knobs, &model)?;
        match task {
            Task::FeatureExtraction => vectors::extract(&knobs, &model, inputs),
            Task::SentenceSimilarity => vectors::compare(&knobs, &model, inputs),
            _ => Err(forms::no_vectors(
                target,
                "huggingface:feature-extraction:MODEL",
            )),
        }
    }
}

/// Whether texts are to be continued by chat: the config says so, or the address does.
fn speaks_chat(knobs: &Knobs) -> bool {
    let said = knobs.own.get("chatCompletion").and_then(Value::as_bool);
    said.unwrap_or_else(|| {
        let endpoint = knobs.text("apiEndpoint");
        endpoint.is_some_and(|endpoint| endpoint.contains("/v1/chat"))
    })
}

/// A chat at `address`. The router takes the name of who is to serve the model behind its name.
fn converse(
    mut knobs: Knobs,
    address: &str,
    mut model: String,
    request: &Request,
) -> Result<Completion, Error> {
    if let Some(served_by) = knobs.text("inferenceProvider")
        && !model.contains(':')
    {
        model = format!("{model}:{served_by}");
    }
    for of_other_tasks in body::OPTIONS {
        knobs.body.remove(of_other_tasks);
    }
    knobs.body.remove("return_full_text");
    if let Some(limit) = knobs.body.remove("max_new_tokens") {
        knobs.body.entry("max_tokens").or_insert(limit);
    }
    address.clone_into(&mut knobs.base_url);
    chat::complete(&chat::PLAIN, &knobs, CHAT, &model, request)
}

runner_plugin_embed::export_embedding_provider!(HuggingFace);
