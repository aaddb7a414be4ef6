//! What a bucket makes of single readings, and how it spends what it believes in.
//!
//! `kinds` has what it finds out from the sequences of small servers, `presumed` what it does where
//! these say nothing of when.

mod kinds;
mod presumed;

use proptest::prelude::*;

use super::*;
use crate::hint::{Hint, Reading};
use crate::job::QuotaUse;
use crate::sent::Amounts;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// An attempt that was sent.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    sent_at: Time,
    mark: u64,
    /// Requests that were sent, with this one.
    calls: u64,
    /// Those of them that were on their way.
    among: u64,
}

/// A bucket with the log of what was sent.
struct Client {
    bucket: Bucket,
    sent: Sent,
    on_their_way: u64,
}

impl Client {
    fn new(dimension: Dimension) -> Self {
        Self {
            bucket: Bucket::new(dimension, Time::ZERO),
            sent: Sent::default(),
            on_their_way: 0,
        }
    }

    /// A bucket of requests that has learnt how it refills, and is full.
    fn knows(kind: Refill, limit: u64) -> Self {
        let mut client = Self::new(Dimension::Requests);
        client.bucket.kind = kind;
        client.bucket.limit = limit;
        client.bucket.stated = true;
        client.bucket.level = Level::whole(limit);
        client
    }

    fn continuous(limit: u64) -> Self {
        let window = Duration::from_mins(1);
        Self::knows(Refill::Continuous { window }, limit)
    }

    /// Sends an attempt that uses one request or so many tokens.
    fn send(&mut self, ms: u64, amount: u64) -> Attempt {
        self.bucket.advance(at(ms), &self.sent);
        let cost = QuotaUse {
            input_tokens: amount,
            output_tokens: 0,
        };
        self.sent.add(at(ms), Amounts::of(cost));
        // A lane has no bucket before the first reading.
        if self.bucket.limit > 0 {
            self.bucket.spend(at(ms), amount);
        }
        self.on_their_way += 1;
        Attempt {
            sent_at: at(ms),
            mark: self.sent.total()[self.bucket.dimension],
            calls: self.sent.total()[Dimension::Requests],
            among: self.on_their_way,
        }
    }

    /// Reads the answer to an attempt; the reset is in milliseconds and exact to one.
    fn read(
        &mut self,
        ms: u64,
        attempt: Attempt,
        (limit, remaining): (u64, u64),
        reset: Option<u64>,
    ) -> ObservedChange {
        self.read_to(
            Duration::from_millis(1),
            ms,
            attempt,
            (limit, remaining),
            reset,
        )
    }

    /// The reset is in milliseconds and exact to `resolution`.
    fn read_to(
        &mut self,
        resolution: Duration,
        ms: u64,
        attempt: Attempt,
        (limit, remaining): (u64, u64),
        reset: Option<u64>,
    ) -> ObservedChange {
        let reading = Reading {
            dimension: self.bucket.dimension,
            limit: Some(limit),
            remaining: Some(remaining),
            reset: reset.map(Duration::from_millis),
            resolution,
            window: None,
        };
        let seen = TimedReading {
            sent_at: attempt.sent_at,
            received_at: at(ms),
            mark: attempt.mark,
            beside: attempt.among + self.sent.total()[Dimension::Requests] - attempt.calls,
            remaining,
            reset: reading.reset,
            resolution,
        };
        self.on_their_way = self.on_their_way.saturating_sub(1);
        self.bucket.observe(at(ms), &reading, seen, &self.sent)
    }

    fn credit(&mut self, ms: u64, amount: u64) -> Credit {
        self.bucket.advance(at(ms), &self.sent);
        self.bucket.credit(at(ms), amount, &self.sent)
    }

    /// Sends as many requests as it may at one moment.
    fn burst(&mut self, ms: u64) -> u64 {
        let mut sent = 0;
        while sent < 10_000 && self.credit(ms, 1) == Credit::Now {
            self.send(ms, 1);
            sent += 1;
        }
        sent
    }
}

#[test]
fn the_first_reading_counts_what_was_sent_since_as_used() {
    let mut client = Client::new(Dimension::Requests);
    let first = client.send(0, 1);
    client.send(10, 1);
    client.send(20, 1);
    client.read(500, first, (10, 9), Some(60_000));
    assert_eq!(client.burst(500), 7, "two of the nine are on their way");
}

