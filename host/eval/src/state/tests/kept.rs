//! Rows whose answers are compared, and what a run that goes on has of them.

use super::*;

/// A case of a row of three whose answers are compared.
fn member(column: u32) -> QueuedCase<u32> {
    QueuedCase {
        compared_among: Some(3),
        ..planned(at(0, column))
    }
}

fn answered(column: u32) -> Input<u32, u32> {
    Input::Ended {
        id: at(0, column),
        how: EndStatus::Answered(column),
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
    let commands = state.on(SECOND, Input::Compared(at(0, 0)));
    assert_eq!(commands, [Command::Close]);
    assert!(closes(&mut state));
}

#[test]
fn answers_whose_row_stays_incomplete_are_left_once() {
    let mut state = row();
    state.on(SECOND, Input::Interrupt);
    state.on(SECOND, answered(2));
    state.on(SECOND, answered(1));
    let open = Input::Ended {
        id: at(0, 0),
        how: EndStatus::Open,
        left: None,
    };
    assert_eq!(state.on(SECOND, open), [Command::Abandon(vec![1, 2])]);
    assert!(!state.is_over());
    assert_eq!(state.on(SECOND, Input::Abandoned), [Command::Close]);
    assert!(closes(&mut state));
}

#[test]
fn a_row_that_is_complete_already_is_compared_in_the_slot_of_one_of_its_cases() {
    let mut state = State::new(bounds(1));
    for (column, answer) in [(0, Some(0)), (1, None), (2, Some(2))] {
        let kept = KeptCase {
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
    assert_eq!(state.on(SECOND, Input::Read), [Command::Close]);
    assert!(closes(&mut state) && !state.left_rows_out());
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
    assert!(closes(&mut drained));
    let cut = [Command::CutOff(End::Interrupted), Command::Close];
    assert_eq!(state.on(SECOND, Input::Interrupt), cut);
    assert!(closes(&mut state) && state.left_rows_out());
}

/// It has answers with it, perhaps, which are handed back then.
#[test]
fn a_run_is_not_over_before_the_case_that_was_asked_for_has_come() {
    let mut state = State::again(bounds(1));
    assert_eq!(state.on(SECOND, Input::Read), [Command::Next]);
    state.on(SECOND, Input::Interrupt);
    assert_eq!(
        state.on(SECOND, Input::Interrupt),
        [Command::CutOff(End::Interrupted)]
    );
    assert!(!state.is_over());
    let kept = KeptCase {
        id: at(0, 1),
        row: Some((3, Some(1))),
        left: None,
    };
    state.keep(kept);
    let commands = state.on(SECOND, Input::Next(Some(member(0))));
    assert_eq!(commands, [Command::ReadRest, Command::Abandon(vec![1])]);
    state.on(SECOND, Input::Abandoned);
    state.on(SECOND, Input::Read);
    assert!(closes(&mut state));
}

#[test]
fn a_run_whose_rows_cannot_be_read_starts_nothing() {
    let mut state = State::again(bounds(1));
    let cut = [Command::CutOff(End::StoreFailed), Command::Close];
    assert_eq!(state.on(SECOND, Input::Unread), cut);
    assert!(closes(&mut state));
}

#[test]
fn a_run_whose_next_case_cannot_be_read_cuts_off_those_in_flight() {
    let mut state = State::again(bounds(2));
    state.on(SECOND, Input::Read);
    state.on(SECOND, Input::Next(Some(planned(id(0)))));
    let cut = [Command::CutOff(End::StoreFailed)];
    assert_eq!(state.on(SECOND, Input::Unread), cut);
    assert_eq!(state.on(SECOND, ended(id(0))), [Command::Close]);
    assert!(closes(&mut state));
}

#[test]
fn rows_that_cannot_be_read_in_the_end_cost_the_run_nothing() {
    let mut state = State::again(bounds(1));
    state.on(SECOND, Input::Read);
    assert_eq!(state.on(SECOND, Input::Next(None)), [Command::ReadRest]);
    assert_eq!(state.on(SECOND, Input::Unread), [Command::Close]);
    assert!(closes(&mut state));
    assert_eq!(state.end(), End::Finished);
}
