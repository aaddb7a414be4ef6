//! A secret that stands everywhere a config can put it and that a server says in every way it
//! can is nowhere in what any command writes or prints.
//!
//! Files and streams are read as a tool of somebody who found them could: as they are, without
//! the breaks of tables, in all their readings (escapes of URLs, JSON and HTML, UTF-16, base64,
//! hexadecimal), and unpacked; and twice over.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use runner_store::{OpenOptions, Store};
use runner_tests::{Answer, Finished, Gate, ModelApi, Run, Viewed, inflated, readings};
use serde_json::json;

/// The key of a provider, which only the host may know.
const KEY: &str = "sk-key/9f8+e7d6=c5b4a3928170";
/// A variable that the config declares, and so may use.
const TOKEN: &str = "tok-Zx81&Qy72=Pw63%Ov54";

/// What is found where: the name of a file or stream, and its bytes.
type Found = BTreeMap<String, Vec<u8>>;

/// The secrets in the ways in which a server may say them.
fn said() -> String {
    said_of(&[KEY, TOKEN])
}

fn said_of(secrets: &[&str]) -> String {
    let mut said = Vec::new();
    for &secret in secrets {
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
        "tests": [test("one"), test("plain"), test("refused"), test("last")],
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
        // The only ones that are kept: no other answer is without a secret.
        if asked.starts_with("Say plain") {
            return Some(Answer::text("plain"));
        }
        if asked.contains("Call") {
            return Some(Answer::text(&said_of(&[KEY])).header("x-echo", KEY));
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
        // What is asked for is trusted by a variable, which says nothing to who looks at trust.
        let asks = line.starts_with("trust") && finished.code == Some(2);
        // How many rows the budget of the earlier run let through is chance: there may be none to compare.
        let has_none = line.contains("--fail-on") && finished.code == Some(2);
        assert!(
            asks || has_none || matches!(finished.code, Some(0 | 100)),
            "{line}: {}",
            finished.told()
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
    assert_eq!(unheard(&told), [""; 0], "commands that are not looked at");
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
    let endings = [
        "json",
        "jsonl",
        "csv",
        "yaml",
        "txt",
        "html",
        "md",
        "junit.xml",
    ];
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
        "show --test 0 --json",
        "config check",
        "config check --show",
        "eval --dry-run",
        "trust --show",
        "trust --yes",
        "trust --list",
        "plugin lock",
        "doctor",
        "cache stats",
        "cache ls",
        "import x.json",
        "import x.jsonl",
        "show --json",
        "eval --no-cache --replay tape.jsonl -o replayed.json",
        "eval -j 2 -o again.json",
        "retry",
        "export -o raw.csv --csv-raw",
        "export --static pages",
        "migrate",
        "eval --no-cache --replay tape.jsonl --shard 1/2 -o 1.json",
        "eval --no-cache --replay tape.jsonl --shard 2/2 -o 2.json",
        "merge 1.json 2.json -o merged.json -o merged.html -o merged.csv",
        "eval --no-cache --max-requests 4",
        "eval --resume",
        // Without a config nobody knows the token, so it is not told either.
        "plugin call openai --provider openai:m --prompt Call --json --record fixtures/said.json",
        "plugin call openai --provider openai:m --prompt Call",
        "plugin test --plugin openai",
    ] {
        told.command(line);
    }
    in_a_job(told);
    pages(told);
    compared(told);
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

/// Commands that say nothing of a run, its config or its answers.
const OF_NO_RUN: &str = "cache clear, completions, config schema, delete, explain, init, plugin add, \
                         plugin build, plugin docs, plugin inspect, plugin list, plugin new, \
                         plugin remove, plugin verify, prices clear, prices import";

/// Commands of the program that nobody listened to, and that are not known to say nothing.
fn unheard(told: &Told) -> Vec<String> {
    let is_heard = |command: &String| {
        let starts = |name: &String| {
            name.starts_with(&format!("{command} ")) || name.starts_with(&format!("{command}:"))
        };
        OF_NO_RUN.split(", ").any(|it| it == command) || told.found.keys().any(starts)
    };
    let mut all = told.run.commands("");
    all.retain(|command| !is_heard(command));
    all
}

/// What is said of two runs.
fn compared(told: &mut Told) {
    let listed = told.command("list --json").stdout_json();
    let before = listed[1]["id"].as_str().expect("a second run");
    told.command(&format!("diff {before}"));
    told.command(&format!("diff {before} --json"));
    told.command(&format!("diff {before} --fail-on regression:50%"));
}

/// What a job of GitHub Actions is told, and what stands in its summary.
fn in_a_job(told: &mut Told) {
    let job = told.run.clone().env("GITHUB_ACTIONS", "true");
    let job = job.env("GITHUB_STEP_SUMMARY", "summary.md");
    let person = std::mem::replace(&mut told.run, job);
    told.command("eval --no-cache --replay tape.jsonl");
    let summary = told.run.project().join("summary.md");
    assert!(summary.is_file(), "a job has a summary");
    told.command("export -o pr.md --baseline latest");
    told.run = person;
}

/// What a browser gets that follows every link.
fn pages(told: &mut Told) {
    let viewed = Viewed::of(&told.run);
    let mut open = vec!["/".to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop().filter(|_| seen.len() < 200) {
        if !seen.insert(path.clone()) {
            continue;
        }
        let page = viewed.page(&path);
        let links = page.split("href=\"/").skip(1);
        let links = links.filter_map(|link| link.split('"').next());
        open.extend(links.map(|link| format!("/{}", link.replace("&amp;", "&"))));
        told.found.insert(format!("view {path}"), page.into_bytes());
    }
    assert!(seen.len() > 10, "{seen:?}");
    told.hear("view", &viewed.end());
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
    for decoded in decodings(bytes) {
        if let Some(how) = shows(&decoded, "decoded") {
            return Some(how);
        }
        let twice = decodings(&decoded);
        if let Some(how) = twice.iter().find_map(|twice| shows(twice, "decoded twice")) {
            return Some(how);
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
fn decodings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = readings(bytes);
    all.extend(inflated(bytes));
    all.push(without_breaks(bytes));
    all
}

/// Without what tables and wrapped lines put between the characters of a text.
fn without_breaks(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let kept = text
        .chars()
        .filter(|c| !c.is_whitespace() && !('\u{2500}'..='\u{257f}').contains(c));
    kept.collect::<String>().into_bytes()
}

#[test]
fn the_search_finds_what_it_looks_for() {
    let hex = each(KEY, |byte| format!("{byte:02x}"));
    let escaped = each(KEY, |byte| format!("\\u{byte:04x}"));
    let wide: Vec<u8> = TOKEN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wrapped = format!("│ {} ┆\n│ {} │", &TOKEN[..9], &TOKEN[9..]);
    let deflated =
        miniz_oxide::deflate::compress_to_vec_zlib(&STANDARD.encode(KEY).into_bytes(), 6);
    let packed = miniz_oxide::deflate::compress_to_vec(KEY.as_bytes(), 6);
    let cases: [(&str, Vec<u8>); 11] = [
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
        ("HTML", TOKEN.replace('&', "&amp;").into_bytes()),
        (
            "gzip",
            [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &*packed].concat(),
        ),
    ];
    for (name, bytes) in cases {
        assert!(leak(&bytes).is_some(), "{name}");
    }
    assert!(leak(said().as_bytes()).is_some());
    assert_eq!(leak(b"tok-[masked] sk-key"), None);
}
