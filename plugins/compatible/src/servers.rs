//! The servers, a row each. Prefixes, addresses and variables are promptfoo's where it knows the
//! server, else those of the server's documentation; the README has the same list for people,
//! and a test compares both.

use plugin_model_api::chat::{self, Dialect};
use plugin_model_api::images::{self, GENERATIONS};
use plugin_model_api::knobs::{Knobs, Refused};
use plugin_model_api::server::{ALL_FORMS, Form, Key, PLAIN, Server};
use runner_plugin::{Completion, Error, Request};

use crate::hyperbolic;

/// Models of OpenAI among others: the name says how the limit of the answer is called.
const MIXED: Dialect = Dialect {
    token_limit: chat::token_limit,
    ..chat::PLAIN
};

/// Servers that know the newer name of the limit.
const NEWER: Dialect = Dialect {
    token_limit: chat::max_completion_tokens,
    ..chat::PLAIN
};

const REGION: Refused = (
    "region",
    "is not supported; write the address as `apiBaseUrl: https://REGION.api.x.ai/v1`",
);

const BASE_URL: Refused = (
    "baseUrl",
    "is not supported; write the address, without the model, as `apiBaseUrl`",
);

const ENDPOINT: [Refused; 3] = {
    const WHY: &str = "is not supported; write `apiBaseUrl: https://DOMAIN/namespaces/NAMESPACE/endpoints`, and the endpoint as the model";
    [("domain", WHY), ("endpoint", WHY), ("namespace", WHY)]
};

const ROUTER: [Refused; 2] = {
    const WHY: &str = "is not supported; write the address with its end as `apiBaseUrl`: `http://localhost:8080/ai`, or `…/router/NAME`";
    [("baseUrl", WHY), ("router", WHY)]
};

/// A picture of xAI's: made of the prompt, or of other pictures that the config names.
fn xai_picture(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    let is_edited = ["image", "images", "mask"]
        .iter()
        .any(|key| knobs.body.contains_key(*key));
    let path = if is_edited { EDITS } else { GENERATIONS };
    images::complete(knobs, path, model, request)
}

/// Where xAI makes pictures of pictures.
const EDITS: &str = "/images/edits";

/// What TrueFoundry keeps of a call, and whether it does.
const OF_TRUEFOUNDRY: [(&str, &str); 2] = [
    ("loggingConfig", "X-TFY-LOGGING-CONFIG"),
    ("metadata", "X-TFY-METADATA"),
];

