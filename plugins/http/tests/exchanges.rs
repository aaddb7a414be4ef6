//! What is sent for which config, and what a run sees of the response.

use plugin_http::Http;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request, http, log};

const URL: &str = "https://api.test/chat";

type Outcome = Played<Result<Completion, Error>>;

fn play(id: &str, config: &Value, prompt: &str, sent: (&str, &str), reply: Reply) -> Outcome {
    let target = testing::target(id, config);
    let mut request = Request::new(prompt);
    request.options_json = Some(json!({ "vars": { "user": "ann \"x\"", "n": 3 } }).to_string());
    Script::new()
        .exchange(sent.0, sent.1, reply)
        .play(|| Http::complete(&target, &request, &testing::context()))
}

/// The one exchange that a config becomes.
fn sent(config: &Value, prompt: &str, method: &str, url: &str) -> http::Request {
    let played = play(
        "http",
        config,
        prompt,
        (method, url),
        Reply::text(200, "ok"),
    );
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn text(request: &http::Request) -> String {
    String::from_utf8(request.body.clone().expect("a body")).expect("a text")
}

/// What a response becomes.
fn answered(config: &Value, reply: Reply) -> Result<Completion, Error> {
    play("https://api.test/chat", config, "Hi", ("GET", URL), reply).result
}

fn refused(config: &Value) -> Error {
    let target = testing::target("http", config);
    Script::new()
        .play(|| Http::complete(&target, &Request::new("Hi"), &testing::context()))
        .result
        .expect_err("no answer")
}

#[test]
fn a_body_of_json_is_filled_string_by_string() {
    let config = json!({
        "url": URL, "method": "put",
        "headers": { "X-User": "{{user}}", "Authorization": "" },
        "body": {
            "message": "{{prompt}}", "list": [1, "{{n}}", "{{missing}}"], "dumped": "{{user | dump}}",
            "nested": { "if": "{% if n > 2 %}many{% endif %}" },
        },
    });
    let sent = sent(&config, "say \"hi\",\n\\ok", "PUT", URL);
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "message": "say \"hi\",\n\\ok", "list": [1, "3", ""], "dumped": "ann \"x\"",
            "nested": { "if": "many" },
        }))
    );
    assert_eq!(sent.header_value("content-type"), Some("application/json"));
    assert_eq!(sent.header_value("x-user"), Some("ann \"x\""));
    assert_eq!(
        sent.header_value("authorization"),
        None,
        "the host's to add"
    );
    assert_eq!(sent.credential.as_deref(), Some("http-authorization"));
}

#[test]
fn what_auth_says_is_the_hosts_to_add() {
    let config = json!({ "url": URL, "auth": { "type": "api_key" } });
    let sent = sent(&config, "hello", "GET", URL);
    assert_eq!(sent.credential.as_deref(), Some("http-authorization"));
}

#[test]
fn a_chat_becomes_a_list_in_the_body() {
    let prompt = r#"[{"role":"user","content":"Hi"}]"#;
    let config = json!({ "url": URL, "body": { "messages": "{{prompt}}" } });
    let body = sent(&config, prompt, "POST", URL)
        .body_json()
        .expect("a JSON body");
    assert_eq!(body["messages"][0]["content"], "Hi");
}

#[test]
fn a_body_of_text_is_json_where_it_can_be() {
    for (body, expected) in [
        (
            r#"{"message": "{{prompt}}"}"#,
            r#"{"message":"a \"b\"\nc"}"#,
        ),
        (
            r#"{"message": {{prompt | dump}}, "n": {{n}}}"#,
            r#"{"message":"a \"b\"\nc","n":3}"#,
        ),
        (
            r#"{"message": "{{prompt}}", "n": {{n}}}"#,
            r#"{"message":"a \"b\"\nc","n":3}"#,
        ),
        (
            "message={{prompt | urlencode}}&n={{n}}",
            "message=a%20%22b%22%0Ac&n=3",
        ),
        ("{{prompt}}\n", "a \"b\"\nc\n"),
    ] {
        let sent = sent(
            &json!({ "url": URL, "body": body }),
            "a \"b\"\nc",
            "POST",
            URL,
        );
        assert_eq!(text(&sent), expected, "{body}");
        assert_eq!(
            sent.header_value("content-type").is_some(),
            body.starts_with("{\""),
            "{body}"
        );
    }
}

