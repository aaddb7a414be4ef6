//! No secret comes back, by any door.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use runner_eval::gateway::{Code, Credential, Grants, OriginPattern, Scheme, Secret};
use runner_tests::{Answer, ModelApi};

use crate::{SECRET, ask, gateway, grants, header, post, scope, text};

/// The secret as a form or a query spells it.
const ENCODED: &str = "sk-loop%2Fback%2Bkey%3D42";

#[tokio::test]
async fn an_echo_comes_back_masked() {
    let api = ModelApi::start();
    let encoded = STANDARD.encode(format!("user:{SECRET}"));
    let body =
        format!("raw {SECRET} url {ENCODED} json sk-loop\\/back+key=42 base64 {encoded} end");
    api.always(
        Answer::raw(body)
            .with_status(400)
            .header("x-echo", &format!("Bearer {SECRET}"))
            .header("x-url", &format!("/v1?key={ENCODED}"))
            .header("set-cookie", &format!("session={SECRET}")),
    );
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert!(text(&reply).starts_with("raw [masked] url [masked] json [masked] base64 "));
    assert_eq!(header(&reply, "x-echo"), Some("Bearer [masked]"));
    assert_eq!(header(&reply, "x-url"), Some("/v1?key=[masked]"));
    assert_eq!(header(&reply, "set-cookie"), None);
    let everything = format!("{reply:?}{}", text(&reply));
    for form in [SECRET, ENCODED, &encoded] {
        assert!(!everything.contains(form), "{form}");
    }
}

#[tokio::test]
async fn a_credential_in_the_query_reaches_the_server_and_nobody_else() {
    let api = ModelApi::start();
    api.rule(|seen| Some(Answer::raw(format!("you asked for {}", seen.path))));
    let grants = grants("query:key", &[&api.url()]);
    let exchange = post(format!("{}/v1?a=1", api.url()));
    let reply = gateway()
        .send(&grants, exchange, &scope())
        .await
        .expect("a reply");
    assert_eq!(api.requests()[0].path, format!("/v1?a=1&key={ENCODED}"));
    assert_eq!(text(&reply), "you asked for /v1?a=1&key=[masked]");
}

#[tokio::test]
async fn no_error_shows_a_credential_of_the_query() {
    let port = ModelApi::start().port();
    let (cut, redirecting) = (ModelApi::start(), ModelApi::start());
    cut.always(Answer::text("half of it").cut_after(5));
    redirecting.always(Answer::redirect(
        302,
        &format!("https://{SECRET}.evil.test/{ENCODED}"),
    ));
    let refused = format!("http://127.0.0.1:{port}");
    let cases = [
        (refused, Code::Transient),
        (cut.url(), Code::Transient),
        (redirecting.url(), Code::Denied),
    ];
    for (url, code) in cases {
        let grants = grants("query:key", &[&url]);
        let error = gateway()
            .send(&grants, post(format!("{url}/v1")), &scope())
            .await
            .expect_err("no reply");
        let everything = format!("{error} {error:?}");
        assert_eq!(error.code, code, "{everything}");
        for form in [SECRET, ENCODED, "key="] {
            assert!(!everything.contains(form), "{everything}");
        }
    }
}

#[tokio::test]
async fn a_secret_in_the_name_of_a_host_is_masked_though_names_lose_their_case() {
    let api = ModelApi::start();
    api.always(Answer::redirect(302, "https://Sk-Plain-Key-42.evil.test/"));
    let hosts = vec![OriginPattern::parse(&api.url()).expect("a pattern")];
    let credential = Credential {
        scheme: Scheme::Bearer,
        secret: Some(Secret::new("Sk-Plain-Key-42")),
        env: "ACME_API_KEY".to_owned(),
        hosts: hosts.clone(),
    };
    let grants = Grants::new(
        "acme",
        hosts,
        BTreeMap::from([("key".to_owned(), credential)]),
    );
    let error = gateway()
        .send(&grants, post(api.url()), &scope())
        .await
        .expect_err("the redirect leaves the origin");
    assert!(
        error
            .message
            .contains("redirects to https://[masked].evil.test,"),
        "{error}"
    );
    assert!(
        !format!("{error:?}")
            .to_ascii_lowercase()
            .contains("plain-key"),
        "{error:?}"
    );
}
