//! The loop of a run, and its end.
//!
//! One task waits on every source at once, hands what happened to the [`RunState`] and carries out
//! the commands that come back. Which case starts, and when the run drains or stops, is decided
//! there. The loop neither works nor blocks: cases and comparisons are tasks of their own that hand
//! back rows which are ready for the store, a store that is behind is waited for like everything
//! else, and what a kept run has already is read beside the loop (`source`). A task that panics (a
//! bug of ours) costs its row and no more.

use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::sync::Arc;

use runner_config::plan::{Case, CaseId, Plan};
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::asking;
use crate::call::CallScope;
use crate::case;
use crate::context::RunContext;
use crate::error::RunError;
use crate::event::{Event, RunHead};
use crate::finish::{
    CaseEnd, ComparedRow, Finished, Uncompared, compared, compared_in_vain, conclude, run_case,
    uncompared,
};
use crate::memory::{Account, VariableMemory};
use crate::planned::PlannedCase;
use crate::resume::Resumed;
use crate::state::{self, Bounds, CarriedInputs, EndStatus, QueuedCase, RunState, grace};
use crate::summary::{End, Summary, Tally};

mod afterwards;
mod interrupts;
mod notices;
mod outlets;
mod sampling;
mod source;
mod totals;

pub use interrupts::Interrupts;
pub(crate) use outlets::Outlets;
use sampling::Sampling;
use source::{FromReader, MadeCase, Source};
use totals::Totals;

type LoopInput = state::Input<PlannedCase, Uncompared>;
type LoopCommand = state::Command<PlannedCase, Uncompared>;

/// A run in progress.
pub(crate) struct Loop {
    plan: Arc<Plan>,
    context: Arc<RunContext>,
    head: Arc<RunHead>,
    outlets: Outlets,
    interrupts: Interrupts,
    events: mpsc::UnboundedReceiver<Event>,
    begun: Instant,
    state: RunState<PlannedCase, Uncompared>,
    /// What the state has not been told yet.
    inputs: VecDeque<LoopInput>,
    /// Why the rows of a kept run can't be read.
    unread: Option<RunError>,
    tasks: JoinSet<TaskResult>,
    /// What each task does, until it ends.
    running: HashMap<Id, TaskKind>,
    /// The cases that have come with their variables and not ended.
    made: VariableMemory,
    /// Cuts off every case and comparison.
    cut: CancellationToken,
    /// Cuts off the config's code for the end of the run.
    cut_closing: CancellationToken,
    totals: Totals,
}

/// What the loop waits for.
enum LoopEvent {
    Interrupted,
    /// The time that the state named has come.
    Due,
    /// A case, or the gateway for it, has something to tell.
    Heard(Event),
    /// The store or a consumer has room again.
    Room,
    Ended(Result<(Id, TaskResult), JoinError>),
    Found(FromReader),
}

/// What a task does.
enum TaskKind {
    Case(PlannedCase, Instant),
    /// In the slot of a case.
    Comparison(PlannedCase, ComparedRow),
    /// Writes down that a task panicked, or that answers were not compared.
    Aftermath,
    /// The config's code for the end of the run.
    Closing,
}

/// What a task comes to.
enum TaskResult {
    Case(CaseId, Box<CaseEnd>),
    Compared(CaseId, Vec<Finished>),
    Abandoned(Vec<Finished>),
    Closed(Vec<Tally>),
}

impl Loop {
    /// A run that has not begun; or `goes_on`: one whose session has not.
    pub(crate) fn new(
        plan: Arc<Plan>,
        context: Arc<RunContext>,
        head: Arc<RunHead>,
        outlets: Outlets,
        interrupts: Interrupts,
        events: mpsc::UnboundedReceiver<Event>,
        goes_on: bool,
    ) -> Self {
        let bounds = Bounds {
            slots: plan.options.max_concurrency,
            shares: context.providers.shares(&plan),
            time: plan.options.run_timeout,
            grace: grace(plan.tests.models().map(|test| test.question.is_some())),
        };
        Self {
            totals: Totals::new(&plan, &context, &head),
            plan,
            context,
            head,
            outlets,
            interrupts,
            events,
            begun: Instant::now(),
            state: if goes_on {
                RunState::again(bounds)
            } else {
                RunState::new(bounds)
            },
            inputs: VecDeque::new(),
            unread: None,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            made: VariableMemory::default(),
            cut: CancellationToken::new(),
            cut_closing: CancellationToken::new(),
        }
    }

