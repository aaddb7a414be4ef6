//! Every scenario of the table against its gate, or against what is known of it.
//!
//! The seeds are fixed and the simulator is exact, so a gate is met or missed on every machine
//! alike; nothing here is a matter of luck or load.

use std::ops::Range;

use crate::simulator::catalogue::{self, Scenario};
use crate::simulator::known;
use crate::simulator::score::Scores;
use crate::simulator::table;

/// Seeds of each scenario, as in the README.
const SEEDS: Range<u64> = 1..6;

fn hold(family: Vec<Scenario>) {
    let mut failures = Vec::new();
    for scenario in family {
        let scores = Scores::of(&scenario, SEEDS);
        let misses = scores.misses(&scenario.gate);
        let name = scenario.name;
        match known::of(name) {
            None if misses.is_empty() => {}
            None => failures.push(format!("{name}: {}", misses.join(", "))),
            Some(_) if misses.is_empty() => {
                failures.push(format!("{name} is inside its gate: take it off the list"));
            }
            Some(known) => {
                let worse = scores.misses(&known.gate);
                if !worse.is_empty() {
                    failures.push(format!("{name} got worse: {}", worse.join(", ")));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "outside their gates:\n{}",
        failures.join("\n")
    );
}

#[test]
fn limits_that_headers_declare_are_used_up_without_refusals() {
    hold(catalogue::declared());
}

#[test]
fn requests_and_tokens_are_used_up_together() {
    hold(catalogue::mixed());
}

#[test]
fn headers_that_are_stale_missing_or_lies_cost_little() {
    hold(catalogue::crooked());
}

#[test]
fn changes_storms_and_outages_are_survived() {
    hold(catalogue::troubled());
}

#[test]
fn a_rate_that_nobody_declares_is_found() {
    hold(catalogue::undeclared());
}

#[test]
fn a_number_of_parallel_requests_is_found() {
    hold(catalogue::parallel());
}

#[test]
fn short_windows_are_used_up_in_short_runs() {
    hold(catalogue::short());
}

#[test]
fn requests_that_hang_keep_no_others_from_being_sent() {
    hold(catalogue::hanging());
}

#[test]
fn limits_that_the_user_declares_are_kept_and_shared() {
    hold(catalogue::by_user());
}

#[test]
fn servers_that_queue_get_as_much_as_they_work_on() {
    hold(catalogue::queueing());
}

#[test]
fn windows_of_which_something_is_left_out_are_found() {
    hold(catalogue::unlearnt());
}

#[test]
fn two_runs_that_do_not_know_of_each_other_get_along() {
    hold(catalogue::two_runs());
}

#[test]
fn what_was_found_out_is_not_for_ever() {
    hold(catalogue::changing());
}

#[test]
fn a_busy_machine_is_not_taken_for_the_server_s_doing() {
    hold(catalogue::busy());
}

#[test]
fn every_known_miss_names_a_scenario() {
    let names: Vec<&str> = catalogue::all()
        .iter()
        .map(|scenario| scenario.name)
        .collect();
    for known in known::KNOWN {
        assert!(names.contains(&known.name), "{}", known.name);
    }
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
    let wanted = table::put(readme, &text);
    assert!(
        wanted.as_deref() == Some(readme),
        "run `cargo xtask sim --write`"
    );
}
