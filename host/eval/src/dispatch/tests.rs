//! Single rules, the table of signals, and whole runs against a plain model.

use proptest::prelude::*;
use runner_config::plan::Strand;

use super::*;

fn id(n: u32) -> CaseId {
    CaseId {
        test_idx: n,
        prompt_idx: 0,
    }
}

/// A dispatcher with `cases` in flight, nothing tied.
fn with(slots: usize, cases: u32) -> Dispatch {
    let mut dispatch = Dispatch::new(slots);
    for n in 0..cases {
        dispatch.enter(id(n), None);
        assert_eq!(dispatch.start(), Some(id(n)));
    }
    dispatch
}

#[test]
fn a_slot_is_refilled_as_soon_as_it_is_free() {
    let mut dispatch = with(2, 2);
    assert!(!dispatch.wants_case());
    dispatch.on(Signal::Ended(id(1)));
    assert!(dispatch.wants_case());
}

#[test]
fn the_first_interrupt_drains_and_the_second_aborts() {
    let mut dispatch = with(2, 1);
    assert_eq!(dispatch.on(Signal::Interrupt), Some(Order::Drain));
    assert!(!dispatch.wants_case());
    assert!(!dispatch.is_over());
    assert_eq!(dispatch.on(Signal::Interrupt), Some(Order::Abort));
    dispatch.on(Signal::Ended(id(0)));
    assert!(dispatch.is_over());
    assert_eq!(dispatch.end(), End::Interrupted);
}

#[test]
fn an_interrupt_after_the_last_case_changes_nothing() {
    let mut dispatch = with(1, 1);
    dispatch.on(Signal::Exhausted);
    dispatch.on(Signal::Ended(id(0)));
    assert_eq!(dispatch.on(Signal::Interrupt), None);
    assert_eq!(dispatch.end(), End::Finished);
}

/// Every signal in every phase, with a case in flight: what it makes of the phase, what it
/// orders, and what the run is called in the end.
#[test]
fn reasons_to_stop_only_escalate_and_the_first_one_is_reported() {
    use End::{Finished, Interrupted, TimeLimit};
    use Phase::{Draining, Running, Stopping};
    let phases: [(Phase, &[Signal]); 3] = [
        (Running, &[]),
        (Draining, &[Signal::Interrupt]),
        (Stopping, &[Signal::TimeLimit]),
    ];
    let (drain, abort) = (Some(Order::Drain), Some(Order::Abort));
    let table = [
        (Signal::Interrupt, Running, (Draining, drain, Interrupted)),
        (Signal::Interrupt, Draining, (Stopping, abort, Interrupted)),
        (Signal::Interrupt, Stopping, (Stopping, None, TimeLimit)),
        (Signal::GraceOver, Running, (Running, None, Finished)),
        (Signal::GraceOver, Draining, (Stopping, abort, Interrupted)),
        (Signal::GraceOver, Stopping, (Stopping, None, TimeLimit)),
        (Signal::TimeLimit, Running, (Stopping, abort, TimeLimit)),
        (Signal::TimeLimit, Draining, (Stopping, abort, Interrupted)),
        (Signal::TimeLimit, Stopping, (Stopping, None, TimeLimit)),
        (
            Signal::RecorderFailed,
            Running,
            (Stopping, abort, Interrupted),
        ),
        (
            Signal::RecorderFailed,
            Draining,
            (Stopping, abort, Interrupted),
        ),
        (
            Signal::RecorderFailed,
            Stopping,
            (Stopping, None, TimeLimit),
        ),
        (Signal::Exhausted, Running, (Running, None, Finished)),
        (Signal::Exhausted, Draining, (Draining, None, Interrupted)),
        (Signal::Exhausted, Stopping, (Stopping, None, TimeLimit)),
        (Signal::Ended(id(0)), Running, (Running, None, Finished)),
        (
            Signal::Ended(id(0)),
            Draining,
            (Draining, None, Interrupted),
        ),
        (Signal::Ended(id(0)), Stopping, (Stopping, None, TimeLimit)),
    ];
    for (signal, from, expected) in table {
        let mut dispatch = with(1, 1);
        let (_, before) = phases[from as usize];
        for signal in before {
            dispatch.on(*signal);
        }
        assert_eq!(dispatch.phase, from);
        let order = dispatch.on(signal);
        let got = (dispatch.phase, order, dispatch.end());
        assert_eq!(got, expected, "{signal:?} while {from:?}");
    }
}

#[test]
fn a_case_that_runs_alone_has_all_slots() {
    let mut dispatch = Dispatch::new(4);
    let alone = Needs {
        alone: true,
        ..Needs::default()
    };
    dispatch.enter(id(0), Some(&alone));
    assert_eq!(dispatch.start(), Some(id(0)));
    assert!(!dispatch.wants_case());
    dispatch.on(Signal::Ended(id(0)));
    assert!(dispatch.wants_case());
}

#[test]
fn a_long_conversation_does_not_bring_the_whole_plan_into_memory() {
    let turns = [Strand::Register("r".into())];
    let turn = Needs {
        alone: false,
        reads: turns.to_vec(),
        writes: turns.to_vec(),
    };
    let mut dispatch = Dispatch::new(2);
    let mut came = 0;
    while dispatch.wants_case() {
        dispatch.enter(id(came), Some(&turn));
        dispatch.start();
        came += 1;
    }
    assert_eq!(came as usize, LOOKAHEAD + 1);
    dispatch.on(Signal::Ended(id(0)));
    assert_eq!(dispatch.start(), Some(id(1)));
    assert!(dispatch.wants_case());
}

