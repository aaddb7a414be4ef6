//! What is sent for which task, and what a run sees of the answer.

use plugin_huggingface::HuggingFace;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, FinishReason, Provider, Request};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

const MODELS: &str = "https://router.huggingface.co/hf-inference/models";
const CHAT: &str = "https://router.huggingface.co/v1/chat/completions";

fn ask(
    id: &str,
    config: &Value,
    request: &Request,
    url: &str,
    reply: Reply,
) -> Played<Result<Completion, Error>> {
    let target = testing::target(id, config);
    Script::new()
        .exchange("POST", url, reply)
        .play(|| HuggingFace::complete(&target, request, &testing::context()))
}

fn embed(id: &str, url: &str, texts: &[&str], reply: &Value) -> Played<Result<Embeddings, Error>> {
    let target = testing::target(id, &json!({}));
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    Script::new()
        .exchange("POST", url, Reply::json(200, reply))
        .play(|| HuggingFace::embed(&target, &texts, &testing::context()))
}

#[test]
fn a_text_is_continued_with_the_keys_of_config_and_request() {
    let mut request = Request::new("Hi");
    request.temperature = Some(0.5);
    request.max_tokens = Some(9);
    let config = json!({
        "top_k": 3, "max_new_tokens": 1, "wait_for_model": true, "apiEndpoint": null,
        "passthrough": { "extra": 1 }, "headers": { "x-a": "b" },
    });
    let played = ask(
        "huggingface:text-generation:org/m",
        &config,
        &request,
        &format!("{MODELS}/org/m"),
        Reply::json(200, &json!([{ "generated_text": " there" }])),
    );
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({
            "inputs": "Hi",
            "parameters": {
                "return_full_text": false, "top_k": 3, "max_new_tokens": 9, "temperature": 0.5,
            },
            "options": { "wait_for_model": true },
            "extra": 1,
        }))
    );
    assert_eq!(
        played.requests[0].credential.as_deref(),
        Some("huggingface-key")
    );
    assert_eq!(played.requests[0].bucket.as_deref(), Some("org/m"));
    assert_eq!(played.requests[0].header_value("x-a"), Some("b"));
    assert_eq!(played.result.expect("an answer").message.text(), " there");
}

#[test]
fn an_answer_may_be_no_list_and_may_have_details() {
    let url = "https://mine.test/generate";
    let body = json!({
        "generated_text": "x",
        "details": { "finish_reason": "length", "generated_tokens": 4 },
    });
    let config = json!({ "apiEndpoint": url, "max_tokens": 4, "$without": ["huggingface-key"] });
    let played = ask(
        "hf:text-generation:m",
        &config,
        &Request::new("Hi"),
        url,
        Reply::json(200, &body),
    );
    assert_eq!(played.requests[0].credential, None);
    let sent = played.requests[0].body_json().expect("a body");
    assert_eq!(sent["parameters"]["max_new_tokens"], 4);
    let completion = played.result.expect("an answer");
    assert_eq!(completion.finish_reason, Some(FinishReason::Length));
    assert_eq!(completion.usage.output_tokens, Some(4));
}

#[test]
fn a_chat_has_openais_shape_at_the_router_and_at_an_endpoint() {
    let answer = json!({ "choices": [{ "message": { "content": "ok" } }] });
    for (id, config, url, model) in [
        ("huggingface:chat:org/m:fast", json!({}), CHAT, "org/m:fast"),
        (
            "huggingface:chat:org/m",
            json!({ "inferenceProvider": "together" }),
            CHAT,
            "org/m:together",
        ),
        (
            "huggingface:text-generation:org/m",
            json!({ "chatCompletion": true }),
            CHAT,
            "org/m",
        ),
        (
            "huggingface:text-generation:org/m",
            json!({ "apiEndpoint": "https://mine.test/v1/chat/completions" }),
            "https://mine.test/v1/chat/completions",
            "org/m",
        ),
        (
            "hf:chat:org/m",
            json!({ "apiEndpoint": "https://mine.test/v1/" }),
            "https://mine.test/v1/chat/completions",
            "org/m",
        ),
    ] {
        let mut config = config;
        config["max_new_tokens"] = json!(7);
        config["use_cache"] = json!(false);
        let played = ask(
            id,
            &config,
            &Request::new("Hi"),
            url,
            Reply::json(200, &answer),
        );
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({
                "model": model,
                "messages": [{ "role": "user", "content": "Hi" }],
                "max_tokens": 7,
            })),
            "{id} {config}"
        );
        assert_eq!(played.result.expect("an answer").message.text(), "ok");
    }
}

