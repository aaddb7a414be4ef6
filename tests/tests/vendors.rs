//! Providers with an API of their own that is no chat of OpenAI's, each against a server that
//! answers in its shape, set up as people set them up: by variables and by addresses.

use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

fn run(provider: &Value, asserts: &Value) -> Run {
    let config = json!({
        "prompts": ["Say {{word}}"],
        "providers": [provider],
        "tests": [{ "vars": { "word": "hi" }, "assert": asserts }],
    });
    Run::new()
        .config(&config.to_string())
        .args(["eval", "--no-table", "-o", "out.json"])
}

fn row(finished: &Finished) -> Value {
    finished.expect_code(0);
    finished.json("out.json")["results"]["results"][0].clone()
}

#[test]
fn cohere_speaks_version_2_and_its_answer_has_a_price() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({
        "finish_reason": "COMPLETE",
        "message": { "role": "assistant", "content": [{ "type": "text", "text": "hello" }] },
        "usage": { "tokens": { "input_tokens": 1000, "output_tokens": 100 } },
    })));
    let finished = run(&json!("cohere:command-r-08-2024"), &json!([]))
        .env("COHERE_API_KEY", "key-of-a-cohere-test")
        .env("COHERE_API_BASE_URL", format!("{}/v1", api.url()))
        .finish();
    let response = row(&finished)["response"].clone();
    assert_eq!(response["output"], "hello");
    assert_eq!(response["tokenUsage"]["total"], 1100);
    let cost = response["cost"].as_f64().expect("a cost");
    assert!((cost - 0.000_21).abs() < 1e-9, "{cost}");
    let seen = api.requests().remove(0);
    assert_eq!(seen.path, "/v2/chat");
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer key-of-a-cohere-test")
    );
    assert_eq!(seen.json["messages"][0]["content"], "Say hi");
}

#[test]
fn hugging_face_classifies_and_compares_for_assertions() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let body = match seen.path.as_str() {
            "/generate" => json!([{ "generated_text": "hello" }]),
            "/classes" => json!([[{ "label": "polite", "score": 0.9 }]]),
            "/similarity" => json!([0.8]),
            _ => return None,
        };
        Some(Answer::json(&body))
    });
    let at = |task: &str, path: &str| {
        let endpoint = format!("{}{path}", api.url());
        json!({ "id": format!("huggingface:{task}:org/m"), "config": { "apiEndpoint": endpoint } })
    };
    let asserts = json!([
        { "type": "classifier", "value": "polite", "threshold": 0.8,
            "provider": at("text-classification", "/classes") },
        { "type": "similar", "value": "hello you", "threshold": 0.7,
            "provider": at("sentence-similarity", "/similarity") },
    ]);
    let finished = run(&at("text-generation", "/generate"), &asserts)
        .env("HF_API_TOKEN", "key-of-a-hugging-face-test")
        .finish();
    let row = row(&finished);
    assert_eq!(row["response"]["output"], "hello");
    let graded = row["gradingResult"]["componentResults"].clone();
    let scores: Vec<f64> = graded
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|grade| grade["score"].as_f64())
        .collect();
    assert_eq!(scores.len(), 2);
    assert!((scores[0] - 0.9).abs() < 1e-6 && (scores[1] - 0.8).abs() < 1e-6);
    for seen in api.requests() {
        let key = seen.header("authorization");
        assert_eq!(key, Some("Bearer key-of-a-hugging-face-test"));
    }
    // Assertions are graded side by side.
    let all = api.requests();
    let compared = all.iter().find(|seen| seen.path == "/similarity");
    assert_eq!(
        compared.expect("compared").json["inputs"],
        json!({ "source_sentence": "hello", "sentences": ["hello you"] })
    );
}

#[test]
fn hugging_face_needs_no_key() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({ "generated_text": "hello" })));
    let config = json!({ "apiEndpoint": api.url() });
    let provider = json!({ "id": "hf:text-generation:m", "config": config });
    let finished = run(&provider, &json!([])).finish();
    assert_eq!(row(&finished)["response"]["output"], "hello");
    assert_eq!(api.requests()[0].header("authorization"), None);
}

#[test]
fn workers_ai_is_asked_with_cloudflares_key() {
    let api = ModelApi::start();
    let config = json!({ "apiBaseUrl": format!("{}/ai/v1", api.url()) });
    let provider = json!({ "id": "cloudflare-ai:chat:@cf/m", "config": config });
    let finished = run(&provider, &json!([]))
        .env("CLOUDFLARE_API_KEY", "key-of-a-cloudflare-test")
        .finish();
    assert_eq!(row(&finished)["response"]["output"], "Say hi");
    let seen = api.requests().remove(0);
    assert_eq!(seen.path, "/ai/v1/chat/completions");
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer key-of-a-cloudflare-test")
    );
    let unset = run(&json!("cloudflare-ai:chat:@cf/m"), &json!([]))
        .env("CLOUDFLARE_API_KEY", "key-of-a-cloudflare-test")
        .finish();
    unset.expect_code(2);
    assert!(
        unset.stderr.contains("CLOUDFLARE_ACCOUNT_ID"),
        "{}",
        unset.stderr
    );
}

