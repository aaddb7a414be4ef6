//! Who shares a flight, and what becomes of it when callers leave.

use tokio::sync::oneshot;

use super::*;
use crate::clock::WorkClock;

fn route(byte: u8) -> Route {
    Route {
        key: Digest::new([byte; Digest::BYTES]),
        plugin: "acme".to_owned(),
        lane: Lane::default(),
        budget: Duration::from_secs(1),
        max_retries: None,
        payers: Vec::new(),
    }
}

fn landed(class: Class) -> Landed {
    Landed {
        result: Ok(Arc::new(Reply {
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
            class,
            retry_after: None,
            cached: false,
            spent: Spent::default(),
        })),
        spent: Spent {
            attempts: 2,
            ..Spent::default()
        },
        claim: Arc::default(),
        space: Arc::default(),
    }
}

/// A flight that ends when the sender does.
async fn flight(end: oneshot::Receiver<Class>) -> Landed {
    landed(end.await.expect("the test ends it"))
}

#[tokio::test]
async fn the_leaders_leaving_hurts_nobody_and_the_attempts_are_counted_once() {
    let flights = Flights::default();
    let (end, ended) = oneshot::channel();
    let leader = flights.board(&route(1), |_| flight(ended));
    let mut seats: Vec<Seat> = (0..3)
        .map(|_| flights.board(&route(1), |_| async { unreachable!("one flies already") }))
        .collect();
    drop(leader);
    end.send(Class::Ok).expect("the flight goes on");
    let clock = WorkClock::start();
    let mut payers = 0;
    for seat in &mut seats {
        let ledger = Ledger::open(Some(&clock));
        let landed = seat.landed(&ledger).await;
        let pays = seat.pays();
        ledger.adopt(&landed.spent, pays);
        payers += u32::from(pays);
        assert_eq!(ledger.spent().attempts, if pays { 2 } else { 0 });
    }
    assert_eq!((payers, flights.under_way()), (1, 0));
}

#[tokio::test]
async fn when_all_have_left_the_flight_is_stopped_and_the_next_one_begins_anew() {
    let flights = Flights::default();
    let (mut end, ended) = oneshot::channel();
    let seats = [
        flights.board(&route(1), |_| flight(ended)),
        flights.board(&route(1), |_| async { unreachable!("one flies already") }),
    ];
    drop(seats);
    end.closed().await;
    let (end, ended) = oneshot::channel();
    let mut next = flights.board(&route(1), |_| flight(ended));
    end.send(Class::Ok).expect("it flies");
    let ledger = Ledger::open(None);
    assert!(next.leads && next.landed(&ledger).await.result.is_ok());
}

#[tokio::test]
async fn only_who_came_along_asks_again_and_only_after_what_may_pass() {
    let flights = Flights::default();
    let (_end, ended) = oneshot::channel();
    let leader = flights.board(&route(1), |_| flight(ended));
    let follower = flights.board(&route(1), |_| async { unreachable!("one flies already") });
    for (class, again) in [
        (Class::Throttled, true),
        (Class::Transient, true),
        (Class::Timeout, true),
        (Class::Ok, false),
        (Class::Permanent, false),
        (Class::QuotaExhausted, false),
        (Class::Auth, false),
    ] {
        let landed = landed(class);
        assert!(!leader.tries_again(&landed), "{class:?}");
        assert_eq!(follower.tries_again(&landed), again, "{class:?}");
    }
}
