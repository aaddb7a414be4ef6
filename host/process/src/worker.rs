//! One program that is kept and asked again and again.
//!
//! Three tasks stand around it: one writes, one reads, one waits for its end. What they know of its
//! calls is in [`Calls`], behind a lock that nobody holds while waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::command::{Program, Supervisor};
use crate::ended::{Fault, fault};
use crate::group::Group;
use crate::line::{self, CodeFailure, DriverMessage, Level, LogLine};
use crate::lines::{Line, Lines};
use crate::printed::printed;

/// Largest line of a driver: an answer as large as one over HTTP may be, with room for its frame.
pub(crate) const MOST_BYTES: usize = 32 << 20;

/// Longest line of a log. Of a longer one only its length is told: a secret across a cut would not
/// be known for one, and only who masks may cut.
const LOG_LINE: usize = 64 << 10;

/// Most that is kept of standard error, for the words of its end.
const STDERR_KEPT: usize = 16 << 10;

/// How long the pipes of a program that has ended may stay open: somebody who left its group may
/// hold them.
const PIPES: Duration = Duration::from_secs(1);

/// Is told what a call prints.
pub type Log = Arc<dyn Fn(LogLine) + Send + Sync>;

/// How a call ended.
pub(crate) enum End {
    /// With an answer, which may be that the code failed.
    Said(Result<Option<Box<RawValue>>, CodeFailure>),
    /// The program ended; `beside`: others were under way as well, so that it may not have been
    /// this one's doing.
    Died { fault: Fault, beside: bool },
}

/// Why a call has passed its limit.
pub(crate) enum TimeoutCause {
    /// It waits for something; the others go on.
    OfItself,
    /// One of them never lets go of the thread; `beside`: nobody can tell which.
    Blocked { beside: bool },
}

struct Call {
    answer: oneshot::Sender<End>,
    log: Log,
    /// How it ended, once its driver has said so.
    end: Option<Result<Option<Box<RawValue>>, CodeFailure>>,
    /// What it wrote past its driver has been read.
    is_quiet: bool,
}

/// What the tasks around a program know.
#[derive(Default)]
struct Calls {
    under_way: HashMap<u64, Call>,
    pings: HashMap<u64, oneshot::Sender<()>>,
    /// The end of what it wrote to standard error.
    stderr: String,
    is_too_large: bool,
    /// Calls that have passed their limit while it may be blocked.
    late: usize,
    /// It was ended for the sake of calls that are not among them any more.
    is_killed: bool,
    /// Why it gives no more answers.
    ended: Option<Fault>,
}

/// A program that is kept. Dropping it ends it with all that it started.
pub(crate) struct Worker {
    shown: String,
    calls: Arc<Mutex<Calls>>,
    input: mpsc::UnboundedSender<String>,
    numbers: AtomicU64,
    state: watch::Receiver<State>,
    group: GroupGuard,
}

/// Ends a group when it is dropped, whoever else knows of it.
struct GroupGuard(Arc<Group>);

impl Drop for GroupGuard {
    fn drop(&mut self) {
        self.0.kill();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    Ended,
}

impl Worker {
    /// Starts one, tells its driver `setup`, and waits until it takes calls.
    pub(crate) async fn start(
        supervisor: &Supervisor,
        program: &Program,
        setup: &str,
    ) -> Result<Self, Fault> {
        let mut child = supervisor.start(program, &[])?;
        let group = Arc::new(Group::of(&child));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("each was asked for as a pipe")
        };
        let calls = Arc::new(Mutex::new(Calls::default()));
        let (input, lines) = mpsc::unbounded_channel();
        let (tell, state) = watch::channel(State::Starting);
        let token = uuid::Uuid::new_v4().simple().to_string();
        let _ = input.send(line::hello(&token, setup));
        tokio::spawn(write(stdin, lines));
        let errors = tokio::spawn(read_stderr(stderr, token.clone(), calls.clone()));
        let reading = tokio::spawn(read(
            stdout,
            token,
            calls.clone(),
            tell.clone(),
            group.clone(),
        ));
        let end = EndOf {
            program: program.clone(),
            calls: calls.clone(),
            group: group.clone(),
            tell,
        };
        tokio::spawn(end.wait(child, [reading, errors]));
        let mut worker = Self {
            shown: program.shown.clone(),
            calls,
            input,
            numbers: AtomicU64::new(1),
            state,
            group: GroupGuard(group),
        };
        worker.ready().await?;
        Ok(worker)
    }

