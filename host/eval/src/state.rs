//! What a run does next. Pure: no clock, no tasks, no runtime.
//!
//! The loop in [`run`](crate::run) turns everything that happens (a case that ended, a signal, a
//! timer, a store that falls behind) into an [`Input`], hands it to [`RunState::on`] with the
//! time that has passed, and carries out the [`Command`]s that come back. So what follows can be
//! tested without a runtime. Decided elsewhere: that two signals which come before the run wakes count
//! once ([`Interrupts`](crate::run::Interrupts)), and when a case that has a slot has room to be made
//! (`memory`).
//!
//! - **Which case starts when.** Cases come in the order of a sequential run, a few ahead of
//!   those that start, since some depend on others (`dependencies`), and no provider may take the
//!   slots of others (`ready`). A slot is refilled as soon as it is free.
//! - **What later cases are given** of what earlier ones answered (`carried`).
//! - **When answers are compared.** Those of a row whose test compares its columns are held until
//!   the last case of the row has ended (`rows`); the comparison runs in that case's slot, so
//!   that it is bounded like everything else and the run is not over before it is.
//! - **When to stop.** Reasons only escalate (`stopping`), and the first one is what the run is said
//!   to have ended by.
//! - **When the rows of a kept run are read** that stay as they are. Nothing starts before those
//!   have come that nobody asks for; what nobody asked for after all comes when every case has
//!   ended. Whoever stops the run at once leaves the former out.
//! - **When the config's code for the end of a run** runs, and is cut off (`closing`).
//! - **Backpressure.** While the store or a consumer is behind, nothing starts. While answers that wait to be
//!   compared take too much memory, no such case starts. (What a case takes beside, it waits for itself.)
//!
//! Each admitted case ends exactly once; an end that was never admitted is a bug and panics.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use runner_config::plan::CaseId;

use crate::summary::End;

mod carried;
mod closing;
mod dependencies;
mod messages;
mod ready;
mod rows;
mod stopping;

use carried::CarriedValues;
pub use carried::{CarriedInputs, CarriedOutputs};
use closing::Closing;
use dependencies::Dependencies;
pub use messages::{Bounds, Command, EndStatus, Input, KeptCase, QueuedCase, StoreState};
use ready::Free;
pub use ready::ShareNumber;
use rows::Rows;
use stopping::Phase;
pub(crate) use stopping::grace;

/// Cases that wait while further ones come. Enough to find work beside a long conversation or a
/// slow server, few enough to be little in memory (some KB each).
const LOOKAHEAD: usize = 8192;

/// Whether the plan has further cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coming {
    /// Perhaps; nobody asked.
    Unasked,
    /// [`Command::Next`] was not answered yet. Other inputs may come before its answer.
    Asked,
    /// No.
    Nothing,
}

/// A case that has a slot.
#[derive(Debug)]
struct Flight<C> {
    planned: QueuedCase<C>,
    since: Duration,
}

/// How far the rows of a kept run are that stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Those are read that come before the first case.
    First,
    /// They have come; others may be asked for.
    Between,
    /// Those are read that nobody asked for.
    Rest,
    /// There are none any more, or there were none.
    Done,
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
    /// That the plan may have cases of.
    shares: usize,
    /// When the run's time is up.
    deadline: Option<Duration>,
    grace: Duration,
    phase: Phase,
    reading: Reading,
    store: StoreState,
    /// Whether there is memory for further answers that wait to be compared.
    room_to_compare: bool,
    coming: Coming,
    dependencies: Dependencies,
    /// Cases that have come and not started.
    waiting: HashMap<CaseId, QueuedCase<C>>,
    /// Cases that have a slot.
    in_flight: HashMap<CaseId, Flight<C>>,
    /// The case that runs alone, until it ends.
    alone: Option<CaseId>,
    carried: CarriedValues,
    rows: Rows<A>,
    abandoning: Abandoning,
    closing: Closing,
}

impl<C: Clone, A> RunState<C, A> {
    /// A new run. Its first input is [`Input::Wake`].
    pub fn new(bounds: Bounds) -> Self {
        Self::with(bounds, Reading::Done)
    }

    /// A kept run that goes on: its rows come first.
    pub fn again(bounds: Bounds) -> Self {
        Self::with(bounds, Reading::First)
    }

    fn with(bounds: Bounds, reading: Reading) -> Self {
        Self {
            slots: bounds.slots.max(1),
            shares: bounds.shares,
            deadline: bounds.time,
            grace: bounds.grace,
            phase: Phase::Running,
            reading,
            store: StoreState::Ready,
            room_to_compare: true,
            coming: Coming::Unasked,
            dependencies: Dependencies::default(),
            waiting: HashMap::new(),
            in_flight: HashMap::new(),
            alone: None,
            carried: CarriedValues::default(),
            rows: Rows::default(),
            abandoning: Abandoning::NotYet,
            closing: Closing::NotYet,
        }
    }

