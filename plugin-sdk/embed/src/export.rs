//! From a Rust type to the exports of a component, as in `runner-plugin`'s `export`.

use std::marker::PhantomData;

use runner_plugin::wire::hands::runner::plugin::types;
use runner_plugin::wire::meta::exports::runner::plugin::meta;
use runner_plugin::{
    CallContext, Completion, Error, Info, Provider, Request, Target, export::OfProvider,
    export::hook_panics,
};

use crate::Embeddings;
use crate::wire::exports::runner::plugin::{provider, provider_embed};

/// A provider that makes vectors, too.
pub trait ProviderEmbed: Provider {
    /// One vector per input, in their order.
    ///
    /// # Errors
    /// Whatever kept the model from answering; `unsupported` for a target that makes none.
    fn embed(
        target: &Target,
        inputs: &[String],
        context: &CallContext,
    ) -> Result<Embeddings, Error>;
}

/// The exports of a component that is a provider with vectors.
pub struct OfEmbeddingProvider<P>(PhantomData<P>);

impl<P: ProviderEmbed> meta::Guest for OfEmbeddingProvider<P> {
    fn describe() -> Info {
        <OfProvider<P> as meta::Guest>::describe()
    }

    fn check_config(config_json: String) -> Vec<(String, String)> {
        <OfProvider<P> as meta::Guest>::check_config(config_json)
    }
}

impl<P: ProviderEmbed> provider::Guest for OfEmbeddingProvider<P> {
    fn complete(
        target: provider::Target,
        request: Request,
        context: CallContext,
    ) -> Result<Completion, types::Error> {
        hook_panics();
        Ok(P::complete(&one(target), &request, &context)?)
    }
}

impl<P: ProviderEmbed> provider_embed::Guest for OfEmbeddingProvider<P> {
    fn embed(
        target: provider::Target,
        inputs: Vec<String>,
        context: CallContext,
    ) -> Result<Embeddings, types::Error> {
        hook_panics();
        Ok(P::embed(&one(target), &inputs, &context)?)
    }
}

/// The record as the SDK's bindings have it.
fn one(target: provider::Target) -> Target {
    Target {
        id: target.id,
        name: target.name,
        config_json: target.config_json,
    }
}

/// Makes a type that is a [`ProviderEmbed`] the plugin of this crate; the README shows one.
#[macro_export]
macro_rules! export_embedding_provider {
    ($provider:ty) => {
        const _: () = {
            type Exported = $crate::OfEmbeddingProvider<$provider>;
            #[cfg(target_arch = "wasm32")]
    $crate::wire::export!(Exported with_types_in $crate::wire);
            #[cfg(not(target_arch = "wasm32"))]
            const _: () = $crate::wire::fits::<Exported>();
        };
        const _: () = {
            type Exported = $crate::OfEmbeddingProvider<$provider>;
    ::runner_plugin::exports!(Exported: meta);
        };
    };
}
