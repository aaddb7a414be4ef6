//! Providers of clouds, whose requests the host signs or gives a token: what arrives, and that nothing
//! of a key is left anywhere. `http` with `auth` is treated alike (`auth`).
//!
//! The signature is worked out here once more, with nothing of the program's, from what arrived.

mod auth;

use std::fs;
use std::path::Path;

use data_encoding::HEXLOWER;
use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run, Seen};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const ID: &str = "AKIAOFATEST000000000";
const SECRET: &str = "secret/of+a-test-0123456789abcdefghijklm";
const TOKEN: &str = "session-token-of-a-test//0123456789==";

fn run(provider: &Value) -> Run {
    let config = json!({ "prompts": ["Say hi"], "providers": [provider] });
    Run::new()
        .config(&config.to_string())
        .args(["eval", "--no-table", "-o", "out.json"])
}

/// With the person's key of AWS, and what would lead to AWS led elsewhere.
fn aws(run: Run, api: &ModelApi) -> Run {
    keyed(run)
        .env("AWS_ENDPOINT_URL", api.url())
        .env("AWS_REGION", "eu-central-1")
}

fn keyed(run: Run) -> Run {
    run.env("AWS_ACCESS_KEY_ID", ID)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_SESSION_TOKEN", TOKEN)
}

fn response(finished: &Finished) -> Value {
    finished.expect_code(0);
    finished.json("out.json")["results"]["results"][0]["response"].clone()
}

/// An answer of Converse that says these.
fn converse(said: &[&str]) -> Answer {
    Answer::json(&json!({
        "output": { "message": { "role": "assistant", "content": [{ "text": said.join(" ") }] } },
        "stopReason": "end_turn",
        "usage": { "inputTokens": 3, "outputTokens": 2, "totalTokens": 5 },
    }))
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    const BLOCK: usize = 64;
    let mut block = [0; BLOCK];
    block[..key.len()].copy_from_slice(key);
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new_with_prefix(padded(0x36));
    let inner = inner.chain_update(text).finalize();
    let outer = Sha256::new_with_prefix(padded(0x5c));
    outer.chain_update(inner).finalize().to_vec()
}

/// The header that a request has to have, by the headers that it says are signed.
fn expected(seen: &Seen, region: &str, service: &str) -> String {
    let said = seen.header("authorization").expect("it is signed");
    let (_, names) = said.split_once("SignedHeaders=").expect("names");
    let (names, _) = names.split_once(',').expect("names");
    let date = seen.header("x-amz-date").expect("a time");
    let lines = names.split(';').fold(String::new(), |lines, name| {
        lines + name + ":" + seen.header(name).expect("it is there") + "\n"
    });
    // Escaped once more than it is on the wire.
    let path = seen.path.replace('%', "%25");
    let hash = |bytes: &[u8]| HEXLOWER.encode(&Sha256::digest(bytes));
    let request = format!(
        "{}\n{path}\n\n{lines}\n{names}\n{}",
        seen.method,
        hash(&seen.body)
    );
    let scope = format!("{}/{region}/{service}/aws4_request", &date[..8]);
    let text = format!(
        "AWS4-HMAC-SHA256\n{date}\n{scope}\n{}",
        hash(request.as_bytes())
    );
    let parts = [&date[..8], region, service, "aws4_request", &text];
    let first = format!("AWS4{SECRET}").into_bytes();
    let signature = parts.iter().fold(first, |key, part| hmac(&key, part));
    let signature = HEXLOWER.encode(&signature);
    format!(
        "AWS4-HMAC-SHA256 Credential={ID}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
}

#[track_caller]
fn is_signed(seen: &Seen, region: &str, service: &str) {
    let said = seen.header("authorization").expect("it is signed");
    assert_eq!(said, expected(seen, region, service));
    assert_eq!(seen.header("x-amz-security-token"), Some(TOKEN));
    let names = said.split_once("SignedHeaders=").expect("names").1;
    for name in ["host", "content-type", "x-amz-date", "x-amz-security-token"] {
        assert!(names.contains(name), "{name} is signed: {said}");
    }
}

/// No file of the project or the home, and nothing that was printed, has one of these.
#[track_caller]
fn is_nowhere(finished: &Finished, secrets: &[&str]) {
    let again = finished.again();
    let mut found = vec![
        ("stdout".to_owned(), finished.stdout.clone().into_bytes()),
        ("stderr".to_owned(), finished.stderr.clone().into_bytes()),
    ];
    collect(again.home(), &mut found);
    collect(again.project(), &mut found);
    assert!(found.iter().any(|(name, _)| name.ends_with("runs.db")));
    for (name, bytes) in &found {
        for secret in secrets {
            let is_there = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!is_there, "{secret} in {name}");
        }
    }
}

