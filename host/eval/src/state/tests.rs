//! Single rules, and the table of inputs × phases.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_config::plan::{Needs, Strand};

use super::*;

mod model;

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
        time: None,
        grace: GRACE,
    }
}

fn planned(id: CaseId) -> Planned<u32> {
    Planned {
        id,
        needs: None,
        compared_among: None,
        case: id.test_idx,
    }
}

fn ended(id: CaseId) -> Input<u32, u32> {
    Input::Ended {
        id,
        how: Ended::Done,
        left: None,
    }
}

/// A run with as many cases in flight as it has slots.
fn full(bounds: Bounds) -> State {
    let mut state = State::new(bounds);
    let mut commands = state.on(Duration::ZERO, Input::Wake);
    let mut next = 0;
    while commands.last() == Some(&Command::Next) {
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
        given: Given::default(),
    };
    assert_eq!(started, [Command::Admit(id(7)), run]);
}

#[test]
fn the_first_interrupt_drains_and_the_second_aborts() {
    let mut state = full(bounds(2));
    let drain = Command::Drain {
        in_flight: vec![(id(0), SECOND), (id(1), SECOND)],
        grace: GRACE,
    };
    assert_eq!(state.on(SECOND, Input::Interrupt), [drain]);
    assert_eq!(state.wake(), Some(SECOND + GRACE));
    assert_eq!(state.on(SECOND, ended(id(0))), [], "nothing starts");
    let abort = [Command::Abort(End::Interrupted)];
    assert_eq!(state.on(SECOND, Input::Interrupt), abort);
    assert!(!state.is_over());
    state.on(SECOND, ended(id(1)));
    assert!(state.is_over());
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
fn an_interrupt_after_the_last_case_is_told_that_only_the_store_is_waited_for() {
    let mut state = full(bounds(1));
    state.on(SECOND, ended(id(0)));
    state.on(SECOND, Input::Next(None));
    assert!(state.is_over());
    assert_eq!(state.on(SECOND, Input::Interrupt), [Command::TellClosing]);
    assert_eq!(state.end(), End::Finished);
}

#[test]
fn when_its_time_is_up_a_run_is_cut_off_even_while_it_drains() {
    let limit = Bounds {
        time: Some(5 * SECOND),
        ..bounds(1)
    };
    let mut state = full(limit);
    assert_eq!(state.wake(), Some(5 * SECOND));
    let cut = [Command::Abort(End::TimeLimit)];
    assert_eq!(state.on(5 * SECOND, Input::Wake), cut);
    assert_eq!(state.wake(), None);
    let mut draining = full(limit);
    draining.on(SECOND, Input::Interrupt);
    let cut = [Command::Abort(End::Interrupted)];
    assert_eq!(draining.on(5 * SECOND, Input::Wake), cut);
    let mut late = full(limit);
    let cut = [Command::Abort(End::TimeLimit)];
    assert_eq!(late.on(6 * SECOND, ended(id(0))), cut, "nothing starts");
    assert!(late.is_over());
}

#[test]
fn an_interrupt_that_is_heard_late_does_not_hide_that_time_was_up() {
    let limit = Bounds {
        time: Some(5 * SECOND),
        ..bounds(1)
    };
    let mut state = full(limit);
    let cut = [Command::Abort(End::TimeLimit)];
    assert_eq!(state.on(6 * SECOND, Input::Interrupt), cut);
    assert_eq!(state.end(), End::TimeLimit);
}

#[test]
fn a_run_whose_rows_cannot_be_read_starts_nothing() {
    let mut state = State::again(bounds(1));
    let cut = [Command::Abort(End::StoreFailed)];
    assert_eq!(state.on(SECOND, Input::Unread), cut);
    assert!(state.is_over());
}

#[test]
fn rows_that_cannot_be_read_in_the_end_cost_the_run_nothing() {
    let mut state = State::again(bounds(1));
    state.on(SECOND, Input::Read);
    assert_eq!(state.on(SECOND, Input::Next(None)), [Command::ReadRest]);
    assert_eq!(state.on(SECOND, Input::Unread), []);
    assert!(state.is_over());
    assert_eq!(state.end(), End::Finished);
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
    let cuts = |end: End| move |commands: &Commands| commands[..] == [Command::Abort(end)];
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
    assert!(state.is_over());
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
    let abort = [Command::Abort(End::StoreFailed)];
    assert_eq!(state.on(SECOND, Input::Store(StoreState::Failed)), abort);
    state.on(SECOND, Input::Store(StoreState::Behind));
    state.on(SECOND, ended(id(0)));
    assert!(state.is_over());
}

#[test]
fn a_case_that_runs_alone_has_all_slots() {
    let mut state = State::new(bounds(4));
    state.on(Duration::ZERO, Input::Wake);
    let needs = Needs {
        alone: true,
        ..Needs::default()
    };
    let alone = Planned {
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
    let turns = vec![Strand::Register("r".into())];
    let turn = Arc::new(Needs {
        alone: false,
        reads: turns.clone(),
        writes: turns,
    });
    let mut state = State::new(bounds(2));
    let mut commands = state.on(Duration::ZERO, Input::Wake);
    let mut came = 0;
    while commands.last() == Some(&Command::Next) {
        let next = Planned {
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

/// A case of a row of three whose answers are compared.
fn member(column: u32) -> Planned<u32> {
    Planned {
        compared_among: Some(3),
        ..planned(at(0, column))
    }
}

fn answered(column: u32) -> Input<u32, u32> {
    Input::Ended {
        id: at(0, column),
        how: Ended::Answered(column),
        left: None,
    }
}

/// A run of one row of three, all of them in flight.
fn row() -> State {
    let mut state = State::new(bounds(3));
    state.on(Duration::ZERO, Input::Wake);
    for column in 0..3 {
        state.on(Duration::ZERO, Input::Next(Some(member(column))));
    }
    state
}

#[test]
fn the_last_case_of_a_row_keeps_its_slot_until_the_row_is_compared() {
    let mut state = row();
    assert_eq!(state.on(SECOND, answered(2)), [Command::Next]);
    state.on(SECOND, Input::Next(None));
    assert_eq!(state.on(SECOND, ended(at(0, 1))), []);
    let compare = Command::Compare {
        id: at(0, 0),
        case: 0,
        answers: BTreeMap::from([(0, 0), (2, 2)]),
    };
    assert_eq!(state.on(SECOND, answered(0)), [compare]);
    assert!(!state.is_over());
    assert_eq!(state.on(SECOND, Input::Compared(at(0, 0))), []);
    assert!(state.is_over());
}

#[test]
fn answers_whose_row_stays_incomplete_are_left_once() {
    let mut state = row();
    state.on(SECOND, Input::Interrupt);
    state.on(SECOND, answered(2));
    state.on(SECOND, answered(1));
    let open = Input::Ended {
        id: at(0, 0),
        how: Ended::Open,
        left: None,
    };
    assert_eq!(state.on(SECOND, open), [Command::Abandon(vec![1, 2])]);
    assert!(!state.is_over());
    assert_eq!(state.on(SECOND, Input::Abandoned), []);
    assert!(state.is_over());
}

#[test]
fn a_row_that_is_complete_already_is_compared_in_the_slot_of_one_of_its_cases() {
    let mut state = State::new(bounds(1));
    for (column, answer) in [(0, Some(0)), (1, None), (2, Some(2))] {
        let kept = Kept {
            id: at(0, column),
            row: Some((3, answer)),
            left: None,
        };
        state.keep(kept);
    }
    assert_eq!(state.on(Duration::ZERO, Input::Wake), [Command::Next]);
    let commands = state.on(Duration::ZERO, Input::Next(Some(member(2))));
    let compare = Command::Compare {
        id: at(0, 2),
        case: 0,
        answers: BTreeMap::from([(0, 0), (2, 2)]),
    };
    assert_eq!(commands, [Command::Admit(at(0, 2)), compare]);
}

#[test]
fn nothing_starts_before_what_a_kept_run_has_was_read_and_the_rest_is_read_in_the_end() {
    let mut state = State::again(bounds(1));
    assert_eq!(state.on(Duration::ZERO, Input::Wake), []);
    assert_eq!(state.on(SECOND, Input::Read), [Command::Next]);
    let commands = state.on(SECOND, Input::Next(Some(planned(id(0)))));
    assert_eq!(commands[0], Command::Admit(id(0)));
    assert_eq!(state.on(SECOND, ended(id(0))), [Command::Next]);
    assert_eq!(state.on(SECOND, Input::Next(None)), [Command::ReadRest]);
    assert!(!state.is_over());
    assert_eq!(state.on(SECOND, Input::Read), []);
    assert!(state.is_over() && !state.left_rows_out());
}

#[test]
fn who_stops_a_run_while_its_rows_are_read_is_heard_and_the_second_time_leaves_them_out() {
    let mut state = State::again(bounds(1));
    let commands = state.on(SECOND, Input::Interrupt);
    let drain = Command::Drain {
        in_flight: Vec::new(),
        grace: GRACE,
    };
    assert_eq!(commands, [drain]);
    assert!(!state.is_over(), "the rows are read to their end");
    let mut drained = State::again(bounds(1));
    drained.on(SECOND, Input::Interrupt);
    assert_eq!(drained.on(SECOND, Input::Read), [Command::ReadRest]);
    drained.on(SECOND, Input::Read);
    assert!(drained.is_over());
    let abort = [Command::Abort(End::Interrupted)];
    assert_eq!(state.on(SECOND, Input::Interrupt), abort);
    assert!(state.is_over() && state.left_rows_out());
}

/// It has answers with it, perhaps, which are handed back then.
#[test]
fn a_run_is_not_over_before_the_case_that_was_asked_for_has_come() {
    let mut state = State::again(bounds(1));
    assert_eq!(state.on(SECOND, Input::Read), [Command::Next]);
    state.on(SECOND, Input::Interrupt);
    assert_eq!(
        state.on(SECOND, Input::Interrupt),
        [Command::Abort(End::Interrupted)]
    );
    assert!(!state.is_over());
    let kept = Kept {
        id: at(0, 1),
        row: Some((3, Some(1))),
        left: None,
    };
    state.keep(kept);
    let commands = state.on(SECOND, Input::Next(Some(member(0))));
    assert_eq!(commands, [Command::ReadRest, Command::Abandon(vec![1])]);
    state.on(SECOND, Input::Abandoned);
    state.on(SECOND, Input::Read);
    assert!(state.is_over());
}
