//! A secret that stands everywhere a config can put it and that a server says in every way it
//! can is nowhere in what any command writes or prints.
//!
//! Files and streams are read as a tool of somebody who found them could: as they are, without
//! the breaks of tables, percent-decoded, unescaped as JSON, as UTF-16, and with everything in
//! them decoded that could be base64, hexadecimal or zlib; and twice over.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{
    GeneralPurpose, GeneralPurposeConfig, STANDARD, URL_SAFE_NO_PAD,
};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use runner_store::{OpenOptions, Store};
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::json;

/// The key of a provider, which only the host may know.
const KEY: &str = "sk-key/9f8+e7d6=c5b4a3928170";
/// A variable that the config declares, and so may use.
const TOKEN: &str = "tok-Zx81&Qy72=Pw63%Ov54";

/// Reads a piece of base64, wherever it was cut.
const CUT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// What is found where: the name of a file or stream, and its bytes.
type Found = BTreeMap<String, Vec<u8>>;

/// The secrets in the ways in which a server may say them.
fn said() -> String {
    let mut said = Vec::new();
    for secret in [KEY, TOKEN] {
        said.push(secret.to_owned());
        said.push(percent_encoded(secret));
        let json = json!({ "json": secret }).to_string();
        said.push(json!(json).to_string());
        said.push(json);
        said.push(each(secret, |byte| format!("{byte:02x}")));
        said.push(each(secret, |byte| format!("\\u{byte:04X}")));
        said.push(each(secret, |byte| format!("{}\0", char::from(byte))));
        said.push(each(secret, |byte| format!("\0{}", char::from(byte))));
        for before in ["", "a", "ab"] {
            let text = format!("{before}{secret} and more");
            said.push(STANDARD.encode(&text));
            said.push(URL_SAFE_NO_PAD.encode(&text));
        }
    }
    format!("raw {}", said.join(" "))
}

/// Every byte of a text, spelled so.
fn each(text: &str, spelled: impl Fn(u8) -> String) -> String {
    text.bytes().map(spelled).collect()
}

/// As it stands in a query.
fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a string takes everything");
        }
        encoded
    })
}

/// A config that has the token wherever it may have a text.
fn config() -> String {
    let test = |word: &str| {
        json!({
            "description": format!("test {TOKEN}"),
            "vars": { "word": word, TOKEN: TOKEN },
            "metadata": { "who": TOKEN, TOKEN: "who" },
            "assert": [
                { "type": "contains", "value": "raw", "metric": format!("metric {TOKEN}") },
                { "type": "not-contains", "value": TOKEN, "metric": "{{ env.MY_TOKEN }}" },
                { "type": "llm-rubric", "value": format!("is {TOKEN}"), "provider": "judge" },
            ],
        })
    };
    json!({
        "description": format!("all about {TOKEN} {{{{ env.MY_TOKEN }}}}"),
        "tags": { "owner": TOKEN, TOKEN: "owner" },
        "env": { "MY_TOKEN": null },
        "prompts": [
            { "raw": "Say {{word}} {{ env.MY_TOKEN }}", "label": "label {{ env.MY_TOKEN }}",
              "config": { "temperature": 0, "user": TOKEN } },
            { "raw": format!("Tell {{{{word}}}} {TOKEN}"), "label": format!("other {TOKEN}") },
        ],
        "providers": [
            { "id": "openai:m", "label": format!("large {TOKEN}"),
              "config": { "user": "{{ env.MY_TOKEN }}", "headers": { "x-token": TOKEN } } },
            { "id": "openai:j", "label": "judge" },
        ],
        "derivedMetrics": [{ "name": format!("derived {TOKEN}"), "value": "1 + 1" }],
        "budget": { "requests": 1000 },
        "tests": [test("one"), test("refused"), test("last")],
    })
    .to_string()
}

/// The word of the case whose answer is never stored.
const RESCUED: &str = "rescued";

