//! A lane whose server has never worked: what is queued ends, and a probe goes now and then.

use super::*;

/// Fails every attempt at once until the first job is refused, and gives the tickets of all
/// that are refused at that moment, with the attempts that it took.
fn give_up(rig: &mut Rig) -> (Vec<u64>, usize) {
    let (mut refused, mut attempts) = (Vec::new(), 0);
    while refused.is_empty() {
        let actions = rig.actions();
        if actions.is_empty() {
            rig.now = rig.wake().expect("it will be looked at again");
        }
        for action in actions {
            match action {
                Action::Start(job) => {
                    attempts += 1;
                    rig.ends(job, Class::Transient);
                }
                Action::Refuse(job, Refusal::Down { lasted }) => {
                    assert!(lasted >= MINUTE / 2 && lasted < MINUTE, "{lasted:?}");
                    refused.push(job.ticket());
                }
                Action::Refuse(job, why) => panic!("{job:?}: {why:?}"),
            }
        }
    }
    (refused, attempts)
}

fn is_refused(rig: &mut Rig, job: JobId) -> bool {
    matches!(&rig.actions()[..], [Action::Refuse(refused, Refusal::Down { .. })] if *refused == job)
}

/// A lane that was given up, with nothing queued.
fn given_up() -> (Rig, LaneId) {
    let (mut rig, lane) = Rig::with(slots(4));
    for _ in 0..20 {
        rig.offer(lane);
    }
    give_up(&mut rig);
    (rig, lane)
}

#[test]
fn everybody_who_is_queued_ends_with_the_reason() {
    let (mut rig, lane) = Rig::with(slots(4));
    for _ in 0..100 {
        rig.offer(lane);
    }
    let (refused, attempts) = give_up(&mut rig);
    assert_eq!(refused.len(), 100, "also who has tried and waits");
    assert!(attempts < 25, "{attempts}");
    assert_eq!(rig.scheduler.view(lane).queued, 0);
    assert_eq!(
        rig.wake(),
        None,
        "nothing is to be done until somebody comes"
    );
}

#[test]
fn who_comes_later_is_refused_at_once_but_for_one_probe_per_pause() {
    let (mut rig, lane) = given_up();
    let job = rig.offer(lane);
    assert!(is_refused(&mut rig, job));
    rig.now += 8_000;
    let (probe, other) = (rig.offer(lane), rig.offer(lane));
    let actions = rig.actions();
    assert_eq!(actions[0], Action::Start(probe));
    assert!(matches!(actions[1], Action::Refuse(job, _) if job == other));
    let next = rig.ends(probe, Class::Transient);
    assert!(matches!(next, Next::Again { .. }));
    assert!(
        is_refused(&mut rig, probe),
        "a failed probe waits for no other"
    );
}

#[test]
fn a_probe_that_is_answered_brings_the_lane_back() {
    let (mut rig, lane) = given_up();
    rig.now += 8_000;
    let probe = rig.offer(lane);
    assert_eq!(rig.started(), [probe.ticket()]);
    rig.ends(probe, Class::Ok);
    let jobs = [rig.offer(lane), rig.offer(lane)];
    assert_eq!(rig.started(), jobs.map(JobId::ticket));
}

#[test]
fn a_lane_that_has_worked_once_is_waited_for() {
    let (mut rig, lane) = Rig::with(slots(4));
    let first = rig.offer(lane);
    rig.started();
    rig.ends(first, Class::Ok);
    for _ in 0..100 {
        rig.offer(lane);
    }
    let mut attempts = 0;
    while rig.now < 120_000 {
        let started = rig.started();
        if started.is_empty() {
            rig.now = rig.wake().expect("it is probed again and again");
        }
        for ticket in started {
            attempts += 1;
            rig.ends(JobId(ticket), Class::Transient);
        }
    }
    assert!(attempts >= 20, "{attempts}");
}

#[test]
fn other_lanes_go_on() {
    let (mut rig, _) = given_up();
    let other = rig.scheduler.open(slots(1));
    let job = rig.offer(other);
    assert_eq!(rig.started(), [job.ticket()]);
}
