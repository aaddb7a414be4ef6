//! `tls`, `signatureAuth` and `multipart` of the provider `http`: whom its requests believe, as whom they come,
//! what signs them, and the files in them. The keys are the tests' own.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

const AUTHORITY: &str = include_str!("encrypted/authority.pem");
const SERVER: [&str; 2] = [
    include_str!("encrypted/server.pem"),
    include_str!("encrypted/server-key.pem"),
];
const CLIENT: [&str; 2] = [
    include_str!("encrypted/client.pem"),
    include_str!("encrypted/client-key.pem"),
];
const SIGNING_KEY: &str = include_str!("../../host/gateway/tests/gateway/rsa.pem");

/// A server that only the tests' authority knows.
fn server(clients: Option<&str>) -> ModelApi {
    let api = ModelApi::encrypted(SERVER[0], SERVER[1], clients);
    api.always(Answer::json(&json!({ "answer": "fine" })));
    api
}

/// A run of one case against `url`, with the tests' keys in its folder.
fn run(url: &str, more: &Value) -> Run {
    let mut config =
        json!({ "url": url, "body": { "q": "{{prompt}}" }, "transformResponse": "json.answer" });
    let members = config.as_object_mut().expect("a map");
    members.extend(more.as_object().expect("a map").clone());
    let config = json!({
        "prompts": ["hi"],
        "providers": [{ "id": "https", "config": config }],
        "tests": [{ "assert": [{ "type": "equals", "value": "fine" }] }],
    });
    Run::new()
        .config(&config.to_string())
        .file("keys/authority.pem", AUTHORITY)
        .file("keys/client.pem", CLIENT[0])
        .file("keys/client-key.pem", CLIENT[1])
        .file("keys/signing.pem", SIGNING_KEY)
        .args(["eval", "-o", "out.json", "--no-table"])
}

fn evaluated(api: &ModelApi, tls: &Value) -> Finished {
    run(&api.url(), &json!({ "tls": tls })).finish()
}

