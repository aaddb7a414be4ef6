//! One server each, default settings: the user tunes nothing.

use std::time::Duration;

use runner_tests::{Limit, Phase, Quota, QuotaServer, Says, Traffic};

use crate::lanes::{CONFIG, over, passed, rows};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn window(calls: u32, per: Duration) -> Limit {
    Limit::Window {
        calls,
        per,
        phase: Phase::FirstRequest,
    }
}

/// Runs so many cases; all rows pass, and each case is answered exactly once: nothing that
/// was paid for is thrown away.
#[track_caller]
fn all_pass(quota: Quota, cases: usize) -> Traffic {
    let server = QuotaServer::start(quota);
    let finished = over(server.api(), CONFIG, cases).finish();
    finished.expect_code(0);
    assert_eq!(passed(&rows(&finished)), cases);
    let traffic = server.traffic();
    assert_eq!(traffic.accepted(), cases);
    traffic
}

/// At most one call in a hundred was refused.
#[track_caller]
fn hardly_refused(traffic: &Traffic) {
    let (refused, arrivals) = (traffic.refused(), traffic.arrivals());
    assert!(
        refused * 100 <= arrivals,
        "{refused} of {arrivals} calls were refused"
    );
}

/// Runs 300 cases against a server of 50 calls in half a second that states where it stands.
///
/// No window was overrun but by what came late: a call that a busy machine carries over the edge of
/// its window takes a place of the next. Then one of that window's own calls is refused, or is late
/// itself: then the next window is full too, and so on. So what a window refuses, but for one call in
/// a hundred, the one before it has left unused, or one further back with none but full ones between.
#[track_caller]
fn overruns_no_window(phase: Phase) {
    let (calls, per) = (50, ms(500));
    let limit = Limit::Window {
        calls: 50,
        per,
        phase,
    };
    let traffic = all_pass(Quota::of(limit).saying(Says::OpenAi).after(ms(20)), 300);
    let begin = match phase {
        Phase::FirstRequest => traffic.first_arrival().expect("calls arrived"),
        Phase::SinceStart(begin) => begin,
    };
    let windows = traffic.in_windows(begin, per);
    // How many may be late for each; the first window has none before it.
    let mut late = 0;
    let overrun = windows.iter().map(|(accepted, refused)| {
        let too_many = refused.saturating_sub(late);
        late = match calls - accepted {
            0 => late.saturating_sub(*refused),
            unused => unused,
        };
        too_many
    });
    let overrun: usize = overrun.sum();
    assert!(
        overrun * 100 <= traffic.arrivals(),
        "{overrun} calls too many; accepted and refused: {windows:?}"
    );
}

#[test]
fn a_fixed_window_that_is_declared_is_used_without_being_overrun() {
    overruns_no_window(Phase::FirstRequest);
}

#[test]
fn a_fixed_window_by_the_servers_own_clock_is_no_different() {
    overruns_no_window(Phase::SinceStart(ms(123)));
}

#[test]
fn a_bucket_whose_reset_means_full_again_is_used_without_being_overrun() {
    let limit = Limit::Bucket {
        capacity: 60,
        fills_in: ms(1_000),
    };
    let quota = Quota::of(limit).saying(Says::OpenAi).after(ms(200));
    hardly_refused(&all_pass(quota, 200));
}

#[test]
fn a_fixed_window_that_only_says_when_to_come_back_costs_no_row() {
    let quota = Quota::of(window(30, ms(500))).saying(Says::RetryAfter);
    all_pass(quota.after(ms(20)), 90);
}

#[test]
fn a_fixed_window_that_is_silent_costs_no_row() {
    all_pass(Quota::of(window(30, ms(500))).after(ms(20)), 90);
}

#[test]
fn a_bucket_that_is_silent_costs_no_row() {
    let limit = Limit::Bucket {
        capacity: 20,
        fills_in: ms(500),
    };
    all_pass(Quota::of(limit).after(ms(50)), 90);
}

#[test]
fn a_limit_on_parallel_calls_costs_no_row() {
    all_pass(Quota::of(Limit::Parallel { calls: 8 }).after(ms(50)), 120);
}

#[test]
fn a_storm_of_refusals_costs_no_row() {
    let traffic = all_pass(Quota::of(Limit::None).storm(ms(2_000)).after(ms(20)), 60);
    // Waiting as asked means a few probes, and not each case asking by itself.
    assert!(
        traffic.refused() < 60,
        "{} calls were refused",
        traffic.refused()
    );
}

/// Nobody says that it queues, and what is sent at once comes in any order.
#[test]
fn a_server_that_works_on_one_at_a_time_is_not_flooded() {
    let traffic = all_pass(Quota::of(Limit::None).in_turn(ms(150)), 60);
    let found = traffic.found_in_flight();
    let mut settled = found[found.len() / 2..].to_vec();
    settled.sort_unstable();
    let usual = settled[settled.len() / 2];
    assert!(usual <= 2, "in flight beside each: {found:?}");
}

/// The answer is there, whatever its headers say about the next one.
#[test]
fn a_200_that_says_none_is_left_is_used() {
    for reset in [Some(ms(100)), None] {
        let quota = Quota::of(Limit::None).saying(Says::NoneLeft(reset));
        let traffic = all_pass(quota, 12);
        assert_eq!(traffic.arrivals(), 12, "reset {reset:?}");
    }
}