#[test]
fn what_is_sent_is_off_before_it_is_answered() {
    let mut client = Client::continuous(1000);
    for _ in 0..400 {
        client.send(0, 1);
    }
    assert_eq!(client.bucket.used(), 400);
}

#[test]
fn a_newer_reading_moves_the_level_into_its_bounds_both_ways() {
    let mut client = Client::continuous(1000);
    let attempt = client.send(0, 1);
    client.read(100, attempt, (1000, 400), Some(36_000));
    // Two come back within a tenth of a second.
    assert!((598..=600).contains(&client.bucket.used()));
    let attempt = client.send(200, 1);
    client.read(300, attempt, (1000, 900), Some(6000));
    assert!((98..=100).contains(&client.bucket.used()));
}

#[test]
fn an_overtaken_reading_takes_away_but_gives_nothing() {
    let mut client = Client::continuous(1000);
    let early = client.send(0, 1);
    let other = client.send(1, 1);
    let late = client.send(2, 1);
    client.read(100, late, (1000, 500), Some(30_000));
    let used = client.bucket.used();
    client.read(101, early, (1000, 900), Some(6000));
    assert_eq!(client.bucket.used(), used, "that was before");
    client.read(102, other, (1000, 300), Some(42_000));
    assert!(
        client.bucket.used() >= 695,
        "so little was left already then"
    );
}

#[test]
fn nothing_comes_back_before_it_is_known_how_but_the_reset_is_probed() {
    let mut client = Client::new(Dimension::Requests);
    let attempt = client.send(0, 1);
    client.read(0, attempt, (10, 0), Some(5000));
    assert_eq!(client.credit(4000, 1), Credit::At(at(5001)));
    let mut probes = Vec::new();
    let mut now = 5001;
    while probes.len() < 4 {
        assert_eq!(client.burst(now), 1, "a single one");
        probes.push(now);
        let Credit::At(next) = client.credit(now, 1) else {
            panic!("one probe at a time");
        };
        now = (next - Time::ZERO).as_millis() as u64;
    }
    assert_eq!(probes, [5001, 6001, 8001, 12_001]);
}

#[test]
fn what_overtakes_in_a_burst_and_is_answered_first_brings_no_credit() {
    let kind = Refill::Fixed {
        end: at(60_000),
        window: Some(Duration::from_mins(1)),
        proven: true,
    };
    let mut client = Client::knows(kind, 51);
    let first = client.send(0, 1);
    client.read(20, first, (51, 50), Some(60_000));
    let mut attempts: Vec<_> = (0..50).map(|_| client.send(1000, 1)).collect();
    // The last ones arrive first, and answers come in the order of arrival.
    attempts.reverse();
    for (arrived, attempt) in attempts.into_iter().enumerate() {
        let (ms, left) = (1020 + arrived as u64, 49 - arrived as u64);
        client.read(ms, attempt, (51, left), Some(59_000));
        assert_eq!(client.burst(ms), 0, "after {arrived} of 50 answers");
    }
}

#[test]
fn a_window_ends_a_little_after_what_the_request_says_that_was_shortest_on_its_way() {
    let kind = Refill::Fixed {
        // The request that told it took 20 ms to arrive.
        end: at(980),
        window: Some(Duration::from_secs(1)),
        proven: true,
    };
    let mut client = Client::knows(kind, 51);
    let first = client.send(0, 1);
    client.read(20, first, (51, 50), Some(980));
    let attempts: Vec<_> = (0..50).map(|_| client.send(500, 1)).collect();
    client.read(520, attempts[0], (51, 49), Some(490));
    client.read(521, attempts[1], (51, 48), Some(499));
    client.read(522, attempts[2], (51, 47), Some(485));
    // The next may be faster than all of them, and would be refused.
    assert_eq!(client.credit(600, 1), Credit::At(at(1005)));
    assert_eq!(client.credit(1005, 1), Credit::Now);
}

