//! Where the cases come from, and what a kept run that goes on has already: rows that stay, and
//! answers that are compared anew.
//!
//! To make the cases of a plan is work: their variables may be templates, or long. Those of a kept run
//! are what its rows in the database leave, and reading them may take long, too, or wait for somebody
//! who has the database locked. So a thread does either and says what it finds, and the loop hears it
//! beside people and clocks.

use std::mem::take;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::vec::IntoIter;

use runner_config::plan::{Case, CaseId, Plan};
use runner_store::StoreError;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::{Loop, LoopInput};
use crate::error::RunError;
use crate::event::Event;
use crate::finish::{Finished, Uncompared};
use crate::memory::{of_fields, of_waiting};
use crate::resume::{KeptRow, Member, Resumed};
use crate::state::{CarriedOutputs, KeptCase, StoreState};

/// Things that were found and not heard yet, at most: enough that neither side waits for each.
const AHEAD: usize = 16;

/// Cases that are made ahead while nobody asks for one, in a batch: so that the two threads don't wake
/// each other for every case.
const BATCH: usize = 16;

/// And what their variables take, in bytes, before a batch is closed.
const BATCH_BYTES: u64 = 1 << 20;

/// A case that was made.
pub(super) struct MadeCase {
    pub(super) case: Case,
    /// What its variables take, weighed on the thread that made it: those of large ones take a while.
    pub(super) bytes: u64,
}

impl MadeCase {
    fn of(case: Case) -> Self {
        let bytes = of_fields(&case.vars);
        Self { case, bytes }
    }
}

/// Where cases come from.
pub(super) enum Source {
    /// The plan.
    Plan(PlanReader),
    /// What a kept run leaves of it.
    Rest(KeptReader),
}

/// The thread that makes the cases of a plan.
pub(super) struct PlanReader {
    found: mpsc::Receiver<Vec<MadeCase>>,
    /// Those of the last batch that nobody has asked for.
    ready: IntoIter<MadeCase>,
    thread: Option<JoinHandle<()>>,
    /// Somebody waits for the next case.
    is_due: bool,
}

/// The thread that reads a kept run.
pub(super) struct KeptReader {
    ask: mpsc::UnboundedSender<ToReader>,
    found: mpsc::Receiver<FromReader>,
    thread: Option<JoinHandle<()>>,
    /// It has something to say yet.
    is_due: bool,
}

/// What the thread is asked.
enum ToReader {
    /// The next case that is run.
    Next,
    /// The rows that nobody asked for; then it ends.
    Rest,
}

/// What it says.
pub(super) enum FromReader {
    /// What a case that is not run leaves to later ones.
    Left(CaseId, CarriedOutputs),
    /// A row that stays; and what its case leaves.
    Kept(Box<KeptRow>, Option<CarriedOutputs>),
    /// There are no more such rows for now.
    Read,
    /// The next case, with the answers that its row has already, if it is compared anew and this
    /// is its first.
    Next(Option<(MadeCase, Vec<Member>)>),
    /// What it reads can't be read.
    Failed(RunError),
}

impl Source {
    /// All of a plan.
    pub(super) fn all(plan: Arc<Plan>) -> Self {
        let (tell, found) = mpsc::channel(1);
        let thread = thread::spawn(move || make(&plan, &tell));
        Self::Plan(PlanReader {
            found,
            ready: Vec::new().into_iter(),
            thread: Some(thread),
            is_due: false,
        })
    }

    /// What a kept run leaves.
    pub(super) fn rest(plan: Arc<Plan>, resumed: Resumed) -> Self {
        let (ask, asked) = mpsc::unbounded_channel();
        let (tell, found) = mpsc::channel(AHEAD);
        let thread = thread::spawn(move || {
            // Once nobody hears it there is nothing left to do.
            let _ = read(&plan, resumed, asked, &tell);
        });
        Self::Rest(KeptReader {
            ask,
            found,
            thread: Some(thread),
            is_due: true,
        })
    }

    /// Asks for the rows that nobody asked for.
    pub(super) fn ask_rest(&mut self) {
        if let Self::Rest(reader) = self {
            reader.ask(ToReader::Rest);
        }
    }

    /// Returns what was found; waits for ever when nothing is due.
    pub(super) async fn found(&mut self) -> FromReader {
        match self {
            Self::Plan(reader) if reader.is_due => reader.found().await,
            Self::Rest(reader) if reader.is_due => reader.found().await,
            Self::Plan(_) | Self::Rest(_) => std::future::pending().await,
        }
    }
}

impl PlanReader {
    /// Returns the next case, if it is there already; `None`: there is no more.
    fn at_hand(&mut self) -> Poll<Option<MadeCase>> {
        if self.ready.len() == 0 {
            match self.found.try_recv() {
                Ok(batch) => self.ready = batch.into_iter(),
                Err(TryRecvError::Empty) => return Poll::Pending,
                Err(TryRecvError::Disconnected) => self.ended(),
            }
        }
        Poll::Ready(self.ready.next())
    }

    async fn found(&mut self) -> FromReader {
        match self.found.recv().await {
            Some(batch) => self.ready = batch.into_iter(),
            None => self.ended(),
        }
        self.is_due = false;
        FromReader::Next(self.ready.next().map(|made| (made, Vec::new())))
    }

    /// The thread has made the last one, unless it panicked.
    fn ended(&mut self) {
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
    }
}

impl KeptReader {
    fn ask(&mut self, what: ToReader) {
        // Whoever is gone has panicked, which is heard of next.
        let _ = self.ask.send(what);
        self.is_due = true;
    }

