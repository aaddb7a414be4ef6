//! Whole runs against a server that repeats the key that it was given, spelled in every way that
//! software does: no file of the run and nothing that is shown has it, however it is read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use miniz_oxide::deflate::compress_to_vec;
use runner_tests::{Answer, Finished, ModelApi, Run, inflated, readings};
use serde_json::json;

const KEY: &str = "sk-test/0123456789+very=secret";

/// The key as servers repeat it, in a text.
fn spelled() -> String {
    let mut text = format!("{KEY} |");
    for byte in KEY.bytes() {
        write!(text, "{byte:02x}").expect("a string");
    }
    for byte in KEY.bytes() {
        write!(text, "%{byte:02X}").expect("a string");
    }
    for byte in KEY.bytes() {
        write!(text, "&#x{byte:x};").expect("a string");
    }
    for before in ["user:", "me:", "x"] {
        let encoded = STANDARD.encode(format!("{before}{KEY}{KEY}"));
        let (first, second) = encoded.split_at(40);
        write!(text, "| {encoded} | {first}\r\n{second}").expect("a string");
    }
    let wide: Vec<u8> = KEY.encode_utf16().flat_map(u16::to_le_bytes).collect();
    text + &String::from_utf8(wide).expect("ASCII and zeros")
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    member.extend(compress_to_vec(plain, 6));
    member.extend([0; 8]);
    member
}

