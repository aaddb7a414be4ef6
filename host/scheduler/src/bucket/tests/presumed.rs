//! How a bucket finds out how long a window is of which its server states the limit and what is left.

use super::*;

/// A limit of a hundred without resets, presumed to be the minute's that ends at 30 s, of which
/// nothing is left.
fn presumed() -> Client {
    let mut client = Client::new(Dimension::Requests);
    client.bucket.presume(at(30_000));
    for left in (0..100).rev() {
        let attempt = client.send(1000, 1);
        client.read(1010, attempt, (100, left), None);
    }
    client
}

/// Looks at these times, at each of which it is due, and finds nothing.
fn look_in_vain(client: &mut Client, looks: &[u64]) {
    for ms in looks {
        assert_eq!(client.credit(ms - 1, 1), Credit::At(at(*ms)));
        assert_eq!(client.credit(*ms, 1), Credit::Now);
        client.send(*ms, 1);
        client.bucket.empty(at(ms + 10), Some(at(*ms)));
    }
}

/// Looks then, as the first of a new window, and says what is left of a hundred.
fn look(client: &mut Client, ms: u64, left: u64) {
    assert_eq!(client.credit(ms, 1), Credit::Now, "{ms}");
    let attempt = client.send(ms, 1);
    client.read(ms + 10, attempt, (100, left), None);
}

/// Sends the other 99 then, and is answered.
fn use_up(client: &mut Client, ms: u64) {
    for left in (0..99).rev() {
        assert_eq!(client.credit(ms, 1), Credit::Now, "{left}");
        let attempt = client.send(ms, 1);
        client.read(ms + 5, attempt, (100, left), None);
    }
}

/// It was found at the end of the minute that nothing is shorter.
fn minute() -> Client {
    let mut client = presumed();
    look_in_vain(&mut client, &[2000, 3000, 6000, 11_000, 16_000, 21_000]);
    look(&mut client, 30_000, 99);
    client
}

#[test]
fn each_shorter_window_is_looked_for_once_and_the_minute_s_is_proved_by_its_end() {
    let mut client = minute();
    use_up(&mut client, 30_020);
    look_in_vain(&mut client, &[60_030]);
    look(&mut client, 90_000, 99);
    assert_eq!(client.bucket.window(), Some(Duration::from_mins(1)));
    assert_eq!(client.burst(90_020), 99);
    assert_eq!(client.credit(91_000, 1), Credit::At(at(150_000)));
    assert_eq!(client.burst(150_000), 100);
}

#[test]
fn a_window_that_is_full_again_at_once_ends_there_and_two_ends_are_its_length() {
    let mut client = presumed();
    look_in_vain(&mut client, &[2000]);
    look(&mut client, 3000, 99);
    use_up(&mut client, 3020);
    assert_eq!(
        client.credit(3030, 1),
        Credit::At(at(5005)),
        "two seconds later"
    );
    look(&mut client, 5005, 99);
    assert_eq!(client.bucket.window(), Some(Duration::from_secs(2)));
    assert_eq!(client.burst(5020), 99);
    assert_eq!(client.burst(7004), 0);
    assert_eq!(client.burst(7005), 100);
}

#[test]
fn where_only_what_was_sent_first_has_come_back_the_window_slides() {
    let mut client = presumed();
    look(&mut client, 2000, 99);
    use_up(&mut client, 2200);
    look(&mut client, 3005, 0);
    look(&mut client, 3200, 98);
    let window = Duration::from_secs(1);
    assert_eq!(client.bucket.kind, Refill::Log { window });
}

#[test]
fn what_comes_back_in_parts_comes_back_evenly() {
    let mut client = presumed();
    for (ms, left) in [(2000, 9), (3000, 18), (4000, 27)] {
        let attempt = client.send(ms, 1);
        client.read(ms + 10, attempt, (100, left), None);
    }
    let Refill::Continuous { window } = client.bucket.kind else {
        panic!("{:?}", client.bucket.kind);
    };
    assert_eq!(window, Duration::from_secs(10));
}

#[test]
fn what_is_written_with_the_answer_is_no_refill() {
    let mut client = Client::new(Dimension::Requests);
    client.bucket.presume(at(30_000));
    let mut sent: Vec<Attempt> = Vec::new();
    for index in 0..50 {
        sent.push(client.send(index * 20, 1));
        // Answered in pairs, the younger one first; what is left is that of the moment.
        if index % 8 == 7 {
            for attempt in sent.drain(..).rev() {
                client.read(index * 20 + 5, attempt, (100, 99 - index), None);
            }
        }
    }
    assert!(
        client.bucket.presumed_end().is_some(),
        "{:?}",
        client.bucket.kind
    );
}

#[test]
fn what_is_left_once_all_is_answered_is_sent() {
    let mut client = Client::new(Dimension::Requests);
    client.bucket.presume(at(30_000));
    let sent: Vec<Attempt> = (0..60).map(|_| client.send(0, 1)).collect();
    for attempt in sent {
        client.read(500, attempt, (100, 40), None);
    }
    assert_eq!(client.burst(510), 40);
}

#[test]
fn a_server_whose_clock_is_behind_is_asked_again_within_a_moment() {
    let mut client = minute();
    use_up(&mut client, 30_020);
    look_in_vain(&mut client, &[60_030]);
    look(&mut client, 90_000, 99);
    assert_eq!(client.burst(150_000), 100);
    client.bucket.empty(at(150_010), None);
    assert_eq!(client.credit(150_020, 1), Credit::At(at(150_100)));
    client.bucket.empty(at(210_000), None);
    assert_ne!(
        client.credit(210_010, 1),
        Credit::At(at(210_090)),
        "that is somebody else's doing"
    );
}

#[test]
fn a_minute_at_whose_end_nothing_comes_back_was_none() {
    let mut client = presumed();
    for ms in [30_000, 32_000] {
        let attempt = client.send(ms, 1);
        client.read(ms + 10, attempt, (100, 0), None);
        assert!(matches!(client.bucket.kind, Refill::Fixed { .. }), "{ms}");
    }
    let attempt = client.send(34_000, 1);
    client.read(34_010, attempt, (100, 0), None);
    assert_eq!(client.bucket.kind, Refill::Unsure);
}

#[test]
fn what_was_said_of_later_ones_makes_no_earlier_zero_false() {
    let mut client = presumed();
    for _ in 0..8 {
        client.bucket.served_at_zero(at(999));
    }
    assert_ne!(client.credit(1020, 1), Credit::Now);
}
