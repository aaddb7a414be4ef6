//! The HTTP clients of a run.
//!
//! One would do, were it not for two things that a connection pool must not mix. A
//! connection that was opened under the wider reach must never serve a request with the
//! narrower one; and plain http needs no certificates, whose store takes time to load and
//! does not exist on bare machines. So there is one client for each of these, made when it
//! is first needed, one for proxied requests, and one for each set of certificates of a provider's own. All retry nothing, follow nothing and
//! keep no cookies: that is decided above them.
//!
//! Behind a proxy the *proxy* looks names up and connects, so the address rules can't be
//! enforced here; grants still are, and a literal address still needs a grant of its own.
//! Whoever sets a proxy hands that part of the policy to it. What the config names and nobody here
//! finds is asked for before (`Lookup::is_proxied`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Proxy, redirect, retry};
use url::Url;

use crate::policy::address::Reach;
use crate::policy::certificates::Certificates;
use crate::wire::fault::WireFault;
use crate::wire::proxies::{Proxies, ProxyChoice};
use crate::wire::resolve::{GuardedResolver, Lookup, SystemLookup};

/// Time for TCP and TLS to come about. Connections that take longer don't come at all;
/// the retry that follows may find another address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an unused connection is kept: below the 60 s after which common load
/// balancers close theirs, so that requests rarely meet a closing connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(55);

/// Streams that an HTTP/2 server lets run on one connection, by the usual settings. The
/// client keeps one connection per server, so a run that wants more in flight speaks
/// HTTP/1.1 instead of queueing where nobody sees it.
const HTTP2_STREAMS: usize = 100;

/// How requests reach the network.
#[derive(Clone)]
pub struct ClientSettings {
    /// Most requests that will be in flight at once; sizes the connection pools.
    pub max_in_flight: usize,
    /// Which proxy to use.
    pub proxy: ProxyChoice,
    /// Looks names up.
    pub lookup: Arc<dyn Lookup>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            max_in_flight: HTTP2_STREAMS,
            proxy: ProxyChoice::System,
            lookup: Arc::new(SystemLookup),
        }
    }
}

/// The clients, each made on first use.
pub(crate) struct Clients {
    settings: ClientSettings,
    proxies: Proxies,
    public: Pair,
    loopback: Pair,
    private: Pair,
    proxied: OnceLock<Result<Client, String>>,
    /// Those with certificates of a provider's own; no reach: through a proxy.
    certified: Mutex<HashMap<(String, Option<Reach>), Client>>,
}

#[derive(Default)]
struct Pair {
    http: OnceLock<Result<Client, String>>,
    https: OnceLock<Result<Client, String>>,
}

impl Clients {
    pub(crate) fn new(settings: ClientSettings) -> Self {
        // Only the first call in a process does anything; a later one finds its like.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            proxies: Proxies::new(&settings.proxy),
            settings,
            public: Pair::default(),
            loopback: Pair::default(),
            private: Pair::default(),
            proxied: OnceLock::new(),
            certified: Mutex::default(),
        }
    }

    /// The client for a request to `url`, perhaps with certificates of its own.
    pub(crate) fn get(
        &self,
        url: &Url,
        reach: Reach,
        certificates: Option<&Certificates>,
    ) -> Result<Client, WireFault> {
        let is_encrypted = url.scheme() == "https";
        if let Some(certificates) = certificates.filter(|_| is_encrypted) {
            let reach = (!self.proxies.serve(url)).then_some(reach);
            let client = self.certified(certificates, reach);
            return client.map_err(WireFault::Client);
        }
        let client = if self.proxies.serve(url) {
            self.proxied.get_or_init(|| build(self.proxied()?))
        } else {
            let pair = match reach {
                Reach::Public => &self.public,
                Reach::Loopback => &self.loopback,
                Reach::Private => &self.private,
            };
            if is_encrypted {
                pair.https
                    .get_or_init(|| build(self.direct(reach).https_only(true)).map_err(no_tls))
            } else {
                pair.http
                    .get_or_init(|| build(self.direct(reach).tls_certs_only([])))
            }
        };
        client.clone().map_err(WireFault::Client)
    }

    /// The client with these certificates, made when it is first needed.
    fn certified(
        &self,
        certificates: &Certificates,
        reach: Option<Reach>,
    ) -> Result<Client, String> {
        let mut known = self
            .certified
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (certificates.digest().to_owned(), reach);
        if let Some(client) = known.get(&key) {
            return Ok(client.clone());
        }
        let builder = match reach {
            Some(reach) => self.direct(reach).https_only(true),
            None => self.proxied()?,
        };
        let client = build(certificates.apply(builder)).map_err(no_tls)?;
        known.insert(key, client.clone());
        Ok(client)
    }

    fn direct(&self, reach: Reach) -> ClientBuilder {
        let lookup = Arc::clone(&self.settings.lookup);
        self.plain()
            .no_proxy()
            .dns_resolver(GuardedResolver { lookup, reach })
    }

    fn proxied(&self) -> Result<ClientBuilder, String> {
        let builder = self.plain();
        Ok(match &self.settings.proxy {
            // Reads the same settings as the matcher, so both agree on what is proxied.
            ProxyChoice::System => builder,
            ProxyChoice::Direct => builder.no_proxy(),
            ProxyChoice::Always(url) => builder.proxy(Proxy::all(url.clone()).map_err(said)?),
        })
    }

    fn plain(&self) -> ClientBuilder {
        let builder = Client::builder()
            .user_agent(concat!("runner/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(self.settings.max_in_flight);
        if self.settings.max_in_flight > HTTP2_STREAMS {
            builder.http1_only()
        } else {
            builder.http2_adaptive_window(true)
        }
    }
}

fn build(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(said)
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn said(error: reqwest::Error) -> String {
    root(&error).to_string()
}

/// Checks whether requests can be encrypted here, without sending one.
///
/// # Errors
/// Why they can't, and what to do.
pub fn tls() -> Result<(), String> {
    let url = Url::parse("https://localhost").expect("it is one");
    let direct = ClientSettings {
        proxy: ProxyChoice::Direct,
        ..ClientSettings::default()
    };
    match Clients::new(direct).get(&url, Reach::Public, None) {
        Err(WireFault::Client(why)) => Err(why),
        _ => Ok(()),
    }
}

/// Nearly always a machine without certificates: a bare container.
fn no_tls(reason: impl std::fmt::Display) -> String {
    format!(
        "{reason}; install the system's CA certificates, or name a bundle of them in SSL_CERT_FILE"
    )
}

/// The innermost cause of an error, which is the one that says something.
pub(crate) fn root<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> &'a (dyn std::error::Error + 'static) {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}
