//! What a plugin's author does: begins one, tests it, asks it once.

mod contract;
mod pages;
mod toolchains;

use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run, guest, workspace_root};
use serde_json::json;

fn new(run: &Run, name: &str, lang: &str, kind: &str) -> Finished {
    let arguments = ["plugin", "new", name, "--lang", lang, "--kind", kind];
    run.clone().without_args().args(arguments).finish()
}

/// The files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_plugin_begins_as_a_folder_that_says_how_it_is_built() {
    let run = Run::new();
    let made = new(&run, "my-grader", "js", "assertion");
    let again = new(&run, "my-grader", "python", "provider");
    let taken = new(&run, "is-json", "js", "assertion");
    let odd = new(&run, "../Grader", "js", "assertion");
    let mut told = made.told_as("made") + &again.told_as("again");
    told += &(taken.told_as("taken") + &odd.told_as("odd"));
    for path in files(&run.project().join("my-grader")) {
        let path = path.strip_prefix(run.project()).expect("it is below");
        told.push_str(&path.display().to_string());
        told.push('\n');
    }
    told += &made.read("my-grader/README.md");
    assert_snapshot!(told);
}

/// The plugins that `tests/outside` builds are what the templates make, so those work.
#[test]
fn a_folder_in_rust_is_what_the_tests_build_and_its_fixtures_hold() {
    for (name, kind) in [("brief", "assertion"), ("asker", "provider")] {
        let run = Run::new();
        new(&run, name, "rust", kind).expect_code(0);
        let own = workspace_root().join("tests/outside").join(name);
        for path in files(&own)
            .iter()
            .filter(|it| it.extension().is_some_and(|it| it == "rs"))
        {
            let below = path.strip_prefix(&own).expect("it is below");
            let made = std::fs::read_to_string(run.project().join(name).join(below));
            let kept = std::fs::read_to_string(path).expect("it is there");
            assert_eq!(made.expect("it was made"), kept, "{}", below.display());
        }
        let tested = run
            .args(["plugin", "test", name, "--plugin"])
            .arg(guest(&format!("outside/{name}")))
            .finish();
        assert_snapshot!(format!("fixtures_of_{name}"), tested.told());
    }
}

/// What `npm install` does of the folder's own SDK.
fn link_sdk(folder: &Path) {
    std::fs::create_dir_all(folder.join("node_modules")).expect("made");
    std::os::unix::fs::symlink("../sdk", folder.join("node_modules/runner-plugin"))
        .expect("linked");
}

/// The tests of the SDKs for other languages, and those in the folders that have them, need nothing but the language.
#[test]
fn the_native_tests_of_other_languages_pass() {
    let run = Run::new();
    let sdks = workspace_root().join("plugin-sdk");
    let mut folders = vec![
        ("js", sdks.join("js"), vec!["--test"]),
        (
            "python",
            sdks.join("python"),
            vec!["-m", "unittest", "discover", "-s", "tests", "-t", "."],
        ),
    ];
    for kind in ["assertion", "provider"] {
        for (lang, arguments) in [("js", vec!["--test"]), ("python", vec!["-m", "unittest"])] {
            let name = format!("mine-{lang}-{kind}");
            new(&run, &name, lang, kind).expect_code(0);
            let folder = run.project().join(name);
            if lang == "js" {
                link_sdk(&folder);
            }
            folders.push((lang, folder, arguments));
        }
    }
    for (lang, folder, arguments) in folders {
        let program = if lang == "js" { "node" } else { "python3" };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&folder);
        // The sources stay as they are.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let done = command.output();
        let done = done.unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{}: {said}", folder.display());
    }
}

#[test]
fn a_fixture_that_does_not_hold_says_what_came_instead() {
    let fixture = "request: { output: one two three, value: 2 }\n\
                   expect: { outcome: pass, grade: { score: 1, namedScores: { short: 1 } } }\n";
    let grader = std::fs::read(guest("outside/brief")).expect("it was built");
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

/// A fixture may be a stranger's, with the component beside it.
#[test]
fn a_fixture_runs_no_code_outside_the_sandbox_and_reads_no_file_elsewhere() {
    let grader = std::fs::read(guest("outside/brief")).expect("it was built");
    let code = "require('fs').writeFileSync('ran', ''); module.exports = () => 1;\n";
    let run = Run::new()
        .file("dist/brief.wasm", grader)
        .file("fixtures/value.js", code)
        .file("fixtures/most.txt", "5")
        .file("secret.txt", "5")
        .env("RUNNER_TRUST", "data");
    let told = |value: &str| {
        let fixture =
            format!("request: {{ output: one, value: {value:?} }}\nexpect: {{ outcome: pass }}\n");
        let run = run.clone().file("fixtures/stranger.yaml", fixture);
        run.args(["plugin", "test"]).finish().told_as(value)
    };
    let mut all =
        told("file://value.js") + &told("file://../secret.txt") + &told("file://most.txt");
    let link = run.project().join("fixtures/link.yaml");
    std::os::unix::fs::symlink("../secret.txt", link).expect("a link");
    all += &run
        .clone()
        .args(["plugin", "test"])
        .finish()
        .told_as("a link");
    assert_snapshot!(all);
    assert!(!run.project().join("ran").exists() && !run.project().join("fixtures/ran").exists());
}

#[test]
fn a_grade_is_asked_for_without_a_config() {
    let brief = guest("outside/brief");
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
        .arg(guest("tests/hostile"));
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
        .arg(guest("outside/provider"))
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
        .arg(guest("outside/provider"))
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
        .arg(guest("outside/judge"));
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
