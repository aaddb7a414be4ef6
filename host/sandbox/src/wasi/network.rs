//! The network in WASI's words: `wasi:http`, which leads to the same [`Host::http`] as our own
//! interface. There is no other: sockets are denied where they are linked (`call::linking`).
//!
//! A request is one value here, as everywhere: its body is collected before it is checked, and its
//! answer is whole before the guest reads of it. Whether it may be sent at all is the host's to say
//! ([`Host::wasi_http`]).
//!
//! What the library keeps for a guest counts nowhere else, so each part has a bound: headers
//! (`MAX_FIELDS_BYTES` a map), names and addresses (`MAX_NAME_BYTES`, where they are linked), bodies
//! that are being sent ([`MAX_CROSSING_BYTES`] together), and handles (`MAX_HANDLES`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use crate::abi::{CacheMode, ErrorCode, HttpRequest, HttpResponse, Level};
use crate::effects::Effects;
use crate::host::Host;
use crate::limits::{MAX_CROSSING_BYTES, MAX_FIELDS_BYTES, MAX_WRITE_BYTES};
use crate::log::LogSink;
use crate::meter::{Meter, PollGuard};

/// The header by which a request names a granted credential; it is not sent.
const CREDENTIAL: &str = "runner-credential";

/// The header by which a request names its rate-limit bucket; it is not sent.
const BUCKET: &str = "runner-bucket";

/// What the library asks of whoever embeds it, for one call.
pub(crate) struct Requests {
    context: WasiHttpCtx,
    sender: Sender,
}

impl Requests {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        meter: Arc<Meter>,
        effects: Arc<Effects>,
        log: LogSink,
    ) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS_BYTES);
        Self {
            context,
            sender: Sender {
                host,
                meter,
                effects,
                log,
                sending: Arc::default(),
            },
        }
    }

    pub(super) fn view<'a>(
        &'a mut self,
        table: &'a mut wasmtime::component::ResourceTable,
    ) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView {
            hooks: &mut self.sender,
            table,
            ctx: &mut self.context,
        }
    }
}

/// Sends what a guest hands over.
#[derive(Clone)]
struct Sender {
    host: Arc<dyn Host>,
    meter: Arc<Meter>,
    effects: Arc<Effects>,
    log: LogSink,
    /// Bytes of bodies that are collected or on their way.
    sending: Arc<AtomicUsize>,
}

/// Ends with the request: nothing goes on once its answer is there.
type Ended = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Sender {
    fn set_host_header(&mut self) -> bool {
        // It follows from the address.
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_WRITE_BYTES
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Ended,
    ) -> Box<dyn Future<Output = Result<(http::Response<WasiBody>, Ended), Error>> + Send> {
        let sender = self.clone();
        let begins = self.meter.waits();
        Box::new(async move {
            let answer = sender.send(request, options, begins).await?;
            let ended: Ended = Box::new(std::future::ready(Ok(())));
            Ok((answer, ended))
        })
    }
}

impl Sender {
    async fn send(
        &self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        begins: PollGuard,
    ) -> Result<http::Response<WasiBody>, Error> {
        let allowed = self.host.wasi_http();
        let counted = allowed.and_then(|()| self.effects.take_http(1).one());
        counted.map_err(|error| self.failed(error))?;
        let (head, body) = request.into_parts();
        let mut on_its_way = Held {
            sending: &self.sending,
            bytes: 0,
        };
        // A guest may never end its body: until it has, what it sleeps is its own time.
        drop(begins);
        let body = self.meter.taking(on_its_way.collect(body)).await?;
        let _answers = self.meter.waits();
        let request = asked(&head, body, options).map_err(|why| self.failed(why))?;
        let answer = self.host.http(request).await;
        let answer = answer.map_err(|error| self.failed(error))?;
        self.effects.answered(None);
        given(answer)
    }

    /// The guest hears the host's words, and so does the log: few toolchains pass them on.
    fn failed(&self, error: crate::abi::Error) -> Error {
        match error.code {
            ErrorCode::Timeout => return Error::HttpResponseTimeout,
            ErrorCode::Denied | ErrorCode::InvalidRequest => {
                self.log.line(Level::Warn, &error.message, Vec::new());
                self.effects.answered(Some(error.clone()));
            }
            _ => {}
        }
        Error::InternalError(Some(error.message))
    }
}

/// Bytes of a body, counted until its request has been answered.
struct Held<'a> {
    sending: &'a AtomicUsize,
    bytes: usize,
}

impl Held<'_> {
    async fn collect(&mut self, mut body: WasiBody) -> Result<Vec<u8>, Error> {
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            self.bytes += data.len();
            let all = self.sending.fetch_add(data.len(), Ordering::Relaxed) + data.len();
            if all > MAX_CROSSING_BYTES {
                return Err(Error::HttpRequestBodySize(Some(all as u64)));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.sending.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The request as a plugin of ours would have made it.
fn asked(
    head: &http::request::Parts,
    body: Vec<u8>,
    options: Option<RequestOptions>,
) -> Result<HttpRequest, crate::abi::Error> {
    let mut credential = None;
    let mut bucket = None;
    let mut headers = Vec::with_capacity(head.headers.len());
    for (name, value) in &head.headers {
        let Ok(value) = value.to_str() else {
            let message = format!("the header '{name}' is no text");
            return Err(crate::abi::Error::new(ErrorCode::InvalidRequest, message));
        };
        match name.as_str() {
            CREDENTIAL => credential = Some(value.to_owned()),
            BUCKET => bucket = Some(value.to_owned()),
            // Follows from the body.
            "content-length" => {}
            name => headers.push((name.to_owned(), value.to_owned())),
        }
    }
    let patience = options.and_then(|options| options.first_byte_timeout);
    Ok(HttpRequest {
        method: head.method.as_str().to_owned(),
        url: head.uri.to_string(),
        headers,
        body: (!body.is_empty()).then_some(body),
        credential,
        bucket,
        timeout_ms: patience.map(millis),
        cache: CacheMode::Auto,
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The answer as `wasi:http` has it.
fn given(answer: HttpResponse) -> Result<http::Response<WasiBody>, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in answer.headers {
        let name = HeaderName::try_from(name).map_err(|_| Error::HttpProtocolError)?;
        let value = HeaderValue::try_from(value).map_err(|_| Error::HttpProtocolError)?;
        headers.append(name, value);
    }
    let body = Full::new(Bytes::from(answer.body)).map_err(|never| match never {});
    let mut response = http::Response::new(body.boxed_unsync());
    *response.status_mut() =
        http::StatusCode::from_u16(answer.status).map_err(|_| Error::HttpProtocolError)?;
    *response.headers_mut() = headers;
    Ok(response)
}