/// What a case of the model is tied by: strands as small numbers.
#[derive(Debug, Clone)]
struct Ties {
    reads: Vec<u8>,
    writes: Vec<u8>,
}

impl Ties {
    fn needs(&self, alone: bool) -> Needs {
        let strands = |numbers: &[u8]| -> Vec<Strand> {
            let names = numbers.iter().map(|number| number.to_string().into());
            names.map(Strand::Register).collect()
        };
        Needs {
            alone,
            reads: strands(&self.reads),
            writes: strands(&self.writes),
        }
    }
}

fn any_ties() -> impl Strategy<Value = Ties> {
    let strands = || prop::collection::btree_set(0u8..3, 0..3);
    (strands(), strands()).prop_map(|(reads, writes)| Ties {
        reads: reads.into_iter().collect(),
        writes: writes.into_iter().collect(),
    })
}

/// How a case of the model stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Unstarted,
    InFlight,
    Ended,
}

/// A run of the model: every case, and whether a reason to stop has come.
struct Model {
    cases: Vec<(Ties, bool)>,
    stands: Vec<Stands>,
    stopped: bool,
}

impl Model {
    /// The rule, by looking at every earlier case.
    fn may_start(&self, n: usize) -> bool {
        let (ties, alone) = &self.cases[n];
        let in_flight = self.stands.contains(&Stands::InFlight);
        let unfinished = |earlier: usize| self.stands[earlier] != Stands::Ended;
        let holds = |earlier: &usize| {
            let (before, before_alone) = &self.cases[*earlier];
            let writes = &before.writes;
            *before_alone || ties.reads.iter().any(|strand| writes.contains(strand))
        };
        let held = (0..n).filter(holds).any(unfinished);
        let must_wait = held || (*alone && in_flight);
        !(self.stopped || must_wait)
    }

    fn in_flight(&self) -> Vec<usize> {
        let flies = |n: &usize| self.stands[*n] == Stands::InFlight;
        (0..self.cases.len()).filter(flies).collect()
    }

    /// Starts all that can be started; what does so must be allowed.
    fn refill(&mut self, dispatch: &mut Dispatch, came: &mut usize) {
        loop {
            if let Some(id) = dispatch.start() {
                let n = id.test_idx as usize;
                assert_eq!(self.stands[n], Stands::Unstarted, "a case starts once");
                assert!(self.may_start(n), "case {n} starts before what it follows");
                self.stands[n] = Stands::InFlight;
            } else if dispatch.wants_case() {
                if *came == self.cases.len() {
                    dispatch.on(Signal::Exhausted);
                } else {
                    let (ties, alone) = &self.cases[*came];
                    let needs = ties.needs(*alone);
                    dispatch.enter(id(*came as u32), Some(&needs));
                    *came += 1;
                }
            } else {
                return;
            }
        }
    }

    fn end(&mut self, dispatch: &mut Dispatch, n: usize) {
        self.stands[n] = Stands::Ended;
        assert_eq!(dispatch.on(Signal::Ended(id(n as u32))), None);
    }
}

proptest! {
    /// Whatever ties cases together and whatever happens in whatever order: nothing starts too
    /// early or after a reason to stop, never more than the slots are in flight, no slot stays
    /// empty while a case could take it, each case ends at most once, and all end in a run that
    /// nothing stops.
    #[test]
    fn every_case_ends_once_under_any_interleaving(
        slots in 1usize..5,
        alone in 0usize..3,
        ties in prop::collection::vec(any_ties(), 0..14),
        steps in prop::collection::vec((0u8..12, any::<prop::sample::Index>()), 0..80),
    ) {
        let mut dispatch = Dispatch::new(slots);
        let cases: Vec<_> = ties.into_iter().enumerate().map(|(n, ties)| (ties, n < alone)).collect();
        let stands = vec![Stands::Unstarted; cases.len()];
        let mut model = Model { cases, stands, stopped: false };
        let mut came = 0;
        for (step, which) in steps {
            model.refill(&mut dispatch, &mut came);
            let flying = model.in_flight();
            prop_assert!(flying.len() <= slots);
            prop_assert_eq!(dispatch.in_flight(), flying.len());
            let could = (0..model.cases.len())
                .filter(|n| model.stands[*n] == Stands::Unstarted)
                .any(|n| model.may_start(n));
            prop_assert!(flying.len() == slots || !could, "a slot is empty");
            let order = match step {
                0 => dispatch.on(Signal::Interrupt),
                1 => dispatch.on(Signal::GraceOver),
                2 => dispatch.on(Signal::TimeLimit),
                3 => dispatch.on(Signal::RecorderFailed),
                _ if flying.is_empty() => None,
                // Finished, failed, timed out, panicked: all the same here.
                _ => {
                    model.end(&mut dispatch, flying[which.index(flying.len())]);
                    None
                }
            };
            model.stopped |= order.is_some();
            if order == Some(Order::Abort) {
                for n in model.in_flight() {
                    model.end(&mut dispatch, n);
                }
            }
        }
        loop {
            model.refill(&mut dispatch, &mut came);
            match model.in_flight().first() {
                Some(n) => model.end(&mut dispatch, *n),
                None => break,
            }
        }
        prop_assert!(dispatch.is_over());
        if !model.stopped {
            prop_assert!(model.stands.iter().all(|stands| *stands == Stands::Ended));
        }
    }
}