fn completion(text: &str) -> Vec<u8> {
    let message = json!({ "role": "assistant", "content": text });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    json!({ "id": "1", "model": "m", "choices": [choice] })
        .to_string()
        .into_bytes()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Nothing that the run wrote or said has the key in it; says whether an answer was cached.
fn has_no_key(finished: &Finished) -> bool {
    let mut written: Vec<(String, Vec<u8>)> = vec![
        ("stdout".to_owned(), finished.stdout.clone().into_bytes()),
        ("stderr".to_owned(), finished.stderr.clone().into_bytes()),
    ];
    let run = finished.again();
    for path in [run.home(), run.project()].into_iter().flat_map(files) {
        // What plugins were compiled to is large and older than the key.
        if path.extension().is_none_or(|kind| kind != "component") {
            let bytes = std::fs::read(&path).expect("a file");
            written.extend(
                inflated(&bytes)
                    .into_iter()
                    .map(|it| (format!("in {}", path.display()), it)),
            );
            written.push((path.display().to_string(), bytes));
        }
    }
    let is_cached = written.iter().any(|(name, _)| name.starts_with("in "));
    for (name, bytes) in written {
        for reading in readings(&bytes) {
            let found = reading
                .windows(KEY.len())
                .any(|window| window.eq_ignore_ascii_case(KEY.as_bytes()));
            assert!(!found, "{name} has the key");
        }
    }
    is_cached
}

fn run(api: &ModelApi) -> Finished {
    Run::new()
        .config("prompts: ['Say {{w}}']\nproviders: ['openai:m']\ntests: [{ vars: { w: a } }, { vars: { w: b } }]\n")
        .env("OPENAI_BASE_URL", api.url())
        .env("OPENAI_API_KEY", KEY)
        .args(["eval", "--record", "tape.jsonl"])
        .args(["-o", "o.json", "-o", "o.html", "-o", "o.csv", "-o", "o.yaml", "-o", "o.xml"])
        .finish()
}

#[test]
fn a_server_that_repeats_the_key_in_every_spelling_puts_it_nowhere() {
    let api = ModelApi::start();
    let body = completion(&spelled());
    assert!(
        readings(&body)
            .iter()
            .any(|it| it.windows(KEY.len()).any(|it| it == KEY.as_bytes()))
    );
    api.always(
        Answer::raw(gzip(&body))
            .header("content-type", "application/json")
            .header("content-encoding", "gzip")
            .header("x-echo", KEY),
    );
    let finished = run(&api);
    assert_snapshot!(finished.told());
    assert!(
        !has_no_key(&finished),
        "an answer with the key is not cached"
    );
}

#[test]
fn what_can_not_be_looked_through_is_an_error_of_its_row() {
    let api = ModelApi::start();
    let plain = Answer::text("well").header("x-echo", KEY);
    let brotli = Answer::raw(completion(KEY)).header("content-encoding", "br");
    api.rule(move |seen| {
        let asks_b = seen.last_user_message() == Some("Say b");
        Some(if asks_b {
            brotli.clone()
        } else {
            plain.clone()
        })
    });
    let finished = run(&api);
    assert_snapshot!(finished.told());
    assert!(
        !has_no_key(&finished),
        "an answer with the key is not cached"
    );
}

/// A server complains about the token that it found behind a scheme, or about a password.
#[test]
fn what_a_server_takes_out_of_a_credential_is_nowhere() {
    let (token, password, literal) = ("tok-Zx81hhQwEr77", "pass-Qq77WwEe88", "lit-Mm55NnBb66Vv");
    let login = format!("user:{password}");
    let api = ModelApi::start();
    let said = format!("wrong: {token}, {password}, {literal}, {login}");
    api.always(Answer::raw(said).header("content-type", "text/plain"));
    let provider = |label: &str, header: &str| {
        let (url, body) = (api.url(), "{{ prompt }}");
        format!(
            "  - {{ id: http, label: {label}, config: {{ url: '{url}', body: '{body}', headers: {{ {header} }} }} }}\n"
        )
    };
    let providers = provider("a", "authorization: '{{ env.MY_TOKEN }}'")
        + &provider("b", "authorization: 'Basic {{ env.BASIC_AUTH }}'")
        + &provider("c", &format!("x-api-key: 'Token {literal}'"));
    let finished = Run::new()
        .config(&format!("prompts: [hi]\nproviders:\n{providers}"))
        .env("MY_TOKEN", format!("Bearer {token}"))
        .env("BASIC_AUTH", STANDARD.encode(&login))
        .args([
            "eval",
            "--record",
            "tape.jsonl",
            "-o",
            "o.json",
            "-o",
            "o.csv",
        ])
        .finish();
    finished.expect_code(0);
    let seen = api.requests();
    let basic = format!("Basic {}", STANDARD.encode(&login));
    assert!(
        seen.iter()
            .any(|it| it.header("authorization") == Some(basic.as_str()))
    );
    let run = finished.again();
    let written = ["tape.jsonl", "o.json", "o.csv"].map(|name| run.project().join(name));
    let written = written.map(|path| std::fs::read_to_string(path).expect("written"));
    for text in written.iter().chain([&finished.stdout, &finished.stderr]) {
        for secret in [token, password, literal] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    assert!(written[0].contains("wrong: [masked]"), "{}", written[0]);
}

/// What tells columns apart is what the config says, and nothing of what the environment filled in.
#[test]
fn no_part_of_a_key_tells_columns_apart() {
    let api = ModelApi::start();
    api.always(Answer::raw("hi").header("content-type", "text/plain"));
    let provider = |variable: &str| {
        format!(
            "  - {{ id: '{}', config: {{ body: '{{{{ prompt }}}}', headers: {{ X-Tenant: '{{{{ env.{variable} }}}}' }} }} }}\n",
            api.url()
        )
    };
    let providers = provider("A_SECRET") + &provider("B_SECRET");
    let (long, short) = ("aaaaaaa-secret-one-0123456789", "bbbbbbb");
    let finished = Run::new()
        .config(&format!("prompts: [hi]\nproviders:\n{providers}"))
        .env("A_SECRET", long)
        .env("B_SECRET", short)
        .args(["eval", "-o", "o.json", "-o", "o.md"])
        .finish();
    finished.expect_code(0);
    let run = finished.again();
    let written = ["o.json", "o.md"].map(|name| std::fs::read_to_string(run.project().join(name)));
    let [json, md] = written.map(|text| text.expect("written"));
    assert!(
        json.contains("\"headers.X-Tenant {{env.A_SECRET}}\""),
        "{json}"
    );
    for text in [json, md, finished.told()] {
        for secret in [&long[..8], short] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

/// An address with a password or a key in its query is wrong in one place, and said without them.
#[test]
fn an_address_that_is_none_is_said_without_what_may_be_secret() {
    let run = Run::new()
        .config("prompts: [p]\nproviders: [openai:m]\n")
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env(
            "OPENAI_BASE_URL",
            "htps//me:hunter22@exa mple.com/v1?key=quiet",
        )
        .args(["eval"]);
    let finished = run.finish();
    finished.expect_code(2);
    let said = &finished.stderr;
    assert!(said.contains("must be a URL such as"), "{said}");
    assert!(said.contains("…@exa mple.com/v1?…"), "{said}");
    assert!(
        !said.contains("hunter22") && !said.contains("quiet"),
        "{said}"
    );
}

/// Each byte of a secret costs the masker some thousand, so what providers bring is counted as well.
#[test]
fn more_credentials_than_can_be_masked_are_refused_before_anything_is_sent() {
    let provider = |n| {
        let key = format!("{n:04}").repeat(500);
        let id = "http://127.0.0.1:9/ask";
        format!(
            "  - {{ id: '{id}', config: {{ method: GET, headers: {{ authorization: k{key} }} }} }}\n"
        )
    };
    let providers: String = (0..20).map(provider).collect();
    let run = Run::new()
        .config(&format!("prompts: [p]\nproviders:\n{providers}"))
        .args(["eval"]);
    assert_snapshot!(run.finish().told());
}