    /// Runs every case of the plan, or what `resumed` leaves of them; returns when all have ended
    /// and everything is stored.
    ///
    /// # Errors
    /// When results could not be stored, or those of before not be read.
    pub(crate) async fn run(mut self, resumed: Option<Resumed>) -> Result<Arc<Summary>, RunError> {
        let plan = self.plan.clone();
        self.emit(&Event::RunStarted(self.head.clone()));
        let _sampling = Sampling::start(&self.context, self.outlets.recorder.lane_log());
        if let Some(order) = plan.order.as_ref().filter(|_| self.head.concurrency > 1) {
            let message = order.to_string();
            self.emit(&Event::Ordered { message });
        }
        let mut source = match resumed {
            Some(resumed) => {
                self.emit(&Event::Resumed(resumed.resumption.clone()));
                Source::rest(plan.clone(), resumed)
            }
            None => Source::all(plan.clone()),
        };
        self.feed(LoopInput::Wake, &mut source);
        while !self.state.is_over() {
            let wake = self.state.wake().map(|after| self.begun + after);
            // A person and the clock come before the traffic, however much there is of it. Events come before
            // the ends of cases, so that what a case said is told before its end.
            let happened = tokio::select! {
                biased;
                () = self.interrupts.next() => LoopEvent::Interrupted,
                () = at(wake) => LoopEvent::Due,
                Some(event) = self.events.recv() => LoopEvent::Heard(event),
                () = self.outlets.have_room() => LoopEvent::Room,
                Some(ended) = self.tasks.join_next_with_id() => LoopEvent::Ended(ended),
                found = source.found(), if self.takes_rows() => LoopEvent::Found(found),
            };
            self.handle(happened, &mut source);
        }
        self.finish().await
    }

    /// Takes in what happened. Synchronous: nothing here waits.
    fn handle(&mut self, happened: LoopEvent, source: &mut Source) {
        let input = match happened {
            LoopEvent::Interrupted => Some(LoopInput::Interrupt),
            LoopEvent::Due => Some(LoopInput::Wake),
            LoopEvent::Heard(event) => {
                self.hear(&event);
                None
            }
            LoopEvent::Room => {
                self.hand_over();
                Some(LoopInput::Wake)
            }
            LoopEvent::Ended(ended) => {
                // What it sent before may have come since the channel was looked at.
                self.hear_all();
                self.ended(ended)
            }
            LoopEvent::Found(found) => self.found(found),
        };
        if let Some(input) = input {
            self.feed(input, source);
        }
    }

    /// How many cases the row of this one has.
    fn cases_of_row(&self, case: &Case) -> usize {
        let columns = case.test.columns.as_ref();
        columns.map_or(self.head.columns.len(), |own| own.len())
    }

    /// Tells the state what happened, and does what it says.
    fn feed(&mut self, input: LoopInput, source: &mut Source) {
        self.inputs.push_back(input);
        while let Some(input) = self.next_input() {
            for command in self.state.on(self.begun.elapsed(), input) {
                self.carry_out(command, source);
            }
        }
    }

    /// Returns what the state is told next.
    fn next_input(&mut self) -> Option<LoopInput> {
        let room = !self.context.memory.waits_for_rows();
        let news = self.state.news(self.outlets.state(), room);
        news.or_else(|| self.inputs.pop_front())
    }

