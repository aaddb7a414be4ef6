//! Thousands of crashes: `cargo xtask soak [--cycles N] [--seed S]`.
//!
//! Does what `tests/tests/crash.rs` does, for as long as it takes. Says every hundred kills how far it
//! is, and in the end what came about; stops at the first thing that is wrong, which it says with
//! the seed. `--seed` draws the same moments again: by progress exactly, by time as exactly as
//! the machine is as fast as before.

use std::process::ExitCode;
use std::time::Instant;

use runner_tests::{Chance, CrashTally, crash_cycles, crash_storm};

/// Kills without `--cycles`: about ten minutes on two cores.
const CYCLES: u32 = 2_000;

/// Kills of runs without a server, for so many kills over one.
const STORM_SHARE: u32 = 20;

/// Cases of a run without a server.
const STORM_CASES: usize = 4_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((cycles, seed)) = parse(&words) else {
        eprintln!("usage: soak [--cycles N] [--seed S]");
        return ExitCode::from(2);
    };
    println!("{cycles} crashes with seed {seed}: --seed {seed} draws them again");
    let begun = Instant::now();
    let tally = crash_cycles(seed, cycles, |so_far| {
        if so_far.kills.is_multiple_of(100) {
            println!("{} kills, {} s", so_far.kills, begun.elapsed().as_secs());
        }
    });
    tell("over a server", tally);
    tell(
        "without one",
        crash_storm(!seed, cycles.div_ceil(STORM_SHARE), STORM_CASES),
    );
    println!(
        "all runs came to their end in {} s",
        begun.elapsed().as_secs()
    );
    ExitCode::SUCCESS
}

/// Cycles and seed; `None` for anything that is not understood.
fn parse(words: &[String]) -> Option<(u32, u64)> {
    let (mut cycles, mut seed) = (CYCLES, None);
    for pair in words.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--cycles" => cycles = value.parse().ok().filter(|cycles| *cycles > 0)?,
            "--seed" => seed = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some((cycles, seed.unwrap_or_else(Chance::fresh_seed)))
}

fn tell(what: &str, tally: CrashTally) {
    let CrashTally {
        kills,
        runs,
        sessions,
        calls,
        cases,
        most_unsaved,
    } = tally;
    println!(
        "{what}: {kills} kills in {sessions} sessions of {runs} runs; {cases} cases, {calls} calls; \
         at most {most_unsaved} reported results were not stored yet"
    );
}