/// One in a thousand resets of a server that counts in milliseconds has none; it put the end a second off.
#[test]
fn a_reset_in_whole_seconds_is_exact_where_others_are_in_milliseconds() {
    let kind = Refill::Fixed {
        end: at(60_000),
        window: Some(Duration::from_mins(1)),
        proven: true,
    };
    let second = Duration::from_secs(1);
    for (first, end) in [(1, 60_006), (1000, 61_000)] {
        let mut client = Client::knows(kind, 51);
        let attempts: Vec<_> = (0..51).map(|_| client.send(1000, 1)).collect();
        let resolution = Duration::from_millis(first);
        client.read_to(resolution, 1020, attempts[0], (51, 50), Some(59_000));
        for (attempt, left) in attempts[1..].iter().zip((0..50).rev()) {
            client.read_to(second, 1030, *attempt, (51, left), Some(59_000));
        }
        assert_eq!(client.credit(1100, 1), Credit::At(at(end)), "{first} ms");
    }
}

#[test]
fn readings_from_before_a_window_began_say_nothing_about_it() {
    let kind = Refill::Fixed {
        end: at(60_000),
        window: Some(Duration::from_mins(1)),
        proven: true,
    };
    let mut client = Client::knows(kind, 1000);
    for _ in 0..1000 {
        client.send(1000, 1);
    }
    let early = Attempt {
        sent_at: at(1000),
        mark: 1000,
        calls: 1000,
        among: 1000,
    };
    assert_eq!(client.credit(59_999, 1), Credit::At(at(60_000)));
    assert_eq!(client.credit(60_000, 1), Credit::Now);
    client.read(60_001, early, (1000, 0), Some(59_000));
    assert_eq!(client.bucket.used(), 0);
}

#[test]
fn of_a_continuous_refill_one_call_or_three_thousandths_stay_unspent() {
    let mut small = Client::continuous(60);
    assert_eq!(small.burst(0), 59);
    let mut large = Client::continuous(10_000);
    assert_eq!(large.burst(0), 9970);
}

#[test]
fn from_a_full_bucket_one_attempt_may_always_go() {
    let mut client = Client::continuous(1);
    assert_eq!(client.burst(0), 1);
    let mut client = Client::continuous(1000);
    assert_eq!(client.credit(0, 1000), Credit::Now);
}

#[test]
fn more_than_a_full_bucket_holds_never_fits() {
    let mut client = Client::continuous(1000);
    assert_eq!(client.credit(0, 1001), Credit::Never);
    assert_eq!(client.credit(0, 0), Credit::Now, "nothing always does");
}

#[test]
fn credit_is_promised_for_when_it_is_there() {
    let mut client = Client::continuous(600);
    client.burst(0);
    let Credit::At(time) = client.credit(0, 1) else {
        panic!("it is empty");
    };
    let early = time.before(Duration::from_micros(1));
    client.bucket.advance(early, &client.sent);
    assert_ne!(client.bucket.credit(early, 1, &client.sent), Credit::Now);
    client.bucket.advance(time, &client.sent);
    assert_eq!(client.bucket.credit(time, 1, &client.sent), Credit::Now);
}

#[test]
fn after_a_burst_that_disappointed_no_more_goes_at_once_than_a_second_gives() {
    let mut client = Client::continuous(600);
    assert!(client.burst(10) > 500);
    client.bucket.disappoint(at(100), &client.sent);
    assert_eq!(client.burst(100), 0);
    assert_eq!(client.burst(60_000), 10);
}

#[test]
fn a_disappointment_at_a_low_rate_forbids_no_bursts() {
    let mut client = Client::continuous(600);
    for n in 0..5 {
        client.send(n, 1);
    }
    client.bucket.disappoint(at(100), &client.sent);
    assert!(client.burst(60_000) > 500);
}

#[test]
fn each_disappointment_keeps_more_unspent_and_calm_takes_it_back() {
    let mut client = Client::continuous(1000);
    let unspent = |client: &Client| 1000 - client_burst(client);
    let before = unspent(&client);
    for n in 1..=3 {
        client.bucket.disappoint(at(n), &client.sent);
    }
    let after = unspent(&client);
    assert_eq!(after - before, 30, "a hundredth each");
    for _ in 0..100 {
        client.bucket.forgive();
    }
    assert_eq!(unspent(&client), before);
}

/// How many a full bucket with this one's margins would send.
fn client_burst(client: &Client) -> u64 {
    let mut other = Client::continuous(client.bucket.limit);
    other.bucket.distrust = client.bucket.distrust;
    other.burst(0)
}