    async fn found(&mut self) -> FromReader {
        let Some(found) = self.found.recv().await else {
            match self.thread.take().map(JoinHandle::join) {
                Some(Err(panic)) => resume_unwind(panic),
                Some(Ok(())) | None => unreachable!("the reader says that it has come to an end"),
            }
        };
        self.is_due = matches!(found, FromReader::Left(..) | FromReader::Kept(..));
        found
    }
}

/// Makes the cases of a plan, those that run alone first.
fn make(plan: &Plan, tell: &mpsc::Sender<Vec<MadeCase>>) {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for case in plan.cases_alone().chain(plan.cases_beside()) {
        let made = MadeCase::of(case);
        bytes += made.bytes;
        batch.push(made);
        let is_full = batch.len() >= BATCH || bytes >= BATCH_BYTES;
        if is_full || tell.capacity() > 0 {
            bytes = 0;
            if tell.blocking_send(take(&mut batch)).is_err() {
                // Nobody hears any more.
                return;
            }
        }
    }
    if !batch.is_empty() {
        // As above.
        let _ = tell.blocking_send(batch);
    }
}

/// Nobody hears any more.
struct Unheard;

/// Reads a kept run: first all that stays, then each case that is asked for, and in the end the
/// rows that nobody asked for.
fn read(
    plan: &Plan,
    mut resumed: Resumed,
    mut asked: mpsc::UnboundedReceiver<ToReader>,
    tell: &mpsc::Sender<FromReader>,
) -> Result<(), Unheard> {
    let say = |found| tell.blocking_send(found).map_err(|_| Unheard);
    match resumed.compared(plan) {
        Ok(left) => {
            for (id, left) in left {
                say(FromReader::Left(id, left))?;
            }
        }
        Err(error) => return say(FromReader::Failed(error)),
    }
    let say_kept = |row: Result<KeptRow, RunError>, resumed: Option<&Resumed>| match row {
        Ok(row) => {
            let needs = resumed.and_then(|it| it.tied.kept.get(&row.1.case_id()));
            let left = needs.and_then(|needs| CarriedOutputs::of(needs, &row.1));
            say(FromReader::Kept(Box::new(row), left))
        }
        Err(error) => say(FromReader::Failed(error)).and(Err(Unheard)),
    };
    match resumed.kept() {
        Ok(rows) => {
            for row in rows {
                say_kept(row, Some(&resumed))?;
            }
        }
        Err(error) => return say(FromReader::Failed(error)),
    }
    let mut rest = match resumed.rest(plan) {
        Ok(rest) => rest,
        Err(error) => return say(FromReader::Failed(error.into())),
    };
    say(FromReader::Read)?;
    while let ToReader::Next = asked.blocking_recv().ok_or(Unheard)? {
        let next = rest.next().map(|case| {
            let case = case?;
            let members = rest.members(case.id.test_idx)?;
            Ok((MadeCase::of(case), members))
        });
        match next.transpose() {
            Ok(next) => say(FromReader::Next(next))?,
            Err(error) => return say(FromReader::Failed(StoreError::into(error))),
        }
    }
    for row in rest.untouched() {
        say_kept(row, None)?;
    }
    say(FromReader::Read)
}

impl Loop {
    /// Has the next case come, now or when it is found.
    pub(super) fn ask_next(&mut self, source: &mut Source) {
        match source {
            Source::Plan(reader) => match reader.at_hand() {
                Poll::Ready(next) => {
                    let next = self.next(next);
                    self.inputs.push_back(next);
                }
                Poll::Pending => reader.is_due = true,
            },
            Source::Rest(reader) => reader.ask(ToReader::Next),
        }
    }

    /// Returns what the state is told of something that was found; `None` of a row that stays, which moves
    /// nothing.
    pub(super) fn found(&mut self, found: FromReader) -> Option<LoopInput> {
        Some(match found {
            FromReader::Left(id, left) => {
                self.state.keep(leaves(id, Some(left)));
                return None;
            }
            FromReader::Kept(row, left) => {
                let id = row.1.case_id();
                self.keep(*row);
                self.state.keep(leaves(id, left));
                return None;
            }
            FromReader::Read => LoopInput::Read,
            FromReader::Next(Some((made, members))) => {
                self.hold_again(&made.case, members);
                self.next(Some(made))
            }
            FromReader::Next(None) => self.next(None),
            FromReader::Failed(error) => {
                self.unread = Some(RunError::Unread(Box::new(error)));
                LoopInput::Unread
            }
        })
    }

    /// Whether the store can take what is found next.
    pub(super) fn takes_rows(&self) -> bool {
        self.outlets.state() != StoreState::Behind
    }

    /// Sums up and tells of a row that stays.
    fn keep(&mut self, (row, record, moved): KeptRow) {
        let record = Arc::new(record);
        self.totals.add(&record, &row.record_json);
        if moved {
            // A failure is told by the next row, or by the end.
            let finished = Finished {
                record: record.clone(),
                row,
            };
            self.outlets.recorder.record(finished, false, None);
            self.hand_over();
        }
        self.emit(&Event::CaseKept(record));
    }

    /// Holds what the row of this case has already.
    fn hold_again(&mut self, case: &Case, members: Vec<Member>) {
        for member in members {
            let Member {
                id,
                record,
                identity,
                bytes,
            } = member;
            let held = record.map(|record| Uncompared {
                record: Arc::new(record),
                identity,
            });
            if held.is_some() {
                // It fitted when it was answered.
                let bytes = of_waiting(bytes, []);
                self.context.memory.keep_answer(id.test_idx, bytes);
            }
            let kept = KeptCase {
                id,
                row: Some((self.cases_of_row(case), held)),
                left: None,
            };
            self.state.keep(kept);
        }
    }
}

/// What a case that is not run leaves to later ones.
fn leaves(id: CaseId, left: Option<CarriedOutputs>) -> KeptCase<Uncompared> {
    KeptCase {
        id,
        row: None,
        left,
    }
}
