//! Where a model is asked, and with whose key.
//!
//! Workers AI is below the account's own address. A gateway has a folder for each company, and
//! hands on what comes behind it; so behind it stands the path at which that company speaks
//! OpenAI's shape.

use plugin_model_api::knobs::{self, Api, Knobs};
use plugin_model_api::path::segment;
use plugin_model_api::server::{Form, WORDS};
use runner_plugin::{Error, Target};

/// The origin of Workers AI.
pub(crate) const WORKERS: &str = "https://api.cloudflare.com";

/// The origin of gateways.
pub(crate) const GATEWAY: &str = "https://gateway.ai.cloudflare.com";

/// The name by which requests to Workers AI refer to the key.
pub(crate) const WORKERS_KEY: &str = "cloudflare-key";

/// The config key of the account.
pub(crate) const ACCOUNT: &str = "accountId";

/// The config key of the gateway.
pub(crate) const GATEWAY_ID: &str = "gatewayId";

const OURS: &[&str] = &[ACCOUNT, GATEWAY_ID];

/// A company behind a gateway.
#[derive(Debug)]
pub(crate) struct Vendor {
    /// Its folder, as ids write it.
    pub(crate) id: &'static str,
    /// From its folder to `/chat/completions`.
    path: &'static str,
    /// The name of its key.
    pub(crate) key: &'static str,
    /// The variable that holds it.
    pub(crate) env: &'static str,
}

const fn vendor(
    id: &'static str,
    path: &'static str,
    key: &'static str,
    env: &'static str,
) -> Vendor {
    Vendor { id, path, key, env }
}

impl Vendor {
    /// Whether it is Cloudflare: any other's key is handed to a stranger there.
    pub(crate) fn is_ours(&self) -> bool {
        self.id == "workers-ai"
    }
}

/// All of them.
pub(crate) const VENDORS: [Vendor; 9] = [
    vendor("anthropic", "/v1", "anthropic-key", "ANTHROPIC_API_KEY"),
    vendor(
        "cohere",
        "/compatibility/v1",
        "cohere-key",
        "COHERE_API_KEY",
    ),
    vendor(
        "google-ai-studio",
        "/v1beta/openai",
        "google-key",
        "GOOGLE_API_KEY",
    ),
    vendor("grok", "/v1", "grok-key", "XAI_API_KEY"),
    vendor("groq", "", "groq-key", "GROQ_API_KEY"),
    vendor("mistral", "/v1", "mistral-key", "MISTRAL_API_KEY"),
    vendor("openai", "", "openai-key", "OPENAI_API_KEY"),
    vendor("perplexity-ai", "", "perplexity-key", "PERPLEXITY_API_KEY"),
    vendor("workers-ai", "/v1", "workers-ai-key", "CLOUDFLARE_API_KEY"),
];

/// What an id means.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) form: Form,
    /// The model that the id names.
    pub(crate) named: &'a str,
    /// Who is behind the gateway; `None` of Workers AI.
    vendor: Option<&'static Vendor>,
}

impl<'a> Place<'a> {
    /// Reads an id.
    pub(crate) fn of(target: &'a Target) -> Result<Self, Error> {
        if target.id.starts_with("cloudflare-gateway") {
            return Self::behind_gateway(target);
        }
        let (found, named) = knobs::kind(&target.name, &WORDS.map(|(word, _)| word));
        let form = WORDS.iter().find(|(word, _)| Some(*word) == found);
        let Some((_, form)) = form else {
            let id = &target.id;
            return Err(Error::invalid_request(format!(
                "`{id}` names no form; write `cloudflare-ai:chat:MODEL`, `…:completion:MODEL` or `…:embedding:MODEL`"
            )));
        };
        Ok(Self {
            form: *form,
            named,
            vendor: None,
        })
    }

    fn behind_gateway(target: &'a Target) -> Result<Self, Error> {
        let (found, named) = knobs::kind(&target.name, &VENDORS.map(|vendor| vendor.id));
        let vendor = VENDORS.iter().find(|vendor| Some(vendor.id) == found);
        if vendor.is_none() {
            let (id, known) = (&target.id, VENDORS.map(|vendor| vendor.id).join(", "));
            return Err(Error::unsupported(format!(
                "`{id}` names nobody behind the gateway; write `cloudflare-gateway:NAME:MODEL` with one of {known}; others are asked by their own plugin with the gateway as `apiBaseUrl`"
            )));
        }
        Ok(Self {
            form: Form::Chat,
            named,
            vendor,
        })
    }

    /// The API as far as its config goes.
    pub(crate) fn api(&self) -> Api {
        Api {
            base_url: "",
            key: Some(self.vendor.map_or(WORKERS_KEY, |vendor| vendor.key)),
            ours: OURS,
        }
    }

    /// The address: the config's own, else the one that account and gateway make.
    pub(crate) fn address(&self, knobs: &Knobs) -> Result<String, Error> {
        if !knobs.base_url.is_empty() {
            return Ok(knobs.base_url.clone());
        }
        let account = part(knobs, ACCOUNT, "CLOUDFLARE_ACCOUNT_ID")?;
        let Some(vendor) = self.vendor else {
            return Ok(format!("{WORKERS}/client/v4/accounts/{account}/ai/v1"));
        };
        let gateway = part(knobs, GATEWAY_ID, "CLOUDFLARE_GATEWAY_ID")?;
        let (id, path) = (vendor.id, vendor.path);
        Ok(format!("{GATEWAY}/v1/{account}/{gateway}/{id}{path}"))
    }
}

/// A part of the address that every user has another of.
fn part(knobs: &Knobs, key: &str, env: &str) -> Result<String, Error> {
    let written = knobs.text(key).filter(|text| !text.is_empty());
    let text = written.ok_or_else(|| {
        Error::invalid_request(format!(
            "no `{key}` is set; write `{key}: …` in the provider's config, or set {env}"
        ))
    })?;
    segment(text)
}