#[test]
fn data_cannot_add_fields_to_a_body() {
    let prompt = r#"x", "admin": "yes"#;
    let config = json!({ "url": URL, "body": r#"{"message": "{{prompt}}"}"# });
    let body = sent(&config, prompt, "POST", URL).body_json();
    assert_eq!(body, Some(json!({ "message": prompt })));
}

#[test]
fn an_address_is_filled_and_encoded() {
    let config = json!({
        "url": "https://api.test/u/{{user}}?a=1", "queryParams": { "q": "{{prompt}}", "n": 2 },
    });
    let url = "https://api.test/u/ann%20%22x%22?a=1&q=a%26b%3D%C3%BC&n=2";
    let sent = sent(&config, "a&b=ü", "GET", url);
    assert_eq!((sent.body, sent.credential), (None, None));
}

#[test]
fn data_stays_in_its_place_in_an_address() {
    let cases = [
        (
            "/a/{{prompt}}/x",
            "../../admin?all=1#",
            "/a/..%2F..%2Fadmin%3Fall%3D1%23/x",
        ),
        ("/a/{{prompt}}/x", "..\\..", "/a/..%5C../x"),
        ("/a/{{prompt}}", "%2e%2e/b", "/a/%252e%252e%2Fb"),
        ("/a/{{prompt}}.json", "..", "/a/...json"),
        ("/a/../b/{{prompt}}", "x", "/a/../b/x"),
        (
            "/a?q={{prompt}}&n={{n}}",
            "x&y=z #é",
            "/a?q=x%26y%3Dz%20%23%C3%A9&n=3",
        ),
        ("/a?q={{prompt}}", "../..", "/a?q=..%2F.."),
        ("/a?q={{prompt | urlencode}}", "x y", "/a?q=x%20y"),
        ("/a?q={{prompt | upper}}", "x/y", "/a?q=X%2FY"),
        ("/a{% set p = prompt %}/{{p}}", "x/y", "/a/x%2Fy"),
        (
            "/a{% set p %}{{prompt}}{% endset %}/{{p}}",
            "x/y",
            "/a/x%2Fy",
        ),
        (
            "/{% if n > 2 %}many/{{prompt}}{% endif %}",
            "x/y",
            "/many/x%2Fy",
        ),
        ("/{{prompt | safe}}", "v1/b?c=d e", "/v1/b?c=d%20e"),
    ];
    for (path, prompt, expected) in cases {
        for (config, base) in [
            (
                json!({ "url": format!("https://api.test{path}") }),
                "https://api.test",
            ),
            (
                json!({ "url": URL, "request": format!("GET {path} HTTP/1.1\nHost: x\n\n") }),
                "https://api.test",
            ),
        ] {
            let sent = sent(&config, prompt, "GET", &format!("{base}{expected}"));
            assert_eq!(sent.body, None);
        }
    }
}

#[test]
fn data_leads_no_path_upward() {
    for (path, prompt) in [
        ("/a/{{prompt}}/b", ".."),
        ("/a/.{{prompt}}", "."),
        ("/a/{{prompt}}", "."),
        ("/a/%2e{{prompt}}/b", "."),
        ("/{{prompt | safe}}", "a/%2E./b"),
        ("/a/../{{prompt}}", ".."),
    ] {
        let config = json!({ "url": format!("https://api.test{path}") });
        let target = testing::target("http", &config);
        let played = Script::new()
            .play(|| Http::complete(&target, &Request::new(prompt), &testing::context()));
        let error = played.result.expect_err("no answer");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{path}");
        assert!(
            error.message.contains("would lead elsewhere"),
            "{}",
            error.message
        );
    }
}

#[test]
fn options_stand_over_the_config_knob_by_knob() {
    let target = testing::target("http", &json!({ "url": URL, "headers": { "x-a": "1" } }));
    let mut request = Request::new("Hi");
    let options =
        json!({ "method": "PUT", "url": "https://api.test/other", "body": "{{prompt}}!" });
    request.options_json = Some(options.to_string());
    let played = Script::new()
        .exchange("PUT", "https://api.test/other", Reply::text(200, "ok"))
        .play(|| Http::complete(&target, &request, &testing::context()));
    assert_eq!(played.result.expect("an answer").message.text(), "ok");
    let sent = &played.requests[0];
    assert_eq!(text(sent), "Hi!");
    assert_eq!(sent.header_value("x-a"), Some("1"));
}

#[test]
fn an_id_may_be_the_address() {
    let played = play(
        "https://api.test/chat",
        &json!({}),
        "Hi",
        ("GET", URL),
        Reply::text(200, "ok"),
    );
    assert_eq!(played.result.expect("an answer").message.text(), "ok");
}

#[test]
fn a_request_may_be_written_as_text() {
    let raw = "POST /v1/{{user}}/ask HTTP/1.1\nHost: api.test\nContent-Type: application/json\nX-Say: {{prompt}}\nContent-Length: 9\n\n{\"message\": \"{{prompt}}\"}\n";
    let config = json!({ "url": "https://api.test/ignored?x", "request": raw, "headers": { "x-more": "1" } });
    let sent = sent(
        &config,
        "a\nX-Evil: 1",
        "POST",
        "https://api.test/v1/ann%20%22x%22/ask",
    );
    assert_eq!(text(&sent), r#"{"message":"a\nX-Evil: 1"}"#);
    let names: Vec<&str> = sent.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Content-Type", "X-Say", "x-more"]);
    assert_eq!(
        sent.header_value("x-say"),
        Some("a\nX-Evil: 1"),
        "the host refuses it"
    );
}

#[test]
fn a_transformed_prompt_is_laid_over_the_body() {
    let config = json!({
        "url": URL, "body": { "model": "m", "said": "{{prompt}}" },
        "transformRequest": "{\"message\": \"{{prompt}}\"}",
    });
    let body = sent(&config, "a \"b\"", "POST", URL)
        .body_json()
        .expect("a JSON body");
    assert_eq!(
        (&body["model"], &body["message"]),
        (&json!("m"), &json!("a \"b\""))
    );
    let config =
        json!({ "url": URL, "body": { "said": "{{prompt}}" }, "transformRequest": "<{{prompt}}>" });
    let body = sent(&config, "x", "POST", URL).body_json();
    assert_eq!(body, Some(json!({ "said": "<x>" })));
}

#[test]
fn the_answer_is_where_the_config_says() {
    let body = json!({ "choices": [{ "message": { "content": "Hello" } }], "n": 3 });
    for (config, output, json) in [
        (
            json!({ "transformResponse": "json.choices[0].message.content" }),
            "Hello".to_owned(),
            None,
        ),
        (
            json!({ "responseParser": "json.missing || json.n" }),
            "3".to_owned(),
            Some("3".to_owned()),
        ),
        (
            json!({ "transformResponse": "text" }),
            body.to_string(),
            None,
        ),
        (json!({}), body.to_string(), Some(body.to_string())),
    ] {
        let completion = answered(&config, Reply::json(200, &body)).expect("an answer");
        assert_eq!(completion.message.text(), output, "{config}");
        assert_eq!(completion.output_json, json, "{config}");
        assert_eq!(
            completion.metadata_json.as_deref(),
            Some(r#"{"http":{"status":200}}"#)
        );
    }
    let plain = answered(&json!({}), Reply::text(200, "just text")).expect("an answer");
    assert_eq!(
        (plain.message.text(), plain.output_json),
        ("just text".to_owned(), None)
    );
    let config = json!({ "transformResponse": "json.answer" });
    let error = answered(&config, Reply::json(200, &body)).expect_err("not there");
    assert_eq!(error.code, ErrorCode::BadResponse);
    assert_eq!(
        error.message,
        "`transformResponse` found nothing at `json.answer`"
    );
}

#[test]
fn a_status_that_is_no_answer_is_an_error() {
    for (status, body, code) in [
        (
            400,
            json!({ "error": { "message": "No.", "code": "context_length_exceeded" } }),
            ErrorCode::ContextLength,
        ),
        (401, json!({ "message": "No." }), ErrorCode::Auth),
        (403, json!({}), ErrorCode::Auth),
        (404, json!("No."), ErrorCode::NotFound),
        (408, json!({}), ErrorCode::Timeout),
        (422, json!({ "detail": "No." }), ErrorCode::InvalidRequest),
        (429, json!({}), ErrorCode::RateLimited),
        (
            429,
            json!({ "error": { "code": "insufficient_quota" } }),
            ErrorCode::QuotaExhausted,
        ),
        (500, json!({ "error": "No." }), ErrorCode::Transient),
        (302, json!({}), ErrorCode::BadResponse),
    ] {
        let error = answered(&json!({}), Reply::json(status, &body)).expect_err("an error");
        assert_eq!((error.code, error.status), (code, Some(status)), "{body}");
    }
    let accepting = json!({ "validateStatus": "status < 500" });
    let answer = answered(&accepting, Reply::text(404, "gone")).expect("an answer");
    assert_eq!(answer.message.text(), "gone");
    let strict = json!({ "validateStatus": [201] });
    let error = answered(&strict, Reply::text(200, "ok")).expect_err("not 201");
    assert_eq!(error.code, ErrorCode::BadResponse);
}

#[test]
fn a_config_is_checked_beyond_its_schema() {
    let pointers = |config: &Value| -> Vec<String> {
        Http::check_config(config)
            .into_iter()
            .map(|(pointer, _)| pointer)
            .collect()
    };
    let fine = json!({
        "url": URL, "body": {}, "transformResponse": "json.a", "validateStatus": "200-299",
        "transformRequest": "{{prompt}}",
    });
    assert_eq!(pointers(&fine), Vec::<String>::new());
    for (config, pointer) in [
        (
            json!({ "transformResponse": "file://parse.js" }),
            "/transformResponse",
        ),
        (
            json!({ "responseParser": "json.a.map(f)" }),
            "/responseParser",
        ),
        (
            json!({ "transformRequest": "(p) => ({ p })" }),
            "/transformRequest",
        ),
        (
            json!({ "validateStatus": "file://check.js" }),
            "/validateStatus",
        ),
        (json!({ "multipart": {} }), "/multipart/parts"),
        (json!({ "request": "hello" }), "/request"),
        (
            json!({ "request": "GET / HTTP/1.1\nno header" }),
            "/request",
        ),
        (
            json!({ "request": "GET / HTTP/1.1\nAuthorization: Bearer x" }),
            "/request",
        ),
        (json!({ "request": "GET / HTTP/1.1", "body": {} }), "/body"),
    ] {
        assert_eq!(pointers(&config), [pointer], "{config}");
    }
}

#[test]
fn what_cannot_be_sent_is_said() {
    for config in [
        json!({}),
        json!({ "url": URL, "body": "{{ prompt prompt }}" }),
        json!({ "url": URL, "body": "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}" }),
        json!({ "url": URL, "transformResponse": "json.a()" }),
        json!({ "url": URL, "validateStatus": "no" }),
        json!({ "url": URL, "request": "no" }),
    ] {
        assert_eq!(refused(&config).code, ErrorCode::InvalidRequest, "{config}");
    }
}

#[test]
fn a_knob_that_does_nothing_is_a_warning() {
    let config = json!({ "url": URL, "bodyy": {} });
    let played = play("http", &config, "Hi", ("GET", URL), Reply::text(200, "ok"));
    assert_eq!(played.log[0].level, log::Level::Warn);
    assert!(played.log[0].message.contains("bodyy"), "{:?}", played.log);
}

#[test]
fn the_plugin_says_what_it_wants() {
    let info = Http::describe();
    assert_eq!(info.provider_prefixes, ["http", "https"]);
    assert_eq!(info.wants.hosts, Vec::<String>::new());
    assert_eq!(info.wants.host_config_key.as_deref(), Some("url"));
    assert_eq!(info.wants.credentials[0].scheme, "header:authorization");
    let extras: Value = serde_json::from_str(&info.metadata_json.expect("extras")).expect("JSON");
    assert_eq!(extras["optionalCredentials"], json!(["http-authorization"]));
    assert_eq!(extras["authCredential"], "http-authorization");
}

#[test]
fn told_so_it_gives_the_body_as_it_came() {
    let config = json!({ "$raw": true });
    let reply = Reply::json(200, &json!({ "a": [1] }))
        .header("x-id", "one")
        .header("x-id", "two");
    let completion = answered(&config, reply).expect("an answer");
    assert_eq!(completion.output_json.as_deref(), Some(r#"{"a":[1]}"#));
    let metadata: Value = serde_json::from_str(&completion.metadata_json.expect("metadata"))
        .expect("metadata is JSON");
    assert_eq!(metadata["http"]["status"], 200);
    assert_eq!(metadata["$response"]["status"], 200);
    assert_eq!(metadata["$response"]["headers"]["x-id"], "one, two");
    let plain = answered(&config, Reply::text(200, "not JSON")).expect("an answer");
    assert_eq!(plain.output_json, None);
    assert_eq!(plain.raw_json.as_deref(), Some("\"not JSON\""));
    let refused = answered(&config, Reply::text(500, "no")).expect_err("a status that is none");
    assert_eq!(refused.code, ErrorCode::Transient);
}

#[test]
fn what_code_made_of_the_prompt_is_sent() {
    for (made, body, expected) in [
        (json!({ "q": 1 }), Value::Null, json!({ "q": 1 })),
        (
            json!({ "q": "{{x}}" }),
            json!({ "m": "x" }),
            json!({ "m": "x", "q": "{{x}}" }),
        ),
        (
            json!("HI"),
            json!({ "m": "{{prompt}}" }),
            json!({ "m": "HI" }),
        ),
    ] {
        let target = testing::target("http", &json!({ "url": URL, "body": body }));
        let mut request = Request::new("Hi");
        request.options_json = Some(json!({ "$request": made }).to_string());
        let played = Script::new()
            .exchange("POST", URL, Reply::text(200, "ok"))
            .play(|| Http::complete(&target, &request, &testing::context()));
        played.result.expect("an answer");
        assert_eq!(played.requests[0].body_json(), Some(expected));
    }
}
