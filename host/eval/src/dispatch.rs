//! Which case starts when, and what an interrupt does. Pure: no clock, no tasks.
//!
//! Cases come in the order of a sequential run, a few ahead of those that start, since some
//! wait for others (see `order`). The loop in `run` turns every source (a finished case, a signal, a timer) into one
//! [`Signal`], hands it to [`Dispatch::on`] and carries out the [`Order`] that comes back, so
//! that every decision can be tested without a runtime. Reasons to stop are ordered and only
//! escalate: running → draining → stopping. Each admitted case ends exactly once; a finish
//! that was never admitted is a bug and panics.

use std::collections::HashSet;

use runner_config::plan::{CaseId, Needs};

use crate::order::Order as Ties;
use crate::summary::End;

/// Cases that wait for others while further ones come. Enough to find work beside a long
/// conversation, few enough to be nothing in memory (some KB each).
const LOOKAHEAD: usize = 4096;

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
    /// Cases that have come and not started.
    ties: Ties,
    in_flight: HashSet<CaseId>,
    /// The case that runs alone, until it ends.
    alone: Option<CaseId>,
    exhausted: bool,
    phase: Phase,
    end: End,
}

impl Dispatch {
    /// At most `slots` cases (≥ 1) are in flight at once.
    pub fn new(slots: usize) -> Self {
        Self {
            slots: slots.max(1),
            ties: Ties::default(),
            in_flight: HashSet::new(),
            alone: None,
            exhausted: false,
            phase: Phase::Running,
            end: End::Finished,
        }
    }

    /// Whether the next case of the plan should come: a slot is free, and no case that has come
    /// can take it.
    pub fn wants_case(&self) -> bool {
        self.has_slot()
            && !self.exhausted
            && self.alone.is_none()
            && !self.ties.has_ready()
            && self.ties.waiting() < LOOKAHEAD
    }

    fn has_slot(&self) -> bool {
        self.phase == Phase::Running && self.in_flight.len() < self.slots
    }

    /// Takes the next case of the plan. Those that run alone come before the others.
    ///
    /// # Panics
    /// If no case was wanted.
    pub fn enter(&mut self, id: CaseId, needs: Option<&Needs>) {
        assert!(self.wants_case(), "a case comes only when one is wanted");
        if needs.is_some_and(|needs| needs.alone) {
            assert!(
                self.in_flight.is_empty(),
                "cases that run alone come before the others"
            );
            self.alone = Some(id);
        }
        self.ties.enter(id, needs);
    }

    /// The case that starts now; it is in flight from here on.
    ///
    /// # Panics
    /// If it is in flight already.
    pub fn start(&mut self) -> Option<CaseId> {
        let id = if self.has_slot() {
            self.ties.start()?
        } else {
            return None;
        };
        assert!(self.in_flight.insert(id), "a case starts once");
        Some(id)
    }

    /// Takes a signal; says what to do about it.
    ///
    /// # Panics
    /// If a case ends that is not in flight.
    pub fn on(&mut self, signal: Signal) -> Option<Order> {
        match signal {
            Signal::Ended(id) => {
                assert!(self.in_flight.remove(&id), "a case ends once");
                self.ties.ended(id);
                self.alone = self.alone.filter(|alone| *alone != id);
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
        let nothing_comes = self.exhausted && !self.ties.has_ready();
        self.in_flight.is_empty() && (nothing_comes || self.phase > Phase::Running)
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
mod tests;
