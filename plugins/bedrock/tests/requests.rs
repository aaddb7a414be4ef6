//! What is sent for which config, request and messages.

use plugin_bedrock::Bedrock;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    ErrorCode, Media, Message, Part, Provider, Request, Role, ToolCall, ToolResult, http,
};
use runner_plugin_embed::ProviderEmbed;

const URL: &str = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse";

fn sent(id: &str, config: &Value, request: &Request, url: &str) -> http::Request {
    let target = testing::target(id, config);
    let answer = json!({ "output": { "message": { "content": [{ "text": "ok" }] } } });
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &answer))
        .play(|| Bedrock::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn body(config: &Value, request: &Request) -> Value {
    sent("bedrock:m", config, request, URL)
        .body_json()
        .expect("a JSON body")
}

#[test]
fn the_smallest_request() {
    let sent = sent("bedrock:m", &json!({}), &Request::new("Hi"), URL);
    let message = json!({ "role": "user", "content": [{ "text": "Hi" }] });
    assert_eq!(sent.body_json(), Some(json!({ "messages": [message] })));
    assert_eq!(sent.credential.as_deref(), Some("bedrock-key"));
    assert_eq!(sent.bucket.as_deref(), Some("m"));
}

#[test]
fn without_a_key_of_its_own_one_of_aws_signs() {
    let config = json!({ "$without": ["bedrock-key"] });
    let sent = sent("bedrock:m", &config, &Request::new("Hi"), URL);
    assert_eq!(sent.credential.as_deref(), Some("aws-key"));
}

#[test]
fn id_region_and_endpoint_make_the_address() {
    let usual = "https://bedrock-runtime.us-east-1.amazonaws.com/model";
    let arn = "arn:aws:bedrock:us-west-2:123:application-inference-profile/x";
    for (id, config, url) in [
        (
            "bedrock:us.anthropic.claude-v2:0",
            json!({}),
            format!("{usual}/us.anthropic.claude-v2%3A0/converse"),
        ),
        (
            "bedrock:completion:a.b-v1:0",
            json!({}),
            format!("{usual}/a.b-v1%3A0/converse"),
        ),
        (
            "bedrock:converse:m",
            json!({ "region": "eu-west-1" }),
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse".to_owned(),
        ),
        (
            "bedrock:m",
            json!({ "region": "cn-north-1" }),
            "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m/converse".to_owned(),
        ),
        (
            "bedrock:m",
            json!({ "endpoint": "https://proxy.test/aws/" }),
            "https://proxy.test/aws/model/m/converse".to_owned(),
        ),
        (
            &format!("bedrock:{arn}"),
            json!({}),
            format!(
                "{usual}/arn%3Aaws%3Abedrock%3Aus-west-2%3A123%3Aapplication-inference-profile%2Fx/converse"
            ),
        ),
    ] {
        let sent = sent(id, &config, &Request::new("Hi"), &url);
        assert_eq!(sent.url, url);
        let target = testing::target(id, &config);
        assert_eq!(Bedrock::check_target(&target), Ok(()), "{id}");
    }
    for (id, config, code) in [
        ("bedrock", json!({}), ErrorCode::InvalidRequest),
        ("bedrock:..", json!({}), ErrorCode::InvalidRequest),
        (
            "bedrock:m",
            json!({ "region": "x.evil" }),
            ErrorCode::InvalidRequest,
        ),
        ("bedrock:agents:a", json!({}), ErrorCode::Unsupported),
        ("bedrock:kb:a", json!({}), ErrorCode::Unsupported),
        ("bedrock:nova-sonic", json!({}), ErrorCode::Unsupported),
    ] {
        let found = Bedrock::check_target(&testing::target(id, &config));
        assert_eq!(found.expect_err("found at load").code, code, "{id}");
    }
}

#[test]
fn lengths_and_sampling_are_read_by_the_names_of_every_family() {
    let expected = json!({
        "maxTokens": 9, "temperature": 0.5, "topP": 0.9, "stopSequences": ["x"],
    });
    for config in [
        json!({ "max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "stop": "x" }),
        json!({ "max_gen_len": 9, "temperature": 0.5, "p": 0.9, "stop_sequences": ["x"] }),
        json!({ "interfaceConfig": {
            "max_new_tokens": 9, "temperature": 0.5, "top_p": 0.9, "stopSequences": ["x"],
        } }),
        json!({ "textGenerationConfig": {
            "maxTokenCount": 9, "temperature": 0.5, "topP": 0.9, "stopSequences": ["x"],
        } }),
        json!({ "inferenceConfig": expected }),
    ] {
        let body = body(&config, &Request::new("Hi"));
        assert_eq!(body["inferenceConfig"], expected, "{config}");
        assert_eq!(body.get("additionalModelRequestFields"), None, "{config}");
    }
    let mut request = Request::new("Hi");
    request.max_tokens = Some(5);
    request.temperature = Some(0.0);
    let body = body(&json!({ "max_tokens": 9, "temperature": 1 }), &request);
    let expected = json!({ "maxTokens": 5, "temperature": 0.0 });
    assert_eq!(body["inferenceConfig"], expected);
}

#[test]
fn what_is_the_models_own_goes_apart_and_what_is_ours_nowhere() {
    let config = json!({
        "thinking": { "type": "enabled", "budget_tokens": 2000 }, "top_k": 3,
        "interfaceConfig": { "top_k": 4 }, "anthropic_version": "bedrock-2023-05-31",
        "additionalModelRequestFields": { "reasoning": "low" }, "inferenceModelType": "claude",
        "performanceConfig": { "latency": "optimized" }, "showThinking": true,
        "region": "us-east-1", "system": "Be short.",
        "guardrailIdentifier": "g1", "guardrailVersion": 2, "trace": "ENABLED",
    });
    let body = body(&config, &Request::new("Hi"));
    let expected = json!({
        "messages": [{ "role": "user", "content": [{ "text": "Hi" }] }],
        "system": [{ "text": "Be short." }],
        "performanceConfig": { "latency": "optimized" },
        "guardrailConfig": {
            "guardrailIdentifier": "g1", "guardrailVersion": "2", "trace": "enabled",
        },
        "additionalModelRequestFields": {
            "thinking": { "type": "enabled", "budget_tokens": 2000 }, "top_k": 4,
            "reasoning": "low",
        },
    });
    assert_eq!(body, expected);
}

#[test]
fn tools_are_taken_in_three_forms() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let expected = json!({ "toolSpec": {
        "name": "weather", "description": "d", "inputSchema": { "json": schema },
    } });
    let claudes = json!({ "name": "weather", "description": "d", "input_schema": schema });
    let function = json!({ "name": "weather", "description": "d", "parameters": schema });
    for tool in [
        claudes,
        json!({ "type": "function", "function": function }),
        expected.clone(),
    ] {
        let config = json!({ "tools": [tool], "tool_choice": { "type": "any" } });
        let body = body(&config, &Request::new("Hi"));
        let expected = json!({ "tools": [expected], "toolChoice": { "any": {} } });
        assert_eq!(body["toolConfig"], expected);
    }
    let config = json!({ "toolConfig": { "tools": [expected] } });
    let body = body(&config, &Request::new("Hi"));
    assert_eq!(body["toolConfig"], config["toolConfig"]);
}

#[test]
fn messages_take_turns() {
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "weather".to_owned(),
        arguments_json: "{\"city\":\"Oslo\"}".to_owned(),
    };
    let result = ToolResult {
        id: "c1".to_owned(),
        content: "cold".to_owned(),
        is_error: true,
    };
    let picture = Media {
        mime_type: "image/png".to_owned(),
        data: b"p".to_vec(),
    };
    let claudes = json!({
        "type": "image", "source": { "type": "base64", "media_type": "image/jpeg", "data": "cQ==" },
    });
    let message = |role: Role, content: Vec<Part>| Message {
        role,
        name: None,
        content,
    };
    let text = |text: &str| Part::Text(text.to_owned());
    let mut request = Request::new("Hi");
    request.messages = vec![
        message(Role::System, vec![text("Be short.")]),
        message(Role::User, vec![text("look"), Part::Media(picture)]),
        message(Role::User, vec![Part::Other(claudes.to_string())]),
        message(Role::Assistant, vec![Part::ToolCall(call)]),
        message(Role::Tool, vec![Part::ToolResult(result)]),
        message(Role::User, vec![text("and now?")]),
    ];
    let body = body(&json!({ "system": "unheard" }), &request);
    assert_eq!(body["system"], json!([{ "text": "Be short." }]));
    let image = |format: &str, data: &str| json!({ "image": { "format": format, "source": { "bytes": data } } });
    let expected = json!([
        { "role": "user", "content": [
            { "text": "look" }, image("png", "cA=="), image("jpeg", "cQ=="),
        ] },
        { "role": "assistant", "content": [
            { "toolUse": { "toolUseId": "c1", "name": "weather", "input": { "city": "Oslo" } } },
        ] },
        { "role": "user", "content": [
            { "toolResult": { "toolUseId": "c1", "content": [{ "text": "cold" }], "status": "error" } },
            { "text": "and now?" },
        ] },
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn what_cannot_be_honoured_is_refused_at_load() {
    let config = json!({ "apiBaseUrl": "https://x", "profile": "p" });
    let problems = Bedrock::check_config(&config);
    let found: Vec<&str> = problems.iter().map(|(at, _)| at.as_str()).collect();
    assert_eq!(found, ["/apiBaseUrl", "/profile"]);
}

#[test]
fn vectors_come_in_the_shape_of_their_family() {
    let texts = ["a".to_owned(), "b".to_owned()];
    let url = |model: &str| {
        format!("https://bedrock-runtime.us-east-1.amazonaws.com/model/{model}/invoke")
    };
    let target = testing::target("bedrock:embeddings:amazon.t", &json!({ "dimensions": 256 }));
    let one = |x: f64| json!({ "embedding": [x], "inputTextTokenCount": 2 });
    let played = Script::new()
        .exchange("POST", &url("amazon.t"), Reply::json(200, &one(0.5)))
        .exchange("POST", &url("amazon.t"), Reply::json(200, &one(0.25)))
        .play(|| Bedrock::embed(&target, &texts, &testing::context()));
    let found = played.result.expect("vectors");
    assert_eq!(found.vectors, [[0.5], [0.25]]);
    assert_eq!(found.usage.input_tokens, Some(4));
    let body = json!({ "inputText": "b", "dimensions": 256 });
    assert_eq!(played.requests[1].body_json(), Some(body));

    let target = testing::target("bedrock:embedding:cohere.embed-v3", &json!({}));
    let both = json!({ "embeddings": [[0.5], [0.25]] });
    let reply = Reply::json(200, &both).header("x-amzn-bedrock-input-token-count", "7");
    let played = Script::new()
        .exchange("POST", &url("cohere.embed-v3"), reply)
        .play(|| Bedrock::embed(&target, &texts, &testing::context()));
    let found = played.result.expect("vectors");
    assert_eq!(found.vectors, [[0.5], [0.25]]);
    assert_eq!(found.usage.input_tokens, Some(7));
    let body = json!({ "texts": ["a", "b"], "input_type": "search_document" });
    assert_eq!(played.requests[0].body_json(), Some(body));
}
