//! Which case starts when, and what an interrupt does. Pure: no clock, no tasks.
//!
//! The loop in `run` turns every source (a finished case, a signal, a timer) into one
//! [`Signal`], hands it to [`Dispatch::on`] and carries out the [`Order`] that comes back, so
//! that every decision can be tested without a runtime. Reasons to stop are ordered and only
//! escalate: running → draining → stopping. Each admitted case ends exactly once; a finish
//! that was never admitted is a bug and panics.

use std::collections::HashSet;

use runner_config::plan::CaseId;

use crate::summary::End;

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// An admitted case ended, with a row or cut off.
    Ended(CaseId),
    /// The plan has no further case.
    Exhausted,
    /// Ctrl-C, SIGTERM.
    Interrupt,
    /// The time for draining is over.
    GraceOver,
    /// The run's time limit passed.
    TimeLimit,
    /// Results can no longer be stored: going on would spend money for nothing.
    RecorderFailed,
}

/// What the loop has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Say that the run is draining, and send `GraceOver` when the grace has passed.
    Drain,
    /// Drop every case in flight.
    Abort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    Draining,
    Stopping,
}

/// The dispatcher's state.
#[derive(Debug)]
pub struct Dispatch {
    slots: usize,
    in_flight: HashSet<CaseId>,
    exhausted: bool,
    phase: Phase,
    end: End,
}

impl Dispatch {
    /// At most `slots` cases (≥ 1) are in flight at once.
    pub fn new(slots: usize) -> Self {
        Self {
            slots: slots.max(1),
            in_flight: HashSet::new(),
            exhausted: false,
            phase: Phase::Running,
            end: End::Finished,
        }
    }

    /// Whether the next case of the plan may start now.
    pub fn wants_case(&self) -> bool {
        self.phase == Phase::Running && !self.exhausted && self.in_flight.len() < self.slots
    }

    /// Registers a case before it runs.
    ///
    /// # Panics
    /// If no case was wanted, or the case is in flight already.
    pub fn admit(&mut self, id: CaseId) {
        assert!(
            self.wants_case(),
            "a case is admitted only when one is wanted"
        );
        assert!(self.in_flight.insert(id), "a case is admitted once");
    }

    /// Takes a signal; says what to do about it.
    ///
    /// # Panics
    /// If a case ends that is not in flight.
    pub fn on(&mut self, signal: Signal) -> Option<Order> {
        match signal {
            Signal::Ended(id) => {
                assert!(self.in_flight.remove(&id), "a case ends once");
                None
            }
            Signal::Exhausted => {
                self.exhausted = true;
                None
            }
            Signal::Interrupt => match self.phase {
                Phase::Running => self.escalate(Phase::Draining, End::Interrupted),
                Phase::Draining | Phase::Stopping => {
                    self.escalate(Phase::Stopping, End::Interrupted)
                }
            },
            // The grace runs only while draining; a late timer of an ended drain is nothing.
            Signal::GraceOver if self.phase == Phase::Draining => {
                self.escalate(Phase::Stopping, End::Interrupted)
            }
            Signal::GraceOver => None,
            Signal::TimeLimit => self.escalate(Phase::Stopping, End::TimeLimit),
            Signal::RecorderFailed => self.escalate(Phase::Stopping, End::Interrupted),
        }
    }

    fn escalate(&mut self, to: Phase, end: End) -> Option<Order> {
        if to <= self.phase || self.is_over() {
            return None;
        }
        if self.phase == Phase::Running {
            self.end = end;
        }
        self.phase = to;
        Some(if to == Phase::Draining {
            Order::Drain
        } else {
            Order::Abort
        })
    }

    /// Nothing is in flight and nothing will start.
    pub fn is_over(&self) -> bool {
        self.in_flight.is_empty() && (self.exhausted || self.phase > Phase::Running)
    }

    /// Cases in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Why the run ended; meaningful once [`Self::is_over`].
    pub fn end(&self) -> End {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(n: u32) -> CaseId {
        CaseId {
            test_idx: n,
            prompt_idx: 0,
        }
    }

    #[test]
    fn a_slot_is_refilled_as_soon_as_it_is_free() {
        let mut dispatch = Dispatch::new(2);
        dispatch.admit(id(0));
        dispatch.admit(id(1));
        assert!(!dispatch.wants_case());
        dispatch.on(Signal::Ended(id(1)));
        assert!(dispatch.wants_case());
    }

    #[test]
    fn the_first_interrupt_drains_and_the_second_aborts() {
        let mut dispatch = Dispatch::new(2);
        dispatch.admit(id(0));
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
        let mut dispatch = Dispatch::new(1);
        dispatch.admit(id(0));
        dispatch.on(Signal::Exhausted);
        dispatch.on(Signal::Ended(id(0)));
        assert_eq!(dispatch.on(Signal::Interrupt), None);
        assert_eq!(dispatch.end(), End::Finished);
    }

    #[test]
    fn the_first_reason_to_stop_is_the_one_that_is_reported() {
        let mut dispatch = Dispatch::new(1);
        dispatch.admit(id(0));
        dispatch.on(Signal::TimeLimit);
        assert_eq!(dispatch.on(Signal::Interrupt), None);
        dispatch.on(Signal::Ended(id(0)));
        assert_eq!(dispatch.end(), End::TimeLimit);
    }

    proptest! {
        /// Whatever happens in whatever order: never more than the slots in flight, no start
        /// after a reason to stop, and the end comes once everything in flight has ended.
        #[test]
        fn every_admitted_case_ends_once_and_the_run_ends(
            slots in 1usize..5,
            cases in 0u32..12,
            steps in prop::collection::vec(0u8..8, 0..60),
        ) {
            let mut dispatch = Dispatch::new(slots);
            let mut next = 0;
            let mut flying: Vec<CaseId> = Vec::new();
            let mut stopped = false;
            for step in steps {
                while dispatch.wants_case() {
                    prop_assert!(!stopped, "nothing starts after a reason to stop");
                    if next == cases {
                        dispatch.on(Signal::Exhausted);
                    } else {
                        dispatch.admit(id(next));
                        flying.push(id(next));
                        next += 1;
                    }
                }
                prop_assert!(flying.len() <= slots);
                let order = match step {
                    0 => dispatch.on(Signal::Interrupt),
                    1 => dispatch.on(Signal::GraceOver),
                    2 => dispatch.on(Signal::TimeLimit),
                    3 => dispatch.on(Signal::RecorderFailed),
                    _ => match flying.pop() {
                        Some(id) => dispatch.on(Signal::Ended(id)),
                        None => None,
                    },
                };
                stopped |= order.is_some();
                if order == Some(Order::Abort) {
                    for id in flying.drain(..) {
                        dispatch.on(Signal::Ended(id));
                    }
                }
                prop_assert_eq!(dispatch.in_flight(), flying.len());
            }
            for id in flying.drain(..) {
                dispatch.on(Signal::Ended(id));
            }
            while dispatch.wants_case() {
                if next == cases {
                    dispatch.on(Signal::Exhausted);
                } else {
                    dispatch.admit(id(next));
                    dispatch.on(Signal::Ended(id(next)));
                    next += 1;
                }
            }
            prop_assert!(dispatch.is_over());
        }
    }
}
