//! What a config needs the person's agreement for: asked before anything is sent, remembered for
//! exactly that, and trusted by nobody else.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};

mod commands;
mod components;
mod quoted;
mod stages;
mod terminal;
mod unasked;

const KEY: &str = "sk-test-0123456789-very-secret";

/// An address of this machine that is not its loopback name: an origin like any other.
fn elsewhere(api: &ModelApi) -> String {
    api.always(Answer::text("fine"));
    api.url().replace("127.0.0.1", "0.0.0.0")
}

/// A config that sends the vendor's key to another address.
fn config(address: &str) -> String {
    format!(
        "prompts: [hi]\nproviders:\n  - id: openai:gpt-test\n    config:\n      apiBaseUrl: {address}/v1\n"
    )
}

fn run(config: &str) -> Run {
    let run = Run::new().config(config).env("OPENAI_API_KEY", KEY);
    run.arg("eval")
}

fn refused(address: &str) -> String {
    refused_with(address, "runner trust")
}

/// `command` is the one that asks.
fn refused_with(address: &str, command: &str) -> String {
    format!(
        "error: the config asks for permissions that need your agreement; nothing was sent:\n  \
         promptfooconfig.yaml:5:19: send the environment variable OPENAI_API_KEY to {address}\n\
         help: to agree, run `{command}`. In CI, if you trust everything it checks out, set RUNNER_TRUST=config.\n"
    )
}

#[track_caller]
fn is_refused(finished: &Finished, address: &str, api: &ModelApi) {
    is_refused_with(finished, address, api, "runner trust");
}

#[track_caller]
fn is_refused_with(finished: &Finished, address: &str, api: &ModelApi, command: &str) {
    finished.expect_code(2);
    assert_eq!(finished.stderr, refused_with(address, command));
    assert!(api.requests().is_empty(), "nothing was sent");
    assert!(!finished.again().home().join("runs.db").exists());
}

#[track_caller]
fn has_run(finished: &Finished, api: &ModelApi, requests: usize) {
    finished.expect_code(0);
    let seen = api.requests();
    assert_eq!(seen.len(), requests);
    assert_eq!(
        seen[0].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
}

#[test]
fn a_key_goes_to_another_address_only_when_that_was_agreed_to() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let first = run(&config(&address)).finish();
    is_refused(&first, &address, &api);
    let check = first.again().args(["config", "check"]).finish();
    check.expect_code(2);
    // It never sends.
    assert_eq!(
        check.stderr,
        refused(&address).replace("; nothing was sent", "")
    );
    assert!(api.requests().is_empty());

    let agreed = first.again().args(["trust", "--yes"]).finish();
    agreed.expect_code(0);
    assert_eq!(
        agreed.stdout,
        format!(
            "agreed to:\n  promptfooconfig.yaml:5:19: send the environment variable OPENAI_API_KEY to {address}\n"
        )
    );
    assert!(api.requests().is_empty());
    has_run(&first.again().arg("eval").finish(), &api, 1);
    // Where it was agreed to, nothing is asked or said.
    let again = first.again().args(["eval", "--no-cache"]).finish();
    assert!(!again.stderr.contains("trust"), "{}", again.stderr);
    has_run(&again, &api, 2);
}

#[test]
fn a_config_that_changes_is_asked_for_what_is_new() {
    let (api, other) = (ModelApi::start(), ModelApi::start());
    let (address, new) = (elsewhere(&api), elsewhere(&other));
    let first = run(&config(&address)).finish();
    first
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);

    let changed = first.again().config(&config(&new)).arg("eval").finish();
    changed.expect_code(2);
    assert_eq!(changed.stderr, refused(&new));

    let both = format!(
        "{}  - id: openai:gpt-other\n    config:\n      apiBaseUrl: {new}/v1\n",
        config(&address)
    );
    let more = first.again().config(&both).arg("eval").finish();
    more.expect_code(2);
    assert_eq!(more.stderr, refused(&new).replace(":5:19:", ":8:19:"));
    assert!(api.requests().is_empty() && other.requests().is_empty());
}

#[test]
fn what_is_remembered_is_the_folders_and_can_be_listed_and_forgotten() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let first = run(&config(&address)).finish();
    first
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);

    let there = first
        .again()
        .file("there/promptfooconfig.yaml", config(&address));
    let other = there
        .clone()
        .args(["eval", "-c", "there/promptfooconfig.yaml"])
        .finish();
    assert_snapshot!("asked_in_another_folder", other.told());
    let listed = first.again().args(["trust", "--list"]).finish();
    assert_snapshot!("agreements_listed", listed.told());
    let forgotten = first.again().args(["trust", "--revoke"]).finish();
    assert_snapshot!("agreements_forgotten", forgotten.told());
    first.again().arg("eval").finish().expect_code(2);
}