    fn carry_out(&mut self, command: LoopCommand, source: &mut Source) {
        match command {
            LoopCommand::Next => self.ask_next(source),
            LoopCommand::ReadRest => source.ask_rest(),
            LoopCommand::Admit(id) => self.emit(&Event::CaseStarted { id }),
            LoopCommand::Run { case, given } => self.start(case, given),
            LoopCommand::Compare { id, case, answers } => self.compare(id, case, answers),
            LoopCommand::Abandon(answers) => {
                let context = self.context.clone();
                let abandon = async move { TaskResult::Abandoned(uncompared(&context, answers)) };
                self.spawn(TaskKind::Aftermath, abandon);
            }
            LoopCommand::Drain { in_flight, grace } => {
                // Who waits for a lane or a pause does not need the grace. They go before it is
                // told, so that nothing starts any more when it is.
                self.context.draining.cancel();
                self.context.gateway.drain();
                self.emit(&Event::Draining { in_flight, grace });
            }
            LoopCommand::CutOff(end) => {
                // Only the first reason to stop is ever given.
                self.context.stopped_by.get_or_init(|| end);
                self.cut.cancel();
            }
            LoopCommand::Close => self.close(),
            LoopCommand::CutClosing => self.cut_closing.cancel(),
            LoopCommand::TellCodeRuns => self.emit(&notices::code_runs()),
            LoopCommand::TellClosing => self.emit(&notices::closing()),
        }
    }

    /// Takes the next case; there may be none.
    fn next(&mut self, made: Option<MadeCase>) -> LoopInput {
        LoopInput::Next(made.map(|MadeCase { case, bytes }| {
            let compares = !case.test.comparisons.is_empty();
            QueuedCase {
                id: case.id,
                share: self.context.providers.share(&case),
                needs: case.needs.clone(),
                compared_among: compares.then(|| self.cases_of_row(&case)),
                case: PlannedCase::of(case, bytes, &mut self.made, &self.context),
            }
        }))
    }

    fn start(&mut self, case: PlannedCase, given: CarriedInputs) {
        let (context, cut) = (self.context.clone(), self.cut.child_token());
        let (task, plan) = (case.clone(), self.plan.clone());
        let run = async move {
            let (id, end) = Box::pin(run_case(&context, &plan, task, given, &cut)).await;
            TaskResult::Case(id, Box::new(end))
        };
        self.spawn(TaskKind::Case(case, Instant::now()), run);
    }

    fn compare(&mut self, id: CaseId, case: PlannedCase, row: ComparedRow) {
        let (context, cut) = (self.context.clone(), self.cut.child_token());
        let plan = self.plan.clone();
        let task = TaskKind::Comparison(case.clone(), row.clone());
        let run = async move {
            let case = case.made(&plan);
            TaskResult::Compared(id, compared(&context, &case, row, &cut).await)
        };
        self.spawn(task, run);
    }

    /// Starts the config's code for the end of the run.
    fn close(&mut self) {
        if self.state.left_rows_out() {
            self.emit(&notices::rows_left_out());
        }
        let mut scope = CallScope::of_run(&self.context);
        scope.cut = self.cut_closing.clone();
        let (plan, head) = (self.plan.clone(), self.head.clone());
        let rows = self.totals.rows.take();
        let rows = rows.filter(|_| self.state.end() == End::Finished);
        let columns = (self.totals.columns.clone(), self.totals.all_summed());
        let work = async move {
            TaskResult::Closed(afterwards::work(&scope, &plan, &head, columns, rows).await)
        };
        self.spawn(TaskKind::Closing, work);
    }

    fn spawn(&mut self, task: TaskKind, run: impl Future<Output = TaskResult> + Send + 'static) {
        let handle = self.tasks.spawn(run);
        self.running.insert(handle.id(), task);
    }

    /// Takes in that a task has ended; returns what the state is told.
    fn ended(&mut self, ended: Result<(Id, TaskResult), JoinError>) -> Option<LoopInput> {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let task = self.running.remove(&id);
        match ended {
            Ok((_, TaskResult::Case(id, end))) => Some(self.case_ended(id, *end)),
            Ok((_, TaskResult::Compared(id, rows))) => {
                self.made.ended(id);
                self.finish_compared(rows);
                Some(LoopInput::Compared(id))
            }
            Ok((_, TaskResult::Abandoned(rows))) => {
                self.finish_compared(rows);
                Some(LoopInput::Abandoned)
            }
            Ok((_, TaskResult::Closed(columns))) => {
                self.totals.columns = columns;
                Some(LoopInput::Closed)
            }
            Err(error) => self.panicked(task, error),
        }
    }

