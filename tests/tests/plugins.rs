//! Components that strangers bring.

use std::path::PathBuf;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run, guest, target_folder};

/// A component that `cargo xtask plugins` builds from `tests/outside`.
fn outside(name: &str) -> PathBuf {
    guest(&format!("outside/{name}"))
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

#[test]
fn a_grader_asks_the_provider_that_it_names_and_no_judge() {
    let config = |granted: &str| {
        format!(
            "prompts: ['this is fine']\nproviders: [{{ id: echo, label: judge }}]\n\
             tests: [{{ assert: [{{ type: agreed }}] }}]\n\
             plugins: {{ agreed: {{ source: judge.wasm, permissions: {{ llm: [{granted}] }} }} }}\n"
        )
    };
    let judge = std::fs::read(outside("judge")).expect("it was built");
    let run = Run::new()
        .env("RUNNER_TRUST", "config")
        .file("judge.wasm", &judge);
    let asked = run.clone().config(&config("judge")).arg("eval").finish();
    let nobody = run.config(&config("judge, other")).arg("eval").finish();
    assert_snapshot!(asked.told_as("llm: [judge]") + &nobody.told_as("llm: [judge, other]"));
}

/// The YAML that a refusal says to put into the config.
fn suggested(stderr: &str) -> String {
    let lines = stderr.lines().skip_while(|line| *line != "plugins:");
    let yaml: Vec<&str> = lines
        .take_while(|line| !line.starts_with("help:"))
        .collect();
    yaml.join("\n")
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
    assert_snapshot!("without_grants", refused.told());
    assert!(api.requests().is_empty());

    // Pasted as it stands, the plugin loads; the test's own address is still not granted.
    let yaml = suggested(&refused.stderr);
    let granted = refused.again().config(&format!("{config}{yaml}\n"));
    // What the config grants is asked for once.
    let asked = granted.clone().arg("eval").finish();
    assert_snapshot!("with_grants_in_the_config", asked.told());
    granted
        .clone()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);
    let pasted = granted.args(["eval", "-o", "out.json"]).finish();
    pasted.expect_code(100);
    assert_eq!(rows(&pasted)[0]["errorCode"], "denied");
    assert!(api.requests().is_empty());

    // What that message says to put in works as well.
    let message = rows(&pasted)[0]["error"]
        .as_str()
        .expect("a message")
        .to_owned();
    let (_, line) = message
        .split_once("permissions`: ")
        .expect("a line of YAML");
    let wider = yaml.replace(
        r#"hosts: ["https://api.acme.com"]"#,
        line.lines().next().expect("a line"),
    );
    api.always(Answer::json(
        &serde_json::json!({ "answer": "hi yourself" }),
    ));
    let finished = pasted
        .again()
        .config(&format!("{config}{wider}\n"))
        .args(["eval", "--trust-config", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    let requests = api.requests();
    assert_eq!(requests.len(), 1);
    let sent = requests[0]
        .headers
        .iter()
        .any(|(_, value)| value.contains("acme-secret-value"));
    assert!(sent, "the host adds the credential");
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
        .file("plugins/d-truncated.wasm", &good[..1000])
        .file("plugins/e-another-world.wasm", b"\0asm\x0d\0\x01\0")
        .file("plugins/f-good.wasm", &good)
        .args(["eval", "-o", "out.json", "--plugin", "plugins"])
        .finish();
    assert_snapshot!(finished.told());
    assert_eq!(rows(&finished)[0]["success"], true);
}

#[test]
fn a_bad_file_that_was_named_is_an_error() {
    let finished = Run::new()
        .config("prompts: [HI]\nproviders: [echo]\n")
        .file("letter.wasm", "dear reader")
        .args(["eval", "--plugin", "letter.wasm"])
        .finish();
    assert_snapshot!(finished.told());
}

#[test]
fn two_plugins_with_one_name_are_an_error_that_names_both_files() {
    let grader = std::fs::read(outside("grader")).expect("it was built");
    // A section that nobody reads makes another file of it.
    let other = [&grader[..], &[0, 2, 1, b'x']].concat();
    let finished = Run::new()
        .config("prompts: [HI]\nproviders: [echo]\n")
        .file("one.wasm", &grader)
        .file("two.wasm", &other)
        .args(["eval", "--plugin", "one.wasm", "--plugin", "two.wasm"])
        .finish();
    assert_snapshot!(finished.told());
}

#[test]
fn a_file_that_is_given_twice_is_one() {
    let grader = std::fs::read(outside("grader")).expect("it was built");
    Run::new()
        .config("prompts: [HI]\nproviders: [echo]\ntests: [{ assert: [{ type: shouting }] }]\n")
        .file("one.wasm", &grader)
        .file("more/two.wasm", &grader)
        .args(["eval", "--plugin", "one.wasm", "--plugin", "./one.wasm"])
        .args(["--plugin", "more"])
        .finish()
        .expect_code(0);
}

/// What is to be put into a config stands there as the config's folder has it, and leads to the file.
#[test]
fn what_is_to_be_pasted_names_the_file_from_the_configs_folder() {
    let provider = std::fs::read(outside("provider")).expect("it was built");
    let config = "prompts: [HI]\nproviders: ['acme:one']\n";
    let run = Run::new()
        .file("evals/c.yaml", config)
        .file("acme.wasm", &provider)
        .env("ACME_API_KEY", "acme-secret-value");
    // An entry keeps what it says.
    let entry = "plugins:\n  acme:\n    source: ./../acme.wasm\n";
    let run = run.file("evals/c.yaml", format!("{config}{entry}"));
    let refused = run.clone().args(["eval", "-c", "evals/c.yaml"]).finish();
    assert_snapshot!(refused.told());
    let refused = run
        .file("evals/c.yaml", config)
        .args(["eval", "-c", "evals/c.yaml", "--plugin", "./acme.wasm"])
        .finish();
    let yaml = suggested(&refused.stderr);
    assert!(yaml.contains("source: \"../acme.wasm\"\n"), "{yaml}");
    let pasted = refused
        .again()
        .file("evals/c.yaml", format!("{config}{yaml}\n"))
        .args(["trust", "-c", "evals/c.yaml", "--yes"])
        .finish();
    pasted.expect_code(0);
}

/// What is wrong with an entry is said where it stands.
#[test]
fn what_is_wrong_with_an_entry_has_its_place() {
    let provider = std::fs::read(outside("provider")).expect("it was built");
    let run = Run::new()
        .file("acme.wasm", &provider)
        .file("no.wasm", "no component");
    let mut told = String::new();
    for entry in [
        "    source: gone.wasm\n",
        "    source: no.wasm\n",
        "    source: acme.wasm\n    permissions:\n      hosts:\n        - https://a.example\n        - https://a.example/path\n",
        "    source: acme.wasm\n    permissions:\n      hosts: ['https://api.acme.com']\n      credentials:\n        acme-key:\n          env: K\n          scheme: best\n",
    ] {
        let config = format!("prompts: [HI]\nproviders: ['acme:one']\nplugins:\n  acme:\n{entry}");
        told += &run
            .clone()
            .config(&config)
            .arg("eval")
            .finish()
            .told_as(entry);
    }
    assert_snapshot!(told);
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
    assert_snapshot!(finished.told());
}

/// Crashing and looping graders cost their rows; the good rows stand.
#[test]
fn a_hostile_grader_costs_its_rows_only() {
    let finished = Run::new()
        .config(
            "prompts: ['{{word}}']\nproviders: [echo]\ntests:\n  - { vars: { word: a }, assert: [{ type: panic }] }\n  \
             - { vars: { word: b }, assert: [{ type: spin }] }\n  - { vars: { word: c }, assert: [{ type: hog }] }\n  \
             - { vars: { word: d }, assert: [{ type: flood }] }\n  - { vars: { word: e }, assert: [{ type: equals, value: e }] }\n",
        )
        .args(["eval", "-o", "out.json", "--plugin"])
        .arg(guest("tests/hostile"))
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

/// Purity is proven from the binary: these graders import no function at all.
#[test]
fn the_bundled_graders_are_pure_functions() {
    let bundled = target_folder().join("release/plugins");
    for file in [
        bundled.join("text.wasm"),
        bundled.join("json.wasm"),
        outside("grader"),
    ] {
        let finished = Run::new()
            .args(["plugin", "inspect", "--json"])
            .arg(&file)
            .finish();
        finished.expect_code(0);
        assert_eq!(
            finished.stdout_json()["imports"],
            serde_json::json!(["runner:plugin/types@0.1.2"]),
            "{}",
            file.display()
        );
    }
}

/// The value of a variable was taken for the path of a key of Google's, and said in the message.
#[test]
fn no_variable_is_told_as_the_place_of_a_key() {
    let config = |env: &str| {
        format!(
            "prompts: [x]\nproviders: ['fetch:get']\nplugins:\n  fetch:\n    source: {:?}\n    permissions:\n      \
             hosts: ['https://a.example']\n      credentials: {{ fetch-key: {{ env: {env}, scheme: google-adc }} }}\n",
            outside("fetch")
        )
    };
    let mut told = String::new();
    for env in ["OPENAI_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"] {
        for command in [&["eval"][..], &["trust", "--show"], &["config", "check"]] {
            let run = Run::new().config(&config(env)).env(env, "sk-a-secret-0123");
            let finished = run.args(command).finish();
            let all = format!("{}{}", finished.stdout, finished.stderr);
            assert!(!all.contains("sk-a-secret"), "{all}");
            told += &finished.told_as(&format!("{env}: {}", command.join(" ")));
        }
    }
    assert_snapshot!(told);
}

/// A client that was written for WASI reaches what its plugin is granted, with the credential that
/// it names, and hears why not where something is missing. It opens no socket.
#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one plugin, granted more with each run"
)]
fn a_plugin_that_knows_wasi_alone_goes_through_the_gateway() {
    let api = ModelApi::start();
    api.always(Answer::json(&serde_json::json!({ "answer": "hi" })));
    let config = |providers: &str, permissions: &str| {
        format!(
            "prompts: ['{{{{url}}}}']\nproviders: [{providers}]\ntests: [{{ vars: {{ url: '{}/a' }} }}]\n\
             plugins:\n  fetch:\n    source: {:?}\n    permissions:\n{permissions}",
            api.url(),
            outside("fetch")
        )
    };
    let credential = format!(
        "      hosts: ['{0}']\n      credentials: {{ fetch-key: {{ env: FETCH_KEY, hosts: ['{0}'] }} }}\n",
        api.url()
    );
    let run = Run::new()
        .config(&config(
            "'fetch:get', 'fetch:post', 'fetch:socket'",
            &credential,
        ))
        .env("FETCH_KEY", "fetch-secret-value")
        .args(["eval", "--trust-config", "-o", "out.json", "-j", "1"]);
    let denied = run.finish();
    assert_snapshot!("wasi_http_without_a_grant", denied.told());
    // One that crashes of it is told as refused, not as a crash, however often that happens.
    let crashed = denied
        .again()
        .config(&config("'fetch:must'", &credential))
        .args(["eval", "--trust-config", "--repeat", "12", "-o", "out.json"])
        .finish();
    for row in rows(&crashed) {
        assert_eq!(row["errorCode"], "denied", "{row}");
    }
    assert!(api.requests().is_empty());

    let granted = denied
        .again()
        .config(&config(
            "'fetch:get', 'fetch:post'",
            &format!("{credential}      wasi_http: true\n"),
        ))
        .args(["eval", "--trust-config", "-o", "out.json", "-j", "1"])
        .finish();
    assert_snapshot!("wasi_http_with_a_grant", granted.told());
    let requests = api.requests();
    let sent: Vec<_> = requests
        .iter()
        .map(|request| {
            (
                request.method.as_str(),
                request.path.as_str(),
                &request.body,
            )
        })
        .collect();
    assert_eq!(sent.len(), 2, "{sent:?}");
    for request in &requests {
        let names: Vec<_> = request.headers.iter().map(|(name, _)| name).collect();
        assert!(
            !names.iter().any(|name| name.starts_with("runner-")),
            "{names:?}"
        );
        let has_key = request.headers.iter();
        assert!(
            has_key
                .clone()
                .any(|(_, value)| value == "Bearer fetch-secret-value"),
            "{names:?}"
        );
    }
    assert!(!granted.read("out.json").contains("fetch-secret-value"));
}

#[test]
fn a_component_that_is_no_ordinary_file_is_never_opened() {
    let run = Run::new().config("prompts: [hi]\nproviders: [echo]\n");
    let fixtures = run.project().join("fixtures");
    std::fs::create_dir(&fixtures).expect("the project is ours");
    let made = std::process::Command::new("mkfifo")
        .args([run.project().join("pipe.wasm"), fixtures.join("pipe.json")])
        .status();
    assert!(made.expect("every Unix has mkfifo").success());
    let mut told = String::new();
    for path in ["pipe.wasm", "/dev/zero", "/proc/self/environ"] {
        for command in [
            &["plugin", "inspect"][..],
            &["eval", "--plugin"],
            &["plugin", "lock", "--plugin"],
            &["plugin", "call", "--output", "x"],
            &["plugin", "test", "--plugin"],
        ] {
            let finished = run.clone().args(command).arg(path).finish();
            told += &finished.told_as(&format!("{} {path}", command.join(" ")));
        }
    }
    assert_snapshot!(told);
}

#[test]
fn what_a_plugin_logs_is_bounded_for_a_run() {
    let code = "for (let i = 0; i < 200; i++) console.warn('line ' + i);\nreturn true";
    let assert = serde_json::json!([{ "type": "javascript", "value": code }]);
    let tests: Vec<_> = (0..10)
        .map(|n| serde_json::json!({ "vars": { "n": n }, "assert": assert }))
        .collect();
    let config = serde_json::json!({ "prompts": ["{{n}}"], "providers": ["echo"], "tests": tests });
    let run = Run::new().config(&config.to_string());
    let lines = |more: &[&str]| {
        let finished = run
            .clone()
            .args(["eval", "--no-table", "--events", "events.jsonl"])
            .args(more.iter().copied())
            .finish();
        finished.expect_code(0);
        let logged = finished
            .read("events.jsonl")
            .matches("\"event\":\"log\"")
            .count();
        let told = finished.stderr.lines();
        let (told, notes): (Vec<_>, Vec<_>) = told
            .filter(|line| line.contains("javascript"))
            .map(str::to_owned)
            .partition(|line| line.starts_with("warn: javascript (test "));
        (told.len(), notes, logged)
    };
    let (told, notes, logged) = lines(&[]);
    assert_eq!((told, logged), (1_000, 2_000));
    assert_eq!(
        notes,
        [
            "note: further log lines of javascript are left out: 1,000 lines or 1 MiB in a run are told, with -v more"
        ]
    );
    let (told, notes, logged) = lines(&["-v"]);
    assert_eq!((told, notes.len(), logged), (2_000, 0, 2_000));
}
