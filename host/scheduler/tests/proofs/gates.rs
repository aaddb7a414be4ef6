//! The tables in the README, and a sample of the grid against its bounds.
//!
//! The seeds are fixed and the simulator is exact, so a table is the same on every machine; nothing here is a
//! matter of luck or load. What a scenario reaches of its gate stands in its row, and the whole grid is tried by
//! `cargo xtask sim --grid`.

use std::ops::Range;

use crate::simulator::catalogue::{self, Scenario};
use crate::simulator::grid::{self, figures};
use crate::simulator::score::Scores;
use crate::simulator::table;

/// Seeds of each scenario, as in the README.
const SEEDS: Range<u64> = 1..6;

/// Cells of the sample: some seconds.
const SAMPLE: u64 = 100;

#[test]
fn half_of_the_servers_that_nobody_has_named_are_used_well() {
    let tried = figures::try_all(&grid::cells(1, SAMPLE));
    let mut failures = figures::BOUNDS
        .map(|bounds| bounds.misses(&tried, false))
        .concat();
    let lost = tried.iter().filter(|tried| tried.score.lost > 0);
    failures.extend(lost.map(|tried| format!("calls are lost: {}", tried.cell)));
    assert!(
        failures.is_empty(),
        "{}\n{}{}",
        failures.join("\n"),
        figures::markdown(&[&tried]),
        figures::worst(&tried).join("\n")
    );
}

#[test]
fn scenarios_have_names_of_their_own() {
    let mut names: Vec<&str> = catalogue::all()
        .iter()
        .map(|scenario| scenario.name)
        .collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_table_in_the_readme_is_current() {
    let readme = include_str!("../../README.md");
    let rows: Vec<(Scenario, Scores)> = catalogue::all()
        .into_iter()
        .map(|scenario| {
            let scores = Scores::of(&scenario, SEEDS);
            (scenario, scores)
        })
        .collect();
    let text = table::markdown(&rows);
    let wanted = table::put(readme, table::SCENARIOS, &text);
    assert!(
        wanted.as_deref() == Some(readme),
        "run `cargo xtask sim --write`"
    );
    let empty = table::put(readme, table::GRID, "");
    assert!(
        empty.is_some_and(|empty| empty != readme),
        "run `cargo xtask sim --grid --write`"
    );
}
