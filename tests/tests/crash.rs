//! What `kill -9` costs: no result that was stored, no answer that was paid for, and no more of
//! what was reported than the store's last rows.
//!
//! The moments are random. Each test prints its seed; `RUNNER_CRASH_SEED=…` draws the same again.
//! `cargo xtask soak` does the same for thousands of crashes.

use runner_tests::{Chance, crash_cycles, crash_storm};

/// Crashes over a server. Two halves at once: what one does must not depend on the machine
/// being idle.
const CYCLES: u32 = 120;

/// Crashes of runs whose results come as fast as they can.
const STORMS: u32 = 10;

/// Cases of such a run: a dozen groups of rows and more.
const CASES: usize = 2_000;

fn seed() -> u64 {
    let given = std::env::var("RUNNER_CRASH_SEED").ok();
    let seed = given.map_or_else(Chance::fresh_seed, |seed| {
        seed.parse().expect("RUNNER_CRASH_SEED is a number")
    });
    // Shown when the test fails.
    println!("RUNNER_CRASH_SEED={seed} draws these moments again");
    seed
}

#[test]
fn a_hundred_crashes_lose_no_result_double_none_and_pay_for_none_again() {
    let seed = seed();
    let half = |seed| move || crash_cycles(seed, CYCLES / 2, |_| {});
    let tally = std::thread::scope(|scope| {
        let other = scope.spawn(half(!seed));
        let one = half(seed)();
        let other = other.join().expect("the other half stands as well");
        one.and(other)
    });
    println!("{tally:?}");
    assert!(tally.kills >= CYCLES, "{tally:?}");
    // Each case once, and what was in flight at a kill once more at most.
    assert!(tally.calls >= tally.cases, "{tally:?}");
}

#[test]
fn of_results_that_come_fast_a_crash_takes_the_last_ones_alone() {
    let tally = crash_storm(seed(), STORMS, CASES);
    println!("{tally:?}");
    assert!(tally.kills >= STORMS, "{tally:?}");
}
