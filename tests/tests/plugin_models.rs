//! Which models a component asks, and what each of its types needs.

use insta::assert_snapshot;
use runner_tests::{Answer, ModelApi, Run, guest};

/// The entry of a plugin says which provider a name stands for by which it asks. That one needs no column, and what
/// the config's own use of it would need, it needs here.
#[test]
fn a_name_by_which_a_plugin_asks_stands_for_any_provider() {
    let api = ModelApi::start();
    api.always(Answer::text("this is fine"));
    let config = |llm: &str| {
        format!(
            "prompts: ['hello']\nproviders: [echo]\ntests: [{{ assert: [{{ type: agreed }}] }}]\n\
             plugins:\n  agreed:\n    source: judge.wasm\n    permissions:\n      llm: {llm}\n"
        )
    };
    let judge = std::fs::read(guest("outside/judge")).expect("it was built");
    let run = Run::new().file("judge.wasm", &judge);
    let eval = |llm: &str, flags: &[&str]| {
        let run = run.clone().config(&config(llm)).arg("eval");
        run.args(flags).finish()
    };
    // The person's own address, as it is for a column.
    let by_id = run
        .clone()
        .config(&config("{ judge: 'openai:gpt-4.1' }"))
        .env("OPENAI_API_KEY", "sk-a-secret-0123")
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "--trust-config"])
        .finish();
    by_id.expect_code(0);
    let requests = api.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].header("authorization"),
        Some("Bearer sk-a-secret-0123")
    );
    let told = eval("{ judge: 'openai:gpt-4.1' }", &["--trust-config"]).told_as("without a key")
        + &eval("{ judge: 'nobody:x' }", &["--trust-config"]).told_as("an unknown provider")
        + &eval("{ judge: [x] }", &["--trust-config"]).told_as("no provider")
        + &eval("{ judge: echo }", &[]).told_as("not agreed to");
    assert_snapshot!(told);

    // A config that sends the key elsewhere needs what a column that does so needs, and no less.
    let asks = |providers: &str, llm: &str| {
        let config = config(llm).replace("[echo]", providers);
        let config = format!("{config}env: {{ OPENAI_BASE_URL: 'https://far.example/v1' }}\n");
        let run = run.clone().config(&config);
        let refused = run
            .env("OPENAI_API_KEY", "sk-a-secret-0123")
            .arg("eval")
            .finish();
        let lines = refused
            .stderr
            .lines()
            .filter_map(|line| line.find("send the").map(|at| &line[at..]));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let column = asks("[echo, 'openai:gpt-4.1']", "{ judge: echo }");
    let named = asks("[echo]", "{ judge: 'openai:gpt-4.1' }");
    assert!(!column.is_empty());
    assert_eq!(column, named);
}

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
    let everything = "hosts: ['https://api.twin.example'], \
                      credentials: { twin-key: { env: TWIN_API_KEY } }, llm: [nobody-there]";
    let run = Run::new()
        .env("RUNNER_TRUST", "config")
        .file("both.wasm", &both);
    let graded = |kind, permissions| run.clone().config(&config(kind, permissions)).arg("eval");
    graded("twin-short", "").finish().expect_code(0);
    graded("twin-fine", "llm: [judge]").finish().expect_code(0);
    let unasked = graded("twin-fine", "").finish();
    let named = graded("twin-short", everything).finish();
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
        unasked.told_as("twin-fine without a judge")
            + &named.told_as("twin-short, granted a provider that is not there")
            + &provider.finish().told_as("twin:x")
    );
}
