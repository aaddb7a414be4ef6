//! The provider `sagemaker`: models that a user has put behind an endpoint of Amazon SageMaker.
//!
//! Such an endpoint has whatever shape its container has. `body` writes the few that promptfoo knows
//! by name (`openai`, `llama`, `huggingface`, `jumpstart`, and `custom`, which sends the prompt's own
//! JSON), `answer` finds the text in what comes back. Signature, retries and limits are the host's.

mod answer;
mod body;
mod vectors;

use plugin_model_api::aws;
use plugin_model_api::knobs::{self, Api, Knobs, Refused};
use plugin_model_api::path::segment;
use plugin_model_api::{forms, schema};
use runner_plugin::json::{Value, json};
use runner_plugin::{CallContext, Completion, Error, Info, Provider, Request, Target, http};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

use body::Kind;

/// Where the API is in a region.
const HOST: &str = "runtime.sagemaker.REGION";

const API: Api = Api {
    base_url: "",
    key: Some(aws::KEY),
    ours: &[
        "region",
        "profile",
        "accessKeyId",
        "secretAccessKey",
        "sessionToken",
        "endpoint",
        "contentType",
        "acceptType",
        "modelType",
        "responseFormat",
        "maxTokens",
        "temperature",
        "topP",
        "stopSequences",
    ],
};

const REFUSED: [Refused; 4] = [
    knobs::CALLBACKS,
    aws::PROFILE,
    ("delay", "is not read here; write `delay` beside `config`"),
    (
        "transform",
        "is not supported; write the prompt as the endpoint takes it, with `modelType: custom`",
    ),
];

/// The provider.
pub struct SageMaker;

impl Provider for SageMaker {
    fn describe() -> Info {
        let info = runner_plugin::package_info!(
            "sagemaker",
            "Endpoints of Amazon SageMaker: answers and embeddings."
        )
        .prefix("sagemaker")
        .host("https://runtime.sagemaker.*.amazonaws.com")
        .host("https://runtime.sagemaker.*.amazonaws.com.cn")
        .host_from("apiBaseUrl")
        .setting("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", "apiBaseUrl")
        .setting("AWS_ENDPOINT_URL", "apiBaseUrl");
        aws::wants(info, "sagemaker", &["AWS_REGION", "AWS_DEFAULT_REGION"]).config_schema(
            &schema::config(&json!({
                "region": { "type": "string", "pattern": "^[a-z0-9-]+$" },
                "endpoint": { "type": "string" },
                "contentType": { "type": "string" },
                "acceptType": { "type": "string" },
                "modelType": { "enum": Kind::NAMES },
                "maxTokens": { "type": "integer", "minimum": 1 },
                "topP": { "type": "number" },
                "stopSequences": { "type": "array", "items": { "type": "string" } },
                "responseFormat": {
                    "type": "object",
                    "properties": { "path": { "type": "string" } }
                }
            })),
        )
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        let mut problems = knobs::problems(config, &REFUSED);
        if let Some(path) = config
            .pointer("/responseFormat/path")
            .and_then(Value::as_str)
            && let Err(problem) = answer::pointer(path)
        {
            problems.push(("/responseFormat/path".to_owned(), problem));
        }
        problems
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let knobs = read(Knobs::read_target(&API, target)?)?;
        Asked::of(target, &knobs).map(drop)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let knobs = read(Knobs::read(&API, target, request)?)?;
        let asked = Asked::of(target, &knobs)?;
        let Some(kind) = asked.kind else {
            return Err(forms::makes_vectors(target));
        };
        let body = body::of(kind, &knobs, request);
        let response = asked.post(&knobs, &body).send()?;
        let body = aws::check(&response).or_else(|error| {
            // An endpoint may answer with a text.
            let is_text = response.is_success() && error.detail.is_none();
            is_text.then(|| Value::String(response.text())).ok_or(error)
        })?;
        let path = knobs
            .own
            .get("responseFormat")
            .and_then(|it| it["path"].as_str());
        answer::completion(kind, &body, path)
    }
}

impl ProviderEmbed for SageMaker {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        let knobs = read(Knobs::read_target(&API, target)?)?;
        let asked = Asked::of(target, &knobs)?;
        if asked.kind.is_some() {
            return Err(forms::no_vectors(target, "sagemaker:embedding:ENDPOINT"));
        }
        let bodies = inputs.iter().map(|text| vectors::body(&knobs, text));
        let requests = bodies.map(|body| asked.post(&knobs, &body));
        let responses = http::send_all(requests.collect());
        let read = responses.into_iter().map(|response| {
            let answer = aws::check(&response?)?;
            vectors::read(&answer)
        });
        Ok(Embeddings {
            vectors: read.collect::<Result<_, _>>()?,
            usage: runner_plugin::Usage::default(),
            cost_usd: None,
        })
    }
}

/// What is asked: an endpoint, in a shape, or for vectors.
struct Asked {
    kind: Option<Kind>,
    endpoint: String,
}

impl Asked {
    /// `sagemaker:ENDPOINT`, `sagemaker:KIND:ENDPOINT` or `sagemaker:embedding:ENDPOINT`.
    fn of(target: &Target, knobs: &Knobs) -> Result<Self, Error> {
        let id = &target.id;
        let (vectors, named) = knobs::kind(&target.name, &["embedding", "embeddings"]);
        let (first, rest) = match named.split_once(':') {
            Some((first, rest)) if vectors.is_none() => (Some(first), rest),
            _ => (None, named),
        };
        let kind = match (first.or(knobs.text("modelType")), vectors) {
            (_, Some(_)) => None,
            (Some(name), None) => Some(Kind::named(name).ok_or_else(|| {
                Error::invalid_request(format!(
                    "`{id}` asks for the model type `{name}`; there are {}",
                    Kind::NAMES.join(", ")
                ))
            })?),
            // An endpoint of JumpStart says so in its name.
            (None, None) if rest.contains("jumpstart") => Some(Kind::JumpStart),
            (None, None) => {
                return Err(Error::invalid_request(format!(
                    "`{id}` does not say what its endpoint takes; write `modelType` in the provider's config, or `sagemaker:TYPE:ENDPOINT`, with one of {}",
                    Kind::NAMES.join(", ")
                )));
            }
        };
        let endpoint = segment(knobs.text("endpoint").unwrap_or(rest))?;
        Ok(Self { kind, endpoint })
    }

    fn post(&self, knobs: &Knobs, body: &Value) -> http::Request {
        let path = format!("/endpoints/{}/invocations", self.endpoint);
        let mut request = knobs.post(&path, body, &self.endpoint);
        if let Some(kind) = knobs.text("contentType") {
            request.headers.retain(|(name, _)| name != "content-type");
            request = request.header("content-type", kind);
        }
        request.header(
            "accept",
            knobs.text("acceptType").unwrap_or("application/json"),
        )
    }
}

fn read(mut knobs: Knobs) -> Result<Knobs, Error> {
    aws::find(&mut knobs, HOST)?;
    Ok(knobs)
}

runner_plugin_embed::export_embedding_provider!(SageMaker);
