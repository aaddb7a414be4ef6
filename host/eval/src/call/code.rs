//! Running the code of a config: a program of the contract goes in, a value comes out.

use std::sync::Arc;

use runner_config::plan::Script;
use runner_sandbox::abi::{self, Argument, CallContext, Program};
use serde_json::Value;

use super::code_host::CodeHost;
use super::requests::SentBy;
use super::shown;
use super::{CallScope, Counts};
use crate::failure::CallFailure;
use crate::plugins::Interpreter;
use crate::script::{CodeResult, Fault, Runnable, failure, fault, runnable};

impl CallScope {
    /// Runs code. In the sandbox its clock begins where the run did.
    ///
    /// # Panics
    /// If nothing runs its language; the config was checked against the catalogue.
    pub(crate) async fn run_code(
        &self,
        runnable: Runnable,
        arguments: &[Argument],
        identity: &CallContext,
    ) -> Result<CodeResult, CallFailure> {
        let sent_by = SentBy {
            scheduling: None,
            reservation: None,
            counts: &Counts::default(),
        };
        self.run_code_for(runnable, arguments, identity, sent_by)
            .await
    }

    /// Runs code whose requests are somebody's.
    ///
    /// # Panics
    /// As [`Self::run_code`].
    pub(super) async fn run_code_for(
        &self,
        runnable: Runnable,
        arguments: &[Argument],
        identity: &CallContext,
        sent_by: SentBy<'_>,
    ) -> Result<CodeResult, CallFailure> {
        let Runnable {
            mut program,
            outside,
            sends,
        } = runnable;
        if let Some(outside) = outside {
            let called = self.run_outside(&outside, &program, arguments);
            return Box::pin(called).await;
        }
        let interpreters = &self.context.interpreters;
        let interpreter = interpreters
            .get(&program.language)
            .expect("the plan has only languages that exist");
        program.clock_ms = Some(self.context.started_at_ms);
        if sends {
            let run = self.run_sending(interpreter, &program, arguments, (sent_by, identity));
            return Box::pin(run).await;
        }
        let host = CodeHost {
            scope: self.clone(),
            plugin: interpreter.plugin.clone(),
            kept: None,
        };
        let outcome = self
            .interpret(interpreter, Arc::new(host), &program, arguments, identity)
            .await?;
        Ok(outcome.map_err(|failure| fault(&failure)))
    }

    /// Runs code that makes something of the case: what is wrong with it is the case's error.
    pub(crate) async fn make(
        &self,
        script: &Script,
        arguments: &[Argument],
        identity: &CallContext,
    ) -> Result<Option<Value>, CallFailure> {
        let given = self.run_code(runnable(script), arguments, identity).await?;
        given.map_err(|Fault(message, _)| failure(script, &message))
    }

    /// Runs code of the config. It asks for nothing, so nobody pays.
    pub(super) async fn interpret(
        &self,
        interpreter: &Interpreter,
        host: Arc<CodeHost>,
        program: &Program,
        arguments: &[Argument],
        context: &CallContext,
    ) -> Result<Result<Option<Value>, abi::ScriptFailure>, CallFailure> {
        let call = self.call(host, interpreter.limits);
        let component = &interpreter.plugin.component;
        let _turn = {
            let _clock = self.clock.pause();
            // What code makes is counted when it is there. So it is not begun while others hold all there is;
            // and who has to wait for that keeps no turn, which those may need to come to their end.
            loop {
                self.memory.room().await;
                let turn = interpreter.turns.acquire().await;
                if self.memory.has_room() {
                    break turn.expect("turns are never closed");
                }
            }
        };
        let given = || format!("{program:?} {arguments:?}");
        let shown = &*shown(&interpreter.plugin, given, context);
        let called = component.script(call, program, arguments, shown).await;
        self.used(&interpreter.plugin, &called.usage);
        called
            .result
            .map_err(|error| CallFailure::new(error.code(), error.to_string()))
    }
}
