//! What is sent to an endpoint of which kind, and what becomes of its answer.

use plugin_sagemaker::SageMaker;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, ErrorCode, Provider, Request, http};
use runner_plugin_embed::ProviderEmbed;

const URL: &str = "https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/e/invocations";

fn played(id: &str, config: &Value, prompt: &str, reply: Reply) -> (Completion, http::Request) {
    let target = testing::target(id, config);
    let request = Request::new(prompt);
    let played = Script::new()
        .exchange("POST", URL, reply)
        .play(|| SageMaker::complete(&target, &request, &testing::context()));
    let sent = played.requests.into_iter().next().expect("one request");
    (played.result.expect("an answer"), sent)
}

#[test]
fn each_kind_has_its_shape() {
    let own = json!({ "temperature": 0.5, "top_p": 1.0, "max_new_tokens": 1024 });
    let with = |more: Value| {
        let mut all = own.clone();
        let more = more.as_object().expect("an object").clone();
        all.as_object_mut().expect("an object").extend(more);
        all
    };
    let text = json!({ "generated_text": "ok" });
    for (id, expected, answer) in [
        (
            "sagemaker:openai:e",
            json!({ "temperature": 0.5, "top_p": 1.0, "prompt": "Hi", "max_tokens": 1024 }),
            json!({ "choices": [{ "text": "ok" }] }),
        ),
        (
            "sagemaker:llama:e",
            json!({ "inputs": "Hi", "parameters": own }),
            json!({ "generation": "ok" }),
        ),
        (
            "sagemaker:huggingface:e",
            json!({ "inputs": "Hi", "parameters": with(json!({ "do_sample": true, "return_full_text": false })) }),
            json!([text]),
        ),
        (
            "sagemaker:jumpstart:e",
            json!({ "inputs": "Hi", "parameters": with(json!({ "do_sample": true })) }),
            text.clone(),
        ),
        (
            "sagemaker:custom:e",
            json!({ "prompt": "Hi" }),
            json!({ "output": "", "response": "ok" }),
        ),
    ] {
        let config = json!({ "temperature": 0.5 });
        let (answer, sent) = played(id, &config, "Hi", Reply::json(200, &answer));
        assert_eq!(sent.body_json(), Some(expected), "{id}");
        assert_eq!(sent.credential.as_deref(), Some("aws-key"));
        assert_eq!(answer.message.text(), "ok", "{id}");
    }
}

#[test]
fn a_prompt_of_messages_is_sent_as_such_and_one_of_json_to_custom_as_it_is() {
    let answer =
        json!({ "choices": [{ "message": { "content": "ok" } }], "usage": { "prompt_tokens": 3 } });
    let target = testing::target("sagemaker:openai:e", &json!({}));
    let mut request = Request::new("Hi");
    request.prompt = r#"[{"role":"user","content":"Hi"}]"#.to_owned();
    let played_ = Script::new()
        .exchange("POST", URL, Reply::json(200, &answer))
        .play(|| SageMaker::complete(&target, &request, &testing::context()));
    let sent = played_.requests[0].body_json().expect("JSON");
    assert_eq!(
        sent["messages"],
        json!([{ "role": "user", "content": "Hi" }])
    );
    assert_eq!(played_.result.expect("one").usage.input_tokens, Some(3));

    let reply = Reply::json(200, &json!({ "other": 1 }));
    let (answer, sent) = played("sagemaker:custom:e", &json!({}), "{\"q\":1}", reply);
    assert_eq!(sent.body_json(), Some(json!({ "q": 1 })));
    assert_eq!(answer.output_json.as_deref(), Some("{\"other\":1}"));
}

#[test]
fn a_path_says_where_the_text_is_and_a_text_is_its_own() {
    let config =
        json!({ "responseFormat": { "path": "json.a[0].b" }, "contentType": "application/x-q" });
    let reply = Reply::json(200, &json!({ "a": [{ "b": "ok" }] }));
    let (answer, sent) = played("sagemaker:custom:e", &config, "Hi", reply);
    assert_eq!(answer.message.text(), "ok");
    assert_eq!(sent.header_value("content-type"), Some("application/x-q"));
    let (answer, _) = played(
        "sagemaker:custom:e",
        &json!({}),
        "Hi",
        Reply::text(200, "plain"),
    );
    assert_eq!(answer.message.text(), "plain");
    let config = json!({ "responseFormat": { "path": "json.a + 1" }, "transform": "x" });
    let problems = SageMaker::check_config(&config);
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn an_endpoint_says_what_it_takes() {
    for (id, config) in [
        ("sagemaker:my-jumpstart-llm", json!({})),
        ("sagemaker:e", json!({ "modelType": "llama" })),
        ("sagemaker:embedding:e", json!({})),
    ] {
        let found = SageMaker::check_target(&testing::target(id, &config));
        assert_eq!(found, Ok(()), "{id}");
    }
    for id in [
        "sagemaker:e",
        "sagemaker:other:e",
        "sagemaker:llama:",
        "sagemaker",
    ] {
        let found = SageMaker::check_target(&testing::target(id, &json!({})));
        let code = found.expect_err("found at load").code;
        assert_eq!(code, ErrorCode::InvalidRequest, "{id}");
    }
}

#[test]
fn vectors_are_found_wherever_they_are() {
    let target = testing::target(
        "sagemaker:embedding:e",
        &json!({ "modelType": "huggingface" }),
    );
    for answer in [
        json!({ "embedding": [0.5] }),
        json!({ "embeddings": [[0.5]] }),
        json!({ "data": [{ "embedding": [0.5] }] }),
        json!([[0.5]]),
        json!([0.5]),
    ] {
        let played = Script::new()
            .exchange("POST", URL, Reply::json(200, &answer))
            .play(|| SageMaker::embed(&target, &["a".to_owned()], &testing::context()));
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({ "inputs": "a" }))
        );
        assert_eq!(played.result.expect("one").vectors, [[0.5]], "{answer}");
    }
}