    /// Takes a case of a kept run that stays as it is. What comes after it says whether something
    /// starts.
    pub fn keep(&mut self, KeptCase { id, row, left }: KeptCase<A>) {
        if let Some(left) = left {
            self.carried.keep(id, left);
        }
        match row {
            Some((of, Some(answer))) => self.rows.hold(id, of, answer),
            Some((of, None)) => self.rows.without(id, of),
            None => {}
        }
    }

    /// Takes what happened, `now` after the run's begin; says what to do, in this order.
    ///
    /// # Panics
    /// If a case ends or is compared that is not in flight, and where an answer comes that nothing
    /// was asked for: a case, rows of a kept run, answers that were handed back, the end of the code for
    /// the end.
    pub fn on(&mut self, now: Duration, input: Input<C, A>) -> Vec<Command<C, A>> {
        let mut commands = Vec::new();
        match input {
            Input::Read => self.read(),
            Input::Unread => {
                self.reading = Reading::Done;
                self.cut_off(End::StoreFailed, &mut commands);
                self.coming = Coming::Nothing;
            }
            Input::Next(case) => self.next(case),
            Input::Ended { id, how, left } => self.ended(id, how, left, &mut commands),
            Input::Compared(id) => self.free(id),
            Input::Abandoned => {
                assert_eq!(
                    self.abandoning,
                    Abandoning::UnderWay,
                    "they were handed back"
                );
                self.abandoning = Abandoning::Done;
            }
            Input::Closed => {
                let runs = !matches!(self.closing, Closing::NotYet | Closing::Done);
                assert!(runs, "it was started, once");
                self.closing = Closing::Done;
            }
            Input::Interrupt if self.is_quiet() => commands.push(self.closing.interrupt()),
            Input::Interrupt => self.interrupt(now, &mut commands),
            Input::Wake => {}
            Input::Store(StoreState::Failed) => {
                self.store = StoreState::Failed;
                self.cut_off(End::StoreFailed, &mut commands);
            }
            // A store that failed stays so, whatever was under way.
            Input::Store(_) if self.store == StoreState::Failed => {}
            Input::Store(state) => self.store = state,
            Input::RoomToCompare(is_there) => self.room_to_compare = is_there,
        }
        self.pass(now, &mut commands);
        self.refill(now, &mut commands);
        self.close(now, &mut commands);
        commands
    }

    /// What it is to be told before anything else: that the store or the memory does not stand as it knows.
    /// Whatever comes after it could start more.
    pub(crate) fn news(&self, store: StoreState, room_to_compare: bool) -> Option<Input<C, A>> {
        // A store that failed stays so.
        if ![StoreState::Failed, store].contains(&self.store) {
            return Some(Input::Store(store));
        }
        let is_told = room_to_compare == self.room_to_compare;
        (!is_told).then_some(Input::RoomToCompare(room_to_compare))
    }

    /// When [`Input::Wake`] is due, if nothing happens before.
    pub fn wake(&self) -> Option<Duration> {
        if self.is_quiet() {
            return self.closing.due();
        }
        match self.phase {
            Phase::Running => self.deadline,
            Phase::Draining { until, .. } => Some(self.deadline.map_or(until, |at| at.min(until))),
            Phase::Stopping { .. } => None,
        }
    }

    /// Whether everything has ended, the config's code for the end too.
    pub fn is_over(&self) -> bool {
        self.closing == Closing::Done
    }

    /// Nothing is in flight, nothing will start, every row was read, what was held has been handed back,
    /// and the store has taken every row or will take none.
    fn is_settled(&self) -> bool {
        self.is_quiet()
            && self.reading != Reading::Rest
            && self.store != StoreState::Behind
            && self.abandoning != Abandoning::UnderWay
    }

    /// Why the run ended; meaningful once [`Self::is_over`].
    pub fn end(&self) -> End {
        match self.phase {
            Phase::Running => End::Finished,
            Phase::Draining { by, .. } | Phase::Stopping { by } => by,
        }
    }

    /// Cases in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether the rows that come before the first case were not read, because the run was stopped.
    pub(crate) fn left_rows_out(&self) -> bool {
        self.reading == Reading::First && matches!(self.phase, Phase::Stopping { .. })
    }

    /// Each with the time since it started, the oldest first.
    fn flights(&self, now: Duration) -> Vec<(CaseId, Duration)> {
        let flights = self.in_flight.iter();
        let mut flights: Vec<_> = flights
            .map(|(id, it)| (*id, now.saturating_sub(it.since)))
            .collect();
        flights.sort_unstable_by_key(|(id, time)| (Reverse(*time), *id));
        flights
    }

    /// Nothing is in flight, nothing will start, and nothing comes that may have rows with it.
    fn is_quiet(&self) -> bool {
        let nothing_starts = match self.phase {
            Phase::Running => self.coming == Coming::Nothing && !self.dependencies.has_ready(),
            Phase::Draining { .. } | Phase::Stopping { .. } => true,
        };
        let is_read = self.reading != Reading::First || self.left_rows_out();
        // The case that was asked for may bring answers that are held.
        let is_asked_for = self.coming == Coming::Asked;
        self.in_flight.is_empty() && nothing_starts && is_read && !is_asked_for
    }

