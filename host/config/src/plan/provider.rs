//! A provider, as the config names it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Budget, DeclaredLimit, Places, Position, Process, ProviderCode, Script};
use crate::model::TextOrigin;
use crate::redacted::{self, is_secret, is_secret_variable, without_secrets_of_address};
use crate::template::is_plain;

/// A provider as the config names it. `Debug` leaves out `config` and `env`, which may hold
/// secrets.
#[derive(Clone, PartialEq)]
pub struct Provider {
    /// As written, for example `openai:chat:gpt-4o`.
    pub id: String,
    /// The user's name for it.
    pub label: Option<String>,
    /// What comes before the first colon: the plugin's prefix.
    pub prefix: String,
    /// What follows the prefix and its colon; empty for a bare prefix.
    pub name: String,
    /// The provider's `config`, environment templates rendered, without the keys that are the
    /// host's (`maxRetries`).
    pub config: Map<String, Value>,
    /// Overrides `RunOptions::delay` for this provider.
    pub delay: Option<Duration>,
    /// How often a request is sent again; `None`: the scheduler's number.
    pub max_retries: Option<u32>,
    /// Requests in flight that its lane keeps however often the server refuses; ≥ 1. The
    /// environment's default is in it.
    pub min_concurrency: Option<u32>,
    /// Requests in flight in its lane at most; ≥ `min_concurrency`.
    pub max_concurrency: Option<u32>,
    /// Takes the place of the bucket (usually the model) in the name of its lane: providers
    /// with the same one share a quota, with different ones they don't.
    pub pool: Option<String>,
    /// Quotas that hold for each of its requests, all of them at once. Those of a group are
    /// the same `Arc` in every provider of the group. No two have the same name.
    pub limits: Vec<Arc<DeclaredLimit>>,
    /// What may be spent on it in a run.
    pub budget: Budget,
    /// Environment for this provider only, over the config's `env`.
    pub env: Map<String, Value>,
    /// `transform`: makes another output of each of its answers, before the test's.
    pub transform: Option<Arc<Script>>,
    /// Code of its `config`, which the host runs around each of its calls.
    pub code: ProviderCode,
    /// The plugin that serves the prefix, as the catalog names it; of a program its language, or
    /// `exec`.
    pub plugin: String,
    /// What answers in place of a plugin.
    pub program: Option<ProviderProgram>,
    /// Who wrote it: an address in its config is this one's word.
    pub origin: TextOrigin,
    /// The variables of the process's environment that were filled into it.
    pub env_reads: Vec<EnvRead>,
    /// Where it stands.
    pub at: Position,
    /// Where the keys of its `config` stand.
    pub places: Places,
}

/// A provider that is code of the config, or a command.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderProgram {
    /// A file of code: `callApi` of its class, or a function.
    Code(Arc<Script>),
    /// A command that is started for each call.
    Command(Arc<Process>),
}

/// A variable of the process's environment that a text takes in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvRead {
    /// The variable's name in the process's environment.
    pub name: String,
    /// Where the text stands.
    pub at: Position,
}

impl Provider {
    /// What the user calls it: its label, or its id in place of one.
    pub fn called(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.id)
    }

    /// The names by which a filter may mean it.
    pub(crate) fn names(&self) -> [&str; 2] {
        [self.called(), &self.id]
    }

    /// Its id as it may be seen: without what stands for a secret in an address.
    pub fn shown_id(&self) -> String {
        without_secrets_of_address(&self.id).unwrap_or_else(|| self.id.clone())
    }
}

/// What headers of a provider's or prompt's config send that are named like credentials, whoever wrote the value.
/// With variables of a case in it, it is that case's.
pub(super) fn secret_headers(config: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let headers = config.get("headers").and_then(Value::as_object);
    let headers = headers.into_iter().flatten();
    let secret = headers.filter(|(name, _)| is_secret_variable(name));
    let texts = secret.filter_map(|(_, value)| value.as_str());
    texts.filter(|text| is_plain(text))
}

/// Keys in the config of a program, which is handed all of it. What a model calls a token (`<|im_end|>`) is none, and no
/// row chooses what is masked.
pub(super) fn secrets_of_program(provider: &Provider) -> impl Iterator<Item = &str> {
    let is_program = provider.program.is_some() && !provider.origin.is_data();
    let config = redacted::secrets_of_program(&provider.config, is_secret);
    let env = redacted::secrets_of_program(&provider.env, is_secret_variable);
    let is_word = |text: &str| text.starts_with('<') && text.ends_with('>');
    let written = config.into_iter().chain(env);
    written.filter(move |text| is_program && !is_word(text))
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("id", &self.id)
            .field("label", &self.label)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;

    #[test]
    fn keys_in_the_config_of_a_program_are_secrets() {
        let config = "{ apiKey: k-1, headers: { X-Auth: k-2 }, list: [{ token: k-3 }], env: { MODE: m, A_PASS: k-4 }, cert: -----BEGIN PRIVATE KEY-----, eos_token: <|end|>, url: u }";
        let folder = |id: &str| {
            let provider =
                format!("{{ id: '{id}', env: {{ MODE: m, A_KEY: k-5 }}, config: {config} }}");
            Folder::new(&format!("prompts: [p]\nproviders: [{provider}]"))
        };
        let plan = folder("exec:x").plan();
        let mut secrets: Vec<&str> = plan.secrets().collect();
        secrets.sort_unstable();
        let key = "-----BEGIN PRIVATE KEY-----";
        assert_eq!(secrets, [key, "k-1", "k-2", "k-2", "k-3", "k-4", "k-5"]);
        // The host takes those of a plugin.
        assert_eq!(
            folder("openai:m").plan().secrets().collect::<Vec<_>>(),
            ["k-2"]
        );
    }
}
