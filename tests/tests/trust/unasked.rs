//! What is told, asked or sent before the person agreed, where a config makes it look like nothing.

use std::path::Path;

use runner_tests::{ModelApi, Run};

use super::KEY;

fn asked(config: &str) -> String {
    let run = Run::new().config(config).env("OPENAI_API_KEY", KEY);
    run.args(["trust", "--show"]).finish().stdout
}

const NOTHING: &str = "nothing here needs your agreement\n";

/// The author of a pull request would read in the log which files the machine has.
#[test]
fn whether_a_program_outside_is_there_is_said_after_it_was_agreed_to() {
    let here = std::env::current_exe().expect("this test is a program");
    let gone = here.with_file_name("no-such-program");
    let provider = |path: &Path| format!("  - 'exec: {}'\n", path.display());
    let both = provider(&here) + &provider(&gone);
    let run = Run::new().config(&format!("prompts: [hi]\nproviders:\n{both}"));
    let shown = run.args(["trust", "--show"]).finish();
    shown.expect_code(2);
    for path in [&here, &gone] {
        let line = format!("run '{}' in ", path.display());
        assert!(shown.stdout.contains(&line), "{}", shown.told());
    }
    assert!(!shown.told().contains("no program"), "{}", shown.told());
    let agreed = shown.again().args(["eval", "--trust-config"]).finish();
    agreed.expect_code(2);
    let said = format!("there is no program `{}`", gone.display());
    assert!(agreed.stderr.contains(&said), "{}", agreed.told());
}

/// A program that was agreed to without a key would get it as the server of its own config.
#[test]
fn beside_a_program_a_key_for_this_machine_is_asked_for() {
    let api = ModelApi::start();
    let server = format!(
        "{{ id: http, config: {{ url: '{}/x', headers: {{ x-key: '{{{{ env.OPENAI_API_KEY }}}}' }} }} }}",
        api.url()
    );
    let config = |more: &str| format!("prompts: [hi]\nproviders: [{server}{more}]\n");
    assert_eq!(asked(&config("")), NOTHING);
    let beside = asked(&config(", 'exec: cat'"));
    let origin = api.url().trim_end_matches("/v1").to_owned();
    let line = format!("send the environment variable OPENAI_API_KEY to {origin}");
    assert!(
        beside.contains(&line) && beside.contains("run 'cat'"),
        "{beside}"
    );
    assert!(api.requests().is_empty());
}

#[test]
fn a_vendor_s_key_goes_unasked_to_its_models_alone() {
    let with = |path: &str| {
        asked(&format!(
            "prompts: [hi]\nproviders:\n  - id: openai:gpt-4o\n    config: {{ apiBaseUrl: 'https://api.openai.com{path}' }}\n"
        ))
    };
    for path in ["", "/v1", "/v1/eu"] {
        assert_eq!(with(path), NOTHING, "{path}");
    }
    for path in ["/dashboard/billing", "/v1/../dashboard"] {
        let shown = with(path);
        let line = "send the environment variable OPENAI_API_KEY to https://api.openai.com";
        assert!(shown.contains(line), "{path}: {shown}");
    }
}
