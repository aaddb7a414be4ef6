//! A plugin whose servers all speak OpenAI's shape: the traits of the SDK for a list of
//! [`Server`]s. What such a plugin is made of is in [`Served`]; there is no code per server.
//!
//! The server of a target is found by the prefix of its id. A plugin of several servers says of
//! each prefix what it uses, so that the host keeps the key of one from the address of another:
//! the choice made here could go wrong, and nothing would get out.

use std::marker::PhantomData;

use runner_plugin::json::Value;
use runner_plugin::{CallContext, Completion, Error, Info, Provider, Request, Target};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

use crate::knobs;
use crate::schema;
use crate::server::Server;

/// What a plugin of such servers is.
pub trait Served {
    /// The servers, of which no two have a prefix or a key's name in common.
    const SERVERS: &'static [Server];

    /// Name, version, description, licence.
    fn info() -> Info;

    /// The properties of the config's JSON Schema beyond those of every chat.
    fn properties() -> Value;
}

/// The provider for what `S` says.
pub struct Client<S>(PhantomData<S>);

impl<S: Served> Client<S> {
    fn server(target: &Target) -> Result<&'static Server, Error> {
        let prefix = target.id.split(':').next().unwrap_or_default();
        let mut servers = S::SERVERS.iter();
        let found = servers.find(|server| server.prefixes.contains(&prefix));
        found.ok_or_else(|| Error::unsupported(format!("no server is called `{prefix}`")))
    }
}

impl<S: Served> Provider for Client<S> {
    fn describe() -> Info {
        let servers = S::SERVERS.iter();
        let info = servers
            .clone()
            .fold(S::info(), |info, server| server.wants(info));
        let info = match servers.len() {
            1 => info,
            _ => servers.fold(info, |info, server| server.keeps_apart(info)),
        };
        info.host_from("apiBaseUrl")
            .config_schema(&schema::chat(&S::properties()))
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config, &knobs::REFUSED)
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        Self::server(target)?.check(target)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        Self::server(target)?.complete(target, request)
    }
}

impl<S: Served> ProviderEmbed for Client<S> {
    fn embed(
        target: &Target,
        inputs: &[String],
        _context: &CallContext,
    ) -> Result<Embeddings, Error> {
        Self::server(target)?.embed(target, inputs)
    }
}
