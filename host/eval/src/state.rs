//! What a run does next. Pure: no clock, no tasks, no runtime.
//!
//! The loop in [`run`](crate::run) turns everything that happens (a case that ended, a signal, a
//! timer, a store that falls behind) into an [`Input`], hands it to [`RunState::on`] with the
//! time that has passed, and carries out the [`Command`]s that come back. So every decision can
//! be tested without a runtime, and this is the only place where one is made (but for how many
//! signals are one: [`Interrupts`](crate::run::Interrupts) merges those that nobody has heard):
//!
//! - **Which case starts when.** Cases come in the order of a sequential run, a few ahead of
//!   those that start, since some depend on others (`dependencies`). A slot is refilled as soon
//!   as it is free.
//! - **What later cases are given** of what earlier ones answered (`carried`).
//! - **When answers are compared.** Those of a row whose test compares its columns are held until
//!   the last case of the row has ended (`rows`); the comparison runs in that case's slot, so
//!   that it is bounded like everything else and the run is not over before it is.
//! - **When to stop.** Reasons only escalate: running → draining → stopping, and the first one is
//!   what the run is said to have ended by.
//! - **Backpressure.** While the store is behind, or the cases in flight hold all the memory that
//!   a run may take, nothing starts.
//!
//! Each admitted case ends exactly once; an end that was never admitted is a bug and panics.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{CaseId, Needs};

use crate::summary::End;

mod carried;
mod dependencies;
mod rows;

use carried::Carried;
pub use carried::{Given, Left};
use dependencies::Dependencies;
use rows::Rows;

/// Cases that wait for others while further ones come. Enough to find work beside a long
/// conversation, few enough to be nothing in memory (some KB each).
const LOOKAHEAD: usize = 4096;

/// A case of the plan. The state reads what orders it; `case` is the caller's.
#[derive(Debug, Clone)]
pub struct Planned<C> {
    /// Its place in the results.
    pub id: CaseId,
    /// What ties it to other cases.
    pub needs: Option<Arc<Needs>>,
    /// How many cases its row has, where their answers are compared.
    pub compared_among: Option<usize>,
    /// Given back when the case is to be run.
    pub case: C,
}

/// A case of a kept run that is not run again.
#[derive(Debug, Clone)]
pub struct Kept<A> {
    /// Its place in the results.
    pub id: CaseId,
    /// Where its row is compared anew: how many cases that has, and its answer if it gave one.
    pub row: Option<(usize, Option<A>)>,
    /// What it leaves to later cases.
    pub left: Option<Left>,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended<A> {
    /// With an answer that is compared with the others of its row.
    Answered(A),
    /// With its final row: it has no answer to compare.
    Done,
    /// It may still get its answer when the run goes on: it was cut off, or a budget kept it
    /// from running. Its row of the results stays incomplete.
    Open,
}

/// Whether the store takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreState {
    /// It has taken every row so far.
    Ready,
    /// Rows wait for it.
    Behind,
    /// It will take none any more: going on would spend money for nothing.
    Failed,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Input<C, A> {
    /// A case of a kept run stays as it is.
    Kept(Kept<A>),
    /// What [`Command::Next`] asked for; `None`: the plan has no further case.
    Next(Option<Planned<C>>),
    /// The task of a case ended.
    Ended {
        /// Which case.
        id: CaseId,
        /// How.
        how: Ended<A>,
        /// What it leaves to later cases.
        left: Option<Left>,
    },
    /// The comparison in the slot of this case ended, with verdicts or cut off.
    Compared(CaseId),
    /// What [`Command::Abandon`] asked for was done.
    Abandoned,
    /// Ctrl-C, SIGTERM.
    Interrupt,
    /// [`RunState::wake`] has passed.
    Wake,
    /// What the store said of a row, or of the room that it has.
    Store(StoreState),
    /// Whether there is memory for further cases.
    Memory(bool),
}

/// What the loop has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command<C, A> {
    /// Answer with [`Input::Next`], also after other inputs. It comes last, and not again before it
    /// was answered.
    Next,
    /// Say that the case has a slot. [`Command::Run`] or [`Command::Compare`] follows.
    Admit(CaseId),
    /// Run the case; answer with [`Input::Ended`].
    Run {
        /// The case.
        case: C,
        /// What earlier cases left to it, by the name by which it reads them.
        given: Given,
    },
    /// Compare the answers of a row, by column; answer with [`Input::Compared`].
    Compare {
        /// The case in whose slot it is done.
        id: CaseId,
        /// That case.
        case: C,
        /// The answers.
        answers: BTreeMap<u32, A>,
    },
    /// Write down that these answers were not compared; answer with [`Input::Abandoned`].
    Abandon(Vec<A>),
    /// Say that the run drains, and let no request begin.
    Drain {
        /// Cases in flight.
        in_flight: usize,
        /// How long they may go on.
        grace: Duration,
    },
    /// Cut off every case in flight, for this reason.
    Abort(End),
    /// Say that every case has ended, and only the store is waited for.
    TellClosing,
}

