//! Who holds how much, and who waits: what is decided, without a clock.

use std::collections::BTreeMap;

/// Names an account; a later one is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AccountId(u64);

/// What one account holds.
#[derive(Debug, Default, Clone, Copy)]
struct Holding {
    /// `None`: it is nobody's, and takes of no share.
    owner: Option<u32>,
    /// Set aside for what it will take.
    reserved: u64,
    taken: u64,
    /// The larger of both once nobody had to wait for it.
    counted: u64,
}

/// The accounts of a run; each that waits is woken by a `W`.
#[derive(Debug)]
pub(super) struct Accounts<W> {
    limit: u64,
    /// What the accounts of each owner hold together; of those who ever had one.
    of_owners: BTreeMap<u32, u64>,
    /// More than one owner is expected.
    shared: bool,
    /// What all hold.
    held: u64,
    opened: u64,
    /// The one that began first comes first.
    open: BTreeMap<AccountId, Holding>,
    /// In the order in which they are served: by account, then as they came.
    waiting: BTreeMap<(AccountId, u64), (u64, W)>,
    waited: u64,
    /// How often something was given back, or somebody served.
    moves: u64,
}

/// One that waited and has its bytes now.
#[derive(Debug)]
pub(super) struct Admitted<W> {
    pub(super) account: AccountId,
    pub(super) bytes: u64,
    pub(super) wake: W,
}

impl<W> Accounts<W> {
    pub(super) fn new(limit: u64, shared: bool) -> Self {
        Self {
            limit,
            of_owners: BTreeMap::new(),
            shared,
            held: 0,
            opened: 0,
            open: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waited: 0,
            moves: 0,
        }
    }

    pub(super) fn open(&mut self, owner: Option<u32>) -> AccountId {
        let id = AccountId(self.opened);
        self.opened += 1;
        if let Some(owner) = owner {
            self.of_owners.entry(owner).or_default();
        }
        let holding = Holding {
            owner,
            ..Holding::default()
        };
        self.open.insert(id, holding);
        id
    }

    /// Has an account count as at least so many bytes from the next that it takes on.
    pub(super) fn reserve(&mut self, id: AccountId, bytes: u64) {
        if let Some(own) = self.open.get_mut(&id) {
            // Never less than before: what it has taken on already may rest on that.
            own.reserved = own.reserved.max(bytes);
        }
    }

    /// Takes bytes if they are free, or if nobody began before.
    pub(super) fn try_take(&mut self, id: AccountId, bytes: u64) -> bool {
        let may = self.may_take(id, bytes);
        if may {
            self.add(id, bytes);
        }
        may
    }

    /// Takes bytes, whatever others hold.
    pub(super) fn add(&mut self, id: AccountId, bytes: u64) {
        if let Some(own) = self.open.get_mut(&id) {
            own.taken += bytes;
            let before = std::mem::replace(&mut own.counted, own.taken.max(own.reserved));
            for held in of_both(&mut self.held, &mut self.of_owners, own.owner) {
                *held = *held - before + own.counted;
            }
        }
    }

    /// Has an account wait for bytes.
    pub(super) fn wait(&mut self, id: AccountId, bytes: u64, wake: W) {
        self.waiting.insert((id, self.waited), (bytes, wake));
        self.waited += 1;
    }

    /// Takes bytes from an account; who has what it waited for now.
    pub(super) fn give_back(&mut self, id: AccountId, bytes: u64) -> Vec<Admitted<W>> {
        if let Some(own) = self.open.get_mut(&id) {
            own.taken = own.taken.saturating_sub(bytes);
            let left = own.taken.max(own.reserved).min(own.counted);
            let before = std::mem::replace(&mut own.counted, left);
            for held in of_both(&mut self.held, &mut self.of_owners, own.owner) {
                *held -= before - left;
            }
        }
        self.moves += 1;
        self.serve()
    }

    /// Ends an account, which holds nothing and waits for nothing from now on; who has what it
    /// waited for now.
    pub(super) fn close(&mut self, id: AccountId) -> Vec<Admitted<W>> {
        if let Some(own) = self.open.remove(&id) {
            for held in of_both(&mut self.held, &mut self.of_owners, own.owner) {
                *held -= own.counted;
            }
        }
        self.waiting.retain(|(waits, _), _| *waits != id);
        self.moves += 1;
        self.serve()
    }

