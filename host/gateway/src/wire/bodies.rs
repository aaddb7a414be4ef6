//! How many bytes of answers are in memory at once: of one call, of one server, of one plugin, of all.
//!
//! A server decides how large its answers are, and a plugin how many it asks for at once. Each
//! answer is counted from its first byte until the guest has it, at three places:
//!
//! - Its *call* has [`CALL_LIMIT`]. What would be more is refused: the guest would hold it all at
//!   once, and could ask for less.
//! - Its *server* has a number of bytes for what the plugin asks it, for which it waits in line: one that
//!   announces much and keeps it back holds up its own answers.
//! - Its *plugin* and *all* plugins have more, likewise. One plugin can't take more than half of all,
//!   and one server not more than half of that, so that the others' answers still come.
//!
//! Answers of ordinary size don't wait: the first [`FREE`] bytes of each are not counted. An
//! answer counts twice there, for what is made of it on its way: unpacked, masked or kept.
//!
//! Whoever waits may hold something already (the beginning of an answer whose length nobody said,
//! another answer to the same call), and all might wait for each other. So one call of each plugin
//! may go beyond the number: it comes to its end, and what it held is free. That one may wait for
//! something else that those behind it hold, so a call that goes first where it comes from
//! ([`Precedence`]) goes beyond as well. If the line still does not move, waiting ends after [`PATIENCE`].
//!
//! Servers may agree to announce much and keep it back. So an answer for whose space others wait has to move
//! ([`Movement`]), or is given up.
//!
//! Not counted is what one thread makes and drops without waiting in between, such as the text of
//! a line in a recording.

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::exchange::RESPONSE_LIMIT;
use crate::wire::fault::WireFault;

#[cfg(test)]
mod tests;

/// Bytes of the answers that one call may hold at once: two of the largest.
pub const CALL_LIMIT: usize = 2 * RESPONSE_LIMIT;

/// Bytes for all answers, each counted twice: eight of the largest.
const ALL: usize = 16 * RESPONSE_LIMIT;

/// Bytes for the answers of one plugin.
const OF_PLUGIN: usize = ALL / 2;

/// Bytes for the answers of one server to one plugin.
const OF_SERVER: usize = OF_PLUGIN / 2;

/// Servers of a plugin that are remembered, beyond those that answer at the moment.
const MOST_SERVERS: usize = 256;

/// The first bytes of an answer, which don't count.
const FREE: usize = 32 << 10;

/// By how much the space of an answer grows whose length nobody said.
const STEP: usize = 256 << 10;

/// Why taking from a semaphore can't fail.
const OPEN: &str = "nobody closes these semaphores";

/// Longest wait for space. A busy line moves many times a second.
const PATIENCE: Duration = Duration::from_mins(2);

/// How long an answer for whose space others wait may take for [`STEP`] bytes.
const STANDSTILL: Duration = Duration::from_secs(30);

/// How an answer moves that takes space.
#[derive(Debug)]
pub(crate) struct Movement {
    since: Instant,
    bytes: usize,
}

impl Movement {
    /// It begins.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            since: now,
            bytes: 0,
        }
    }

    /// When to look again whether it moves.
    pub(crate) fn due(&self) -> Instant {
        self.since + STANDSTILL
    }

    /// Takes in that so many bytes have come; says whether that was too slow.
    pub(crate) fn stands(&mut self, now: Instant, bytes: usize) -> bool {
        let has_moved = bytes >= self.bytes + STEP;
        let is_due = now >= self.due();
        if has_moved || is_due {
            (self.since, self.bytes) = (now, bytes);
        }
        is_due && !has_moved
    }
}

