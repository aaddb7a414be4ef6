//! Prints the score table of the simulator: `cargo xtask sim`.
//!
//! ```text
//! sim [FILTER] [--seeds N] [--from M]   the table of all scenarios whose name contains FILTER
//! sim --write | --check                 puts it into README.md, or says whether it is there
//! sim --trace NAME SEED                 everything that happens in one run, line by line
//! sim --grid [--cells N] [--from M]     servers drawn by chance, what they reach and the worst of them
//! sim --grid --cell NUMBER [--from M]   everything that happens in one of them
//! sim --grid --write | --check          puts the grids 1 and 101 into README.md
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
use simulator::grid::{self, figures};
use simulator::plan::Plan;
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
    grid: bool,
    cells: u64,
    cell: Option<u64>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(wish) = Wish::read(&words) else {
        eprintln!(
            "usage: sim [FILTER] [--seeds N] [--from M] | --write | --check | --trace NAME SEED | --grid [--cells N | --cell NUMBER] [--from M]"
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
            grid: false,
            cells: 400,
            cell: None,
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
                ["--grid", rest @ ..] => {
                    wish.grid = true;
                    rest
                }
                ["--cells", cells, rest @ ..] => {
                    wish.cells = cells.parse().ok().filter(|cells| *cells > 0)?;
                    rest
                }
                ["--cell", cell, rest @ ..] => {
                    wish.cell = Some(cell.parse().ok()?);
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
    if wish.grid {
        return carry_out_grid(wish);
    }
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
        show(&first.plan, first.name, seed);
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
    keep(wish, table::SCENARIOS, &text)
}

/// Tries a grid, or with `--write` and `--check` the one that is tuned with and the one that judges.
fn carry_out_grid(wish: &Wish) -> Result<(), String> {
    if let Some(number) = wish.cell {
        let cells = grid::cells(wish.from, number + 1);
        let cell = &cells[number as usize];
        show(&cell.plan, &cell.to_string(), cell.seed);
        return Ok(());
    }
    let tried = |grid| figures::try_all(&grid::cells(grid, wish.cells));
    if !wish.write && !wish.check {
        let tried = tried(wish.from);
        print!("{}", figures::markdown(&[&tried]));
        for line in figures::worst(&tried) {
            println!("{line}");
        }
        let misses = figures::BOUNDS
            .map(|bounds| bounds.misses(&tried, true))
            .concat();
        return misses.is_empty().then_some(()).ok_or(misses.join("\n"));
    }
    let grids = [tried(1), tried(101)];
    keep(
        wish,
        table::GRID,
        &figures::markdown(&[&grids[0], &grids[1]]),
    )
}

/// Puts a table into the README, or says whether it is there.
fn keep(wish: &Wish, markers: [&str; 2], text: &str) -> Result<(), String> {
    let readme = std::fs::read_to_string(README).map_err(|error| format!("{README}: {error}"))?;
    let wanted = table::put(&readme, markers, text).ok_or(format!("{README}: no markers"))?;
    if wanted == readme {
        return Ok(());
    }
    if wish.check {
        return Err(format!("{README} is not current: cargo xtask sim --write"));
    }
    std::fs::write(README, wanted).map_err(|error| format!("{README}: {error}"))
}

/// Prints one run; a broken invariant ends it with a panic, as everywhere.
fn show(plan: &Plan, name: &str, seed: u64) {
    let way = Way {
        name: name.to_owned(),
        trace: true,
        explain: false,
    };
    let run = client::run(plan.world(seed), way);
    for line in run.trace {
        println!("{line}");
    }
}