    /// How often something was given back, or somebody served.
    pub(super) fn moves(&self) -> u64 {
        self.moves
    }

    /// Serves the first that waits if nothing has moved since `seen`, which is brought up to date.
    pub(super) fn unblock(&mut self, seen: &mut u64) -> Vec<Admitted<W>> {
        let stands = self.moves == *seen;
        let first = self.waiting.first_key_value().map(|(key, _)| *key);
        let served = first.filter(|_| stands).and_then(|key| self.served(key));
        *seen = self.moves;
        served.into_iter().collect()
    }

    /// Serves whatever fits, the oldest account first. One that does not fit holds up nobody: it
    /// becomes the oldest at last, and then need not fit.
    fn serve(&mut self) -> Vec<Admitted<W>> {
        let mut served = Vec::new();
        let mut next = self.waiting.first_key_value().map(|(key, _)| *key);
        while let Some(key) = next {
            let (account, came) = key;
            if self.may_take(account, self.waiting[&key].0) {
                served.extend(self.served(key));
            }
            let mut later = self.waiting.range((account, came + 1)..);
            next = later.next().map(|(key, _)| *key);
        }
        served
    }

    fn served(&mut self, key: (AccountId, u64)) -> Option<Admitted<W>> {
        let (bytes, wake) = self.waiting.remove(&key)?;
        self.add(key.0, bytes);
        self.moves += 1;
        Some(Admitted {
            account: key.0,
            bytes,
            wake,
        })
    }

    /// Whether nobody who has an account began before.
    pub(super) fn is_first(&self, id: AccountId) -> bool {
        self.open.keys().next() == Some(&id)
    }

    /// Whether bytes are free, or nobody began before.
    pub(super) fn may_take(&self, id: AccountId, bytes: u64) -> bool {
        let Some(own) = self.open.get(&id) else {
            return false;
        };
        let after = (own.taken + bytes).max(own.reserved);
        let fits = |held: u64, limit: u64| held - own.counted + after <= limit;
        self.is_first(id)
            || after <= own.counted
            || fits(self.held, self.limit)
                && own
                    .owner
                    .is_none_or(|owner| fits(self.of_owners[&owner], self.share()))
    }

    /// The most that one owner holds. Some is left to others, who may come later, and of whom this one may not
    /// give back anything for hours.
    fn share(&self) -> u64 {
        match self.of_owners.len() {
            0 | 1 if !self.shared => self.limit,
            _ => self.limit / 4 * 3,
        }
    }
}

