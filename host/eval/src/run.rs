//! The loop of a run, and its end.
//!
//! One task owns everything that changes: the dispatcher's state, the tasks in flight, the
//! recorder, the consumers and the sums. It waits on every source at once, turns what happened
//! into one [`Signal`], asks [`Dispatch`] what to do and does it. Cases run as tasks of their
//! own and hand back data; a case that panics (a bug of ours) becomes an error row.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::iter::zip;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{Case, CaseId, Hook, Plan};
use runner_store::StoreError;
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::case;
use crate::comparison::Waiting;
use crate::comparison::verdict::Verdict;
use crate::context::RunContext;
use crate::dispatch::{Dispatch, Order, Signal};
use crate::event::{Consumer, Event, LaneMetrics, RunHead, Stage};
use crate::identity::Identities;
use crate::masking::{mask_summary, masked, masked_question, masked_tasks};
use crate::prepare::RunError;
use crate::question::{self, QuestionEnd, Tasks};
use crate::record::CaseRecord;
use crate::recorder::{Recorder, Unsaved};
use crate::repeats::Repeats;
use crate::rescue::rescue;
use crate::resume::{Rest, Resumed, Tied};
use crate::script::hooks::AllRows;
use crate::strands::Strands;
use crate::summary::{End, Summary, Tally};

mod afterwards;
mod comparing;

use comparing::{Held, Row};

/// How long cases in flight may go on after the first interrupt: long enough for most answers
/// that are already paid for, short enough for a person who waits.
pub const DRAIN_GRACE: Duration = Duration::from_secs(10);

/// The same where a run asks questions and nothing else: as long as the published scheduler of
/// questions takes to shut down. What has not ended then can be asked when the run goes on.
pub const QUESTIONS_GRACE: Duration = Duration::from_secs(2);

/// Asks a run to stop; the first time it drains, the second time it stops now. What comes before
/// the run has heard of the last one is the same one: some programs send a signal to their child
/// and at once to its whole group.
#[derive(Debug, Clone)]
pub struct Interrupts(watch::Sender<Asked>);

/// How often a run was asked to stop, and how often it has heard it.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    asked: u32,
    heard: u32,
}

impl Interrupts {
    /// Nothing was asked yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(Asked::default()))
    }

    /// Asks once more.
    pub fn interrupt(&self) {
        self.0.send_if_modified(|it| {
            let is_new = it.asked == it.heard;
            it.asked += u32::from(is_new);
            is_new
        });
    }

    /// Waits until the run is asked once more.
    async fn next(&self) {
        let mut asked = self.0.subscribe();
        // It fails when there is no sender, which is `self`.
        drop(asked.wait_for(|it| it.asked > it.heard).await);
        self.0.send_if_modified(|it| {
            it.heard = it.asked;
            false
        });
    }
}

impl Default for Interrupts {
    fn default() -> Self {
        Self::new()
    }
}

/// What the command hands over to run a plan.
pub(crate) struct Loop {
    pub(crate) context: Arc<RunContext>,
    pub(crate) head: Arc<RunHead>,
    pub(crate) recorder: Recorder,
    pub(crate) identities: Identities,
    /// The kept run that goes on, if it is none of its own.
    pub(crate) resumed: Option<Resumed>,
    /// Where the database is: what it does not take is rescued beside it.
    pub(crate) database: PathBuf,
    pub(crate) consumers: Vec<Box<dyn Consumer>>,
    pub(crate) interrupts: Interrupts,
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
}

/// A case in flight.
struct Running {
    case: Case,
    begun: Instant,
}

/// A run in progress.
struct Progress {
    dispatch: Dispatch,
    /// Cases that have come and not started.
    waiting: HashMap<CaseId, Case>,
    /// What earlier cases left to later ones.
    strands: Strands,
    cases: JoinSet<Done>,
    /// What each task runs, until it ends.
    running: HashMap<Id, Running>,
    /// Answers that are compared with others when their row is complete.
    waiting_rows: Waiting<Held>,
    /// What each task compares, until it ends.
    comparing: HashMap<Id, (Case, Row)>,
    cancel: CancellationToken,
    /// Time the whole run may take.
    run_timeout: Option<Duration>,
    /// How long cases in flight may go on after the first interrupt.
    grace: Duration,
    grace_over: Option<Instant>,
    /// Cases that ask a question and have not read its answer yet.
    asking: HashSet<CaseId>,
    /// When the first request of a question went out.
    sent: HashMap<CaseId, Instant>,
    all: Tally,
    columns: Vec<Tally>,
    repeats: Repeats,
    /// Every row, where an extension wants them.
    rows: Option<AllRows>,
    tasks: Tasks,
}