#[test]
fn tokens_are_charged_as_the_server_does_it() {
    let mut client = Client::new(Dimension::Tokens);
    client.bucket.kind = Refill::Continuous {
        window: Duration::from_mins(1),
    };
    let mut left = 100_000;
    for n in 0..200 {
        // 250 come back each time; the server charges 500 of the 1000 that were estimated.
        left = (left + 250).min(100_000) - 500;
        let attempt = client.send(n * 150, 1000);
        let reset = (100_000 - left) * 60_000 / 100_000;
        client.read(n * 150, attempt, (100_000, left), Some(reset));
    }
    let charge = client.bucket.charge;
    assert!((550..=582).contains(&charge), "a tenth is added: {charge}");
}

#[test]
fn a_limit_is_news_once_and_again_when_it_changes() {
    let mut client = Client::new(Dimension::Requests);
    let mut learned = Vec::new();
    for (n, limit) in [100, 100, 50, 50].into_iter().enumerate() {
        let ms = n as u64;
        let attempt = client.send(ms, 1);
        let news = client.read(ms, attempt, (limit, 40 - ms), Some(60_000));
        learned.push(news.learned);
    }
    assert_eq!(learned, [true, false, true, false]);
    assert_eq!(client.bucket.limit(), 50);
}

#[test]
fn less_than_a_tenth_is_said_once_until_a_fifth_was_there_again() {
    let mut client = Client::new(Dimension::Requests);
    let mut scarce = Vec::new();
    for (n, left) in [50, 10, 9, 8, 15, 9, 20, 9].into_iter().enumerate() {
        let ms = n as u64;
        let attempt = client.send(ms, 1);
        scarce.push(client.read(ms, attempt, (100, left), None).scarce);
    }
    let said = [2, 7];
    let expected: Vec<bool> = (0..8).map(|n| said.contains(&n)).collect();
    assert_eq!(scarce, expected);
}

#[test]
fn an_emptied_bucket_gives_nothing_until_it_refills_or_is_probed() {
    let mut client = Client::continuous(600);
    client.bucket.empty(at(0), None);
    assert_eq!(client.burst(0), 0);
    assert!(client.burst(10_000) > 90);
    let mut client = Client::knows(Refill::Unsure, 600);
    client.bucket.empty(at(0), None);
    assert_eq!(client.credit(0, 1), Credit::At(at(1000)));
}

proptest! {
    #[test]
    fn no_reading_that_can_be_believed_breaks_it(
        steps in prop::collection::vec(
            (
                (0_u64..100_000, 0_u64..100_000, 0_u64..=u64::MAX),
                (1_u64..=Reading::MOST, 0_u64..=Reading::MOST, any::<bool>()),
                prop::option::of(0_u64..=2_678_400_000),
                0_u8..4,
            ),
            1..40,
        ),
    ) {
        let mut client = Client::new(Dimension::Tokens);
        let (mut now, mut last) = (0, None);
        for ((pause, latency, amount), (limit, left, small), reset, what) in steps {
            now += pause;
            let scale = if small { 1_000_000_000_000 } else { 1 };
            let (limit, left) = ((limit / scale).max(1), left / scale);
            let attempt = client.send(now, amount / scale.max(4) / scale);
            let read = last.replace(attempt).filter(|_| small).unwrap_or(attempt);
            let reset = reset.filter(|ms| Duration::from_millis(*ms) <= Hint::LONGEST);
            client.read(now + latency, read, (limit, left), reset);
            now += latency;
            match what {
                0 => client.bucket.disappoint(at(now), &client.sent),
                1 => client.bucket.overdrawn(),
                2 => client.bucket.empty(at(now), None),
                _ => client.bucket.forgive(),
            }
            if let Credit::At(time) = client.credit(now, amount / 1000 / scale) {
                prop_assert!(time > at(now));
            }
            prop_assert!(client.bucket.used() <= client.bucket.limit());
        }
    }
}

#[test]
fn after_four_false_zeros_nobody_believes_that_nothing_is_left() {
    let mut client = Client::new(Dimension::Requests);
    let first = client.send(0, 1);
    client.read(10, first, (10, 0), Some(60_000));
    for false_zero in 0..4 {
        assert_ne!(client.credit(20, 1), Credit::Now, "{false_zero}");
        client.bucket.served_at_zero(at(20));
    }
    assert_eq!(client.credit(20, 1), Credit::Now);
}

#[test]
fn the_pause_of_probes_doubles_up_to_a_minute() {
    let pauses = [0, 1, 5, 6, 60].map(|probes| probe_pause(probes).as_secs());
    assert_eq!(pauses, [1, 2, 32, 60, 60]);
}