/// What all hold, and what an owner does.
fn of_both<'a>(
    all: &'a mut u64,
    of_owners: &'a mut BTreeMap<u32, u64>,
    owner: Option<u32>,
) -> impl Iterator<Item = &'a mut u64> {
    let of_owner = owner.map(|owner| of_owners.entry(owner).or_default());
    std::iter::once(all).chain(of_owner)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const LIMIT: u64 = 100;
    const OWNERS: u32 = 2;

    #[derive(Debug, Clone)]
    enum Step {
        Open(u32),
        Reserve(usize, u64),
        Take(usize, u64),
        GiveBack(usize, u64),
        Close(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let bytes = 1..=2 * LIMIT;
        let step = prop_oneof![
            2 => (0..OWNERS).prop_map(Step::Open),
            4 => (any::<usize>(), bytes.clone()).prop_map(|(at, bytes)| Step::Take(at, bytes)),
            1 => (any::<usize>(), bytes.clone()).prop_map(|(at, bytes)| Step::Reserve(at, bytes)),
            2 => (any::<usize>(), bytes).prop_map(|(at, bytes)| Step::GiveBack(at, bytes)),
            2 => any::<usize>().prop_map(Step::Close),
        ];
        prop::collection::vec(step, 0..200)
    }

    /// Accounts under test, and what must hold of them.
    struct Model {
        accounts: Accounts<usize>,
        open: Vec<AccountId>,
        waiting: BTreeSet<usize>,
        /// Who was the oldest when it took something.
        beyond: BTreeSet<AccountId>,
    }

    impl Model {
        fn step(&mut self, number: usize, step: &Step) {
            let served = match *step {
                Step::Open(owner) => {
                    self.open.push(self.accounts.open(Some(owner)));
                    Vec::new()
                }
                Step::Reserve(which, bytes) => {
                    let Some(id) = self.at(which) else { return };
                    self.accounts.reserve(id, bytes);
                    self.take(number, id, 0)
                }
                Step::Take(which, bytes) => {
                    let Some(id) = self.at(which) else { return };
                    self.take(number, id, bytes)
                }
                Step::GiveBack(which, bytes) => {
                    let Some(id) = self.at(which) else { return };
                    self.accounts.give_back(id, bytes)
                }
                Step::Close(which) => {
                    let Some(id) = self.at(which) else { return };
                    self.open.retain(|one| *one != id);
                    self.beyond.remove(&id);
                    for ((waits, _), (_, number)) in &self.accounts.waiting {
                        if *waits == id {
                            self.waiting.remove(number);
                        }
                    }
                    self.accounts.close(id)
                }
            };
            for one in served {
                assert!(self.waiting.remove(&one.wake), "it is served once");
                self.took(one.account);
            }
        }

        fn at(&self, which: usize) -> Option<AccountId> {
            (!self.open.is_empty()).then(|| self.open[which % self.open.len()])
        }

        fn take(&mut self, number: usize, id: AccountId, bytes: u64) -> Vec<Admitted<usize>> {
            if self.accounts.try_take(id, bytes) {
                self.took(id);
            } else {
                assert_ne!(self.open.first(), Some(&id), "the oldest never waits");
                self.accounts.wait(id, bytes, number);
                self.waiting.insert(number);
            }
            Vec::new()
        }

        fn took(&mut self, id: AccountId) {
            if self.open.first() == Some(&id) {
                self.beyond.insert(id);
            }
        }

        fn holds(&self) {
            let accounts = &self.accounts;
            let counted = |own: &Holding| own.counted;
            assert_eq!(
                accounts.held,
                accounts.open.values().map(counted).sum::<u64>()
            );
            for own in accounts.open.values() {
                assert!(own.counted >= own.taken);
            }
            let over = self.beyond.iter().map(|id| accounts.open[id].counted);
            let over = over.sum::<u64>();
            assert!(accounts.held <= LIMIT + over);
            for (owner, held) in &accounts.of_owners {
                let own = accounts
                    .open
                    .values()
                    .filter(|own| own.owner == Some(*owner));
                assert_eq!(*held, own.map(counted).sum::<u64>());
                assert!(*held <= accounts.share() + over);
            }
            for ((id, _), (bytes, _)) in &accounts.waiting {
                assert!(!accounts.may_take(*id, *bytes), "nobody waits who need not");
            }
            assert_eq!(accounts.waiting.len(), self.waiting.len());
        }
    }

    #[test]
    fn one_owner_leaves_something_to_others() {
        let mut accounts: Accounts<()> = Accounts::new(LIMIT, true);
        let [first, second, third] = [0, 0, 1].map(|owner| accounts.open(Some(owner)));
        assert!(accounts.try_take(first, 50));
        assert!(!accounts.try_take(second, 30));
        assert!(accounts.try_take(third, 30));
        let mut alone: Accounts<()> = Accounts::new(LIMIT, false);
        // A call that belongs to the run and to no case makes no second owner.
        alone.open(None);
        let [first, second] = [0, 0].map(|owner| alone.open(Some(owner)));
        assert!(alone.try_take(first, 50) && alone.try_take(second, 50));
    }

    proptest! {
        /// Beyond the limit is only what those hold that were the oldest, nobody waits who need
        /// not, and everyone who waited is served once.
        #[test]
        fn the_limit_holds_and_nobody_is_forgotten(steps in steps()) {
            let mut model = Model {
                accounts: Accounts::new(LIMIT, true),
                open: Vec::new(),
                waiting: BTreeSet::new(),
                beyond: BTreeSet::new(),
            };
            for (number, step) in steps.iter().enumerate() {
                model.step(number, step);
                model.holds();
            }
        }
    }
}
