//! Providers that are the config's own: code of it, in the sandbox or outside, and commands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use runner_config::plan::Case;
use runner_gateway::{Payers, Reservation, StatedCost};
use runner_sandbox::abi::{
    self, Argument, CallContext, Completion, Form, Message, Module, Program, ReadCompletion, Role,
};
use serde_json::{Map, Value, json};

use super::program::ProgramCall;
use super::requests::SentBy;
use super::{CallScope, CalledFor, Counts, settle};
use crate::answer::{Completed, believable, believable_cost, token_usage};
use crate::failure::{CallFailure, FailureCode};
use crate::plugins::{ConfigProvider, ExecutionMode, Target};
use crate::private_door::Purpose;
use crate::record::{GraderUsage, TestCase};
use crate::script::exchange::{Embedded, Stated};
use crate::script::outside::{call, command_call};
use crate::script::{CodeResult, Fault, Runnable, argument, made, runnable};

/// What the sandbox runs in place of a JavaScript provider: promptfoo's interface is a class, and
/// the contract calls functions.
const IN_THE_SANDBOX: &str = include_str!("own/provider.mjs");

/// Why a prompt is not handed to a command.
const AN_OPTION: &str = "the prompt begins with `-`, which the command would take for an option; \
                         a command that ends with ` --` gets it";

/// Texts that code makes vectors of for one question. It runs once for each, and a stranger's grader may ask 32
/// questions in a call; graders of the program ask for a few.
const MOST_VECTORS: usize = 64;

/// Its name among the files of the code.
const WRAPPER: &str = "__provider.mjs";

impl CallScope {
    /// Calls a provider that is the config's own, for a case of the run or a grader.
    pub(super) async fn complete_by_own(
        &self,
        grader: Option<&Payers>,
        target: &Target,
        own: &ConfigProvider,
        request: &abi::Request,
        (case, identity, purpose): CalledFor<'_>,
    ) -> Result<Completed, CallFailure> {
        let mut asked = OwnRequest::new(target, own, request, case);
        if purpose == Purpose::Classes {
            asked.method = CLASSIFIES;
        }
        let told = self.tell_own(grader, target, own, &asked, identity).await;
        let stated = told.value.and_then(|value| {
            let value = made::something(value).map(|value| match purpose {
                Purpose::Answer => value,
                Purpose::Classes => scores(value),
            });
            let stated = value.and_then(Stated::of);
            stated.map_err(|why| failed(target, &why))
        });
        let (latency, counts) = (told.latency, told.counts);
        let stated = stated.map_err(|failure| {
            close(told.reservation.as_deref(), StatedCost::Failed);
            CallFailure { latency, ..failure }
        })?;
        let mut read = ReadCompletion {
            completion: Completion::new(Vec::new()),
            output: None,
            raw: None,
            metadata: Map::new(),
        };
        let is_cached = stated.is_cached();
        stated.put_into(&mut read);
        let completion = &mut read.completion;
        // What can't be is left out, as of any provider.
        let _ = believable_cost(&mut completion.cost_usd);
        let _ = believable(&mut completion.usage);
        let reservation = told.reservation.as_deref();
        completion.cost_usd = settle(reservation, target, &completion.usage, completion.cost_usd);
        Ok(Completed {
            read,
            latency,
            first_token: None,
            cached: is_cached || counts.is_cached(),
            attempts: counts.attempts(),
            unread: None,
        })
    }

    /// Asks a provider that is the config's own for vectors, one after the other.
    pub(super) async fn embed_by_own(
        &self,
        grader: Option<&Payers>,
        target: &Target,
        own: &ConfigProvider,
        inputs: Vec<String>,
        identity: &CallContext,
    ) -> Result<(Vec<Vec<f32>>, GraderUsage), CallFailure> {
        let count = inputs.len();
        if count > MOST_VECTORS {
            let why = format!("{count} texts at once; it is given {MOST_VECTORS}");
            return Err(failed(target, &why));
        }
        let mut vectors = Vec::with_capacity(count);
        let mut used = GraderUsage::default();
        for input in inputs {
            let asked = OwnRequest::for_vector(target, own, input);
            let told = self.tell_own(grader, target, own, &asked, identity).await;
            let embedded = told.value.and_then(|value| {
                let embedded = Embedded::of(&value.unwrap_or_default());
                embedded.map_err(|why| failed(target, &why))
            });
            let mut embedded = embedded.inspect_err(|_| {
                close(told.reservation.as_deref(), StatedCost::Failed);
            })?;
            let _ = believable_cost(&mut embedded.cost_usd);
            let _ = believable(&mut embedded.usage);
            let reservation = told.reservation.as_deref();
            embedded.cost_usd = settle(reservation, target, &embedded.usage, embedded.cost_usd);
            let counts = told.counts;
            let cached = counts.is_cached();
            let tokens = token_usage(&embedded.usage, cached, counts.attempts());
            used.add(&GraderUsage::of(tokens, embedded.cost_usd, cached));
            vectors.push(embedded.vector);
        }
        Ok((vectors, used))
    }

