//! What the embedder does for a guest: every effect on the world that a plugin can ask for.
//!
//! The sandbox has already counted the call, checked sizes and cut the log line; whether the
//! plugin is *granted* what it asks for is decided behind this trait, in one place for all
//! effects. A refusal is an [`abi::Error`] with code `denied`, which the guest may pass on.

use std::sync::Arc;

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

    /// Begins a request of which the guest reads the response while it comes. It goes the way of [`Self::http`], and out
    /// when it is first waited for.
    ///
    /// # Errors
    /// The request, where nothing is told before its end: the guest then has the response of [`Self::http`] in one piece.
    fn http_stream(
        self: Arc<Self>,
        request: Box<abi::HttpRequest>,
    ) -> Result<StreamedExchange, Box<abi::HttpRequest>> {
        Err(request)
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

/// A response that a guest reads while it comes.
pub type StreamedExchange = Box<dyn PiecesOfResponse>;

/// See [`StreamedExchange`]. Dropping it before its end abandons the request.
#[async_trait]
pub trait PiecesOfResponse: Send {
    /// Waits for the next piece; `None`: there is no other.
    ///
    /// # Errors
    /// As [`Host::http`], whatever was read before.
    async fn next(&mut self) -> Result<Option<abi::Piece>, abi::Error>;

    /// Is told that the piece that was given last holds the first token of an answer.
    fn first_token(&mut self) {}

    /// Waits for the end, and gives the whole response.
    ///
    /// # Errors
    /// As [`Host::http`].
    async fn finish(self: Box<Self>) -> Result<abi::HttpResponse, abi::Error>;
}

/// A response that comes as a whole.
pub(crate) enum WholeResponse {
    /// It was not asked for.
    Unsent(Arc<dyn Host>, Box<abi::HttpRequest>),
    /// How it ended, and whether the guest has yet to read it.
    Ended(Result<abi::HttpResponse, abi::Error>, bool),
}

impl WholeResponse {
    /// Asks for it, if nobody did.
    async fn ended(&mut self) -> (&Result<abi::HttpResponse, abi::Error>, &mut bool) {
        if let Self::Unsent(host, request) = self {
            let ended = host.http((**request).clone()).await;
            *self = Self::Ended(ended, true);
        }
        match self {
            Self::Ended(ended, is_unread) => (ended, is_unread),
            Self::Unsent(..) => unreachable!("it has ended"),
        }
    }
}

#[async_trait]
impl PiecesOfResponse for WholeResponse {
    async fn next(&mut self) -> Result<Option<abi::Piece>, abi::Error> {
        let (ended, is_unread) = self.ended().await;
        let response = ended.as_ref().map_err(Clone::clone)?;
        let is_answer = (200..300).contains(&response.status) && !response.body.is_empty();
        let is_next = std::mem::take(is_unread) && is_answer;
        Ok(is_next.then(|| abi::Piece::Lines(response.body.clone())))
    }

    async fn finish(mut self: Box<Self>) -> Result<abi::HttpResponse, abi::Error> {
        self.ended().await.0.clone()
    }
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