/// What a task of a run comes to; `None`: it was cut off.
enum Done {
    Case(Option<Box<CaseRecord>>),
    Compared(Option<Vec<Verdict>>),
}

impl Loop {
    /// Runs every case of `plan`; returns when all have ended and everything is stored.
    ///
    /// # Errors
    /// When results could not be stored, or those of before not be read.
    pub(crate) async fn run(mut self, plan: &Plan) -> Result<Arc<Summary>, RunError> {
        let begun = Instant::now();
        let mut deadline = plan.options.run_timeout.map(|limit| begun + limit);
        let mut progress = Progress {
            dispatch: Dispatch::new(plan.options.max_concurrency),
            waiting: HashMap::new(),
            strands: Strands::default(),
            cases: JoinSet::new(),
            running: HashMap::new(),
            waiting_rows: Waiting::default(),
            comparing: HashMap::new(),
            cancel: CancellationToken::new(),
            run_timeout: plan.options.run_timeout,
            grace: grace(plan),
            grace_over: None,
            asking: HashSet::new(),
            sent: HashMap::new(),
            all: Tally::default(),
            columns: self.head.columns.iter().map(|_| Tally::default()).collect(),
            repeats: Repeats::default(),
            rows: self
                .context
                .hooks
                .has(Hook::AfterAll)
                .then(AllRows::default),
            tasks: Tasks::planned(&masked_tasks(plan, &self.context.masker)),
        };
        self.emit(&Event::RunStarted(self.head.clone()));
        if let Some(order) = plan.order.as_ref().filter(|_| self.head.concurrency > 1) {
            let message = order.to_string();
            self.emit(&Event::Ordered { message });
        }
        let interrupts = self.interrupts.clone();
        let mut cases = self.begin(&mut progress, plan)?;
        loop {
            self.refill(&mut progress, &mut cases);
            if progress.dispatch.is_over() {
                break;
            }
            // A person and the clock come before the traffic, however much there is of it.
            let signal = tokio::select! {
                biased;
                () = interrupts.next() => Signal::Interrupt,
                () = at(deadline) => { deadline = None; Signal::TimeLimit }
                () = at(progress.grace_over) => { progress.grace_over = None; Signal::GraceOver }
                Some(event) = self.events.recv() => { self.tell(&mut progress, &event); self.context.heard(&event); continue }
                Some(ended) = progress.cases.join_next_with_id() => match self.ended(&mut progress, ended) {
                    Some(signal) => signal,
                    None => continue,
                },
            };
            self.signal(&mut progress, signal);
        }
        self.leave_waiting(&mut progress);
        self.derive(&mut progress, plan).await;
        self.after_all(&mut progress, plan).await;
        self.finish(progress, begun.elapsed())
    }

