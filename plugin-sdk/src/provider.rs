//! The trait of a provider: it turns a request into an answer.

use serde::de::DeserializeOwned;

use crate::wire::provider::exports::runner::plugin::provider as wire;
use crate::{CallContext, Completion, Error, Info, Request};

pub use wire::Target;

/// A client of a model API. Functions instead of methods: the host may run every call in a
/// fresh instance, so there is no state to hold.
///
/// Export the type with [`export_provider!`](crate::export_provider).
pub trait Provider {
    /// What the plugin is, which provider ids it serves, what it asks for. Called once per
    /// file, with nothing granted.
    fn describe() -> Info;

    /// Checks a `config` beyond its JSON Schema, before anything is spent. Each problem is a
    /// JSON Pointer into the config and a message.
    fn check_config(config: &serde_json::Value) -> Vec<(String, String)> {
        let _ = config;
        Vec::new()
    }

    /// Checks whether a target can be served at all, found before anything is spent: an id that names
    /// no model, a form of asking that the plugin does not have. By default every id is good.
    ///
    /// # Errors
    /// Why not, and what to write instead.
    fn check_target(target: &Target) -> Result<(), Error> {
        let _ = target;
        Ok(())
    }

    /// Answers one request.
    ///
    /// # Errors
    /// Whatever kept the model from answering. A model's own refusal is an answer.
    fn complete(
        target: &Target,
        request: &Request,
        context: &CallContext,
    ) -> Result<Completion, Error>;
}

impl Target {
    /// Reads the provider's `config` into a type of the plugin's.
    ///
    /// # Errors
    /// `invalid-request` if it does not fit.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Error> {
        crate::json::read("config", &self.config_json)
    }
}
