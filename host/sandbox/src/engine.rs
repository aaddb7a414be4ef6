//! The engine: its configuration, the pool of instances, and the thread that drives epochs.
//!
//! One engine for all plugins, with fuel *and* epochs compiled in. Fuel makes an assertion's
//! budget the same on every machine; epochs make a spinning guest give its thread back. The
//! road not taken is two engines, providers without fuel: twice the pool for a few per cent
//! of a provider's time, which is spent waiting anyway.
//!
//! The ticker is our own thread rather than a task: a runtime whose workers all spin in guests
//! would not run the task that interrupts them.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use crate::limits::{
    CORE_INSTANCES_PER_PLACE, EPOCH_TICK, HOST_STACK_BYTES, MAX_INSTANCES, MAX_MEMORY_BYTES,
    MAX_PLACES, MAX_TABLE_ELEMENTS, TABLES_PER_PLACE, WASM_STACK_BYTES,
};

/// The engine and the places in its pool.
pub(crate) struct Engine {
    wasmtime: wasmtime::Engine,
    /// For calls that the run makes.
    outer: Share,
    /// For calls that a suspended guest waits for. Apart, so that guests which hold all of
    /// `outer` cannot wait for each other.
    nested: Share,
    /// For nested calls of whoever goes first. Those that have a place may wait for memory, which
    /// comes free when the first has ended: it waits for none of their places.
    first: Semaphore,
    _ticker: Ticker,
}

/// The target that this program was built for, and builds code for.
pub fn target() -> String {
    target_lexicon::HOST.to_string()
}

/// Which machines of our target can run what is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machines {
    /// This one, with all that its processor has.
    This,
    /// Each: for code that travels.
    All,
}

/// A part of the pool.
struct Share {
    all: Semaphore,
    /// What plugins of others have of it together. One may take several places for each call, and wait for a
    /// server of its own for hours: the rest is for those that come with the program.
    of_others: Semaphore,
}

impl Share {
    fn new(places: u32) -> Self {
        Self {
            all: Semaphore::new(places as usize),
            of_others: Semaphore::new((places / 4 * 3).max(MAX_PLACES) as usize),
        }
    }

    async fn take(&self, places: u32, bundled: bool) -> PoolPlace<'_> {
        let of_others = if bundled {
            None
        } else {
            self.of_others.acquire_many(places).await.ok()
        };
        PoolPlace {
            _of_others: of_others,
            _permit: self.all.acquire_many(places).await.ok(),
        }
    }
}

/// What a call needs of the pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    /// At most [`MAX_PLACES`].
    pub(crate) places: u32,
    /// Another guest waits for it.
    pub(crate) nested: bool,
    /// The plugin comes with the program.
    pub(crate) bundled: bool,
}

/// One call's share of the pool, given back on drop.
pub(crate) struct PoolPlace<'a> {
    _of_others: Option<SemaphorePermit<'a>>,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Engine {
    /// An engine for `instances` at once, and as many for nested calls; at most [`MAX_INSTANCES`] in all.
    pub(crate) fn new(instances: u32, machines: Machines) -> wasmtime::Result<Arc<Self>> {
        let (outer_places, nested_places) = shares(instances);
        let mut config = config(outer_places + nested_places);
        if machines == Machines::All {
            // Named, the target has the processor extensions that each of its machines has, instead
            // of those of this one.
            config.target(&target())?;
        }
        let wasmtime = wasmtime::Engine::new(&config)?;
        let ticker = Ticker::start(wasmtime.clone())?;
        Ok(Arc::new(Self {
            wasmtime,
            outer: Share::new(outer_places),
            nested: Share::new(nested_places - MAX_PLACES),
            first: Semaphore::new(MAX_PLACES as usize),
            _ticker: ticker,
        }))
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.wasmtime
    }

    /// Waits until the pool has room; `goes_first` returns when a nested call need not wait for others.
    pub(crate) async fn place(
        &self,
        needs: Needs,
        goes_first: impl Future<Output = ()>,
    ) -> PoolPlace<'_> {
        let Needs {
            places,
            nested,
            bundled,
        } = needs;
        if !nested {
            return self.outer.take(places, bundled).await;
        }
        tokio::select! {
            biased;
            place = self.nested.take(places, bundled) => place,
            () = goes_first => PoolPlace {
                _of_others: None,
                _permit: self.first.acquire_many(places).await.ok(),
            },
        }
    }
}

/// Places in the pool that an instance with these needs takes.
pub(crate) fn places(memories: u32, tables: u32, core_instances: u32) -> u32 {
    memories
        .max(tables.div_ceil(TABLES_PER_PLACE))
        .max(core_instances.div_ceil(CORE_INSTANCES_PER_PLACE))
        .max(1)
}

