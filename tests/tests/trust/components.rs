//! Components that a config names, and the file that pins them.

use std::path::PathBuf;

use runner_tests::{ModelApi, Run, target_folder};

use super::terminal::answered;

/// A component that `cargo xtask plugins` builds from `tests/outside`.
fn outside(name: &str) -> PathBuf {
    let guests = target_folder().join("guests/outside");
    guests.join(name).with_extension("wasm")
}

fn with_grader(permissions: &str) -> String {
    format!(
        "prompts: [HI]\nproviders: [echo]\ntests: [{{ assert: [{{ type: shouting }}] }}]\n\
         plugins:\n  loud:\n    source: grader.wasm\n{permissions}"
    )
}

#[test]
fn a_component_of_a_config_is_asked_for_by_its_bytes_and_its_grants() {
    let grader = std::fs::read(outside("grader")).expect("it was built");
    let run = Run::new()
        .file("grader.wasm", &grader)
        .config(&with_grader(""))
        .arg("eval");
    let refused = run.finish();
    refused.expect_code(2);
    assert!(
        refused
            .stderr
            .contains("promptfooconfig.yaml:6:5: use the component 'loud' (/")
            && refused.stderr.contains("/grader.wasm, sha256 ")
            && refused.stderr.contains("…), no network, no keys\n"),
        "{}",
        refused.stderr
    );
    refused
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);
    refused.again().arg("eval").finish().expect_code(0);
    // Other grants, and other bytes, are other questions.
    let wider = with_grader("    permissions: { hosts: ['https://a.example'] }\n");
    let wider = refused.again().config(&wider).arg("eval").finish();
    wider.expect_code(2);
    assert!(wider.stderr.contains("which may reach https://a.example"));
    let mut other = grader.clone();
    // A custom section with nothing in it.
    other.extend([0, 2, 1, b'x']);
    let other = refused
        .again()
        .config(&with_grader(""))
        .file("grader.wasm", &other)
        .arg("eval")
        .finish();
    other.expect_code(2);
    assert!(
        other.stderr.contains("use the component 'loud'"),
        "{}",
        other.stderr
    );
    // A flag is the person's word.
    let by_flag = refused
        .again()
        .config("prompts: [HI]\nproviders: [echo]\ntests: [{ assert: [{ type: shouting }] }]\n")
        .args(["eval", "--plugin", "grader.wasm"]);
    by_flag.finish().expect_code(0);
}

/// How many problems a component finds, and which, could tell what it was shown.
#[test]
fn a_component_sees_its_config_when_it_is_agreed_to_and_not_before() {
    let hostile = target_folder().join("guests/tests/hostile.wasm");
    let hostile = std::fs::read(hostile).expect("it was built");
    let config = "prompts: [hi]\nproviders: [{ id: 'hostile:fine', config: { apiKey: '{{ env.WHO }}' } }]\n\
                  plugins: { hostile: { source: hostile.wasm } }\n";
    let run = Run::new().file("hostile.wasm", hostile).config(config);
    let run = run.env("WHO", "many-problems-of-a-person").arg("eval");
    let refused = run.clone().finish();
    refused.expect_code(2);
    assert!(
        refused.stderr.contains("use the component 'hostile'") && !refused.stderr.contains("P013"),
        "{}",
        refused.stderr
    );
    let agreed = run.arg("--trust-config").finish();
    agreed.expect_code(2);
    assert!(agreed.stderr.contains("P013"), "{}", agreed.stderr);
}

#[test]
fn one_yes_covers_trust_and_grants() {
    let api = ModelApi::start();
    let config = format!(
        "prompts: [hi]\nproviders: [{{ id: 'acme:one', config: {{ url: '{}' }} }}]\n\
         plugins: {{ acme: {{ source: '{}' }} }}\n",
        api.url(),
        outside("provider").display()
    );
    let run = Run::new()
        .config(&config)
        .env("ACME_API_KEY", "acme-secret-value")
        .arg("eval");
    let refused = run.clone().finish();
    refused.expect_code(2);
    assert!(refused.stderr.contains("P009"), "{}", refused.stderr);
    // What nobody wrote down is not trusted unseen.
    let unseen = run.clone().env("RUNNER_TRUST", "data").finish();
    unseen.expect_code(2);
    assert!(unseen.stderr.contains("P009"), "{}", unseen.stderr);
    let yes = answered(run.clone(), "y\n");
    let asked = yes.stdout.replace('\r', "");
    assert!(
        asked.contains(
            "which may reach https://api.acme.com; send the environment variable ACME_API_KEY to https://api.acme.com (not all of it is written in the config)"
        ),
        "{asked}"
    );
    // It has what it asked for, and no more: the test's own address is not granted.
    yes.expect_code(100);
    assert!(asked.contains("may not reach"), "{asked}");
    assert!(api.requests().is_empty());
    assert!(!run.finish().stderr.contains("P009"));
}

