//! What calls that hang do to the others of their lane: nothing.

use super::*;

/// Offers `jobs` and lets time pass to `until` in milliseconds; each call is answered after
/// what `takes` says at its start, or never. Gives the most that were in flight.
fn serve(
    rig: &mut Rig,
    lane: LaneId,
    jobs: u64,
    until: u64,
    takes: impl Fn(u64, u64) -> Option<u64>,
) -> u32 {
    for _ in 0..jobs {
        rig.offer(lane);
    }
    let mut due = BTreeSet::new();
    let mut most = 0;
    for ms in rig.now..=until {
        rig.now = ms;
        while let Some(&(at, ticket)) = due.first()
            && at <= ms
        {
            due.remove(&(at, ticket));
            rig.ends(JobId(ticket), Class::Ok);
        }
        for ticket in rig.started() {
            due.extend(takes(ms, ticket).map(|took| (ms + took, ticket)));
        }
        most = most.max(rig.scheduler.view(lane).in_flight);
    }
    most
}

#[test]
fn calls_that_hang_keep_no_others_from_being_sent() {
    let (mut rig, lane) = Rig::with(LanePolicy::default());
    let one_in_seventeen = |_, ticket| (ticket % 17 != 3).then_some(50);
    serve(&mut rig, lane, 500, 650, one_in_seventeen);
    let view = rig.scheduler.view(lane);
    assert_eq!((view.queued, view.in_flight), (0, 30), "only these are out");
}

#[test]
fn it_does_not_matter_if_the_very_first_hang() {
    let (mut rig, lane) = Rig::with(LanePolicy::default());
    let first_four = |_, ticket| (ticket >= 4).then_some(50);
    serve(&mut rig, lane, 500, 5600, first_four);
    let view = rig.scheduler.view(lane);
    assert_eq!((view.queued, view.in_flight), (0, 4));
}

#[test]
fn the_ceiling_holds_however_many_hang() {
    let max_window = 40;
    let (mut rig, lane) = Rig::with(LanePolicy {
        max_window,
        ..LanePolicy::default()
    });
    let every_other = |_, ticket| (ticket % 2 == 0).then_some(50);
    let most = serve(&mut rig, lane, 500, 5000, every_other);
    assert_eq!(most, max_window);
}

/// The window of a lane that was served well for 80 ms, and 250 and 1,500 ms after its server
/// has begun to answer as `takes` says.
fn growth(takes: impl Fn(u64, u64) -> Option<u64>) -> [u32; 3] {
    let (mut rig, lane) = Rig::with(LanePolicy {
        max_window: u32::MAX,
        ..LanePolicy::default()
    });
    serve(&mut rig, lane, 20_000, 80, |_, _| Some(40));
    let begun = rig.scheduler.view(lane).window;
    serve(&mut rig, lane, 0, 250, &takes);
    let before = rig.scheduler.view(lane).window;
    serve(&mut rig, lane, 0, 1250, &takes);
    let view = rig.scheduler.view(lane);
    assert!(view.queued > 0, "it is the window that holds them back");
    [begun, before, view.window]
}

#[test]
fn a_server_that_stops_answering_gets_no_more() {
    let [_, before, after] = growth(|_, _| None);
    assert_eq!(after, before);
}

#[test]
fn one_where_everything_becomes_slower_gets_no_more_until_that_is_usual() {
    let [begun, before, after] = growth(|_, _| Some(400));
    assert!(before >= begun && after <= before * 2, "{begun}, {after}");
}
