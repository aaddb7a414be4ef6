//! Calls of programs on the person's machine: code of the config outside the sandbox, and providers
//! that are commands.

use std::sync::{Arc, Mutex, PoisonError};

use runner_config::plan::{CaseId, CodeFiles, Engine};
use runner_gateway::{
    CallBodies, ExchangeCode, ExchangeScope, ProcessCall, Reply, Reservation, Scheduling,
};
use runner_process::{CodeFailure, Level, Log, LogLine as PrintedLine};
use runner_sandbox::abi::{Argument, FailureKind, Program, ScriptFailure};
use runner_sandbox::limits::{MAX_LOG_BYTES, MAX_LOG_LINE_BYTES, MAX_LOG_LINES};
use serde::Deserialize;
use serde_json::Value;

use super::guest_host::tag;
use super::words::exchange_error;
use super::{CallScope, Counts};
use crate::context::RunContext;
use crate::event::{Event, LogLine};
use crate::failure::CallFailure;
use crate::programs::Callee;
use crate::script::outside::{call, command_call, failure};
use crate::script::{CodeResult, Outside, fault};

/// One call of a program.
pub(super) struct ProgramCall<'a> {
    pub(super) callee: &'a Callee,
    /// What it shares its places with, where that is not the program's own.
    pub(super) scheduling: Option<&'a Arc<Scheduling>>,
    pub(super) files: Option<&'a CodeFiles>,
    /// A JSON object.
    pub(super) call: String,
    pub(super) reservation: Option<Arc<Reservation>>,
}

/// What a program replies.
#[derive(Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    error: Option<CodeFailure>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl CallScope {
    /// Runs code of the config outside the sandbox.
    pub(super) async fn run_outside(
        &self,
        outside: &Outside,
        program: &Program,
        arguments: &[Argument],
    ) -> Result<CodeResult, CallFailure> {
        let files = outside.files.as_deref();
        let none = serde_json::Map::new();
        let callee = self.context.programs.callee(&outside.process, files, &none);
        let is_command = matches!(outside.process.engine, Engine::Command { .. });
        let ask = ProgramCall {
            callee: &callee,
            scheduling: None,
            files,
            call: if is_command {
                command_call(arguments.iter().map(|it| &*it.value_json))
            } else {
                call(program, arguments, None)
            },
            reservation: None,
        };
        let given = self.ask_program(ask, &Counts::default()).await?;
        Ok(given.map(|value| match value {
            // What it printed.
            Some(mut printed) if is_command => printed.get_mut("output").map(Value::take),
            value => value,
        }))
    }

    /// Makes one call of a program, through the gateway.
    pub(super) async fn ask_program(
        &self,
        ask: ProgramCall<'_>,
        counts: &Counts,
    ) -> Result<CodeResult, CallFailure> {
        let Callee {
            peer,
            scheduling,
            timeout,
            cache,
            folder,
            executable,
            digest,
            surroundings,
            ..
        } = ask.callee;
        let log = CallLog::new(self, peer.name());
        let process_call = ProcessCall {
            peer: peer.clone(),
            digest: ask
                .files
                .map_or(digest.as_str(), CodeFiles::digest)
                .to_owned(),
            surroundings: surroundings.clone(),
            path: ask
                .files
                .map(|files| files.path.to_string_lossy().into_owned()),
            call: ask.call,
            timeout: *timeout,
            cache: *cache,
            log: log.clone().into_log(),
        };
        let scope = ExchangeScope {
            clock: Some(self.clock.clone()),
            repeat: self.repeat_index,
            scheduling: ask.scheduling.unwrap_or(scheduling).clone(),
            tag: tag(self.case),
            reservation: ask.reservation,
            bodies: Arc::new(CallBodies::of(self.memory.clone())),
            attempts: Some(self.meter.attempts.clone()),
            pieces: None,
        };
        let open = self.meter.open();
        let result = self.context.gateway.ask(process_call, &scope).await;
        drop(open);
        log.finish();
        match result {
            Ok(reply) => {
                counts.add(&reply.spent);
                counts.answered();
                Ok(given(&reply, &folder.to_string_lossy(), executable))
            }
            Err(error) if error.code == ExchangeCode::Draining => self.end_when_idle().await,
            Err(error) => {
                counts.add(&error.spent);
                Err(CallFailure::of(exchange_error(error)))
            }
        }
    }
}

/// Passes on what a program prints in one call, within the bounds that a component has.
struct CallLog {
    context: Arc<RunContext>,
    name: String,
    case: CaseId,
    printed: Mutex<Printed>,
}

/// What was printed so far.
#[derive(Default)]
struct Printed {
    lines: u32,
    bytes: usize,
    dropped: u64,
}

impl CallLog {
    fn new(scope: &CallScope, name: &str) -> Arc<Self> {
        Arc::new(Self {
            context: scope.context.clone(),
            name: name.to_owned(),
            case: scope.case,
            printed: Mutex::default(),
        })
    }

    fn into_log(self: Arc<Self>) -> Log {
        Arc::new(move |line| self.line(&line))
    }

    fn line(&self, line: &PrintedLine) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.lines += 1;
        printed.bytes += line.text.len();
        if printed.lines > MAX_LOG_LINES || printed.bytes > MAX_LOG_BYTES {
            printed.dropped += 1;
            return;
        }
        drop(printed);
        let level = match line.level {
            Level::Debug => tracing::Level::DEBUG,
            Level::Info => tracing::Level::INFO,
            Level::Warn => tracing::Level::WARN,
            Level::Error => tracing::Level::ERROR,
        };
        self.tell(level, &line.text);
    }

    /// Says what was dropped, once the call has ended.
    fn finish(&self) {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = printed.dropped;
        drop(printed);
        if dropped > 0 {
            let plural = if dropped == 1 { "line" } else { "lines" };
            self.tell(tracing::Level::WARN, &format!("{dropped} {plural} dropped"));
        }
    }

    fn tell(&self, level: tracing::Level, text: &str) {
        let context = &self.context;
        let mut message = context.masker.mask(text).into_owned();
        // Not before: a secret across the cut would not be known for one.
        message.truncate(message.floor_char_boundary(MAX_LOG_LINE_BYTES));
        let Some(dropped) = context.log_room.take(&message) else {
            return;
        };
        if dropped > 0 {
            let message = format!("{dropped} log lines came too fast and were dropped");
            context.emit(Event::Notice { message });
        }
        context.emit(Event::Log(LogLine {
            plugin: self.name.clone(),
            case: self.case,
            level,
            message,
        }));
    }
}

/// What a reply says; paths of failures as the config's folder has them.
fn given(reply: &Reply, folder: &str, executable: &str) -> CodeResult {
    let body: Body = match serde_json::from_slice(&reply.body) {
        Ok(body) => body,
        Err(error) => {
            let failure = ScriptFailure {
                kind: FailureKind::BadResult,
                message: format!("its result can't be read: {error}"),
                position: None,
                stack: None,
            };
            return Err(fault(&failure));
        }
    };
    let Some(mut report) = body.error else {
        return Ok(body.value);
    };
    // Which of several Pythons lacks the package is what one has to know.
    if report.message.starts_with("ModuleNotFoundError") {
        report.message = format!("{}; it was looked for by {executable}", report.message);
    }
    Err(fault(&failure(report, folder)))
}
