//! Tape, cache, lanes and observer sit where they belong, and see what they may.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use runner_eval::gateway::{
    CacheMode, CallScope, Class, ClientSettings, Code, Cue, Entry, Envelope, Event, Exchange,
    Flight, Gateway, LaneNotice, Notice, Observer, Policy, Remembered, ResponseCache, Scheduling,
    Settings, Tape,
};
use runner_tests::{Answer, Gate, ModelApi};

use crate::{SECRET, grants, post, scheduling, scope, settings, text};

/// Everything that the stages were asked and told, in order.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn write(&self, line: impl Into<String>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Settings whose every stage writes here.
    fn settings(&self, cue: &Cue, hit: Option<&Remembered>) -> Settings {
        Settings {
            tape: Box::new(JournalTape(self.clone(), cue.clone())),
            cache: Box::new(JournalCache(self.clone(), hit.cloned())),
            observer: Box::new(self.clone()),
            ..settings()
        }
    }
}

impl Observer for Journal {
    fn observe(&self, notice: &Notice<'_>) {
        let name = match notice.event {
            Event::Remembered => "remembered".to_owned(),
            Event::AttemptStarted { attempt } => format!("started {attempt}"),
            Event::AttemptFinished { attempt, class, .. } => {
                format!("finished {attempt} {class:?}")
            }
        };
        assert_eq!(notice.lane.bucket.as_deref(), Some("gpt"));
        self.write(format!("{name} #{}", notice.tag));
    }

    fn lane(&self, notice: LaneNotice) {
        assert!(notice.lane.ends_with("/gpt"), "{}", notice.lane);
        let name = notice.event.name();
        if !name.starts_with("concurrency") {
            self.write(name);
        }
    }
}

struct JournalTape(Journal, Cue);

#[async_trait]
impl Tape for JournalTape {
    async fn cue(&self, envelope: &Envelope) -> Cue {
        assert!(!format!("{}{:?}", envelope.url, envelope.headers).contains("key=42"));
        self.0.write("cue");
        self.1.clone()
    }

    async fn record(&self, _envelope: &Envelope, response: &Remembered) {
        assert!(!String::from_utf8_lossy(&response.body).contains(SECRET));
        self.0.write(format!("record {}", response.status));
    }
}

struct JournalCache(Journal, Option<Remembered>);

#[async_trait]
impl ResponseCache for JournalCache {
    async fn enter(&self, _envelope: &Envelope) -> Entry {
        self.0.write("enter");
        match &self.1 {
            Some(response) => Entry::Hit(response.clone()),
            None => Entry::Lead(Box::new(Ticket(self.0.clone()))),
        }
    }
}

struct Ticket(Journal);

#[async_trait]
impl Flight for Ticket {
    async fn land(self: Box<Self>, response: &Remembered) {
        assert!(!String::from_utf8_lossy(&response.body).contains(SECRET));
        self.0.write(format!("land {}", response.status));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.write("ticket back");
    }
}

async fn send(settings: Settings, api: &ModelApi, cache: CacheMode) -> Result<String, Code> {
    let exchange = Exchange {
        bucket: Some("gpt".to_owned()),
        cache,
        ..post(format!("{}/v1", api.url()))
    };
    let scope = CallScope { tag: 7, ..scope() };
    let grants = grants("query:key", &[&api.url()]);
    let reply = Gateway::new(settings).send(&grants, exchange, &scope).await;
    reply
        .map(|reply| text(&reply).to_owned())
        .map_err(|error| error.code)
}

fn remembered(text: &str) -> Remembered {
    Remembered {
        status: 200,
        headers: Vec::new(),
        body: text.into(),
    }
}