#[test]
fn a_lock_file_pins_components_and_grants() {
    let grader = std::fs::read(outside("grader")).expect("it was built");
    let run = Run::new()
        .env("RUNNER_TRUST", "config")
        .file("grader.wasm", &grader)
        .config(&with_grader(""));
    let missing = run.clone().args(["eval", "--locked"]).finish();
    missing.expect_code(2);
    assert!(
        missing.stderr.contains("runner.lock: is not there"),
        "{}",
        missing.stderr
    );
    run.clone().arg("eval").finish().expect_code(0);
    let written = run.clone().args(["plugin", "lock"]).finish();
    written.expect_code(0);
    let lock = written.json("runner.lock");
    let entry = &lock["configs"][0];
    assert_eq!(entry["files"][0], "promptfooconfig.yaml");
    assert_eq!(entry["plugins"]["loud"]["source"], "grader.wasm");
    assert_eq!(entry["plugins"]["loud"]["api"], "0.1.1");
    let grants = &entry["plugins"]["loud"]["grants"];
    assert_eq!(grants["hosts"].as_array().map(Vec::len), Some(0));
    let locked = run.clone().args(["eval", "--locked"]).finish();
    locked.expect_code(0);
    assert!(!locked.stderr.contains("warning"), "{}", locked.stderr);

    let wider = run.clone().config(&with_grader(
        "    permissions: { hosts: ['https://a.example'] }\n",
    ));
    for command in [&["eval", "--locked"][..], &["config", "check", "--locked"]] {
        let refused = wider.clone().args(command.iter().copied()).finish();
        refused.expect_code(2);
        assert!(
            refused
                .stderr
                .contains("plugin 'loud': its grants: host https://a.example is new\n"),
            "{}",
            refused.stderr
        );
    }
    let warned = wider.arg("eval").finish();
    warned.expect_code(0);
    assert!(
        warned.stderr.contains("warning: ")
            && warned
                .stderr
                .contains("plugin 'loud': its grants: host https://a.example is new\n"),
        "{}",
        warned.stderr
    );
    // It is no trust.
    let untrusted = run.env("RUNNER_TRUST", "").config(&with_grader(""));
    let untrusted = untrusted.args(["eval", "--locked"]).finish();
    untrusted.expect_code(2);
    assert!(untrusted.stderr.contains("use the component 'loud'"));
}

#[test]
fn each_config_of_a_folder_has_its_own_components_in_the_lock_file() {
    let grader = std::fs::read(outside("grader")).expect("it was built");
    let run = Run::new()
        .env("RUNNER_TRUST", "config")
        .file("grader.wasm", &grader)
        .file("a.yaml", with_grader(""))
        .file(
            "b.yaml",
            with_grader("    permissions: { hosts: ['https://a.example'] }\n"),
        );
    let locked = |config: &str| {
        run.clone()
            .args(["eval", "--locked", "-c", config])
            .finish()
    };
    // What earlier programs wrote says nothing of any config.
    let old = "{\"version\": 1, \"plugins\": {}}";
    let refused = run.clone().file("runner.lock", old);
    let refused = refused.args(["eval", "--locked", "-c", "a.yaml"]).finish();
    refused.expect_code(2);
    assert!(
        refused.stderr.contains(
            "runner.lock: was written by an earlier version, which did not say for which config\n\
             help: if that is as it should be, `runner plugin lock` writes it down"
        ),
        "{}",
        refused.stderr
    );
    for config in ["a.yaml", "b.yaml"] {
        let written = run.clone().args(["plugin", "lock", "-c", config]).finish();
        written.expect_code(0);
    }
    locked("a.yaml").expect_code(0);
    locked("b.yaml").expect_code(0);
    let changed = run.clone().file("b.yaml", with_grader(""));
    let changed = changed.args(["eval", "--locked", "-c", "b.yaml"]).finish();
    changed.expect_code(2);
    locked("a.yaml").expect_code(0);
    // A file that is no lock is not written over.
    let damaged = run.clone().file("runner.lock", "<<<<<<< ours");
    let damaged = damaged.args(["plugin", "lock", "-c", "a.yaml"]).finish();
    damaged.expect_code(2);
    assert_eq!(damaged.read("runner.lock"), "<<<<<<< ours");
}

#[test]
fn a_component_that_flags_name_is_agreed_to_by_the_command_that_is_told() {
    let api = ModelApi::start();
    let file = outside("provider").display().to_string();
    let flags = ["-p", "hi", "-r", "acme:one", "--plugin", &file];
    let run = Run::new()
        .env("ACME_API_KEY", "acme-secret-value")
        .arg("eval")
        .args(flags);
    let refused = run.clone().finish();
    refused.expect_code(2);
    let told = format!("help: or run `runner trust -p hi -r acme:one --plugin {file}` once");
    assert!(
        refused.stderr.contains("P009") && refused.stderr.contains(&told),
        "{}",
        refused.stderr
    );
    let agreed = run.clone().without_args().args(["trust", "--yes"]);
    agreed.args(flags).finish().expect_code(0);
    let shown = run.without_args().args(["trust", "--show"]).args(flags);
    shown.finish().expect_code(0);
    assert!(api.requests().is_empty());
}
