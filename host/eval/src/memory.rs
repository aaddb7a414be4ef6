//! The memory that all cases in flight share.
//!
//! What one case holds is bounded where it is made: its variables, its prompt, the linear memory of
//! each component that works for it. With hundreds of cases in flight their sum could still be
//! more than a machine has, so every case has an account here, and what would go beyond
//! [`SHARED`] waits until others give back. It costs them time and no row. Cases of one provider hold three
//! quarters of it at most where there are others: a component may wait for a server of its own for hours.
//!
//! A case with a large prompt reserves what it will probably need before it asks anybody, so that
//! those that have begun can end. A component may still need more than anybody expected. Whoever
//! waits then holds something already, and all might wait for each other: so the case that began
//! first never waits. It comes to its end, and then another is the first. Nor does it wait for a
//! place for an instance, or for its answers ([`Account::first`]). It may wait for something else that a waiting case holds (its budget): so where
//! nothing at all was given back for [`STANDSTILL`], one of those that wait goes on.
//!
//! A case keeps its account until the store has its row: a store that is behind holds up those that
//! would come next. Variables of a case are there before it begins; where those of all that have not ended
//! take [`MAX_VARS`], further cases wait without theirs and are made again when their turn comes.
//!
//! An answer that waits to be compared with others of its row has no account: its case has ended,
//! and the others must not wait for it. Those of one row take at most [`MAX_ROW`]; while those of
//! all rows take more than [`MAX_WAITING`], no further case of such a row begins, so that rows come to their
//! end.
//!
//! What cases leave to later ones (the turns of a conversation, registers) stays for the whole run:
//! [`MAX_CARRIED`] together, beyond which a case leaves nothing.
//!
//! Prompts are known only when they are made: no more than a few cases are between their beginning and the
//! reservation for what they made (`turns`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runner_config::plan::CaseId;
use runner_gateway::Precedence;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use self::accounts::{AccountId, Accounts, Admitted};

mod accounts;
mod sizes;
mod turns;

use crate::providers::ProviderNumber;
use sizes::counted;
pub(crate) use sizes::{
    of_answer, of_case, of_fields, of_filled, of_given, of_grade, of_value, of_values, of_vars,
    of_waiting,
};
pub(crate) use turns::MakingTurn;
use turns::Turns;

/// Bytes that cases in flight hold together before one of them waits.
pub(crate) const SHARED: u64 = 2 << 30;

/// How long nothing is given back before one that waits goes on all the same.
const STANDSTILL: Duration = Duration::from_secs(30);

/// Bytes that the variables of all cases may take that were made and have not ended, before
/// another case waits without its own.
const MAX_VARS: u64 = SHARED / 4;

/// Bytes that the answers of one row may take that are compared with each other.
pub(crate) const MAX_ROW: u64 = SHARED / 4;

/// Bytes that answers may take that wait to be compared, before another such case begins.
const MAX_WAITING: u64 = SHARED / 4;

/// Bytes that cases may leave to later ones.
pub(crate) const MAX_CARRIED: u64 = SHARED / 4;

/// And of these, what the rows of all data files leave.
const MOST_OF_FILES: u64 = MAX_CARRIED / 4 * 3;

type Wakeup = oneshot::Sender<()>;

/// The memory of a run.
#[derive(Debug)]
pub(crate) struct Memory {
    accounts: Mutex<Accounts<Wakeup>>,
    turns: Turns,
    /// Told when another case may be the first.
    closed: Notify,
    /// What answers take that wait to be compared; by test, which is a row.
    compared: Mutex<HashMap<u32, u64>>,
    /// What cases left to later ones.
    /// By the data file of their tests; `None`: the config's own.
    carried: Mutex<HashMap<Option<PathBuf>, u64>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::of(false)
    }
}

