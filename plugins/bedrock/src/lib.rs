//! The provider `bedrock`: the models of Amazon Bedrock.
//!
//! Answers come by the Converse API, which has one shape for every model, so that there is no table
//! of models here and a new one needs no new version. (promptfoo writes each family's own shape;
//! `body` reads the config keys that it has for them.) Embeddings are no part of Converse and go by
//! InvokeModel, in the two shapes that there are for them.
//!
//! `body` turns config and messages into the JSON that is sent, `answer` turns the response into a
//! completion, `vectors` does both for embeddings. Key, signature, retries and limits are the host's.

mod answer;
mod body;
mod messages;
mod vectors;

use plugin_model_api::aws;
use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::path::segment;
use plugin_model_api::{forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target,
};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

/// The name by which requests refer to a key of Bedrock's own, which goes before one of AWS.
const BEARER: &str = "bedrock-key";

/// Where the API is in a region.
const HOST: &str = "bedrock-runtime.REGION";

const API: Api = Api {
    base_url: "",
    key: Some(BEARER),
    ours: &[
        "endpoint",
        "region",
        "profile",
        "accessKeyId",
        "secretAccessKey",
        "sessionToken",
        "inferenceModelType",
        "anthropic_version",
        "system",
    ],
};

const REFUSED: [Refused; 5] = [
    (
        "apiBaseUrl",
        "is called `endpoint` here, as in promptfoo: the whole address",
    ),
    knobs::API_HOST,
    knobs::CALLBACKS,
    aws::PROFILE,
    (
        "apiKeyRequired",
        "is not supported: Bedrock answers nobody without a key",
    ),
];

/// Forms that promptfoo knows and this plugin does not.
const ABSENT: [&str; 7] = [
    "agents",
    "image",
    "kb",
    "knowledge-base",
    "nova-sonic",
    "amazon.nova-sonic-v1",
    "video",
];

/// The provider.
pub struct Bedrock;

impl Provider for Bedrock {
    fn describe() -> Info {
        let bearer = CredentialWant::bearer(
            BEARER,
            "AWS_BEARER_TOKEN_BEDROCK",
            "to call the API in your name",
        )
        .value_key("apiKey");
        let info = runner_plugin::package_info!(
            "bedrock",
            "Amazon Bedrock: the Converse API, and embeddings."
        )
        .prefix("bedrock")
        .host("https://bedrock-runtime.*.amazonaws.com")
        .host("https://bedrock-runtime.*.amazonaws.com.cn")
        .host_from("endpoint")
        .credential(bearer)
        .credential_if_set(BEARER)
        .setting("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "endpoint")
        .setting("AWS_ENDPOINT_URL", "endpoint");
        let regions = ["AWS_BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"];
        aws::wants(info, "bedrock", &regions)
            .credential_unless(aws::KEY, BEARER)
            .config_schema(&schema::config(&json!({
                "region": { "type": "string", "pattern": "^[a-z0-9-]+$" },
                "endpoint": { "type": "string", "pattern": "^https?://" },
                "system": { "type": "string" },
                "max_tokens": { "type": "integer", "minimum": 1 },
                "inferenceConfig": { "type": "object" },
                "interfaceConfig": { "type": "object" },
                "textGenerationConfig": { "type": "object" },
                "additionalModelRequestFields": { "type": "object" },
                "tools": { "type": "array", "items": { "type": "object" } },
                "toolConfig": { "type": "object" },
                "guardrailIdentifier": { "type": "string" },
                "guardrailVersion": { "type": ["string", "integer"] },
                "thinking": { "type": "object" }
            })))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let (_, named) = form(target)?;
        let (mut knobs, _) = read(Knobs::read_target(&API, target)?)?;
        segment(&knobs.model(target, named)?).map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let (form, named) = form(target)?;
        if form == Form::Vectors {
            return Err(forms::makes_vectors(target));
        }
        let (mut knobs, system) = read(Knobs::read(&API, target, request)?)?;
        let model = knobs.model(target, named)?;
        let body = body::of(&knobs, system, request)?;
        let path = format!("/model/{}/converse", segment(&model)?);
        let response = aws::check(&knobs.post(&path, &body, &model).send()?)?;
        answer::completion(&response, request.response_schema_json.is_some())
    }
}

impl ProviderEmbed for Bedrock {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let (form, named) = form(target)?;
        if form != Form::Vectors {
            return Err(forms::no_vectors(target, "bedrock:embeddings:MODEL"));
        }
        let (mut knobs, _) = read(Knobs::read_target(&API, target)?)?;
        let model = knobs.model(target, named)?;
        vectors::embed(&knobs, &model, inputs)
    }
}

/// What an id asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Converse,
    Vectors,
}

/// The form that an id asks for, and the model that it names. Names of models have colons.
fn form(target: &Target) -> Result<(Form, &str), Error> {
    forms::refuse(target, &ABSENT, "write `bedrock:MODEL`")?;
    let (vectors, named) = knobs::kind(&target.name, &["embedding", "embeddings"]);
    if vectors.is_some() {
        return Ok((Form::Vectors, named));
    }
    let (_, named) = knobs::kind(&target.name, &["completion", "converse"]);
    Ok((Form::Converse, named))
}

/// Reads the knobs with address and key, and what the config tells the model beforehand.
fn read(mut knobs: Knobs) -> Result<(Knobs, Option<String>), Error> {
    let endpoint = knobs.text("endpoint").unwrap_or_default();
    knobs.base_url = endpoint.trim_end_matches('/').to_owned();
    aws::find(&mut knobs, HOST)?;
    knobs.key = knobs.key.or(Some(aws::KEY));
    let system = knobs.text("system").map(str::to_owned);
    Ok((knobs, system))
}

runner_plugin_embed::export_embedding_provider!(Bedrock);