/// A server that says every secret, in answers, refusals and headers.
fn telling(api: &ModelApi, gate: &Gate) {
    let behind = gate.clone();
    api.rule(move |seen| {
        let asked = seen.last_user_message()?.to_owned();
        if asked.contains(RESCUED) {
            return None;
        }
        let told = if asked.contains("refused") {
            Answer::error(400, "bad", &said())
        } else if asked.contains("Say") || asked.contains("Tell") {
            Answer::text(&said())
        } else {
            let reason = json!({ "pass": true, "score": 1, "reason": said() });
            Answer::text(&reason.to_string())
        };
        let told = told.header("x-request-id", TOKEN).header("x-echo", KEY);
        Some(if asked.contains("last") {
            told.behind(&behind)
        } else {
            told
        })
    });
}

/// Every command's streams, and the files that it was told to write.
struct Told {
    run: Run,
    found: Found,
}

impl Told {
    fn hear(&mut self, name: &str, finished: &Finished) {
        let mut add = |stream: &str, text: &str| {
            let name = format!("{name}: {stream}");
            self.found.insert(name, text.as_bytes().to_vec());
        };
        add("stdout", &finished.stdout);
        add("stderr", &finished.stderr);
    }

    fn command(&mut self, line: &str) -> Finished {
        let finished = self.run.clone().args(line.split(' ')).finish();
        assert!(
            matches!(finished.code, Some(0 | 100)),
            "{line}: {}",
            finished.stderr
        );
        self.hear(line, &finished);
        finished
    }

    /// All files below a folder, those of the cache and compiled code too, but for what the test
    /// wrote itself.
    fn look(&mut self, when: &str, folder: &Path) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("read").path();
            if path.is_symlink() || path.ends_with("promptfooconfig.yaml") {
                continue;
            }
            if path.is_dir() {
                self.look(when, &path);
            } else {
                let name = format!("{when}: {}", path.display());
                self.found.insert(name, fs::read(path).expect("read"));
            }
        }
    }
}

#[test]
fn a_secret_is_in_nothing_that_is_written_or_printed() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    telling(&api, &gate);
    let run = Run::new()
        .config(&config())
        .env("OPENAI_API_KEY", KEY)
        .env("MY_TOKEN", TOKEN)
        .env("RUNNER_TRUST", "config")
        .env("OPENAI_BASE_URL", api.url())
        .env("RUNNER_LOG", "trace")
        .env("COLUMNS", "2000");
    let mut told = Told {
        run: run.clone(),
        found: Found::new(),
    };
    let files = outputs("e");
    let line = format!("eval -v --events events.jsonl --record tape.jsonl {files}");
    let running = run.clone().args(line.split(' ')).start();
    // All but the last are answered and in the log of the database.
    api.wait_until(|view| view.requests >= 6 && view.in_flight == 4);
    told.look("during the run", run.home());
    told.look("during the run", run.project());
    gate.open();
    let finished = running.finish();
    finished.expect_code(100);
    told.hear("eval", &finished);
    every_command(&mut told);
    rescued(&mut told, &api);
    told.look("at the end", run.home());
    told.look("at the end", run.project());
    assert!(told.found.len() > 60, "{:?}", told.found.keys());
    let leaks: Vec<String> = told
        .found
        .iter()
        .filter_map(|(name, bytes)| Some(format!("{name}: {}", leak(bytes)?)))
        .collect();
    assert_eq!(leaks, [""; 0], "\n{}", leaks.join("\n"));
}

/// One `-o` for each format.
fn outputs(name: &str) -> String {
    let endings = ["json", "jsonl", "csv", "yaml", "txt", "html", "junit.xml"];
    endings
        .map(|ending| format!("-o {name}.{ending}"))
        .join(" ")
}