#[test]
fn a_server_is_believed_by_certificates_of_the_config() {
    let api = server(None);
    let unknown = evaluated(&api, &json!({}));
    unknown.expect_code(100);
    assert!(api.requests().is_empty());
    assert_snapshot!("unknown", unknown.told());
    for tls in [
        json!({ "caPath": "keys/authority.pem" }),
        json!({ "ca": AUTHORITY, "minVersion": "TLSv1.2" }),
        json!({ "ca": [AUTHORITY] }),
        json!({ "rejectUnauthorized": false }),
    ] {
        evaluated(&api, &tls).expect_code(0);
    }
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn a_server_learns_by_a_certificate_who_asks() {
    let api = server(Some(AUTHORITY));
    let tls = json!({ "caPath": "keys/authority.pem" });
    evaluated(&api, &tls).expect_code(100);
    assert!(api.requests().is_empty());
    let tls = json!({
        "caPath": "keys/authority.pem", "certPath": "keys/client.pem", "keyPath": "keys/client-key.pem",
    });
    let known = evaluated(&api, &tls);
    known.expect_code(0);
    let inline = json!({ "ca": AUTHORITY, "cert": CLIENT[0], "key": CLIENT[1] });
    let inline = evaluated(&api, &inline);
    inline.expect_code(0);
    assert_eq!(api.requests().len(), 2);
    let key = CLIENT[1].lines().nth(1).expect("a line of the key");
    for finished in [known, inline] {
        assert!(!finished.json("out.json").to_string().contains(key));
    }
}

/// The server gives who asks an answer of its own: what is remembered of it is for nobody else.
#[test]
fn an_answer_is_for_who_came_with_that_certificate() {
    let api = server(None);
    let column = |tls: Option<Value>| {
        let mut config = json!({ "url": api.url(), "body": { "q": "{{prompt}}" } });
        config["tls"] = tls.unwrap_or(Value::Null);
        json!({ "id": "https", "config": config })
    };
    let own = json!({ "ca": AUTHORITY, "cert": CLIENT[0], "key": CLIENT[1] });
    let columns = [
        column(Some(json!({ "ca": AUTHORITY }))),
        column(Some(own)),
        column(Some(json!({ "rejectUnauthorized": false }))),
        column(None),
    ];
    let config = json!({ "prompts": ["hi"], "providers": columns }).to_string();
    let first = Run::new().config(&config).args(["eval", "--no-table"]);
    let first = first.finish();
    first.expect_code(100);
    assert_eq!(
        api.requests().len(),
        3,
        "and none from who can't know the server"
    );
    first
        .again()
        .args(["eval", "--no-table"])
        .finish()
        .expect_code(100);
    assert_eq!(api.requests().len(), 3, "each is remembered");
}

#[test]
fn who_another_server_is_believed_by_is_asked_for() {
    let mut told = String::new();
    for tls in [
        json!({ "caPath": "keys/authority.pem" }),
        json!({ "rejectUnauthorized": false }),
    ] {
        let finished = run("https://api.example.com/v1", &json!({ "tls": tls })).finish();
        finished.expect_code(2);
        told += &finished.told_as("asked");
    }
    assert_snapshot!(told);
}

#[test]
fn what_can_not_be_used_is_said_with_its_place() {
    let mut told = String::new();
    for more in [
        json!({ "tls": { "pfxPath": "keys/own.pfx" } }),
        json!({ "tls": { "certPath": "keys/client.pem" } }),
        json!({ "tls": { "caPath": "keys/none.pem" } }),
        json!({ "tls": { "ca": "no certificate" } }),
        json!({ "tls": { "minVersion": "TLSv1.3" } }),
        json!({ "tls": { "rejectUnauthorised": false } }),
        json!({ "tls": false }),
        json!({ "signatureAuth": "keys/signing.pem" }),
        json!({ "auth": "bearer" }),
        json!({ "signatureAuth": {} }),
        json!({ "signatureAuth": { "privateKeyPath": "keys/client.pem" } }),
        json!({ "signatureAuth": { "keystorePath": "keys/own.jks" } }),
        json!({ "signatureAuth": { "privateKeyPath": "keys/signing.pem", "signatureDataTemplate": "{{other}}" } }),
    ] {
        let finished = run("https://127.0.0.1:9/", &more).finish();
        finished.expect_code(2);
        told += &finished.stderr;
    }
    assert_snapshot!(told);
}

#[test]
fn a_request_is_signed_and_nobody_sees_by_what() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let repeated = seen.header("x-signature").unwrap_or_default();
        Some(Answer::json(
            &json!({ "answer": "fine", "repeated": repeated }),
        ))
    });
    let signed = json!({
        "signatureAuth": { "privateKeyPath": "keys/signing.pem", "clientId": "me", "signatureDataTemplate": "{{clientId}}{{timestamp}}\\n" },
        "headers": { "x-signature": "{{signature}}", "content-type": "application/json" },
        "body": { "at": "{{signatureTimestamp}}", "by": "{{signature}}", "q": "{{prompt}}" },
        "transformResponse": "json",
    });
    let first = run(&api.url(), &signed).finish();
    // The whole answer is no `fine`.
    first.expect_code(100);
    let seen = &api.requests()[0];
    let signature = seen.header("x-signature").expect("it is signed").to_owned();
    assert_eq!(signature.len(), 344, "base64 of 256 bytes: {signature}");
    assert_eq!(seen.json["by"], json!(signature));
    assert!(seen.json["at"].is_u64(), "{}", seen.json);
    let out = first.json("out.json").to_string();
    let key = SIGNING_KEY.lines().nth(1).expect("a line of the key");
    for hidden in [&*signature, key] {
        assert!(!out.contains(hidden), "{out}");
        assert!(!first.stdout.contains(hidden) && !first.stderr.contains(hidden));
    }
}