#[test]
fn classes_are_an_object_of_class_and_best_score() {
    let wrapped = json!([[{ "label": "good", "score": 0.9 }, { "label": "bad", "score": 0.1 }]]);
    let bare = wrapped[0].clone();
    let id = "huggingface:text-classification:org/m";
    let url = format!("{MODELS}/org/m");
    for body in [wrapped, bare] {
        let reply = Reply::json(200, &body);
        let played = ask(id, &json!({}), &Request::new("Hi"), &url, reply);
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({ "inputs": "Hi" }))
        );
        let completion = played.result.expect("an answer");
        assert_eq!(completion.message.text(), r#"{"good":0.9,"bad":0.1}"#);
        assert_eq!(completion.output_json, None);
    }
    let entities = json!([
        { "entity_group": "PER", "score": 0.5, "word": "Ann" },
        { "entity_group": "LOC", "score": 0.7, "word": "Bonn" },
        { "entity_group": "PER", "score": 0.8, "word": "Bo" },
    ]);
    let id = "huggingface:token-classification:org/m";
    let reply = Reply::json(200, &entities);
    let played = ask(id, &json!({}), &Request::new("Hi"), &url, reply);
    let parameters = json!({ "aggregation_strategy": "simple" });
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "inputs": "Hi", "parameters": parameters }))
    );
    let completion = played.result.expect("an answer");
    assert_eq!(completion.message.text(), r#"{"PER":0.8,"LOC":0.7}"#);
    // Nothing is named in the text: no class, and no error.
    let reply = Reply::json(200, &json!([]));
    let played = ask(id, &json!({}), &Request::new("Hi"), &url, reply);
    let completion = played.result.expect("an answer");
    assert_eq!(completion.message.text(), "{}");
    let metadata = completion
        .metadata_json
        .expect("what an absent class means");
    assert_eq!(metadata, r#"{"absentClasses":"not found"}"#);
}

#[test]
fn a_verdict_on_nothing_and_several_verdicts_are_none() {
    let url = format!("{MODELS}/org/m");
    let id = "huggingface:text-classification:org/m";
    let one = json!({ "label": "hate", "score": 0.1 });
    for body in [
        json!([]),
        json!([[]]),
        json!([[one], [{ "label": "hate", "score": 0.9 }]]),
        json!([[one], one]),
    ] {
        let played = ask(
            id,
            &json!({}),
            &Request::new("Hi"),
            &url,
            Reply::json(200, &body),
        );
        let error = played.result.expect_err("no verdict");
        assert_eq!(error.code, ErrorCode::BadResponse, "{body}");
    }
}

#[test]
fn what_is_no_similarity_is_refused() {
    let id = "huggingface:sentence-similarity:org/m";
    let url = format!("{MODELS}/org/m/pipeline/sentence-similarity");
    for odd in [json!(5), json!(1e9), json!(-7), json!(1.01), json!(1e300)] {
        let error = embed(id, &url, &["a", "b", "c"], &json!([0.5, odd])).result;
        let error = error.expect_err("no similarity");
        assert_eq!(error.code, ErrorCode::BadResponse, "{odd}");
    }
}

#[test]
fn vectors_are_made_of_one_text_and_of_several() {
    let id = "huggingface:feature-extraction:org/m";
    let url = format!("{MODELS}/org/m/pipeline/feature-extraction");
    let flat = embed(id, &url, &["a"], &json!([1.0, 2.0]));
    assert_eq!(flat.requests[0].body_json(), Some(json!({ "inputs": "a" })));
    assert_eq!(flat.result.expect("vectors").vectors, [[1.0, 2.0]]);
    let wrapped = embed(id, &url, &["a"], &json!([[1.0, 2.0]]));
    assert_eq!(wrapped.result.expect("vectors").vectors, [[1.0, 2.0]]);
    let two = embed(id, &url, &["a", "b"], &json!([[1.0], [2.0]]));
    assert_eq!(
        two.requests[0].body_json(),
        Some(json!({ "inputs": ["a", "b"] }))
    );
    assert_eq!(two.result.expect("vectors").vectors, [[1.0], [2.0]]);
    for of_tokens in [
        json!([[[1.0], [2.0]]]),
        json!([[1.0], [2.0], [3.0]]),
        json!("x"),
    ] {
        let error = embed(id, &url, &["a"], &of_tokens)
            .result
            .expect_err("no vectors");
        assert_eq!(error.code, ErrorCode::BadResponse, "{of_tokens}");
    }
}

#[test]
fn keys_of_feature_extraction_stand_beside_the_texts() {
    let url = format!("{MODELS}/m/pipeline/feature-extraction");
    let config = json!({ "normalize": true, "use_cache": false });
    let target = testing::target("hf:feature-extraction:m", &config);
    let played = Script::new()
        .exchange("POST", &url, Reply::json(200, &json!([1.0])))
        .play(|| HuggingFace::embed(&target, &["a".to_owned()], &testing::context()));
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "inputs": "a", "normalize": true, "options": { "use_cache": false } }))
    );
}

