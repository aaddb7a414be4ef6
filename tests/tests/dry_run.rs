//! `eval --dry-run`: what a run would be, before anything is sent.

use insta::assert_snapshot;
use runner_tests::Run;

#[test]
fn a_dry_run_says_what_a_run_would_be_and_sends_nothing() {
    let config = "prompts: ['Tell me of {{n}}', file://made.js]\n\
         providers: [{ id: echo, label: priced, config: { inputCost: 0.001, outputCost: 0.002, max_tokens: 50 } }, 'exec: touch started']\n\
         tests: [{ vars: { n: one }, assert: [{ type: llm-rubric, value: good, provider: echo }] }, { vars: { n: two } }]";
    let run = Run::new()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .file("made.js", "module.exports = () => 'made'")
        .config(config);
    let dry = run.clone().args(["eval", "--dry-run"]).finish();
    assert_snapshot!(dry.told());
    let agreed = run.args(["eval", "--dry-run", "--trust-config"]).finish();
    agreed.expect_code(0);
    assert!(!agreed.again().project().join("started").exists());
    let runs = agreed.again().args(["list"]).finish();
    assert!(!runs.told().contains("run-"), "{}", runs.told());
}
