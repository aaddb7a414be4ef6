//! What a component of the user's may do, as the config says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `permissions`: nothing unless written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// Origins it may call, as written.
    pub hosts: Vec<String>,
    /// Credentials it may name, by name.
    pub credentials: BTreeMap<String, CredentialGrant>,
    /// The names by which it may ask models: each is a provider's label or id, unless `llm_providers` has it.
    pub llm: Vec<String>,
    /// The provider (label or id) that a name of `llm` stands for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub llm_providers: BTreeMap<String, String>,
    /// Its requests to `hosts` may come through `wasi:http`, as its toolchain makes them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wasi_http: bool,
}

/// A credential that the host adds to a plugin's requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialGrant {
    /// The environment variable that holds the value.
    pub env: String,
    /// `bearer`, `basic`, `header:<name>` or `query:<name>`, as written; `bearer` by default.
    pub scheme: String,
    /// Origins that the value may be sent to; the plugin's `hosts` unless written.
    pub hosts: Vec<String>,
}
