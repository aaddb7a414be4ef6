//! What the clients of model APIs have in common. A library for the providers in `plugins/`,
//! not a component of its own.
//!
//! [`knobs`] reads a provider's config, [`failure`] turns what an API says went wrong into an
//! error that the host can act on. Both are for every API. [`chat`] is the shape of OpenAI's
//! chat completions, which half of the industry speaks: [`messages`] and [`body`] write it,
//! [`answer`] reads it, a [`chat::Dialect`] says in what a server differs. [`embeddings`] and
//! [`completions`] are the same for vectors and for continuations. A [`server::Server`] is a
//! server of this shape as a record, a [`client::Client`] a provider for a list of them.
//! [`path`] makes names parts of an address, [`picture`] makes a picture a text, [`schema`] describes the knobs for the check at load.
//!
//! It is built on the SDK alone, as any plugin is. A provider of another shape (Anthropic,
//! Gemini, Ollama) takes `knobs` and `failure` and writes the rest itself: one reader with a
//! switch for every API would be harder to understand than the readers are.

pub mod answer;
pub mod body;
pub mod chat;
pub mod client;
pub mod completions;
pub mod embeddings;
pub mod failure;
pub mod knobs;
pub mod messages;
pub mod path;
pub mod picture;
pub mod schema;
pub mod server;