    /// Asks once, and measures.
    async fn tell_own(
        &self,
        grader: Option<&Payers>,
        target: &Target,
        own: &ConfigProvider,
        asked: &OwnRequest,
        identity: &CallContext,
    ) -> ProviderReply {
        let payers = Payers::shared(target.payers.as_ref(), grader, target.price);
        let reservation = payers.map(|payers| Arc::new(Reservation::new(payers)));
        let counts = Counts::default();
        let begun = Instant::now();
        let given = self.ask_own(target, own, asked, reservation.clone(), &counts, identity);
        let given = given.await;
        let worked = begun.elapsed().saturating_sub(counts.waited());
        let latency = worked + counts.past_latency();
        self.pause(target, &counts).await;
        ProviderReply {
            value: given
                .and_then(|given| given.map_err(|Fault(message, _)| failed(target, &message))),
            latency,
            counts,
            reservation,
        }
    }

    async fn ask_own(
        &self,
        target: &Target,
        own: &ConfigProvider,
        asked: &OwnRequest,
        reservation: Option<Arc<Reservation>>,
        counts: &Counts,
        identity: &CallContext,
    ) -> Result<CodeResult, CallFailure> {
        let (callee, files, call) = match &own.runs {
            ExecutionMode::Sandboxed(script) => {
                let runnable = sandboxed(runnable(script), asked);
                let arguments = asked.arguments(script.language == crate::script::PYTHON);
                let sent_by = SentBy {
                    scheduling: Some(&target.scheduling),
                    reservation,
                    counts,
                };
                let run = self.run_code_for(runnable, &arguments, identity, sent_by);
                return run.await;
            }
            ExecutionMode::Outside(callee, script) => {
                let Runnable {
                    mut program,
                    outside,
                    ..
                } = runnable(script);
                let role =
                    json!({ "role": "provider", "method": asked.method, "setup": asked.setup });
                asked.method_of(&mut program);
                let is_python = script.language == crate::script::PYTHON;
                let arguments = asked.arguments(is_python);
                let role = Some(&role).filter(|_| !is_python);
                let call = call(&program, &arguments, role);
                (callee, outside.and_then(|outside| outside.files), call)
            }
            ExecutionMode::Command(callee) => {
                if asked.is_option() && !callee.ends_options {
                    return Err(failed(target, AN_OPTION));
                }
                (callee, None, asked.command())
            }
        };
        let ask = ProgramCall {
            callee,
            scheduling: Some(&target.scheduling),
            files: files.as_deref(),
            call,
            reservation,
        };
        self.ask_program(ask, counts).await
    }
}

/// What a provider of the config said.
struct ProviderReply {
    value: Result<Option<Value>, CallFailure>,
    latency: Duration,
    counts: Counts,
    reservation: Option<Arc<Reservation>>,
}

/// Settles what was reserved for a call.
fn close(reservation: Option<&Reservation>, said: StatedCost) {
    if let Some(reservation) = reservation {
        reservation.close(said);
    }
}

/// What of a provider gives answers, what gives the scores of classes, and what gives vectors: promptfoo's
/// methods of a class. Python's functions are `call_api`, `call_classification_api` and
/// `call_embedding_api`.
const ANSWERS: &str = "callApi";
const CLASSIFIES: &str = "callClassificationApi";
const EMBEDS: &str = "callEmbeddingApi";

/// The scores in promptfoo's `{ classification }`, or what else there is.
fn scores(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => match fields.remove("classification") {
            Some(scores) => scores,
            None => Value::Object(fields),
        },
        other => other,
    }
}

/// What a provider of the config is asked.
struct OwnRequest {
    /// Of a class, which method.
    method: &'static str,
    prompt: String,
    /// The config's own prompt begins like an option of a command.
    may_be_option: bool,
    /// What a class is made with, and a function is handed: id, label, config.
    setup: Value,
    context: Value,
}

