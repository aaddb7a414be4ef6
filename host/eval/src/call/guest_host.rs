//! The host as a guest sees it: what a component may ask for while it is called.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use runner_config::plan::{CaseId, Judges};
use runner_gateway::{
    CacheMode, CallBodies, Exchange, ExchangeCode, ExchangeScope, Grants, Payers, Pieces,
    Reservation, Scheduling, StatedCost,
};
use runner_sandbox::abi::{self, CallContext, ErrorCode};
use runner_sandbox::{Host, StreamedExchange};

use super::asking;
use super::streamed::Streamed;
use super::words::exchange_error;
use super::{CallScope, Counts, settle};
use crate::answer::{believable, believable_cost, token_usage};
use crate::event::{Event, LogLine};
use crate::failure::{CallFailure, FailureCode};
use crate::memory::HeldBytes;
use crate::plugins::{LoadedPlugin, Target, Trust};
use crate::private_door;
use crate::record::GraderUsage;

/// Whom a call may ask.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelAccess {
    /// The aliases that it was granted.
    pub(super) llm: Vec<String>,
    /// What the four aliases of model-graded assertions stand for.
    pub(super) judges: Judges,
}

/// The host as one call of one component sees it.
pub(super) struct GuestHost {
    pub(super) scope: CallScope,
    pub(super) plugin: Arc<LoadedPlugin>,
    pub(super) grants: Arc<Grants>,
    /// How its requests share quotas.
    pub(super) scheduling: Arc<Scheduling>,
    pub(super) asks: ModelAccess,
    /// What its requests claim, if a budget pays for them.
    pub(super) reservation: Option<Arc<Reservation>>,
    /// The answers on their way to the guest.
    pub(super) bodies: Arc<CallBodies>,
    pub(super) counts: Counts,
}

#[async_trait]
impl Host for GuestHost {
    async fn http(&self, request: abi::HttpRequest) -> Result<abi::HttpResponse, abi::Error> {
        self.exchange(request, None).await
    }

    fn http_stream(
        self: Arc<Self>,
        request: Box<abi::HttpRequest>,
    ) -> Result<StreamedExchange, Box<abi::HttpRequest>> {
        let pieces = Arc::<Pieces>::default();
        let (asked, told) = (Arc::clone(&self), Arc::clone(&pieces));
        let exchange = Box::pin(async move { asked.exchange(*request, Some(told)).await });
        let note = Box::new(move |time| self.counts.note_first_token(time));
        Ok(Box::new(Streamed::of(exchange, pieces, note)))
    }

    fn wasi_http(&self) -> Result<(), abi::Error> {
        if let Trust::Foreign(Some(entry)) = &self.plugin.trust
            && entry.permissions.wasi_http
        {
            return Ok(());
        }
        let plugin = &self.plugin.alias;
        let message = format!(
            "plugin '{plugin}' may not use `wasi:http`; to allow it, put this under \
             `plugins.{plugin}.permissions`: wasi_http: true"
        );
        Err(abi::Error::new(ErrorCode::Denied, message))
    }

    async fn goes_first(&self) {
        self.scope.memory.first().await;
    }

    async fn take_memory(&self, bytes: u64) {
        self.waiting(self.scope.memory.take(bytes)).await;
    }

    fn free_memory(&self, bytes: u64) {
        self.scope.memory.give_back(bytes);
    }

    fn delivered(&self) {
        self.bodies.delivered();
    }

    async fn llm_complete(
        &self,
        target: &str,
        request: abi::Request,
    ) -> Result<abi::Answer, abi::Error> {
        let purpose = private_door::purpose(target);
        let target = self.target(target)?;
        self.may_ask(&request)?;
        let _held = self.hold(size(&request)).await;
        let (deeper, context) = (self.deeper(), self.context());
        // Boxed: a provider's call holds this future, and this one holds a provider's call.
        let asked = (None, &context, purpose);
        let called = deeper.complete_for(self.payers(), &target, &request, asked);
        let completed = Box::pin(called).await.map_err(|it| self.failed(it))?;
        let completion = completed.read.completion;
        let tokens = token_usage(&completion.usage, completed.cached, completed.attempts);
        let cost = completion.cost_usd;
        self.counts
            .add_judge(&GraderUsage::of(tokens, cost, completed.cached));
        if let Some(failure) = completed.unread {
            return Err(self.failed(failure));
        }
        Ok(abi::Answer {
            cost_usd: completion.cost_usd,
            completion,
            provider_id: target.id.clone(),
            cached: completed.cached,
        })
    }

