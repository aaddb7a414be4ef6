//! How a bucket finds out by which rule it is refilled, and who else drinks from it.
//!
//! The servers are exact and answer at once; what delay, loss and lies do to a whole lane is
//! the simulator's business.

use super::*;

impl Client {
    /// Sends requests to a server from `from` to `to`, one every `every` milliseconds if there
    /// is credit. Gives how many it refuses.
    fn follow(&mut self, server: &mut Server, (from, to): (u64, u64), every: usize) -> u32 {
        let mut refused = 0;
        for ms in (from..to).step_by(every) {
            if self.bucket.limit == 0 || self.credit(ms, 1) == Credit::Now {
                refused += u32::from(!self.ask(ms, server));
            }
        }
        refused
    }

    /// Sends one request to a server and reads its answer, at the same moment.
    fn ask(&mut self, ms: u64, server: &mut Server) -> bool {
        let attempt = self.send(ms, 1);
        let (accepted, remaining, reset) = server.ask(ms);
        self.read(ms, attempt, (server.limit, remaining), Some(reset));
        accepted
    }
}

/// How a server counts.
enum Counting {
    Continuous,
    Fixed,
    Log,
}

/// A server with a limit for each ten seconds.
struct Server {
    counting: Counting,
    limit: u64,
    /// When requests were accepted.
    accepted: Vec<u64>,
    /// Of a continuous refill: what is missing, in ten-thousandths, and since when.
    missing: (u64, u64),
}

impl Server {
    const WINDOW: u64 = 10_000;

    fn new(counting: Counting, limit: u64) -> Self {
        Self {
            counting,
            limit,
            accepted: Vec::new(),
            missing: (0, 0),
        }
    }

    /// Whether a request is accepted, what remains, and the reset in milliseconds.
    fn ask(&mut self, ms: u64) -> (bool, u64, u64) {
        let window = Self::WINDOW;
        if let Counting::Continuous = self.counting {
            let (missing, since) = self.missing;
            let mut missing = missing.saturating_sub((ms - since) * self.limit);
            let accepted = missing + window <= self.limit * window;
            missing += if accepted { window } else { 0 };
            self.missing = (missing, ms);
            let left = (self.limit * window - missing) / window;
            return (accepted, left, missing / self.limit);
        }
        let begin = match self.counting {
            Counting::Fixed => ms - ms % window,
            _ => (ms + 1).saturating_sub(window),
        };
        let used = |accepted: &[u64]| accepted.iter().filter(|t| **t >= begin).count() as u64;
        let accepted = used(&self.accepted) < self.limit;
        if accepted {
            self.accepted.push(ms);
        }
        let oldest = self.accepted.iter().find(|t| **t >= begin);
        let reset = match self.counting {
            Counting::Fixed => begin + window - ms,
            _ => oldest.map_or(0, |oldest| oldest + window - ms),
        };
        (accepted, self.limit - used(&self.accepted), reset)
    }
}

#[test]
fn a_continuous_refill_shows_in_its_readings() {
    let mut server = Server::new(Counting::Continuous, 100);
    let mut client = Client::new(Dimension::Requests);
    assert_eq!(client.follow(&mut server, (1000, 1100), 5), 0);
    let window = client.bucket.window().expect("it is known");
    let error = window.abs_diff(Duration::from_secs(10));
    assert!(error < Duration::from_millis(500), "{window:?}");
    assert_eq!(client.follow(&mut server, (1100, 31_000), 20), 0);
    assert!(
        client.sent.total()[Dimension::Requests] >= 370,
        "of the 400 that there were"
    );
}

#[test]
fn a_fixed_window_shows_and_is_proved_by_its_first_refill() {
    let mut server = Server::new(Counting::Fixed, 100);
    let mut client = Client::new(Dimension::Requests);
    let refused = client.follow(&mut server, (2000, 40_000), 20);
    let kind = client.bucket.kind;
    assert!(
        matches!(kind, Refill::Fixed { proven: true, .. }),
        "{kind:?}"
    );
    assert_eq!(refused, 0);
    assert_eq!(
        client.sent.total()[Dimension::Requests],
        400,
        "all of four windows"
    );
}

#[test]
fn a_window_that_is_not_refilled_at_its_end_is_a_sliding_log() {
    let mut server = Server::new(Counting::Log, 100);
    let mut client = Client::new(Dimension::Requests);
    let refused = client.follow(&mut server, (1000, 61_000), 50);
    let kind = client.bucket.kind;
    assert!(matches!(kind, Refill::Log { .. }), "{kind:?}");
    assert!(refused <= 2, "{refused}");
    assert!(
        client.sent.total()[Dimension::Requests] >= 550,
        "of six hundred"
    );
}

#[test]
fn without_a_reset_the_refill_itself_shows_how_fast_it_is() {
    let mut server = Server::new(Counting::Continuous, 100);
    let mut client = Client::new(Dimension::Requests);
    for _ in 0..60 {
        client.send(0, 1);
        server.ask(0);
    }
    for n in 1..=10 {
        let attempt = client.send(n * 500, 1);
        let (_, remaining, _) = server.ask(n * 500);
        client.read(n * 500, attempt, (100, remaining), None);
    }
    let window = client.bucket.window().expect("it is known");
    let error = window.abs_diff(Duration::from_secs(10));
    assert!(error < Duration::from_millis(2500), "{window:?}");
}

#[test]
fn what_never_arrives_is_taken_for_another_user_s() {
    let mut server = Server::new(Counting::Continuous, 200);
    let mut client = Client::continuous(200);
    client.bucket.kind = Refill::Continuous {
        window: Duration::from_secs(10),
    };
    let mut refused = 0;
    for ms in (0..90_000).step_by(25) {
        if ms % 100 == 0 {
            server.ask(ms);
        }
        if client.credit(ms, 1) == Credit::Now {
            let accepted = client.ask(ms, &mut server);
            refused += u32::from(!accepted && ms > 30_000);
        }
    }
    let others = client.bucket.foreign.over(Duration::from_secs(1)).units();
    assert!((7..=12).contains(&others), "{others} of ten a second");
    assert!(refused <= 6, "{refused} of 600");
}

#[test]
fn a_log_that_was_used_up_in_one_burst_is_not_taken_for_a_window() {
    let mut server = Server::new(Counting::Log, 100);
    let mut client = Client::new(Dimension::Requests);
    for ms in 1000..1100 {
        assert!(client.ask(ms, &mut server));
    }
    // Whatever spaced the attempts, the next is so late that all have come back.
    let mut refused = client.follow(&mut server, (11_200, 11_300), 10);
    let kind = client.bucket.kind;
    assert!(matches!(kind, Refill::Log { .. }), "{kind:?}");
    refused += client.follow(&mut server, (11_300, 51_000), 10);
    assert!(refused <= 2, "{refused}");
    let sent = client.sent.total()[Dimension::Requests];
    assert!(sent >= 480, "{sent} of five hundred");
}