impl Memory {
    /// The memory of a run of one provider, or of several, which share it.
    pub(crate) fn of(shared: bool) -> Self {
        Self {
            accounts: Mutex::new(Accounts::new(SHARED, shared)),
            turns: Turns::new(shared),
            closed: Notify::new(),
            compared: Mutex::default(),
            carried: Mutex::default(),
        }
    }

    /// Waits for the turn to make what a case of this provider consists of. Who waits here has no account yet,
    /// so that the case that began first is never one of them.
    pub(crate) async fn making(&self, provider: ProviderNumber) -> MakingTurn<'_> {
        self.turns.take(provider).await
    }

    /// Opens the account of a case of this provider, or of calls that belong to no case; younger than all
    /// that there are.
    pub(crate) fn open(self: &Arc<Self>, provider: Option<ProviderNumber>) -> Arc<Account> {
        Arc::new(Account {
            id: self.lock().open(provider),
            memory: self.clone(),
        })
    }

    /// Counts values that stay for later cases of tests `of` this data file, or of the config; `false`, and
    /// they count nothing, if there is no room for them. A file has half of what the others leave, so that
    /// none takes it all, and all files together leave a quarter to the config.
    pub(crate) fn carry<'a>(
        &self,
        of: Option<&Path>,
        values: impl IntoIterator<Item = &'a Value>,
    ) -> bool {
        let bytes: u64 = values.into_iter().map(of_value).sum();
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        let all: u64 = carried.values().sum();
        let of_config = carried.get(&None).copied().unwrap_or_default();
        let own = carried.entry(of.map(Path::to_owned)).or_default();
        let left = MAX_CARRIED - (all - *own);
        let room = if of.is_some() {
            let of_other_files = all - of_config - *own;
            (left / 2).min(MOST_OF_FILES.saturating_sub(of_other_files))
        } else {
            left
        };
        let fits = *own + bytes <= room;
        if fits {
            *own += bytes;
        }
        fits
    }

    /// Counts an answer that takes so much while it waits for the others of its row; `false` if they would
    /// take too much.
    pub(crate) fn keep_answer(&self, row: u32, bytes: u64) -> bool {
        let mut compared = self.compared();
        let kept = compared.entry(row).or_default();
        let sum = *kept + bytes;
        let fits = sum <= MAX_ROW;
        if fits {
            *kept = sum;
        }
        fits
    }

    /// Takes in that the answers of a row wait no longer.
    pub(crate) fn release_answers(&self, row: u32) {
        self.compared().remove(&row);
    }

    /// Whether so much waits to be compared that no further such case should begin.
    pub(crate) fn waits_for_rows(&self) -> bool {
        self.compared().values().sum::<u64>() > MAX_WAITING
    }

    fn compared(&self) -> MutexGuard<'_, HashMap<u32, u64>> {
        self.compared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Accounts<Wakeup>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who have what they waited for. Who no longer waits gives it back at once, which
    /// may be enough for the next.
    fn wake(&self, mut served: Vec<Admitted<Wakeup>>) {
        while let Some(one) = served.pop() {
            if one.wake.send(()).is_err() {
                served.extend(self.lock().give_back(one.account, one.bytes));
            }
        }
    }
}

/// What one case holds; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Account {
    id: AccountId,
    memory: Arc<Memory>,
}

impl Account {
    /// Sets so many bytes aside for what the case will take; waits for as long as others hold too
    /// much.
    pub(crate) async fn reserve(&self, bytes: u64) {
        let woken = {
            let mut accounts = self.memory.lock();
            accounts.reserve(self.id, bytes);
            // What is set aside counts from the next that the account takes on, be it nothing.
            if accounts.try_take(self.id, 0) {
                return;
            }
            let (wake, woken) = oneshot::channel();
            accounts.wait(self.id, 0, wake);
            woken
        };
        // Without a limit of time, unlike `take`: a case that has asked nobody yet holds nothing that one at
        // work waits for, and it is the oldest at last.
        woken.await.expect("an account that is open is served");
    }

