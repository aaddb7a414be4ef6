//! Limits by a clock that the test winds, and the server as a client sees it.

use serde_json::Value;

use super::*;
use crate::Client;
use limit::Standing;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Asks so often at one moment; how many were accepted, and where the limit stood at last.
fn ask(meter: &mut Meter, at: Duration, times: usize) -> (usize, Option<Standing>) {
    let verdicts: Vec<_> = (0..times).map(|_| meter.judge(at)).collect();
    let accepted = |verdict: &&Verdict| matches!(verdict, Verdict::Accepted(_));
    let standing = match verdicts.last() {
        Some(Verdict::Accepted(standing) | Verdict::Refused(standing)) => *standing,
        Some(Verdict::Stormed | Verdict::Spent) | None => None,
    };
    (verdicts.iter().filter(accepted).count(), standing)
}

#[test]
fn a_window_accepts_its_calls_and_no_more_until_the_next_one() {
    let limit = Limit::Window {
        calls: 5,
        per: ms(1_000),
        phase: Phase::FirstRequest,
    };
    let mut meter = Meter::new(limit, Duration::ZERO);
    let (accepted, standing) = ask(&mut meter, ms(300), 2);
    let expected = Standing {
        limit: 5,
        remaining: 3,
        reset: ms(1_000),
        next: ms(0),
    };
    assert_eq!((accepted, standing), (2, Some(expected)));
    let (accepted, standing) = ask(&mut meter, ms(1_299), 9);
    let expected = Standing {
        limit: 5,
        remaining: 0,
        reset: ms(1),
        next: ms(1),
    };
    assert_eq!((accepted, standing), (3, Some(expected)));
    assert_eq!(ask(&mut meter, ms(1_300), 9).0, 5, "a whole one");
    assert_eq!(ask(&mut meter, ms(5_000), 9).0, 5, "but never two at once");
}

#[test]
fn a_window_with_a_phase_begins_by_the_servers_clock() {
    let limit = Limit::Window {
        calls: 3,
        per: ms(1_000),
        phase: Phase::SinceStart(ms(2_250)),
    };
    let mut meter = Meter::new(limit, Duration::ZERO);
    assert_eq!(ask(&mut meter, ms(100), 9).0, 3);
    assert_eq!(ask(&mut meter, ms(249), 9).0, 0);
    let (accepted, standing) = ask(&mut meter, ms(250), 9);
    assert_eq!(accepted, 3, "windows before the first one exist as well");
    assert_eq!(standing.map(|standing| standing.reset), Some(ms(1_000)));
    assert_eq!(ask(&mut meter, ms(1_250), 9).0, 3);
}

#[test]
fn a_bucket_starts_full_and_resets_when_it_is_full_again() {
    let limit = Limit::Bucket {
        capacity: 60,
        fills_in: ms(2_000),
    };
    let mut meter = Meter::new(limit, Duration::ZERO);
    let (accepted, standing) = ask(&mut meter, ms(10), 61);
    assert_eq!(accepted, 60);
    let standing = standing.expect("a bucket states its limit");
    assert_eq!((standing.remaining, standing.reset), (0, ms(2_000)));
    assert_eq!(standing.next, Duration::from_nanos(33_333_334));
    let just_before = ms(10) + Duration::from_nanos(33_333_333);
    assert_eq!(ask(&mut meter, just_before, 1).0, 0);
    assert_eq!(ask(&mut meter, ms(10) + standing.next, 2).0, 1);
    assert_eq!(ask(&mut meter, ms(60_000), 99).0, 60, "it never overflows");
}

/// Each nanosecond counts, however often it is looked at.
#[test]
fn a_bucket_gives_exactly_what_flows_in() {
    let limit = Limit::Bucket {
        capacity: 7,
        fills_in: ms(900),
    };
    let mut meter = Meter::new(limit, Duration::ZERO);
    let steps = (0..9_000).map(|step| ask(&mut meter, ms(step), 1).0);
    // 7 at the start, 70 in 9 s, the last of which comes with the 9000th millisecond.
    assert_eq!(steps.sum::<usize>(), 7 + 69);
}

#[test]
fn a_parallel_limit_accepts_again_what_was_released() {
    let mut meter = Meter::new(Limit::Parallel { calls: 2 }, Duration::ZERO);
    assert_eq!(ask(&mut meter, ms(0), 5), (2, None));
    meter.release();
    assert_eq!(ask(&mut meter, ms(0), 5).0, 1);
}

#[test]
fn a_storm_refuses_everything_from_the_first_request_on_and_counts_nothing() {
    let limit = Limit::Window {
        calls: 2,
        per: ms(60_000),
        phase: Phase::SinceStart(ms(0)),
    };
    let mut meter = Meter::new(limit, ms(10_000));
    assert_eq!(meter.judge(ms(7_000)), Verdict::Stormed);
    assert_eq!(meter.judge(ms(16_999)), Verdict::Stormed);
    assert_eq!(ask(&mut meter, ms(17_000), 9).0, 2);
}

#[test]
fn durations_are_written_as_go_writes_them() {
    for (micros, text) in [
        (0, "0s"),
        (1, "1ms"),
        (12_000, "12ms"),
        (1_000_000, "1s"),
        (8_640_000, "8.64s"),
        (8_640_001, "8.641s"),
        (59_999_001, "1m0s"),
        (360_000_000, "6m0s"),
        (5_400_500_000, "1h30m0.5s"),
    ] {
        assert_eq!(says::go_duration(Duration::from_micros(micros)), text);
    }
}

