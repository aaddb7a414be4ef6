//! One call of a component, and what the component may ask of the host meanwhile.
//!
//! This is where the sandbox's vocabulary meets the gateway's: a guest's `http.send` becomes an
//! exchange under the plugin's grants, `llm.complete` becomes a call of another provider one
//! level deeper, a log line becomes an event with every secret masked.
//!
//! A provider's call is followed by the `delay` that the user asked for, if anything of it left
//! the machine. It is part of the call, so that a grader's calls are spaced like the case's own,
//! and it is neither work nor worth waiting for once the run ends. A call that is cut off by a
//! limit on time has none: it has held its slot for longer.

use std::borrow::Cow;
use std::future::pending;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use runner_config::plan::{Case, CaseId, Judges};
use runner_gateway::{
    CallBodies, Grants, Payers, Price, Reservation, Scheduling, StatedCost, UsedTokens, WorkClock,
};
use runner_sandbox::abi::{self, CallContext};
use runner_sandbox::{Call, CallLimits, CallOutcome, CallUsage, Host, InputOf};
use tokio_util::sync::CancellationToken;

use self::counts::Counts;
pub(crate) use self::meter::Meter;
use crate::answer::{Completed, token_usage};
use crate::called::CalledPlugin;
use crate::context::RunContext;
use crate::failure::CallFailure;
use crate::identity::call_id_of_given;
use crate::memory::Account;
use crate::plugins::{ByPlugin, Grader, LoadedPlugin, ProviderBackend, Target, Trust};
use crate::private_door::Purpose;
use crate::record::GraderUsage;

mod asking;
mod code;
mod code_host;
mod counts;
mod exchange;
mod filters;
mod guest_host;
mod limit;
mod meter;
mod own;
mod program;
mod requests;
mod streamed;
mod words;

pub(crate) use guest_host::case;
use guest_host::{GuestHost, ModelAccess};
pub(crate) use limit::WorkLimit;

/// The case that a call belongs to.
#[derive(Clone)]
pub(crate) struct CallScope {
    pub(crate) context: Arc<RunContext>,
    pub(crate) case: CaseId,
    /// Working time of the case.
    pub(crate) clock: WorkClock,
    /// How long it may work.
    pub(crate) limit: WorkLimit,
    /// What all calls of the case used.
    pub(crate) meter: Arc<Meter>,
    /// What it holds.
    pub(crate) memory: Arc<Account>,
    /// Cuts the case off, and nothing else.
    pub(crate) cut: CancellationToken,
    /// 0 for the case's own calls, 1 for a provider that a grader asked.
    pub(crate) depth: u8,
    pub(crate) repeat_index: u32,
    /// Whose input plugins work on.
    pub(crate) input: InputOf,
}

/// Whose input a case's plugins work on.
pub(crate) fn input_of(case: &Case) -> InputOf {
    let named = case.test.words_of.as_ref().map(|file| {
        let mut hasher = DefaultHasher::new();
        file.shown.hash(&mut hasher);
        hasher.finish().max(1)
    });
    InputOf {
        file: named.unwrap_or_default(),
        column: case.id.prompt_idx,
        test: case.id.test_idx,
    }
}

/// For which case a provider is called, if for one, as which call, and what for.
type CalledFor<'a> = (Option<&'a Case>, &'a CallContext, Purpose);

impl CallScope {
    /// The scope of calls that belong to the run and to no case. How long they may work is not
    /// limited by what a case may; each call of code has its own limit.
    pub(crate) fn of_run(context: &Arc<RunContext>) -> Self {
        Self {
            context: context.clone(),
            case: CaseId {
                test_idx: 0,
                prompt_idx: 0,
            },
            clock: WorkClock::start(),
            limit: WorkLimit::None,
            meter: Arc::new(Meter::default()),
            memory: context.memory.open(None),
            cut: CancellationToken::new(),
            depth: 0,
            repeat_index: 0,
            input: InputOf::default(),
        }
    }

    /// Cuts the case off, once what else it has on the wire has come to its end, into the cache. It never
    /// returns.
    async fn end_when_idle<T>(&self) -> T {
        // Else the case could run out of time meanwhile: an error, which stands when the run goes on.
        let _clock = self.clock.pause();
        self.meter.idle().await;
        self.cut.cancel();
        pending().await
    }

