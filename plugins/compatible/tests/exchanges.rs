//! What is sent to which server, and what the component asks for. The shape itself is tested
//! with `openai`.

use std::collections::BTreeSet;

use plugin_compatible::{Compatible, Names};
use plugin_model_api::client::Served;
use plugin_model_api::server::{Form, MODEL, Server};
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{
    Completion, Error, ErrorCode, Info, Message, Part, Provider, Request, Role, http,
};
use runner_plugin_embed::ProviderEmbed;

fn play(
    id: &str,
    config: &Value,
    request: &Request,
    url: &str,
) -> Played<Result<Completion, Error>> {
    let target = testing::target(id, config);
    let reply = Reply::json(
        200,
        &json!({ "choices": [{ "text": "ok", "message": { "content": "ok" } }] }),
    );
    Script::new()
        .exchange("POST", url, reply)
        .play(|| Compatible::complete(&target, request, &testing::context()))
}

fn sent(id: &str, config: &Value, request: &Request, url: &str) -> http::Request {
    let played = play(id, config, request, url);
    played.result.expect(id);
    played.requests.into_iter().next().expect("one request")
}

fn extras(info: &Info) -> Value {
    serde_json::from_str(info.metadata_json.as_deref().expect("some")).expect("JSON")
}

fn address(server: &Server) -> String {
    if server.base_url.is_empty() {
        return "https://mine.test".to_owned();
    }
    server.base_url.to_owned()
}

#[test]
fn every_server_is_asked_at_its_address_with_its_key() {
    for server in Names::SERVERS {
        let base = address(server);
        let below = if base.ends_with(server.below) {
            String::new()
        } else {
            server.below.replace(MODEL, "a/m%3A1")
        };
        let config = match server.base_url {
            "" => json!({ "apiBaseUrl": base }),
            _ => json!({}),
        };
        for prefix in server.prefixes {
            for id in [format!("{prefix}:a/m:1"), format!("{prefix}:chat:a/m:1")] {
                let url = format!("{base}{below}/chat/completions");
                let sent = sent(&id, &config, &Request::new("Hi"), &url);
                assert_eq!(
                    sent.body_json(),
                    Some(
                        json!({ "model": "a/m:1", "messages": [{ "role": "user", "content": "Hi" }] })
                    ),
                    "{id}"
                );
                assert_eq!(
                    sent.credential.as_deref(),
                    server.key.map(|key| key.name),
                    "{id}"
                );
                assert_eq!(sent.bucket.as_deref(), Some("a/m:1"));
                let target = testing::target(&id, &config);
                assert_eq!(Compatible::check_target(&target), Ok(()), "{id}");
            }
        }
    }
}

