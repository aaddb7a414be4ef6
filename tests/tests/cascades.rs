//! `assert-any`, `when`, guardrails that are wanted, tools of the provider, webhooks behind a
//! grant, `--grader`, and prices: what a config says about grading, from end to end.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

const KEY: &str = "sk-test-key-of-a-test";

fn run(api: &ModelApi, config: &str) -> Run {
    Run::new()
        .config(config)
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "--no-table", "-o", "out.json"])
}

/// Outcome and score of each row, and (pass, skipped) of each of its components.
fn rows(finished: &Finished) -> Vec<(Value, Value)> {
    let document = finished.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    let component = |one: &Value| json!([one["pass"], one["skipped"] == true]);
    rows.iter()
        .map(|row| {
            let components = row["gradingResult"]["componentResults"].as_array();
            let components: Value = components.expect("graded").iter().map(component).collect();
            (json!([row["outcome"], row["score"]]), components)
        })
        .collect()
}

#[test]
fn one_of_a_set_is_enough_and_all_of_it_is_shown() {
    let finished = Run::new()
        .config(
            "prompts: ['{{w}}']\nproviders: [echo]\ntests:\n\
             - vars: { w: a }\n  assert: [{ type: assert-any, assert: [{ type: equals, value: b }, { type: equals, value: a }] }]\n\
             - vars: { w: c }\n  assert: [{ type: assert-any, assert: [{ type: equals, value: b }, { type: equals, value: a }] }]\n",
        )
        .args(["eval", "-o", "out.json"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    let shown = json!([[true, false], [false, false], [true, false]]);
    assert_eq!(rows[0], (json!(["passed", 1.0]), shown));
    let shown = json!([[false, false], [false, false], [false, false]]);
    assert_eq!(rows[1], (json!(["failed", 0.0]), shown));
}

#[test]
fn a_dear_judge_is_asked_only_if_a_cheap_assertion_failed() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let verdict = r#"{"pass": true, "score": 0.5, "reason": "near enough"}"#;
        (seen.json["model"] == "judge").then(|| Answer::text(verdict))
    });
    let finished = run(
        &api,
        "prompts: ['{{w}}']\nproviders: ['openai:m']\n\
         defaultTest: { options: { provider: 'openai:judge' }, assert: [{ type: equals, value: yes, weight: 0 }, { type: llm-rubric, value: 'means yes', when: failed }] }\n\
         tests: [{ vars: { w: 'yes' } }, { vars: { w: sure } }]\n",
    )
    .args(["-o", "out.html", "-o", "out.junit.xml"])
    .finish();
    finished.expect_code(0);
    let judged = api.requests();
    let judged = judged.iter().filter(|it| it.json["model"] == "judge");
    assert_eq!(judged.count(), 1);
    let rows = rows(&finished);
    assert_eq!(rows[0].1, json!([[true, false], [true, true]]));
    assert_eq!(
        rows[1],
        (
            json!(["passed", 0.5]),
            json!([[true, false], [true, false]])
        )
    );
    assert!(
        finished
            .read("out.junit.xml")
            .contains("SKIPPED llm-rubric")
    );
    assert!(
        finished
            .read("out.html")
            .contains("<span class=\"badge SKIPPED\">")
    );
    let shown = finished.again().args(["show", "--test", "0"]).finish();
    assert_snapshot!(shown.told());
    let stats = finished.json("out.json")["results"]["prompts"][0]["metrics"].clone();
    assert_eq!(
        stats["assertPassCount"], 3,
        "a skipped one is no assertion that passed"
    );
}

#[test]
fn an_attack_that_a_guardrail_stops_passes() {
    let api = ModelApi::start();
    api.rule(|_| {
        let message = json!({ "role": "assistant", "content": "" });
        Some(Answer::json(&json!({
            "choices": [{ "index": 0, "message": message, "finish_reason": "content_filter" }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1 },
        })))
    });
    let config = |purpose: &str| {
        format!(
            "prompts: [attack]\nproviders: ['openai:m']\ntests: [{{ assert: [{{ type: guardrails, config: {{ purpose: {purpose} }} }}, {{ type: equals, value: never }}] }}]\n"
        )
    };
    let wanted = run(&api, &config("redteam")).finish();
    wanted.expect_code(0);
    assert_eq!(rows(&wanted)[0].0, json!(["passed", 0.0]));
    let unwanted = run(&api, &config("other")).finish();
    unwanted.expect_code(100);
}

#[test]
fn calls_are_held_against_the_tools_of_the_provider() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let city = seen.last_user_message()?;
        let arguments = json!({ "city": city }).to_string();
        let call = json!({ "id": "1", "type": "function", "function": { "name": "weather", "arguments": arguments } });
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        Some(Answer::json(&json!({
            "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
        })))
    });
    let finished = run(
        &api,
        "prompts: ['{{city}}']\nproviders: [{ id: 'openai:m', config: { tools: 'file://tools.json' } }]\n\
         tests:\n- vars: { city: Bern }\n  assert: [{ type: is-valid-openai-tools-call }, { type: is-valid-function-call }]\n\
         - vars: { city: Atlantis }\n  assert: [{ type: is-valid-openai-tools-call }]\n",
    )
    .file(
        "tools.json",
        r#"[{ "type": "function", "function": { "name": "weather", "parameters": { "type": "object", "properties": { "city": { "enum": ["Bern"] } }, "required": ["city"] } } }]"#,
    )
    .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows[0].0, json!(["passed", 1.0]));
    assert_eq!(rows[1].0, json!(["failed", 0.0]));
}

