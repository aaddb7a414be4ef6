//! Nobody gets further than granted: by redirect, by name, by proxy, by size.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use runner_gateway::{
    CachedReply, ClientSettings, Envelope, ExchangeCode, Gateway, Grants, Lane, ProxyChoice,
    RESPONSE_LIMIT, ResponseCache, Settings,
};
use runner_tests::{Answer, ModelApi};

use crate::{Pointing, ask, gateway, grants, header, post, scope, settings, text};

fn by_name(lookup: &Arc<Pointing>) -> Gateway {
    Gateway::new(Settings {
        client: ClientSettings {
            lookup: lookup.clone(),
            proxy: ProxyChoice::Direct,
            ..ClientSettings::default()
        },
        ..settings()
    })
}

#[tokio::test]
async fn a_request_arrives_as_stated_with_the_credential_added() {
    let api = ModelApi::start();
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!(
        (reply.status, reply.cached, reply.spent.attempts),
        (200, false, 1)
    );

    let seen = &api.requests()[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1"));
    assert_eq!(seen.body, b"{\"q\":1}");
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer sk-loop/back+key=42")
    );
    assert!(
        seen.header("user-agent")
            .is_some_and(|agent| agent.starts_with("runner/"))
    );
    assert_eq!(seen.header("accept-encoding"), Some("identity"));
    assert_eq!(
        header(&reply, "content-length"),
        None,
        "framing stays behind"
    );
}

