//! The server: it listens on the loopback interface, and each request passes the door before
//! anything of it is read.
//!
//! Pages are made on threads that may block, since SQLite does; few of them, so that a page that asks
//! for much does not take the machine.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use runner_store::Store;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::door::{AccessControl, Caller, Entry};
use crate::live;
use crate::pages;
use crate::request::{Body, Fields, Reply, Request};
use crate::site::Site;

/// The port that is tried first, so that the address is the same each time.
const USUAL_PORT: u16 = 15_700;
/// Bytes of a form.
const MOST_FORM: usize = 64 << 10;
/// Connections at once: a browser opens six.
const MOST_CONNECTIONS: usize = 64;
/// How long a client may take to send the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// What a page may do: wear our style, run our script, send forms to us, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

type HttpResponse = hyper::Response<Body>;

/// Why there is no viewer.
#[derive(Debug, thiserror::Error)]
pub enum ViewerError {
    /// The port can't be had.
    #[error("port {port} of 127.0.0.1 can't be listened on")]
    Port {
        /// The port that was asked for; 0 for any.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The server could not be started, or broke.
    #[error("the server could not go on")]
    Server(#[source] io::Error),
}

/// A server that listens.
#[derive(Debug)]
pub struct Viewer {
    listener: std::net::TcpListener,
    door: AccessControl,
    site: Arc<Site>,
}

impl Viewer {
    /// Listens on this port of the loopback interface; without one on the usual port, or on any
    /// other that is free.
    ///
    /// # Errors
    /// [`ViewerError::Port`].
    pub fn bind(store: Store, port: Option<u16>) -> Result<Self, ViewerError> {
        let bind = |port| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = match port {
            Some(port) => bind(port),
            None => bind(USUAL_PORT).or_else(|_| bind(0)),
        };
        let failed = |source| ViewerError::Port {
            port: port.unwrap_or_default(),
            source,
        };
        let listener = listener.map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            listener,
            door: AccessControl::new(port),
            site: Arc::new(Site::new(store)),
        })
    }

    /// The address to open, good for once.
    pub fn address(&self) -> String {
        self.door.address()
    }

    /// Serves until the process is interrupted (Ctrl-C).
    ///
    /// # Errors
    /// [`ViewerError::Server`].
    pub fn serve(self) -> Result<(), ViewerError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(4)
            .enable_all()
            .build()
            .map_err(ViewerError::Server)?;
        let ended = runtime.block_on(async {
            tokio::select! {
                ended = self.accept() => ended,
                interrupted = tokio::signal::ctrl_c() => interrupted,
            }
        });
        // A page that is being made is not waited for.
        runtime.shutdown_background();
        ended.map_err(ViewerError::Server)
    }

    async fn accept(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let (door, site) = (Arc::new(self.door), self.site);
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok(place) = room.clone().acquire_owned().await else {
                return Ok(());
            };
            // A client that is gone again is no reason to stop.
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let (door, site) = (door.clone(), site.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| answer(door.clone(), site.clone(), request));
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_PATIENCE)
                    .serve_connection(TokioIo::new(stream), service);
                // Whoever breaks off a connection knows that it did.
                drop(served.await);
                drop(place);
            });
        }
    }
}

/// Answers one request.
async fn answer(
    door: Arc<AccessControl>,
    site: Arc<Site>,
    request: hyper::Request<Incoming>,
) -> Result<HttpResponse, Infallible> {
    let posts = request.method() == Method::POST;
    let query = Fields::read(request.uri().query().unwrap_or_default());
    let caller = Caller {
        changes: posts,
        host: text(request.headers(), header::HOST),
        origin: text(request.headers(), header::ORIGIN),
        cookie: text(request.headers(), header::COOKIE),
        token: query.get("token"),
    };
    match door.admit(&caller) {
        Entry::In if posts || request.method() == Method::GET => {}
        Entry::In => {
            return Ok(shown(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and POST are answered",
            ));
        }
        Entry::Welcome(cookie) => {
            let mut response = redirect("/");
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            return Ok(response);
        }
        Entry::Refused(why) => return Ok(shown(StatusCode::FORBIDDEN, why)),
    }
    let path = request
        .uri()
        .path()
        .split('/')
        .filter(|part| !part.is_empty());
    let path: Vec<String> = path.map(decoded).collect();
    if let [runs, id, live] = path.as_slice()
        && (runs.as_str(), live.as_str()) == ("runs", "live")
    {
        return Ok(respond(
            StatusCode::OK,
            "text/event-stream",
            live::stream(site, id.clone()),
        ));
    }
    let Some(form) = form(posts, request.into_body()).await else {
        return Ok(shown(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the form is too large, or broke off",
        ));
    };
    let request = Request {
        posts,
        path,
        query,
        form,
    };
    let made = tokio::task::spawn_blocking(move || pages::answer(&site, &request)).await;
    let broken = |_| Reply::Refused("the page could not be made; this is a bug".to_owned());
    Ok(response(made.unwrap_or_else(broken)))
}

/// Reads the fields of a form; none where nothing is posted.
async fn form(posts: bool, body: Incoming) -> Option<Fields> {
    if !posts {
        return Some(Fields::default());
    }
    let body = Limited::new(body, MOST_FORM).collect().await.ok()?;
    Some(Fields::read(&String::from_utf8_lossy(&body.to_bytes())))
}

fn response(reply: Reply) -> HttpResponse {
    match reply {
        Reply::Page(page) => respond(StatusCode::OK, HTML, whole(page.0)),
        Reply::Redirect(to) => redirect(&to),
        Reply::Missing(why) => shown(StatusCode::NOT_FOUND, &why),
        Reply::Refused(why) => shown(StatusCode::INTERNAL_SERVER_ERROR, &why),
        Reply::Asset(kind, content) => {
            let mut response = respond(StatusCode::OK, kind, whole(content));
            let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
            response
                .headers_mut()
                .insert(header::CACHE_CONTROL, forever);
            response
        }
        Reply::File(name, kind, content) => {
            let mut response = respond(StatusCode::OK, kind, whole(content));
            if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
                response
                    .headers_mut()
                    .insert(header::CONTENT_DISPOSITION, value);
            }
            response
        }
    }
}

const HTML: &str = "text/html; charset=utf-8";

fn shown(status: StatusCode, why: &str) -> HttpResponse {
    respond(status, HTML, whole(pages::refusal(status.as_u16(), why).0))
}

fn redirect(to: &str) -> HttpResponse {
    let mut response = respond(StatusCode::SEE_OTHER, HTML, whole(""));
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

fn respond(status: StatusCode, kind: &'static str, body: Body) -> HttpResponse {
    let mut response = hyper::Response::new(body);
    *response.status_mut() = status;
    let fixed = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // No more: with `no-referrer` a form would not say where it comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn whole(content: impl Into<Bytes>) -> Body {
    Full::new(content.into()).boxed_unsync()
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A part of a path. Forms write a space as `+`, paths don't.
fn decoded(part: &str) -> String {
    let whole = format!("x={}", part.replace('+', "%2B"));
    Fields::read(&whole).get("x").unwrap_or_default().to_owned()
}
