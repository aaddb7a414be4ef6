//! What of a config is left out, and what stays.

use serde_json::json;

use super::*;

#[test]
fn no_secret_beside_a_template_in_a_body_or_behind_a_path_is_shown() {
    let provider = |secret: &str| {
        json!({"providers": [{
            "id": format!("http://h/a;token={secret}?q=1#access_token={secret}&x=1"),
            "config": {
                "headers": {"X-Api-Key": format!("{secret}{{{{ q }}}}"), "Authorization": "Bearer {{ env.A }}"},
                "body": format!("{{\"api_key\": \"{secret}\", \"q\": \"{{{{ q }}}}\", \"a\\\"token\" : \"{secret}{{{{e}}}}\", \"token\": 5}}"),
                "request": format!("POST /y;token={secret}?a=1 HTTP/1.1\nX-Auth-Token: {secret}{{{{e}}}}\n\n{{\"api_key\":\"{secret}\"}}"),
            },
        }, {"id": "x", "config": {"body": format!("model=m&api_key={secret}&q={{{{q}}}}")}},
        {"id": "x", "config": {"transformRequest": format!("{{\"api_key\": \"{secret}\"}}"), "body": {"s": format!("{{\"password\": \"{secret}\"}}"), "passphrase": secret}}}],
        "tests": [{"assert": [{"type": "webhook", "value": format!("http://h/w?token={secret}")}, {"type": "contains", "value": "http://h/w?token=a"}]}]})
    };
    assert_eq!(redacted(provider("s3")), provider(HIDDEN));
    let hook = |secret: &str| json!({"type": "not-webhook", "value": format!("http://h/w?token={secret}")});
    assert_eq!(redacted_assertion(hook("s3")), hook(HIDDEN));
}

#[test]
fn an_assertion_shows_no_key_of_its_config_or_the_provider_that_it_names() {
    let judge = |key: &str| json!({"id": "x", "config": {"apiKey": key, "temperature": 0}});
    let part = |key: &str| {
        json!({
            "provider": judge(key),
            "config": {"api_key": key, "strict": true},
            "value": {"provider": judge("the grader's own")},
            "assert": [{"type": "a", "provider": judge(key)}],
        })
    };
    assert_eq!(redacted_assertion(part("sk-1")), part(HIDDEN));
    assert_eq!(redacted_assertion(json!("text")), json!("text"));
}

#[test]
fn no_secret_of_a_provider_s_address_headers_or_query_is_shown() {
    let provider = |secret: &str| {
        json!({"providers": [{
            "id": format!("http://u:{secret}@h/a?q=1&api_key={secret}&X-Amz-Signature={secret}#f"),
            "config": {
                "url": format!("https://{secret}@h?key={secret}"),
                "headers": {"Cookie": secret, "X-Auth": secret, "Accept": "a/b"},
                "queryParams": {"key": secret, "sig": secret, "page": "2"},
                "other": "https://h/{{ env.A }}?key={{ env.KEY }}",
                "request": format!("POST /a?q={{{{ q }}}}&api_key={secret} HTTP/1.1\nHost: h\nX-Api-Key: {secret}\n\ntoken: its body"),
                "key": "a name",
            },
        }]})
    };
    assert_eq!(redacted(provider("s3")), provider(HIDDEN));
    let judge = |text: &str| json!({"provider": text});
    let shown = redacted_assertion(judge("http://h?token=abc&x"));
    assert_eq!(shown, judge("http://h?token=[hidden]&x"));
    let asked = json!({"tests": [{"vars": {"page": "http://h?token=abc"}}]});
    assert_eq!(redacted(asked.clone()), asked);
    let sent = |secret: &str| {
        let tools = json!([{"server_url": format!("https://u:{secret}@h/?api_key={secret}")}]);
        json!({
            "prompts": [{"raw": "p", "config": {"tools": tools}}],
            "tests": [{"options": {"tools": tools}}],
            "scenarios": [{"config": [{"vars": {"page": "http://h?token=abc"}}]}],
        })
    };
    assert_eq!(redacted(sent("s3")), sent(HIDDEN));
}

#[test]
fn tools_show_their_schemas_and_no_key() {
    let tools = |secret: &str| {
        json!([
            {"type": "mcp", "server_url": format!("https://u:{secret}@h?api_key={secret}"), "authorization": secret, "headers": {"Authorization": secret}},
            {"type": "function", "function": {"name": "login", "parameters": {"type": "object", "properties": {
                "password": {"type": "string", "default": "none"}, "token": secret,
            }}}},
        ])
    };
    assert_eq!(redacted_provider(tools("s3")), tools(HIDDEN));
}

#[test]
fn values_of_env_and_of_keys_named_like_secrets_are_left_out() {
    let config = json!({
        "env": {"A": "literal", "B": "{{ env.B }}", "C": 5, "D": null},
        "providers": [{"id": "x", "config": {
            "apiKey": "sk-1", "headers": {"Authorization": "Bearer 1", "x-api-key": "k"}, "max_tokens": 5,
            "apiKeyEnvar": "OTHER", "client_secret": "{{ env.S }}",
            "accessKeyId": "AKID", "secretAccessKey": "s",
            "auth": {"type": "api_key", "placement": "header", "keyName": "X", "value": "pw"},
        }}],
        "plugins": {"acme": {"permissions": {"credentials": {"key": {"env": "ACME_API_KEY"}}}}},
    });
    let expected = json!({
        "env": {"A": HIDDEN, "B": "{{ env.B }}", "C": HIDDEN, "D": null},
        "providers": [{"id": "x", "config": {
            "apiKey": HIDDEN, "headers": {"Authorization": HIDDEN, "x-api-key": HIDDEN}, "max_tokens": 5,
            "apiKeyEnvar": "OTHER", "client_secret": "{{ env.S }}",
            "accessKeyId": HIDDEN, "secretAccessKey": HIDDEN,
            "auth": {"type": "api_key", "placement": "header", "keyName": "X", "value": HIDDEN},
        }}],
        "plugins": {"acme": {"permissions": {"credentials": {"key": {"env": "ACME_API_KEY"}}}}},
    });
    assert_eq!(redacted(config), expected);
}