    fn case_ended(&mut self, id: CaseId, end: CaseEnd) -> LoopInput {
        self.made.ended(id);
        let (how, left) = (end.how, end.left);
        match (end.finished, &how) {
            // The row of an answer that waits is not told: it is none yet.
            (Some(finished), EndStatus::Answered(_)) => {
                self.outlets.recorder.record(finished, false, end.memory);
                self.hand_over();
            }
            (Some(finished), _) => self.finished(finished, end.memory),
            // It has no row, so that it is asked when the run goes on; for whoever watches it ends.
            (None, _) if end.leaves_question => {
                self.emit(&asking::left_open(id));
            }
            (None, _) => {}
        }
        LoopInput::Ended { id, how, left }
    }

    /// Has the row of a task that panicked written down in its stead, or does without the code for the end;
    /// returns what the state is told at once.
    fn panicked(&mut self, task: Option<TaskKind>, error: JoinError) -> Option<LoopInput> {
        let (context, plan) = (self.context.clone(), self.plan.clone());
        let why = error.to_string();
        match task {
            Some(TaskKind::Case(case, begun)) => self.spawn(TaskKind::Aftermath, async move {
                let case = case.made(&plan);
                let record = case::panicked(&case, &why);
                let end = conclude(&context, &case, Some(record), begun);
                TaskResult::Case(case.id, Box::new(end))
            }),
            Some(TaskKind::Comparison(case, row)) => self.spawn(TaskKind::Aftermath, async move {
                let case = case.made(&plan);
                TaskResult::Compared(case.id, compared_in_vain(&context, &case, row, &why))
            }),
            // Every row is stored by now, and what the code would have done is the only loss.
            Some(TaskKind::Closing) => {
                self.emit(&notices::closing_failed(&why));
                return Some(LoopInput::Closed);
            }
            // Nothing is left to try: the run ends as the bug that it is.
            Some(TaskKind::Aftermath) | None => std::panic::resume_unwind(error.into_panic()),
        }
        None
    }

    /// Finishes rows of answers that wait for no others any more.
    fn finish_compared(&mut self, rows: Vec<Finished>) {
        for row in rows {
            self.context.memory.release_answers(row.record.test_idx);
            self.finished(row, None);
        }
    }

    /// Sums up, stores and tells of a row that is final, as far as this session goes.
    fn finished(&mut self, finished: Finished, memory: Option<Arc<Account>>) {
        self.totals.add(&finished.record, &finished.row.record_json);
        self.outlets.recorder.record(finished, true, memory);
        self.hand_over();
    }

    /// Hands what waits to the store, and tells of each result that it takes.
    fn hand_over(&mut self) {
        while let Some(record) = self.outlets.recorder.hand_over() {
            if let Some(last) = asking::ended(&record) {
                self.emit(&last);
            }
            self.emit(&Event::CaseFinished(record));
        }
    }

    /// Sums up, waits for the store, and tells the end.
    async fn finish(mut self) -> Result<Arc<Summary>, RunError> {
        self.hear_all();
        self.hand_over();
        let Self {
            context,
            head,
            outlets,
            state,
            totals,
            begun,
            interrupts,
            unread,
            ..
        } = self;
        // What a program has left to write, it writes before the run is over.
        context.programs.close().await;
        let summary = Arc::new(totals.summary(&context, &head, state.end(), begun.elapsed()));
        outlets.close(&summary, unread, &interrupts).await?;
        Ok(summary)
    }

    /// Tells of all events that were sent until now.
    fn hear_all(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.hear(&event);
        }
    }

    fn hear(&mut self, event: &Event) {
        self.emit(event);
        self.context.heard(event);
    }

    fn emit(&mut self, event: &Event) {
        self.outlets.emit(event);
    }
}

/// Sleeps until `instant`, or for ever.
async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