fn every_command(told: &mut Told) {
    let export = format!("export {}", outputs("x"));
    for line in [
        export.as_str(),
        "export",
        "list",
        "list --json",
        "show",
        "show --json",
        "show --failed",
        "show --test 0",
        "config check",
        "config check --show",
        "cache stats",
        "cache ls",
        "import x.json",
        "import x.jsonl",
        "show --json",
        "eval --no-cache --replay tape.jsonl -o replayed.json",
        "eval -j 2 -o again.json",
        "retry",
    ] {
        told.command(line);
    }
    let listed = told.command("list --json").stdout_json();
    let before = listed[1]["id"].as_str().expect("a second run");
    told.command(&format!("diff {before}"));
    told.command(&format!("diff {before} --json"));
    let listed = told.command("cache ls");
    for line in listed.stdout.lines().skip(1) {
        let key = line.split_whitespace().next().expect("a key");
        told.command(&format!("cache show {key}"));
    }
    // The database's own payloads, whatever pages they are cut into.
    let store = store(told.run.home());
    for info in store.runs(100).expect("read") {
        let head = store.run_head(&info.id).expect("there");
        let name = format!("runs.db: {}", info.id);
        told.found
            .insert(name.clone(), format!("{info:?} {head:?}").into_bytes());
        for (index, row) in store.rows(&info.id).expect("there").enumerate() {
            let record = row.expect("read").record_json.into_bytes();
            told.found.insert(format!("{name}: row {index}"), record);
        }
    }
}

fn store(home: &Path) -> Store {
    Store::open(&home.join("runs.db"), OpenOptions::default()).expect("the database opens")
}

/// What a database that is locked does not take.
fn rescued(told: &mut Told, api: &ModelApi) {
    let gate = Gate::closed();
    let behind = gate.clone();
    let before = api.requests().len();
    api.rule(move |_| Some(Answer::text(&said()).behind(&behind)));
    let run = told.run.clone().env("RUNNER_LOCK_TIMEOUT", "1");
    let running = run.args(["eval", "--no-cache", "-t", "tests.json"]);
    let tests = json!([{ "vars": { "word": RESCUED, TOKEN: TOKEN } }]);
    let running = running.file("tests.json", tests.to_string()).start();
    api.wait_for_requests(before + 4);
    let hold = store(told.run.home())
        .hold_writers()
        .expect("nobody writes");
    gate.open();
    let finished = running.finish();
    drop(hold);
    finished.expect_code(1);
    assert!(
        finished.stderr.contains(".rescue.jsonl"),
        "{}",
        finished.stderr
    );
    told.hear("a rescue", &finished);
    fs::remove_file(told.run.project().join("tests.json")).expect("the test's own");
}

/// How a secret is found in these bytes, if it is.
fn leak(bytes: &[u8]) -> Option<String> {
    if let Some(how) = shows(bytes, "as it is") {
        return Some(how);
    }
    for (name, decoded) in decodings(bytes) {
        if let Some(how) = shows(&decoded, name) {
            return Some(how);
        }
        for (again, twice) in decodings(&decoded) {
            if let Some(how) = shows(&twice, again) {
                return Some(format!("{name}, {how}"));
            }
        }
    }
    None
}

fn shows(bytes: &[u8], how: &str) -> Option<String> {
    let lower = bytes.to_ascii_lowercase();
    let secrets = [("the key", KEY), ("the token", TOKEN)];
    secrets.iter().find_map(|(name, secret)| {
        let secret = secret.to_ascii_lowercase();
        let at = lower
            .windows(secret.len())
            .position(|window| window == secret.as_bytes())?;
        let around = &bytes[at.saturating_sub(60)..at];
        Some(format!(
            "{name} {how} after {:?}",
            String::from_utf8_lossy(around)
        ))
    })
}

