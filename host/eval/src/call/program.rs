//! Calls of programs on the person's machine: code of the config outside the sandbox, and providers
//! that are commands.

use std::future::pending;
use std::sync::Arc;

use runner_config::plan::CodeFiles;
use runner_gateway::{Code, ProcessCall, Reply, Reservation, Scheduling};
use runner_process::{Level, Log, LogLine as Printed, Report};
use runner_sandbox::abi::{Argument, FailureKind, Program, ScriptFailure};
use serde::Deserialize;
use serde_json::Value;

use super::guest_host::tag;
use super::words::exchange_error;
use super::{CallScope, Counts};
use crate::event::{Event, LogLine};
use crate::failure::CallFailure;
use crate::programs::Callee;
use crate::script::outside::{call, failure};
use crate::script::{Given, Outside, fault};

/// One call of a program.
pub(super) struct Ask<'a> {
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
    error: Option<Report>,
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
    ) -> Result<Given, CallFailure> {
        let files = outside.files.as_deref();
        let none = serde_json::Map::new();
        let callee = self.context.programs.callee(&outside.process, files, &none);
        let ask = Ask {
            callee: &callee,
            scheduling: None,
            files,
            call: call(program, arguments, None),
            reservation: None,
        };
        self.ask_program(ask, &Counts::default()).await
    }

    /// Makes one call of a program, through the gateway.
    pub(super) async fn ask_program(
        &self,
        ask: Ask<'_>,
        counts: &Counts,
    ) -> Result<Given, CallFailure> {
        let Callee {
            peer,
            scheduling,
            timeout,
            cache,
            folder,
            ..
        } = ask.callee;
        let process_call = ProcessCall {
            peer: peer.clone(),
            digest: ask
                .files
                .map(|files| files.digest().to_owned())
                .unwrap_or_default(),
            path: ask
                .files
                .map(|files| files.path.to_string_lossy().into_owned()),
            call: ask.call,
            timeout: *timeout,
            cache: *cache,
            log: self.log(peer.name().to_owned()),
        };
        let scope = runner_gateway::CallScope {
            clock: Some(self.clock.clone()),
            repeat: self.repeat_index,
            scheduling: ask.scheduling.unwrap_or(scheduling).clone(),
            tag: tag(self.case),
            reservation: ask.reservation,
            bodies: Arc::default(),
        };
        let open = self.meter.open();
        let result = self.context.gateway.ask(process_call, &scope).await;
        drop(open);
        match result {
            Ok(reply) => {
                counts.add(&reply.spent);
                counts.answered();
                Ok(given(&reply, &folder.to_string_lossy()))
            }
            Err(error) if error.code == Code::Cancelled && self.context.draining.is_cancelled() => {
                self.cut_off().await
            }
            Err(error) => {
                counts.add(&error.spent);
                Err(CallFailure::of(exchange_error(error)))
            }
        }
    }

    /// Ends the case, once what else it has on the wire has come to its end, into the cache.
    pub(super) async fn cut_off<T>(&self) -> T {
        let _clock = self.clock.pause();
        self.meter.idle().await;
        self.cut.cancel();
        pending().await
    }

    /// Passes on what a program prints.
    fn log(&self, name: String) -> Log {
        let (context, case) = (self.context.clone(), self.case);
        Arc::new(move |line: Printed| {
            let message = context.masker.mask(&line.text).into_owned();
            let Some(dropped) = context.log_room.take(&message) else {
                return;
            };
            if dropped > 0 {
                let message = format!("{dropped} log lines came too fast and were dropped");
                context.emit(Event::Notice { message });
            }
            context.emit(Event::Log(LogLine {
                plugin: name.clone(),
                case,
                level: match line.level {
                    Level::Debug => tracing::Level::DEBUG,
                    Level::Info => tracing::Level::INFO,
                    Level::Warn => tracing::Level::WARN,
                    Level::Error => tracing::Level::ERROR,
                },
                message,
            }));
        })
    }
}

/// What a reply says; paths of failures as the config's folder has them.
fn given(reply: &Reply, folder: &str) -> Given {
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
    let Some(report) = body.error else {
        return Ok(body.value);
    };
    Err(fault(&failure(report, folder)))
}
