//! What a guest's imports do: count, check sizes, and hand over to the [`Host`].
//!
//! A used-up count is an error with code `budget` that the guest sees, not a trap: a plugin
//! that polls can then report what it has.
//!
//! [`Host`]: crate::host::Host

use std::sync::Arc;

use futures_util::future::join_all;
use wasmtime::component::Resource;

use crate::abi;
use crate::bindings::runner::plugin::{http, http_stream, llm, log, types};
use crate::call::CallState;
use crate::effects::Granted;
use crate::host::{StreamedExchange, WholeResponse};
use crate::limits::MAX_RESPONSE_BYTES;
use crate::v0_1::check;

impl types::Host for CallState {}

impl log::Host for CallState {
    fn emit(&mut self, level: log::Level, message: String, fields: Vec<types::Pair>) {
        self.log.line(level, &message, fields);
    }
}

impl http::Host for CallState {
    async fn send(&mut self, request: http::Request) -> Result<http::Response, types::Error> {
        self.effects.take_http(1).one()?;
        let host = Arc::clone(&self.host);
        host.delivered();
        let response = self.meter.outside(host.http(request)).await;
        fitting(response?)
    }

    async fn send_all(
        &mut self,
        requests: Vec<http::Request>,
    ) -> Vec<Result<http::Response, types::Error>> {
        let host = Arc::clone(&self.host);
        let host = &host;
        host.delivered();
        let send = |request| async move { fitting(host.http(request).await?) };
        let granted = self.effects.take_http(requests.len());
        self.all(requests, granted, send).await
    }
}

impl CallState {
    /// Does what was granted of a list, all at once. The rest is refused when that is done, so that
    /// a long list takes no memory meanwhile.
    async fn all<I, O, F>(
        &mut self,
        mut list: Vec<I>,
        granted: Granted,
        one: impl FnMut(I) -> F,
    ) -> Vec<Result<O, abi::Error>>
    where
        F: Future<Output = Result<O, abi::Error>>,
    {
        let asked = list.len();
        list.truncate(granted.count);
        list.shrink_to_fit();
        let calls: Vec<_> = list.into_iter().map(one).collect();
        let mut answers = self.meter.outside(join_all(calls)).await;
        if let Some(refusal) = granted.refusal {
            answers.resize_with(asked, || Err(refusal.clone()));
        }
        answers
    }
}

impl http_stream::Host for CallState {}

impl http_stream::HostExchange for CallState {
    fn new(&mut self, request: http::Request) -> wasmtime::Result<Resource<http_stream::Exchange>> {
        // Its body is in memory before it can be waited for that there is room.
        let refusal = if self.exchanges.is_empty() {
            self.effects.take_http(1).one().err()
        } else {
            let message = "another exchange is open; a call reads one at a time";
            Some(abi::Error::new(abi::ErrorCode::InvalidRequest, message))
        };
        let exchange = match refusal {
            None => {
                let begun = Arc::clone(&self.host).http_stream(Box::new(request));
                begun.unwrap_or_else(|request| {
                    Box::new(WholeResponse::Unsent(Arc::clone(&self.host), request))
                })
            }
            Some(refusal) => Box::new(WholeResponse::Ended(Err(refusal), true)),
        };
        Ok(Resource::new_own(self.exchanges.push(exchange)?.rep()))
    }

    async fn next(
        &mut self,
        exchange: Resource<http_stream::Exchange>,
    ) -> wasmtime::Result<Result<Option<http_stream::Piece>, types::Error>> {
        self.host.delivered();
        let exchange = self.exchanges.get_mut(&known(&exchange))?;
        Ok(self.meter.outside(exchange.next()).await)
    }

    fn first_token(&mut self, exchange: Resource<http_stream::Exchange>) -> wasmtime::Result<()> {
        self.exchanges.get_mut(&known(&exchange))?.first_token();
        Ok(())
    }

    async fn finish(
        &mut self,
        exchange: Resource<http_stream::Exchange>,
    ) -> wasmtime::Result<Result<http::Response, types::Error>> {
        self.host.delivered();
        let exchange = self.exchanges.delete(known(&exchange))?;
        let response = self.meter.outside(exchange.finish()).await;
        Ok(response.and_then(fitting))
    }

    fn drop(&mut self, exchange: Resource<http_stream::Exchange>) -> wasmtime::Result<()> {
        self.exchanges
            .delete(exchange)
            .map(drop)
            .map_err(Into::into)
    }
}

/// What the table has for a guest's handle.
fn known(handle: &Resource<http_stream::Exchange>) -> Resource<StreamedExchange> {
    Resource::new_own(handle.rep())
}

/// The last check before a body is copied into the guest; the gateway has its own while it
/// reads.
fn fitting(response: http::Response) -> Result<http::Response, types::Error> {
    if response.body.len() <= MAX_RESPONSE_BYTES {
        return Ok(response);
    }
    Err(abi::Error::new(
        abi::ErrorCode::BadResponse,
        "the response is larger than a plugin may receive",
    ))
}

/// Checks a request before anybody reads its JSON.
fn readable(request: &types::Request) -> Result<(), types::Error> {
    check::request(request).map_err(|violation| {
        let message = format!("{} {}", violation.field, violation.what);
        abi::Error::new(abi::ErrorCode::InvalidRequest, message)
    })
}

impl llm::Host for CallState {
    async fn complete(
        &mut self,
        target: String,
        request: types::Request,
    ) -> Result<llm::Answer, types::Error> {
        self.effects.take_llm(1).one()?;
        let host = Arc::clone(&self.host);
        host.delivered();
        readable(&request)?;
        self.meter
            .outside(host.llm_complete(&target, request))
            .await
    }

    async fn complete_all(
        &mut self,
        target: String,
        requests: Vec<types::Request>,
    ) -> Vec<Result<llm::Answer, types::Error>> {
        let host = Arc::clone(&self.host);
        let (host, target) = (&host, &target);
        host.delivered();
        let ask = |request| async move {
            readable(&request)?;
            host.llm_complete(target, request).await
        };
        let granted = self.effects.take_llm(requests.len());
        self.all(requests, granted, ask).await
    }

    async fn embed(
        &mut self,
        target: String,
        inputs: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, types::Error> {
        self.effects.take_llm(1).one()?;
        let host = Arc::clone(&self.host);
        host.delivered();
        self.meter.outside(host.llm_embed(&target, inputs)).await
    }
}