fn collect(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_persons = path.file_name().is_some_and(|name| name == "persons");
        // Compiled code is made of plugins alone, and of hundreds of megabytes.
        let is_code = path.ends_with("cache/plugins");
        if path.is_dir() && !is_persons && !is_code {
            collect(&path, found);
        } else if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            found.push((path.display().to_string(), bytes));
        }
    }
}

#[test]
fn a_request_to_bedrock_is_signed_and_nothing_of_the_key_is_left() {
    let api = ModelApi::start();
    api.always(converse(&[ID, SECRET, TOKEN]));
    let id = "bedrock:anthropic.claude-3-5-sonnet-20241022-v2:0";
    let config = json!({ "max_tokens": 9, "region": "us-west-2" });
    let finished = aws(run(&json!({ "id": id, "config": config })), &api).finish();
    let response = response(&finished);
    assert_eq!(response["output"], "[masked] [masked] [masked]");
    assert_eq!(response["tokenUsage"]["total"], 5);
    let seen = api.requests().remove(0);
    let path = "/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/converse";
    assert_eq!(seen.path, path);
    let body = json!({
        "messages": [{ "role": "user", "content": [{ "text": "Say hi" }] }],
        "inferenceConfig": { "maxTokens": 9 },
    });
    assert_eq!(seen.json, body);
    is_signed(&seen, "us-west-2", "bedrock");
    is_nowhere(&finished, &[ID, SECRET, TOKEN]);
}

#[test]
fn each_attempt_is_signed_and_the_cache_knows_the_key_and_not_the_signature() {
    let api = ModelApi::start();
    let busy = json!({ "message": "busy" });
    api.script([Answer::json(&busy).with_status(503)]);
    api.always(converse(&["hello"]));
    let first = aws(run(&json!("bedrock:m")), &api).finish();
    assert_eq!(response(&first)["output"], "hello");
    let seen = api.requests();
    assert_eq!(seen.len(), 2);
    for request in &seen {
        is_signed(request, "eu-central-1", "bedrock");
    }
    // Another second, another signature, the same request.
    let again = first.again().args(["eval", "--no-table", "-o", "out.json"]);
    let again = again.finish();
    assert_eq!(response(&again)["output"], "hello");
    assert_eq!(response(&again)["cached"], true);
    assert_eq!(api.requests().len(), 2);
}

#[test]
fn a_key_of_bedrocks_own_goes_before_one_of_aws() {
    let api = ModelApi::start();
    api.always(converse(&["hello"]));
    let finished = aws(run(&json!("bedrock:m")), &api)
        .env("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key-of-a-test")
        .finish();
    assert_eq!(response(&finished)["output"], "hello");
    let seen = api.requests().remove(0);
    let bearer = Some("Bearer bedrock-key-of-a-test");
    assert_eq!(seen.header("authorization"), bearer);
    assert_eq!(seen.header("x-amz-security-token"), None);
}

#[test]
fn a_profile_of_the_persons_file_is_theirs_to_choose() {
    let file = format!(
        "[default]\naws_access_key_id = other\naws_secret_access_key = other\n\n\
         [work]\naws_access_key_id = {ID}\naws_secret_access_key = {SECRET}\naws_session_token = {TOKEN}\n"
    );
    let api = ModelApi::start();
    api.always(converse(&["hello"]));
    let run = run(&json!("bedrock:converse:m")).file("persons/.aws/credentials", file);
    let finished = run
        .clone()
        .env("HOME", run.project().join("persons"))
        .env("AWS_PROFILE", "work")
        .env("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", api.url())
        .env("AWS_DEFAULT_REGION", "eu-west-1")
        .finish();
    assert_eq!(response(&finished)["output"], "hello");
    is_signed(&api.requests()[0], "eu-west-1", "bedrock");
    is_nowhere(&finished, &[ID, SECRET, TOKEN]);
}