/// What bounds a run.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Cases in flight at once (at least 1).
    pub slots: usize,
    /// Time the run may take.
    pub time: Option<Duration>,
    /// How long cases in flight may go on after the first interrupt.
    pub grace: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    Draining,
    Stopping,
}

/// Whether answers that nothing will be compared with any more were handed back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Abandoning {
    NotYet,
    UnderWay,
    Done,
}

/// The state of a run. `C` is a case and `A` an answer that is held; both only pass through.
#[derive(Debug)]
pub struct RunState<C, A> {
    slots: usize,
    /// When the run's time is up, until it was.
    deadline: Option<Duration>,
    grace: Duration,
    /// When the grace of a run that drains is over, until it was.
    grace_over: Option<Duration>,
    phase: Phase,
    end: End,
    store: StoreState,
    /// There is memory for further cases.
    has_memory: bool,
    /// The plan has no further case.
    exhausted: bool,
    /// [`Command::Next`] was not answered yet. Other inputs may come before its answer.
    asked: bool,
    dependencies: Dependencies,
    /// Cases that have come and not started.
    waiting: HashMap<CaseId, Planned<C>>,
    /// Cases that have a slot.
    in_flight: HashMap<CaseId, Planned<C>>,
    /// The case that runs alone, until it ends.
    alone: Option<CaseId>,
    carried: Carried,
    rows: Rows<A>,
    abandoning: Abandoning,
}

