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

/// A repeat is compared with the same repeat: those that the other run lacks are told apart from what is compared.
#[test]
fn a_comparison_says_which_repeats_it_leaves_out() {
    let once = Run::new()
        .config("prompts: ['{{q}}']\nproviders: [echo]\ntests: [{ vars: { q: sky } }, { vars: { q: sea } }]\n")
        .args(["eval", "--no-table"])
        .finish();
    let listed = once.again().args(["list", "--json"]).finish();
    let before = listed.stdout_json()[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let thrice = [
        "eval",
        "--no-table",
        "--repeat",
        "3",
        "--baseline",
        &before,
        "-o",
        "out.md",
    ];
    let thrice = once.again().args(thrice).finish();
    thrice.expect_code(0);
    let said = thrice.read("out.md");
    assert!(
        said.contains("<p>4 repeats are in one of the runs only, and not compared.</p>"),
        "{said}"
    );

    let told = once.again().args(["diff", &before]).finish();
    let apart = "\n4 repeats are in one of the runs only: a repeat is compared with the same repeat, and these are not.\n";
    assert!(told.stdout.contains(apart), "{}", told.stdout);
    let back = once.again().args(["diff", "latest", &before]).finish();
    assert!(back.stdout.contains(apart), "{}", back.stdout);
}
