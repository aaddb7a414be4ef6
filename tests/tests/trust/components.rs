//! Components that a config names, and the file that pins them.

use std::path::PathBuf;

use insta::assert_snapshot;
use runner_tests::{ModelApi, Run, guest, target_folder};

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
    assert_snapshot!("a_component_of_a_config", refused.told());
    refused
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);
    refused.again().arg("eval").finish().expect_code(0);
    // Other grants, and other bytes, are other questions.
    let wider = with_grader("    permissions: { hosts: ['https://a.example'] }\n");
    let wider = refused.again().config(&wider).arg("eval").finish();
    assert_snapshot!("with_other_grants", wider.told());
    let mut other = grader.clone();
    // A custom section with nothing in it.
    other.extend([0, 2, 1, b'x']);
    let other = refused
        .again()
        .config(&with_grader(""))
        .file("grader.wasm", &other)
        .arg("eval")
        .finish();
    assert_snapshot!("of_other_bytes", other.told());
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
    let hostile = guest("tests/hostile");
    let hostile = std::fs::read(hostile).expect("it was built");
    let config = "prompts: [hi]\nproviders: [{ id: 'hostile:fine', config: { apiKey: '{{ env.WHO }}' } }]\n\
                  plugins: { hostile: { source: hostile.wasm } }\n";
    let run = Run::new().file("hostile.wasm", hostile).config(config);
    let run = run.env("WHO", "many-problems-of-a-person").arg("eval");
    let refused = run.clone().finish();
    assert_snapshot!(refused.told());
    let agreed = run.arg("--trust-config").finish();
    agreed.expect_code(2);
    // It finds as many problems as it may, all alike.
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
    assert_snapshot!("without_grants", refused.told());
    // What nobody wrote down is not trusted unseen.
    let unseen = run.clone().env("RUNNER_TRUST", "data").finish();
    assert_snapshot!("without_grants_and_trusted", unseen.told());
    let yes = answered(run.clone(), "y\n");
    // A terminal shows a bar as well, which depends on time.
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
    assert_snapshot!("without_a_lock_file", missing.told());
    run.clone()
        .env("CI", "true")
        .arg("eval")
        .finish()
        .expect_code(0);
    let written = run.clone().args(["plugin", "lock"]).finish();
    written.expect_code(0);
    let lock = written.json("runner.lock");
    let entry = &lock["configs"][0];
    assert_eq!(entry["files"][0], "promptfooconfig.yaml");
    assert_eq!(entry["plugins"]["loud"]["source"], "grader.wasm");
    assert_eq!(entry["plugins"]["loud"]["api"], "0.1.2");
    let grants = &entry["plugins"]["loud"]["grants"];
    assert_eq!(grants["hosts"].as_array().map(Vec::len), Some(0));
    let locked = run.clone().args(["eval", "--locked"]).finish();
    locked.expect_code(0);
    assert!(!locked.stderr.contains("warning"), "{}", locked.stderr);

    for more in [
        "    limits: { memory_mb: 900 }\n",
        "  webhook: { permissions: { hosts: ['https://a.example'] } }\n",
    ] {
        let more = run.clone().config(&with_grader(more));
        for flags in [&["--locked"][..], &["--locked", "--dry-run"]] {
            let refused = more.clone().arg("eval").args(flags).finish();
            refused.expect_code(2);
        }
        more.clone()
            .args(["plugin", "lock"])
            .finish()
            .expect_code(0);
        more.args(["eval", "--locked"]).finish().expect_code(0);
        let before = run.clone().config(&with_grader(""));
        before.args(["plugin", "lock"]).finish().expect_code(0);
    }
    let wider = run.clone().config(&with_grader(
        "    permissions: { hosts: ['https://a.example'] }\n",
    ));
    let mut told = String::new();
    for line in ["eval --locked", "config check --locked", "eval"] {
        let finished = wider.clone().args(line.split(' ')).finish();
        told += &finished.told_as(line);
    }
    // Nobody reads warnings in CI.
    let in_ci = wider.clone().env("CI", "true").arg("eval").finish();
    told += &in_ci.told_as("CI=true eval");
    assert_snapshot!("with_grants_that_are_not_in_the_lock_file", told);
    // It is no trust.
    let untrusted = run.env("RUNNER_TRUST", "").config(&with_grader(""));
    let untrusted = untrusted.args(["eval", "--locked"]).finish();
    assert_snapshot!("a_lock_file_is_no_trust", untrusted.told());
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
    assert_snapshot!(refused.told());
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
    assert_snapshot!(refused.told());
    let agreed = run.clone().without_args().args(["trust", "--yes"]);
    agreed.args(flags).finish().expect_code(0);
    let shown = run.without_args().args(["trust", "--show"]).args(flags);
    shown.finish().expect_code(0);
    assert!(api.requests().is_empty());
}
