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

use std::fmt::Write as _;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use runner_config::plan::CaseId;
use runner_sandbox::abi::{self, CallContext, ErrorCode};
use runner_sandbox::{Call, CallLimits, Host};
use tokio_util::sync::CancellationToken;

pub(crate) use self::meter::Meter;
use crate::answer::token_usage;
use crate::context::RunContext;
use crate::event::{Event, LogLine};
use crate::gateway::{
    self, Bill, CacheMode, Code, Exchange, ExchangeError, Grants, Said, Scheduling, Spent, Tab,
    WorkClock,
};
use crate::plugins::{Grader, LoadedPlugin, Target};
use crate::record::TokenUsage;

mod meter;
mod words;

pub(crate) use words::OVER_BUDGET;
use words::{code_word, exchange_error, level};

/// The case that a call belongs to.
#[derive(Clone)]
pub(crate) struct CallScope {
    pub(crate) context: Arc<RunContext>,
    pub(crate) case: CaseId,
    /// Working time of the case.
    pub(crate) clock: WorkClock,
    /// What all calls of the case used.
    pub(crate) meter: Arc<Meter>,
    /// Cuts the case off, and nothing else.
    pub(crate) cut: CancellationToken,
    /// 0 for the case's own calls, 1 for a provider that a grader asked.
    pub(crate) depth: u8,
    pub(crate) repeat_index: u32,
}

/// Why a call gave nothing.
#[derive(Debug, Clone)]
pub(crate) struct CallFailure {
    /// Stable: `C103`, or a provider's `rate-limited`.
    pub(crate) code: String,
    /// One line.
    pub(crate) message: String,
    /// HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// How long the call took, without waits.
    pub(crate) latency: Duration,
}

impl CallFailure {
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            status: None,
            latency: Duration::ZERO,
        }
    }

    fn of(error: abi::Error) -> Self {
        Self {
            code: code_word(error.code).to_owned(),
            message: error.message,
            status: error.status,
            latency: Duration::ZERO,
        }
    }
}

/// A provider's answer with what the host measured.
pub(crate) struct Completed {
    pub(crate) completion: abi::Completion,
    /// Time of the call without waits; what is remembered counts as it did when it came.
    pub(crate) latency: Duration,
    /// It made requests, and none left the machine.
    pub(crate) cached: bool,
    /// Requests that left the machine.
    pub(crate) attempts: u64,
}

impl CallScope {
    /// Calls a provider.
    pub(crate) async fn complete(
        &self,
        target: &Target,
        request: abi::Request,
        context: CallContext,
    ) -> Result<Completed, CallFailure> {
        self.complete_for(None, target, request, context).await
    }

    /// The same on behalf of a grader: its budgets pay, too.
    async fn complete_for(
        &self,
        grader: Option<&Bill>,
        target: &Target,
        request: abi::Request,
        context: CallContext,
    ) -> Result<Completed, CallFailure> {
        let bill = Bill::shared(target.bill.as_ref(), grader, target.price);
        let host = self.host(
            &target.plugin,
            &target.grants,
            &target.scheduling,
            &[],
            bill,
        );
        let begun = Instant::now();
        let call = self.call(host.clone(), target.limits, &context);
        let called = target
            .plugin
            .component
            .complete(call, target.abi.clone(), request, context)
            .await;
        let worked = begun.elapsed().saturating_sub(host.counts.waited());
        let latency = worked + host.counts.past_latency();
        self.meter.add(&called.usage);
        self.pause(target, &host.counts).await;
        let failure = match called.result {
            Ok(Ok(mut completion)) => {
                let used = &completion.usage;
                let price = target.price;
                let by_price = price.and_then(|it| it.usd(used.input_tokens, used.output_tokens));
                completion.cost_usd = by_price.or(completion.cost_usd);
                host.close(Said::by_answer(completion.cost_usd));
                let attempts = host.counts.attempts.load(Ordering::Relaxed);
                let cached = attempts == 0 && host.counts.exchanges.load(Ordering::Relaxed) > 0;
                return Ok(Completed {
                    completion,
                    latency,
                    cached,
                    attempts,
                });
            }
            Ok(Err(error)) => CallFailure::of(error),
            Err(error) => CallFailure::new(error.code().to_string(), error.to_string()),
        };
        host.close(Said::Failed);
        let failure = host.refused().unwrap_or(failure);
        Err(CallFailure { latency, ..failure })
    }