/// Who goes first where calls wait for each other.
pub trait Precedence: fmt::Debug + Send + Sync {
    /// Returns once nobody goes before this call, and it waits for nothing that others hold.
    fn first(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The answers of one call.
#[derive(Debug, Default)]
pub struct CallBodies {
    of_call: Mutex<OfCall>,
    precedence: Option<Arc<dyn Precedence>>,
    /// Tells those of its answers that wait that the call may go beyond.
    goes_beyond: Notify,
}

#[derive(Debug, Default)]
struct OfCall {
    bytes: usize,
    /// Of the answers that are on their way to the guest.
    done: Vec<Space>,
    beyond: Option<OwnedSemaphorePermit>,
    /// It goes first, and so beyond whatever others hold.
    is_first: bool,
}

impl CallBodies {
    /// Those of a call that goes first when `precedence` says so.
    pub fn of(precedence: Arc<dyn Precedence>) -> Self {
        Self {
            precedence: Some(precedence),
            ..Self::default()
        }
    }

    /// Waits until the call goes first; for ever if nobody says who does.
    async fn first(&self) {
        match &self.precedence {
            Some(precedence) => precedence.first().await,
            None => pending().await,
        }
    }

    fn go_first(&self) {
        self.lock().is_first = true;
        self.goes_beyond.notify_waiters();
    }

    /// Takes in that the guest has all answers that came until now.
    pub fn delivered(&self) {
        let mut of_call = self.lock();
        let done = std::mem::take(&mut of_call.done);
        of_call.bytes -= done.iter().map(|space| space.bytes).sum::<usize>();
        of_call.beyond = None;
    }

    /// Counts an answer of this call until the guest has it.
    pub(crate) fn keep(&self, mut space: Space) {
        // Else each would hold the other.
        space.call = None;
        self.lock().done.push(space);
    }

    /// Counts an answer of so many bytes that counted as `before`.
    fn count(&self, bytes: usize, before: usize) -> Result<(), WireFault> {
        let mut of_call = self.lock();
        let sum = of_call.bytes - before + bytes;
        if bytes > before && sum > CALL_LIMIT {
            return Err(WireFault::CallTooLarge { limit: CALL_LIMIT });
        }
        of_call.bytes = sum;
        Ok(())
    }

    fn may_go_beyond(&self) -> bool {
        let of_call = self.lock();
        of_call.is_first || of_call.beyond.is_some()
    }

    fn go_beyond(&self, permit: OwnedSemaphorePermit) {
        self.lock().beyond = Some(permit);
        self.goes_beyond.notify_waiters();
    }

    fn uncount(&self, bytes: usize) {
        self.lock().bytes -= bytes;
    }

    fn lock(&self) -> MutexGuard<'_, OfCall> {
        self.of_call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answers of all calls.
#[derive(Debug)]
pub(crate) struct Bodies {
    all: Arc<Semaphore>,
    /// Answers that wait for space.
    waiting: Arc<AtomicUsize>,
    plugins: Mutex<HashMap<String, Arc<OfPlugin>>>,
}

/// Who is asked for an answer, and by whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpaceOwner<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) server: &'a str,
}

#[derive(Debug)]
struct OfPlugin {
    bytes: Arc<Semaphore>,
    servers: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// Who has it may go beyond.
    beyond: Arc<Semaphore>,
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(ALL)),
            waiting: Arc::default(),
            plugins: Mutex::default(),
        }
    }
}

impl Bodies {
    /// Space for an answer to `call`.
    pub(crate) fn space(&self, owner: SpaceOwner<'_>, call: &Arc<CallBodies>) -> Space {
        let mut plugins = self.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        let of_plugin = plugins.entry(owner.plugin.to_owned()).or_insert_with(|| {
            Arc::new(OfPlugin {
                bytes: Arc::new(Semaphore::new(OF_PLUGIN)),
                servers: Mutex::default(),
                beyond: Arc::new(Semaphore::new(1)),
            })
        });
        let mut servers = of_plugin
            .servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A plugin may ask any number of servers, one after the other.
        if servers.len() >= MOST_SERVERS {
            servers.retain(|_, of_server| Arc::strong_count(of_server) > 1);
        }
        let of_server = servers
            .entry(owner.server.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(OF_SERVER)));
        Space {
            all: Arc::clone(&self.all),
            waiting: Arc::clone(&self.waiting),
            of_server: Arc::clone(of_server),
            of_plugin: Arc::clone(of_plugin),
            call: Some(Arc::clone(call)),
            bytes: 0,
            taken: None,
        }
    }
}

/// The space of one answer; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Space {
    all: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    of_server: Arc<Semaphore>,
    of_plugin: Arc<OfPlugin>,
    /// Whom it has yet to tell when it is dropped.
    call: Option<Arc<CallBodies>>,
    /// As its call counts it.
    bytes: usize,
    /// Of its server's bytes, of its plugin's, and of all.
    taken: Option<[OwnedSemaphorePermit; 3]>,
}

