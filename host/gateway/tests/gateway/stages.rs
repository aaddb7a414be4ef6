//! Cassette, cache, lanes and observer sit where they belong, and see what they may.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use runner_gateway::{
    CacheMode, CachedReply, Caller, Cassette, CassetteMatch, Class, ClientSettings, Ending,
    Envelope, Event, Exchange, ExchangeCode, ExchangeScope, Gateway, Interaction, Lane, LaneNotice,
    LanePolicy, Notice, Observer, ResponseCache, Scheduling, Settings, StoredResponse,
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
    fn settings(&self, found: &CassetteMatch, hit: Option<&StoredResponse>) -> Settings {
        Settings {
            cassette: Box::new(JournalCassette(self.clone(), found.clone())),
            cache: Some(Box::new(JournalCache::new(self, hit))),
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

struct JournalCassette(Journal, CassetteMatch);

impl Cassette for JournalCassette {
    fn find(&self, envelope: &Envelope, caller: &Caller<'_>) -> CassetteMatch {
        assert!(!format!("{}{:?}", envelope.url, envelope.headers).contains("key=42"));
        assert_eq!(caller.tag, 7);
        self.0.write("find");
        self.1.clone()
    }

    fn record(&self, _envelope: &Envelope, _caller: &Caller<'_>, interaction: &Interaction) {
        let Ending::Answered { response, .. } = &interaction.ending else {
            return self.0.write("record failure");
        };
        assert!(!String::from_utf8_lossy(&response.body).contains(SECRET));
        self.0.write(format!("record {}", response.status));
    }
}

struct JournalCache {
    journal: Journal,
    always: Option<StoredResponse>,
    held: Mutex<HashMap<String, CachedReply>>,
}

impl JournalCache {
    fn new(journal: &Journal, always: Option<&StoredResponse>) -> Self {
        Self {
            journal: journal.clone(),
            always: always.cloned(),
            held: Mutex::default(),
        }
    }
}

/// Time that the journal's answers took when they came.
const TOOK: Duration = Duration::from_millis(1234);

#[async_trait]
impl ResponseCache for JournalCache {
    fn get(&self, key: &runner_store::Digest) -> Option<CachedReply> {
        self.journal.write("look up");
        let always = self.always.clone().map(|response| CachedReply {
            response,
            latency: TOOK,
        });
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        always.or_else(|| held.get(&key.to_string()).cloned())
    }

    async fn put(&self, key: &runner_store::Digest, _: &Envelope, lane: &Lane, held: CachedReply) {
        assert!(!String::from_utf8_lossy(&held.response.body).contains(SECRET));
        assert_eq!(lane.bucket.as_deref(), Some("gpt"));
        self.journal.write(format!("keep {}", held.response.status));
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key.to_string(), held);
    }
}

async fn send(
    settings: Settings,
    api: &ModelApi,
    cache: CacheMode,
) -> Result<String, ExchangeCode> {
    let exchange = Exchange {
        bucket: Some("gpt".to_owned()),
        cache,
        ..post(format!("{}/v1", api.url()))
    };
    let scope = ExchangeScope { tag: 7, ..scope() };
    let grants = grants("query:key", &[&api.url()]);
    let reply = Gateway::new(settings).send(&grants, exchange, &scope).await;
    reply
        .map(|reply| text(&reply).to_owned())
        .map_err(|error| error.code)
}

fn replay(text: &str) -> CassetteMatch {
    CassetteMatch::Replay(Interaction {
        ending: Ending::Answered {
            response: remembered(text),
            retry_after: None,
            cached: false,
        },
        attempts: 1,
        latency: TOOK,
    })
}

fn remembered(text: &str) -> StoredResponse {
    StoredResponse {
        status: 200,
        headers: Vec::new(),
        body: text.into(),
        pieces: Vec::new(),
    }
}

/// A config may call any word a secret, and another run have it in its answer.
#[tokio::test]
async fn an_answer_that_had_a_secret_is_not_kept() {
    let api = ModelApi::start();
    api.script([Answer::raw(format!("echo {SECRET}"))]);
    let journal = Journal::default();
    let settings = journal.settings(&CassetteMatch::Live, None);
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Ok("echo [masked]".to_owned())
    );
    assert_eq!(
        journal.lines().last().map(String::as_str),
        Some("record 200")
    );
    assert!(!journal.lines().iter().any(|line| line.starts_with("keep")));
}