    async fn llm_embed(
        &self,
        target: &str,
        inputs: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, abi::Error> {
        let target = self.target(target)?;
        if !target.embeds() {
            let message = format!("provider '{}' makes no embeddings", target.id);
            return Err(abi::Error::new(ErrorCode::Unsupported, message));
        }
        let _held = self
            .hold(inputs.iter().map(|it| it.len() + ITEM).sum())
            .await;
        let (deeper, context) = (self.deeper(), self.context());
        let called = deeper.embed_for(self.payers(), &target, inputs, &context);
        let (vectors, used) = Box::pin(called).await.map_err(|it| self.failed(it))?;
        self.counts.add_judge(&used);
        Ok(vectors)
    }

    fn log(&self, line: abi::LogLine) {
        self.scope.log(&self.plugin, line);
    }
}

/// What an element of a list takes beside its text, at least.
const ITEM: usize = size_of::<abi::Part>();

/// Bytes of a request in memory.
fn size(request: &abi::Request) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let parts = request.messages.iter().flat_map(|message| &message.content);
    let of_part = |part: &abi::Part| match part {
        abi::Part::Text(text)
        | abi::Part::Url(text)
        | abi::Part::Reasoning(text)
        | abi::Part::Other(text) => text.len(),
        abi::Part::Media(media) => media.data.len(),
        abi::Part::ToolCall(call) => call.arguments_json.len(),
        abi::Part::ToolResult(result) => result.content.len(),
    };
    request.prompt.len()
        + text(&request.options_json)
        + text(&request.tools_json)
        + text(&request.response_schema_json)
        + request.messages.len() * ITEM
        + parts.map(|part| ITEM + of_part(part)).sum::<usize>()
}

