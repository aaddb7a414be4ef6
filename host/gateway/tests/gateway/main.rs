//! The gateway against a real server: what goes over the wire, and what comes back.
//!
//! Each file holds one promise: `reach` that nobody gets further than granted, `secrets`
//! that no secret comes back, `google` that tokens are
//! shared and stay here, `sizes` that memory has its bound, `attempts` what is tried again and how long, `stages` that
//! cassette, cache, lanes and observer sit where they belong, `lanes` that the scheduler is told
//! what servers say and has its way.

mod attempts;
mod google;
mod lanes;
mod reach;
mod secrets;
mod sizes;
mod stages;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use runner_gateway::{
    ClientSettings, Credential, Exchange, ExchangeError, ExchangeScope, Gateway, Grants,
    LanePolicy, Lookup, Masker, OriginPattern, ProxyChoice, Reply, Scheduling, Scheme, Secret,
    Settings,
};
use runner_tests::ModelApi;

/// What the tests keep secret.
const SECRET: &str = "sk-loop/back+key=42";

/// Settings that don't depend on the machine's proxy.
fn settings() -> Settings {
    Settings {
        client: ClientSettings {
            proxy: ProxyChoice::Direct,
            ..ClientSettings::default()
        },
        masker: Masker::new(&[Secret::new(SECRET)]),
        ..Settings::default()
    }
}

/// The usual scheduling, but that it pauses for a moment only.
fn scheduling() -> Scheduling {
    Scheduling {
        policy: LanePolicy {
            retry_base: Duration::from_millis(1),
            ..LanePolicy::default()
        },
        ..Scheduling::default()
    }
}

/// The bounds of a call under [`scheduling`].
fn scope() -> ExchangeScope {
    ExchangeScope {
        scheduling: Arc::new(scheduling()),
        ..ExchangeScope::default()
    }
}

fn gateway() -> Gateway {
    Gateway::new(settings())
}

/// Grants for these origins, with the credential `key` bound to all of them.
fn grants(scheme: &str, hosts: &[&str]) -> Arc<Grants> {
    let hosts: Vec<OriginPattern> = hosts
        .iter()
        .map(|host| OriginPattern::parse(host).expect("a pattern"))
        .collect();
    let credential = Credential {
        scheme: Scheme::parse(scheme).expect("a scheme"),
        secret: Some(Secret::new(SECRET)),
        env: "ACME_API_KEY".to_owned(),
        hosts: hosts.clone(),
    };
    let credentials = BTreeMap::from([("key".to_owned(), credential)]);
    Arc::new(Grants::new("acme", hosts, credentials))
}

/// A POST with the credential and a small body.
fn post(url: impl Into<String>) -> Exchange {
    Exchange {
        method: "POST".to_owned(),
        url: url.into(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Some(b"{\"q\":1}".to_vec()),
        credential: Some("key".to_owned()),
        ..Exchange::default()
    }
}

/// Sends a POST to the server's `/v1` with a bearer credential.
async fn ask(gateway: &Gateway, api: &ModelApi) -> Result<Reply, ExchangeError> {
    let grants = grants("bearer", &[&api.url()]);
    let exchange = post(format!("{}/v1", api.url()));
    gateway.send(&grants, exchange, &scope()).await
}

fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    let (_, value) = reply
        .headers
        .iter()
        .find(|(candidate, _)| candidate == name)?;
    Some(value)
}

fn text(reply: &Reply) -> &str {
    std::str::from_utf8(&reply.body).expect("the tests answer in UTF-8")
}

/// Resolves every name to one address, and counts how often it is asked.
struct Pointing {
    address: IpAddr,
    asked: AtomicUsize,
}

impl Pointing {
    fn to(address: [u8; 4]) -> Self {
        Self {
            address: Ipv4Addr::from(address).into(),
            asked: AtomicUsize::new(0),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Lookup for Pointing {
    async fn addresses(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(vec![self.address])
    }
}