#[test]
fn the_books_know_the_most_in_any_stretch() {
    let call = |at| TrafficCall {
        at: ms(at),
        model: if at < 500 { "a".into() } else { "b".into() },
        accepted: at != 1_000,
        ended: Some(ms(at + 30)),
    };
    let traffic = Traffic {
        calls: [0, 100, 900, 1_000, 1_050, 3_000].map(call).into(),
    };
    assert_eq!(traffic.most_within(ms(1_000)), 4);
    assert_eq!(traffic.most_within(ms(1_001)), 4);
    assert_eq!(traffic.most_within(ms(901)), 3);
    assert_eq!((traffic.arrivals(), traffic.accepted()), (6, 5));
    assert_eq!(
        (traffic.refused(), traffic.of_model("a").arrivals()),
        (1, 2)
    );
    assert_eq!(traffic.makespan(), ms(3_030));
    assert_eq!(Traffic::default().makespan(), ms(0));
}

const ONE_A_MINUTE: Limit = Limit::Window {
    calls: 1,
    per: Duration::from_mins(1),
    phase: Phase::FirstRequest,
};

fn client(server: &QuotaServer) -> Client {
    Client::connect(server.api().port())
}

#[test]
fn one_connection_gets_an_answer_and_a_refusal_in_open_ais_shape() {
    let server = QuotaServer::start(Quota::of(ONE_A_MINUTE).saying(Says::OpenAi));
    let mut client = client(&server);
    let reply = client.ask("m", "hello there");
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json["choices"][0]["message"]["content"],
        "hello there"
    );
    assert_eq!(reply.header("x-ratelimit-limit-requests"), Some("1"));
    assert_eq!(reply.header("x-ratelimit-remaining-requests"), Some("0"));
    assert_eq!(reply.header("x-ratelimit-reset-requests"), Some("1m0s"));

    let reply = client.ask("m", "and again");
    assert_eq!(reply.status, 429);
    assert_eq!(reply.json["error"]["code"], "rate_limit_exceeded");
    assert_eq!(reply.json["error"]["type"], "requests");
    assert_eq!(reply.header("x-ratelimit-remaining-requests"), Some("0"));
    assert!(reply.header("x-ratelimit-reset-requests").is_some());
    assert_eq!(reply.header("retry-after"), None);
    let traffic = server.traffic();
    assert_eq!((traffic.accepted(), traffic.refused()), (1, 1));
    assert!(traffic.calls.iter().all(|call| call.ended >= Some(call.at)));
}

#[test]
fn a_server_that_says_little_says_no_more() {
    let server = QuotaServer::start(Quota::of(ONE_A_MINUTE).saying(Says::RetryAfter));
    let mut asking = client(&server);
    let (accepted, refused) = (asking.ask("m", "1"), asking.ask("m", "2"));
    assert_eq!(accepted.header("retry-after"), None);
    assert_eq!(refused.header("retry-after"), Some("60"));
    let silent = QuotaServer::start(Quota::of(ONE_A_MINUTE));
    let mut asking = client(&silent);
    let replies = [asking.ask("m", "1"), asking.ask("m", "2")];
    assert_eq!((replies[0].status, replies[1].status), (200, 429));
    for (name, _) in replies
        .iter()
        .chain([&accepted, &refused])
        .flat_map(|reply| &reply.headers)
    {
        assert!(!name.contains("ratelimit"), "{name}");
    }
    for (name, _) in replies.iter().flat_map(|reply| &reply.headers) {
        assert_ne!(name, "retry-after");
    }
}

#[test]
fn none_left_is_said_with_every_answer() {
    let quota = Quota::of(Limit::None).saying(Says::NoneLeft(Some(ms(200))));
    let server = QuotaServer::start(quota);
    let mut client = client(&server);
    for _ in 0..3 {
        let reply = client.ask("m", "hi");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("x-ratelimit-remaining-requests"), Some("0"));
        assert_eq!(reply.header("x-ratelimit-reset-requests"), Some("200ms"));
    }
}

#[test]
fn a_spent_quota_is_one_models_own() {
    let server = QuotaServer::start(Quota::of(ONE_A_MINUTE).spent_for("poor"));
    let mut client = client(&server);
    let poor = client.ask("poor", "hi");
    assert_eq!(poor.status, 429);
    assert_eq!(poor.json["error"]["code"], "insufficient_quota");
    assert_eq!(client.ask("rich", "hi").status, 200);
    let traffic = server.traffic();
    assert_eq!(traffic.of_model("poor").accepted(), 0);
    assert_eq!(traffic.of_model("rich").accepted(), 1);
}

#[test]
fn a_storm_asks_for_a_second_whatever_the_server_says_otherwise() {
    let server = QuotaServer::start(Quota::of(Limit::None).storm(Duration::from_hours(1)));
    let reply = client(&server).ask("m", "hi");
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (429, Some("1"))
    );
}

#[test]
fn calls_in_flight_hold_their_places_until_they_are_answered() {
    let gate = Gate::closed();
    let quota = Quota::of(Limit::Parallel { calls: 2 }).behind(&gate);
    let server = QuotaServer::start(quota);
    std::thread::scope(|scope| {
        let asked = [0, 1].map(|_| scope.spawn(|| client(&server).ask("m", "hi").status));
        server.api().wait_until(|view| view.in_flight == 2);
        let refused = client(&server).ask("m", "one too many");
        assert_eq!(
            (refused.status, &refused.json["choices"]),
            (429, &Value::Null)
        );
        gate.open();
        for asked in asked {
            assert_eq!(asked.join().expect("a status"), 200);
        }
    });
    server.api().wait_until(|view| view.in_flight == 0);
    assert_eq!(client(&server).ask("m", "hi").status, 200);
}
