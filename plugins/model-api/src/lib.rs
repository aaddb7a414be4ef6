//! What the clients of model APIs have in common. A library for the providers in `plugins/`,
//! not a component of its own.
//!
//! [`knobs`] reads a provider's config, [`failure`] turns what an API says went wrong into an
//! error that the host can act on, [`forms`] says what an id asks for in vain. They are for every API. [`chat`] is the shape of OpenAI's
//! chat completions, which half of the industry speaks: it takes [`messages`] and [`body`] to write,
//! [`answer`] to read, and a [`chat::Dialect`] says in what a server differs. [`embeddings`] and
//! [`completions`] are the same for vectors and for continuations, [`images`] for
//! pictures, and [`responses`] is OpenAI's newer shape. A [`server::Server`] is a
//! server of this shape as a record, a [`client::Client`] a provider for a list of them.
//! [`aws`] is what the services of AWS have in common.
//! [`path`] makes names parts of an address, [`picture`] makes a picture a text, [`schema`] describes the
//! knobs for the check at load, [`streaming`] puts together what comes in pieces.
//!
//! [`claude`] and [`gemini`] are the shapes of Anthropic and of Google, which more than one API has.
//!
//! It is built on the SDK alone, as any plugin is. A provider of a shape of its own (Bedrock,
//! Ollama) takes `knobs` and `failure` and writes the rest itself: one reader with a
//! switch for every API would be harder to understand than the readers are.

pub mod answer;
pub mod aws;
pub mod body;
pub mod chat;
pub mod claude;
pub mod client;
pub mod completions;
pub mod embeddings;
pub mod failure;
pub mod forms;
pub mod gemini;
pub mod images;
pub mod knobs;
pub mod messages;
pub mod path;
pub mod picture;
pub mod responses;
pub mod schema;
pub mod server;
pub mod streaming;
