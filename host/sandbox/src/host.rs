//! What the embedder does for a guest: every effect on the world that a plugin can ask for.
//!
//! The sandbox has already counted the call, checked sizes and cut the log line; whether the
//! plugin is *granted* what it asks for is decided behind this trait, in one place for all
//! effects. A refusal is an [`abi::Error`] with code `denied`, which the guest may pass on.

use async_trait::async_trait;

use crate::abi;

/// The world as one call of one plugin sees it. Dropping a returned future abandons the
/// effect: that is how a call is cancelled. What an embedder says nothing of is denied.
#[async_trait]
pub trait Host: Send + Sync {
    /// Sends one HTTP request. Several may run at once for one guest (`http.send-all`).
    async fn http(&self, request: abi::HttpRequest) -> Result<abi::HttpResponse, abi::Error> {
        let _ = request;
        Err(denied())
    }

    /// Says whether this plugin may send requests through `wasi:http`, or why not. They then go the way of
    /// [`Self::http`], which has its own say.
    ///
    /// # Errors
    /// A refusal with code `denied` and what would grant it.
    fn wasi_http(&self) -> Result<(), abi::Error> {
        Err(denied())
    }

    /// Is told that the guest has every response that was given until now; they need no memory of
    /// the host any more. Said when it asks for the next thing: a response is the host's while the
    /// guest waits for the memory to copy it into.
    fn delivered(&self) {}

    /// Returns when nobody is before this call's case: what it waits for others hold who wait for it
    /// to end.
    async fn goes_first(&self) {
        std::future::pending::<()>().await;
    }

    /// Returns when the guest may have so many more bytes of linear memory, which the limit of its
    /// call lets it have. They are the guest's until it ends.
    async fn take_memory(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Is told that the guest has ended, and the bytes that it took are free. Must not block.
    fn free_memory(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Sends one request to another provider of the run. `target` is a label or id from the config.
    async fn llm_complete(
        &self,
        target: &str,
        request: abi::Request,
    ) -> Result<abi::Answer, abi::Error> {
        let _ = (target, request);
        Err(denied())
    }

    /// Gets one vector for each of `inputs`, in order.
    async fn llm_embed(
        &self,
        target: &str,
        inputs: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, abi::Error> {
        let _ = (target, inputs);
        Err(denied())
    }

    /// Takes one log line, already cut and counted. Must not block.
    fn log(&self, line: abi::LogLine);
}

/// Denies everything: the world of `describe` and `check-config`.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyingHost;

fn denied() -> abi::Error {
    let message = "nothing can be asked for in this call";
    abi::Error::new(abi::ErrorCode::Denied, message)
}

impl Host for DenyingHost {
    fn log(&self, line: abi::LogLine) {
        tracing::debug!(level = ?line.level, "{}", line.message);
    }
}