    async fn ready(&mut self) -> Result<(), Fault> {
        let state = self.state.wait_for(|state| *state != State::Starting).await;
        match state.map(|state| *state) {
            Ok(State::Ready) => Ok(()),
            _ => Err(self.ended().unwrap_or_else(|| self.lost())),
        }
    }

    /// Makes one call: `call` is one JSON text. Dropping it tells the driver that nobody waits any more.
    pub(crate) async fn ask(&self, call: &str, log: Log) -> End {
        let id = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        {
            let mut calls = lock(&self.calls);
            if let Some(fault) = calls.ended.clone() {
                // It never had the call.
                return End::Died {
                    fault,
                    beside: true,
                };
            }
            let call = Call {
                answer,
                log,
                end: None,
                is_quiet: false,
            };
            calls.under_way.insert(id, call);
        }
        let _waits = CallGuard { worker: self, id };
        let _ = self.input.send(line::call(id, call));
        answered.await.unwrap_or_else(|_| End::Died {
            fault: self.lost(),
            beside: false,
        })
    }

    /// Finds out what a call learns that has passed its limit: a driver that runs calls side by side
    /// is blocked where one of them never lets go of its thread, and says nothing within `patience`.
    /// Then it is ended, and all who were in it hear that they were beside others.
    pub(crate) async fn passed_limit(&self, patience: Duration) -> TimeoutCause {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (pong, heard) = oneshot::channel();
        {
            let mut calls = lock(&self.calls);
            calls.pings.insert(number, pong);
            calls.late += 1;
        }
        let _ = self.input.send(line::ping(number));
        let heard = tokio::time::timeout(patience, heard).await;
        let mut calls = lock(&self.calls);
        let beside = calls.is_killed || calls.late > 1 || !calls.under_way.is_empty();
        calls.late -= 1;
        if matches!(heard, Ok(Ok(()))) {
            return TimeoutCause::OfItself;
        }
        calls.is_killed = true;
        self.group.0.kill();
        TimeoutCause::Blocked { beside }
    }

    /// Why it gives no more answers, if it doesn't.
    pub(crate) fn ended(&self) -> Option<Fault> {
        lock(&self.calls).ended.clone()
    }

    /// Lets it end by itself, for as long as `patience`: its input is closed.
    pub(crate) async fn close(self, patience: Duration) {
        let Self {
            input,
            mut state,
            group: _ends,
            ..
        } = self;
        drop(input);
        let ended = state.wait_for(|state| *state == State::Ended);
        let _ = tokio::time::timeout(patience, ended).await;
    }

    fn lost(&self) -> Fault {
        fault(&self.shown, 0, None, "")
    }
}

/// Takes a call out of those under way when nobody waits for it any more.
struct CallGuard<'a> {
    worker: &'a Worker,
    id: u64,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if lock(&self.worker.calls)
            .under_way
            .remove(&self.id)
            .is_some()
        {
            let _ = self.worker.input.send(line::cancel(self.id));
        }
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        // Who doesn't read any more has ended, or will at its limit.
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(
    stdout: impl AsyncRead + Unpin,
    token: String,
    calls: Arc<Mutex<Calls>>,
    tell: watch::Sender<State>,
    group: Arc<Group>,
) {
    let mut lines = Lines::new(stdout, MOST_BYTES);
    loop {
        match lines.next().await {
            Line::Whole(line) => match line::read(&line, &token) {
                Some(DriverMessage::Ready) => {
                    tell.send_if_modified(|state| {
                        let is_first = *state == State::Starting;
                        if is_first {
                            *state = State::Ready;
                        }
                        is_first
                    });
                }
                Some(said) => lock(&calls).hear(said),
                None => lock(&calls).stray(Level::Info, &line),
            },
            Line::TooLong => {
                lock(&calls).is_too_large = true;
                return group.kill();
            }
            Line::End => return,
        }
    }
}