/// Outer and nested places for a wish. Each has room for the largest plugin, the nested ones twice:
/// one is kept for who goes first. Each guest may wait for one nested call: as long as there are as many places
/// for these, calls that wait for a slow server hold up no others.
fn shares(instances: u32) -> (u32, u32) {
    let outer = instances.clamp(MAX_PLACES, MAX_INSTANCES - MAX_INSTANCES / 5);
    let nested = (outer + MAX_PLACES).max(2 * MAX_PLACES);
    (outer, nested.min(MAX_INSTANCES - outer))
}

fn config(places: u32) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(places)
        .total_core_instances(places * CORE_INSTANCES_PER_PLACE)
        .total_memories(places)
        .total_tables(places * TABLES_PER_PLACE)
        .total_stacks(places)
        .max_memory_size(MAX_MEMORY_BYTES as usize)
        .table_elements(MAX_TABLE_ELEMENTS)
        .linear_memory_keep_resident(KEPT_RESIDENT_BYTES)
        .table_keep_resident(KEPT_TABLE_BYTES)
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .cranelift_opt_level(OptLevel::Speed)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(WASM_STACK_BYTES + HOST_STACK_BYTES)
        .concurrency_support(false);
    config
}

/// Bytes of an instance's memory that are cleaned in place for the next one rather than given
/// back to the system. A Rust guest touches 41 kB a call; giving that back costs system calls,
/// page faults and interrupts of the other cores, together as much as the call itself (730 µs
/// of CPU for a case of four calls against 410). Linux 6.7 and later tell which pages are
/// dirty; before, this much is overwritten each time, so it must stay small.
const KEPT_RESIDENT_BYTES: usize = 256 << 10;

/// Bytes of an instance's table that are cleaned in place, which is always overwritten: 2,000
/// elements, a Rust guest has 100 to 300.
const KEPT_TABLE_BYTES: usize = 16 << 10;

/// Advances the epoch until dropped.
struct Ticker {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn start(engine: wasmtime::Engine) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let thread = std::thread::Builder::new()
            .name("wasm-epochs".into())
            .spawn(move || {
                while stopped.recv_timeout(EPOCH_TICK) == Err(RecvTimeoutError::Timeout) {
                    engine.increment_epoch();
                }
            })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It only panics if the engine does, which has then been reported already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt as _;

    use super::*;
    use crate::limits::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES};

    #[test]
    fn the_pool_stays_within_what_the_system_can_map() {
        for (wish, shares_of_it) in [
            (0, (4, 8)),
            (4, (4, 8)),
            (100, (100, 104)),
            (2_000, (2_000, 2_000)),
            (9_999, (3_200, 800)),
        ] {
            let (outer, nested) = shares(wish);
            assert_eq!((outer, nested), shares_of_it);
            assert!(outer + nested <= MAX_INSTANCES, "{wish}");
        }
    }

    #[test]
    fn large_components_take_several_places() {
        assert_eq!(places(1, 2, 16), 1);
        assert_eq!(places(0, 0, 0), 1);
        assert_eq!(places(3, 2, 5), 3);
        assert_eq!(places(1, 9, 5), 3);
        assert_eq!(places(1, 2, 17), 2);
        assert_eq!(
            places(MAX_MEMORIES, MAX_TABLES, MAX_CORE_INSTANCES),
            MAX_PLACES
        );
    }

    #[tokio::test]
    async fn a_nested_call_does_not_wait_for_its_caller() {
        let engine = Engine::new(1, Machines::This).expect("an engine");
        let _caller = engine.place(needs(MAX_PLACES, false), pending()).await;
        let _nested = engine.place(needs(1, true), pending()).await;
        assert_eq!(engine.outer.all.available_permits(), 0);
        assert_eq!(engine.nested.all.available_permits(), 3);
    }

    fn needs(places: u32, nested: bool) -> Needs {
        Needs {
            places,
            nested,
            bundled: true,
        }
    }

    #[tokio::test]
    async fn plugins_of_others_leave_places_to_those_of_the_program() {
        let engine = Engine::new(16, Machines::This).expect("an engine");
        for nested in [false, true] {
            let others = Needs {
                bundled: false,
                ..needs(MAX_PLACES, nested)
            };
            let mut held = Vec::new();
            while let Some(place) = engine.place(others, pending()).now_or_never() {
                held.push(place);
            }
            assert_eq!(held.len(), 3);
            assert!(
                engine
                    .place(needs(MAX_PLACES, nested), pending())
                    .now_or_never()
                    .is_some()
            );
        }
    }

    #[tokio::test]
    async fn who_goes_first_does_not_wait_for_the_places_of_others() {
        let engine = Engine::new(1, Machines::This).expect("an engine");
        let _others = engine.place(needs(MAX_PLACES, true), pending()).await;
        let waits = engine.place(needs(1, true), pending());
        assert!(waits.now_or_never().is_none());
        let _first = engine.place(needs(1, true), ready(())).await;
        assert_eq!(engine.first.available_permits(), 3);
    }
}
