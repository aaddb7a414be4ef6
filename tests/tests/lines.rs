//! Lines are whole lines, however many talk at once: events, diagnostics, log lines of plugins,
//! progress, results that are streamed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use runner_tests::{Answer, Finished, ModelApi, Run, guest};
use serde_json::Value;

const CASES: usize = 300;

/// What a line of stderr may begin with.
fn kind(line: &str) -> Option<&'static str> {
    const TARGETS: [&str; 4] = [
        " DEBUG runner_",
        " INFO runner_",
        " WARN runner_",
        " TRACE runner_",
    ];
    let is_time = line
        .get(..4)
        .is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()))
        && line.get(4..5) == Some("-");
    if is_time {
        let target = TARGETS.iter().any(|target| line.contains(target));
        return target.then_some("diagnostic");
    }
    if line.starts_with("info: hostile") {
        // Eight kilobytes in one message, and the mark of what the sandbox left out: longer than
        // what a pipe takes in one piece.
        let text = line.split("): ").nth(1)?.strip_suffix('…')?;
        let whole = text.chars().all(|c| c == 'é') && text.len() > 8_000;
        return whole.then_some("log");
    }
    if line.starts_with("throttled: ") || line.starts_with("retry: ") {
        return Some("lane");
    }
    if line.contains(" % · ") && line.contains(" cases · ") {
        return Some("progress");
    }
    (line.starts_with("  ") || line.starts_with("written: ") || line.starts_with("warning: "))
        .then_some("other")
}

/// A run that talks in every way there is, fifty cases at once.
fn loud_run() -> Finished {
    let api = ModelApi::start();
    let refused = Mutex::new(HashSet::new());
    api.rule(move |seen| {
        let text = seen.last_user_message()?.to_owned();
        let number: u64 = text.rsplit(' ').next()?.parse().ok()?;
        let first = || refused.lock().expect("no holder panics").insert(number);
        let answer = if number % 50 == 7 && first() {
            Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "5")
        } else {
            Answer::text(&text)
        };
        // Longer than a run may take that has no progress to tell.
        Some(answer.after(Duration::from_millis(500 + number % 5)))
    });
    Run::new()
        .config(
            "prompts: ['case {{n}}']\nproviders: ['openai:m']\ntests: tests.csv\n\
             defaultTest: { assert: [{ type: long-line }, { type: contains, value: '{{n}}' }] }\n",
        )
        .numbered_tests(CASES)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .env("RUNNER_LOG", "runner_gateway=debug")
        .args([
            "eval",
            "-v",
            "-j",
            "50",
            "--no-table",
            "--events",
            "events.jsonl",
        ])
        .args(["-o", "out.jsonl", "--plugin"])
        .arg(guest("tests/hostile"))
        .finish()
}

#[test]
fn fifty_at_once_tear_no_line() {
    let finished = loud_run();
    finished.expect_code(0);
    let mut kinds = BTreeMap::new();
    for line in finished.stderr.lines() {
        let kind = kind(line).unwrap_or_else(|| panic!("a torn line: {line:?}"));
        *kinds.entry(kind).or_insert(0) += 1;
    }
    assert!(finished.stderr.ends_with('\n'));
    assert_eq!(kinds.get("log"), Some(&CASES), "{kinds:?}");
    assert!(
        kinds.get("diagnostic").is_some_and(|lines| *lines >= CASES),
        "{kinds:?}"
    );
    assert!(kinds.contains_key("progress"), "{kinds:?}");

    check_events(&finished.read("events.jsonl"));
    for line in finished.read("out.jsonl").lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e} in {line}"));
    }
}

/// Every line is an event, and each happened as often as it must.
fn check_events(text: &str) {
    let mut events = BTreeMap::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}"));
        let name = event["event"]
            .as_str()
            .expect("each has its name")
            .to_owned();
        assert!(event["at"].is_number(), "{line}");
        *events.entry(name).or_insert(0) += 1;
    }
    for (name, count) in [
        ("run:started", 1),
        ("case:started", CASES),
        ("case:finished", CASES),
        ("log", CASES),
        ("run:finished", 1),
    ] {
        assert_eq!(events.get(name), Some(&count), "{name}: {events:?}");
    }
}
