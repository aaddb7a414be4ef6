//! The shell with the real machine, the clock in the test's hands and no network.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use runner_scheduler::{LanePolicy, WaitReason};
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::lane::MOST_LANES;
use crate::observer::{LaneNotice, LaneStanding, Notice};

mod end;
mod stress;

/// Remembers what it is told.
#[derive(Default)]
struct UsageFields {
    notices: Mutex<Vec<LaneNotice>>,
    standings: Mutex<Vec<LaneStanding>>,
}

impl Observer for UsageFields {
    fn observe(&self, _notice: &Notice<'_>) {}

    fn lane(&self, notice: LaneNotice) {
        locked(&self.notices).push(notice);
    }

    fn standing(&self, standing: LaneStanding) {
        locked(&self.standings).push(standing);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lanes() -> (Arc<Lanes>, Arc<UsageFields>) {
    let told = Arc::new(UsageFields::default());
    (Arc::new(Lanes::new(7, told.clone(), None)), told)
}

/// Whoever sends exchanges.
#[derive(Clone)]
struct Caller {
    lane: Lane,
    plugin: &'static str,
    scheduling: Scheduling,
}

impl Caller {
    fn of(bucket: &str) -> Self {
        Self {
            lane: Lane {
                origin: "https://api.acme.com".to_owned(),
                bucket: Some(bucket.to_owned()),
                ..Lane::default()
            },
            plugin: "acme",
            scheduling: Scheduling::default(),
        }
    }

    /// At most so many at once.
    fn at_most(mut self, window: u32) -> Self {
        self.scheduling.policy = LanePolicy {
            min_window: window,
            start_window: window,
            max_window: window,
            ..LanePolicy::default()
        };
        self
    }

    fn enter<'a>(&self, lanes: &'a Lanes) -> LaneTurn<'a> {
        lanes.enter(&Entrant {
            lane: &self.lane,
            plugin: self.plugin,
            scheduling: &self.scheduling,
            cost: QuotaUse::default(),
            masker: &Masker::default(),
        })
    }

    /// A whole exchange of one attempt that takes so long.
    async fn pass(&self, lanes: &Lanes, length: Duration) -> Result<(), Refusal> {
        let mut turn = self.enter(lanes);
        turn.wait().await?;
        sleep(length).await;
        assert_eq!(
            turn.finish(Class::Ok, &Hint::default(), None),
            NextStep::Return
        );
        Ok(())
    }
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn asks_for(wait: Duration) -> Hint {
    Hint {
        retry_after: Some(wait),
        ..Hint::default()
    }
}

async fn is_waiting(turn: &mut LaneTurn<'_>) -> bool {
    timeout(ms(1), turn.wait()).await.is_err()
}

/// In flight, in the queue.
fn state(lanes: &Lanes) -> (u32, usize) {
    let book = lanes.shared.lock();
    book.views().fold((0, 0), |(flying, queued), view| {
        (flying + view.in_flight, queued + view.queued)
    })
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_for_a_place_and_the_next_in_line_gets_it() {
    let (lanes, _) = lanes();
    let caller = Caller::of("gpt").at_most(1);
    let (mut first, mut second) = (caller.enter(&lanes), caller.enter(&lanes));
    assert_eq!(first.wait().await, Ok(()));
    assert!(is_waiting(&mut second).await);
    assert_eq!(
        first.finish(Class::Ok, &Hint::default(), None),
        NextStep::Return
    );
    assert_eq!(second.wait().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn dropping_a_turn_gives_its_place_to_the_next_whether_it_waits_or_is_on_the_wire() {
    let (lanes, _) = lanes();
    let caller = Caller::of("gpt").at_most(1);
    let mut flying = caller.enter(&lanes);
    let (waiting, mut last) = (caller.enter(&lanes), caller.enter(&lanes));
    assert_eq!(flying.wait().await, Ok(()));
    assert_eq!(state(&lanes), (1, 2));
    drop(waiting);
    assert_eq!(state(&lanes), (1, 1));
    drop(flying);
    assert_eq!(last.wait().await, Ok(()));
    drop(last);
    assert_eq!(state(&lanes), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_nobody_took_is_given_back() {
    let (lanes, _) = lanes();
    let caller = Caller::of("gpt").at_most(1);
    // Admitted, and dropped before it was ever polled.
    drop(caller.enter(&lanes));
    assert_eq!(state(&lanes), (0, 0));
    assert_eq!(caller.enter(&lanes).wait().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_refused_attempt_waits_as_long_as_asked_and_holds_no_place_meanwhile() {
    let (lanes, _) = lanes();
    let caller = Caller::of("gpt").at_most(1);
    let mut turn = caller.enter(&lanes);
    assert_eq!(turn.wait().await, Ok(()));
    let begun = Instant::now();
    let next = turn.finish(Class::Throttled, &asks_for(ms(5000)), None);
    assert!(matches!(next, NextStep::Again { retry: 1, .. }), "{next:?}");
    assert_eq!(state(&lanes), (0, 1));
    assert_eq!(turn.wait().await, Ok(()));
    let waited = begun.elapsed();
    assert!((ms(5000)..ms(6000)).contains(&waited), "{waited:?}");
    assert_eq!(
        turn.finish(Class::Ok, &Hint::default(), None),
        NextStep::Return
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_dropped_in_a_pause_leaves_nothing_behind() {
    let (lanes, _) = lanes();
    let mut turn = Caller::of("gpt").enter(&lanes);
    assert_eq!(turn.wait().await, Ok(()));
    turn.finish(Class::Throttled, &asks_for(ms(5000)), None);
    assert!(is_waiting(&mut turn).await);
    drop(turn);
    assert_eq!(state(&lanes), (0, 0));
    sleep(book::LOOK * 2).await;
    assert!(lanes.shared.lock().is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_target_and_its_graders_share_a_lane_of_one_place_without_a_deadlock() {
    let (lanes, _) = lanes();
    let caller = Caller::of("gpt").at_most(1);
    let case = || {
        let (lanes, caller) = (lanes.clone(), caller.clone());
        async move {
            caller.pass(&lanes, ms(20)).await?;
            // The case keeps its slot while three graders ask the same model.
            let grade = || caller.pass(&lanes, ms(10));
            tokio::try_join!(grade(), grade(), grade()).map(drop)
        }
    };
    let cases: Vec<_> = (0..20).map(|_| tokio::spawn(case())).collect();
    for case in cases {
        let ended = timeout(Duration::from_hours(1), case).await;
        let ended = ended.expect("no deadlock").expect("no panic");
        assert_eq!(ended, Ok(()));
    }
    assert_eq!(state(&lanes), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_used_up_quota_ends_its_lane_and_no_other() {
    let (lanes, _) = lanes();
    let (used_up, other) = (Caller::of("gpt").at_most(1), Caller::of("claude"));
    // One of them alone may be too dear for what is left.
    for _ in 0..2 {
        let mut turn = used_up.enter(&lanes);
        assert_eq!(turn.wait().await, Ok(()));
        turn.finish(Class::QuotaExhausted, &Hint::default(), None);
    }
    let mut first = used_up.enter(&lanes);
    assert_eq!(first.wait().await, Ok(()));
    let mut queued = used_up.enter(&lanes);
    first.finish(Class::QuotaExhausted, &Hint::default(), None);
    let begun = Instant::now();
    let refused = Err(Refusal::QuotaExhausted { until: None });
    assert_eq!(queued.wait().await, refused);
    assert_eq!(used_up.enter(&lanes).wait().await, refused);
    assert_eq!(other.pass(&lanes, ms(0)).await, Ok(()));
    assert!(begun.elapsed() < ms(10));
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_told_in_order_by_its_published_names() {
    let (lanes, told) = lanes();
    sleep(ms(50)).await;
    let mut turn = Caller::of("gpt").enter(&lanes);
    assert_eq!(turn.wait().await, Ok(()));
    sleep(ms(30)).await;
    turn.finish(Class::Throttled, &asks_for(ms(1000)), None);
    drop(turn);
    let notices = locked(&told.notices);
    let names: Vec<_> = notices
        .iter()
        .filter(|notice| !notice.event.name().starts_with("concurrency"))
        .map(|notice| (notice.at.as_millis(), notice.event.name()))
        .collect();
    assert_eq!(
        names,
        [
            (50, "slot:acquired"),
            (80, "slot:released"),
            (80, "ratelimit:hit"),
            (80, "request:retrying"),
        ]
    );
    assert!(notices.iter().all(|n| &*n.lane == "api.acme.com/gpt"));
}

#[tokio::test(start_paused = true)]
async fn how_a_lane_stands_is_told_when_a_wait_lasts_and_when_it_has_ended() {
    let (lanes, told) = lanes();
    let caller = Caller::of("gpt");
    let mut turn = caller.enter(&lanes);
    assert_eq!(turn.wait().await, Ok(()));
    turn.finish(Class::Throttled, &asks_for(ms(5000)), None);
    let until = Instant::now() + ms(5000);
    sleep(book::LOOK / 2).await;
    assert!(locked(&told.standings).is_empty(), "not at once");
    sleep(book::LOOK).await;
    let first = locked(&told.standings)[0].clone();
    let wait = first.wait.expect("it waits");
    assert_eq!(wait.why, WaitReason::Blocked { asked: true });
    let told_until = Instant::from_std(first.until.expect("known"));
    assert!(told_until >= until && told_until < until + ms(1000));

    assert_eq!(turn.wait().await, Ok(()));
    sleep(book::LOOK * 2).await;
    let standings = locked(&told.standings);
    assert!(standings.last().is_some_and(|last| last.wait.is_none()));
    assert!(standings.len() <= 25, "{}", standings.len());
}

#[tokio::test(start_paused = true)]
async fn names_are_unique_and_one_key_is_one_lane() {
    let (lanes, _) = lanes();
    let (caller, mut other) = (Caller::of("gpt"), Caller::of("gpt"));
    other.lane.organization = Some("org-2".to_owned());
    for _ in 0..2 {
        assert_eq!(caller.pass(&lanes, ms(0)).await, Ok(()));
    }
    assert_eq!(other.pass(&lanes, ms(0)).await, Ok(()));
    let summaries = lanes.summaries();
    let counts: Vec<_> = summaries
        .iter()
        .map(|summary| (&*summary.lane, summary.metrics.completed_requests))
        .collect();
    assert_eq!(
        counts,
        [("api.acme.com/gpt", 2), ("api.acme.com/gpt #2", 1)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_invents_buckets_gets_a_bounded_number_of_lanes_and_takes_nobodys() {
    let (lanes, _) = lanes();
    for bucket in 0..MOST_LANES + 50 {
        let caller = Caller::of(&bucket.to_string());
        assert_eq!(caller.pass(&lanes, ms(0)).await, Ok(()));
    }
    assert_eq!(Caller::of("0").pass(&lanes, ms(0)).await, Ok(()));
    let other = Caller {
        plugin: "other",
        ..Caller::of("theirs")
    };
    assert_eq!(other.pass(&lanes, ms(0)).await, Ok(()));

    let summaries = lanes.summaries();
    let done = |name: &str| {
        let lane = summaries.iter().find(|summary| &*summary.lane == name);
        lane.map(|summary| summary.metrics.completed_requests)
    };
    assert_eq!(summaries.len(), MOST_LANES + 2);
    assert_eq!(done("all other lanes of acme"), Some(50));
    assert_eq!(done("api.acme.com/0"), Some(2), "what is open stays");
    assert_eq!(done("api.acme.com/theirs"), Some(1));
}

#[tokio::test(start_paused = true)]
async fn two_providers_in_one_lane_both_keep_their_own_bounds() {
    let (lanes, _) = lanes();
    let (wide, narrow) = (Caller::of("gpt").at_most(8), Caller::of("gpt").at_most(1));
    let mut first = wide.enter(&lanes);
    assert_eq!(first.wait().await, Ok(()));
    let mut second = narrow.enter(&lanes);
    assert!(is_waiting(&mut second).await);
    let mut third = wide.enter(&lanes);
    assert!(is_waiting(&mut third).await, "the lane is narrow for all");
}