#[test]
fn a_prefix_gets_what_its_own_server_needs_and_nothing_else() {
    let info = Compatible::describe();
    let wants_of = &extras(&info)["wantsOf"];
    let mut seen = BTreeSet::new();
    for server in Names::SERVERS {
        let hosts: Vec<&str> = info
            .wants
            .hosts
            .iter()
            .map(String::as_str)
            .filter(|host| {
                let rest = server.base_url.strip_prefix(host);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            .collect();
        assert_eq!(hosts.is_empty(), server.base_url.is_empty());
        let own = json!({
            "hosts": hosts,
            "credentials": server.key.map(|key| key.name).into_iter().collect::<Vec<_>>(),
            "settings": server.setting.into_iter().collect::<Vec<_>>(),
        });
        for prefix in server.prefixes {
            assert_eq!(wants_of[prefix], own, "{prefix}");
            assert!(seen.insert(*prefix), "{prefix} is there twice");
        }
    }
    assert_eq!(info.provider_prefixes.len(), seen.len());
    let mut names: Vec<&String> = info
        .wants
        .credentials
        .iter()
        .map(|want| &want.name)
        .collect();
    names.dedup();
    assert_eq!(
        names.len(),
        info.wants.credentials.len(),
        "a key is of one server"
    );
    assert!(
        info.wants
            .credentials
            .iter()
            .all(|want| want.scheme == "bearer")
    );
    assert_eq!(info.wants.host_config_key.as_deref(), Some("apiBaseUrl"));
}

#[test]
fn further_variables_and_keys_that_may_be_missing_are_said() {
    let extras = extras(&Compatible::describe());
    assert_eq!(
        extras["credentialEnvs"],
        json!({ "deepinfra-key": ["DEEPINFRA_TOKEN"], "nscale-key": ["NSCALE_API_KEY"] })
    );
    let may_miss = json!([
        "docker-key",
        "envoy-key",
        "helicone-key",
        "litellm-key",
        "vllm-key"
    ]);
    assert_eq!(extras["credentialsIfSet"], may_miss);
    let url = "http://localhost:8000/v1/chat/completions";
    let without = json!({ "$without": ["vllm-key"] });
    let sent = sent("vllm:m", &without, &Request::new("Hi"), url);
    assert_eq!(sent.credential, None);
    assert_eq!(sent.body_json().expect("a body").get("$without"), None);
}

#[test]
fn an_address_of_ones_own_gets_the_end_that_the_server_has() {
    for (id, base, url) in [
        (
            "envoy:m",
            "https://g.test",
            "https://g.test/v1/chat/completions",
        ),
        (
            "envoy:m",
            "https://g.test/v1/",
            "https://g.test/v1/chat/completions",
        ),
        (
            "deepseek:m",
            "https://p.test/x",
            "https://p.test/x/chat/completions",
        ),
        (
            "f5:/gate/m?",
            "https://f.test/api/",
            "https://f.test/api/gate/m%3F/chat/completions",
        ),
        (
            "cloudera:m",
            "https://d.test/endpoints/m/v1",
            "https://d.test/endpoints/m/v1/chat/completions",
        ),
    ] {
        let played = play(id, &json!({ "apiBaseUrl": base }), &Request::new("Hi"), url);
        assert!(played.result.is_ok(), "{base}: {:?}", played.result);
    }
}

#[test]
fn limits_and_developers_have_the_servers_names() {
    let mut request = Request::new("Hi");
    request.messages = vec![Message::new(Role::Developer, "Be brief.")];
    request.max_tokens = Some(5);
    request.seed = Some(7);
    for (id, url, limit) in [
        (
            "deepseek:m",
            "https://api.deepseek.com/v1/chat/completions",
            "max_tokens",
        ),
        (
            "cerebras:m",
            "https://api.cerebras.ai/v1/chat/completions",
            "max_completion_tokens",
        ),
        (
            "helicone:openai/o3",
            "http://localhost:8080/ai/chat/completions",
            "max_completion_tokens",
        ),
        (
            "helicone:meta/llama",
            "http://localhost:8080/ai/chat/completions",
            "max_tokens",
        ),
    ] {
        let body = sent(id, &json!({}), &request, url)
            .body_json()
            .expect("a body");
        assert_eq!(body[limit], 5, "{id}: {body}");
        assert_eq!(body["seed"], 7);
        assert_eq!(body["messages"][0]["role"], "system");
    }
}

#[test]
fn completions_and_vectors_are_made_where_the_server_has_them() {
    let url = "https://api.together.xyz/v1/completions";
    let sent = sent(
        "togetherai:completion:m",
        &json!({}),
        &Request::new("Once"),
        url,
    );
    assert_eq!(
        sent.body_json(),
        Some(json!({ "model": "m", "prompt": "Once" }))
    );

    let inputs = ["a".to_owned()];
    let embed = |id: &str, url: &str| {
        let target = testing::target(id, &json!({}));
        let reply = Reply::json(200, &json!({ "data": [{ "embedding": [1] }] }));
        Script::new()
            .exchange("POST", url, reply)
            .play(|| Compatible::embed(&target, &inputs, &testing::context()))
    };
    let url = "https://api.novita.ai/openai/v1/embeddings";
    let played = embed("novita:embeddings:e", url);
    assert_eq!(played.result.expect("vectors").vectors, [[1.0]]);
    assert_eq!(played.requests[0].credential.as_deref(), Some("novita-key"));
    for id in ["novita:m", "deepseek:m", "deepseek:embedding:e"] {
        let target = testing::target(id, &json!({}));
        let error = Compatible::embed(&target, &inputs, &testing::context());
        assert_eq!(
            error.expect_err("none").code,
            ErrorCode::Unsupported,
            "{id}"
        );
    }
}

#[test]
fn what_cannot_be_served_is_found_at_load_and_again_when_called() {
    for (id, config, says) in [
        ("deepseek", json!({}), "write `deepseek:MODEL`"),
        ("aliyun:chat", json!({}), "names no model"),
        (
            "xai:video:grok",
            json!({}),
            "no form `video`; write `xai:MODEL`",
        ),
        ("hyperbolic:image", json!({}), "names no model"),
        ("perplexity:embedding:m", json!({}), "no form `embedding`"),
        ("envoy:m", json!({}), "or set ENVOY_API_BASE_URL"),
        ("unheard:m", json!({}), "no server is called `unheard`"),
    ] {
        let target = testing::target(id, &config);
        let at_load = Compatible::check_target(&target).expect_err("refused");
        let called = Compatible::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(called.expect_err("no answer"), at_load);
        assert!(at_load.message.contains(says), "{}", at_load.message);
    }
    for (id, config, says) in [
        (
            "xai:grok",
            json!({ "region": "eu-west-1" }),
            "REGION.api.x.ai",
        ),
        ("cloudera:m", json!({ "domain": "d" }), "/namespaces/"),
        ("helicone:m", json!({ "router": "r" }), "/router/NAME"),
        (
            "jfrog:m",
            json!({ "baseUrl": "https://j.test" }),
            "apiBaseUrl",
        ),
        ("jfrog:..", json!({}), "`..`"),
    ] {
        let error = Compatible::check_target(&testing::target(id, &config)).expect_err("refused");
        assert!(error.message.contains(says), "{}", error.message);
    }
    assert_eq!(
        Compatible::check_config(&json!({ "functionToolCallbacks": {} })).len(),
        1
    );
}

#[test]
fn what_truefoundry_keeps_of_a_call_is_said_in_headers() {
    let config = json!({
        "metadata": { "user": "Jürgen 🦀\n" }, "loggingConfig": { "enabled": true },
        "headers": { "x-tfy-metadata": "old", "x-a": "b" }, "iteration_limit": 3,
    });
    let url = "https://llm-gateway.truefoundry.com/chat/completions";
    let chat = sent("truefoundry:a/m", &config, &Request::new("Hi"), url);
    assert_eq!(
        chat.body_json(),
        Some(json!({
            "model": "a/m", "messages": [{ "role": "user", "content": "Hi" }], "iteration_limit": 3,
        }))
    );
    let said = |name: &str| {
        let headers = chat.headers.iter();
        let values = headers.filter(|(header, _)| header.eq_ignore_ascii_case(name));
        values.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        said("x-tfy-metadata"),
        [r#"{"user":"J\u00fcrgen \ud83e\udd80\n"}"#]
    );
    assert_eq!(said("x-tfy-logging-config"), [r#"{"enabled":true}"#]);
    assert_eq!(said("x-a"), ["b"]);

    let target = testing::target("truefoundry:embedding:e", &json!({ "metadata": "text" }));
    let url = "https://llm-gateway.truefoundry.com/embeddings";
    let reply = Reply::json(200, &json!({ "data": [{ "embedding": [1] }] }));
    let played = Script::new()
        .exchange("POST", url, reply)
        .play(|| Compatible::embed(&target, &["a".to_owned()], &testing::context()));
    assert_eq!(
        played.requests[0].header_value("x-tfy-metadata"),
        Some("text")
    );
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "model": "e", "input": ["a"] }))
    );
    // Of another server it is a key of the body.
    let url = "https://api.deepseek.com/v1/chat/completions";
    let other = sent(
        "deepseek:m",
        &json!({ "metadata": {} }),
        &Request::new("Hi"),
        url,
    );
    assert_eq!(other.body_json().expect("a body")["metadata"], json!({}));
}

#[test]
fn an_answer_and_an_error_of_a_recorded_server() {
    let url = "https://api.deepseek.com/v1/chat/completions";
    let target = testing::target("deepseek:deepseek-reasoner", &json!({}));
    let ask = |reply: Reply| {
        Script::new()
            .exchange("POST", url, reply)
            .play(|| Compatible::complete(&target, &Request::new("Hi"), &testing::context()))
            .result
    };
    let body = json!({
        "model": "deepseek-reasoner",
        "choices": [{ "finish_reason": "stop", "message": {
            "role": "assistant", "content": "4", "reasoning_content": "2+2",
        } }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12,
                   "prompt_tokens_details": { "cached_tokens": 2 } },
    });
    let completion = ask(Reply::json(200, &body)).expect("an answer");
    assert_eq!(
        completion.message.content,
        [
            Part::Reasoning("2+2".to_owned()),
            Part::Text("4".to_owned())
        ]
    );
    assert_eq!(completion.usage.cache_read_tokens, Some(2));
    let body = json!({ "error": { "message": "Insufficient Balance", "type": "unknown_error" } });
    let error = ask(Reply::json(402, &body)).expect_err("an error");
    assert_eq!(
        (error.code, error.status),
        (ErrorCode::QuotaExhausted, Some(402))
    );
}

/// The README's table, row by row, as the servers have it.
#[test]
fn the_readme_lists_the_servers_as_they_are() {
    let code = |text: &str| format!("`{text}`");
    let codes = |texts: &[&str]| {
        texts
            .iter()
            .copied()
            .map(code)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let rows: Vec<String> = Names::SERVERS
        .iter()
        .map(|server| {
            let address = match (server.base_url, server.below) {
                ("", below) => format!("yours, with `{below}`"),
                (base, "") => code(base),
                (base, below) => format!("`{base}`, with `{below}`"),
            };
            let setting = server.setting.map(code).unwrap_or_default();
            let key = server.key.map_or_else(String::new, |key| {
                codes(key.envs) + if key.needed { "" } else { ", if set" }
            });
            let forms = server.forms.iter().map(|form| match form {
                Form::Chat => "chat",
                Form::Completion => "completion",
                Form::Embedding => "embedding",
            });
            let forms = forms.chain(server.own.iter().map(|(word, _)| *word));
            let forms = forms.collect::<Vec<_>>().join(", ");
            let cells = [codes(server.prefixes), address, setting, key, forms];
            let cells = cells.map(|cell| {
                if cell.is_empty() {
                    cell
                } else {
                    format!(" {cell}")
                }
            });
            format!("|{} |", cells.join(" |"))
        })
        .collect();
    let readme = include_str!("../README.md");
    let table = readme
        .lines()
        .skip_while(|line| !line.starts_with("| id begins"));
    let table: Vec<&str> = table
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(table, rows);
}

#[test]
fn what_litellm_says_that_a_call_cost_is_its_cost() {
    let cost = |header: Option<&str>| {
        let body =
            json!({ "choices": [{ "message": { "content": "ok" } }], "usage": { "cost": 7 } });
        let reply = Reply::json(200, &body);
        let reply = match header {
            Some(value) => reply.header("X-LiteLLM-Response-Cost", value),
            None => reply,
        };
        let config = json!({ "apiBaseUrl": "https://l.test" });
        let target = testing::target("litellm:m", &config);
        let url = "https://l.test/chat/completions";
        let played = Script::new()
            .exchange("POST", url, reply)
            .play(|| Compatible::complete(&target, &Request::new("Hi"), &testing::context()));
        played.result.expect("an answer").cost_usd
    };
    assert_eq!(cost(Some("0.00125")), Some(0.00125));
    assert_eq!(cost(Some("3.5e-06")), Some(3.5e-6));
    assert_eq!(cost(Some("0.0")), Some(0.0));
    for none in [
        None,
        Some(""),
        Some("None"),
        Some("nan"),
        Some("inf"),
        Some("-1"),
    ] {
        assert_eq!(cost(none), None, "{none:?}");
    }
}
