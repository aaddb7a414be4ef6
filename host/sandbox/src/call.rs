//! One call of one guest function: a fresh store, its limits, and what comes of it.
//!
//! A call owns everything it uses, so dropping its future drops the instance: that is the
//! only way a guest is cancelled. The wall-clock limit is the caller's (it knows what waiting
//! counts); CPU, memory, stack, data and counts are enforced here. What its WASI leads to is put
//! together in `linking`.

pub(crate) mod linking;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use wasmtime::component::{
    ComponentExportIndex, ComponentNamedList, InstancePre, Lift, Lower, ResourceTable,
};
use wasmtime::{ResourceLimiterAsync, Store, UpdateDeadline};

use crate::abi;
use crate::crashes::InputOf;
use crate::effects::Effects;
use crate::engine::{Engine, Needs};
use crate::host::Host;
use crate::limits::{
    CallLimits, MAX_CROSSING_BYTES, MAX_HANDLES, MAX_TABLE_ELEMENTS, UNASKED_MEMORY_BYTES,
};
use crate::log::LogSink;
use crate::meter::Meter;
use crate::notice::{Finding, MessageCode};
use crate::trap::{self, Circumstances, OverGuestTime};
use crate::wasi::{Requests, VirtualWasi};

/// What a call is made with.
#[derive(Clone)]
pub struct Call {
    /// The world as this call sees it, with this plugin's grants.
    pub host: Arc<dyn Host>,
    /// What it may use.
    pub limits: CallLimits,
    /// The call is made on behalf of a guest that is itself suspended (`llm.complete`). It
    /// draws on instances kept for this, so that it never waits for its own caller; and may not
    /// call models itself.
    pub nested: bool,
    /// Whose input it works on.
    pub input: InputOf,
}

/// A call's answer and what it cost.
#[derive(Debug, Clone)]
pub struct CallOutcome<T> {
    /// The answer, or why there is none.
    pub result: Result<T, crate::CallError>,
    /// Cost, also of a call that failed.
    pub usage: CallUsage,
    /// Of a guest that crashed: why the host refused what it asked for last, if it did.
    pub(crate) refusal: Option<abi::Error>,
}

impl<T> CallOutcome<Result<T, abi::Error>> {
    /// Of a guest that crashed when the host had refused it something, the answer is the host's error: there is
    /// nothing to report to its author.
    pub(crate) fn or_refused(mut self) -> Self {
        if let Some(refusal) = self.refusal.take() {
            self.result = Ok(Err(refusal));
        }
        self
    }
}

impl<T> CallOutcome<T> {
    /// Converts the answer; the cost stays.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> CallOutcome<U> {
        CallOutcome {
            result: self.result.map(convert),
            usage: self.usage,
            refusal: self.refusal,
        }
    }
}

/// What a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallUsage {
    /// Time in guest code, without host calls: an upper bound of its CPU time.
    pub guest_cpu: Duration,
    /// Most linear memory at any moment, in bytes.
    pub peak_memory: u64,
    /// Fuel, about one unit an instruction; the same on every machine.
    pub fuel: u64,
    /// HTTP requests it made, refused ones included.
    pub http_calls: u32,
    /// Model calls and embeddings it made, refused ones included.
    pub llm_calls: u32,
}

/// What is behind a guest while it runs.
pub(crate) struct CallState {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) log: LogSink,
    pub(crate) effects: Arc<Effects>,
    /// Responses that the guest reads while they come.
    pub(crate) exchanges: ResourceTable,
    memory: Memory,
    /// Seeds the random numbers of virtual WASI: same id, same numbers.
    call_id: String,
    wasi: Option<Box<VirtualWasi>>,
}

impl CallState {
    fn new(call: &Call, call_id: &str) -> Self {
        let meter = Arc::new(Meter::new());
        let mut exchanges = ResourceTable::new();
        exchanges.set_max_capacity(MAX_HANDLES);
        Self {
            host: Arc::clone(&call.host),
            meter: Arc::clone(&meter),
            log: LogSink::new(Arc::clone(&call.host)),
            effects: Arc::new(Effects::new(call.limits, call.nested)),
            exchanges,
            memory: Memory {
                limit: call.limits.memory,
                now: 0,
                peak: 0,
                taken: 0,
                refused: None,
                host: Arc::clone(&call.host),
                meter,
            },
            call_id: call_id.to_owned(),
            wasi: None,
        }
    }

    /// Returns the WASI of this call, made at first use.
    fn wasi(&mut self) -> &mut VirtualWasi {
        self.wasi.get_or_insert_with(|| {
            let (host, meter) = (Arc::clone(&self.host), Arc::clone(&self.meter));
            let requests = Requests::new(host, meter, Arc::clone(&self.effects), self.log.clone());
            Box::new(VirtualWasi::new(&self.call_id, &self.log, requests))
        })
    }
}