    /// The target's `delay` after a call.
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
        input: abi::Input,
        context: CallContext,
    ) -> (Result<abi::Grade, CallFailure>, TokenUsage) {
        let host = self.host(
            &grader.plugin,
            &grader.grants,
            &grader.scheduling,
            &grader.llm,
            grader.bill.clone(),
        );
        let call = self.call(host.clone(), grader.limits, &context);
        let called = grader.plugin.component.evaluate(call, input, context).await;
        self.meter.add(&called.usage);
        let result = match called.result {
            Ok(Ok(grade)) => Ok(grade),
            Ok(Err(error)) => Err(CallFailure::of(error)),
            Err(error) => Err(CallFailure::new(
                error.code().to_string(),
                error.to_string(),
            )),
        };
        let result = result.map_err(|failure| host.refused().unwrap_or(failure));
        (result, host.counts.tokens())
    }

    fn call(&self, host: Arc<dyn Host>, limits: CallLimits, context: &CallContext) -> Call {
        Call {
            host,
            limits,
            call_id: context.call_id.clone(),
            nested: self.depth > 0,
        }
    }

    fn host(
        &self,
        plugin: &Arc<LoadedPlugin>,
        grants: &Arc<Grants>,
        scheduling: &Arc<Scheduling>,
        llm: &[String],
        bill: Option<Bill>,
    ) -> Arc<GuestHost> {
        Arc::new(GuestHost {
            scope: self.clone(),
            plugin: plugin.clone(),
            grants: grants.clone(),
            scheduling: scheduling.clone(),
            llm: llm.to_vec(),
            tab: bill.clone().map(|bill| Arc::new(Tab::new(bill))),
            bill,
            counts: Counts::default(),
        })
    }
}

/// What one call did.
#[derive(Debug, Default)]
struct Counts {
    exchanges: AtomicU64,
    /// Requests that left the machine, now or when they were recorded.
    attempts: AtomicU64,
    /// Those that left it now.
    sent: AtomicU64,
    waited_us: AtomicU64,
    past_latency_us: AtomicU64,
    tokens: std::sync::Mutex<TokenUsage>,
    /// What the host said when a budget was spent.
    refused: OnceLock<String>,
}

impl Counts {
    fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    /// What remembered answers took when they came.
    fn past_latency(&self) -> Duration {
        Duration::from_micros(self.past_latency_us.load(Ordering::Relaxed))
    }

    fn add(&self, spent: &Spent) {
        let count = |sum: &AtomicU64, more| sum.fetch_add(more, Ordering::Relaxed);
        count(&self.exchanges, 1);
        // A replayed run counts as the one that was recorded.
        count(
            &self.attempts,
            u64::from(spent.attempts + spent.past_attempts),
        );
        count(&self.sent, u64::from(spent.attempts));
        count(&self.waited_us, spent.waited.as_micros() as u64);
        count(&self.past_latency_us, spent.past_latency.as_micros() as u64);
    }