/// The bytes in every way in which a tool could read them.
fn decodings(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![
        ("without breaks", without_breaks(bytes)),
        ("percent-decoded", percent(bytes)),
        ("unescaped", unescaped(bytes)),
        ("as UTF-16", utf16(bytes)),
    ];
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    for text in stretches(bytes, 16, is_base64) {
        let text: Vec<u8> = text
            .iter()
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            })
            .collect();
        for from in 0..4 {
            // One digit more than whole bytes need is none of them.
            let part = &text[from..];
            let part = &part[..part.len() - usize::from(part.len() % 4 == 1)];
            all.extend(CUT.decode(part).map(|it| ("from base64", it)));
        }
    }
    for text in stretches(bytes, 16, |byte| byte.is_ascii_hexdigit()) {
        for from in 0..2 {
            let pairs = text[from..].chunks_exact(2);
            let value = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            all.extend(
                pairs
                    .map(value)
                    .collect::<Option<Vec<u8>>>()
                    .map(|it| ("from hexadecimal", it)),
            );
        }
    }
    for (at, pair) in bytes.windows(2).enumerate() {
        // The two bytes with which zlib begins.
        if pair[0] == 0x78 && u16::from_be_bytes([pair[0], pair[1]]) % 31 == 0 {
            let inflated = decompress_to_vec_zlib_with_limit(&bytes[at..], 1 << 24);
            all.extend(inflated.map(|it| ("inflated", it)));
        }
    }
    all
}

/// Runs of bytes of a kind, at least so long.
fn stretches(bytes: &[u8], least: usize, is: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    let parts = bytes.split(move |byte| !is(*byte));
    parts.filter(move |part| part.len() >= least)
}

/// Without what tables and wrapped lines put between the characters of a text.
fn without_breaks(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let kept = text
        .chars()
        .filter(|c| !c.is_whitespace() && !('\u{2500}'..='\u{257f}').contains(c));
    kept.collect::<String>().into_bytes()
}

fn percent(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, behind @ ..] = rest {
        let pair = behind
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let value = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let value = value.filter(|_| *first == b'%');
        decoded.push(value.unwrap_or(*first));
        rest = if value.is_some() {
            &behind[2..]
        } else {
            behind
        };
    }
    decoded
}

/// Without the backslashes of JSON, and with what `\u` stands for.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split("\\u");
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..4)
            .and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => {
                decoded.push(c);
                decoded.push_str(&part[4..]);
            }
            None => decoded.push_str(part),
        }
    }
    decoded.replace('\\', "").into_bytes()
}

/// Every other byte, where those between are nothing.
fn utf16(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| *byte != 0).collect()
}

#[test]
fn the_search_finds_what_it_looks_for() {
    let hex = each(KEY, |byte| format!("{byte:02x}"));
    let escaped = each(KEY, |byte| format!("\\u{byte:04x}"));
    let wide: Vec<u8> = TOKEN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wrapped = format!("│ {} ┆\n│ {} │", &TOKEN[..9], &TOKEN[9..]);
    let deflated =
        miniz_oxide::deflate::compress_to_vec_zlib(&STANDARD.encode(KEY).into_bytes(), 6);
    let cases: [(&str, Vec<u8>); 9] = [
        ("raw", format!("a {TOKEN}").into_bytes()),
        ("json", json!({ "a": [KEY] }).to_string().into_bytes()),
        (
            "json twice",
            json!(json!(KEY).to_string()).to_string().into_bytes(),
        ),
        ("hexadecimal", format!("a {hex}").into_bytes()),
        ("UTF-16", wide),
        ("a table", wrapped.into_bytes()),
        (
            "base64",
            format!("a={}", STANDARD.encode(format!("x{KEY}y"))).into_bytes(),
        ),
        (
            "zlib",
            [b"before".to_vec(), deflated, b"behind".to_vec()].concat(),
        ),
        ("escapes", escaped.into_bytes()),
    ];
    for (name, bytes) in cases {
        assert!(leak(&bytes).is_some(), "{name}");
    }
    assert!(leak(said().as_bytes()).is_some());
    assert_eq!(leak(b"tok-[masked] sk-key"), None);
}