impl Space {
    /// Takes in that the answer has so many bytes, or will have; returns when there is space for them.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Result<(), WireFault> {
        self.count(bytes)?;
        self.reserve(bytes).await
    }

    /// Counts the answer as one of so many bytes, for its call.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), WireFault> {
        if let Some(call) = &self.call {
            call.count(bytes, self.bytes)?;
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Takes space for so many bytes, whatever the call counts.
    pub(crate) async fn reserve(&mut self, bytes: usize) -> Result<(), WireFault> {
        let Some(call) = self.call.clone() else {
            // It is on its way to the guest already, and grows no more.
            return Ok(());
        };
        // From here on a notice is not missed.
        let with_others = call.goes_beyond.notified();
        let Some(more) = self.lacking(bytes) else {
            return Ok(());
        };
        // First of its server's, then of its plugin's, then of all: what waits by a server's or a plugin's own
        // doing takes nothing from others meanwhile.
        let places = [&self.of_server, &self.of_plugin.bytes, &self.all].map(Arc::clone);
        let in_line = async {
            let [of_server, of_plugin, all] = places;
            [
                of_server.acquire_many_owned(more).await,
                of_plugin.acquire_many_owned(more).await,
                all.acquire_many_owned(more).await,
            ]
        };
        let beyond = Arc::clone(&self.of_plugin.beyond).acquire_owned();
        let _waits = SpaceWaiter::new(&self.waiting);
        tokio::select! {
            // In this order: ordinary space is taken where there is some, so that the one leave to go beyond
            // stays for a call that can't come to its end without it.
            biased;
            taken = in_line => self.take(taken.map(|permit| permit.expect(OPEN))),
            permit = beyond => call.go_beyond(permit.expect(OPEN)),
            () = call.first() => call.go_first(),
            () = with_others => {}
            () = tokio::time::sleep(PATIENCE) => return Err(WireFault::NoSpace),
        }
        Ok(())
    }

    /// Whether it takes space while others wait for some.
    pub(crate) fn holds_up_others(&self) -> bool {
        self.taken.is_some() && self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Takes space for so many bytes, if there is some at once.
    pub(crate) fn try_reserve(&mut self, bytes: usize) -> bool {
        let Some(more) = self.lacking(bytes) else {
            return true;
        };
        let places = [&self.of_server, &self.of_plugin.bytes, &self.all];
        match places.map(|place| Arc::clone(place).try_acquire_many_owned(more)) {
            [Ok(of_server), Ok(of_plugin), Ok(of_all)] => {
                self.take([of_server, of_plugin, of_all]);
                true
            }
            _ => false,
        }
    }

    /// Makes it an answer to `call` from now on.
    pub(crate) fn hand_over(&mut self, call: &Arc<CallBodies>) -> Result<(), WireFault> {
        call.count(self.bytes, 0)?;
        if let Some(former) = self.call.replace(Arc::clone(call)) {
            former.uncount(self.bytes);
        }
        Ok(())
    }

    /// What it takes to have space for so many bytes.
    fn lacking(&self, bytes: usize) -> Option<u32> {
        let counted = bytes.min(RESPONSE_LIMIT).saturating_sub(FREE);
        let wanted = 2 * counted.next_multiple_of(STEP);
        let taken = self
            .taken
            .as_ref()
            .map_or(0, |[taken, ..]| taken.num_permits());
        let free = self.call.as_ref().is_none_or(|call| call.may_go_beyond());
        if free || wanted <= taken {
            return None;
        }
        Some(u32::try_from(wanted - taken).expect("twice an answer fits into 32 bits"))
    }

    fn take(&mut self, more: [OwnedSemaphorePermit; 3]) {
        match &mut self.taken {
            Some(taken) => taken
                .iter_mut()
                .zip(more)
                .for_each(|(all, more)| all.merge(more)),
            none => *none = Some(more),
        }
    }
}

/// One that waits for space, until it is dropped.
struct SpaceWaiter(Arc<AtomicUsize>);

impl SpaceWaiter {
    fn new(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(waiting))
    }
}

impl Drop for SpaceWaiter {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            call.uncount(self.bytes);
        }
    }
}
