//! The meter with time as an argument, and the clock's wake-up.

use super::*;

#[test]
fn only_waiting_on_every_front_stops_the_meter() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let worked = |meter: &Meter, seconds| meter.worked(at(seconds)).as_secs();

    let mut meter = Meter::start(start);
    assert_eq!(worked(&meter, 5), 5, "the guest computes");
    meter.open(at(5));
    assert_eq!(worked(&meter, 6), 6, "on the wire");
    meter.wait(at(6));
    assert_eq!(worked(&meter, 9), 6, "the only exchange waits");
    meter.open(at(9));
    assert_eq!(worked(&meter, 11), 8, "a second one is on the wire");
    meter.wait(at(11));
    assert_eq!(worked(&meter, 20), 8, "both wait");
    meter.resume(at(20));
    meter.close(at(21));
    assert_eq!(worked(&meter, 30), 9, "the other still waits");
    meter.resume(at(30));
    meter.close(at(30));
    assert_eq!(worked(&meter, 31), 10, "the guest computes again");
}

#[tokio::test]
async fn a_limit_is_not_reached_while_the_clock_stands_and_is_once_it_runs() {
    let clock = WorkClock::start();
    let open = clock.open();
    let wait = clock.wait();
    let limit = clock.worked() + Duration::from_millis(1);

    let mut spent = Box::pin(clock.spent(limit));
    assert!(futures_util::poll!(&mut spent).is_pending());
    assert!(clock.worked() < limit, "it stands");
    drop((wait, open));
    spent.await;
    assert!(clock.worked() >= limit);
}

#[test]
fn a_pause_stops_the_clock_and_its_end_starts_it_again() {
    let clock = WorkClock::start();
    let pause = clock.pause();
    assert!(!clock.meter().runs());
    drop(pause);
    assert!(clock.meter().runs());
}