    /// Takes so many bytes; waits where others hold too much.
    pub(crate) async fn take(&self, bytes: u64) {
        let (mut woken, mut seen) = {
            let mut accounts = self.memory.lock();
            if accounts.try_take(self.id, bytes) {
                return;
            }
            let (wake, woken) = oneshot::channel();
            accounts.wait(self.id, bytes, wake);
            (woken, accounts.moves())
        };
        while tokio::time::timeout(STANDSTILL, &mut woken).await.is_err() {
            let served = self.memory.lock().unblock(&mut seen);
            self.memory.wake(served);
        }
    }

    /// Takes so many bytes until what is returned is dropped.
    pub(crate) async fn hold(&self, bytes: u64) -> HeldBytes<'_> {
        let bytes = counted(bytes);
        if bytes > 0 {
            self.take(bytes).await;
        }
        HeldBytes {
            account: self,
            bytes,
        }
    }

    /// Returns when others leave room for more than the case holds.
    pub(crate) async fn room(&self) {
        self.take(1).await;
        self.give_back(1);
    }

    /// Whether others leave room for more than the case holds, now.
    pub(crate) fn has_room(&self) -> bool {
        self.memory.lock().may_take(self.id, 1)
    }

    /// Returns when nobody began before: then the case waits for no memory, and should wait for
    /// nothing that others hold who do.
    pub(crate) async fn first(&self) {
        loop {
            let closed = self.memory.closed.notified();
            if self.memory.lock().is_first(self.id) {
                return;
            }
            closed.await;
        }
    }

    /// Counts bytes that are there already.
    pub(crate) fn add(&self, bytes: u64) {
        self.memory.lock().add(self.id, bytes);
    }

    /// Gives back bytes that were taken.
    pub(crate) fn give_back(&self, bytes: u64) {
        let served = self.memory.lock().give_back(self.id, bytes);
        self.memory.wake(served);
    }
}

impl Precedence for Account {
    fn first(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Self::first(self))
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let served = self.memory.lock().close(self.id);
        self.memory.wake(served);
        self.memory.closed.notify_waiters();
    }
}

/// Bytes that were taken for a while.
#[derive(Debug)]
pub(crate) struct HeldBytes<'a> {
    account: &'a Account,
    bytes: u64,
}

impl Drop for HeldBytes<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.account.give_back(self.bytes);
        }
    }
}

/// What the variables of cases take that were made and have not ended.
#[derive(Debug, Default)]
pub(crate) struct VariableMemory {
    large: HashMap<CaseId, u64>,
}

impl VariableMemory {
    /// Takes in that a case came whose variables take so much.
    pub(crate) fn came(&mut self, id: CaseId, bytes: u64) {
        let bytes = counted(bytes);
        if bytes > 0 {
            self.large.insert(id, bytes);
        }
    }

    /// Takes in that it has ended.
    pub(crate) fn ended(&mut self, id: CaseId) {
        self.large.remove(&id);
    }

