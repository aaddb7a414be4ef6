//! What a plugin's author does: tests it, asks it once.

use std::path::PathBuf;

use insta::assert_snapshot;
use runner_tests::{Answer, ModelApi, Run, target_folder};
use serde_json::json;

/// A component that `cargo xtask plugins` builds from `tests`.
fn built(name: &str) -> PathBuf {
    let path = target_folder()
        .join("guests")
        .join(name)
        .with_extension("wasm");
    assert!(
        path.is_file(),
        "there is no {}; build it with `cargo xtask plugins`",
        path.display()
    );
    path
}

#[test]
fn a_fixture_that_does_not_hold_says_what_came_instead() {
    let fixture = "request: { output: one two three, value: 2 }\n\
                   expect: { outcome: pass, grade: { score: 1, namedScores: { short: 1 } } }\n";
    let grader = std::fs::read(built("outside/brief")).expect("it was built");
    let run = Run::new()
        .file("fixtures/wrong.yaml", fixture)
        .file(
            "fixtures/right.json",
            "{\"request\":{\"output\":\"one\",\"value\":1},\"expect\":{\"outcome\":\"pass\"}}",
        )
        .file("dist/brief.wasm", grader);
    let all = run.clone().args(["plugin", "test"]).finish();
    let one = run
        .clone()
        .args(["plugin", "test", ".", "--only", "right"])
        .finish();
    let none = run.args(["plugin", "test", "dist"]).finish();
    let mut told = all.told_as("plugin test") + &one.told_as("plugin test . --only right");
    told += &none.told_as("plugin test dist");
    assert_snapshot!(told);
}

#[test]
fn a_grade_is_asked_for_without_a_config() {
    let brief = built("outside/brief");
    let run = Run::new()
        // It would be refused, if it were read.
        .config("prompts: 5\n")
        .env("SECRET", "very-secret")
        .args(["plugin", "call"])
        .arg(&brief);
    let call = |arguments: &[&str]| run.clone().args(arguments.iter().copied()).finish();
    let mut told = String::new();
    for arguments in [
        ["--value", "2", "--output", "one two"].as_slice(),
        &[
            "--value",
            "2",
            "--output",
            "{{ env.SECRET }} file://x.txt and more",
        ],
        &[
            "--type",
            "not-brief",
            "--value",
            "{{most}}",
            "--vars",
            "{\"most\": 1}",
            "--output",
            "one two",
        ],
        &["--value", "many", "--output", "one"],
        &["--value", "2"],
        &["--type", "breif", "--output", "one"],
        &["--prompt", "hello"],
        &["--value", "1", "--output", "one", "--allow-key", "a=B"],
    ] {
        told += &call(arguments).told_as(&arguments.join(" "));
    }
    assert_snapshot!(told);
    let kept = run.without_args().arg("list").finish();
    assert!(kept.stdout.is_empty(), "{}", kept.stdout);
}

#[test]
fn plugins_of_the_program_are_called_by_their_names() {
    let run = Run::new().args(["plugin", "call"]);
    let call = |arguments: &[&str]| run.clone().args(arguments.iter().copied()).finish();
    let mut told = String::new();
    for arguments in [
        ["json", "--type", "is-json", "--output", "{\"a\": 1}"].as_slice(),
        &["json", "--output", "x"],
        &["echo", "--prompt", "Say {{ this }}"],
        &[
            "javascript",
            "--value",
            "output.length > 3",
            "--output",
            "four",
        ],
        &["opnai", "--prompt", "x"],
        &["no.wasm", "--prompt", "x"],
    ] {
        told += &call(arguments).told_as(&arguments.join(" "));
    }
    assert_snapshot!(told);
    let json = call(&["json", "--type", "is-json", "--output", "[1", "--json"]);
    json.expect_code(100);
    let said = json.stdout_json();
    assert_eq!(
        (&said["outcome"], &said["grade"]["pass"]),
        (&json!("fail"), &json!(false))
    );
    let used = &said["calls"][0];
    assert_eq!(
        (&used["plugin"], &used["httpCalls"]),
        (&json!("json"), &json!(0))
    );
    assert!(
        used["fuel"].as_u64().is_some_and(|fuel| fuel > 1000),
        "{used}"
    );
    assert!(
        used["peakMemory"]
            .as_u64()
            .is_some_and(|bytes| bytes > 1000),
        "{used}"
    );
}