#[tokio::test]
async fn a_live_request_passes_the_stages_in_order_and_pauses_without_a_slot() {
    let api = ModelApi::start();
    api.script([
        Answer::status(429).header("retry-after-ms", "10"),
        Answer::raw("echo"),
    ]);
    let journal = Journal::default();
    let settings = journal.settings(&CassetteMatch::Live, None);
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Ok("echo".to_owned())
    );
    assert_eq!(
        journal.lines(),
        [
            "find",
            "look up",
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
            "keep 200",
            "record 200",
        ]
    );
}

#[tokio::test]
async fn what_is_remembered_touches_neither_lane_nor_network() {
    let api = ModelApi::start();
    let journal = Journal::default();
    let settings = journal.settings(&CassetteMatch::Live, Some(&remembered("cached")));
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Ok("cached".to_owned())
    );
    let settings = journal.settings(&replay("replayed"), None);
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Ok("replayed".to_owned())
    );
    let nearest = String::new();
    let settings = journal.settings(&CassetteMatch::Missing { nearest }, None);
    assert_eq!(
        send(settings, &api, CacheMode::Auto).await,
        Err(ExchangeCode::Other)
    );
    assert_eq!(
        journal.lines(),
        [
            "find",
            "look up",
            "remembered #7",
            "record 200",
            "find",
            "remembered #7",
            "find"
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
        let settings = journal.settings(&CassetteMatch::Live, None);
        assert_eq!(send(settings, &api, mode).await, Ok(String::new()));
    }
    let lines = journal.lines();
    let count = |line: &str| lines.iter().filter(|candidate| *candidate == line).count();
    assert_eq!((count("look up"), count("keep 404")), (1, 0));
    assert_eq!(count("record 404"), 2, "a recording keeps failures too");
}

#[tokio::test]
async fn dropping_the_last_caller_of_an_exchange_closes_it_and_gives_back_its_slot() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::raw("late").behind(&gate));
    let journal = Journal::default();
    let settings = journal.settings(&CassetteMatch::Live, None);
    let api = Arc::new(api);
    let sending = tokio::spawn({
        let api = Arc::clone(&api);
        async move { send(settings, &api, CacheMode::Auto).await }
    });
    api.until(|view| view.requests == 1).await;
    sending.abort();
    assert!(sending.await.expect_err("aborted").is_cancelled());
    while !journal.lines().contains(&"slot:released".to_owned()) {
        tokio::task::yield_now().await;
    }
    let lines = journal.lines();
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
    let scope = ExchangeScope {
        scheduling: Arc::new(Scheduling {
            policy: LanePolicy {
                min_window: MANY as u32,
                start_window: MANY as u32,
                max_window: MANY as u32,
                ..LanePolicy::default()
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_requests_at_once_are_one_on_the_wire_and_each_has_the_answer() {
    const MANY: usize = 100;
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::raw("once").behind(&gate));
    let journal = Journal::default();
    let gateway = Gateway::new(journal.settings(&CassetteMatch::Live, None));
    let exchange = Exchange {
        bucket: Some("gpt".to_owned()),
        ..post(format!("{}/v1", api.url()))
    };
    let scope = ExchangeScope { tag: 7, ..scope() };
    let ask = || {
        let (gateway, exchange, scope) = (gateway.clone(), exchange.clone(), scope.clone());
        let grants = grants("bearer", &[&api.url()]);
        tokio::spawn(async move { gateway.send(&grants, exchange, &scope).await })
    };
    let tasks: Vec<_> = (0..MANY).map(|_| ask()).collect();
    api.until(|view| view.requests == 1).await;
    // The one that leads may be among those that leave.
    for leaving in &tasks[..MANY / 2] {
        leaving.abort();
    }
    gate.open();
    let mut attempts = 0;
    for task in tasks.into_iter().skip(MANY / 2) {
        let reply = task.await.expect("no panic").expect("a reply");
        assert_eq!(text(&reply), "once");
        assert_eq!(reply.cached, reply.spent.attempts == 0);
        attempts += reply.spent.attempts;
    }
    assert!(attempts <= 1, "{attempts} attempts for one request");
    let reply = ask().await.expect("no panic").expect("a reply");
    assert!(reply.cached && reply.spent.attempts == 0);
    assert_eq!(api.requests().len(), 1);
}
