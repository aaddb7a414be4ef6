//! Single rules, and the table of inputs × phases.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_config::plan::{CaseResource, Needs};

use super::*;

mod kept;
mod model;
mod shares;

const SECOND: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(10);

type State = RunState<u32, u32>;
type Commands = Vec<Command<u32, u32>>;

fn id(test_idx: u32) -> CaseId {
    at(test_idx, 0)
}

fn at(test_idx: u32, prompt_idx: u32) -> CaseId {
    CaseId {
        test_idx,
        prompt_idx,
    }
}

fn bounds(slots: usize) -> Bounds {
    Bounds {
        slots,
        shares: 1,
        time: None,
        grace: GRACE,
    }
}

fn planned(id: CaseId) -> QueuedCase<u32> {
    QueuedCase {
        id,
        share: 0,
        needs: None,
        compared_among: None,
        case: id.test_idx,
    }
}

fn ended(id: CaseId) -> Input<u32, u32> {
    Input::Ended {
        id,
        how: EndStatus::Done,
        left: None,
    }
}

/// Whether all has ended but the config's code for the end; has that end.
fn closes(state: &mut State) -> bool {
    let runs = !state.is_over() && matches!(state.closing, Closing::Runs { .. });
    runs && state.on(SECOND, Input::Closed).is_empty() && state.is_over()
}

/// A run with as many cases in flight as it has slots.
fn full(bounds: Bounds) -> State {
    let mut state = State::new(bounds);
    let mut commands = state.on(Duration::ZERO, Input::Wake);
    let mut next = 0;
    while commands.last() == Some(&Command::Next) {
        assert!((next as usize) < bounds.slots, "it is full");
        commands = state.on(Duration::ZERO, Input::Next(Some(planned(id(next)))));
        next += 1;
    }
    state
}

/// A run with a slot more, two cases in flight, and the next one asked for.
fn awaiting_the_third(bounds: Bounds) -> State {
    let mut state = State::new(Bounds {
        slots: bounds.slots + 1,
        ..bounds
    });
    state.on(Duration::ZERO, Input::Wake);
    state.on(Duration::ZERO, Input::Next(Some(planned(id(0)))));
    let commands = state.on(Duration::ZERO, Input::Next(Some(planned(id(1)))));
    assert_eq!(commands.last(), Some(&Command::Next));
    state
}

#[test]
fn a_slot_is_refilled_as_soon_as_it_is_free() {
    let mut state = full(bounds(2));
    assert_eq!(state.in_flight(), 2);
    assert_eq!(state.on(SECOND, ended(id(1))), [Command::Next]);
    let started = state.on(SECOND, Input::Next(Some(planned(id(7)))));
    let run = Command::Run {
        case: 7,
        given: CarriedInputs::default(),
    };
    assert_eq!(started, [Command::Admit(id(7)), run]);
}

#[test]
fn the_first_interrupt_drains_and_the_second_cuts_off() {
    let mut state = full(bounds(2));
    let drain = Command::Drain {
        in_flight: vec![(id(0), SECOND), (id(1), SECOND)],
        grace: GRACE,
    };
    assert_eq!(state.on(SECOND, Input::Interrupt), [drain]);
    assert_eq!(state.wake(), Some(SECOND + GRACE));
    assert_eq!(state.on(SECOND, ended(id(0))), [], "nothing starts");
    let cut = [Command::CutOff(End::Interrupted)];
    assert_eq!(state.on(SECOND, Input::Interrupt), cut);
    assert!(!state.is_over());
    state.on(SECOND, ended(id(1)));
    assert!(closes(&mut state));
    assert_eq!(state.end(), End::Interrupted);
}

#[test]
fn who_drains_a_run_is_told_the_oldest_cases_first() {
    let mut state = full(bounds(2));
    state.on(2 * SECOND, ended(id(0)));
    state.on(3 * SECOND, Input::Next(Some(planned(id(9)))));
    let drain = Command::Drain {
        in_flight: vec![(id(1), 5 * SECOND), (id(9), 2 * SECOND)],
        grace: GRACE,
    };
    assert_eq!(state.on(5 * SECOND, Input::Interrupt), [drain]);
}

