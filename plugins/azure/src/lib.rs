//! The provider `azure`: OpenAI's models as Azure serves them.
//!
//! OpenAI's shape, in `plugin-model-api`, at other addresses: a *deployment* stands in the
//! address where others name the model, and the version of the API behind it. `place` finds
//! the address. The newer addresses that end in `/openai/v1` are as OpenAI's own. Assistants have a
//! shape of their own, in `run`.

mod place;
mod run;

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::{embeddings, forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

use place::Place;

/// The name by which requests refer to the key.
const KEY: &str = "azure-key";

const API: Api = Api {
    base_url: "",
    key: Some(KEY),
    ours: &["apiVersion", "isReasoningModel", "o1"],
};

const SIGN_IN: &str = "is not supported: the plugin does not sign in to Entra ID; use a key of the resource (AZURE_API_KEY)";

const REFUSED: [Refused; 4] = [
    knobs::CALLBACKS,
    ("azureClientId", SIGN_IN),
    ("azureClientSecret", SIGN_IN),
    ("azureTenantId", SIGN_IN),
];

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Chat,
    Embedding,
    Assistant,
}

/// The forms, as an id writes them.
const FORMS: [(&str, Form); 4] = [
    ("chat", Form::Chat),
    ("embedding", Form::Embedding),
    ("embeddings", Form::Embedding),
    ("assistant", Form::Assistant),
];

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 7] = [
    "completion",
    "foundry-agent",
    "image",
    "moderation",
    "realtime",
    "responses",
    "video",
];

/// The provider.
pub struct Azure;

impl Provider for Azure {
    fn describe() -> Info {
        let key = CredentialWant::header(
            KEY,
            "AZURE_API_KEY",
            "api-key",
            "to call the resource in your name",
        )
        .env_key("apiKeyEnvar")
        .value_key("apiKey");
        runner_plugin::package_info!(
            "azure",
            "Chat completions, embeddings and assistants of Azure OpenAI."
        )
        .prefix("azure")
        .prefix("azureopenai")
        .host("https://*.openai.azure.com")
        .host("https://*.cognitiveservices.azure.com")
        .host("https://*.services.ai.azure.com")
        .host_from("apiBaseUrl")
        .credential(key)
        .further_env(KEY, "AZURE_OPENAI_API_KEY")
        .setting("AZURE_API_BASE_URL", "apiBaseUrl")
        .setting("AZURE_OPENAI_BASE_URL", "apiBaseUrl")
        .setting("AZURE_API_HOST", "apiHost")
        .setting("AZURE_OPENAI_API_HOST", "apiHost")
        .config_schema(&schema::chat(&json!({
            "apiHost": { "type": "string", "minLength": 1 },
            "apiVersion": { "type": "string", "pattern": "^[A-Za-z0-9.-]+$" },
            "isReasoningModel": { "type": "boolean" },
            "o1": { "type": "boolean" },
            "data_sources": { "type": "array", "items": { "type": "object" } }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        let mut problems = knobs::problems(config, &REFUSED);
        problems.extend(place::problem(config));
        problems
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (form, named) = form(target)?;
        let mut knobs = Knobs::read_target(&API, target)?;
        if form == Form::Assistant {
            named_in_id(target, named)?;
            return place::of_assistants(&mut knobs).map(drop);
        }
        let deployment = knobs.model(target, named)?;
        Place::find(&mut knobs, &deployment).map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (form, named) = form(target)?;
        if form == Form::Embedding {
            return Err(forms::makes_vectors(target));
        }
        let mut knobs = Knobs::read(&API, target, request)?;
        if form == Form::Assistant {
            let path = place::of_assistants(&mut knobs)?;
            return run::complete(&knobs, &path, named_in_id(target, named)?, request);
        }
        let deployment = knobs.model(target, named)?;
        let place = Place::find(&mut knobs, &deployment)?;
        let reasons = ["isReasoningModel", "o1"]
            .iter()
            .any(|key| knobs.own.get(*key) == Some(&Value::Bool(true)));
        let dialect = Dialect {
            token_limit: if reasons {
                chat::max_completion_tokens
            } else {
                chat::token_limit
            },
            names_model: place.names_model,
            ..chat::OPENAI
        };
        let path = place.path("chat/completions");
        chat::complete(&dialect, &knobs, &path, &deployment, request)
    }
}

impl ProviderEmbed for Azure {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (form, named) = form(target)?;
        if form != Form::Embedding {
            return Err(forms::no_vectors(target, "azure:embedding:DEPLOYMENT"));
        }
        let mut knobs = Knobs::read_target(&API, target)?;
        let deployment = knobs.model(target, named)?;
        let place = Place::find(&mut knobs, &deployment)?;
        let path = place.path("embeddings");
        embeddings::embed(&knobs, &path, &deployment, place.names_model, inputs)
    }
}

/// The form that an id asks for, and the deployment or assistant that it names.
fn form(target: &Target) -> Result<(Form, &str), Error> {
    let words = FORMS.map(|(word, _)| word);
    let (form, named) = knobs::kind(&target.name, &words);
    let absent = knobs::kind(&target.name, &ABSENT).0;
    // A deployment's name has no colon, so what stands before one is meant as a form.
    let unknown = named.split_once(':').map(|(first, _)| first);
    if let Some(absent) = absent.or(unknown.filter(|_| form.is_none())) {
        let instead = "write `azure:chat:DEPLOYMENT`";
        return Err(forms::absent(target, absent, instead));
    }
    let form = FORMS.iter().find(|(word, _)| form == Some(word));
    Ok((form.map_or(Form::Chat, |(_, form)| *form), named))
}

/// An assistant. It has its own model, so that `model` of the config is not its name.
fn named_in_id<'a>(target: &Target, named: &'a str) -> Result<&'a str, Error> {
    if named.is_empty() {
        let id = &target.id;
        return Err(Error::invalid_request(format!(
            "`{id}` names no assistant; write `azure:assistant:ID`"
        )));
    }
    Ok(named)
}

runner_plugin_embed::export_embedding_provider!(Azure);
