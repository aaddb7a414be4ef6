//! Vectors: what a provider plugin may offer besides answers. An addition to `runner-plugin`.
//!
//! Implement [`ProviderEmbed`] beside `Provider` and name the type in
//! [`export_embedding_provider!`] instead of `export_provider!`. A trait and a macro of their
//! own, because an export is a promise: the host looks whether `provider-embed` is there, and
//! a provider that always refused it would look like one that makes vectors.
//!
//! A crate of its own for a technical reason. The contract ties the interface to `provider`,
//! whose target it takes, so one world has to export both; and two worlds that export
//! `provider` cannot live in one crate, since the generated macros would have one name.

mod export;
#[doc(hidden)]
pub mod wire;

pub use export::{OfEmbeddingProvider, ProviderEmbed};
pub use wire::exports::runner::plugin::provider_embed::Embeddings;

/// The README's code, so that it compiles and runs with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
