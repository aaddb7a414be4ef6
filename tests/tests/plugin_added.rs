//! Components that are added to a machine, and named by configs with their digests.

use insta::assert_snapshot;
use runner_tests::{Answer, ModelApi, Run, guest};

fn brief() -> Vec<u8> {
    std::fs::read(guest("outside/brief")).expect("it was built")
}

/// What the command printed after an empty line: the entry for a config.
fn pasted(stdout: &str) -> String {
    let (_, yaml) = stdout.split_once("\n\n").expect("an entry");
    yaml.to_owned()
}

/// `NAME@sha256:DIGEST` of what was added.
fn source(stdout: &str) -> String {
    let yaml = pasted(stdout);
    let words = yaml.split('"').find(|word| word.contains("@sha256:"));
    words.expect("a source").to_owned()
}

/// A config that uses it, with this before.
fn config(yaml: &str) -> String {
    format!(
        "{yaml}prompts: [one]\nproviders: [echo]\ntests: [{{ assert: [{{ type: brief, value: 1 }}] }}]\n"
    )
}

/// Who may read and write a file.
#[cfg(unix)]
fn mode(file: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    let about = std::fs::metadata(file).expect("it is kept");
    about.permissions().mode() & 0o777
}

#[test]
fn what_was_added_is_named_with_its_digest_and_held_to_it() {
    let run = Run::new()
        .env("RUNNER_TRUST", "config")
        .file("brief.wasm", brief());
    let plugin = |arguments: &[&str]| {
        let run = run.clone().args(["plugin"]);
        run.args(arguments.iter().copied()).finish()
    };
    let none = plugin(&["verify"]);
    let wrong = plugin(&["add", "brief.wasm", "--sha256", &"0".repeat(64)]);
    let run = run.clone().file("letter.wasm", "dear reader");
    let letter = plugin(&["add", "letter.wasm"]);
    let added = plugin(&["add", "brief.wasm"]);
    added.expect_code(0);
    let twice = plugin(&["add", "brief.wasm"]);
    let source = source(&added.stdout);
    // Nothing is used that no config names.
    let unnamed = run.clone().config(&config("")).arg("eval").finish();
    unnamed.expect_code(2);
    let named = run.clone().config(&config(&pasted(&added.stdout)));
    let ran = named.clone().arg("eval").finish();
    ran.expect_code(0);
    named
        .clone()
        .args(["plugin", "lock"])
        .finish()
        .expect_code(0);
    assert!(ran.again().finish().read("runner.lock").contains(&source));

    let listed = plugin(&["list"]);
    assert!(listed.stdout.contains(&source), "{}", listed.stdout);
    let right = plugin(&["verify"]);
    let (name, digest) = source.split_once("@sha256:").expect("both");
    let kept = run
        .home()
        .join("plugins")
        .join(format!("{name}@{digest}.wasm"));
    #[cfg(unix)]
    assert_eq!(mode(&kept), 0o600);
    std::fs::write(&kept, guest_of_another()).expect("written");
    let changed = plugin(&["verify"]);
    let refused = named.clone().arg("eval").finish();
    let removed = plugin(&["remove", "brief"]);
    let again = plugin(&["remove", "brief"]);
    let gone = named.arg("eval").finish();
    let told = [
        none.told_as("nothing was added"),
        wrong.told_as("another digest"),
        letter.told_as("no component"),
        added.told_as("added"),
        twice.told_as("added twice"),
        right.told_as("verified"),
        changed.told_as("changed"),
        refused.told_as("eval, and it is changed"),
        removed.told_as("removed"),
        again.told_as("removed twice"),
        gone.told_as("eval, and it is gone"),
    ];
    assert_snapshot!(told.concat().replace(digest, "[sha256]"));
}

/// What each command about plugins comes to is there for programs, too.
#[test]
fn commands_about_plugins_print_json() {
    let run = Run::new().file("brief.wasm", brief()).config(CONFIG);
    let told = |arguments: &[&str]| {
        let run = run.clone().args(["plugin"]).args(arguments.iter().copied());
        let finished = run.arg("--json").finish();
        finished.expect_code(0);
        finished.stdout_json()
    };
    let added = told(&["add", "brief.wasm"]);
    assert_eq!(
        (&added["status"], &added["name"]),
        (&"added".into(), &"brief".into())
    );
    let verified = told(&["verify"]);
    assert_eq!(verified[0]["isRight"], true);
    let removed = told(&["remove", "brief"]);
    assert_eq!(removed["removed"], verified[0]["plugin"]);
    assert_eq!(told(&["verify"]), serde_json::json!([]));
    let made = told(&["new", "mine", "--lang", "rust", "--kind", "assertion"]);
    let files = made["files"].as_array().expect("files");
    assert!(files.contains(&"README.md".into()), "{made}");
    let written = told(&["lock"])["written"].take();
    assert!(
        written
            .as_str()
            .is_some_and(|it| it.ends_with("runner.lock")),
        "{written}"
    );
    assert!(
        told(&["docs", "echo"])["text"]
            .as_str()
            .is_some_and(|it| it.starts_with('#'))
    );
    assert!(told(&["docs"]).as_array().is_some_and(|it| it.len() > 5));
}

const CONFIG: &str = "prompts: [one]\nproviders: [echo]\n";

fn guest_of_another() -> Vec<u8> {
    std::fs::read(guest("outside/grader")).expect("it was built")
}

#[test]
fn an_address_is_asked_by_https_or_on_this_machine_and_leads_no_further() {
    let api = ModelApi::start();
    let url = format!("{}/brief.wasm", api.url());
    let add = |url: &str| Run::new().args(["plugin", "add", url]).finish();
    api.script([Answer::redirect(302, "/moved.wasm"), Answer::raw(brief())]);
    let added = add(&url);
    added.expect_code(0);
    assert_eq!(api.requests().len(), 2);
    let mut told = String::new();
    for target in [
        "http://a.example/x",
        "https://169.254.169.254/x",
        "https://127.0.0.1:1/x",
    ] {
        api.script([Answer::redirect(302, target)]);
        told += &add(&url).told_as(target);
    }
    api.script([Answer::status(404)]);
    told += &add(&url).told_as("404");
    api.script((0..6).map(|_| Answer::redirect(302, "/round")));
    told += &add(&url).told_as("round");
    told += &add("http://a.example/brief.wasm").told_as("http");
    told += &add("https://me:word@a.example/brief.wasm").told_as("a password");
    assert_snapshot!(told.replace(&api.url(), "[api]"));
}