#[tokio::test]
async fn a_live_request_passes_the_stages_in_order_and_pauses_without_a_slot() {
    let api = ModelApi::start();
    api.script([
        Answer::status(429).header("retry-after-ms", "10"),
        Answer::raw(format!("echo {SECRET}")),
    ]);
    let journal = Journal::default();
    let settings = journal.settings(&Cue::Live, None);
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Ok("echo [masked]".to_owned())
    );
    assert_eq!(
        journal.lines(),
        [
            "cue",
            "enter",
            "slot:acquired",
            "started 1 #7",
            "finished 1 Throttled #7",
            "slot:released",
            "ratelimit:hit",
            "request:retrying",
            "slot:acquired",
            "started 2 #7",
            "finished 2 Ok #7",
            "slot:released",
            "record 200",
            "land 200",
            "ticket back",
        ]
    );
}

#[tokio::test]
async fn what_is_remembered_touches_neither_lane_nor_network() {
    let api = ModelApi::start();
    let journal = Journal::default();
    let settings = journal.settings(&Cue::Live, Some(&remembered("cached")));
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Ok("cached".to_owned())
    );
    let settings = journal.settings(&Cue::Replay(remembered("replayed")), None);
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Ok("replayed".to_owned())
    );
    let settings = journal.settings(&Cue::Missing, None);
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Err(Code::Other)
    );
    assert_eq!(
        journal.lines(),
        [
            "cue",
            "enter",
            "remembered #7",
            "cue",
            "remembered #7",
            "cue"
        ]
    );
    assert_eq!(api.requests().len(), 0);
}

#[tokio::test]
async fn a_bypass_does_not_ask_the_cache_and_a_failure_is_not_kept() {
    let api = ModelApi::start();
    api.always(Answer::status(404));
    let journal = Journal::default();
    for mode in [CacheMode::Bypass, CacheMode::Auto] {
        let settings = journal.settings(&Cue::Live, None);
        assert_eq!(send(settings, &api, mode).await, Ok(String::new()));
    }
    let lines = journal.lines();
    let count = |line: &str| lines.iter().filter(|candidate| *candidate == line).count();
    assert_eq!(
        (count("enter"), count("ticket back"), count("land 404")),
        (1, 1, 0)
    );
    assert_eq!(count("record 404"), 2, "a recording keeps failures too");
}

#[tokio::test]
async fn dropping_an_exchange_gives_back_slot_and_ticket() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::raw("late").behind(&gate));
    let journal = Journal::default();
    let settings = journal.settings(&Cue::Live, None);
    let api = Arc::new(api);
    let sending = tokio::spawn({
        let api = Arc::clone(&api);
        async move { send(settings, &api, CacheMode::Auto).await }
    });
    api.until(|view| view.requests == 1).await;
    sending.abort();
    assert!(sending.await.expect_err("aborted").is_cancelled());
    let lines = journal.lines();
    assert!(lines.contains(&"slot:released".to_owned()), "{lines:?}");
    assert!(lines.contains(&"ticket back".to_owned()), "{lines:?}");
    assert!(
        !lines.iter().any(|line| line.starts_with("finished")),
        "{lines:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_are_in_flight_at_once_and_share_what_connections_they_can() {
    const MANY: usize = 300;
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::raw("ok").behind(&gate));
    let gateway = Gateway::new(Settings {
        client: ClientSettings {
            max_in_flight: MANY,
            ..settings().client
        },
        ..settings()
    });
    let scope = CallScope {
        scheduling: Arc::new(Scheduling {
            policy: Policy {
                start_window: MANY as u32,
                max_window: MANY as u32,
                ..Policy::default()
            },
            ..scheduling()
        }),
        ..scope()
    };
    let tasks: Vec<_> = (0..MANY)
        .map(|_| {
            let (gateway, url, scope) = (gateway.clone(), api.url(), scope.clone());
            let grants = grants("bearer", &[&url]);
            tokio::spawn(async move { gateway.send(&grants, post(url), &scope).await })
        })
        .collect();
    api.until(|view| view.in_flight == MANY).await;
    gate.open();
    for task in tasks {
        let reply = task.await.expect("no panic").expect("a reply");
        assert_eq!((reply.class, reply.spent.attempts), (Class::Ok, 1));
    }
    assert_eq!(api.max_concurrent(), MANY);
}