/// Every server.
pub(crate) const SERVERS: &[Server] = &[
    Server {
        prefixes: &["abliteration"],
        base_url: "https://api.abliteration.ai/v1",
        key: Some(Key::needed("abliteration-key", &["ABLIT_KEY"])),
        setting: Some("ABLIT_API_BASE_URL"),
        ..PLAIN
    },
    Server {
        prefixes: &["ai21"],
        base_url: "https://api.ai21.com/studio/v1",
        key: Some(Key::needed("ai21-key", &["AI21_API_KEY"])),
        setting: Some("AI21_API_BASE_URL"),
        ..PLAIN
    },
    Server {
        prefixes: &["aimlapi"],
        base_url: "https://api.aimlapi.com/v1",
        key: Some(Key::needed("aimlapi-key", &["AIML_API_KEY"])),
        dialect: MIXED,
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["alibaba", "alicloud", "aliyun", "dashscope"],
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key: Some(Key::needed("dashscope-key", &["DASHSCOPE_API_KEY"])),
        forms: &[Form::Embedding],
        ..PLAIN
    },
    Server {
        prefixes: &["atlascloud"],
        base_url: "https://api.atlascloud.ai/v1",
        key: Some(Key::needed("atlascloud-key", &["ATLASCLOUD_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["cerebras"],
        base_url: "https://api.cerebras.ai/v1",
        key: Some(Key::needed("cerebras-key", &["CEREBRAS_API_KEY"])),
        dialect: NEWER,
        ..PLAIN
    },
    Server {
        prefixes: &["cheaperinference"],
        base_url: "https://api.cheaperinference.com/v1",
        key: Some(Key::needed(
            "cheaperinference-key",
            &["CHEAPERINFERENCE_API_KEY"],
        )),
        ..PLAIN
    },
    Server {
        prefixes: &["cloudera"],
        below: "/{model}/v1",
        key: Some(Key::needed("cloudera-key", &["CDP_TOKEN"])),
        refused: &ENDPOINT,
        ..PLAIN
    },
    Server {
        prefixes: &["cometapi"],
        base_url: "https://api.cometapi.com/v1",
        key: Some(Key::needed("cometapi-key", &["COMETAPI_KEY"])),
        dialect: MIXED,
        forms: ALL_FORMS,
        absent: &["image"],
        ..PLAIN
    },
    Server {
        prefixes: &["deepinfra"],
        base_url: "https://api.deepinfra.com/v1/openai",
        key: Some(Key::needed(
            "deepinfra-key",
            &["DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"],
        )),
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["deepseek"],
        base_url: "https://api.deepseek.com/v1",
        key: Some(Key::needed("deepseek-key", &["DEEPSEEK_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["docker"],
        base_url: "http://localhost:12434",
        below: "/engines/v1",
        key: Some(Key::if_set("docker-key", &["DOCKER_MODEL_RUNNER_API_KEY"])),
        setting: Some("DOCKER_MODEL_RUNNER_BASE_URL"),
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["envoy"],
        below: "/v1",
        key: Some(Key::if_set("envoy-key", &["ENVOY_API_KEY"])),
        setting: Some("ENVOY_API_BASE_URL"),
        dialect: MIXED,
        ..PLAIN
    },
    Server {
        prefixes: &["f5"],
        below: "/{model}",
        key: Some(Key::needed("f5-key", &["F5_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["fireworks"],
        base_url: "https://api.fireworks.ai/inference/v1",
        key: Some(Key::needed("fireworks-key", &["FIREWORKS_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["helicone"],
        base_url: "http://localhost:8080/ai",
        key: Some(Key::if_set("helicone-key", &["HELICONE_API_KEY"])),
        dialect: MIXED,
        refused: &ROUTER,
        ..PLAIN
    },
    Server {
        prefixes: &["hyperbolic"],
        base_url: "https://api.hyperbolic.xyz/v1",
        key: Some(Key::needed("hyperbolic-key", &["HYPERBOLIC_API_KEY"])),
        own: &[("audio", hyperbolic::sound), ("image", hyperbolic::picture)],
        ..PLAIN
    },
    Server {
        prefixes: &["jfrog", "qwak"],
        base_url: "https://models.qwak-prod.qwak.ai/v1",
        below: "/{model}",
        key: Some(Key::needed("jfrog-key", &["QWAK_TOKEN"])),
        refused: &[BASE_URL],
        ..PLAIN
    },
    Server {
        prefixes: &["litellm"],
        base_url: "http://localhost:4000",
        key: Some(Key::if_set("litellm-key", &["LITELLM_API_KEY"])),
        setting: Some("LITELLM_API_BASE"),
        dialect: MIXED,
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["llamaapi"],
        base_url: "https://api.llama.com/compat/v1",
        key: Some(Key::needed("llama-key", &["LLAMA_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["llamafile"],
        base_url: "http://localhost:8080/v1",
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["lmstudio"],
        base_url: "http://localhost:1234/v1",
        setting: Some("LMSTUDIO_BASE_URL"),
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["localai"],
        base_url: "http://localhost:8080/v1",
        setting: Some("LOCALAI_BASE_URL"),
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["minimax"],
        base_url: "https://api.minimax.io/v1",
        key: Some(Key::needed("minimax-key", &["MINIMAX_API_KEY"])),
        dialect: NEWER,
        ..PLAIN
    },
    Server {
        prefixes: &["moonshot"],
        base_url: "https://api.moonshot.ai/v1",
        key: Some(Key::needed("moonshot-key", &["MOONSHOT_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["novita"],
        base_url: "https://api.novita.ai/openai/v1",
        key: Some(Key::needed("novita-key", &["NOVITA_API_KEY"])),
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["nscale"],
        base_url: "https://inference.api.nscale.com/v1",
        key: Some(Key::needed(
            "nscale-key",
            &["NSCALE_SERVICE_TOKEN", "NSCALE_API_KEY"],
        )),
        forms: ALL_FORMS,
        absent: &["image"],
        ..PLAIN
    },
    Server {
        prefixes: &["nvidia"],
        base_url: "https://integrate.api.nvidia.com/v1",
        key: Some(Key::needed("nvidia-key", &["NVIDIA_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["perplexity"],
        base_url: "https://api.perplexity.ai",
        key: Some(Key::needed("perplexity-key", &["PERPLEXITY_API_KEY"])),
        ..PLAIN
    },
    Server {
        prefixes: &["sambanova"],
        base_url: "https://api.sambanova.ai/v1",
        key: Some(Key::needed("sambanova-key", &["SAMBANOVA_API_KEY"])),
        forms: &[Form::Embedding],
        ..PLAIN
    },
    Server {
        prefixes: &["togetherai"],
        base_url: "https://api.together.xyz/v1",
        key: Some(Key::needed("togetherai-key", &["TOGETHER_API_KEY"])),
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["truefoundry"],
        base_url: "https://llm-gateway.truefoundry.com",
        key: Some(Key::needed("truefoundry-key", &["TRUEFOUNDRY_API_KEY"])),
        dialect: MIXED,
        forms: &[Form::Embedding],
        headers: &OF_TRUEFOUNDRY,
        ..PLAIN
    },
    Server {
        prefixes: &["vllm"],
        base_url: "http://localhost:8000/v1",
        key: Some(Key::if_set("vllm-key", &["VLLM_API_KEY"])),
        setting: Some("VLLM_BASE_URL"),
        forms: ALL_FORMS,
        ..PLAIN
    },
    Server {
        prefixes: &["xai"],
        base_url: "https://api.x.ai/v1",
        key: Some(Key::needed("xai-key", &["XAI_API_KEY"])),
        own: &[("image", xai_picture)],
        absent: &["responses", "video", "voice"],
        refused: &[REGION],
        ..PLAIN
    },
];