impl<C: Clone, A> RunState<C, A> {
    /// A run that has not begun.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            slots: bounds.slots.max(1),
            deadline: bounds.time,
            grace: bounds.grace,
            grace_over: None,
            phase: Phase::Running,
            end: End::Finished,
            store: StoreState::Ready,
            has_memory: true,
            exhausted: false,
            asked: false,
            dependencies: Dependencies::default(),
            waiting: HashMap::new(),
            in_flight: HashMap::new(),
            alone: None,
            carried: Carried::default(),
            rows: Rows::default(),
            abandoning: Abandoning::NotYet,
        }
    }

    /// Takes what happened, `now` after the run's begin; says what to do, in this order. The
    /// first input after those of kept cases is [`Input::Wake`].
    ///
    /// # Panics
    /// If a case ends that is not in flight, or comes when none was asked for.
    pub fn on(&mut self, now: Duration, input: Input<C, A>) -> Vec<Command<C, A>> {
        let mut commands = Vec::new();
        match input {
            Input::Kept(kept) => {
                self.keep(kept);
                return commands; // nothing starts before all of them are there
            }
            Input::Next(case) => self.next(case),
            Input::Ended { id, how, left } => self.ended(id, how, left, &mut commands),
            Input::Compared(id) => self.free(id),
            Input::Abandoned => self.abandoning = Abandoning::Done,
            Input::Interrupt if self.is_quiet() => commands.push(Command::TellClosing),
            Input::Interrupt => {
                let to = match self.phase {
                    Phase::Running => Phase::Draining,
                    Phase::Draining | Phase::Stopping => Phase::Stopping,
                };
                self.escalate(now, to, End::Interrupted, &mut commands);
            }
            Input::Wake => {}
            Input::Store(StoreState::Failed) => {
                self.store = StoreState::Failed;
                self.escalate(now, Phase::Stopping, End::Interrupted, &mut commands);
            }
            // A store that failed stays so, whatever was under way.
            Input::Store(_) if self.store == StoreState::Failed => {}
            Input::Store(state) => self.store = state,
            Input::Memory(has_memory) => self.has_memory = has_memory,
        }
        self.pass(now, &mut commands);
        self.refill(&mut commands);
        self.abandon(&mut commands);
        commands
    }

    /// When [`Input::Wake`] is due, if nothing happens before.
    pub fn wake(&self) -> Option<Duration> {
        self.deadline.into_iter().chain(self.grace_over).min()
    }

    /// Whether everything has ended: nothing is in flight, nothing will start, and the store has
    /// taken every row or will take none.
    pub fn is_over(&self) -> bool {
        self.is_quiet()
            && self.store != StoreState::Behind
            && (self.rows.is_empty() && self.abandoning != Abandoning::UnderWay)
    }

    /// Why the run ended; meaningful once [`Self::is_over`].
    pub fn end(&self) -> End {
        self.end
    }

    /// Cases in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Nothing is in flight and nothing will start.
    fn is_quiet(&self) -> bool {
        let nothing_comes = self.exhausted && !self.dependencies.has_ready();
        self.in_flight.is_empty() && (nothing_comes || self.phase > Phase::Running)
    }

    fn has_slot(&self) -> bool {
        self.phase == Phase::Running
            && self.store == StoreState::Ready
            && self.has_memory
            && self.in_flight.len() < self.slots
    }

    /// Takes the answer to [`Command::Next`].
    fn next(&mut self, case: Option<Planned<C>>) {
        assert!(self.asked, "a case comes when one was asked for");
        self.asked = false;
        match case {
            Some(case) => self.enter(case),
            None => self.exhausted = true,
        }
    }

    /// Takes the next case of the plan. Those that run alone come before the others.
    fn enter(&mut self, case: Planned<C>) {
        let id = case.id;
        if case.needs.as_ref().is_some_and(|needs| needs.alone) {
            assert!(
                self.in_flight.is_empty(),
                "cases that run alone come before the others"
            );
            self.alone = Some(id);
        }
        self.dependencies.enter(id, case.needs.as_deref());
        let before = self.waiting.insert(id, case);
        assert!(before.is_none(), "a case comes once");
    }

    fn keep(&mut self, Kept { id, row, left }: Kept<A>) {
        if let Some(left) = left {
            self.carried.keep(id, left);
        }
        match row {
            Some((of, Some(answer))) => self.rows.hold(id, of, answer),
            Some((of, None)) => self.rows.without(id, of),
            None => {}
        }
    }

    /// Starts cases while there are free slots.
    fn refill(&mut self, commands: &mut Vec<Command<C, A>>) {
        while self.has_slot() {
            let Some(id) = self.dependencies.start() else {
                let may_come = !self.exhausted && !self.asked && self.alone.is_none();
                if may_come && self.dependencies.waiting() < LOOKAHEAD {
                    self.asked = true;
                    commands.push(Command::Next);
                }
                return;
            };
            let case = self.waiting.remove(&id);
            self.start(case.expect("a case waits until it starts"), commands);
        }
    }

    fn start(&mut self, planned: Planned<C>, commands: &mut Vec<Command<C, A>>) {
        let id = planned.id;
        commands.push(Command::Admit(id));
        let before = self.in_flight.insert(id, planned);
        assert!(before.is_none(), "a case starts once");
        // In a run that goes on, everything of its row may be there already.
        if self.compare(id, commands) {
            return;
        }
        let planned = &self.in_flight[&id];
        commands.push(Command::Run {
            case: planned.case.clone(),
            given: self.carried.give(id, planned.needs.as_deref()),
        });
    }

    fn ended(
        &mut self,
        id: CaseId,
        how: Ended<A>,
        left: Option<Left>,
        commands: &mut Vec<Command<C, A>>,
    ) {
        let planned = self.in_flight.get(&id).expect("a case ends once");
        if let Some(left) = left {
            self.carried.keep(id, left);
        }
        if let Some(of) = planned.compared_among {
            match how {
                Ended::Answered(answer) => self.rows.hold(id, of, answer),
                Ended::Done => self.rows.without(id, of),
                Ended::Open => {}
            }
            // The case that completes its row keeps its slot until the row is compared.
            if self.compare(id, commands) {
                return;
            }
        }
        self.free(id);
    }

    /// Compares the row of a case in its slot if it is complete; `false` if it is not, or holds
    /// no answer.
    fn compare(&mut self, id: CaseId, commands: &mut Vec<Command<C, A>>) -> bool {
        let planned = &self.in_flight[&id];
        if planned.compared_among.is_none() {
            return false;
        }
        let row = self.rows.complete(id.test_idx);
        let Some(answers) = row.filter(|answers| !answers.is_empty()) else {
            return false;
        };
        let case = planned.case.clone();
        commands.push(Command::Compare { id, case, answers });
        true
    }

    fn free(&mut self, id: CaseId) {
        let freed = self.in_flight.remove(&id);
        assert!(freed.is_some(), "a case ends once");
        self.dependencies.ended(id);
        self.alone = self.alone.filter(|alone| *alone != id);
    }

    /// What is due by now.
    fn pass(&mut self, now: Duration, commands: &mut Vec<Command<C, A>>) {
        // The run's own limit first: where both have passed, it says why the run ended.
        if self.deadline.take_if(|at| *at <= now).is_some() {
            self.escalate(now, Phase::Stopping, End::TimeLimit, commands);
        }
        if self.grace_over.take_if(|at| *at <= now).is_some() {
            self.escalate(now, Phase::Stopping, End::Interrupted, commands);
        }
    }

    fn escalate(&mut self, now: Duration, to: Phase, end: End, commands: &mut Vec<Command<C, A>>) {
        if to <= self.phase || self.is_quiet() {
            return;
        }
        if self.phase == Phase::Running {
            self.end = end;
        }
        self.phase = to;
        if to == Phase::Draining {
            self.grace_over = Some(now + self.grace);
            commands.push(Command::Drain {
                in_flight: self.in_flight.len(),
                grace: self.grace,
            });
        } else {
            self.grace_over = None;
            commands.push(Command::Abort(self.end));
        }
    }

    /// Hands back what is still held when nothing will be compared with it any more: cases of its
    /// row were cut off, or did not come.
    fn abandon(&mut self, commands: &mut Vec<Command<C, A>>) {
        if self.is_quiet() && self.abandoning == Abandoning::NotYet {
            let answers = self.rows.rest();
            if !answers.is_empty() {
                self.abandoning = Abandoning::UnderWay;
                commands.push(Command::Abandon(answers));
            }
        }
    }
}

#[cfg(test)]
mod tests;