#[test]
fn a_gateway_is_handed_the_key_of_who_the_id_names_and_no_other() {
    for (set, sent) in [
        (true, Some("Bearer key-of-openai-in-a-test")),
        // The gateway may have the key itself.
        (false, None),
    ] {
        let api = ModelApi::start();
        let provider = json!({ "id": "cloudflare-gateway:openai:gpt-4o", "config": {
            "apiBaseUrl": format!("{}/v1/acc/gw/openai", api.url()),
            "headers": { "cf-aig-authorization": "Bearer {{env.CF_AIG_TOKEN}}" },
        }});
        let mut run = run(&provider, &json!([]))
            .env("CF_AIG_TOKEN", "token-of-a-gateway-test")
            .env("ANTHROPIC_API_KEY", "key-of-another-in-a-test")
            .env("CLOUDFLARE_API_KEY", "key-of-cloudflare-in-a-test");
        if set {
            run = run.env("OPENAI_API_KEY", "key-of-openai-in-a-test");
        }
        let finished = run.finish();
        assert_eq!(row(&finished)["response"]["output"], "Say hi");
        let seen = api.requests().remove(0);
        assert_eq!(seen.path, "/v1/acc/gw/openai/chat/completions");
        assert_eq!(seen.header("authorization"), sent);
        assert_eq!(
            seen.header("cf-aig-authorization"),
            Some("Bearer token-of-a-gateway-test")
        );
        let all = finished.read("out.json") + &finished.stdout + &finished.stderr;
        assert!(!all.contains("token-of-a-gateway-test"), "{all}");
        assert!(!all.contains("ANTHROPIC_API_KEY"), "{all}");
    }
}

#[test]
fn voyage_makes_the_vectors_of_a_comparison() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({
        "data": [
            { "index": 0, "embedding": [1.0, 0.0] },
            { "index": 1, "embedding": [0.6, 0.8] },
        ],
        "usage": { "total_tokens": 8 },
    })));
    let asserts = json!([{ "type": "similar", "value": "v", "threshold": 0.5,
        "provider": "voyage:voyage-3.5" }]);
    let finished = run(&json!("echo"), &asserts)
        .env("VOYAGE_API_KEY", "key-of-a-voyage-test")
        .env("VOYAGE_API_BASE_URL", format!("{}/v1", api.url()))
        .finish();
    let grade = row(&finished)["gradingResult"].clone();
    assert!((grade["score"].as_f64().expect("a score") - 0.6).abs() < 1e-6);
    let seen = api.requests().remove(0);
    assert_eq!(seen.path, "/v1/embeddings");
    assert_eq!(seen.json["input"], json!(["Say hi", "v"]));
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer key-of-a-voyage-test")
    );
    assert_eq!(grade["tokensUsed"]["total"], 8, "{grade}");
}

#[test]
fn replicate_is_looked_after_until_the_model_is_ready() {
    let api = ModelApi::start();
    let at = |status: &str, output: Value| {
        Answer::json(&json!({ "id": "p1", "status": status, "output": output }))
    };
    api.script([
        at("starting", Value::Null),
        at("processing", Value::Null),
        at("succeeded", json!(["hel", "lo"])),
    ]);
    let config = json!({ "apiBaseUrl": format!("{}/v1", api.url()), "max_new_tokens": 5 });
    let provider = json!({ "id": "replicate:meta/m", "config": config });
    let finished = run(&provider, &json!([]))
        .env("REPLICATE_API_KEY", "key-of-a-replicate-test")
        .finish();
    assert_eq!(row(&finished)["response"]["output"], "hello");
    let seen = api.requests();
    let asked: Vec<(&str, &str)> = seen
        .iter()
        .map(|seen| (seen.method.as_str(), seen.path.as_str()))
        .collect();
    assert_eq!(
        asked,
        [
            ("POST", "/v1/models/meta/m/predictions"),
            ("GET", "/v1/predictions/p1"),
            ("GET", "/v1/predictions/p1"),
        ]
    );
    assert_eq!(
        seen[0].json,
        json!({ "input": { "max_new_tokens": 5, "prompt": "Say hi" } })
    );
    for seen in seen {
        let key = seen.header("authorization");
        assert_eq!(key, Some("Bearer key-of-a-replicate-test"));
    }
}

#[test]
fn a_run_that_was_not_over_is_asked_for_anew_and_a_finished_one_is_not() {
    let api = ModelApi::start();
    let at = |status: &str, output: Value| {
        Answer::json(&json!({ "id": "p1", "status": status, "output": output }))
    };
    api.script([
        at("processing", Value::Null),
        at("succeeded", json!("first")),
        at("succeeded", json!("second")),
    ]);
    let config = json!({ "apiBaseUrl": format!("{}/v1", api.url()) });
    let provider = json!({ "id": "replicate:meta/m", "config": config });
    let key = "key-of-a-replicate-test";
    let first = run(&provider, &json!([]))
        .env("REPLICATE_API_TOKEN", key)
        .finish();
    assert_eq!(row(&first)["response"]["output"], "first");
    let second = first.again().env("REPLICATE_API_TOKEN", key);
    let second = second
        .args(["eval", "--no-table", "-o", "out.json"])
        .finish();
    assert_eq!(row(&second)["response"]["output"], "second");
    let methods: Vec<String> = api.requests().into_iter().map(|seen| seen.method).collect();
    assert_eq!(methods, ["POST", "GET", "POST"]);
}
