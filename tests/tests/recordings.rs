//! Recordings: a run that keeps its exchanges, and runs that need nothing else.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::{Value, json};

const KEY: &str = "sk-test-0123456789-very-secret";

fn config(ask: &str) -> String {
    let words = ["apple", "bread", "cheese", "apple"];
    let tests: Vec<_> = words
        .iter()
        .map(|word| {
            json!({
                "vars": { "word": word },
                "assert": [{ "type": "contains", "value": "{{word}}" }, { "type": "not-contains", "value": "cheese" }],
            })
        })
        .collect();
    let prompts = [format!("{ask} {{{{word}}}}"), "Spell {{word}}".to_owned()];
    json!({ "prompts": prompts, "providers": ["openai:m"], "tests": tests }).to_string()
}

fn run(api: &ModelApi) -> Run {
    Run::new()
        .config(&config("Say"))
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "--no-table"])
}

fn recorded(api: &ModelApi, file: &str) -> Finished {
    let run = run(api).env("OPENAI_API_KEY", KEY);
    run.args(["--record", file, "-o", "recorded.json"]).finish()
}

/// Replays in the same folders, without a key: an empty variable is none.
fn replayed(recorded: &Finished, file: &str, out: &str) -> Finished {
    let run = recorded.again().env("OPENAI_API_KEY", "");
    let run = run.args(["eval", "--no-table", "--replay", file, "-o", out]);
    run.finish()
}

/// What two runs of the same inputs may differ in: who they are and when they were. Lanes are
/// those of the network, which a replay does not have.
const OF_THE_MOMENT: [&str; 11] = [
    // ids
    "evalId",
    "id",
    // times
    "timestamp",
    "exportedAt",
    "evaluationCreatedAt",
    // durations
    "durationMs",
    "evaluationDurationMs",
    "guestCpuUs",
    // These are what was recorded, and the plugin's own time besides.
    "latencyMs",
    "totalLatencyMs",
    // the network's
    "lanes",
];

/// The document with nothing of the moment in it, as text: two that are equal are equal byte by
/// byte but for that.
fn timeless(finished: &Finished, file: &str) -> String {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                // The id of a provider is a name, and so stays.
                let is_row = fields.contains_key("testIdx");
                // Those are the network's, which a replay doesn't have.
                if is_row {
                    fields.shift_remove("attempts");
                }
                for (name, value) in fields.iter_mut() {
                    let is_moment = OF_THE_MOMENT.contains(&name.as_str());
                    if is_moment && (name != "id" || is_row) {
                        *value = Value::Null;
                    } else {
                        strip(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut document = finished.json(file);
    strip(&mut document);
    format!("{document:#}")
}

#[test]
fn a_replay_needs_no_server_and_no_key_and_comes_to_the_same() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let spells = seen.last_user_message()?.starts_with("Spell apple");
        spells.then(|| Answer::error(400, "no_letters", "I can't spell"))
    });
    let first = recorded(&api, "tape.jsonl");
    first.expect_code(100);
    let calls = api.requests().len();
    // Its port is another one's from now on.
    drop(api);
    assert!(calls >= 6, "six different requests");

    let again = replayed(&first, "tape.jsonl", "one.json");
    again.expect_code(100);
    let verdicts = |finished: &Finished, file: &str| -> Vec<Value> {
        let document = finished.json(file);
        let rows = document["results"]["results"].as_array().expect("rows");
        rows.iter()
            .map(|row| {
                json!([
                    row["testIdx"],
                    row["promptIdx"],
                    row["outcome"],
                    row["response"]["output"],
                    row["error"],
                    row["tokenUsage"],
                    row["score"],
                    row["gradingResult"]
                ])
            })
            .collect()
    };
    assert_eq!(
        verdicts(&again, "one.json"),
        verdicts(&first, "recorded.json")
    );
    let second = replayed(&first, "tape.jsonl", "two.json");
    assert_eq!(timeless(&again, "one.json"), timeless(&second, "two.json"));
}