/// Reads standard error. Two pipes have no order between them: a driver writes to both when a call
/// has ended, and the call ends when both were read to there. So its last lines are its own.
async fn read_stderr(stderr: impl AsyncRead + Unpin, token: String, calls: Arc<Mutex<Calls>>) {
    let mut lines = Lines::new(stderr, LOG_LINE);
    loop {
        match lines.next().await {
            Line::Whole(line) => {
                let mut calls = lock(&calls);
                if let Some(DriverMessage::Quiet(id)) = line::read(&line, &token) {
                    calls.hear(DriverMessage::Quiet(id));
                    continue;
                }
                calls.stray(Level::Warn, &line);
                calls.stderr.push_str(&printed(&line));
                calls.stderr.push('\n');
                let excess = calls.stderr.len().saturating_sub(STDERR_KEPT);
                let cut = calls.stderr.ceil_char_boundary(excess);
                calls.stderr.drain(..cut);
            }
            Line::TooLong => {}
            Line::End => return,
        }
    }
}

/// What waits for the end of a program.
struct EndOf {
    program: Program,
    calls: Arc<Mutex<Calls>>,
    group: Arc<Group>,
    tell: watch::Sender<State>,
}

impl EndOf {
    async fn wait(self, mut child: Child, pipes: [JoinHandle<()>; 2]) {
        let status = child.wait().await.ok();
        self.group.kill_rest();
        for pipe in pipes {
            let _ = tokio::time::timeout(PIPES, pipe).await;
        }
        let Program { shown, memory, .. } = &self.program;
        let under_way = {
            let mut calls = lock(&self.calls);
            let fault = if calls.is_too_large {
                Fault::TooLarge {
                    program: shown.clone(),
                    limit: MOST_BYTES,
                }
            } else {
                fault(shown, *memory, status, &calls.stderr)
            };
            calls.ended = Some(fault.clone());
            let under_way = std::mem::take(&mut calls.under_way);
            let beside = under_way.len() > 1 || calls.is_killed;
            let end = move |call| (call, fault.clone(), beside);
            under_way.into_values().map(end).collect::<Vec<_>>()
        };
        for (call, fault, beside) in under_way {
            let _ = call.answer.send(End::Died { fault, beside });
        }
        let _ = self.tell.send(State::Ended);
    }
}

impl Calls {
    fn hear(&mut self, said: DriverMessage) {
        match said {
            DriverMessage::Ready => {}
            DriverMessage::Pong(number) => {
                if let Some(heard) = self.pings.remove(&number) {
                    let _ = heard.send(());
                }
            }
            DriverMessage::Log(Some(id), line) => {
                if let Some(call) = self.under_way.get(&id) {
                    (call.log)(line);
                }
            }
            DriverMessage::Log(None, line) => self.tell(line),
            DriverMessage::Quiet(id) => {
                if let Some(call) = self.under_way.get_mut(&id) {
                    call.is_quiet = true;
                }
                self.settle(id);
            }
            DriverMessage::Ended(id, end) => {
                if let Some(call) = self.under_way.get_mut(&id) {
                    call.end = Some(end);
                }
                self.settle(id);
            }
        }
    }

    /// Answers a call of which both pipes have been read to its end.
    fn settle(&mut self, id: u64) {
        let is_whole = |call: &Call| call.is_quiet && call.end.is_some();
        if self.under_way.get(&id).is_some_and(is_whole)
            && let Some(Call {
                answer,
                end: Some(end),
                ..
            }) = self.under_way.remove(&id)
        {
            let _ = answer.send(End::Said(end));
        }
    }

    /// Logs a line that is no message of the driver.
    fn stray(&self, level: Level, line: &[u8]) {
        let text = if line.len() > LOG_LINE {
            format!("(a line of {} bytes)", line.len())
        } else {
            printed(line).trim_end().to_owned()
        };
        if !text.is_empty() {
            self.tell(LogLine { level, text });
        }
    }

    /// Tells a line. One of nobody's is the call's that is under way, if it is the only one. Of another one only its length
    /// is told: it may hold a secret, and nobody masks it here.
    fn tell(&self, line: LogLine) {
        let mut all = self.under_way.values();
        if let (Some(call), None) = (all.next(), all.next()) {
            (call.log)(line);
        } else {
            tracing::debug!(
                bytes = line.text.len(),
                "a program printed beside its calls"
            );
        }
    }
}

fn lock(calls: &Mutex<Calls>) -> MutexGuard<'_, Calls> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}