#[test]
fn a_link_to_the_folder_is_the_folder_and_a_link_to_the_config_is_anothers() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let first = run(&config(&address)).file("there/x", "").finish();
    first
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);
    let link = first.again().project().join("link");
    std::os::unix::fs::symlink(".", &link).expect("the folder is ours");
    let linked = first
        .again()
        .args(["eval", "-c", "link/promptfooconfig.yaml"])
        .finish();
    has_run(&linked, &api, 1);
    let file = first.again().project().join("there/linked.yaml");
    std::os::unix::fs::symlink("../promptfooconfig.yaml", file).expect("the folder is ours");
    let linked = first
        .again()
        .args(["eval", "-c", "there/linked.yaml"])
        .finish();
    linked.expect_code(2);
}

#[test]
fn nothing_that_comes_with_the_files_trusts() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let with_env = format!("env: {{ RUNNER_TRUST: config }}\n{}", config(&address));
    let options = format!(
        "{}commandLineOptions: {{ trust-config: true, envFile: .env }}\n",
        config(&address)
    );
    let run = run(&config(&address))
        .file(".env", "RUNNER_TRUST=data\nCI=true\n")
        .file("runner.lock", "{\"version\":2,\"configs\":[]}\n");
    let refused = [
        run.clone(),
        run.clone().env("CI", "true"),
        run.clone().env("PROMPTFOO_TRUST", "config"),
        run.clone().env("RUNNER_TRUST", ""),
    ];
    for run in refused {
        is_refused(&run.finish(), &address, &api);
    }
    let by_file = run.clone().args(["--env-file", ".env"]).finish();
    is_refused_with(&by_file, &address, &api, "runner trust --env-file .env");
    // A home that comes along has agreements of a stranger's.
    let theirs = run.project().join("home");
    let agreed = run.clone().without_args().args(["trust", "--yes"]);
    agreed.env("RUNNER_HOME", &theirs).finish().expect_code(0);
    let moved = run
        .clone()
        .file("moved.env", format!("RUNNER_HOME={}\n", theirs.display()))
        .args(["--env-file", "moved.env"]);
    let asks = "runner trust --env-file moved.env";
    is_refused_with(&moved.finish(), &address, &api, asks);
    let mut told = String::new();
    for (what, config) in [("env", with_env), ("options", options)] {
        told += &run.clone().config(&config).finish().told_as(what);
    }
    let word = run.clone().env("RUNNER_TRUST", "true").finish();
    told += &word.told_as("another word");
    assert_snapshot!(told);
    assert!(api.requests().is_empty());
}

#[test]
fn a_workflow_trusts_by_its_variable_or_a_flag_and_that_is_said() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let run = run(&config(&address)).arg("--no-cache");
    let trusting = [
        (
            run.clone().env("RUNNER_TRUST", "config"),
            "RUNNER_TRUST=config",
        ),
        (run.clone().env("RUNNER_TRUST", "data"), "RUNNER_TRUST=data"),
        (run.clone().arg("--trust-config"), "--trust-config"),
        (run.clone().arg("--trust-data"), "--trust-data"),
    ];
    let mut told = String::new();
    for (n, (run, by)) in trusting.into_iter().enumerate() {
        let finished = run.finish();
        has_run(&finished, &api, n + 1);
        told += &finished.told_as(by);
    }
    assert_snapshot!(told);
    // It is not remembered, nor kept with the run.
    run.finish().expect_code(2);
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn a_file_of_agreements_that_is_none_trusts_nothing_and_holds_up_only_who_needs_it() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let run = run(&config(&address));
    let book = run.home().join("trust.json");
    std::fs::write(&book, "{\"version\":1,\"folders\":{}").expect("the home is ours");
    let refused = run.clone().finish();
    assert_snapshot!(refused.told());
    let agreed = run.clone().without_args().args(["trust", "--yes"]).finish();
    agreed.expect_code(2);
    assert!(api.requests().is_empty());
    let ordinary = run.config("prompts: [hi]\nproviders: [echo]\n");
    ordinary.finish().expect_code(0);
}

#[test]
fn a_flag_of_a_run_does_not_hold_for_who_goes_on_with_it() {
    let api = ModelApi::start();
    let address = api.url().replace("127.0.0.1", "0.0.0.0");
    api.always(Answer::status(500));
    let first = run(&config(&address))
        .args(["--trust-config", "--no-cache"])
        .finish();
    first.expect_code(100);
    let asked = api.requests().len();
    let retried = first.again().arg("retry").finish();
    assert_snapshot!(retried.told());
    assert_eq!(api.requests().len(), asked);
}

