//! Who waits, who is refused, and that nobody waits for ever.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use futures_util::FutureExt;

use super::*;

const ACME: SpaceOwner<'static> = SpaceOwner {
    plugin: "acme",
    server: "https://a.example",
};

/// Another server that the same plugin asks.
const ACME_ELSEWHERE: SpaceOwner<'static> = SpaceOwner {
    server: "https://b.example",
    ..ACME
};

const OTHERS: SpaceOwner<'static> = SpaceOwner {
    plugin: "other",
    ..ACME
};

fn a_call() -> Arc<CallBodies> {
    Arc::default()
}

#[tokio::test]
async fn a_call_that_holds_too_much_is_refused_until_its_guest_has_it() {
    let (bodies, call, shared) = (Bodies::default(), a_call(), a_call());
    for _ in 0..2 {
        let mut space = bodies.space(ACME, &call);
        space.grow(RESPONSE_LIMIT).await.unwrap();
        call.keep(space);
    }
    let mut third = bodies.space(ACME, &call);
    assert_eq!(
        third.grow(1).await,
        Err(WireFault::CallTooLarge { limit: CALL_LIMIT })
    );
    call.delivered();
    third.grow(RESPONSE_LIMIT).await.unwrap();
    drop(third);
    let mut fourth = bodies.space(ACME, &call);
    fourth.grow(RESPONSE_LIMIT).await.unwrap();
    // An answer that turns out smaller counts as what it is.
    fourth.count(1).unwrap();
    let mut handed_over = bodies.space(ACME, &shared);
    handed_over.grow(RESPONSE_LIMIT).await.unwrap();
    handed_over.hand_over(&call).unwrap();
    assert_eq!(shared.lock().bytes, 0);
    let mut more = bodies.space(ACME, &call);
    assert!(more.count(RESPONSE_LIMIT).is_err());
    more.count(RESPONSE_LIMIT - 1).unwrap();
}

#[tokio::test]
async fn one_server_or_plugin_waits_and_the_others_do_not() {
    let bodies = Bodies::default();
    let mut held = Vec::new();
    // Two of the largest from each server, and those of one call beyond.
    let beyond = a_call();
    for (asked, call) in [
        (ACME, a_call()),
        (ACME, a_call()),
        (ACME, beyond.clone()),
        (ACME, beyond),
        (ACME_ELSEWHERE, a_call()),
        (ACME_ELSEWHERE, a_call()),
    ] {
        let mut space = bodies.space(asked, &call);
        space.grow(RESPONSE_LIMIT).now_or_never().unwrap().unwrap();
        held.push(space);
    }
    let mut waiting = bodies.space(ACME, &a_call());
    assert!(!waiting.try_reserve(RESPONSE_LIMIT));
    {
        let mut growing = Box::pin(waiting.grow(RESPONSE_LIMIT));
        assert!(growing.as_mut().now_or_never().is_none());
        let mut small = bodies.space(ACME, &a_call());
        small.grow(FREE).now_or_never().unwrap().unwrap();
        let mut others = bodies.space(OTHERS, &a_call());
        others.grow(RESPONSE_LIMIT).now_or_never().unwrap().unwrap();
        // What another server gives back is not this one's.
        held.remove(4);
        assert!(growing.as_mut().now_or_never().is_none());
        held.remove(0);
        growing.as_mut().now_or_never().unwrap().unwrap();
    }
    drop((held, waiting));
    assert_eq!(bodies.all.available_permits(), ALL);
}