    /// Whether another one waits without its variables.
    pub(crate) fn is_full(&self) -> bool {
        self.large.values().sum::<u64>() > MAX_VARS
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    fn accounts<const N: usize>() -> [Arc<Account>; N] {
        let memory = Arc::new(Memory::default());
        [(); N].map(|()| memory.open(None))
    }

    #[tokio::test]
    async fn who_waits_goes_on_when_another_ends() {
        let [first, second, third] = accounts();
        second.take(SHARED).await;
        let mut waits = Box::pin(third.take(1));
        assert!(poll!(&mut waits).is_pending());
        // The first never waits.
        first.take(SHARED).await;
        drop(second);
        assert!(poll!(&mut waits).is_pending());
        drop(first);
        waits.await;
    }

    #[tokio::test]
    async fn who_comes_first_hears_so_when_those_before_have_ended() {
        let [first, second, third] = accounts();
        first.first().await;
        let mut becomes = Box::pin(third.first());
        assert!(poll!(&mut becomes).is_pending());
        drop(first);
        assert!(poll!(&mut becomes).is_pending());
        drop(second);
        becomes.await;
    }

    #[tokio::test]
    async fn what_is_reserved_is_there_when_it_is_taken() {
        let [_first, second, third] = accounts();
        second.reserve(SHARED / 2).await;
        third.reserve(SHARED / 2).await;
        second.take(SHARED / 4).await;
        second.take(SHARED / 4).await;
        let mut waits = Box::pin(second.take(1));
        assert!(poll!(&mut waits).is_pending());
        drop(third);
        waits.await;
    }

    #[tokio::test]
    async fn who_stopped_waiting_leaves_it_to_the_next() {
        let [_first, second, third, fourth] = accounts();
        second.take(SHARED).await;
        let mut in_vain = Box::pin(third.take(SHARED));
        let mut waits = Box::pin(fourth.take(SHARED));
        assert!(poll!(&mut in_vain).is_pending());
        assert!(poll!(&mut waits).is_pending());
        drop(in_vain);
        second.give_back(SHARED);
        waits.await;
    }

    #[test]
    fn what_variables_take_counts_until_their_cases_end() {
        let bytes = 200 << 20;
        let id = |test_idx| CaseId {
            test_idx,
            prompt_idx: 0,
        };
        let mut made = VariableMemory::default();
        (0..2).for_each(|row| made.came(id(row), bytes));
        assert!(!made.is_full());
        made.came(id(2), bytes);
        assert!(made.is_full());
        made.ended(id(0));
        assert!(!made.is_full());
    }

    #[test]
    fn answers_that_wait_count_until_their_row_is_compared() {
        let memory = Memory::default();
        let third = MAX_ROW / 3;
        let kept: Vec<bool> = (0..4).map(|_| memory.keep_answer(7, third)).collect();
        assert_eq!(kept, [true, true, true, false]);
        assert!(!memory.waits_for_rows());
        assert!(memory.keep_answer(8, third));
        assert!(memory.waits_for_rows());
        memory.release_answers(7);
        assert!(!memory.waits_for_rows());
        assert!(memory.keep_answer(7, third));
    }

    #[test]
    fn what_is_left_to_later_cases_has_a_bound() {
        let memory = Memory::default();
        let value = |bytes: u64| Value::from("x".repeat(bytes as usize));
        let most = value(MAX_CARRIED - size_of::<Value>() as u64);
        assert!(!memory.carry(None, [&most, &Value::Null]));
        assert!(memory.carry(None, [&most]));
        assert!(!memory.carry(None, [&Value::Null]));
    }

    #[test]
    fn no_data_file_takes_all_the_room_of_others() {
        let memory = Memory::default();
        let (one, other) = (Some(Path::new("one")), Some(Path::new("other")));
        let quarter = Value::from("x".repeat((MAX_CARRIED / 4) as usize - 1000));
        let kept: Vec<bool> = (0..3).map(|_| memory.carry(one, [&quarter])).collect();
        assert_eq!(kept, [true, true, false]);
        assert!(memory.carry(other, [&quarter]));
        assert!(!memory.carry(other, [&quarter]));
        let tenth = Value::from("x".repeat((MAX_CARRIED / 10) as usize));
        for file in ["a", "b", "c"] {
            assert!(!memory.carry(Some(Path::new(file)), [&tenth]), "{file}");
        }
        assert!(memory.carry(None, [&quarter]));
    }

    #[tokio::test(start_paused = true)]
    async fn where_nothing_moves_one_goes_on() {
        let [_first, second, third, fourth] = accounts();
        second.take(SHARED).await;
        let begun = tokio::time::Instant::now();
        let waited = async |account: &Account| {
            account.take(1).await;
            begun.elapsed()
        };
        let (third, fourth) = tokio::join!(waited(&third), waited(&fourth));
        assert_eq!(third.as_secs(), STANDSTILL.as_secs());
        assert_eq!(fourth.as_secs(), 2 * STANDSTILL.as_secs());
    }
}