#[test]
fn what_goes_wrong_in_a_component_is_told_with_its_last_words() {
    let run = Run::new()
        .args(["plugin", "call"])
        .arg(built("tests/hostile"));
    let call = |kind: &str| run.clone().args(["--type", kind, "--output", "x"]).finish();
    assert_snapshot!(call("panic").told_as("panic") + &call("hog").told_as("hog"));
}

/// A provider gets what the flags grant and no more; what it did is a fixture, without the key.
#[test]
fn a_completion_gets_what_flags_grant_and_becomes_a_fixture() {
    let api = ModelApi::start();
    api.always(Answer::json(
        &json!({ "answer": "hi yourself", "cost": 0.5 }),
    ));
    let config = json!({ "url": format!("{}/acme", api.url()) }).to_string();
    let run = Run::new()
        .env("ACME_API_KEY", "acme-secret-value")
        .args(["plugin", "call"])
        .arg(built("outside/provider"))
        .args([
            "--provider",
            "acme:one",
            "--prompt",
            "Say hi",
            "--config",
            &config,
        ]);
    let refused = run.clone().finish();
    assert!(api.requests().is_empty());
    let granted = run.args([
        "--allow-host",
        "https://api.acme.com",
        "--allow-key",
        "acme-key=ACME_API_KEY",
    ]);
    let denied = granted.clone().finish();
    assert!(api.requests().is_empty());
    let asked = granted
        .args(["--allow-host", &api.url(), "--record", "fixtures/hi.json"])
        .file("fixtures/readme.txt", "");
    let answered = asked.clone().finish();
    let again = asked.finish();
    let requests = api.requests();
    assert_eq!(requests.len(), 1);
    let sent = requests[0].headers.iter();
    assert!(
        sent.map(|(_, value)| value)
            .any(|value| value.contains("acme-secret-value"))
    );

    let replayed = Run::new()
        .file("fixtures/hi.json", answered.read("fixtures/hi.json"))
        .args(["plugin", "test", "--plugin"])
        .arg(built("outside/provider"))
        .finish();
    assert_eq!(api.requests().len(), 1, "nothing is sent");
    let fixture = answered
        .read("fixtures/hi.json")
        .replace(&api.url(), "[api]");
    assert!(!fixture.contains("acme-secret-value"));
    let mut told = refused.told_as("nothing granted") + &denied.told_as("another address");
    told += &(answered.told_as("granted") + &again.told_as("recorded twice"));
    told += &replayed.told_as("replayed");
    assert_snapshot!(told.replace(&api.url(), "[api]"));
    assert!(fixture.contains("\"answer\": \"hi yourself\""), "{fixture}");
}

#[test]
fn a_grader_asks_whom_a_flag_names() {
    let run = Run::new()
        .args(["plugin", "call"])
        .arg(built("outside/judge"));
    let run = run.args(["--output", "this is fine"]);
    let refused = run.clone().finish();
    let asked = run.args(["--allow-llm", "judge=echo"]).finish();
    assert_snapshot!(refused.told_as("nobody") + &asked.told_as("--allow-llm judge=echo"));
}

#[test]
fn the_programs_own_plugins_are_listed() {
    let listed = Run::new().args(["plugin", "list"]).finish();
    listed.expect_code(0);
    let told = listed.told();
    for paragraph in [
        "anthropic       sha256 [digest]…\n  providers   anthropic\n",
        "javascript      sha256 [digest]…\n  assertions  javascript\n",
        "overlap         sha256 [digest]…\n  assertions  rouge-n, bleu, gleu, meteor\n",
    ] {
        assert!(told.contains(paragraph), "{told}");
    }
}
