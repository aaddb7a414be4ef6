//! The provider `azure`: OpenAI's models as Azure serves them.
//!
//! OpenAI's shape, in `plugin-model-api`, at other addresses: a *deployment* stands in the
//! address where others name the model, and the version of the API behind it. `place` finds
//! the address. The newer addresses that end in `/openai/v1` are as OpenAI's own. Assistants, and
//! agents that have an id, have a shape of their own, in `run`; agents that have a name have OpenAI's newer one.
//! Agents take a token of Entra ID, which the plugin does not sign in for.

mod place;
mod run;

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::{embeddings, forms, responses, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

use place::{PROJECT, Place};

/// The name by which requests refer to the key.
const KEY: &str = "azure-key";

/// The name by which requests refer to a token.
const TOKEN: &str = "azure-token";

const API: Api = Api {
    base_url: "",
    key: Some(KEY),
    ours: &[
        "apiVersion",
        "isReasoningModel",
        "o1",
        PROJECT,
        // By these promptfoo steers itself in assistants and agents.
        "debug",
        "maxPollTimeMs",
        "retryOptions",
    ],
};

/// Agents, which take the key only where there is no token.
const AGENTS: Api = Api {
    key: Some(TOKEN),
    ..API
};

/// Where resources and projects are.
const HOSTS: [&str; 3] = [
    "https://*.openai.azure.com",
    "https://*.cognitiveservices.azure.com",
    "https://*.services.ai.azure.com",
];

/// The variables that fill config keys; the last is for agents alone.
const SETTINGS: [(&str, &str); 5] = [
    ("AZURE_API_BASE_URL", "apiBaseUrl"),
    ("AZURE_OPENAI_BASE_URL", "apiBaseUrl"),
    ("AZURE_API_HOST", "apiHost"),
    ("AZURE_OPENAI_API_HOST", "apiHost"),
    ("AZURE_AI_PROJECT_URL", PROJECT),
];

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
    Agent,
}

/// The forms, as an id writes them.
const FORMS: [(&str, Form); 5] = [
    ("chat", Form::Chat),
    ("embedding", Form::Embedding),
    ("embeddings", Form::Embedding),
    ("assistant", Form::Assistant),
    ("foundry-agent", Form::Agent),
];

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 6] = [
    "completion",
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
        let token = CredentialWant::bearer(TOKEN, "AZURE_AI_AGENT_TOKEN", "to run agents as you");
        let summary =
            "Chat completions, embeddings and assistants of Azure OpenAI; agents of Foundry.";
        let mut info = runner_plugin::package_info!("azure", summary)
            .host_from("apiBaseUrl")
            .credential(token)
            .credential_if_set(TOKEN)
            .credential(key)
            .credential_unless(KEY, TOKEN)
            .further_env(KEY, "AZURE_OPENAI_API_KEY");
        for host in HOSTS {
            info = info.host(host);
        }
        for (env, config_key) in SETTINGS {
            info = info.setting(env, config_key);
        }
        let [settings @ .., project] = SETTINGS.map(|(env, _)| env);
        for prefix in ["azure", "azureopenai"] {
            let agents = format!("{prefix}:foundry-agent");
            info = info
                .prefix(prefix)
                .wants_of(prefix, &HOSTS, &[KEY], &settings)
                .wants_of(&agents, &HOSTS[2..], &[TOKEN, KEY], &[project]);
        }
        info.config_schema(&schema::chat(&json!({
            "apiHost": { "type": "string", "minLength": 1 },
            PROJECT: { "type": "string", "minLength": 1 },
            "apiVersion": { "type": "string", "pattern": "^[A-Za-z0-9.-]+$" },
            "isReasoningModel": { "type": "boolean" },
            "o1": { "type": "boolean" },
            "data_sources": { "type": "array", "items": { "type": "object" } }
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        let mut problems = knobs::problems(config, &REFUSED);
        problems.extend(place::problems(config));
        problems
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (form, named) = form(target)?;
        if form == Form::Agent {
            named_in_id(target, named)?;
            return place::of_project(&mut Knobs::read_target(&AGENTS, target)?);
        }
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
        if form == Form::Agent {
            return agent(target, named, request);
        }
        let mut knobs = Knobs::read(&API, target, request)?;
        if form == Form::Assistant {
            let path = place::of_assistants(&mut knobs)?;
            let id = named_in_id(target, named)?;
            return run::complete(&with_model(knobs), &path, id, request);
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

/// Asks an agent of Foundry: one that has an id in a run, one that has a name for a response.
fn agent(target: &Target, named: &str, request: &Request) -> Result<Completion, Error> {
    let named = named_in_id(target, named)?;
    let mut knobs = with_model(Knobs::read_at(&AGENTS, PROJECT, target, request)?);
    if knobs.key.is_none() && knobs.own.get("apiKeyRequired") != Some(&Value::Bool(false)) {
        knobs.key = Some(KEY);
    }
    place::of_project(&mut knobs)?;
    if named.starts_with("asst_") {
        let path = place::of_agents(&knobs);
        return run::complete(&knobs, &path, named, request);
    }
    let agent = json!({ "name": named, "type": "agent_reference" });
    let asked = ("agent_reference", agent);
    responses::complete_by(&knobs, "/openai/v1/responses", asked, named, request)
}

/// The knobs with the model by the name that the API has for the key.
fn with_model(mut knobs: Knobs) -> Knobs {
    if let Some(model) = knobs.body.remove("modelName") {
        knobs.body.insert("model".to_owned(), model);
    }
    knobs
}

/// An assistant or agent. It has its own model, so that `model` of the config is not its name.
fn named_in_id<'a>(target: &Target, named: &'a str) -> Result<&'a str, Error> {
    if named.is_empty() {
        let id = &target.id;
        return Err(Error::invalid_request(format!(
            "`{id}` names nobody; write `azure:assistant:ID` or `azure:foundry-agent:NAME`"
        )));
    }
    Ok(named)
}

runner_plugin_embed::export_embedding_provider!(Azure);
