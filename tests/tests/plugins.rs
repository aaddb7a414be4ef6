//! Components that strangers bring.

use std::path::PathBuf;

use runner_tests::{Finished, ModelApi, Run, workspace_root};

/// A component that `cargo xtask plugins` builds from `tests/outside`.
fn outside(name: &str) -> PathBuf {
    built("outside", name)
}

fn built(folder: &str, name: &str) -> PathBuf {
    let path = workspace_root()
        .join("target/guests")
        .join(folder)
        .join(name)
        .with_extension("wasm");
    assert!(
        path.is_file(),
        "there is no {}; build it with `cargo xtask plugins`",
        path.display()
    );
    path
}

fn rows(finished: &Finished) -> Vec<serde_json::Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}

#[test]
fn a_grader_from_outside_grades() {
    let finished = Run::new()
        .config("prompts: ['{{text}}']\nproviders: [echo]\ndefaultTest: { assert: [{ type: shouting }] }\ntests: [{ vars: { text: HELLO } }, { vars: { text: hello } }]\n")
        .args(["eval", "-o", "out.json", "--plugin"])
        .arg(outside("grader"))
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(
        (rows[0]["success"].as_bool(), rows[1]["success"].as_bool()),
        (Some(true), Some(false))
    );
}

/// Without grants the run is refused before anything is sent, and the YAML in the message works.
#[test]
fn a_provider_from_outside_runs_with_the_grants_that_the_message_says() {
    let api = ModelApi::start();
    let config = format!(
        "prompts: ['Say {{{{word}}}}']\nproviders: [{{ id: 'acme:one', config: {{ url: '{}/acme' }} }}]\ntests: [{{ vars: {{ word: hi }} }}]\n",
        api.url()
    );
    let run = Run::new()
        .config(&config)
        .env("ACME_API_KEY", "acme-secret-value");
    let refused = run
        .args(["eval", "--plugin"])
        .arg(outside("provider"))
        .finish();
    refused.expect_code(2);
    assert!(refused.stderr.contains("P009"), "{}", refused.stderr);
    assert!(api.requests().is_empty());

    // The address is the test's own; everything else is pasted as it stands.
    let lines = refused
        .stderr
        .lines()
        .skip_while(|line| *line != "plugins:");
    let yaml: Vec<&str> = lines
        .take_while(|line| !line.starts_with("help:"))
        .collect();
    assert!(yaml.len() >= 4, "{}", refused.stderr);
    let yaml = yaml.join("\n").replace("https://api.acme.com", &api.url());
    let mut granted = refused.again().config(&format!("{config}{yaml}\n"));
    granted = granted.args(["eval", "-o", "out.json"]);
    let finished = granted.finish();
    // The plugin still wants its own address, which the replaced line no longer grants.
    let both = format!("{yaml}\n").replace(
        &format!("\"{}\"", api.url()),
        &format!("\"https://api.acme.com\",\"{}\"", api.url()),
    );
    let finished = if finished.code == Some(2) {
        finished
            .again()
            .config(&format!("{config}{both}"))
            .args(["eval", "-o", "out.json"])
            .finish()
    } else {
        finished
    };
    finished.expect_code(0);
    let requests = api.requests();
    assert_eq!(requests.len(), 1);
    assert!(
        requests[0]
            .headers
            .iter()
            .any(|(_, value)| value.contains("acme-secret-value"))
    );
    assert!(!finished.read("out.json").contains("acme-secret-value"));
}

/// Each file gets its own message; the good plugin beside them works.
#[test]
fn a_directory_of_bad_files_hides_no_good_one() {
    let good = std::fs::read(outside("grader")).expect("it was built");
    let finished = Run::new()
        .config("prompts: [HI]\nproviders: [echo]\ntests: [{ assert: [{ type: shouting }] }]\n")
        .file("plugins/a-empty.wasm", "")
        .file(
            "plugins/b-text.wasm",
            "this is not a plugin, it is a letter\n",
        )
        .file("plugins/c-core.wasm", b"\0asm\x01\0\0\0")
        .file("plugins/d-truncated.wasm", &good[..good.len() / 2])
        .file("plugins/e-another-world.wasm", b"\0asm\x0d\0\x01\0")
        .file("plugins/f-good.wasm", &good)
        .args(["eval", "-o", "out.json", "--plugin", "plugins"])
        .finish();
    finished.expect_code(0);
    for (file, code) in [
        ("a-empty", "P001"),
        ("b-text", "P001"),
        ("c-core", "P003"),
        ("d-truncated", "P002"),
        ("e-another-world", "P004"),
    ] {
        let line = finished.stderr.lines().find(|line| line.contains(file));
        assert!(
            line.is_some_and(|line| line.contains(code)),
            "{file}: {code}\n{}",
            finished.stderr
        );
    }
    assert_eq!(rows(&finished)[0]["success"], true);
}

#[test]
fn a_bad_file_that_was_named_is_an_error() {
    let finished = Run::new()
        .config("prompts: [HI]\nproviders: [echo]\n")
        .file("letter.wasm", "dear reader")
        .args(["eval", "--plugin", "letter.wasm"])
        .finish();
    finished.expect_code(2);
    assert!(finished.stderr.contains("P001"), "{}", finished.stderr);
    assert!(finished.stderr.contains("help:"), "{}", finished.stderr);
}

#[test]
fn two_plugins_with_one_name_are_an_error_that_names_both_files() {
    let grader = std::fs::read(outside("grader")).expect("it was built");
    let finished = Run::new()
        .config("prompts: [HI]\nproviders: [echo]\n")
        .file("one.wasm", &grader)
        .file("two.wasm", &grader)
        .args(["eval", "--plugin", "one.wasm", "--plugin", "two.wasm"])
        .finish();
    finished.expect_code(2);
    assert!(finished.stderr.contains("P010"), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("one.wasm") && finished.stderr.contains("two.wasm"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_plugin_that_is_not_the_file_that_was_agreed_on_is_refused() {
    let grader = std::fs::read(outside("grader")).expect("it was built");
    let sha256 = "0".repeat(64);
    let finished = Run::new()
        .config(&format!("prompts: [HI]\nproviders: [echo]\nplugins: {{ s: {{ source: one.wasm, sha256: '{sha256}' }} }}\n"))
        .file("one.wasm", &grader)
        .args(["eval"])
        .finish();
    finished.expect_code(2);
    assert!(finished.stderr.contains("P017"), "{}", finished.stderr);
}

/// Crashing and looping graders cost their rows; the good rows stand.
#[test]
fn a_hostile_grader_costs_its_rows_only() {
    let finished = Run::new()
        .config(
            "prompts: ['{{word}}']\nproviders: [echo]\ntests:\n  - { vars: { word: a }, assert: [{ type: panic }] }\n  \
             - { vars: { word: b }, assert: [{ type: loop }] }\n  - { vars: { word: c }, assert: [{ type: memory-bomb }] }\n  \
             - { vars: { word: d }, assert: [{ type: giant-answer }] }\n  - { vars: { word: e }, assert: [{ type: equals, value: e }] }\n",
        )
        .args(["eval", "-o", "out.json", "--plugin"])
        .arg(built("tests", "hostile"))
        .finish();
    finished.expect_code(100);
    let codes: Vec<_> = rows(&finished)
        .iter()
        .map(|row| row["errorCode"].as_str().unwrap_or("-").to_owned())
        .collect();
    assert_eq!(codes, ["C101", "C103", "C102", "C106", "-"]);
    for row in rows(&finished) {
        assert!(row["response"]["output"].is_string(), "the answer is kept");
    }
}
