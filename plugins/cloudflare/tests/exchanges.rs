//! Where requests go and with which key, and what errors mean. The shape itself is tested with
//! `openai`.

use plugin_cloudflare::Cloudflare;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Error, ErrorCode, Provider, Request, http};
use runner_plugin_embed::ProviderEmbed;

const ACCOUNT: &str = "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1";
const GATEWAY: &str = "https://gateway.ai.cloudflare.com/v1/acc/gw";

/// What the environment fills in.
fn config(more: &Value) -> Value {
    let mut config = json!({ "accountId": "acc", "gatewayId": "gw" });
    let fields = config.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    config
}

fn sent(id: &str, more: &Value, url: &str) -> http::Request {
    let target = testing::target(id, &config(more));
    let answer = json!({ "choices": [{ "text": "ok", "message": { "content": "ok" } }] });
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &answer))
        .play(|| Cloudflare::complete(&target, &Request::new("Hi"), &testing::context()));
    assert_eq!(played.result.expect(id).message.text(), "ok");
    played.requests.into_iter().next().expect("one request")
}

#[test]
fn workers_ai_is_asked_below_the_account() {
    let chat = sent(
        "cloudflare-ai:chat:@cf/meta/llama-3.1-8b-instruct",
        &json!({ "temperature": 0 }),
        &format!("{ACCOUNT}/chat/completions"),
    );
    assert_eq!(
        chat.body_json(),
        Some(json!({
            "model": "@cf/meta/llama-3.1-8b-instruct",
            "messages": [{ "role": "user", "content": "Hi" }],
            "temperature": 0,
        }))
    );
    assert_eq!(chat.credential.as_deref(), Some("cloudflare-key"));
    let url = format!("{ACCOUNT}/completions");
    let completion = sent("cloudflare-ai:completion:@cf/m", &json!({}), &url);
    assert_eq!(
        completion.body_json(),
        Some(json!({ "model": "@cf/m", "prompt": "Hi" }))
    );
    let config = json!({ "apiBaseUrl": "https://mine.test/ai/v1/" });
    sent_to(
        "cloudflare-ai:chat:m",
        &config,
        "https://mine.test/ai/v1/chat/completions",
    );
}

fn sent_to(id: &str, more: &Value, url: &str) {
    assert_eq!(sent(id, more, url).url, url);
}

#[test]
fn workers_ai_makes_vectors() {
    let target = testing::target("cloudflare-ai:embedding:@cf/baai/bge", &config(&json!({})));
    let body = json!({ "data": [{ "embedding": [1.0, 0.5] }] });
    let played = Script::new()
        .exchange(
            "POST",
            &format!("{ACCOUNT}/embeddings"),
            Reply::json(200, &body),
        )
        .play(|| Cloudflare::embed(&target, &["a".to_owned()], &testing::context()));
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "model": "@cf/baai/bge", "input": ["a"] }))
    );
    assert_eq!(played.result.expect("vectors").vectors, [[1.0, 0.5]]);
}

#[test]
fn a_gateway_is_asked_with_the_key_of_who_is_behind_it() {
    for (vendor, path, key) in [
        ("anthropic", "/v1", "anthropic-key"),
        ("cohere", "/compatibility/v1", "cohere-key"),
        ("google-ai-studio", "/v1beta/openai", "google-key"),
        ("grok", "/v1", "grok-key"),
        ("groq", "", "groq-key"),
        ("mistral", "/v1", "mistral-key"),
        ("openai", "", "openai-key"),
        ("perplexity-ai", "", "perplexity-key"),
        ("workers-ai", "/v1", "workers-ai-key"),
    ] {
        let id = format!("cloudflare-gateway:{vendor}:org/m:1");
        let url = format!("{GATEWAY}/{vendor}{path}/chat/completions");
        let sent = sent(
            &id,
            &json!({ "headers": { "cf-aig-authorization": "Bearer t" } }),
            &url,
        );
        assert_eq!(sent.credential.as_deref(), Some(key), "{id}");
        assert_eq!(sent.header_value("cf-aig-authorization"), Some("Bearer t"));
        assert_eq!(sent.body_json().expect("a body")["model"], "org/m:1");
        let info = Cloudflare::describe();
        let extras: Value =
            serde_json::from_str(info.metadata_json.as_deref().expect("some")).expect("JSON");
        let own = &extras["wantsOf"][format!("cloudflare-gateway:{vendor}")];
        assert_eq!(own["credentials"], json!([key]));
        assert_eq!(own["hosts"], json!(["https://gateway.ai.cloudflare.com"]));
        let shared = &extras["shared"][format!("cloudflare-gateway:{vendor}")];
        let address = "https://gateway.ai.cloudflare.com/v1/{accountId}/{gatewayId}";
        assert_eq!(shared["address"], format!("{address}/{vendor}"));
        assert_eq!(shared["lends"], vendor != "workers-ai", "{vendor}");
    }
}

