//! `http.send` with anything in it, where it leaves the sandbox: the gateway refuses it or tries
//! to send it, and says neither the credential nor takes memory for what it refuses.
//!
//! The input is method, URL, credential and bucket, a line each, then headers, an empty line and
//! the body. Nothing leaves the machine: no name has an address here.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use runner_gateway::{
    ClientSettings, Credential, Exchange, ExchangeScope, Gateway, Grants, Lookup, Masker,
    OriginPattern, ProxyChoice, Scheduling, Scheme, Secret, Settings,
};
use tokio::runtime::{Builder, Runtime};

/// Requests, and what is wrong with them.
pub(super) const WORDS: &[&str] = &[
    "GET\n",
    "POST\n",
    "CONNECT\n",
    "TRACE\n",
    "get\n",
    "https://api.test/",
    "https://api.test:443/",
    "https://API.test./",
    "https://user:pw@api.test/",
    "https://xn--a.test/",
    "http://api.test/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://0x7f.1/",
    "https://169.254.169.254/",
    "file:///etc/passwd",
    "key\n",
    "other\n",
    "\n",
    "\r\n",
    "host: a",
    "content-length: 5",
    "transfer-encoding: chunked",
    "authorization: x",
    "accept-encoding: gzip",
    "range: bytes=0-1",
    "cookie: a=b",
    "connection: close",
    "proxy-authorization: x",
    "x-a: ",
    "%00",
    "%2e%2e",
    "..",
    "@",
    "#",
    "?key=",
    "\\",
    "\u{202e}",
];

const SECRET: &str = "sk-0123456789abcdef";

/// No name has an address.
struct Nowhere;

#[async_trait]
impl Lookup for Nowhere {
    async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::Error::other("there is no network here"))
    }
}

struct World {
    runtime: Runtime,
    client: ClientSettings,
    grants: Arc<Grants>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let origin = || vec![OriginPattern::parse("https://api.test").expect("an origin")];
    let credential = Credential {
        scheme: Scheme::Bearer,
        secret: Some(Secret::new(SECRET)),
        env: "API_KEY".to_owned(),
        hosts: origin(),
    };
    let credentials = BTreeMap::from([("key".to_owned(), credential)]);
    let client = ClientSettings {
        proxy: ProxyChoice::Direct,
        lookup: Arc::new(Nowhere),
        ..ClientSettings::default()
    };
    World {
        runtime: Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime"),
        client,
        grants: Arc::new(Grants::new("p", origin(), credentials)),
    }
});

pub(super) fn run(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.splitn(5, '\n');
    let mut line = || lines.next().unwrap_or_default().to_owned();
    let (method, url, credential, bucket, rest) = (line(), line(), line(), line(), line());
    let (head, body) = rest.split_once("\n\n").unwrap_or((&rest, ""));
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((
            name.to_owned(),
            value.strip_prefix(' ').unwrap_or(value).to_owned(),
        ))
    };
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let exchange = Exchange {
        method,
        url,
        headers: head.split('\n').filter_map(header).collect(),
        body: some(body.to_owned()).map(String::into_bytes),
        credential: some(credential),
        bucket: some(bucket),
        ..Exchange::default()
    };
    let scheduling = Scheduling {
        max_retries: Some(0),
        ..Scheduling::default()
    };
    let scope = ExchangeScope {
        scheduling: Arc::new(scheduling),
        ..ExchangeScope::default()
    };
    let World {
        runtime,
        client,
        grants,
    } = &*WORLD;
    // Another each time: one would learn from the failures, and wait.
    let gateway = Gateway::new(Settings {
        client: client.clone(),
        masker: Masker::new(&grants.secrets()),
        ..Settings::default()
    });
    let sent = runtime.block_on(gateway.send(grants, exchange, &scope));
    let error = sent.expect_err("nothing can be sent");
    let said = format!("{error} {error:?}");
    assert!(!said.contains(SECRET), "{said}");
    let begin: Vec<&str> = error.message.split(' ').take(2).collect();
    format!("{:?} {}", error.code, begin.join(" "))
}
