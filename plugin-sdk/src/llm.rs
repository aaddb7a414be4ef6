//! Questions to another provider of the same run, for graders that ask a model.
//!
//! A target is an alias that the user grants (`permissions.llm`); which model stands behind it
//! is the user's choice. Calls share the run's limits and cache and count toward the plugin's
//! budget. There is one level: a model that is asked cannot ask another.

use crate::wire::hands::runner::plugin::llm as wire;
use crate::{Error, Request};

pub use wire::Answer;

/// Asks `target` once.
///
/// # Errors
/// The provider's error, or `denied` and `budget` from the host; pass them on.
pub fn complete(target: &str, request: &Request) -> Result<Answer, Error> {
    #[cfg(target_arch = "wasm32")]
    {
        crate::export::hook_panics();
        Ok(wire::complete(target, request)?)
    }
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::ask(target, request)
}

/// Asks `target` several times at once; the results are in order.
pub fn complete_all(target: &str, requests: &[Request]) -> Vec<Result<Answer, Error>> {
    #[cfg(target_arch = "wasm32")]
    {
        crate::export::hook_panics();
        wire::complete_all(target, requests)
            .into_iter()
            .map(|result| Ok(result?))
            .collect()
    }
    #[cfg(not(target_arch = "wasm32"))]
    requests
        .iter()
        .map(|request| crate::testing::ask(target, request))
        .collect()
}

/// One vector per input.
///
/// # Errors
/// As [`complete`]; also where the target has no embeddings.
pub fn embed(target: &str, inputs: &[String]) -> Result<Vec<Vec<f32>>, Error> {
    #[cfg(target_arch = "wasm32")]
    {
        crate::export::hook_panics();
        Ok(wire::embed(target, inputs)?)
    }
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::embed(target, inputs)
}