#[test]
fn an_address_that_a_config_writes_gets_no_key_unasked() {
    let endpoint = json!({ "endpoint": "https://bedrock.example" });
    let provider = json!({ "id": "bedrock:m", "config": endpoint });
    let by_environment = keyed(run(&provider)).finish();
    let mut told = by_environment.told_as("a key of the environment");
    let file = "[default]\naws_access_key_id = other\naws_secret_access_key = other\n";
    let run = run(&provider).file("persons/.aws/credentials", file);
    let by_file = run.clone().env("HOME", run.project().join("persons"));
    told += &by_file.finish().told_as("a key of the person's file");
    assert_snapshot!(told);
}

#[test]
fn what_is_missing_or_wrong_is_said_before_anything_is_sent() {
    let mut told = String::new();
    for provider in [
        json!("bedrock:m"),
        json!("bedrock:agents:x"),
        json!({ "id": "bedrock:m", "config": { "accessKeyId": "AKID" } }),
        json!({ "id": "bedrock:m", "config": { "profile": "work", "apiKey": "k" } }),
        json!("sagemaker:e"),
        json!("vertex:gemini-x"),
        json!("vertex:live:x"),
    ] {
        let finished = run(&provider).finish();
        told += &finished.told_as(&provider.to_string());
    }
    assert_snapshot!(told);
}

#[test]
fn vectors_of_bedrock_are_signed_too() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let text = seen.json["inputText"].as_str()?;
        let vector = if text == "hello" {
            [1.0, 0.0]
        } else {
            [1.0, 0.1]
        };
        Some(Answer::json(
            &json!({ "embedding": vector, "inputTextTokenCount": 1 }),
        ))
    });
    let titan = json!({ "id": "bedrock:embeddings:amazon.titan-embed-text-v2:0" });
    let config = json!({
        "prompts": ["hello"], "providers": ["echo"],
        "tests": [{ "assert": [{ "type": "similar", "value": "hi", "provider": titan }] }],
    });
    let run = Run::new().config(&config.to_string());
    let finished = aws(run, &api).args(["eval", "--no-table"]).finish();
    finished.expect_code(0);
    let seen = api.requests();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(request.path, "/model/amazon.titan-embed-text-v2%3A0/invoke");
        is_signed(&request, "eu-central-1", "bedrock");
    }
}

#[test]
fn a_request_to_sagemaker_is_signed_for_it() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!([{ "generated_text": "hello" }])));
    let provider = json!({
        "id": "sagemaker:huggingface:my-endpoint",
        "config": { "temperature": 0, "maxTokens": 9 },
    });
    let finished = aws(run(&provider), &api).finish();
    assert_eq!(response(&finished)["output"], "hello");
    let seen = api.requests().remove(0);
    assert_eq!(seen.path, "/endpoints/my-endpoint/invocations");
    let parameters = json!({
        "temperature": 0, "top_p": 1.0, "max_new_tokens": 9, "do_sample": false,
        "return_full_text": false,
    });
    assert_eq!(
        seen.json,
        json!({ "inputs": "Say hi", "parameters": parameters })
    );
    is_signed(&seen, "eu-central-1", "sagemaker");
}

/// Made for these tests; it opens nothing.
const RSA_KEY: &str = include_str!("../../host/gateway/tests/gateway/rsa.pem");

const GOOGLES: &str = "ya29.a-token-of-a-test-0123456789";

fn google_key(token_uri: &str) -> String {
    json!({
        "type": "service_account", "project_id": "a-project", "private_key_id": "k1",
        "client_email": "me@a-project.iam.gserviceaccount.com", "private_key": RSA_KEY,
        "token_uri": token_uri,
    })
    .to_string()
}

/// A run with a key in a file of the person's, whose tokens and answers come from here.
fn google(provider: &Value, api: &ModelApi, tokens: &ModelApi) -> Run {
    let at = format!("{}/token", tokens.url());
    let run = run(provider).file("persons/key.json", google_key(&at));
    let key = run.project().join("persons/key.json");
    run.env("GOOGLE_APPLICATION_CREDENTIALS", key)
        .env("RUNNER_GOOGLE_TOKEN_URL", at)
        .env("GOOGLE_VERTEX_BASE_URL", api.url())
}

fn giving_tokens() -> ModelApi {
    let tokens = ModelApi::start();
    let token = json!({ "access_token": GOOGLES, "expires_in": 3600, "token_type": "Bearer" });
    tokens.always(Answer::json(&token));
    tokens
}