#[test]
fn another_variable_is_asked_for_even_where_the_key_may_go() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    // The person's own address, but the config's choice of what to send there.
    let config = "prompts: [hi]\nproviders:\n  - id: openai:gpt-test\n    config: { apiKeyEnvar: AWS_SECRET }\n";
    let theirs = run(config)
        .env("AWS_SECRET", "wJalrXUtnFEMI-aws")
        .env("OPENAI_BASE_URL", format!("{address}/v1"));
    let finished = theirs.clone().finish();
    assert_snapshot!(finished.told());
    assert!(api.requests().is_empty());
    // Without it the person's word is enough, from a file that they name as well.
    let ordinary = "prompts: [hi]\nproviders: ['openai:gpt-test']\n";
    has_run(&theirs.clone().config(ordinary).finish(), &api, 1);
    let by_file = run(ordinary)
        .file("mine.env", format!("OPENAI_BASE_URL={address}/v1\n"))
        .args(["--env-file", "mine.env"]);
    has_run(&by_file.finish(), &api, 2);
}

#[test]
fn variables_that_a_config_writes_into_its_texts_are_asked_for() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let texts = [
        (
            "in a prompt, which every server may see",
            "NAME",
            "env: { NAME: }\nprompts: ['{{ env.NAME }}']\nproviders: ['openai:gpt-test']\n",
        ),
        (
            "in a provider",
            "NAME",
            "prompts: [hi]\nproviders: [{ id: 'openai:gpt-test', config: { user: '{{ env.NAME }}' } }]\n",
        ),
        (
            "as the value of a key that may go there",
            "NAME_KEY",
            "env: { OPENAI_API_KEY: '{{ env.NAME_KEY }}' }\nprompts: [hi]\nproviders: ['openai:gpt-test']\n",
        ),
    ];
    let mut told = String::new();
    for (what, name, config) in texts {
        let there = run(config)
            .env(name, "hunter2hunter2")
            .env("OPENAI_BASE_URL", format!("{address}/v1"))
            .finish();
        // Where it goes is asked when it may be read.
        told += &there.told_as(&format!("{what}, elsewhere"));
        let all = there.again().args(["trust", "--yes"]).finish();
        told += &all.told_as(&format!("{what}, agreed to"));
        assert!(api.requests().is_empty());
        let loopback = ModelApi::start();
        // A server on this machine may have a key; the results are another matter.
        let here = run(config).env(name, "hunter2hunter2");
        let here = here.env("OPENAI_BASE_URL", format!("{}/v1", loopback.url()));
        let here = here.finish();
        told += &here.told_as(&format!("{what}, on this machine"));
    }
    assert_snapshot!(told);
}

#[test]
fn an_address_in_the_env_of_a_config_is_the_configs_word() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let declared = format!(
        "env: {{ OPENAI_BASE_URL: '{address}/v1' }}\nprompts: [hi]\nproviders: ['openai:gpt-test']\n"
    );
    let of_provider = format!(
        "prompts: [hi]\nproviders: [{{ id: 'openai:gpt-test', env: {{ OPENAI_BASE_URL: '{address}/v1' }} }}]\n"
    );
    let told = [
        run(&declared).finish().told_as("of the config"),
        run(&of_provider).finish().told_as("of a provider"),
        run(&declared)
            .args(["-r", "openai:gpt-test"])
            .finish()
            .told_as("of a provider that a flag names"),
    ];
    assert_snapshot!(told.concat());
    assert!(api.requests().is_empty());
}

#[test]
fn a_replay_sends_nothing_and_asks_for_nothing() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let recorded = run(&config(&address))
        .args(["--trust-config", "--record", "tape.jsonl"])
        .finish();
    has_run(&recorded, &api, 1);
    let replayed = recorded
        .again()
        .args(["eval", "--replay", "tape.jsonl"])
        .finish();
    replayed.expect_code(0);
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn a_private_address_is_asked_for() {
    let config = "prompts: [hi]\nproviders: [{ id: 'http://169.254.169.254/latest', config: { method: GET } }]\n";
    let finished = run(config).finish();
    assert_snapshot!(finished.told());
}

#[test]
fn an_address_is_shown_together_with_the_key_that_goes_there() {
    let first = run(&config("http://10.0.0.1:1")).finish();
    let show = first.again().args(["trust", "--show"]);
    let told = [
        first.told_as("asked"),
        show.clone().finish().told_as("shown"),
        first
            .again()
            .args(["trust", "--yes"])
            .finish()
            .told_as("agreed to"),
        show.finish().told_as("shown again"),
    ];
    assert_snapshot!(told.concat());
}
