//! The provider `replicate`: models that Replicate runs.
//!
//! A model there takes an object of its own making and gives any value, some time later. `input`
//! makes the object of config and prompt, `prediction` has it run and waits for it, `output`
//! turns the value into a completion. The config and the errors are read by `plugin-model-api`.

mod input;
mod output;
mod prediction;

use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::schema;
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};

use prediction::Model;

/// The name by which requests refer to the key.
const KEY: &str = "replicate-key";

const API: Api = Api {
    base_url: "https://api.replicate.com/v1",
    key: Some(KEY),
    ours: &["prompt"],
};

/// The provider.
pub struct Replicate;

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Image,
    Moderation,
}

impl Provider for Replicate {
    fn describe() -> Info {
        let key = CredentialWant::bearer(KEY, "REPLICATE_API_TOKEN", "to run models in your name")
            .env_key("apiKeyEnvar")
            .value_key("apiKey");
        let affixes = json!({ "type": "object", "properties": {
            "prefix": { "type": "string" },
            "suffix": { "type": "string" },
        }});
        runner_plugin::package_info!(
            "replicate",
            "Models that Replicate runs: texts, images, moderation."
        )
        .prefix("replicate")
        .host("https://api.replicate.com")
        .base(API.base_url)
        .host_from("apiBaseUrl")
        .credential(key)
        .further_env(KEY, "REPLICATE_API_KEY")
        .config_schema(&schema::config(&json!({
            "system_prompt": { "type": "string" },
            "prompt": affixes
        })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (_, named) = form(target);
        let mut knobs = Knobs::read_target(&API, target)?;
        Model::of(&knobs.model(target, named)?).map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (form, named) = form(target);
        let mut knobs = Knobs::read(&API, target, request)?;
        let model = Model::of(&knobs.model(target, named)?)?;
        let input = match form {
            Form::Moderation => input::to_moderate(&knobs, request),
            Form::Text | Form::Image => input::of(&knobs, request)?,
        };
        let prompt = input["prompt"].as_str().unwrap_or_default().to_owned();
        let prediction = prediction::run(&knobs, &model, &input)?;
        match form {
            Form::Text => output::text(&prediction),
            Form::Image => output::image(&prediction, &prompt),
            Form::Moderation => output::verdict(&prediction),
        }
    }
}

/// The form that an id asks for, and the model that it names.
fn form(target: &Target) -> (Form, &str) {
    let (form, named) = knobs::kind(&target.name, &["image", "moderation"]);
    let form = match form {
        Some("image") => Form::Image,
        Some(_) => Form::Moderation,
        None => Form::Text,
    };
    (form, named)
}

runner_plugin::export_provider!(Replicate);
