//! Which models a component asks, and what each of its types needs.

use insta::assert_snapshot;
use runner_tests::{Run, guest};

/// A component that answers and grades needs for a grade what that uses, and nothing else.
#[test]
fn each_type_of_a_plugin_needs_what_it_uses() {
    let both = std::fs::read(guest("outside/both")).expect("it was built");
    let config = |kind: &str, permissions: &str| {
        format!(
            "prompts: ['fine']\nproviders: [{{ id: echo, label: judge }}]\n\
             tests: [{{ assert: [{{ type: {kind} }}] }}]\n\
             plugins: {{ twin: {{ source: both.wasm, permissions: {{ {permissions} }} }} }}\n"
        )
    };
    let run = Run::new()
        .env("RUNNER_TRUST", "config")
        .file("both.wasm", &both);
    let graded = |kind, permissions| run.clone().config(&config(kind, permissions)).arg("eval");
    graded("twin-short", "").finish().expect_code(0);
    graded("twin-fine", "llm: [judge]").finish().expect_code(0);
    let unasked = graded("twin-fine", "").finish();
    let provider = "prompts: ['fine']\nproviders: ['twin:x']\n";
    let provider = run
        .clone()
        .config(provider)
        .args(["eval", "--plugin", "both.wasm"]);
    let called = run
        .args([
            "plugin",
            "call",
            "both.wasm",
            "--type",
            "twin-short",
            "--output",
            "fine",
        ])
        .finish();
    called.expect_code(0);
    assert_snapshot!(
        unasked.told_as("twin-fine without a judge") + &provider.finish().told_as("twin:x")
    );
}
