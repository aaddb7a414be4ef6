//! Lines as exact JSON, and where they may be written.

use std::fs;
use std::time::Duration;

use runner_config::TextOrigin;
use runner_config::plan::{CaseId, OutputPath};
use runner_eval::event::{
    Dimension, LaneEvent, LaneNotice, LaneStanding, LaneTime, LaneWait, LogLine, RunHead,
    WaitReason,
};
use runner_eval::record::Outcome;
use runner_eval::summary::ColumnHead;
use serde_json::{Value, json};

use super::*;
use crate::exit::USAGE;
use crate::findings::tests::record;

const ID: CaseId = CaseId {
    test_idx: 3,
    prompt_idx: 1,
};

/// The line of an event that is told 1.5 s after the run began.
fn told(event: &Event, began: Instant) -> Value {
    line::of(event, began, Duration::from_millis(1_500))
}

fn started() -> Event {
    Event::RunStarted(Arc::new(RunHead {
        run_id: "run-1".to_owned(),
        description: Some("a secret plan".to_owned()),
        total: 8,
        columns: vec![ColumnHead {
            provider: "openai:gpt-4o".to_owned(),
            prompt: "the prompt itself".to_owned(),
        }],
        concurrency: 256,
        started_at_ms: 1_700_000_000_000,
    }))
}

fn waiting(why: Option<WaitReason>, until: Option<Instant>) -> Event {
    Event::LaneWaits(LaneStanding {
        lane: "api.example.com/m".into(),
        wait: why.map(|why| LaneWait { why, until: None }),
        until,
    })
}

#[test]
fn the_runs_own_events_have_names_and_numbers_and_no_texts_but_logs() {
    let log = LogLine {
        plugin: "acme".to_owned(),
        case: ID,
        level: tracing::Level::WARN,
        message: "the prompt was: tell me".to_owned(),
    };
    let table = [
        (
            started(),
            json!({
                "at": 1500.0, "event": "run:started", "run": "run-1", "startedAt": "2023-11-14T22:13:20.000Z",
                "total": 8, "maxConcurrency": 256, "providers": ["openai:gpt-4o"],
            }),
        ),
        (
            Event::CaseStarted { id: ID },
            json!({ "at": 1500.0, "event": "case:started", "testIdx": 3, "promptIdx": 1 }),
        ),
        (
            Event::CaseFinished(Arc::new(record(3, 1, Outcome::Passed, "the answer"))),
            json!({
                "at": 1500.0, "event": "case:finished", "testIdx": 3, "promptIdx": 1,
                "outcome": "passed", "latencyMs": 103, "cached": false,
            }),
        ),
        (
            Event::CaseFinished(Arc::new(record(3, 1, Outcome::Error, "the API said: no"))),
            json!({
                "at": 1500.0, "event": "case:finished", "testIdx": 3, "promptIdx": 1,
                "outcome": "error", "errorCode": "auth", "latencyMs": 103,
            }),
        ),
        (
            Event::Log(log),
            json!({ "at": 1500.0, "event": "log", "plugin": "acme", "testIdx": 3, "promptIdx": 1, "level": "warn", "message": "the prompt was: tell me" }),
        ),
        (
            Event::Notice {
                message: "acme was switched off".to_owned(),
            },
            json!({ "at": 1500.0, "event": "notice", "message": "acme was switched off" }),
        ),
        (
            Event::Draining {
                in_flight: vec![(ID, Duration::from_secs(41))],
                grace: Duration::from_secs(10),
            },
            json!({ "at": 1500.0, "event": "run:draining", "inFlight": 1, "graceMs": 10000.0 }),
        ),
    ];
    for (event, expected) in table {
        assert_eq!(told(&event, Instant::now()), expected);
    }
}

/// What the line of a lane's event says beside its time and its lane, which are checked.
fn of_lane(event: LaneEvent) -> Value {
    let notice = LaneNotice {
        lane: "api.example.com/m".into(),
        at: Duration::from_micros(1_234_567),
        event,
    };
    let mut told = told(&Event::Lane(notice), Instant::now());
    assert_eq!(told["at"], 1234.567, "it happened before it was told");
    assert_eq!(told["lane"], "api.example.com/m");
    let fields = told.as_object_mut().expect("a line is an object");
    fields.retain(|key, _| key != "at" && key != "lane");
    told
}

#[test]
fn what_a_lane_learns_has_its_published_name_and_figures() {
    let learned = |dimension, window| LaneEvent::RateLimitLearned {
        dimension,
        limit: 60,
        window,
    };
    let minute = Some(Duration::from_mins(1));
    let table = [
        (
            learned(Some(Dimension::Requests), minute),
            json!({ "event": "ratelimit:learned", "dimension": "requests", "limit": 60, "windowMs": 60000.0 }),
        ),
        (
            learned(None, None),
            json!({ "event": "ratelimit:learned", "limit": 60 }),
        ),
        (
            LaneEvent::RateLimitWarning {
                dimension: Dimension::InputTokens,
                remaining: 5,
                limit: 60,
            },
            json!({ "event": "ratelimit:warning", "dimension": "input tokens", "remaining": 5, "limit": 60 }),
        ),
    ];
    for (event, expected) in table {
        assert_eq!(of_lane(event), expected);
    }
}