    /// Calls a provider.
    pub(crate) async fn complete(
        &self,
        target: &Target,
        request: &abi::Request,
        (case, context): (&Case, &CallContext),
    ) -> Result<Completed, CallFailure> {
        let asked = (Some(case), context, Purpose::Answer);
        self.complete_for(None, target, request, asked).await
    }

    /// Calls a provider, perhaps on behalf of a grader, which has no case to show: its budgets pay, too.
    async fn complete_for(
        &self,
        grader: Option<&Payers>,
        target: &Target,
        request: &abi::Request,
        (case, context, purpose): CalledFor<'_>,
    ) -> Result<Completed, CallFailure> {
        let served = match &target.answers {
            ProviderBackend::Component(served) => served,
            ProviderBackend::Own(own) => {
                let asked = (case, context, purpose);
                let completed = self.complete_by_own(grader, target, own, request, asked);
                return Box::pin(completed).await;
            }
        };
        let component = &served.plugin.component;
        let request = &*exchange::sent(self, &served.code, request, context).await?;
        let given = || {
            format!(
                "{:?} {:?} {:?}",
                served.abi, request.prompt, request.options_json
            )
        };
        let shown = &*shown(&served.plugin, given, context);
        let ask = |call| component.complete(call, &served.abi, request, shown);
        let Provided {
            result,
            latency,
            host,
        } = self.provide(grader, target, served, ask).await;
        let mut read = result?;
        let unread = exchange::read(self, &served.code, &mut read, context).await;
        let completion = &mut read.completion;
        host.believe(&mut completion.usage, &mut completion.cost_usd);
        completion.cost_usd = host.settle(target, &completion.usage, completion.cost_usd);
        let attempts = host.counts.attempts();
        Ok(Completed {
            read,
            latency,
            first_token: host.counts.first_token(),
            cached: host.counts.is_cached(),
            attempts,
            unread: unread.err(),
        })
    }

    /// Asks a provider for vectors, on behalf of a grader; the second part is what they used.
    async fn embed_for(
        &self,
        grader: Option<&Payers>,
        target: &Target,
        inputs: Vec<String>,
        context: &CallContext,
    ) -> Result<(Vec<Vec<f32>>, GraderUsage), CallFailure> {
        let served = match &target.answers {
            ProviderBackend::Component(served) => served,
            ProviderBackend::Own(own) => {
                let embedded = self.embed_by_own(grader, target, own, inputs, context);
                return Box::pin(embedded).await;
            }
        };
        let component = &served.plugin.component;
        let given = || format!("{:?} {inputs:?}", served.abi);
        let shown = &*shown(&served.plugin, given, context);
        let ask = |call| component.embed(call, &served.abi, &inputs, shown);
        let provided = self.provide(grader, target, served, ask).await;
        let mut embeddings = provided.result?;
        let host = provided.host;
        host.believe(&mut embeddings.usage, &mut embeddings.cost_usd);
        let cost = host.settle(target, &embeddings.usage, embeddings.cost_usd);
        let (attempts, cached) = (host.counts.attempts(), host.counts.is_cached());
        let used = token_usage(&embeddings.usage, cached, attempts);
        Ok((embeddings.vectors, GraderUsage::of(used, cost, cached)))
    }

    /// Calls a component for what it provides, and measures the call. One that failed is settled.
    async fn provide<T, F>(
        &self,
        grader: Option<&Payers>,
        target: &Target,
        served: &ByPlugin,
        ask: impl FnOnce(Call) -> F,
    ) -> Provided<T>
    where
        F: Future<Output = CallOutcome<Result<T, abi::Error>>>,
    {
        let payers = Payers::shared(target.payers.as_ref(), grader, target.price);
        let host = Arc::new(self.host(
            &served.plugin,
            &served.grants,
            &target.scheduling,
            ModelAccess::default(),
            payers,
        ));
        let begun = Instant::now();
        let called = ask(self.call(host.clone(), served.limits)).await;
        let worked = begun.elapsed().saturating_sub(host.counts.waited());
        let latency = worked + host.counts.past_latency();
        self.used(&served.plugin, &called.usage);
        self.pause(target, &host.counts).await;
        let failure = match called.result {
            Ok(Ok(answer)) => {
                return Provided {
                    result: Ok(answer),
                    latency,
                    host,
                };
            }
            Ok(Err(error)) => CallFailure::of(error),
            Err(error) => CallFailure::new(error.code(), error.to_string()),
        };
        host.close(StatedCost::Failed);
        let failure = host.refused().unwrap_or(failure);
        Provided {
            result: Err(CallFailure { latency, ..failure }),
            latency,
            host,
        }
    }