impl GuestHost {
    /// Sends one request, and tells `pieces` of its response while it comes.
    pub(super) async fn exchange(
        &self,
        request: abi::HttpRequest,
        pieces: Option<Arc<Pieces>>,
    ) -> Result<abi::HttpResponse, abi::Error> {
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
        let scope = ExchangeScope {
            clock: Some(self.scope.clock.clone()),
            repeat: self.scope.repeat_index,
            scheduling: self.scheduling.clone(),
            tag: tag(self.scope.case),
            reservation: self.reservation.clone(),
            bodies: self.bodies.clone(),
            attempts: Some(self.scope.meter.attempts.clone()),
            pieces,
        };
        let _held = self.hold(exchange.body.as_ref().map_or(0, Vec::len)).await;
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
            Ok(reply) => {
                self.counts.answered();
                Ok(abi::HttpResponse {
                    status: reply.status,
                    headers: reply.headers,
                    body: reply.body,
                    cached: reply.cached,
                })
            }
            // No guest lives to take this for its server's fault.
            Err(failure) if failure.code == ExchangeCode::Draining => {
                self.scope.end_when_idle().await
            }
            Err(failure) => {
                if failure.code == ExchangeCode::Budget {
                    self.refuse(&failure.message);
                }
                Err(exchange_error(failure))
            }
        }
    }

    /// Takes memory for what the guest passed over, until it is dropped.
    async fn hold(&self, bytes: usize) -> HeldBytes<'_> {
        self.waiting(self.scope.memory.hold(bytes as u64)).await
    }

    /// Waits for something that others hold, which is neither work nor latency.
    async fn waiting<T>(&self, wait: impl Future<Output = T>) -> T {
        let mut wait = pin!(wait);
        if let Some(done) = (&mut wait).now_or_never() {
            return done;
        }
        let begun = Instant::now();
        let _clock = self.scope.clock.pause();
        let done = wait.await;
        self.counts.add_wait(begun.elapsed());
        done
    }

    fn payers(&self) -> Option<&Payers> {
        Some(self.reservation.as_ref()?.payers())
    }

    /// The scope of a call that this one makes.
    fn deeper(&self) -> CallScope {
        CallScope {
            depth: self.scope.depth + 1,
            ..self.scope.clone()
        }
    }

    /// The identity of such a call.
    fn context(&self) -> CallContext {
        let test_index = self.scope.case.test_idx;
        CallContext {
            test_index,
            repeat_index: self.scope.repeat_index,
            ..CallContext::new(format!("{test_index}/llm"))
        }
    }

    /// What the guest hears of such a call that failed.
    fn failed(&self, failure: CallFailure) -> abi::Error {
        if failure.code == FailureCode::Budget {
            self.refuse(&failure.message);
        }
        let mut error = abi::Error::new(failure.code.for_guest(), failure.message);
        error.status = failure.status;
        error
    }

    /// Caps what a call says that it used and cost at what can be, and says so.
    pub(super) fn believe(&self, usage: &mut abi::Usage, cost: &mut Option<f64>) {
        if let Some(said) = believable_cost(cost) {
            self.warn(format!(
                "an answer says that it cost ${said:e}, which no call does; the results leave that out"
            ));
        }
        if let Some(said) = believable(usage) {
            self.warn(format!(
                "an answer says that it used {said} tokens, which no call does; the results leave \
                 that out"
            ));
        }
    }

    fn warn(&self, message: String) {
        self.scope.context.emit(Event::Log(LogLine {
            plugin: self.plugin.alias.clone(),
            case: self.scope.case,
            level: tracing::Level::WARN,
            message,
        }));
    }

    /// Checks that a request to another provider asks for no more than was agreed to.
    fn may_ask(&self, request: &abi::Request) -> Result<(), abi::Error> {
        let Trust::Foreign(_) = &self.plugin.trust else {
            return Ok(());
        };
        let Some(steers) = asking::steers(request) else {
            return Ok(());
        };
        let plugin = &self.plugin.alias;
        let message = format!(
            "plugin '{plugin}' may ask the model, and say how it answers; {steers} is for the config to set"
        );
        Err(abi::Error::new(ErrorCode::Denied, message))
    }

    /// Settles a call that gave something, by whichever price counts.
    pub(super) fn settle(
        &self,
        target: &Target,
        used: &abi::Usage,
        said: Option<f64>,
    ) -> Option<f64> {
        settle(self.reservation.as_deref(), target, used, said)
    }

    /// Settles what the call cost.
    pub(super) fn close(&self, said: StatedCost) {
        if let Some(reservation) = &self.reservation {
            reservation.close(said);
        }
    }

    /// Notes that a budget stood in the way; what the host said first is what the row says.
    fn refuse(&self, why: &str) {
        drop(self.counts.refused.set(why.to_owned()));
    }

    /// The failure of a call that a budget stood in the way of, whatever the guest made of it.
    pub(super) fn refused(&self) -> Option<CallFailure> {
        let why = self.counts.refused.get()?;
        Some(CallFailure::new(FailureCode::Budget, why))
    }

    /// The provider behind an alias, if this plugin may ask it: the one that its entry names, else the
    /// assertion's judge, else a provider of the run that has the alias for its name.
    fn target(&self, alias: &str) -> Result<Arc<Target>, abi::Error> {
        let context = &self.scope.context;
        let granted = self.asks.llm.iter().any(|granted| granted == alias);
        let judge = private_door::judge(self.asks.judges, alias);
        let judge = judge.filter(|_| !self.plugin.names_model(alias));
        let judge = judge.and_then(|id| context.judges.get(&id));
        let asked = || context.targets.get(&self.plugin.alias)?.get(alias);
        let found = judge.or_else(asked);
        if let (Some(target), true) = (found, granted) {
            return Ok(target.clone());
        }
        let plugin = &self.plugin.alias;
        let grant = format!("put this under `plugins.{plugin}.permissions`: llm:");
        let named = format!("{grant} {{ {alias}: PROVIDER }}, with the id or the label of one");
        let missing = match (granted, found) {
            (true, _) => format!("no provider has that name; {named}"),
            (false, Some(_)) => format!("it is not granted; {grant} [{alias}]"),
            (false, None) => format!("it is not granted, and no provider has that name; {named}"),
        };
        let message = format!("plugin '{plugin}' may not ask '{alias}': {missing}");
        Err(abi::Error::new(ErrorCode::Denied, message))
    }
}

/// Tells the cases of a run apart.
pub(super) fn tag(case: CaseId) -> u64 {
    u64::from(case.test_idx) << 32 | u64::from(case.prompt_idx)
}

/// The case that a tag stands for.
pub(crate) fn case(tag: u64) -> CaseId {
    CaseId {
        test_idx: (tag >> 32) as u32,
        prompt_idx: tag as u32,
    }
}