/// Whatever the order in which cases end: forty at once, answers of any latency.
#[test]
fn two_replays_are_equal_byte_by_byte_but_for_ids_times_and_durations() {
    let api = ModelApi::start();
    let tests: Vec<_> = (0..120)
        .map(|n| json!({ "vars": { "n": n % 40 } }))
        .collect();
    let config = json!({
        "prompts": ["Number {{n}}", "Again {{n}}"], "providers": ["openai:m", { "id": "openai:m", "label": "b" }],
        "tests": tests, "defaultTest": { "assert": [{ "type": "contains", "value": "7", "metric": "seven" }] },
    });
    let run = run(&api)
        .config(&config.to_string())
        .env("OPENAI_API_KEY", KEY)
        .args(["-j", "40", "--repeat", "2"]);
    let first = run
        .args(["--record", "tape.jsonl", "-o", "recorded.json"])
        .finish();
    first.expect_code(100);
    let replay = |out| {
        let run = first.again().env("OPENAI_API_KEY", "");
        let run = run.args(["eval", "--no-table", "-j", "40", "--repeat", "2"]);
        run.args(["--replay", "tape.jsonl", "-o", out]).finish()
    };
    let (one, two) = (replay("one.json"), replay("two.json"));
    one.expect_code(100);
    assert_eq!(
        one.json("one.json")["results"]["results"]
            .as_array()
            .map(Vec::len),
        Some(960)
    );
    let (one, two) = (timeless(&one, "one.json"), timeless(&two, "two.json"));
    let differs = one.lines().zip(two.lines()).find(|(one, two)| one != two);
    assert_eq!(differs, None);
    assert_eq!(one.len(), two.len());
}

#[test]
fn a_request_that_was_not_recorded_is_an_error_that_says_what_comes_nearest() {
    let api = ModelApi::start();
    let first = recorded(&api, "tape.jsonl");
    let calls = api.requests().len();
    let edited = first.again().config(&config("Say aloud:"));
    let replay = edited
        .args([
            "eval",
            "--no-table",
            "--replay",
            "tape.jsonl",
            "-o",
            "out.json",
        ])
        .finish();
    replay.expect_code(100);
    let document = replay.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    let (spelt, aloud): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["promptIdx"] == 1);
    assert!(
        spelt.iter().all(|row| row["outcome"] != "error"),
        "those are there"
    );
    for row in aloud {
        let error = row["error"].as_str().expect("an error");
        assert_eq!(row["outcome"], "error");
        for part in ["is not in the recording", "the nearest has", "Say aloud: "] {
            assert!(error.contains(part), "no '{part}' in: {error}");
        }
    }
    assert_eq!(api.requests().len(), calls, "nothing left the machine");

    let missing = first
        .again()
        .args(["eval", "--replay", "nowhere.jsonl"])
        .finish();
    assert_snapshot!(missing.told());
}

/// What a killed run had recorded can be replayed; the rest is told as what is not there.
#[test]
fn a_run_that_is_killed_leaves_a_recording_of_what_it_had_done() {
    let api = ModelApi::start();
    let never = Gate::closed();
    let behind = never.clone();
    api.rule(move |seen| {
        let held = seen.last_user_message()? == "Say cheese";
        held.then(|| Answer::text("never").behind(&behind))
    });
    let run = run(&api).env("OPENAI_API_KEY", KEY);
    let running = run.args(["-j", "1", "--record", "tape.jsonl"]).start();
    api.wait_until(|view| view.requests == 5 && view.in_flight == 1);
    let killed = running.kill();
    assert_eq!(killed.code, None);
    let again = replayed(&killed, "tape.jsonl", "out.json");
    again.expect_code(100);
    let document = again.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    let outcomes: Vec<_> = rows.iter().map(|row| row["outcome"].as_str()).collect();
    let expected = [
        "passed", "passed", "passed", "passed", "error", "error", "passed", "passed",
    ];
    assert!(
        outcomes.iter().copied().eq(expected.map(Some)),
        "{outcomes:?}"
    );
}

