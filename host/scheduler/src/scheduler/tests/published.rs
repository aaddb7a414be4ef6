//! The published scheduler of questions, as far as its tests say what a machine must do: its list,
//! with our rules where they differ (`docs/leases.md`).

use std::sync::Arc;

use super::*;

/// A lane with so many slots, and a limit that its jobs are under.
fn limited(counts: LimitMeasure, capacity: u64) -> (Rig, LaneId, Arc<[LimitId]>) {
    let (mut rig, lane) = Rig::with(slots(20));
    let limit = rig.scheduler.declare(Limit {
        name: "limit".to_owned(),
        counts,
        capacity,
    });
    (rig, lane, Arc::from([limit]))
}

fn under(limits: &Arc<[LimitId]>) -> Demand {
    Demand {
        limits: limits.clone(),
        ..Demand::default()
    }
}

impl Rig {
    /// The leases that are out.
    fn leased(&self) -> Vec<u64> {
        self.scheduler.leased.iter().map(|lease| lease.0).collect()
    }
}

#[test]
fn a_denied_job_holds_up_no_job_of_another_key() {
    let (mut rig, lane, limits) = limited(LimitMeasure::Requests(MINUTE), 1);
    let other = rig.scheduler.open(slots(20));
    rig.offer_with(lane, under(&limits));
    rig.offer_with(lane, under(&limits));
    rig.offer(other);
    assert_eq!(rig.started(), [0, 2], "at once, not after a wait of 200 ms");
}

#[test]
fn a_denied_job_goes_at_the_exact_time_with_a_new_lease() {
    let (mut rig, lane, limits) = limited(LimitMeasure::Requests(MINUTE), 1);
    let first = rig.offer_with(lane, under(&limits));
    rig.offer_with(lane, under(&limits));
    assert_eq!(rig.started(), [0]);
    let before = rig.leased();
    let drawn = rig.scheduler.next_lease;
    rig.ends(first, Class::Ok);
    assert_eq!(rig.pass(60_000), [0; 0]);
    assert_eq!(
        rig.wake(),
        Some(60_001),
        "a minute after the first, to the millisecond"
    );
    assert_eq!(rig.pass(60_001), [1]);
    assert!(rig.leased()[0] >= drawn, "an id that was denied is used up");
    assert!(rig.leased()[0] > before[0]);
}

#[test]
fn each_attempt_has_one_lease_and_each_end_settles_it_once() {
    let ends = [
        Class::Ok,
        Class::Throttled,
        Class::Transient,
        Class::Timeout,
        Class::Permanent,
        Class::QuotaExhausted,
        Class::Auth,
        Class::NotFound,
    ];
    for class in ends {
        let (mut rig, lane, limits) = limited(LimitMeasure::Concurrency, 1);
        let job = rig.offer_with(lane, under(&limits));
        assert_eq!(
            (rig.started(), rig.leased().len()),
            (vec![0], 1),
            "{class:?}"
        );
        rig.ends(job, class);
        assert!(rig.leased().is_empty(), "{class:?}");
        rig.ends(job, class);
        let used = rig.scheduler.limits.used(at(rig.now), limits[0]);
        assert_eq!(used, 0, "{class:?}");
    }
}

#[test]
fn a_job_that_is_cancelled_on_the_wire_settles_its_lease() {
    let (mut rig, lane, limits) = limited(LimitMeasure::Concurrency, 1);
    let job = rig.offer_with(lane, under(&limits));
    rig.offer_with(lane, under(&limits));
    assert_eq!(rig.started(), [0]);
    rig.cancel(job);
    assert!(rig.leased().is_empty());
    assert_eq!(rig.started(), [1]);
}

#[test]
fn two_at_once_overlap_and_one_at_once_do_not() {
    for (capacity, together) in [(1, vec![0]), (2, vec![0, 1])] {
        let (mut rig, lane, limits) = limited(LimitMeasure::Concurrency, capacity);
        let first = rig.offer_with(lane, under(&limits));
        rig.offer_with(lane, under(&limits));
        assert_eq!(rig.started(), together);
        rig.now += 150;
        rig.ends(first, Class::Ok);
        let rest: Vec<u64> = [0, 1]
            .into_iter()
            .filter(|it| !together.contains(it))
            .collect();
        assert_eq!(rig.started(), rest);
    }
}

/// The clock is an argument and nothing else decides: the same calls give the same answers.
#[test]
fn the_same_calls_start_the_same_jobs_at_the_same_times() {
    let run = || {
        let (mut rig, lane, limits) = limited(LimitMeasure::Requests(MINUTE), 7);
        let jobs: Vec<JobId> = (0..40)
            .map(|_| rig.offer_with(lane, under(&limits)))
            .collect();
        let mut trace = Vec::new();
        while let Some(ticket) = rig.next() {
            let class = if ticket % 5 == 2 {
                Class::Transient
            } else {
                Class::Ok
            };
            trace.push((rig.now, ticket, rig.leased()));
            rig.ends(jobs[ticket as usize], class);
        }
        trace
    };
    let first = run();
    assert!(first.len() > 40, "some were tried again");
    assert_eq!(first, run());
}