#[test]
fn a_similarity_is_the_cosine_of_the_vectors_that_are_given_for_it() {
    let id = "huggingface:sentence-similarity:org/m";
    let url = format!("{MODELS}/org/m/pipeline/sentence-similarity");
    let found = [0.8_f32, -0.25, 1.000_000_1];
    let played = embed(id, &url, &["a", "b", "c", "d"], &json!(found));
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "inputs": { "source_sentence": "a", "sentences": ["b", "c", "d"] } }))
    );
    let vectors = played.result.expect("vectors").vectors;
    for (vector, similarity) in vectors[1..].iter().zip([0.8, -0.25, 1.0]) {
        let product: f32 = vectors[0].iter().zip(vector).map(|(a, b)| a * b).sum();
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!(
            (product - similarity).abs() < 1e-6,
            "{product} {similarity}"
        );
        assert!((length - 1.0).abs() < 1e-6);
    }
    let error = embed(id, &url, &["a", "b"], &json!([0.1, 0.2])).result;
    assert_eq!(
        error.map_err(|error| error.code),
        Err(ErrorCode::BadResponse)
    );
    let target = testing::target(id, &json!({}));
    let alone = HuggingFace::embed(&target, &["a".to_owned()], &testing::context());
    assert_eq!(
        alone.map_err(|error| error.code),
        Err(ErrorCode::Unsupported)
    );
}

#[test]
fn errors_are_told_apart_by_status_however_they_are_written() {
    let url = format!("{MODELS}/m");
    for (status, body, code, says) in [
        (
            400,
            json!({ "error": ["wrong a", "wrong b"] }),
            ErrorCode::InvalidRequest,
            "wrong a",
        ),
        (
            401,
            json!({ "error": "Invalid token" }),
            ErrorCode::Auth,
            "Invalid token",
        ),
        (
            402,
            json!({ "error": "no credits" }),
            ErrorCode::QuotaExhausted,
            "no credits",
        ),
        (
            404,
            json!({ "error": "no model" }),
            ErrorCode::NotFound,
            "no model",
        ),
        (
            429,
            json!({ "error": "slow" }),
            ErrorCode::RateLimited,
            "slow",
        ),
        (
            503,
            json!({ "error": "Model m is currently loading", "estimated_time": 20.0 }),
            ErrorCode::Transient,
            "loading",
        ),
        (200, json!([{}]), ErrorCode::BadResponse, "generated_text"),
    ] {
        let played = ask(
            "hf:text-generation:m",
            &json!({}),
            &Request::new("Hi"),
            &url,
            Reply::json(status, &body),
        );
        let error = played.result.expect_err("no answer");
        assert_eq!(error.code, code, "{body}");
        assert!(error.message.contains(says), "{}", error.message);
    }
}

#[test]
fn the_plugin_says_what_it_wants_and_what_it_refuses() {
    let info = HuggingFace::describe();
    assert_eq!(info.provider_prefixes, ["huggingface", "hf"]);
    assert_eq!(info.wants.hosts, ["https://router.huggingface.co"]);
    assert_eq!(info.wants.host_config_key.as_deref(), Some("apiEndpoint"));
    assert_eq!(info.wants.credentials[0].env, "HF_TOKEN");
    let refused = json!({ "apiBaseUrl": "https://a.test" });
    assert_eq!(HuggingFace::check_config(&refused).len(), 1);
    for id in [
        "huggingface",
        "hf:gpt2",
        "hf:translation:m",
        "hf:chat",
        "hf:chat:",
        "hf:text-generation:../m",
    ] {
        let target = testing::target(id, &json!({}));
        let error = HuggingFace::check_target(&target).expect_err(id);
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{id}");
    }
    for id in ["hf:feature-extraction:m", "hf:sentence-similarity:m"] {
        let target = testing::target(id, &json!({}));
        assert_eq!(HuggingFace::check_target(&target), Ok(()));
        let result = HuggingFace::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(
            result.map_err(|error| error.code),
            Err(ErrorCode::Unsupported)
        );
    }
    let target = testing::target("hf:chat:m", &json!({}));
    let result = HuggingFace::embed(&target, &[], &testing::context());
    assert_eq!(
        result.map_err(|error| error.code),
        Err(ErrorCode::Unsupported)
    );
}
