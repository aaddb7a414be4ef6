//! Who shares a flight, and what becomes of it when callers leave.

use tokio::sync::oneshot;

use super::*;

type Test = Flights<u8, u32>;

/// A flight that ends when the sender does.
async fn flight(end: oneshot::Receiver<u32>) -> u32 {
    end.await.expect("the test ends it")
}

async fn landed(seat: &mut Seat<u32>) -> u32 {
    loop {
        if let Some(landed) = seat.landed().await {
            return landed;
        }
    }
}

#[tokio::test]
async fn the_leaders_leaving_hurts_nobody_and_the_attempts_are_counted_once() {
    let flights = Test::default();
    let (end, ended) = oneshot::channel();
    let leader = flights.board(&1, |_| flight(ended));
    let mut seats: Vec<Seat<u32>> = (0..3)
        .map(|_| flights.board(&1, |_| async { unreachable!("one flies already") }))
        .collect();
    drop(leader);
    end.send(7).expect("the flight goes on");
    let mut payers = 0;
    for seat in &mut seats {
        assert_eq!((landed(seat).await, seat.leads()), (7, false));
        payers += u32::from(seat.pays());
    }
    assert_eq!((payers, flights.under_way()), (1, 0));
}

#[tokio::test]
async fn when_all_have_left_the_flight_is_stopped_and_the_next_one_begins_anew() {
    let flights = Test::default();
    let (mut end, ended) = oneshot::channel();
    let seats = [
        flights.board(&1, |_| flight(ended)),
        flights.board(&1, |_| async { unreachable!("one flies already") }),
    ];
    drop(seats);
    end.closed().await;
    let (end, ended) = oneshot::channel();
    let mut next = flights.board(&1, |_| flight(ended));
    end.send(7).expect("it flies");
    assert!(next.leads());
    assert_eq!(landed(&mut next).await, 7);
}

#[tokio::test]
async fn who_flies_alone_is_given_the_answer_and_no_copy() {
    let flights = Flights::<u8, Arc<str>>::default();
    let mut seat = flights.board(&1, |_| async { Arc::from("answer") });
    let answer = seat.landed().await.expect("it stays off the wire");
    assert_eq!(Arc::strong_count(&answer), 1);
}