#[test]
fn what_becomes_of_a_lane_has_its_published_name_and_figures() {
    let until = LaneTime::ZERO + Duration::from_secs(4);
    let table = [
        (
            LaneEvent::ConcurrencyIncreased { from: 4, to: 5 },
            json!({ "event": "concurrency:increased", "from": 4, "to": 5 }),
        ),
        (
            LaneEvent::ConcurrencyDecreased { from: 4, to: 2 },
            json!({ "event": "concurrency:decreased", "from": 4, "to": 2 }),
        ),
        (
            LaneEvent::BreakerOpened { until },
            json!({ "event": "breaker:opened", "until": 4000.0 }),
        ),
        (
            LaneEvent::BreakerClosed,
            json!({ "event": "breaker:closed" }),
        ),
    ];
    for (event, expected) in table {
        assert_eq!(of_lane(event), expected);
    }
}

#[test]
fn what_a_lane_waits_for_is_told_with_its_end() {
    let began = Instant::now();
    let until = Some(began + Duration::from_secs(4));
    let declared = WaitReason::Declared {
        name: "account requests".to_owned(),
        used: 60,
        capacity: 60,
    };
    let learnt = WaitReason::Learnt {
        dimension: Dimension::Tokens,
        used: 58,
        limit: 60,
    };
    let interval = Duration::from_millis(102);
    let table = [
        (
            Some(learnt),
            json!({ "why": "learnt", "dimension": "tokens", "used": 58, "limit": 60 }),
        ),
        (
            Some(declared),
            json!({ "why": "declared", "name": "account requests", "used": 60, "limit": 60 }),
        ),
        (
            Some(WaitReason::Pace { interval }),
            json!({ "why": "pace", "intervalMs": 102.0 }),
        ),
        (
            Some(WaitReason::Blocked { asked: true }),
            json!({ "why": "blocked", "asked": true }),
        ),
        (Some(WaitReason::Broken), json!({ "why": "broken" })),
        (Some(WaitReason::Backoff), json!({ "why": "backoff" })),
    ];
    for (why, mut expected) in table {
        for (key, value) in [
            ("at", json!(1500.0)),
            ("event", json!("lane:waiting")),
            ("lane", json!("api.example.com/m")),
            ("until", json!(4000.0)),
        ] {
            expected[key] = value;
        }
        assert_eq!(told(&waiting(why, until), began), expected);
    }
    assert_eq!(
        told(&waiting(None, None), began),
        json!({ "at": 1500.0, "event": "lane:free", "lane": "api.example.com/m" })
    );
    assert_eq!(
        told(&waiting(Some(WaitReason::Broken), None), began),
        json!({ "at": 1500.0, "event": "lane:waiting", "lane": "api.example.com/m", "why": "broken" })
    );
}

fn prepared(path: &Path) -> Result<EventsFile, Failure> {
    let prepared = EventsFile::prepare(Some(path), &[], &Talk::new(false))?;
    Ok(prepared.expect("a file was named"))
}

#[test]
fn each_event_is_a_whole_line_as_it_happens() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("events.jsonl");
    fs::write(&path, "of an earlier run")?;
    let events = prepared(&path).expect("it can be written");
    assert_eq!(fs::read_to_string(&path)?, "of an earlier run");
    let mut consumer = events.consumer();
    let happened = [
        started(),
        Event::CaseStarted { id: ID },
        waiting(None, None),
    ];
    for (n, event) in happened.iter().enumerate() {
        consumer.on_event(event);
        let text = fs::read_to_string(&path)?;
        assert!(text.ends_with('\n'), "{text}");
        let lines: Vec<Value> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        assert_eq!(lines.len(), n + 1);
        assert!(text.starts_with(r#"{"at":"#), "{text}");
    }
    assert!(events.is_whole());
    Ok(())
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let here = folder.path().display();
    fs::write(folder.path().join("file"), "")?;
    let missing = folder.path().join("file/no/events.jsonl");
    let table = [
        (
            folder.path().to_owned(),
            format!("error: can't write {here}: it is a folder"),
        ),
        (
            missing,
            format!(
                "error: can't write {here}/file/no/events.jsonl: the folder {here}/file/no can't be made: Not a directory (os error 20)"
            ),
        ),
        (
            PathBuf::from("-"),
            "error: can't write events to -: other output is written there\nhelp: name a file or a named pipe".to_owned(),
        ),
        (
            PathBuf::from("/dev/stdout"),
            "error: can't write events to /dev/stdout: other output is written there\nhelp: name a file or a named pipe".to_owned(),
        ),
    ];
    for (path, message) in table {
        let failure = prepared(&path).err().expect("it can't be written");
        assert_eq!((failure.render(), failure.code()), (message, USAGE));
    }
    let results = folder.path().join("out.jsonl");
    let outputs = Output::prepare(
        &[OutputPath::new(results.clone(), TextOrigin::Person)],
        false,
    )
    .expect("it can be written");
    let both = EventsFile::prepare(Some(&results), &outputs, &Talk::new(false));
    let failure = both.err().expect("one file can't be both");
    assert!(failure.render().contains("both results and events"));
    assert_eq!(
        fs::read_dir(folder.path())?.count(),
        1,
        "trying leaves nothing behind"
    );
    Ok(())
}

#[test]
fn a_file_that_goes_away_is_told_and_remembered() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("later/events.jsonl");
    fs::create_dir(folder.path().join("later"))?;
    let events = prepared(&path).expect("it can be written");
    fs::remove_dir_all(folder.path().join("later"))?;
    fs::write(folder.path().join("later"), "a file")?;
    let mut consumer = events.consumer();
    consumer.on_event(&started());
    consumer.on_event(&Event::CaseStarted { id: ID });
    assert!(!events.is_whole());
    Ok(())
}
