//! What is kept of a run's lanes, and how much of it.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use super::*;
use crate::runs::LaneLog;
use crate::runs::samples::{Fresh, end, new_run, row};

fn sample(lane: &str, in_flight: u32) -> LaneSample {
    LaneSample {
        lane: lane.to_owned(),
        in_flight,
        allowed: 8,
        waiting: 3,
        refused: 1,
    }
}

fn moment(at_ms: u64, lanes: &[LaneSample]) -> LaneMoment {
    LaneMoment {
        at_ms,
        lanes: lanes.to_vec(),
    }
}

/// The times of what is kept.
fn times(fresh: &Fresh, id: &str) -> Vec<u64> {
    let moments = fresh.store.lane_moments(id).unwrap();
    moments.iter().map(|moment| moment.at_ms).collect()
}

#[test]
fn how_lanes_stood_is_read_as_it_was_noted_and_goes_with_the_run() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    writer.push(row(0, 0)).unwrap();
    let lanes = [sample("a.example/m", 2), sample("b.example", 0)];
    writer.lane_log().note(moment(1010, &lanes));
    writer.finish(end()).unwrap();
    assert_eq!(
        fresh.store.lane_moments("run").unwrap(),
        [moment(1000, &lanes)]
    );
    assert_eq!(fresh.read("run").len(), 1);
    fresh.store.delete_run("run").unwrap();
    let left: i64 = fresh
        .raw()
        .query_row("SELECT count(*) FROM lane_samples", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
    assert!(fresh.store.lane_moments("run").is_err());
}

#[test]
fn a_run_without_lanes_keeps_nothing_of_them() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    writer.lane_log().note(moment(1000, &[]));
    writer.finish(end()).unwrap();
    assert_eq!(times(&fresh, "run"), [0_u64; 0]);
}

#[test]
fn a_run_of_days_keeps_no_more_than_one_of_minutes() {
    let fresh = Fresh::new();
    drop(fresh.store.begin_run(new_run("run")).unwrap());
    let mut connection = fresh.raw();
    let mut slots = Slots::of(1);
    let mut put = |at_ms| {
        slots
            .put(&mut connection, &moment(at_ms, &[sample("a", 1)]))
            .unwrap();
    };
    (1..=240).for_each(|second| put(second * 1000 - 3));
    let every = |step: u64, last: u64| (step..=last).step_by(step as usize).collect::<Vec<_>>();
    assert_eq!(times(&fresh, "run"), every(1000, 240_000));
    put(241_000);
    assert_eq!(times(&fresh, "run"), every(2000, 242_000));
    // A week, of which each minute is told.
    (5..=10_080).for_each(|minute| put(minute * 60_000));
    let kept = times(&fresh, "run");
    let width = 4_096_000;
    assert!(kept.iter().all(|at| at % width == 0), "{kept:?}");
    assert_eq!(kept.last(), Some(&slot(10_080 * 60_000, width)));
    assert!((120..=240).contains(&kept.len()), "{}", kept.len());
}

#[test]
fn the_last_of_a_slot_is_what_it_holds() {
    let fresh = Fresh::new();
    drop(fresh.store.begin_run(new_run("run")).unwrap());
    let mut slots = Slots::of(1);
    for in_flight in 1..=3 {
        let at_ms = 1000 + u64::from(in_flight);
        let now = moment(at_ms, &[sample("a", in_flight)]);
        slots.put(&mut fresh.raw(), &now).unwrap();
    }
    let kept = fresh.store.lane_moments("run").unwrap();
    assert_eq!(kept, [moment(1000, &[sample("a", 3)])]);
}

#[test]
fn a_run_that_goes_on_goes_on_where_it_was() {
    let fresh = Fresh::new();
    let note = |writer: &crate::runs::RunWriter, at_ms| {
        writer
            .lane_log()
            .note(moment(at_ms, &[sample("a", at_ms as u32)]));
    };
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    note(&writer, 3000);
    writer.finish(end()).unwrap();
    let run = fresh.store.reopen_run("run").unwrap();
    let head = run.head().clone();
    let writer = run.start(&head).unwrap();
    note(&writer, 1000);
    writer.finish(end()).unwrap();
    assert_eq!(times(&fresh, "run"), [3000, 4000]);
}

#[test]
fn what_cant_be_noted_costs_no_row() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    fresh.raw().execute("DROP TABLE lane_samples", []).unwrap();
    writer.lane_log().note(moment(1000, &[sample("a", 1)]));
    writer.push(row(0, 0)).unwrap();
    writer.flush().unwrap();
    writer.lane_log().note(moment(2000, &[sample("a", 1)]));
    writer.push(row(1, 0)).unwrap();
    writer.finish(end()).unwrap();
    assert_eq!(fresh.read("run").len(), 2);
}

#[test]
fn no_run_has_more_lanes_in_a_moment_than_are_shown() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    let lanes: Vec<_> = (0..LaneLog::MOST_LANES + 5)
        .map(|lane| sample(&format!("{lane:03}"), 1))
        .collect();
    writer.lane_log().note(moment(1000, &lanes));
    writer.finish(end()).unwrap();
    let kept = fresh.store.lane_moments("run").unwrap();
    assert_eq!(kept, [moment(1000, &lanes[..LaneLog::MOST_LANES])]);
}
