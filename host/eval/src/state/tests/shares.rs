//! Who gets the slots.

use super::*;

#[test]
fn a_provider_whose_cases_never_end_leaves_the_others_their_places() {
    const ROWS: u32 = 1000;
    // In the order of the plan: of each row the case that hangs, then the one that is answered.
    let cases = (0..ROWS).flat_map(|row| {
        [0, 1].map(|provider| QueuedCase {
            share: provider,
            ..planned(at(row, provider))
        })
    });
    let (mut cases, mut answered, mut hanging) = (cases, Vec::new(), Vec::new());
    let mut state = State::new(bounds(6));
    let mut commands = state.on(Duration::ZERO, Input::Wake);
    let mut in_flight = std::collections::VecDeque::new();
    loop {
        for command in &commands {
            match command {
                Command::Admit(id) if id.prompt_idx == 0 => hanging.push(*id),
                Command::Admit(id) => in_flight.push_back(*id),
                _ => {}
            }
        }
        commands = if commands.last() == Some(&Command::Next) {
            state.on(Duration::ZERO, Input::Next(cases.next()))
        } else if let Some(id) = in_flight.pop_front() {
            answered.push(id);
            state.on(Duration::ZERO, ended(id))
        } else {
            break;
        };
    }
    let all: Vec<CaseId> = (0..ROWS).map(|row| at(row, 1)).collect();
    assert_eq!(answered, all, "in order");
    let first: Vec<CaseId> = (0..6).map(|row| at(row, 0)).collect();
    assert_eq!(hanging, first, "all places, once nobody else wants one");
}

/// Its share is known before its first case comes: the plan names it.
#[test]
fn a_provider_whose_cases_come_last_finds_its_places() {
    const ROWS: u32 = 100;
    let cases = [0, 1].into_iter().flat_map(|provider| {
        (0..ROWS).map(move |row| QueuedCase {
            share: provider,
            ..planned(at(row, provider))
        })
    });
    let (mut cases, mut answered) = (cases, 0);
    let mut state = State::new(Bounds {
        shares: 2,
        ..bounds(6)
    });
    let mut commands = state.on(Duration::ZERO, Input::Wake);
    let mut in_flight = std::collections::VecDeque::new();
    loop {
        in_flight.extend(commands.iter().filter_map(|command| match command {
            Command::Admit(id) if id.prompt_idx == 1 => Some(*id),
            _ => None,
        }));
        commands = if commands.last() == Some(&Command::Next) {
            state.on(Duration::ZERO, Input::Next(cases.next()))
        } else if let Some(id) = in_flight.pop_front() {
            answered += 1;
            state.on(Duration::ZERO, ended(id))
        } else {
            break;
        };
    }
    assert_eq!(answered, ROWS);
}

#[test]
fn a_provider_that_has_no_case_for_a_moment_keeps_its_share() {
    for compared in [None, Some(1)] {
        let case = |row, provider| QueuedCase {
            share: provider,
            compared_among: compared.filter(|_| provider == 1),
            ..planned(at(row, provider))
        };
        let mut state = State::new(bounds(4));
        state.on(Duration::ZERO, Input::Wake);
        for (row, provider) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            state.on(Duration::ZERO, Input::Next(Some(case(row, provider))));
        }
        for row in [0, 1] {
            state.on(SECOND, ended(at(row, 1)));
        }
        let commands = state.on(SECOND, Input::Next(Some(case(2, 0))));
        assert_eq!(commands, [Command::Next], "the other's next may follow");
    }
}

/// A run into which a case of each of these providers has come, none of which has ended.
fn came(slots: usize, providers: &[ShareNumber]) -> State {
    let mut state = State::new(bounds(slots));
    state.on(Duration::ZERO, Input::Wake);
    for (row, provider) in (0..).zip(providers) {
        let case = QueuedCase {
            share: *provider,
            ..planned(id(row))
        };
        let commands = state.on(Duration::ZERO, Input::Next(Some(case)));
        assert_eq!(commands.last(), Some(&Command::Next));
    }
    state
}

#[test]
fn who_has_less_than_its_share_goes_first_when_no_further_case_comes_too() {
    let mut state = came(6, &[0, 1, 2, 0, 1, 0, 0, 1, 1]);
    let commands = state.on(SECOND, Input::Next(None));
    assert_eq!(commands[0], Command::Admit(id(5)), "nobody else wants it");
    state.on(SECOND, Input::Store(StoreState::Behind));
    state.on(SECOND, ended(id(0)));
    state.on(SECOND, ended(id(1)));
    let commands = state.on(SECOND, Input::Store(StoreState::Ready));
    let admitted = commands.iter().filter_map(|command| match command {
        Command::Admit(id) => Some(*id),
        _ => None,
    });
    assert_eq!(admitted.collect::<Vec<_>>(), [id(7), id(6)]);
}

#[test]
fn a_run_whose_last_cases_wait_for_the_store_can_be_stopped() {
    let mut state = came(4, &[0, 1, 0, 0]);
    state.on(SECOND, Input::Store(StoreState::Behind));
    assert_eq!(state.on(SECOND, Input::Next(None)), []);
    for row in 0..3 {
        assert_eq!(state.on(SECOND, ended(id(row))), []);
    }
    let commands = state.on(SECOND, Input::Interrupt);
    assert!(matches!(commands[..], [Command::Drain { .. }]));
    assert_eq!(state.end(), End::Interrupted);
}

#[test]
fn a_provider_whose_compared_cases_have_ended_has_all_places_for_the_others() {
    let mut state = State::new(bounds(4));
    state.on(Duration::ZERO, Input::Wake);
    let first = QueuedCase {
        compared_among: Some(1),
        ..planned(id(0))
    };
    state.on(Duration::ZERO, Input::Next(Some(first)));
    state.on(Duration::ZERO, ended(id(0)));
    for row in 1..5 {
        let commands = state.on(SECOND, Input::Next(Some(planned(id(row)))));
        assert_eq!(commands[0], Command::Admit(id(row)));
    }
}

#[test]
fn a_provider_that_is_alone_has_all_places_at_once() {
    let mut state = full(bounds(6));
    assert_eq!(state.in_flight(), 6);
    assert_eq!(
        state.on(SECOND, ended(id(3))),
        [Command::Next],
        "nothing came ahead"
    );
}

#[test]
fn answers_that_wait_to_be_compared_hold_up_only_cases_of_their_kind() {
    // The first four are compared; the first of them never ends.
    let cases = (0..8).map(|row| QueuedCase {
        compared_among: (row < 4).then_some(2),
        ..planned(id(row))
    });
    let (mut cases, mut started) = (cases, Vec::new());
    let mut state = State::new(bounds(2));
    state.on(Duration::ZERO, Input::Wake);
    state.on(Duration::ZERO, Input::Next(cases.next()));
    let mut commands = state.on(Duration::ZERO, Input::RoomToCompare(false));
    // It was asked for before.
    commands.push(Command::Next);
    loop {
        let admitted = commands.iter().find_map(|command| match command {
            Command::Admit(id) => Some(*id),
            _ => None,
        });
        started.extend(admitted);
        commands = if commands.last() == Some(&Command::Next) {
            state.on(SECOND, Input::Next(cases.next()))
        } else if let Some(id) = admitted {
            state.on(SECOND, ended(id))
        } else {
            break;
        };
    }
    assert_eq!(started, [4, 5, 6, 7].map(id));
    let commands = state.on(SECOND, Input::RoomToCompare(true));
    assert_eq!(commands[0], Command::Admit(id(1)));
}