#[test]
fn the_code_for_the_end_is_cut_off_by_the_second_interrupt() {
    let mut state = full(bounds(1));
    state.on(SECOND, ended(id(0)));
    assert_eq!(state.on(SECOND, Input::Next(None)), [Command::Close]);
    assert_eq!(state.on(SECOND, Input::Interrupt), [Command::TellCodeRuns]);
    assert_eq!(state.on(SECOND, Input::Interrupt), [Command::CutClosing]);
    assert_eq!(state.on(SECOND, Input::Interrupt), [Command::TellClosing]);
    assert!(!state.is_over());
    assert_eq!(state.on(SECOND, Input::Closed), []);
    assert!(state.is_over());
    assert_eq!(state.end(), End::Finished);
    // Who has stopped the run has asked once.
    let mut state = full(bounds(1));
    state.on(SECOND, Input::Interrupt);
    assert_eq!(state.on(SECOND, ended(id(0))), [Command::Close]);
    assert_eq!(state.on(SECOND, Input::Interrupt), [Command::CutClosing]);
}

#[test]
fn the_code_for_the_end_is_cut_off_when_time_is_up_unless_it_was_before() {
    let limit = Bounds {
        time: Some(5 * SECOND),
        ..bounds(1)
    };
    let mut state = full(limit);
    state.on(SECOND, ended(id(0)));
    assert_eq!(state.on(SECOND, Input::Next(None)), [Command::Close]);
    assert_eq!(state.wake(), Some(5 * SECOND));
    assert_eq!(state.on(5 * SECOND, Input::Wake), [Command::CutClosing]);
    assert_eq!(state.wake(), None);
    assert_eq!(state.on(6 * SECOND, Input::Closed), []);
    assert!(state.is_over());
    assert_eq!(state.end(), End::Finished);
    let mut late = full(limit);
    late.on(5 * SECOND, Input::Wake);
    assert_eq!(late.on(6 * SECOND, ended(id(0))), [Command::Close]);
    assert_eq!(late.wake(), None);
    let mut on_time = full(limit);
    let cut = [Command::CutOff(End::TimeLimit), Command::Close];
    assert_eq!(on_time.on(5 * SECOND, ended(id(0))), cut);
    assert_eq!(on_time.wake(), None);
}

#[test]
fn when_its_time_is_up_a_run_is_cut_off_even_while_it_drains() {
    let limit = Bounds {
        time: Some(5 * SECOND),
        ..bounds(1)
    };
    let mut state = full(limit);
    assert_eq!(state.wake(), Some(5 * SECOND));
    let cut = [Command::CutOff(End::TimeLimit)];
    assert_eq!(state.on(5 * SECOND, Input::Wake), cut);
    assert_eq!(state.wake(), None);
    let mut draining = full(limit);
    draining.on(SECOND, Input::Interrupt);
    let cut = [Command::CutOff(End::Interrupted)];
    assert_eq!(draining.on(5 * SECOND, Input::Wake), cut);
    let mut late = full(limit);
    let cut = [Command::CutOff(End::TimeLimit), Command::Close];
    assert_eq!(late.on(6 * SECOND, ended(id(0))), cut, "nothing starts");
    assert!(closes(&mut late));
}

#[test]
fn an_interrupt_that_is_heard_late_does_not_hide_that_time_was_up() {
    let limit = Bounds {
        time: Some(5 * SECOND),
        ..bounds(1)
    };
    let mut state = full(limit);
    let cut = [Command::CutOff(End::TimeLimit)];
    assert_eq!(state.on(6 * SECOND, Input::Interrupt), cut);
    assert_eq!(state.end(), End::TimeLimit);
}

/// What happens, and what is due when: everything that may stop a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Interrupt,
    GraceOver,
    TimeLimit,
    StoreFailed,
    Exhausted,
    Ended,
}

/// The phase after an event, the commands, and what the run is said to have ended by.
type Expected<'a> = (At, &'a dyn Fn(&Commands) -> bool, End);

/// A phase without what goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Running,
    Draining,
    Stopping,
}

fn phase(state: &State) -> At {
    match state.phase {
        Phase::Running => At::Running,
        Phase::Draining { .. } => At::Draining,
        Phase::Stopping { .. } => At::Stopping,
    }
}

