//! A run over real HTTP against a model API: the right requests, the right rows, and the key in
//! no place but the `authorization` header.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

const KEY: &str = "sk-test-0123456789-very-secret";

const CONFIG: &str = r#"
description: over HTTP
prompts:
  - "Say {{word}}"
  - label: chat
    raw: '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say {{word}}"}]'
providers:
  - id: openai:gpt-test
    config: { temperature: 0.5, max_tokens: 7, custom_knob: true }
tests:
  - vars: { word: yes }
    assert: [{ type: icontains, value: "{{word}}" }]
  - vars: { word: no }
"#;

fn run(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "-o", "out.json"])
}

fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}

#[test]
fn the_requests_and_the_rows_are_right() {
    let api = ModelApi::start();
    let finished = run(&api, CONFIG).finish();
    finished.expect_code(0);

    let mut requests = api.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/v1/chat/completions")
        );
        assert_eq!(
            request.header("authorization"),
            Some(format!("Bearer {KEY}").as_str())
        );
        assert_eq!(request.json["model"], "gpt-test");
        assert_eq!(request.json["temperature"], 0.5);
        assert_eq!(request.json["max_tokens"], 7);
        assert_eq!(
            request.json["custom_knob"], true,
            "unknown keys pass through"
        );
    }
    requests.sort_by_key(|request| request.json["messages"].to_string());
    let chat =
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say no"}]);
    assert!(
        requests
            .iter()
            .any(|request| request.json["messages"] == chat)
    );
    let plain = json!([{"role": "user", "content": "Say yes"}]);
    assert!(
        requests
            .iter()
            .any(|request| request.json["messages"] == plain)
    );

    let rows = rows(&finished);
    let order: Vec<_> = rows
        .iter()
        .map(|row| (row["testIdx"].as_u64(), row["promptIdx"].as_u64()))
        .collect();
    assert_eq!(
        order,
        [
            (Some(0), Some(0)),
            (Some(0), Some(1)),
            (Some(1), Some(0)),
            (Some(1), Some(1))
        ]
    );
    assert_eq!(rows[0]["response"]["output"], "Say yes");
    assert_eq!(rows[0]["success"], true);
    assert_eq!(rows[0]["failureReason"], 0);
    assert_eq!(rows[0]["response"]["tokenUsage"]["total"], 4);
    assert_eq!(rows[0]["response"]["finishReason"], "stop");
    assert_eq!(
        rows[0]["gradingResult"]["componentResults"][0]["pass"],
        true
    );
    assert_eq!(rows[3]["vars"], json!({"word": "no"}));
}

/// The server sends the key back in a header, in the body, and encoded; it must be found in no
/// file, no message and no log.
#[test]
fn the_key_is_nowhere_even_if_the_server_echoes_it() {
    let api = ModelApi::start();
    let body = json!({
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": format!("your key is {KEY}, truly {KEY}")}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        "debug": {"authorization": format!("Bearer {KEY}")},
    });
    api.script([
        Answer::json(&body).header("x-echo", KEY),
        Answer::error(400, "bad", &format!("invalid key {KEY}")),
        Answer::error(
            401,
            "invalid_api_key",
            &format!("Incorrect API key provided: {KEY}"),
        ),
    ]);
    let finished = run(&api, CONFIG)
        .args(["-v", "-o", "out.jsonl", "-o", "out.csv", "-j", "1"])
        .env("RUNNER_LOG", "trace")
        .finish();
    assert_eq!(
        rows(&finished)[0]["response"]["output"],
        "your key is [masked], truly [masked]"
    );
    for (place, text) in [("stdout", &finished.stdout), ("stderr", &finished.stderr)] {
        assert!(!text.contains(KEY), "the key is in {place}");
    }
    let again = finished.again();
    for folder in [again.project(), again.home()] {
        for file in files(folder) {
            let bytes = std::fs::read(&file).expect("readable");
            let found = bytes
                .windows(KEY.len())
                .any(|window| window == KEY.as_bytes());
            assert!(!found, "the key is in {}", file.display());
        }
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let kind = entry.file_type().expect("known");
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

/// One bad row is that row's error: nothing else stops, and the run is not green.
#[test]
fn an_error_costs_its_row_only() {
    let api = ModelApi::start();
    api.rule(|seen| {
        seen.last_user_message()?
            .contains("no")
            .then(|| Answer::error(404, "model_not_found", "no such model"))
    });
    let finished = run(&api, CONFIG).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    let outcomes: Vec<_> = rows
        .iter()
        .map(|row| row["outcome"].as_str().expect("a word"))
        .collect();
    assert_eq!(outcomes, ["passed", "passed", "error", "error"]);
    assert_eq!(rows[2]["errorCode"], "not-found");
    assert_eq!(rows[2]["failureReason"], 2);
    assert!(
        rows[2]["error"]
            .as_str()
            .expect("a message")
            .contains("no such model")
    );
    let stats = &finished.json("out.json")["results"]["stats"];
    assert_eq!(
        (stats["successes"].as_u64(), stats["errors"].as_u64()),
        (Some(2), Some(2))
    );
}

#[test]
fn a_429_is_tried_again_when_the_server_says() {
    let api = ModelApi::start();
    api.script([
        Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "20")
    ]);
    // Progress would say that the lane waits, if it comes at that moment.
    let finished = run(&api, CONFIG).arg("--no-progress-bar").finish();
    assert_eq!(api.requests().len(), 5, "four cases and one retry");
    assert_snapshot!(finished.told());
}

#[test]
fn a_spent_quota_is_not_tried_again() {
    let api = ModelApi::start();
    api.always(Answer::error(
        429,
        "insufficient_quota",
        "you exceeded your current quota",
    ));
    let finished = run(&api, CONFIG).finish();
    finished.expect_code(100);
    // Each of the four cases asks once at most: who comes later need not ask any more.
    assert!((1..=4).contains(&api.requests().len()));
    for row in rows(&finished) {
        assert_eq!(row["errorCode"], "quota-exhausted");
    }
}

#[test]
fn a_missing_key_is_found_before_anything_is_sent() {
    let api = ModelApi::start();
    let finished = Run::new()
        .config(CONFIG)
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval"])
        .finish();
    assert_snapshot!(finished.told());
    assert!(api.requests().is_empty());
}

/// `apiKeyEnvar` and `apiBaseUrl` in the config, and a key written into it: no file keeps it.
#[test]
fn the_key_can_come_from_another_variable_or_the_config() {
    let api = ModelApi::start();
    let config = format!(
        "prompts: [hi]\nproviders:\n  - id: openai:chat:a\n    config: {{ apiBaseUrl: '{0}', apiKeyEnvar: OTHER_KEY }}\n  \
         - id: openai:chat:b\n    config: {{ apiBaseUrl: '{0}', apiKey: '{{{{env.LATER}}}}' }}\nenv: {{ LATER: sk-written-into-env }}\n",
        api.url()
    );
    let finished = Run::new()
        .config(&config)
        .env("OTHER_KEY", KEY)
        .args(["eval", "-j", "1", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    let requests = api.requests();
    assert_eq!(
        requests[0].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(
        requests[1].header("authorization"),
        Some("Bearer sk-written-into-env")
    );
    for request in &requests {
        assert!(
            request.json.get("apiKey").is_none(),
            "the guest never sees a key"
        );
    }
    assert!(
        !finished.read("out.json").contains("sk-written-into-env"),
        "{}",
        finished.read("out.json")
    );
}
