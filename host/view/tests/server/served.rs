//! A server with two runs full of hostile texts, and a client that speaks HTTP by hand.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use runner_store::{NewRun, OpenOptions, Outcome, Row, RunEnd, RunStatus, Store};
use runner_view::Viewer;
use serde_json::{Value, json};
use tempfile::TempDir;

const HOSTILE: &str = "</td><script>alert(1)</script><img src=x onerror=alert(2)> [a](javascript:alert(3)) \u{202e}abc";

/// A server with two runs, and a browser's cookie for it.
pub(crate) struct Served {
    _folder: TempDir,
    pub(crate) store: Store,
    pub(crate) port: u16,
    pub(crate) cookie: String,
}

/// What came back; the head in lower case.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Served {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs.db"), OpenOptions::default()).unwrap();
        fill(&store, "run-1", 1, |test| {
            if test % 2 == 0 {
                Outcome::Passed
            } else {
                Outcome::Failed
            }
        });
        fill(&store, "run-2", 2, |test| {
            if test == 4 {
                Outcome::Error
            } else {
                Outcome::Passed
            }
        });
        let viewer = Viewer::bind(store.clone(), Some(0)).unwrap();
        let address = viewer.address();
        let (_, rest) = address.split_once("http://127.0.0.1:").unwrap();
        let (port, path) = rest.split_once('/').unwrap();
        let port = port.parse().unwrap();
        std::thread::spawn(move || viewer.serve());
        let answer = ask(
            port,
            &format!("GET /{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"),
            "",
        );
        assert_eq!(answer.status, 303, "{}", answer.body);
        assert!(answer.head.contains("location: /\r\n"), "{}", answer.head);
        let (_, cookie) = answer.head.split_once("set-cookie: ").unwrap();
        let (cookie, flags) = cookie.lines().next().unwrap().split_once(';').unwrap();
        assert_eq!(flags, " path=/; httponly; samesite=strict");
        let again = ask(
            port,
            &format!("GET /{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"),
            "",
        );
        assert_eq!(again.status, 403, "the token is good for once");
        Self {
            _folder: folder,
            store,
            port,
            cookie: cookie.to_owned(),
        }
    }

    pub(crate) fn head(&self) -> String {
        format!(
            "host: 127.0.0.1:{}\r\ncookie: {}\r\n",
            self.port, self.cookie
        )
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let answer = ask(
            self.port,
            &format!("GET {path} HTTP/1.1\r\n{}", self.head()),
            "",
        );
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    pub(crate) fn post(&self, path: &str, form: &str, origin: &str) -> Answer {
        let head = format!(
            "POST {path} HTTP/1.1\r\n{}{origin}content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n",
            self.head(),
            form.len()
        );
        ask(self.port, &head, form)
    }

    pub(crate) fn origin(&self) -> String {
        format!("origin: http://127.0.0.1:{}\r\n", self.port)
    }
}

/// Sends a head and a body, and reads until the server closes.
pub(crate) fn ask(port: u16, head: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    write!(stream, "{head}connection: close\r\n\r\n{body}").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head: format!("{}\r\n", head.to_ascii_lowercase()),
        body: body.to_owned(),
    }
}

fn fill(store: &Store, id: &str, at: i64, outcome: impl Fn(u32) -> Outcome) {
    let writer = store.begin_run(new_run(id, at)).unwrap();
    for test in 0..30 {
        for column in 0..2 {
            writer.push(row(id, test, column, outcome(test))).unwrap();
        }
    }
    let summary_json = "{}".to_owned();
    writer
        .finish(RunEnd {
            status: RunStatus::Finished,
            ended_at_ms: at + 1,
            summary_json,
        })
        .unwrap();
}

pub(crate) fn new_run(id: &str, at: i64) -> NewRun {
    let columns = json!([{ "provider": "model-a", "label": "p", "raw": "Say {{x}}" }, { "provider": "<b>model-b", "label": "p", "raw": "Say {{x}}" }]);
    NewRun {
        id: id.to_owned(),
        created_at_ms: at,
        description: Some("greetings <i>".to_owned()),
        tags_json: r#"{"team":"blue"}"#.to_owned(),
        config_json: "{}".to_owned(),
        columns_json: columns.to_string(),
        plugins_json: "[]".to_owned(),
        options_json: r#"{"total":60}"#.to_owned(),
        seed: 0,
    }
}

pub(crate) fn row(id: &str, test: u32, column: u32, outcome: Outcome) -> Row {
    let answer = if test == 3 {
        HOSTILE.to_owned()
    } else {
        format!("answer {test} of {id}")
    };
    let passed = outcome == Outcome::Passed;
    let record = json!({
        "prompt": { "raw": format!("Say {HOSTILE}"), "label": HOSTILE }, "vars": { "x": test, HOSTILE: HOSTILE },
        "testCase": { "description": format!("test {test}") },
        "response": if outcome == Outcome::Error { Value::Null } else { json!({ "output": answer, "cached": false }) },
        "gradingResult": { "reason": HOSTILE, "componentResults": [
            { "pass": passed, "score": 1.0, "reason": HOSTILE, "assertion": { "type": "equals", "value": HOSTILE, "metric": "tone" } }] },
        "namedScores": { "tone": f64::from(test) / 30.0 }, "errorCode": (outcome == Outcome::Error).then_some("timeout"),
        "error": (outcome == Outcome::Error).then_some(HOSTILE), "metadata": { "kind": HOSTILE },
    });
    Row {
        test_idx: test,
        prompt_idx: column,
        row_id: format!("{id}-{test}-{column}"),
        identity: None,
        outcome,
        score: if passed { 1.0 } else { 0.0 },
        latency_ms: Some(u64::from(test * 10)),
        cost_usd: Some(0.001),
        grading_usd: None,
        saved_usd: None,
        input_tokens: Some(3),
        output_tokens: Some(4),
        cached: false,
        record_json: record.to_string(),
    }
}