/// Every event in every phase, with cases in flight: what it makes of the phase, what it orders,
/// and what the run is said to have ended by.
#[test]
#[expect(clippy::too_many_lines, reason = "most of it is one table")]
fn reasons_to_stop_only_escalate_and_the_first_one_is_reported() {
    use At::{Draining, Running, Stopping};
    use End::{Finished, Interrupted, StoreFailed, TimeLimit};
    let phases: [(At, &[Event]); 3] = [
        (Running, &[]),
        (Draining, &[Event::Interrupt]),
        (Stopping, &[Event::TimeLimit]),
    ];
    let drains = |commands: &Commands| match &commands[..] {
        [Command::Drain { in_flight, grace }] => (in_flight.len(), *grace) == (2, GRACE),
        _ => false,
    };
    let cuts = |end: End| move |commands: &Commands| commands[..] == [Command::CutOff(end)];
    let nothing = |commands: &Commands| commands.is_empty();
    let asks = |commands: &Commands| commands[..] == [Command::Next];
    let table: [(Event, At, Expected<'_>); 18] = [
        (Event::Interrupt, Running, (Draining, &drains, Interrupted)),
        (
            Event::Interrupt,
            Draining,
            (Stopping, &cuts(Interrupted), Interrupted),
        ),
        (Event::Interrupt, Stopping, (Stopping, &nothing, TimeLimit)),
        (Event::GraceOver, Running, (Running, &nothing, Finished)),
        (
            Event::GraceOver,
            Draining,
            (Stopping, &cuts(Interrupted), Interrupted),
        ),
        (Event::GraceOver, Stopping, (Stopping, &nothing, TimeLimit)),
        (
            Event::TimeLimit,
            Running,
            (Stopping, &cuts(TimeLimit), TimeLimit),
        ),
        (
            Event::TimeLimit,
            Draining,
            (Stopping, &cuts(Interrupted), Interrupted),
        ),
        (Event::TimeLimit, Stopping, (Stopping, &nothing, TimeLimit)),
        (
            Event::StoreFailed,
            Running,
            (Stopping, &cuts(StoreFailed), StoreFailed),
        ),
        (
            Event::StoreFailed,
            Draining,
            (Stopping, &cuts(Interrupted), Interrupted),
        ),
        (
            Event::StoreFailed,
            Stopping,
            (Stopping, &nothing, TimeLimit),
        ),
        (Event::Exhausted, Running, (Running, &nothing, Finished)),
        (
            Event::Exhausted,
            Draining,
            (Draining, &nothing, Interrupted),
        ),
        (Event::Exhausted, Stopping, (Stopping, &nothing, TimeLimit)),
        (Event::Ended, Running, (Running, &asks, Finished)),
        (Event::Ended, Draining, (Draining, &nothing, Interrupted)),
        (Event::Ended, Stopping, (Stopping, &nothing, TimeLimit)),
    ];
    // Their own time for each, so that nothing else is due with it.
    let happen = |state: &mut State, event| match event {
        Event::Interrupt => state.on(SECOND, Input::Interrupt),
        Event::GraceOver => state.on(SECOND + GRACE, Input::Wake),
        Event::TimeLimit => state.on(60 * SECOND, Input::Wake),
        Event::StoreFailed => state.on(SECOND, Input::Store(StoreState::Failed)),
        Event::Exhausted => state.on(SECOND, Input::Next(None)),
        Event::Ended => state.on(SECOND, ended(id(0))),
    };
    for (event, from, (to, is_expected, end)) in table {
        let bounds = Bounds {
            shares: 1,
            slots: 2,
            time: Some(60 * SECOND),
            grace: GRACE,
        };
        // The plan can only be found to be at its end by who asked for the next case.
        let mut state = match event {
            Event::Exhausted => awaiting_the_third(bounds),
            _ => full(bounds),
        };
        for before in phases[from as usize].1 {
            happen(&mut state, *before);
        }
        assert_eq!(phase(&state), from);
        let commands = happen(&mut state, event);
        assert!(
            is_expected(&commands),
            "{event:?} while {from:?}: {commands:?}"
        );
        assert_eq!(
            (phase(&state), state.end()),
            (to, end),
            "{event:?} while {from:?}"
        );
    }
}

#[test]
fn nothing_starts_while_the_store_is_behind_and_the_run_is_not_over_before_it_has_caught_up() {
    let mut state = full(bounds(2));
    assert_eq!(state.on(SECOND, Input::Store(StoreState::Behind)), []);
    assert_eq!(state.on(SECOND, ended(id(0))), []);
    assert_eq!(
        state.on(SECOND, Input::Store(StoreState::Ready)),
        [Command::Next]
    );
    state.on(SECOND, Input::Next(None));
    state.on(SECOND, Input::Store(StoreState::Behind));
    state.on(SECOND, ended(id(1)));
    assert!(!state.is_over());
    assert_eq!(state.on(SECOND, Input::Interrupt), [Command::TellClosing]);
    state.on(SECOND, Input::Store(StoreState::Ready));
    assert!(closes(&mut state));
}

#[test]
fn how_the_store_and_the_memory_stand_is_told_once_and_the_store_first() {
    use StoreState::{Behind, Failed, Ready};
    // What the state knows, how it is, and what comes before other inputs.
    let cases = [
        (Ready, Ready, true, None),
        (Ready, Behind, true, Some(Input::Store(Behind))),
        (Ready, Behind, false, Some(Input::Store(Behind))),
        (Ready, Ready, false, Some(Input::RoomToCompare(false))),
        (Behind, Behind, false, Some(Input::RoomToCompare(false))),
        (Behind, Ready, false, Some(Input::Store(Ready))),
        (Behind, Failed, false, Some(Input::Store(Failed))),
        (Failed, Ready, true, None),
        (Failed, Failed, false, Some(Input::RoomToCompare(false))),
    ];
    for (known, store, room, expected) in cases {
        let mut state = full(bounds(1));
        state.on(SECOND, Input::Store(known));
        let news = state.news(store, room);
        assert_eq!(news, expected, "{known:?} {store:?} {room}");
        if let Some(news) = news {
            state.on(SECOND, news.clone());
            assert_ne!(state.news(store, room), Some(news));
        }
    }
}

#[test]
fn a_run_that_only_asks_questions_has_a_shorter_grace() {
    for (asks, seconds) in [([true, true], 2), ([true, false], 10), ([false, false], 10)] {
        assert_eq!(grace(asks.into_iter()), SECOND * seconds, "{asks:?}");
    }
}

#[test]
fn an_interrupt_is_answered_while_the_store_is_behind() {
    let mut state = full(bounds(1));
    state.on(SECOND, Input::Store(StoreState::Behind));
    let commands = state.on(SECOND, Input::Interrupt);
    assert!(matches!(commands[..], [Command::Drain { .. }]));
}

#[test]
fn a_store_that_failed_holds_nothing_up() {
    let mut state = full(bounds(1));
    state.on(SECOND, Input::Store(StoreState::Behind));
    let cut = [Command::CutOff(End::StoreFailed)];
    assert_eq!(state.on(SECOND, Input::Store(StoreState::Failed)), cut);
    state.on(SECOND, Input::Store(StoreState::Behind));
    state.on(SECOND, ended(id(0)));
    assert!(closes(&mut state));
}

#[test]
fn a_case_that_runs_alone_has_all_slots() {
    let mut state = State::new(bounds(4));
    state.on(Duration::ZERO, Input::Wake);
    let needs = Needs {
        alone: true,
        ..Needs::default()
    };
    let alone = QueuedCase {
        needs: Some(Arc::new(needs)),
        ..planned(id(0))
    };
    let commands = state.on(Duration::ZERO, Input::Next(Some(alone)));
    assert!(matches!(
        commands[..],
        [Command::Admit(_), Command::Run { .. }]
    ));
    assert_eq!(state.on(SECOND, ended(id(0))), [Command::Next]);
}

#[test]
fn a_long_conversation_does_not_bring_the_whole_plan_into_memory() {
    let turns = vec![CaseResource::Register("r".into())];
    let turn = Arc::new(Needs {
        alone: false,
        reads: turns.clone(),
        writes: turns,
    });
    let mut state = State::new(bounds(2));
    let mut commands = state.on(Duration::ZERO, Input::Wake);
    let mut came = 0;
    while commands.last() == Some(&Command::Next) && came as usize <= LOOKAHEAD + 1 {
        let next = QueuedCase {
            needs: Some(turn.clone()),
            ..planned(id(came))
        };
        commands = state.on(Duration::ZERO, Input::Next(Some(next)));
        came += 1;
    }
    assert_eq!(came as usize, LOOKAHEAD + 1);
    let commands = state.on(SECOND, ended(id(0)));
    assert_eq!(commands[0], Command::Admit(id(1)));
    assert_eq!(commands.last(), Some(&Command::Next));
}
