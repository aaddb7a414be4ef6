//! How lanes end: with their run, or with a bug.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_lanes_that_are_dropped_even_with_a_timer_running() {
    let (lanes, _) = lanes();
    let mut turn = Caller::of("gpt").enter(&lanes);
    assert_eq!(turn.wait().await, Ok(()));
    turn.finish(Class::Throttled, &asks_for(ms(5000)), None);
    assert!(is_waiting(&mut turn).await, "the keeper sleeps");
    drop(turn);
    let shared = Arc::downgrade(&lanes.shared);
    drop(lanes);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(shared.strong_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn drained_lanes_let_nothing_go_and_what_is_on_the_wire_end() {
    let (lanes, _) = lanes();
    let caller = Caller::of("gpt").at_most(2);
    let (mut first, mut second) = (caller.enter(&lanes), caller.enter(&lanes));
    let mut queued = caller.enter(&lanes);
    assert_eq!((first.wait().await, second.wait().await), (Ok(()), Ok(())));
    assert!(is_waiting(&mut queued).await);
    lanes.drain();
    assert_eq!(queued.wait().await, Err(Refusal::Draining));
    let late = caller.pass(&lanes, ms(1)).await;
    assert_eq!(late, Err(Refusal::Draining));
    assert_eq!(
        first.finish(Class::Ok, &Hint::default(), None),
        NextStep::Return
    );
    let again = second.finish(Class::Throttled, &asks_for(ms(1)), None);
    assert!(matches!(again, NextStep::Again { .. }));
    assert_eq!(second.wait().await, Err(Refusal::Draining));
    assert_eq!(state(&lanes), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_blocked_lane_is_drained_at_once_and_nothing_is_told_to_wait_any_more() {
    let (lanes, told) = lanes();
    let mut turn = Caller::of("gpt").enter(&lanes);
    assert_eq!(turn.wait().await, Ok(()));
    turn.finish(Class::Throttled, &asks_for(Duration::from_mins(10)), None);
    assert!(timeout(ms(400), turn.wait()).await.is_err());
    assert!(locked(&told.standings)[0].wait.is_some());
    let before = Instant::now();
    lanes.drain();
    assert_eq!(turn.wait().await, Err(Refusal::Draining));
    assert!(before.elapsed() < ms(1), "in the clock of the test");
    sleep(book::LOOK * 2).await;
    assert!(lanes.shared.lock().is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_wants_to_be_woken_in_the_past_costs_a_millisecond_a_time() {
    let epoch = Epoch::begin();
    sleep(ms(100)).await;
    let before = Instant::now();
    epoch.reached(Time::ZERO).await;
    assert!(before.elapsed() >= ms(1));
    let never = timeout(Duration::from_hours(100_000), epoch.reached(Time::NEVER));
    assert!(never.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_keeper_sleeps_while_nothing_is_due() {
    let (lanes, told) = lanes();
    let caller = Caller::of("gpt").at_most(1);
    let (mut first, mut second) = (caller.enter(&lanes), caller.enter(&lanes));
    assert_eq!(first.wait().await, Ok(()));
    // Somebody waits for an hour: a few looks a second, and nothing is told of it.
    let waited = timeout(Duration::from_hours(1), second.wait()).await;
    assert!(waited.is_err());
    drop((first, second));
    sleep(book::LOOK * 2).await;
    assert!(lanes.shared.lock().is_idle());
    assert!(locked(&told.standings).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_bug_in_the_machine_ends_every_turn_instead_of_letting_it_wait_for_ever() {
    let (lanes, _) = lanes();
    let caller = Caller::of("gpt").at_most(1);
    let mut flying = caller.enter(&lanes);
    assert_eq!(flying.wait().await, Ok(()));
    let waiting = tokio::spawn({
        let (lanes, caller) = (lanes.clone(), caller.clone());
        async move { caller.pass(&lanes, ms(1)).await }
    });
    sleep(ms(1)).await;
    let bug = catch_unwind(AssertUnwindSafe(|| {
        lanes.shared.with(|_, _| panic!("a bug"));
    }));
    assert!(bug.is_err());
    let ended = timeout(ms(1000), waiting).await.expect("no endless wait");
    assert!(ended.expect_err("it panics").is_panic());
    drop(flying);
    lanes.drain();
    assert_eq!(lanes.summaries().len(), 1, "the run still has its end");
}