/// An edited prompt misses with every case: that must not read the recording for each.
#[test]
fn thousands_of_requests_that_are_not_there_are_told_from_one_reading() {
    const CASES: usize = 3_000;
    let exchange = |n: usize| {
        let message = json!({ "role": "user", "content": format!("Say {n}") });
        let body = json!({ "model": "m", "messages": [message] }).to_string();
        let line = json!({
            "tag": n, "attempts": 1, "latency_us": 1, "request": {
                "method": "POST", "url": "http://127.0.0.1:1/chat/completions", "repeat": 0,
                "headers": [["content-type", "application/json"]], "body": { "text": body },
            },
            "response": { "status": 200, "headers": [], "body": { "text": "{}" }, "cached": false },
        });
        format!("{line}\n")
    };
    let tape: String = (0..CASES).map(exchange).collect();
    let finished = Run::new()
        .config("prompts: ['Tell {{n}}']\nproviders: ['openai:m']\ntests: tests.csv\n")
        .numbered_tests(CASES)
        .file(
            "tape.jsonl",
            format!("{{\"recording\":\"runner\",\"version\":1}}\n{tape}"),
        )
        .env("OPENAI_BASE_URL", "http://127.0.0.1:1")
        .args([
            "eval",
            "--no-table",
            "--replay",
            "tape.jsonl",
            "-o",
            "out.jsonl",
        ])
        .finish();
    finished.expect_code(100);
    let rows = finished.read("out.jsonl");
    assert_eq!(rows.lines().count(), CASES);
    for line in rows.lines() {
        assert!(line.contains("is not in the recording"), "{line}");
    }
}

/// The server sends the key back in every place that it has.
#[test]
fn a_recording_holds_no_secret() {
    let api = ModelApi::start();
    let echoed = json!({
        "model": "m", "debug": { "authorization": format!("Bearer {KEY}") },
        "choices": [{ "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": format!("apple bread cheese, {KEY}") } }],
    });
    api.always(
        Answer::json(&echoed)
            .header("x-echo", KEY)
            .header("set-cookie", &format!("k={KEY}")),
    );
    let first = recorded(&api, "tape.jsonl");
    first.expect_code(100);
    let tape = first.read("tape.jsonl");
    assert!(
        tape.lines().count() > 6,
        "a head and the exchanges:\n{tape}"
    );
    for line in tape.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    }
    assert!(!tape.contains(KEY), "{tape}");
    assert!(!tape.contains("authorization\":\"Bearer sk"), "{tape}");
    assert!(tape.contains("[masked]"), "the echo was there");
    let mode = std::fs::metadata(first.again().project().join("tape.jsonl")).expect("it is there");
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
    assert_eq!(
        mode & 0o077,
        0,
        "prompts and answers are nobody else's business"
    );
    let again = replayed(&first, "tape.jsonl", "out.json");
    again.expect_code(100);
    assert!(
        again
            .read("out.json")
            .contains("apple bread cheese, [masked]")
    );
}

/// Two accounts at one address, whose answers differ.
#[test]
fn one_account_s_column_never_replays_the_answers_of_another() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let is_good = seen.header("authorization") == Some("Bearer key-of-the-good-one");
        Some(Answer::text(if is_good { "good" } else { "bad" }))
    });
    let provider = |label: Option<&str>, key: &str| {
        let config = json!({ "apiBaseUrl": api.url(), "apiKey": key });
        match label {
            Some(label) => json!({ "id": "openai:m", "label": label, "config": config }),
            None => json!({ "id": "openai:m", "config": config }),
        }
    };
    let (good, bad) = ("key-of-the-good-one", "key-of-the-bad-one");
    let config = |providers: Value| {
        let tests = json!([{ "assert": [{ "type": "equals", "value": "good" }] }]);
        json!({ "prompts": ["How?"], "providers": providers, "tests": tests }).to_string()
    };
    let eval = ["eval", "--no-table", "--no-cache"];
    let named = config(json!([provider(Some("A"), good), provider(Some("B"), bad)]));
    let run = Run::new().config(&named).args(eval);
    let recorded = run.args(["--record", "tape.jsonl"]).finish();
    recorded.expect_code(100);
    let replayed = |config: &str| {
        let run = recorded.again().config(config).args(eval);
        run.args(["--replay", "tape.jsonl"]).finish()
    };
    replayed(&config(json!([provider(Some("A"), good)]))).expect_code(0);
    let mut told = String::new();
    for (case, providers) in [
        ("the other account alone", json!([provider(Some("B"), bad)])),
        (
            "nobody that was recorded",
            json!([provider(Some("C"), bad)]),
        ),
    ] {
        told += &replayed(&config(providers)).told_as(case);
    }
    let nameless = config(json!([provider(None, good), provider(None, bad)]));
    let run = recorded.again().config(&nameless).args(eval);
    run.args(["--record", "tape.jsonl"])
        .finish()
        .expect_code(100);
    told += &replayed(&config(json!([provider(None, bad)]))).told_as("one of two without labels");
    assert_snapshot!(told);
}