impl OwnRequest {
    fn new(
        target: &Target,
        own: &ConfigProvider,
        request: &abi::Request,
        case: Option<&Case>,
    ) -> Self {
        // An empty prompt is one, too.
        let is_chat = request.prompt.is_empty() && request.messages.iter().any(says_something);
        let prompt = if is_chat {
            let messages = request.messages.iter();
            messages.map(message).collect::<Value>().to_string()
        } else {
            request.prompt.clone()
        };
        // A row that puts words before the prompt chooses how it begins.
        let begins = |case: &Case| {
            let prefix = case.test.options.get("prefix").and_then(Value::as_str);
            let is_row_s = !case.test.affixes_see_env && prefix.is_some_and(|it| !it.is_empty());
            case.column.prompt.raw.starts_with('-') && !is_row_s
        };
        let may_be_option = case.is_some_and(begins);
        let context = match case {
            None => json!({ "vars": {}, "prompt": { "raw": prompt, "label": prompt } }),
            Some(case) => json!({
                "vars": *case.scope,
                "prompt": {
                    "raw": case.column.prompt.raw,
                    "label": case.column.prompt.label,
                    "config": case.column.prompt.config,
                },
                "test": TestCase::of(case),
                "testIdx": case.id.test_idx,
                "repeatIndex": case.repeat_index,
            }),
        };
        let setup = setup(target, own);
        Self {
            method: ANSWERS,
            prompt,
            may_be_option,
            setup,
            context,
        }
    }

    fn for_vector(target: &Target, own: &ConfigProvider, input: String) -> Self {
        Self {
            method: EMBEDS,
            prompt: input,
            may_be_option: false,
            setup: setup(target, own),
            context: Value::Null,
        }
    }

    /// Sets Python's function for what is asked, unless the config names one for all.
    fn method_of(&self, program: &mut Program) {
        let function = match self.method {
            EMBEDS => "call_embedding_api",
            CLASSIFIES => "call_classification_api",
            _ => return,
        };
        if program.entry.as_deref() == Some("call_api") {
            program.entry = Some(function.to_owned());
        }
    }

    /// In promptfoo's order: Python's functions get the options before the context.
    fn arguments(&self, is_python: bool) -> Vec<Argument> {
        let prompt = Value::from(self.prompt.as_str());
        let (options, context) = (&self.setup, &self.context);
        let prompt = argument("prompt", prompt.to_string());
        let context = argument("context", context.to_string());
        let options = argument("options", options.to_string());
        if is_python && self.method != ANSWERS {
            vec![prompt, options]
        } else if is_python {
            vec![prompt, options, context]
        } else {
            vec![prompt, context, options]
        }
    }

    /// Whether a command would take the prompt for an option, which is not the config's word: a row
    /// could choose how the command works.
    fn is_option(&self) -> bool {
        self.prompt.starts_with('-') && !self.may_be_option
    }

    /// As the arguments of a command.
    fn command(&self) -> String {
        let (setup, context) = (self.setup.to_string(), self.context.to_string());
        command_call([self.prompt.as_str(), &setup, &context])
    }
}

/// What a class is made with, and a function is handed; without a label if there is none.
fn setup(target: &Target, own: &ConfigProvider) -> Value {
    let mut setup = json!({ "id": target.id, "config": own.config });
    if let Some(label) = &own.label {
        setup["label"] = label.as_str().into();
    }
    setup
}

/// A message as chats are written.
fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    json!({ "role": role, "content": texts(message).collect::<String>() })
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|part| match part {
        abi::Part::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

fn says_something(message: &Message) -> bool {
    texts(message).any(|text| !text.is_empty())
}

/// A JavaScript provider as a function that the contract can call; Python's are functions.
fn sandboxed(mut runnable: Runnable, asked: &OwnRequest) -> Runnable {
    let program = &mut runnable.program;
    asked.method_of(program);
    if program.form != Form::File || program.language == crate::script::PYTHON {
        return runnable;
    }
    let main = Module {
        path: program.name.clone(),
        source: std::mem::take(&mut program.source),
    };
    let path = Value::from(format!("./{}", main.path)).to_string();
    let entry = Value::from(program.entry.take()).to_string();
    program.source = IN_THE_SANDBOX
        .replace("'PATH'", &path)
        .replace("'ENTRY'", &entry)
        .replace("METHOD", asked.method);
    WRAPPER.clone_into(&mut program.name);
    program.modules.push(main);
    runnable
}

fn failed(target: &Target, why: &str) -> CallFailure {
    let message = format!("{}: {why}", target.id);
    CallFailure::new(FailureCode::Script, message)
}
