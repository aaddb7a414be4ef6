//! Tests that are run several times: how often each passed, and which pass only at times.

use insta::assert_snapshot;
use runner_tests::{Answer, ModelApi, Run};
use serde_json::json;

#[test]
fn repeats_are_counted_by_test_and_flaky_ones_are_named() {
    let api = ModelApi::start();
    // In the order of the plan: each test with its repeats.
    api.script(["blue", "blue", "grey", "yes"].map(Answer::text));
    let finished = Run::new()
        .config(
            "prompts: ['{{q}}']\nproviders: [openai:m]\ntests:\n\
             - { description: Sky, vars: { q: sky }, options: { repeat: 3 }, assert: [{ type: equals, value: blue }] }\n\
             - { description: Once, vars: { q: once } }\n",
        )
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "-j", "1", "-o", "out.json"])
        .finish();
    assert_snapshot!(finished.told());
    let repeats = json!([{
        "testIdx": 0, "promptIdx": 0, "description": "Sky", "repeats": 3, "passed": 2,
        "passRate": 2.0 / 3.0, "pass^k": [2.0 / 3.0, 1.0 / 3.0, 0.0], "flaky": true,
    }]);
    assert_eq!(finished.json("out.json")["results"]["repeats"], repeats);

    // What was stored says it, too.
    let shown = finished.again().args(["show", "--json"]).finish();
    assert_eq!(shown.stdout_json()["results"]["repeats"], repeats);
}
