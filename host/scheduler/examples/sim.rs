//! Prints the score table of the simulator: `cargo xtask sim`.
//!
//! ```text
//! sim [FILTER] [--seeds N] [--from M]   the table of all scenarios whose name contains FILTER
//! sim --write | --check                 puts it into README.md, or says whether it is there
//! sim --trace NAME SEED                 everything that happens in one run, line by line
//! ```
//!
//! Decisions are tuned with the seeds 1 to 5, which the table shows; `--from 101` and the like are
//! for seeds that nothing was tuned with.
//!
//! It is an example and not a test because it is for reading: gates are in `tests/proofs`.

#[path = "../tests/simulator/mod.rs"]
mod simulator;

use std::process::ExitCode;

use simulator::catalogue::{self, Scenario};
use simulator::client::{self, Way};
use simulator::score::Scores;
use simulator::table;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");

/// What is asked for.
struct Wish {
    filter: String,
    seeds: u64,
    from: u64,
    write: bool,
    check: bool,
    trace: Option<u64>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(wish) = Wish::read(&words) else {
        eprintln!(
            "usage: sim [FILTER] [--seeds N] [--from M] | --write | --check | --trace NAME SEED"
        );
        return ExitCode::from(2);
    };
    match carry_out(&wish) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("sim: {why}");
            ExitCode::FAILURE
        }
    }
}

impl Wish {
    fn read(mut words: &[&str]) -> Option<Self> {
        let mut wish = Self {
            filter: String::new(),
            seeds: 5,
            from: 1,
            write: false,
            check: false,
            trace: None,
        };
        loop {
            words = match words {
                [] => return Some(wish),
                ["--seeds", seeds, rest @ ..] => {
                    wish.seeds = seeds.parse().ok().filter(|seeds| *seeds > 0)?;
                    rest
                }
                ["--from", from, rest @ ..] => {
                    wish.from = from.parse().ok()?;
                    rest
                }
                ["--write", rest @ ..] => {
                    wish.write = true;
                    rest
                }
                ["--check", rest @ ..] => {
                    wish.check = true;
                    rest
                }
                ["--trace", name, seed, rest @ ..] => {
                    (*name).clone_into(&mut wish.filter);
                    wish.trace = Some(seed.parse().ok()?);
                    rest
                }
                [filter, rest @ ..] if !filter.starts_with('-') => {
                    (*filter).clone_into(&mut wish.filter);
                    rest
                }
                _ => return None,
            };
        }
    }
}

fn carry_out(wish: &Wish) -> Result<(), String> {
    let mut scenarios = catalogue::all();
    if let Some(exact) = scenarios.iter().position(|s| s.name == wish.filter) {
        scenarios = vec![scenarios.swap_remove(exact)];
    } else {
        scenarios.retain(|scenario| scenario.name.contains(&wish.filter));
    }
    let Some(first) = scenarios.first() else {
        return Err(format!("no scenario is called {:?}", wish.filter));
    };
    if let Some(seed) = wish.trace {
        trace(first, seed);
        return Ok(());
    }
    let rows: Vec<(Scenario, Scores)> = scenarios
        .into_iter()
        .map(|scenario| {
            let scores = Scores::of(&scenario, wish.from..wish.from + wish.seeds);
            (scenario, scores)
        })
        .collect();
    let text = table::markdown(&rows);
    if !wish.write && !wish.check {
        print!("{text}");
        return Ok(());
    }
    let readme = std::fs::read_to_string(README).map_err(|error| format!("{README}: {error}"))?;
    let wanted = table::put(&readme, &text).ok_or(format!("{README}: no markers"))?;
    if wanted == readme {
        return Ok(());
    }
    if wish.check {
        return Err(format!("{README} is not current: cargo xtask sim --write"));
    }
    std::fs::write(README, wanted).map_err(|error| format!("{README}: {error}"))
}

/// Prints one run; a broken invariant ends it with a panic, as everywhere.
fn trace(scenario: &Scenario, seed: u64) {
    let way = Way {
        name: scenario.name.to_owned(),
        trace: true,
    };
    let run = client::run(scenario.plan.world(seed), way);
    for line in run.trace {
        println!("{line}");
    }
}
