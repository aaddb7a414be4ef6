//! No secret comes back, by any door.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};
use runner_gateway::{
    Credential, ExchangeCode, Gateway, Grants, Masker, OriginPattern, RESPONSE_LIMIT, Scheme,
    Secret, Settings,
};
use runner_tests::{Answer, ModelApi};

use crate::{SECRET, ask, gateway, grants, header, post, scope, settings, text};

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

/// A server may say what stood in a header, or what another server was given.
#[tokio::test]
async fn what_the_run_knows_is_masked_for_everyone() {
    let api = ModelApi::start();
    api.always(Answer::raw(
        "of another: other-secret-1, own: sk-loop/back+key=42",
    ));
    let secrets = ["other-secret-1", SECRET].map(Secret::new);
    let settings = Settings {
        masker: Masker::new(&secrets),
        ..settings()
    };
    let reply = ask(&Gateway::new(settings), &api).await.expect("a reply");
    assert_eq!(text(&reply), "of another: [masked], own: [masked]");
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
        (refused, ExchangeCode::Transient),
        (cut.url(), ExchangeCode::Transient),
        (redirecting.url(), ExchangeCode::Denied),
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
    let credentials = BTreeMap::from([("key".to_owned(), credential)]);
    let grants = Arc::new(Grants::new("acme", hosts, credentials));
    let settings = Settings {
        masker: Masker::new(&grants.secrets()),
        ..settings()
    };
    let error = Gateway::new(settings)
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

fn gzip(plain: &str) -> Vec<u8> {
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    member.extend(compress_to_vec(plain.as_bytes(), 6));
    member.extend([0; 8]);
    member
}

#[tokio::test]
async fn a_compressed_echo_is_unpacked_and_masked() {
    let api = ModelApi::start();
    let echo = format!("your key is {SECRET}");
    let coded = |body: Vec<u8>, coding: &str| Answer::raw(body).header("content-encoding", coding);
    api.script([
        coded(gzip(&echo), "gzip"),
        coded(compress_to_vec_zlib(echo.as_bytes(), 6), "deflate"),
        coded(compress_to_vec(echo.as_bytes(), 6), "deflate"),
        coded(gzip(&echo), "gzip").with_status(400),
        Answer::raw(gzip(&echo)).header("transfer-encoding", "gzip, chunked"),
        Answer::raw(gzip(&echo)).header("content-type", "application/gzip"),
    ]);
    for _ in 0..6 {
        let reply = ask(&gateway(), &api).await.expect("a reply");
        assert_eq!(text(&reply), "your key is [masked]");
        assert_eq!(header(&reply, "content-encoding"), None);
    }
    let seen = api.requests();
    assert!(
        seen.iter()
            .all(|seen| seen.header("accept-encoding") == Some("identity"))
    );
}

#[tokio::test]
async fn what_can_not_be_unpacked_is_no_answer() {
    let api = ModelApi::start();
    let echo = format!("your key is {SECRET}");
    let coded = |body: Vec<u8>, coding: &str| Answer::raw(body).header("content-encoding", coding);
    let bomb = gzip(&"0".repeat(RESPONSE_LIMIT + 1));
    let answers = [
        coded(echo.clone().into(), "br"),
        coded(echo.clone().into(), "zstd"),
        coded(gzip(&echo), "gzip, gzip"),
        coded(echo.clone().into(), "gzip"),
        coded(bomb, "gzip"),
        Answer::raw(echo.clone()).header("transfer-encoding", "br, chunked"),
        Answer::raw(&gzip(&echo)[..30]),
        // A part in which no whole key is.
        Answer::raw(&echo.as_bytes()[16..]).with_status(206),
    ];
    let count = answers.len();
    api.script(answers);
    for number in 0..count {
        let error = ask(&gateway(), &api).await.expect_err("no reply");
        assert_eq!(
            (error.code, error.spent.attempts),
            (ExchangeCode::BadResponse, 1),
            "{number}: {error}"
        );
    }

    // A failure is still what its status says: it is tried again.
    api.script([
        coded(echo.clone().into(), "br").with_status(503),
        Answer::raw("well"),
    ]);
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!((text(&reply), reply.spent.attempts), ("well", 2));
    api.script([coded(echo.into(), "br").with_status(404)]);
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!((reply.status, text(&reply)), (404, ""));
}

#[tokio::test]
async fn hex_utf_16_and_the_names_of_headers_are_masked() {
    let api = ModelApi::start();
    let hex: Vec<String> = SECRET.bytes().map(|byte| format!("{byte:02X}")).collect();
    let hex = hex.concat();
    let little: Vec<u8> = SECRET.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let body = [b"<".as_slice(), hex.as_bytes(), b"|", &little, b">"].concat();
    api.always(Answer::raw(body).header(&format!("x-{hex}"), "1"));
    let reply = ask(&gateway(), &api).await.expect("a reply");
    assert_eq!(text(&reply), "<[masked]|[masked]>");
    assert_eq!(header(&reply, "x-[masked]"), Some("1"));
}