    fn has_slot(&self) -> bool {
        self.phase == Phase::Running
            && self.reading != Reading::First
            && self.store == StoreState::Ready
            && self.in_flight.len() < self.slots
    }

    /// Takes in that the rows that come before the first case have been read, or those after the last.
    fn read(&mut self) {
        self.reading = match self.reading {
            Reading::First => Reading::Between,
            Reading::Rest => Reading::Done,
            Reading::Between | Reading::Done => unreachable!("rows are read when they are due"),
        };
    }

    /// Takes the answer to [`Command::Next`].
    fn next(&mut self, case: Option<QueuedCase<C>>) {
        assert_eq!(
            self.coming,
            Coming::Asked,
            "a case comes when one was asked for"
        );
        match case {
            Some(case) => {
                self.coming = Coming::Unasked;
                self.enter(case);
            }
            None => self.coming = Coming::Nothing,
        }
    }

    /// Takes the next case of the plan. Those that run alone come before the others.
    fn enter(&mut self, case: QueuedCase<C>) {
        let id = case.id;
        if case.needs.as_ref().is_some_and(|needs| needs.alone) {
            assert!(
                self.in_flight.is_empty(),
                "cases that run alone come before the others"
            );
            self.alone = Some(id);
        }
        self.dependencies
            .enter(id, case.share(), case.needs.as_deref());
        let before = self.waiting.insert(id, case);
        assert!(before.is_none(), "a case comes once");
    }

    /// Starts cases while there are free slots.
    fn refill(&mut self, now: Duration, commands: &mut Vec<Command<C, A>>) {
        while self.has_slot() {
            let may_come = self.coming != Coming::Nothing
                && self.alone.is_none()
                && self.dependencies.ahead() < LOOKAHEAD;
            let free = Free {
                slots: self.slots,
                shares: self.shares,
                // Where none is in flight, nobody would give memory back.
                to_compare: self.room_to_compare || self.in_flight.is_empty(),
                beyond_share: !may_come,
            };
            let Some(id) = self.dependencies.take_next(free) else {
                if may_come && self.coming == Coming::Unasked {
                    self.coming = Coming::Asked;
                    commands.push(Command::Next);
                }
                return;
            };
            let case = self.waiting.remove(&id);
            self.start(now, case.expect("a case waits until it starts"), commands);
        }
    }

    fn start(&mut self, now: Duration, planned: QueuedCase<C>, commands: &mut Vec<Command<C, A>>) {
        let id = planned.id;
        commands.push(Command::Admit(id));
        let flight = Flight {
            planned,
            since: now,
        };
        let before = self.in_flight.insert(id, flight);
        assert!(before.is_none(), "a case starts once");
        // In a run that goes on, everything of its row may be there already.
        if self.compare(id, commands) {
            return;
        }
        let Flight { planned, .. } = &self.in_flight[&id];
        commands.push(Command::Run {
            case: planned.case.clone(),
            given: self.carried.give(id, planned.needs.as_deref()),
        });
    }

    fn ended(
        &mut self,
        id: CaseId,
        how: EndStatus<A>,
        left: Option<CarriedOutputs>,
        commands: &mut Vec<Command<C, A>>,
    ) {
        let flight = self.in_flight.get(&id).expect("a case ends once");
        if let Some(left) = left {
            self.carried.keep(id, left);
        }
        if let Some(of) = flight.planned.compared_among {
            match how {
                EndStatus::Answered(answer) => self.rows.hold(id, of, answer),
                EndStatus::Done => self.rows.without(id, of),
                EndStatus::Open => {}
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
        let Flight { planned, .. } = &self.in_flight[&id];
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
        let freed = self.in_flight.remove(&id).expect("a case ends once");
        self.dependencies.ended(id, freed.planned.share());
        self.alone = self.alone.filter(|alone| *alone != id);
    }

    /// Closes the run when every case has ended: has the rows read that nobody asked for, and hands
    /// back what is still held when nothing will be compared with it any more, since cases of its
    /// row were cut off, or did not come. After that the config's code for the end runs.
    fn close(&mut self, now: Duration, commands: &mut Vec<Command<C, A>>) {
        if !self.is_quiet() {
            return;
        }
        if self.reading == Reading::Between {
            self.reading = Reading::Rest;
            commands.push(Command::ReadRest);
        }
        if self.abandoning == Abandoning::NotYet {
            let answers = self.rows.rest();
            if !answers.is_empty() {
                self.abandoning = Abandoning::UnderWay;
                commands.push(Command::Abandon(answers));
            }
        }
        if self.closing == Closing::NotYet && self.is_settled() {
            self.closing = Closing::Runs {
                asked: self.end() == End::Interrupted,
                until: self.deadline.filter(|at| *at > now),
            };
            commands.push(Command::Close);
        }
    }
}

#[cfg(test)]
mod tests;