/// The lines of a private key: each would be one of many.
fn private_lines() -> Vec<&'static str> {
    let lines = RSA_KEY.lines();
    lines
        .filter(|line| !line.starts_with('-') && line.len() > 40)
        .collect()
}

#[test]
fn gemini_on_vertex_gets_a_token_that_nobody_sees() {
    let (api, tokens) = (ModelApi::start(), giving_tokens());
    let said = format!("hello {GOOGLES}");
    api.always(Answer::json(&json!({
        "candidates": [{ "content": { "role": "model", "parts": [{ "text": said }] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5 },
    })));
    let config = json!({ "region": "europe-west1" });
    let provider = json!({ "id": "vertex:gemini-x", "config": config });
    let finished = google(&provider, &api, &tokens).finish();
    assert_eq!(response(&finished)["output"], "hello [masked]");
    let seen = api.requests().remove(0);
    let path = "/v1/projects/a-project/locations/europe-west1/publishers/google/models/gemini-x:generateContent";
    assert_eq!(seen.path, path);
    let bearer = format!("Bearer {GOOGLES}");
    assert_eq!(seen.header("authorization"), Some(bearer.as_str()));
    let asked = tokens.requests();
    assert_eq!(asked.len(), 1);
    let form = String::from_utf8_lossy(&asked[0].body).into_owned();
    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    assert!(form.starts_with(grant), "{form}");
    let assertion = form.strip_prefix(grant).expect("just seen");
    let mut secrets = private_lines();
    secrets.extend([GOOGLES, assertion]);
    is_nowhere(&finished, &secrets);
}

#[test]
fn claude_on_vertex_speaks_messages() {
    let (api, tokens) = (ModelApi::start(), giving_tokens());
    api.always(Answer::json(&json!({
        "model": "claude-x", "role": "assistant", "type": "message", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "hello" }],
        "usage": { "input_tokens": 3, "output_tokens": 2 },
    })));
    let config = json!({ "region": "us-east5", "projectId": "mine", "max_tokens": 9 });
    let provider = json!({ "id": "vertex:claude-x@20250101", "config": config });
    let finished = google(&provider, &api, &tokens).finish();
    assert_eq!(response(&finished)["output"], "hello");
    let seen = api.requests().remove(0);
    let path = "/v1/projects/mine/locations/us-east5/publishers/anthropic/models/claude-x%4020250101:rawPredict";
    assert_eq!(seen.path, path);
    let body = json!({
        "messages": [{ "role": "user", "content": "Say hi" }], "max_tokens": 9,
        "anthropic_version": "vertex-2023-10-16",
    });
    assert_eq!(seen.json, body);
}

#[test]
fn a_key_is_only_sent_where_its_owner_says() {
    let (api, tokens) = (ModelApi::start(), giving_tokens());
    let at = format!("{}/token", tokens.url());
    let provider = json!({ "id": "vertex:gemini-x", "config": { "projectId": "p" } });
    let run = run(&provider).file("key.json", google_key(&at));
    let key = run.project().join("key.json");
    let elsewhere = run
        .clone()
        .env("GOOGLE_APPLICATION_CREDENTIALS", &key)
        .env("GOOGLE_VERTEX_BASE_URL", api.url());
    let mut told = elsewhere.finish().told_as("a file that asks elsewhere");

    let google = google_key("https://oauth2.googleapis.com/token");
    let run = run.file("key.json", google);
    let config = json!({
        "prompts": ["Say hi"], "providers": [provider],
        "env": { "GOOGLE_APPLICATION_CREDENTIALS": "key.json" },
    });
    let named = run.clone().config(&config.to_string());
    told += &named.finish().told_as("a file that the config names");

    let config = json!({ "projectId": "p", "apiBaseUrl": "https://vertex.example" });
    let config = json!({
        "prompts": ["Say hi"], "providers": [{ "id": "vertex:gemini-x", "config": config }],
    });
    let address = run.clone().config(&config.to_string());
    let address = address.env("GOOGLE_APPLICATION_CREDENTIALS", &key);
    told += &address.finish().told_as("an address that the config names");
    let folder = run.project().display().to_string();
    assert_snapshot!(told.replace(&folder, "[folder]"));
    assert!(api.requests().is_empty() && tokens.requests().is_empty());
}
