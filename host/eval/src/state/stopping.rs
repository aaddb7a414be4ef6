//! How a run is stopped before every case has ended.
//!
//! ```text
//!            interrupt                 interrupt, or the grace is over
//! Running ──────────────▶ Draining ─────────────────────────────────────▶ Stopping
//!    └──────────────────────────────────────────────────────────────────────▲
//!        the time is up, the store failed, rows can't be read
//! ```
//!
//! It never goes back, and the first reason stays what the run ended by.

use std::time::Duration;

use super::{Command, RunState};
use crate::summary::End;

/// How long cases in flight may go on after the first interrupt: long enough for most answers
/// that are already paid for, short enough for a person who waits.
const GRACE: Duration = Duration::from_secs(10);

/// The grace of a run that asks questions and nothing else: as long as the published scheduler of
/// questions takes to shut down. What has not ended then can be asked when the run goes on.
const QUESTIONS_GRACE: Duration = Duration::from_secs(2);

/// The grace of a run, by whether each of its tests asks a question.
pub(crate) fn grace(mut asks: impl Iterator<Item = bool>) -> Duration {
    if asks.all(|asks| asks) {
        QUESTIONS_GRACE
    } else {
        GRACE
    }
}

/// How far a run is toward its end. It never goes back, and `by` stays the first reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// Nothing starts; what is in flight may go on until its grace is over.
    Draining {
        by: End,
        until: Duration,
    },
    /// What is in flight is cut off.
    Stopping {
        by: End,
    },
}

impl<C: Clone, A> RunState<C, A> {
    /// Does what is due by now.
    pub(super) fn pass(&mut self, now: Duration, commands: &mut Vec<Command<C, A>>) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.cut_off(End::TimeLimit, commands);
        }
        if matches!(self.phase, Phase::Draining { until, .. } if until <= now) {
            self.cut_off(End::Interrupted, commands);
        }
        if self.closing.due().is_some_and(|at| at <= now) {
            commands.push(self.closing.cut());
        }
    }

    /// Takes an interrupt: the first lets what is in flight end, the second cuts it off. What was due
    /// before it was heard comes first, since a run ends by its first reason.
    pub(super) fn interrupt(&mut self, now: Duration, commands: &mut Vec<Command<C, A>>) {
        self.pass(now, commands);
        if self.phase != Phase::Running {
            self.cut_off(End::Interrupted, commands);
            return;
        }
        self.phase = Phase::Draining {
            by: End::Interrupted,
            until: now + self.grace,
        };
        commands.push(Command::Drain {
            in_flight: self.flights(now),
            grace: self.grace,
        });
    }

    /// Cuts off what is in flight, unless nothing is or that was done: a run in which every case has ended
    /// is not ended by what comes now. A reason that comes while it drains cuts it off, and the first one stays
    /// what it ended by.
    pub(super) fn cut_off(&mut self, end: End, commands: &mut Vec<Command<C, A>>) {
        let by = match self.phase {
            Phase::Running => end,
            Phase::Draining { by, .. } => by,
            Phase::Stopping { .. } => return,
        };
        if self.is_quiet() {
            return;
        }
        self.phase = Phase::Stopping { by };
        commands.push(Command::CutOff(by));
    }
}