#[tokio::test]
async fn what_is_not_granted_never_leaves() {
    let api = ModelApi::start();
    let exchange = post(format!("{}/v1", api.url()));
    let refused = gateway()
        .send(
            &Arc::new(Grants::new("acme", Vec::new(), BTreeMap::new())),
            exchange,
            &scope(),
        )
        .await
        .expect_err("nothing is granted");
    assert_eq!(
        (refused.code, refused.spent.attempts),
        (ExchangeCode::Denied, 0)
    );
    assert!(
        refused
            .message
            .contains(&format!("hosts: [\"{}\"]", api.url())),
        "{refused}"
    );
    assert_eq!(api.requests().len(), 0);
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_denied_and_not_followed() {
    let (api, other) = (ModelApi::start(), ModelApi::start());
    api.always(Answer::redirect(307, &format!("{}/steal", other.url())));
    // Even when the target is granted as well: a redirect is the server's wish.
    let grants = grants("bearer", &[&api.url(), &other.url()]);
    let exchange = post(format!("{}/v1", api.url()));
    let denied = gateway()
        .send(&grants, exchange, &scope())
        .await
        .expect_err("the redirect leaves the origin");
    assert_eq!(denied.code, ExchangeCode::Denied);
    assert!(
        denied
            .message
            .contains(&format!("redirects to {},", other.url())),
        "{denied}"
    );
    assert_eq!((api.requests().len(), other.requests().len()), (1, 0));
}

#[tokio::test]
async fn redirects_within_the_origin_keep_the_credential_and_follow_the_rules() {
    let api = ModelApi::start();
    api.script([
        Answer::redirect(307, "/second"),
        Answer::redirect(303, &format!("{}/third?a=1", api.url())),
        Answer::raw("done"),
    ]);
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!((text(&reply), reply.spent.attempts), ("done", 1));

    let seen = api.requests();
    let line = |index: usize| format!("{} {}", seen[index].method, seen[index].path);
    assert_eq!(
        [line(0), line(1), line(2)],
        ["POST /v1", "POST /second", "GET /third?a=1"]
    );
    assert_eq!(seen[1].body, seen[0].body);
    assert!(seen[2].body.is_empty() && seen[2].header("content-type").is_none());
    assert!(
        seen.iter()
            .all(|seen| seen.header("authorization").is_some())
    );
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let api = ModelApi::start();
    api.always(Answer::redirect(302, "/again"));
    let error = ask(&gateway(), &api).await.expect_err("a loop");
    assert_eq!(error.code, ExchangeCode::BadResponse);
    assert_eq!(api.requests().len(), 6, "one request and five redirects");
}

#[tokio::test]
async fn a_wildcard_does_not_lead_into_the_local_network() {
    let api = ModelApi::start();
    let lookup = Arc::new(Pointing::to([127, 0, 0, 1]));
    let grants = grants("bearer", &[&format!("http://*.acme.test:{}", api.port())]);
    let exchange = post(format!("http://rebound.acme.test:{}/v1", api.port()));
    let denied = by_name(&lookup)
        .send(&grants, exchange, &scope())
        .await
        .expect_err("the name leads to this machine");
    assert_eq!(denied.code, ExchangeCode::Denied);
    let expected = format!(
        "leads to this machine; to allow it, put this under \
         `plugins.acme.permissions`: hosts: [\"http://*.acme.test:{0}\", \
         \"http://rebound.acme.test:{0}\"]",
        api.port()
    );
    assert!(denied.message.ends_with(&expected), "{denied}");
    assert_eq!(
        (api.requests().len(), denied.spent.attempts),
        (0, 1),
        "not retried either"
    );
}

#[tokio::test]
async fn a_host_granted_by_name_may_be_local_and_is_looked_up_once_per_connection() {
    let api = ModelApi::start();
    let lookup = Arc::new(Pointing::to([127, 0, 0, 1]));
    let host = format!("http://llm.acme.test:{}", api.port());
    let grants = grants("bearer", &[&host]);
    let gateway = by_name(&lookup);
    for _ in 0..2 {
        let reply = gateway
            .send(&grants, post(format!("{host}/v1")), &scope())
            .await
            .expect("a reply");
        assert_eq!(reply.status, 200);
    }
    assert_eq!(
        lookup.asked(),
        1,
        "the address that was checked is the one connected to"
    );
}

#[tokio::test]
async fn a_connection_of_the_wider_reach_never_serves_the_narrower() {
    let api = ModelApi::start();
    let lookup = Arc::new(Pointing::to([127, 0, 0, 1]));
    let host = format!("http://llm.acme.test:{}", api.port());
    let gateway = by_name(&lookup);
    let named = grants("bearer", &[&host]);
    let wildcard = grants("bearer", &[&format!("http://*.acme.test:{}", api.port())]);
    let send = |grants: Arc<Grants>| {
        let (gateway, exchange) = (gateway.clone(), post(format!("{host}/v1")));
        async move { gateway.send(&grants, exchange, &scope()).await }
    };
    assert!(send(named).await.is_ok());
    let denied = send(wildcard)
        .await
        .expect_err("an idle connection must not be reused");
    assert_eq!(denied.code, ExchangeCode::Denied);
}

/// Keeps everything, by key.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<HashMap<String, CachedReply>>>);

impl Everything {
    fn held(&self) -> MutexGuard<'_, HashMap<String, CachedReply>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ResponseCache for Everything {
    fn get(&self, key: &runner_store::Digest) -> Option<CachedReply> {
        self.held().get(&key.to_string()).cloned()
    }

    async fn put(&self, key: &runner_store::Digest, _: &Envelope, _: &Lane, held: CachedReply) {
        self.held().insert(key.to_string(), held);
    }
}

#[tokio::test]
async fn what_a_wildcard_may_not_fetch_it_may_not_get_from_the_cache() {
    let api = ModelApi::start();
    let lookup = Arc::new(Pointing::to([127, 0, 0, 1]));
    let cache = Everything::default();
    let host = format!("http://llm.acme.test:{}", api.port());
    let narrow = grants("bearer", &[&format!("http://*.acme.test:{}", api.port())]);
    let wide = grants("bearer", &[&host]);
    let mut ends = Vec::new();
    for grants in [&narrow, &wide, &narrow, &wide] {
        // A run of its own, with the cache of the one before.
        let gateway = Gateway::new(Settings {
            cache: Some(Box::new(cache.clone())),
            client: ClientSettings {
                lookup: lookup.clone(),
                ..settings().client
            },
            ..settings()
        });
        let reply = gateway
            .send(grants, post(format!("{host}/v1")), &scope())
            .await;
        ends.push(reply.map(|reply| reply.cached).map_err(|error| error.code));
    }
    let denied = Err(ExchangeCode::Denied);
    assert_eq!(ends, [denied, Ok(false), denied, Ok(true)]);
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test]
async fn a_metadata_service_is_out_of_reach_of_any_name() {
    let lookup = Arc::new(Pointing::to([169, 254, 169, 254]));
    let grants = grants("bearer", &["http://metadata.acme.test"]);
    let exchange = post("http://metadata.acme.test/latest");
    let denied = by_name(&lookup)
        .send(&grants, exchange, &scope())
        .await
        .expect_err("a metadata address");
    assert_eq!(denied.code, ExchangeCode::Denied);
    assert!(
        denied
            .message
            .contains("cloud metadata address; no name may lead there"),
        "{denied}"
    );
}

#[tokio::test]
async fn a_private_address_needs_the_persons_word_by_name_and_in_the_url() {
    let lookup = Arc::new(Pointing::to([10, 0, 0, 1]));
    let hosts = [
        "http://llm.acme.test",
        "http://10.0.0.1",
        "http://169.254.169.254",
        "http://[fd00::1]",
        "http://0x0a000001",
    ];
    for host in hosts {
        let denied = by_name(&lookup)
            .send(&grants("bearer", &[host]), post(host), &scope())
            .await
            .expect_err(host);
        assert_eq!(denied.code, ExchangeCode::Denied, "{host}");
        let way_out = "; to allow it, agree to this address with `runner trust`";
        assert!(denied.message.ends_with(way_out), "{denied}");
    }
    assert_eq!(lookup.asked(), 1, "the name alone is looked up");
}

#[tokio::test]
async fn a_proxy_gets_the_requests_and_does_the_lookups() {
    let proxy = ModelApi::start();
    let lookup = Arc::new(Pointing::to([127, 0, 0, 1]));
    let gateway = Gateway::new(Settings {
        client: ClientSettings {
            lookup: lookup.clone(),
            proxy: ProxyChoice::Always(proxy.url().parse().expect("a URL")),
            ..ClientSettings::default()
        },
        ..settings()
    });
    let grants = grants("bearer", &["http://*.acme.test"]);
    let send = |url: &str| {
        let (gateway, grants, exchange) = (gateway.clone(), grants.clone(), post(url));
        async move { gateway.send(&grants, exchange, &scope()).await }
    };
    assert!(send("http://api.acme.test/v1").await.is_ok());
    assert_eq!(proxy.requests()[0].path, "http://api.acme.test/v1");
    assert_eq!(lookup.asked(), 0);

    let denied = send("http://10.0.0.1/v1")
        .await
        .expect_err("grants hold behind a proxy");
    assert_eq!(
        (denied.code, proxy.requests().len()),
        (ExchangeCode::Denied, 1)
    );
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_whether_announced_or_not() {
    let api = ModelApi::start();
    let body = vec![b'x'; RESPONSE_LIMIT + 1];
    api.script([
        Answer::raw(body.clone()),
        Answer::raw(body.clone()).dripping(1 << 20, Duration::ZERO),
        Answer::raw(&body[1..]),
    ]);
    let gateway = gateway();
    for delivery in ["announced", "chunked"] {
        let error = ask(&gateway, &api).await.expect_err(delivery);
        assert_eq!(
            (error.code, error.spent.attempts),
            (ExchangeCode::BadResponse, 1),
            "{delivery}"
        );
    }
    let reply = ask(&gateway, &api)
        .await
        .expect("exactly the limit is allowed");
    assert_eq!(reply.body.len(), RESPONSE_LIMIT);
}