#[tokio::test]
async fn answers_that_all_wait_for_more_come_to_their_end_one_after_the_other() {
    let bodies = Arc::new(Bodies::default());
    let mut tasks = Vec::new();
    for _ in 0..40 {
        let bodies = Arc::clone(&bodies);
        tasks.push(tokio::spawn(async move {
            let mut space = bodies.space(ACME, &a_call());
            let mut bytes = 0;
            while bytes < RESPONSE_LIMIT {
                bytes += STEP;
                space.grow(bytes).await.unwrap();
                tokio::task::yield_now().await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(bodies.all.available_permits(), ALL);
}

#[test]
fn an_answer_moves_that_gets_a_step_in_half_a_minute() {
    let begun = Instant::now();
    let mut movement = Movement::new(begun);
    let after = |seconds| begun + Duration::from_secs(seconds);
    assert!(!movement.stands(after(29), STEP - 1));
    assert_eq!(movement.due(), after(30));
    assert!(movement.stands(after(30), STEP - 1));
    assert_eq!(movement.due(), after(60), "it is looked at anew");
    assert!(!movement.stands(after(59), 2 * STEP - 1));
    assert_eq!(movement.due(), after(89));
    assert!(movement.stands(after(89), 2 * STEP));
}

#[tokio::test(start_paused = true)]
async fn who_holds_space_that_others_wait_for_is_known() {
    let bodies = Bodies::default();
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut space = bodies.space(ACME, &a_call());
        space.grow(RESPONSE_LIMIT).await.unwrap();
        held.push(space);
    }
    assert!(!held[0].holds_up_others());
    let mut waiting = bodies.space(ACME, &a_call());
    let mut growing = Box::pin(waiting.grow(RESPONSE_LIMIT));
    assert!(growing.as_mut().now_or_never().is_none());
    assert!(held[0].holds_up_others());
    assert!(
        !bodies.space(ACME, &a_call()).holds_up_others(),
        "it has none"
    );
    drop(growing);
    assert!(!held[0].holds_up_others());
}

#[tokio::test(start_paused = true)]
async fn a_line_that_does_not_move_is_left() {
    let bodies = Bodies::default();
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut space = bodies.space(ACME, &a_call());
        space.grow(RESPONSE_LIMIT).await.unwrap();
        held.push(space);
    }
    let mut waiting = bodies.space(ACME, &a_call());
    assert_eq!(waiting.grow(RESPONSE_LIMIT).await, Err(WireFault::NoSpace));
}

#[tokio::test]
async fn calls_that_hold_one_answer_and_wait_for_the_next_come_to_their_end() {
    let bodies = Arc::new(Bodies::default());
    let calls = (0..12).map(|_| {
        let bodies = Arc::clone(&bodies);
        tokio::spawn(async move {
            let call = a_call();
            let answers = (0..2).map(async |_| {
                let mut space = bodies.space(ACME, &call);
                for part in 1..=2 {
                    space.grow(part * RESPONSE_LIMIT / 2).await.unwrap();
                    tokio::task::yield_now().await;
                }
                call.keep(space);
            });
            futures_util::future::join_all(answers).await;
            call.delivered();
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert_eq!(bodies.all.available_permits(), ALL);
}

#[tokio::test]
async fn a_call_that_ends_early_leaves_nothing_behind() {
    let (bodies, call) = (Bodies::default(), a_call());
    let mut space = bodies.space(ACME, &call);
    space.grow(RESPONSE_LIMIT).await.unwrap();
    call.keep(space);
    assert!(bodies.all.available_permits() < ALL);
    drop(call);
    assert_eq!(bodies.all.available_permits(), ALL);
}

/// Goes first when it is told so.
#[derive(Debug, Default)]
struct LaneTurn(Notify);

impl Precedence for LaneTurn {
    fn first(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.notified())
    }
}

/// Those before it hold all there is, and wait for something that it holds.
#[tokio::test]
async fn the_call_that_goes_first_waits_for_no_space() {
    let bodies = Bodies::default();
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut space = bodies.space(ACME, &a_call());
        space.grow(RESPONSE_LIMIT).now_or_never().unwrap().unwrap();
        held.push(space);
    }
    let turn = Arc::new(LaneTurn::default());
    let call = Arc::new(CallBodies::of(turn.clone()));
    let (mut one, mut other) = (bodies.space(ACME, &call), bodies.space(ACME, &call));
    let mut waiting = Box::pin(async {
        one.grow(RESPONSE_LIMIT).await.unwrap();
        other.grow(RESPONSE_LIMIT).await.unwrap();
    });
    assert!(waiting.as_mut().now_or_never().is_none());
    turn.0.notify_one();
    waiting.await;
}
