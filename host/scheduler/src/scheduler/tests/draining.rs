//! What `drain` promises: who waits ends at once, who is out ends as it ends, nobody starts.

use super::*;

/// The tickets of those that end now; nothing else may happen.
fn refused(rig: &mut Rig) -> Vec<u64> {
    let refused = |action| match action {
        Action::Refuse(job, Refusal::Draining) => job.ticket(),
        other => panic!("{other:?} after the end"),
    };
    rig.actions().into_iter().map(refused).collect()
}

fn drain(rig: &mut Rig) -> Vec<u64> {
    rig.scheduler.drain(at(rig.now));
    refused(rig)
}

#[test]
fn who_waits_for_a_slot_ends_at_once_and_who_is_out_ends_as_it_ends() {
    let (mut rig, lane) = Rig::with(slots(1));
    let out = rig.offer(lane);
    rig.offer(lane);
    assert_eq!(rig.started(), [0]);
    assert_eq!(drain(&mut rig), [1]);
    let next = rig.finish(out, Class::Ok, &Hint::default());
    assert_eq!(next, NextStep::Return);
    assert_eq!(refused(&mut rig), [0; 0]);
    assert_eq!(rig.wake(), None, "nothing is ever to be done again");
    let counts = rig.scheduler.view(lane).metrics;
    let told = (counts.completed_requests, counts.failed_requests);
    assert_eq!(told, (1, 0), "what was never tried has not failed");
}

#[test]
fn who_waits_for_a_blocked_lane_or_a_retry_ends_at_once() {
    let (mut rig, lane) = Rig::with(slots(2));
    let (first, second) = (rig.offer(lane), rig.offer(lane));
    assert_eq!(rig.started(), [0, 1]);
    let long = asks_for(Duration::from_mins(15));
    let next = rig.finish(first, Class::Throttled, &long);
    assert!(matches!(next, NextStep::Again { .. }));
    rig.offer(lane);
    assert_eq!(rig.started(), [0; 0]);
    assert_eq!(drain(&mut rig), [0, 2]);

    // One that would be tried again ends instead, as does whoever comes now.
    let next = rig.finish(second, Class::Throttled, &long);
    assert!(matches!(next, NextStep::Again { .. }));
    assert_eq!(refused(&mut rig), [1]);
    rig.offer(lane);
    assert_eq!(refused(&mut rig), [3]);
    assert_eq!(rig.scheduler.view(lane).wait, None);
}

#[test]
fn who_waits_for_a_declared_limit_ends_at_once() {
    let mut rig = Rig::new();
    let lanes = [(); 2].map(|()| rig.scheduler.open(slots(8)));
    let limit = rig.scheduler.declare(Limit {
        name: "team".to_owned(),
        counts: LimitMeasure::Concurrency,
        capacity: 1,
    });
    for lane in lanes {
        let limits = [limit].into();
        let demand = Demand {
            limits,
            ..Demand::default()
        };
        rig.offer_with(lane, demand);
    }
    assert_eq!(rig.started(), [0]);
    assert_eq!(drain(&mut rig), [1]);
}