#[test]
fn a_webhook_is_asked_where_the_config_grants_it_and_refused_before_anything_is_sent_elsewhere() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let output = seen.json["output"].as_str()?;
        Some(Answer::json(
            &json!({ "pass": output == "Hello", "score": 0.25, "reason": "as said" }),
        ))
    });
    let config = |grant: &str| {
        format!(
            "{grant}prompts: [Hello]\nproviders: [echo]\ntests: [{{ assert: [{{ type: webhook, value: '{}/grade' }}] }}]\n",
            api.url()
        )
    };
    let grant = format!(
        "plugins: {{ webhook: {{ permissions: {{ hosts: ['{}'] }} }} }}\n",
        api.url()
    );
    let refused = run(&api, &config("")).finish();
    assert_snapshot!("a_webhook_without_a_grant", refused.told());
    assert!(api.requests().is_empty());
    // A comment makes it a template, which is no URL before it is filled in.
    let granted = config(&grant).replace("value: '", "value: '{# ours #}");
    let finished = run(&api, &granted).finish();
    finished.expect_code(0);
    assert_eq!(rows(&finished)[0].0, json!(["passed", 0.25]));
    let sent = &api.requests()[0].json;
    assert_eq!(sent["context"]["prompt"], "Hello");
    let nobody = run(
        &api,
        &config("plugins: { nobody: { permissions: { hosts: ['https://x.example'] } } }\n"),
    )
    .finish();
    assert_snapshot!("a_grant_for_nobody", nobody.told());
}

#[test]
fn the_grader_of_a_flag_judges() {
    let api = ModelApi::start();
    api.rule(|seen| (seen.json["model"] == "flagged").then(|| Answer::text(r#"{"pass": true}"#)));
    let finished = run(
        &api,
        "prompts: [p]\nproviders: ['openai:m']\ntests: [{ assert: [{ type: llm-rubric, value: v }] }]\n",
    )
    .args(["--grader", "openai:flagged"])
    .finish();
    finished.expect_code(0);
    assert_eq!(api.requests()[1].json["model"], "flagged");
}

#[test]
fn a_cost_in_litellms_header_is_that_of_the_row_and_its_assertion_holds_it() {
    let api = ModelApi::start();
    let message = json!({ "role": "assistant", "content": "hi" });
    let answer = json!({
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11 },
    });
    api.always(Answer::json(&answer).header("x-litellm-response-cost", "0.00125"));
    for (threshold, code) in [(0.002, 0), (0.001, 100)] {
        let config = format!(
            "prompts: [p]\nproviders: ['openai:nobody-lists-it']\ntests: [{{ assert: [{{ type: cost, threshold: {threshold} }}] }}]\n"
        );
        let finished = run(&api, &config).finish();
        finished.expect_code(code);
        let row = &finished.json("out.json")["results"]["results"][0];
        assert_eq!(row["cost"], json!(0.00125));
    }
}

#[test]
fn a_model_of_the_list_has_a_cost_and_the_users_price_wins() {
    let api = ModelApi::start();
    api.rule(|_| {
        let message = json!({ "role": "assistant", "content": "hi" });
        Some(Answer::json(&json!({
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1_000_000, "completion_tokens": 100_000, "total_tokens": 1_100_000 },
        })))
    });
    let cost = |more: &str, model: &str| {
        let config = format!(
            "prompts: [p]\nproviders: ['openai:{model}']\n{more}tests: [{{ assert: [{{ type: is-refusal, weight: 0 }}] }}]\n"
        );
        let finished = run(&api, &config)
            .file("prices.yaml", "gpt-4o: { input: 1, output: 1 }\n")
            .finish();
        finished.expect_code(0);
        finished.json("out.json")["results"]["results"][0]["cost"].clone()
    };
    assert_eq!(cost("", "gpt-4o-2024-08-06"), json!(3.5));
    assert_eq!(cost("prices: file://prices.yaml\n", "gpt-4o"), json!(1.1));
    assert_eq!(cost("", "nobody-knows-it"), Value::Null);
    // Newer prices than the program's, for those that the config does not name.
    let imported = run(
        &api,
        "prompts: [p]\nproviders: ['openai:gpt-4o', 'openai:nobody-knows-it']\n",
    )
    .file(
        "litellm.json",
        r#"{ "nobody-knows-it": { "litellm_provider": "openai", "mode": "chat",
            "input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05 } }"#,
    );
    let taken = imported
        .clone()
        .without_args()
        .args(["prices", "import", "litellm.json"])
        .finish();
    assert_snapshot!(taken.told());
    let finished = imported.clone().finish();
    let rows = &finished.json("out.json")["results"]["results"];
    assert_eq!(rows[0]["cost"], json!(3.5));
    assert_eq!(rows[1]["cost"], json!(3.0));
    let wrong = imported
        .file("other.json", "{}")
        .without_args()
        .args(["prices", "import", "other.json"])
        .finish();
    assert_snapshot!(wrong.told());
    let shown = Run::new()
        .config("prompts: [p]\nproviders: ['openai:gpt-4o']\n")
        .env("OPENAI_API_KEY", KEY)
        .args(["config", "check", "--show"])
        .finish();
    assert_snapshot!(shown.told());
}