/// Linear memory of a call, over all its memories. Remembers a refusal: to the guest it is an
/// allocation that failed, after which it aborts in a way that looks like any other crash.
struct Memory {
    limit: u64,
    now: u64,
    peak: u64,
    /// Of the host.
    taken: u64,
    refused: Option<u64>,
    host: Arc<dyn Host>,
    meter: Arc<Meter>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.host.free_memory(self.taken);
        }
    }
}

#[async_trait]
impl ResourceLimiterAsync for Memory {
    async fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.now + (desired - current) as u64;
        if wanted > self.limit {
            self.refused = Some(wanted);
            return Ok(false);
        }
        let more = wanted.saturating_sub(UNASKED_MEMORY_BYTES + self.taken);
        if more > 0 {
            self.meter.outside(self.host.take_memory(more)).await;
            self.taken += more;
        }
        self.now = wanted;
        self.peak = self.peak.max(wanted);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.refused = self.refused.or(Some(self.now));
        Ok(())
    }

    async fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE_ELEMENTS)
    }
}

/// What a plugin is instantiated from.
pub(crate) struct Ready {
    pub(crate) engine: Arc<Engine>,
    pub(crate) pre: InstancePre<CallState>,
    /// Places in the pool that one instance takes.
    pub(crate) places: u32,
    /// The plugin comes with the program.
    pub(crate) is_bundled: AtomicBool,
}

/// What a call returned, before it is known which plugin's message it becomes.
pub(crate) struct Returned<R> {
    pub(crate) result: Result<R, Finding>,
    pub(crate) usage: CallUsage,
    /// As [`CallOutcome`] has it.
    pub(crate) refusal: Option<abi::Error>,
}

/// Instantiates, calls `export`, and drops the instance. `call_id` is that of the case's context.
pub(crate) async fn run<P, R>(
    ready: &Ready,
    call: &Call,
    call_id: &str,
    export: &ComponentExportIndex,
    params: P,
) -> Returned<R>
where
    P: ComponentNamedList + Lower + Send + Sync,
    R: ComponentNamedList + Lift + Send + Sync + 'static,
{
    let first = call.host.goes_first();
    let needs = Needs {
        places: ready.places,
        nested: call.nested,
        bundled: ready.is_bundled.load(Ordering::Relaxed),
    };
    let _place = ready.engine.place(needs, first).await;
    let mut store = store(ready, call, call_id);
    let meter = Arc::clone(&store.data().meter);
    let result = meter
        .inside(call.limits.guest_time, async {
            let instance = ready.pre.instantiate_async(&mut store).await?;
            let function = instance.get_typed_func::<P, R>(&mut store, export)?;
            function.call_async(&mut store, params).await
        })
        .await;
    finish(store, call, result)
}

fn store(ready: &Ready, call: &Call, call_id: &str) -> Store<CallState> {
    let mut store = Store::new(ready.engine.wasmtime(), CallState::new(call, call_id));
    store.limiter_async(|state| &mut state.memory);
    store.set_hostcall_fuel(MAX_CROSSING_BYTES);
    store
        .set_fuel(call.limits.fuel.unwrap_or(u64::MAX))
        .expect("the engine is configured with fuel");
    store.set_epoch_deadline(1);
    let limit = call.limits.guest_time;
    store.epoch_deadline_callback(move |context| {
        let meter = &context.data().meter;
        if meter.spent() > limit {
            return Err(OverGuestTime.into());
        }
        meter.yields();
        Ok(UpdateDeadline::Yield(1))
    });
    store
}

fn finish<R>(store: Store<CallState>, call: &Call, result: wasmtime::Result<R>) -> Returned<R> {
    let fuel_left = store.get_fuel().unwrap_or(0);
    let state = store.data();
    let usage = CallUsage {
        guest_cpu: state.meter.spent(),
        peak_memory: state.memory.peak,
        fuel: call
            .limits
            .fuel
            .unwrap_or(u64::MAX)
            .saturating_sub(fuel_left),
        http_calls: state.effects.http_calls(),
        llm_calls: state.effects.llm_calls(),
    };
    let refused = state.memory.refused;
    let refusal = state.effects.refusal();
    let log = state.log.clone();
    // Standard error without a final line feed becomes a line when its stream is dropped.
    drop(store);
    let result = result.map_err(|error| {
        trap::finding(
            &error,
            &Circumstances {
                limits: call.limits,
                refused,
                words: log.words(),
            },
        )
    });
    log.finish();
    let has_crashed = matches!(&result, Err(finding) if finding.code == MessageCode::C101);
    Returned {
        result,
        usage,
        refusal: refusal.filter(|_| has_crashed),
    }
}