    fn tokens(&self) -> TokenUsage {
        *self
            .tokens
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The host as one call of one component sees it.
struct GuestHost {
    scope: CallScope,
    plugin: Arc<LoadedPlugin>,
    grants: Arc<Grants>,
    /// How its requests share quotas.
    scheduling: Arc<Scheduling>,
    /// Providers that it may ask.
    llm: Vec<String>,
    bill: Option<Bill>,
    /// What its requests claim, if a budget pays for them.
    tab: Option<Arc<Tab>>,
    counts: Counts,
}

#[async_trait]
impl Host for GuestHost {
    async fn http(&self, request: abi::HttpRequest) -> Result<abi::HttpResponse, abi::Error> {
        let exchange = Exchange {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            credential: request.credential,
            bucket: request.bucket,
            timeout: request.timeout_ms.map(Duration::from_millis),
            cache: match request.cache {
                abi::CacheMode::Auto => CacheMode::Auto,
                abi::CacheMode::Bypass => CacheMode::Bypass,
            },
        };
        let scope = gateway::CallScope {
            clock: Some(self.scope.clock.clone()),
            repeat: self.scope.repeat_index,
            scheduling: self.scheduling.clone(),
            tag: tag(self.scope.case),
            tab: self.tab.clone(),
            ..gateway::CallScope::default()
        };
        let open = self.scope.meter.open();
        let gateway = &self.scope.context.gateway;
        let result = gateway.send(&self.grants, exchange, &scope).await;
        drop(open);
        let spent = match &result {
            Ok(reply) => reply.spent,
            Err(error) => error.spent,
        };
        self.counts.add(&spent);
        match result {
            Ok(reply) => Ok(abi::HttpResponse {
                status: reply.status,
                headers: reply.headers,
                body: reply.body,
                cached: reply.cached,
            }),
            Err(failure) if self.is_cut_off(&failure) => {
                // No guest lives to take this for its server's fault. What else the case has on
                // the wire may be paid for: it comes to its end first, and into the cache.
                let _clock = self.scope.clock.pause();
                self.scope.meter.idle().await;
                self.scope.cut.cancel();
                pending().await
            }
            Err(failure) => {
                if failure.code == Code::Budget {
                    self.refuse(&failure.message);
                }
                Err(exchange_error(failure))
            }
        }
    }

    async fn llm_complete(
        &self,
        target: &str,
        request: abi::Request,
    ) -> Result<abi::Answer, abi::Error> {
        let target = self.target(target)?;
        let context = CallContext {
            call_id: format!("{}/llm", self.scope.case.test_idx),
            attempt: 1,
            deadline_ms: None,
            test_index: self.scope.case.test_idx,
            repeat_index: self.scope.repeat_index,
            labels: Vec::new(),
        };
        let deeper = CallScope {
            depth: self.scope.depth + 1,
            ..self.scope.clone()
        };
        // Boxed: a provider's call holds this future, and this one holds a provider's call.
        let called = deeper.complete_for(self.bill.as_ref(), &target, request, context);
        let completed = Box::pin(called).await.map_err(|failure| {
            if failure.code != OVER_BUDGET {
                return abi::Error::new(ErrorCode::Other, failure.message);
            }
            self.refuse(&failure.message);
            abi::Error::new(ErrorCode::Budget, failure.message)
        })?;
        let used = token_usage(
            &completed.completion.usage,
            completed.cached,
            completed.attempts,
        );
        self.counts
            .tokens
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .add(&used);
        Ok(abi::Answer {
            cost_usd: completed.completion.cost_usd,
            completion: completed.completion,
            provider_id: target.abi.id.clone(),
            cached: completed.cached,
        })
    }

    async fn llm_embed(
        &self,
        target: &str,
        _inputs: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, abi::Error> {
        let target = self.target(target)?;
        let message = format!("provider '{}' makes no embeddings", target.abi.id);
        Err(abi::Error::new(ErrorCode::Unsupported, message))
    }

    fn log(&self, line: abi::LogLine) {
        let mut message = line.message;
        for (key, value) in &line.fields {
            write!(message, " {key}={value}").expect("a string takes everything");
        }
        let message = self.grants.masker().mask(&message).into_owned();
        self.scope.context.emit(Event::Log(LogLine {
            plugin: self.plugin.alias.clone(),
            case: self.scope.case,
            level: level(line.level),
            message,
        }));
    }
}

impl GuestHost {
    /// Whether an exchange failed for no other reason than that the run ends. (A recording may
    /// say so too, of its own run.)
    fn is_cut_off(&self, failure: &ExchangeError) -> bool {
        failure.code == Code::Cancelled && self.scope.context.draining.is_cancelled()
    }

    /// Settles what the call cost.
    fn close(&self, said: Said) {
        if let Some(tab) = &self.tab {
            tab.close(said);
        }
    }

    /// Notes that a budget stood in the way; what the host said first is what the row says.
    fn refuse(&self, why: &str) {
        drop(self.counts.refused.set(why.to_owned()));
    }

    /// The failure of a call that a budget stood in the way of, whatever the guest made of it.
    fn refused(&self) -> Option<CallFailure> {
        let why = self.counts.refused.get()?;
        Some(CallFailure::new(OVER_BUDGET, why))
    }

    /// The provider behind an alias, if this plugin may ask it.
    fn target(&self, alias: &str) -> Result<Arc<Target>, abi::Error> {
        let granted = self.llm.iter().any(|granted| granted == alias);
        match self.scope.context.targets.get(alias) {
            Some(target) if granted => Ok(target.clone()),
            _ => {
                let plugin = &self.plugin.alias;
                let message = format!(
                    "plugin '{plugin}' may not ask '{alias}'; to allow it, name a provider of the config so and put \
                     this under `plugins.{plugin}.permissions`: llm: [{alias}]"
                );
                Err(abi::Error::new(ErrorCode::Denied, message))
            }
        }
    }
}

/// Tells the cases of a run apart.
fn tag(case: CaseId) -> u64 {
    u64::from(case.test_idx) << 32 | u64::from(case.prompt_idx)
}
