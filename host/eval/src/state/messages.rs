//! What [`RunState`](super::RunState) is told, and what it orders.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{CaseId, Needs};

use super::ready::ShareOf;
use super::{CarriedInputs, CarriedOutputs, ShareNumber};
use crate::summary::End;

/// A case of the plan. The state reads what orders it; `case` is the caller's.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedCase<C> {
    /// Its place in the results.
    pub id: CaseId,
    /// Who answers it.
    pub share: ShareNumber,
    /// What ties it to other cases.
    pub needs: Option<Arc<Needs>>,
    /// How many cases its row has, where their answers are compared.
    pub compared_among: Option<usize>,
    /// Given back when the case is to be run.
    pub case: C,
}

impl<C> QueuedCase<C> {
    /// Whose share of the slots it has.
    pub(super) fn share(&self) -> ShareOf {
        ShareOf {
            number: self.share,
            compared: self.compared_among.is_some(),
        }
    }
}

/// A case of a kept run that is not run again.
#[derive(Debug, Clone)]
pub struct KeptCase<A> {
    /// Its place in the results.
    pub id: CaseId,
    /// Where its row is compared anew: how many cases that has, and its answer if it gave one.
    pub row: Option<(usize, Option<A>)>,
    /// What it leaves to later cases.
    pub left: Option<CarriedOutputs>,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndStatus<A> {
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
#[derive(Debug, Clone, PartialEq)]
pub enum Input<C, A> {
    /// The rows have been read that come before the first case, or what
    /// [`Command::ReadRest`] asked for.
    Read,
    /// The rows of the kept run can't be read, whichever were to be read. The plan has no further case then.
    Unread,
    /// What [`Command::Next`] asked for; `None`: the plan has no further case.
    Next(Option<QueuedCase<C>>),
    /// The task of a case ended.
    Ended {
        /// Which case.
        id: CaseId,
        /// How.
        how: EndStatus<A>,
        /// What it leaves to later cases.
        left: Option<CarriedOutputs>,
    },
    /// The comparison in the slot of this case ended, with verdicts or cut off.
    Compared(CaseId),
    /// What [`Command::Abandon`] asked for was done.
    Abandoned,
    /// The code that [`Command::Close`] started has ended, or was cut off.
    Closed,
    /// Ctrl-C, or another signal that asks to end.
    Interrupt,
    /// Nothing happened but time: [`RunState::wake`](super::RunState::wake) has passed, the run
    /// begins, or the store's room is worth another look.
    Wake,
    /// What the store said of a row, or of the room that it has.
    Store(StoreState),
    /// Whether there is memory for further answers that wait to be compared with others of their row.
    RoomToCompare(bool),
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
        given: CarriedInputs,
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
    /// Read the rows of the kept run that nobody asked for; answer with [`Input::Read`].
    ReadRest,
    /// Say that the run drains. From now on no request begins: a case in flight that wants one is cut off, as
    /// soon as the requests have ended that it has open.
    Drain {
        /// Cases in flight, each with the time since it started, the oldest first.
        in_flight: Vec<(CaseId, Duration)>,
        /// How long they may go on.
        grace: Duration,
    },
    /// Cut off every case and comparison in flight, for this reason.
    CutOff(End),
    /// Run the config's code for the end of a run: every case has ended. Answer with [`Input::Closed`].
    Close,
    /// Cut that code off.
    CutClosing,
    /// Say that every case has ended and that this code runs.
    TellCodeRuns,
    /// Say that every case has ended, and only the store is waited for.
    TellClosing,
}

/// What bounds a run.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Cases in flight at once (at least 1).
    pub slots: usize,
    /// Shares of the slots that the plan may have cases of.
    pub shares: usize,
    /// Time the run may take.
    pub time: Option<Duration>,
    /// How long cases in flight may go on after the first interrupt.
    pub grace: Duration,
}