    /// Waits for the target's `delay` after a call.
    async fn pause(&self, target: &Target, counts: &Counts) {
        let left_the_machine = counts.sent.load(Ordering::Relaxed) > 0;
        let delay = target.delay.filter(|delay| !delay.is_zero());
        let Some(delay) = delay.filter(|_| left_the_machine) else {
            return;
        };
        let _clock = self.clock.pause();
        tokio::select! {
            () = self.context.draining.cancelled() => {}
            () = self.cut.cancelled() => {}
            () = tokio::time::sleep(delay) => {}
        }
    }

    /// Calls a grader; the second part is what models that it asked used.
    pub(crate) async fn evaluate(
        &self,
        grader: &Grader,
        judges: Judges,
        input: &abi::Input,
        context: &CallContext,
    ) -> (Result<abi::ReadGrade, CallFailure>, GraderUsage) {
        let host = Arc::new(self.host(
            &grader.plugin,
            &grader.grants,
            &grader.scheduling,
            ModelAccess {
                llm: grader.llm.clone(),
                judges,
            },
            grader.payers.clone(),
        ));
        let call = self.call(host.clone(), grader.limits);
        let shown = &*shown(&grader.plugin, || format!("{input:?}"), context);
        let called = grader.plugin.component.evaluate(call, input, shown).await;
        self.used(&grader.plugin, &called.usage);
        let result = match called.result {
            Ok(Ok(grade)) => Ok(grade),
            Ok(Err(error)) => Err(CallFailure::of(error)),
            Err(error) => Err(CallFailure::new(error.code(), error.to_string())),
        };
        let result = result.map_err(|failure| host.refused().unwrap_or(failure));
        (result, host.counts.by_judges())
    }

    /// Counts what a call used.
    fn used(&self, plugin: &Arc<LoadedPlugin>, usage: &CallUsage) {
        self.meter.add(plugin, usage);
        if let Some(calls) = &self.context.calls {
            let component = &plugin.component;
            // Who asked may have gone.
            drop(calls.send(CalledPlugin {
                plugin: plugin.alias.clone(),
                version: component.info().version.clone(),
                sha256: component.sha256().to_owned(),
                usage: *usage,
            }));
        }
    }

    fn call(&self, host: Arc<dyn Host>, limits: CallLimits) -> Call {
        Call {
            host,
            limits,
            nested: self.depth > 0,
            input: self.input,
        }
    }

    fn host(
        &self,
        plugin: &Arc<LoadedPlugin>,
        grants: &Arc<Grants>,
        scheduling: &Arc<Scheduling>,
        asks: ModelAccess,
        payers: Option<Payers>,
    ) -> GuestHost {
        GuestHost {
            scope: self.clone(),
            plugin: plugin.clone(),
            grants: grants.clone(),
            scheduling: scheduling.clone(),
            asks,
            reservation: payers.map(|payers| Arc::new(Reservation::new(payers))),
            bodies: Arc::new(CallBodies::of(self.memory.clone())),
            counts: Counts::default(),
        }
    }
}

/// A call of a provider.
struct Provided<T> {
    result: Result<T, CallFailure>,
    /// Without waits.
    latency: Duration,
    host: Arc<GuestHost>,
}

/// Settles a call that gave something, by whichever price counts; what it cost.
fn settle(
    reservation: Option<&Reservation>,
    target: &Target,
    used: &abi::Usage,
    said: Option<f64>,
) -> Option<f64> {
    let used = UsedTokens {
        input: used.input_tokens,
        output: used.output_tokens,
        cache_read: used.cache_read_tokens,
        cache_write: used.cache_write_tokens,
    };
    let cost = Price::cost(target.price, used, said);
    if let Some(reservation) = reservation {
        reservation.close(StatedCost::by_answer(cost));
    }
    cost
}

/// The identity of a call as its component sees it: one of somebody else's by what it is `given` alone.
fn shown<'c>(
    plugin: &LoadedPlugin,
    given: impl FnOnce() -> String,
    context: &'c CallContext,
) -> Cow<'c, CallContext> {
    if matches!(plugin.trust, Trust::Bundled) {
        return Cow::Borrowed(context);
    }
    Cow::Owned(CallContext {
        call_id: call_id_of_given(&given(), context.repeat_index),
        ..context.clone()
    })
}