/// Each signature is another; what stands for it is not, and nobody else can write that.
#[test]
fn an_answer_to_a_signed_request_is_remembered_for_who_can_sign() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({ "answer": "fine" })));
    let mut config = json!({
        "signatureAuth": { "privateKeyPath": "keys/signing.pem" },
        "headers": { "x-signature": "{{signature}}" },
    });
    let first = run(&api.url(), &config).finish();
    first.expect_code(0);
    first.again().arg("eval").finish().expect_code(0);
    assert_eq!(api.requests().len(), 1);
    config["signatureAuth"] = Value::Null;
    config["headers"]["x-signature"] = json!("[signature]");
    let stranger = run(&api.url(), &config);
    let written = std::fs::read_to_string(stranger.project().join("promptfooconfig.yaml"));
    let stranger = first.again().config(&written.expect("it was written"));
    stranger.arg("eval").finish().expect_code(0);
    assert_eq!(api.requests().len(), 2);
}

#[test]
fn a_request_that_nothing_signs_does_not_go() {
    let api = ModelApi::start();
    let typo = json!({
        "signatureAuth": { "privateKeyPath": "keys/signing.pem" },
        "headers": { "x-signature": "{{signatur}}" },
    });
    let finished = run(&api.url(), &typo).finish();
    finished.expect_code(100);
    let said = "`signatureAuth` signs nothing";
    assert!(finished.stdout.contains(said), "{}", finished.stdout);
    assert!(api.requests().is_empty());
}

#[test]
fn a_form_has_fields_and_files() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({ "answer": "fine" })));
    let more = json!({
        "body": null,
        "headers": { "content-type": "multipart/form-data" },
        "multipart": { "parts": [
            { "kind": "field", "name": "q", "value": "{{prompt}}" },
            { "kind": "file", "name": "f", "source": { "type": "path", "path": "keys/authority.pem" } },
        ] },
    });
    let finished = run(&api.url(), &more).finish();
    finished.expect_code(0);
    let seen = &api.requests()[0];
    let kind = seen.header("content-type").expect("it says what it is");
    let boundary = kind.strip_prefix("multipart/form-data; boundary=");
    let body = String::from_utf8_lossy(&seen.body).replace(boundary.expect("it names one"), "B");
    let expected = format!(
        "--B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nhi\r\n\
         --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"authority.pem\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n{AUTHORITY}\r\n--B--\r\n"
    );
    assert_eq!((&*seen.method, body), ("POST", expected));
}

/// However soon the next is made, an answer repeats none that its own request had.
#[test]
fn no_signature_is_kept_of_answers_that_repeat_it() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let repeated = seen.header("x-signature").unwrap_or_default();
        Some(Answer::json(&json!({ "answer": repeated })))
    });
    let signed = json!({
        "signatureAuth": { "privateKeyPath": "keys/signing.pem", "signatureValidityMs": 0 },
        "headers": { "x-signature": "{{signature}}" },
    });
    let run = run(&api.url(), &signed).args(["--repeat", "40", "--record", "tape.jsonl"]);
    let finished = run.finish();
    finished.expect_code(100);
    let tape = finished.read("tape.jsonl");
    let kept = finished.json("out.json").to_string() + &tape;
    assert_eq!(api.requests().len(), 40);
    for seen in api.requests() {
        let signature = seen.header("x-signature").expect("it is signed").to_owned();
        assert!(!kept.contains(&signature[..40]), "{signature}");
    }
}

#[test]
fn a_provider_of_another_api_is_given_no_key() {
    let provider = json!({ "id": "openai:m", "config": { "tls": { "key": CLIENT[1] } } });
    let config = json!({ "prompts": ["hi"], "providers": [provider] }).to_string();
    let run = Run::new()
        .config(&config)
        .env("OPENAI_API_KEY", "sk-test-key");
    let finished = run.args(["eval"]).finish();
    finished.expect_code(2);
    assert!(
        finished
            .stderr
            .contains("is a key of the provider `http` alone"),
        "{}",
        finished.stderr
    );
    assert!(
        !finished.stderr.contains("PRIVATE KEY"),
        "{}",
        finished.stderr
    );
}