#[test]
fn a_gateway_that_has_the_key_itself_is_sent_none() {
    let url = format!("{GATEWAY}/openai/chat/completions");
    let without = json!({ "$without": ["openai-key"] });
    let sent = sent("cloudflare-gateway:openai:gpt-4o", &without, &url);
    assert_eq!(sent.credential, None);
}

#[test]
fn limits_have_the_name_that_the_model_knows() {
    let url = format!("{GATEWAY}/openai/chat/completions");
    for (model, key) in [("gpt-4o", "max_tokens"), ("o3", "max_completion_tokens")] {
        let id = format!("cloudflare-gateway:openai:{model}");
        let target = testing::target(&id, &config(&json!({})));
        let mut request = Request::new("Hi");
        request.max_tokens = Some(5);
        let answer = json!({ "choices": [{ "message": { "content": "ok" } }] });
        let played = Script::new()
            .exchange("POST", &url, Reply::json(200, &answer))
            .play(|| Cloudflare::complete(&target, &request, &testing::context()));
        assert_eq!(played.requests[0].body_json().expect("a body")[key], 5);
    }
}

#[test]
fn what_the_address_lacks_is_said_before_anything_is_sent() {
    for (id, config, says) in [
        ("cloudflare-ai:chat:m", json!({}), "CLOUDFLARE_ACCOUNT_ID"),
        (
            "cloudflare-gateway:openai:m",
            json!({ "accountId": "a" }),
            "CLOUDFLARE_GATEWAY_ID",
        ),
        ("cloudflare-ai:chat:m", json!({ "accountId": ".." }), "`..`"),
        (
            "cloudflare-ai:chat",
            json!({ "accountId": "a" }),
            "names no model",
        ),
        (
            "cloudflare-ai:m",
            json!({ "accountId": "a" }),
            "names no form",
        ),
        (
            "cloudflare-gateway:azure-openai:m",
            config(&json!({})),
            "nobody behind",
        ),
        ("cloudflare-gateway", config(&json!({})), "nobody behind"),
    ] {
        let target = testing::target(id, &config);
        let error = Cloudflare::check_target(&target).expect_err(id);
        assert!(error.message.contains(says), "{}", error.message);
        let result = Cloudflare::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(result.expect_err(id), error);
    }
    let fine = testing::target("cloudflare-ai:chat:m", &config(&json!({})));
    assert_eq!(Cloudflare::check_target(&fine), Ok(()));
}

#[test]
fn an_account_stays_a_part_of_the_address() {
    let url = "https://api.cloudflare.com/client/v4/accounts/a%2F..%2Fb%3F/ai/v1/chat/completions";
    sent_to(
        "cloudflare-ai:chat:m",
        &json!({ "accountId": "a/../b?" }),
        url,
    );
}

#[test]
fn errors_are_told_apart_by_number_and_status() {
    let errors =
        |code: u64| json!({ "success": false, "errors": [{ "code": code, "message": "no" }] });
    let of_gateway = json!({ "success": false, "error": [{ "code": 2009, "message": "no" }] });
    for (status, body, code) in [
        (400, errors(5004), ErrorCode::InvalidRequest),
        (400, errors(5007), ErrorCode::NotFound),
        (403, errors(10000), ErrorCode::Auth),
        (408, errors(3007), ErrorCode::Timeout),
        (429, errors(3036), ErrorCode::QuotaExhausted),
        (429, errors(3040), ErrorCode::RateLimited),
        (401, of_gateway, ErrorCode::Auth),
    ] {
        let target = testing::target("cloudflare-ai:chat:m", &config(&json!({})));
        let error: Error = Script::new()
            .exchange(
                "POST",
                &format!("{ACCOUNT}/chat/completions"),
                Reply::json(status, &body),
            )
            .play(|| Cloudflare::complete(&target, &Request::new("Hi"), &testing::context()))
            .result
            .expect_err("no answer");
        assert_eq!(error.code, code, "{body}");
        assert!(error.message.ends_with(": no"), "{}", error.message);
    }
}

#[test]
fn what_cannot_be_honoured_is_refused() {
    for key in [
        "accountIdEnvar",
        "gatewayIdEnvar",
        "cfAigToken",
        "cfAigTokenEnvar",
        "apiHost",
    ] {
        assert_eq!(
            Cloudflare::check_config(&json!({ key: "x" })).len(),
            1,
            "{key}"
        );
    }
    for id in ["cloudflare-ai:chat:m", "cloudflare-gateway:openai:m"] {
        let target = testing::target(id, &config(&json!({})));
        let result = Cloudflare::embed(&target, &[], &testing::context());
        assert_eq!(
            result.map_err(|error| error.code),
            Err(ErrorCode::Unsupported)
        );
    }
    let target = testing::target("cloudflare-ai:embedding:m", &config(&json!({})));
    let result = Cloudflare::complete(&target, &Request::new("Hi"), &testing::context());
    assert_eq!(
        result.map_err(|error| error.code),
        Err(ErrorCode::Unsupported)
    );
}
