//! A lane whose server fails: who is tried meanwhile, and when what is queued ends.

use std::collections::BTreeSet;

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
    assert!(attempts < 50, "{attempts}");
    assert_eq!(rig.scheduler.view(lane).queued, 0);
    assert_eq!(
        rig.wake(),
        None,
        "nothing is to be done until somebody comes"
    );
}

#[test]
fn who_comes_later_ends_when_three_of_them_have_failed_at_once() {
    let (mut rig, lane) = given_up();
    let jobs: Vec<JobId> = (0..10).map(|_| rig.offer(lane)).collect();
    let (mut tried, mut refused) = (Vec::new(), BTreeSet::new());
    while refused.is_empty() {
        for action in rig.actions() {
            match action {
                Action::Start(job) => {
                    tried.push(job);
                    let next = rig.ends(job, Class::Transient);
                    assert!(matches!(next, NextStep::Again { .. }));
                }
                Action::Refuse(job, _) => assert!(refused.insert(job)),
            }
        }
    }
    assert_eq!(tried.iter().collect::<BTreeSet<_>>().len(), 3, "three jobs");
    assert_eq!(
        refused.len(),
        jobs.len(),
        "those that were tried wait for no other"
    );
    let alone = rig.offer(lane);
    assert_eq!(rig.started(), [alone.ticket()], "the next wave");
    rig.ends(alone, Class::Transient);
    assert!(matches!(rig.actions()[..], [Action::Refuse(job, _)] if job == alone));
}

/// Carries out jobs of which those before `own` always fail, `most` of them queued or sent at once; gives
/// those that ended well, and the minutes after which the last of them did.
fn among_others(
    rig: &mut Rig,
    lane: LaneId,
    class: Class,
    (jobs, own, most): (u64, u64, u64),
) -> (BTreeSet<u64>, u64) {
    let (mut offered, mut ended, mut good) = (0, 0, BTreeSet::new());
    let mut minutes = 0;
    while ended < jobs {
        while offered < jobs && offered - ended < most {
            assert_eq!(rig.offer(lane).ticket(), offered);
            offered += 1;
        }
        let actions = rig.actions();
        if actions.is_empty() {
            rig.now = rig.wake().expect("something is left to do");
        }
        for action in actions {
            let (job, next) = match action {
                Action::Start(job) if job.ticket() < own => {
                    rig.now += 1;
                    (job, rig.ends(job, class))
                }
                Action::Start(job) => {
                    rig.now += 1;
                    (job, rig.ends(job, Class::Ok))
                }
                Action::Refuse(job, _) => (job, NextStep::Return),
            };
            if next == NextStep::Return {
                ended += 1;
            }
            if job.ticket() >= own
                && next == NextStep::Return
                && !matches!(action, Action::Refuse(..))
            {
                good.insert(job.ticket());
                minutes = rig.now / 60_000;
            }
        }
    }
    (good, minutes)
}

#[test]
fn jobs_that_a_server_fails_on_cost_themselves_wherever_they_stand() {
    for (jobs, own, most) in [
        (140, 40, 256),
        (400, 300, 256),
        (1000, 900, 256),
        (30, 25, 4),
    ] {
        let (mut rig, lane) = Rig::with(slots(4));
        let (good, minutes) = among_others(&mut rig, lane, Class::Transient, (jobs, own, most));
        let all: BTreeSet<u64> = (own..jobs).collect();
        assert_eq!(good, all, "{own} of {jobs} are bad");
        assert!(minutes < 3, "{own} of {jobs} took {minutes} minutes");
    }
}

/// A limit of tokens a minute refuses a large request while small ones pass, and lets it pass at last.
#[test]
fn a_large_job_that_small_ones_overtake_is_not_to_blame() {
    let (mut rig, lane) = Rig::with(slots(4));
    let large = rig.offer(lane);
    let mut refused = 0;
    loop {
        rig.offer(lane);
        let actions = rig.actions();
        if actions.is_empty() {
            rig.now = rig.wake().expect("something is left to do");
        }
        for action in actions {
            let Action::Start(job) = action else {
                panic!("nothing is refused: {action:?}")
            };
            rig.now += 1_000;
            if job != large {
                rig.ends(job, Class::Ok);
            } else if rig.now < 60_000 {
                refused += 1;
                let next = rig.ends(job, Class::Throttled);
                assert_ne!(
                    next,
                    NextStep::Return,
                    "after {refused} refusals, {} ms",
                    rig.now
                );
            } else {
                assert!(refused > 5, "{refused}");
                return;
            }
        }
    }
}

#[test]
fn a_probe_that_is_answered_brings_the_lane_back() {
    let (mut rig, lane) = given_up();
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

/// A request that is larger than what the account has for a minute is refused at every try.
#[test]
fn jobs_that_a_server_always_refuses_cost_themselves() {
    for (jobs, own, most) in [(105, 5, 256), (60, 30, 256), (30, 5, 4)] {
        let (mut rig, lane) = Rig::with(slots(4));
        let (good, minutes) = among_others(&mut rig, lane, Class::Throttled, (jobs, own, most));
        let all: BTreeSet<u64> = (own..jobs).collect();
        assert_eq!(good, all, "{own} of {jobs} are bad");
        assert!(minutes < 8, "{own} of {jobs} took {minutes} minutes");
    }
}

/// Nor do they slow others down: what is refused again and again while others pass is no pace.
#[test]
fn a_job_that_is_always_refused_teaches_no_pace() {
    let (mut rig, lane) = Rig::with(slots(4));
    let (good, _) = among_others(&mut rig, lane, Class::Throttled, (400, 2, 256));
    assert_eq!(good.len(), 398);
    let took = rig.now / 1000;
    assert!(took < 120, "{took} s");
}