    /// Tells of the rows that there are already; gives the cases that are run.
    fn begin<'a>(&mut self, progress: &mut Progress, plan: &'a Plan) -> Result<Rest<'a>, RunError> {
        let Some(mut resumed) = self.resumed.take() else {
            return Ok(Rest::all(plan));
        };
        self.emit(&Event::Resumed(resumed.resumption.clone()));
        for member in resumed.compared(plan)? {
            self.hold_again(progress, member);
        }
        for kept in resumed.kept()? {
            let (row, record, moved) = kept?;
            let record = Arc::new(record);
            progress.add(&record);
            progress.inherit(&resumed.tied, &record);
            if moved {
                // A failure is told by the next row, or by the end.
                self.recorder.push(row, &record);
            }
            self.emit(&Event::CaseKept(record));
        }
        Ok(resumed.rest(plan)?)
    }

    /// Starts cases while there are free slots.
    fn refill(&mut self, progress: &mut Progress, cases: &mut Rest<'_>) {
        loop {
            if let Some(id) = progress.dispatch.start() {
                let case = progress.waiting.remove(&id);
                self.start(
                    progress,
                    case.expect("a case waits from when it comes until it starts"),
                );
            } else if progress.dispatch.wants_case() {
                self.take(progress, cases.next());
            } else {
                return;
            }
        }
    }

    /// Takes what the plan gives next.
    fn take(&mut self, progress: &mut Progress, next: Option<Result<Case, StoreError>>) {
        match next {
            Some(Ok(case)) => {
                progress.dispatch.enter(case.id, case.needs.as_deref());
                progress.waiting.insert(case.id, case);
            }
            None => self.signal(progress, Signal::Exhausted),
            Some(Err(error)) => {
                self.recorder.fail(error);
                self.signal(progress, Signal::RecorderFailed);
            }
        }
    }

    fn start(&mut self, progress: &mut Progress, mut case: Case) {
        self.emit(&Event::CaseStarted { id: case.id });
        // In a run that goes on, everything of its row may be there already.
        if self.compares(progress, &case) {
            return;
        }
        progress.strands.give(&mut case);
        let (context, cancel) = (self.context.clone(), progress.cancel.child_token());
        let task = case.clone();
        let run = async move {
            let record = Box::pin(case::run(&context, &task, &cancel)).await;
            Done::Case(record.map(Box::new))
        };
        let handle = progress.cases.spawn(run);
        if let Some(question) = &case.test.question {
            let question = masked_question(question, &self.context.masker);
            progress.asking.insert(case.id);
            self.stage(case.id, Stage::Queued(question));
        }
        let begun = Instant::now();
        progress
            .running
            .insert(handle.id(), Running { case, begun });
    }

    fn ended(
        &mut self,
        progress: &mut Progress,
        ended: Result<(Id, Done), JoinError>,
    ) -> Option<Signal> {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        if let Some(row) = progress.comparing.remove(&id) {
            return Some(self.compared(progress, row, ended.map(|(_, done)| done)));
        }
        let Running { case, begun } = progress
            .running
            .remove(&id)
            .expect("every task was registered when it was spawned");
        let record = match (ended, progress.dispatch.end()) {
            (Err(error), _) => Some(case::panicked(&case, &error)),
            (Ok((_, Done::Compared(_))), _) => unreachable!("comparisons were looked at first"),
            (Ok((_, Done::Case(record))), End::TimeLimit) => {
                let record = record.map(|record| *record);
                Some(case::out_of_time(record, &case, progress.run_timeout))
            }
            // After an interrupt a case without a row is one that can be run later.
            (Ok((_, Done::Case(record))), _) => record.map(|record| *record),
        };
        let begun = progress.sent.remove(&case.id).unwrap_or(begun);
        match (record, &case.test.question) {
            (Some(mut record), Some(question)) => {
                question::settle(&mut record, question, begun.elapsed());
                self.finished(progress, &case, record);
            }
            (Some(record), None) => self.finished(progress, &case, record),
            // It has no row, so that it is asked when the run goes on; for whoever watches it ends.
            (None, Some(_)) => self.stage(case.id, Stage::Ended(QuestionEnd::RuntimeError)),
            (None, None) => {}
        }
        progress.asking.remove(&case.id);
        // The case that completes its row keeps its slot until the row is compared.
        (!self.compares(progress, &case)).then_some(Signal::Ended(case.id))
    }

    fn finished(&mut self, progress: &mut Progress, case: &Case, mut record: CaseRecord) {
        record.repeat_group = self.identities.group(case);
        if !case.test.comparisons.is_empty() {
            return self.answered(progress, case, record);
        }
        let (record, json) = masked(record, &self.context.masker);
        let record = Arc::new(record);
        progress.add(&record);
        if let Some(needs) = &case.needs {
            progress.strands.keep(case.id, needs, &record);
        }
        if !self
            .recorder
            .record(&record, self.identities.of(case), json)
        {
            self.signal(progress, Signal::RecorderFailed);
        }
        if let Some(question) = &record.question {
            self.stage(case.id, Stage::Ended(question.end()));
        }
        self.emit(&Event::CaseFinished(record));
    }

    fn stage(&mut self, id: CaseId, stage: Stage) {
        self.emit(&Event::Question { id, stage });
    }

    /// Passes an event on. Requests are told of every case, and by graders too; a question's own
    /// are those before its answer is read.
    fn tell(&mut self, progress: &mut Progress, event: &Event) {
        if let Event::Question { id, stage } = event {
            let is_asking = match stage {
                Stage::Parsing => progress.asking.remove(id),
                _ => progress.asking.contains(id),
            };
            if !is_asking {
                return;
            }
            if matches!(stage, Stage::Running { attempt: 1 }) {
                progress.sent.insert(*id, Instant::now());
            }
        }
        self.emit(event);
    }

    fn signal(&mut self, progress: &mut Progress, signal: Signal) {
        match progress.dispatch.on(signal) {
            None => {}
            Some(Order::Drain) => {
                progress.grace_over = Some(Instant::now() + progress.grace);
                // Who waits for a lane or a pause does not need the grace. They go before it is
                // told, so that nothing starts any more when it is.
                self.context.draining.cancel();
                self.context.gateway.drain();
                let in_flight = progress.dispatch.in_flight();
                self.emit(&Event::Draining {
                    in_flight,
                    grace: progress.grace,
                });
            }
            Some(Order::Abort) => {
                progress.grace_over = None;
                progress.cancel.cancel();
            }
        }
    }

    fn finish(
        mut self,
        mut progress: Progress,
        duration: Duration,
    ) -> Result<Arc<Summary>, RunError> {
        // Events that the last cases sent before they ended.
        while let Ok(event) = self.events.try_recv() {
            self.tell(&mut progress, &event);
        }
        let lanes = self.context.gateway.lanes();
        let sum = |count: fn(&LaneMetrics) -> u64| {
            lanes.iter().map(|lane| count(&lane.metrics)).sum::<u64>()
        };
        let mut summary = Summary {
            run_id: self.head.run_id.clone(),
            end: progress.dispatch.end(),
            total: self.head.total,
            duration,
            concurrency: self.head.concurrency,
            all: progress.all,
            columns: zip(self.head.columns.iter().cloned(), progress.columns).collect(),
            repeats: progress.repeats,
            tasks: progress.tasks,
            throttled: sum(|metrics| metrics.rate_limit_hits),
            retries: sum(|metrics| metrics.retried_requests),
            lanes,
            budgets: self.context.till.statements(),
        };
        mask_summary(&mut summary, &self.context.masker);
        let summary = Arc::new(summary);
        if let Err(Unsaved { error, records }) = self.recorder.finish(&summary) {
            let place = rescue(&self.database, &summary.run_id, &records);
            return Err(RunError::Unsaved {
                rows: records.len(),
                place,
                source: error,
            });
        }
        for consumer in &mut self.consumers {
            consumer.on_event(&Event::RunFinished(summary.clone()));
        }
        Ok(summary)
    }

    fn emit(&mut self, event: &Event) {
        for consumer in &mut self.consumers {
            consumer.on_event(event);
        }
    }
}

impl Progress {
    fn add(&mut self, record: &CaseRecord) {
        self.all.add(record);
        if let Some(rows) = &mut self.rows {
            rows.keep(record);
        }
        self.repeats.add(record);
        self.tasks.add(record);
        self.columns[record.prompt_idx as usize].add(record);
    }

    /// Keeps what a row of before left to later cases.
    fn inherit(&mut self, tied: &Tied, record: &CaseRecord) {
        let id = CaseId {
            test_idx: record.test_idx,
            prompt_idx: record.prompt_idx,
        };
        if let Some(needs) = tied.kept.get(&id) {
            self.strands.keep(id, needs, record);
        }
    }
}

/// How long cases in flight may go on after the first interrupt.
fn grace(plan: &Plan) -> Duration {
    let asks = plan.tests.iter().all(|test| test.question.is_some());
    if asks { QUESTIONS_GRACE } else { DRAIN_GRACE }
}

/// Sleeps until `instant`, or for ever.
async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
