//! The limits against a slow and obvious bookkeeping, through random lives of many leases.
//!
//! The model remembers every lease that there ever was and adds everything up anew for each
//! question; it knows no totals, no queues, no pruning and no highest id. After every verb both
//! must say the same, now and later. On top of that, properties that need no model.

use proptest::prelude::*;

use super::*;

/// What a lease has, or had, of one limit.
#[derive(Debug, Clone)]
struct Share {
    limit: usize,
    asked: u64,
    /// What counts for it: `asked`, then what was used.
    amount: u64,
    debt: u64,
    /// When it stops to count by itself.
    until: Time,
}

/// Everything that was ever asked under one id.
#[derive(Debug, Clone)]
struct Asked {
    lease: LeaseId,
    shares: Vec<Share>,
    /// Settled, released or denied.
    over: bool,
}

#[derive(Debug, Default)]
struct Model {
    limits: Vec<(LimitMeasure, u64)>,
    history: Vec<Asked>,
    /// Amounts: reserved, later found to be used beyond it, and given back.
    reserved: u64,
    grown: u64,
    returned: u64,
}

impl Model {
    fn window(&self, limit: usize) -> Option<Duration> {
        match self.limits[limit].0 {
            LimitMeasure::Requests(window) | LimitMeasure::Tokens(window) => Some(window),
            LimitMeasure::Concurrency => None,
        }
    }

    /// Shares of a limit that count. A rolling one counts on when its lease is over.
    fn live(&self, now: Time, limit: usize) -> impl Iterator<Item = &Share> {
        let holds = self.window(limit).is_none();
        let leases = self
            .history
            .iter()
            .filter(move |asked| !(holds && asked.over));
        leases
            .flat_map(|asked| &asked.shares)
            .filter(move |share| share.limit == limit && share.until > now)
    }

    fn used(&self, now: Time, limit: usize) -> u64 {
        self.live(now, limit).map(|share| share.amount).sum()
    }

    fn debt(&self, now: Time, limit: usize) -> u64 {
        self.live(now, limit).map(|share| share.debt).sum()
    }

    /// The first time at which there is room, of all times at which something ends.
    fn room(&self, now: Time, limit: usize, amount: u64) -> Room {
        let fits = |time| self.used(time, limit) + amount <= self.limits[limit].1;
        if fits(now) {
            return Room::Now;
        }
        if self.window(limit).is_none() {
            return Room::AfterSettle;
        }
        let ends = self.live(now, limit).map(|share| share.until);
        let first = ends.filter(|end| fits(*end)).min();
        Room::At(first.expect("what is not above the capacity fits once all has expired"))
    }

    fn reserve(&mut self, now: Time, lease: LeaseId, asked: &[(usize, u64)]) -> Result<(), Denied> {
        let asked = by_limit(asked);
        if let Some(known) = self.history.iter().find(|known| known.lease == lease) {
            let whole = !known.over && known.shares.iter().all(|share| share.until > now);
            let had: Vec<_> = known.shares.iter().map(|s| (s.limit, s.asked)).collect();
            let same = had == asked;
            return (whole && same).then_some(()).ok_or(Denied::InvalidLease);
        }
        let answer = self.judge(now, &asked);
        let shares = asked.iter().map(|&(limit, asked)| Share {
            limit,
            asked,
            amount: asked,
            debt: 0,
            until: now + self.window(limit).unwrap_or(HOLD),
        });
        self.history.push(Asked {
            lease,
            shares: if answer.is_ok() {
                shares.collect()
            } else {
                Vec::new()
            },
            over: answer.is_err(),
        });
        if answer.is_ok() {
            self.reserved += asked.iter().map(|(_, amount)| amount).sum::<u64>();
        }
        answer
    }

    fn judge(&self, now: Time, asked: &[(usize, u64)]) -> Result<(), Denied> {
        for &(limit, asked) in asked {
            let capacity = self.limits[limit].1;
            if asked > capacity {
                let limit = LimitId(limit as u32);
                return Err(Denied::ExceedsCapacity {
                    limit,
                    asked,
                    capacity,
                });
            }
        }
        let (mut latest, mut full_limit) = (Room::Now, 0);
        for &(limit, amount) in asked {
            let room = self.room(now, limit, amount);
            if room >= latest {
                (latest, full_limit) = (room, limit);
            }
        }
        let limit = LimitId(full_limit as u32);
        match latest {
            Room::Now => Ok(()),
            Room::At(time) => Err(full(limit, Some(time))),
            Room::AfterSettle => Err(full(limit, None)),
        }
    }

    fn renew(&mut self, now: Time, lease: LeaseId) {
        let windows: Vec<_> = (0..self.limits.len()).map(|n| self.window(n)).collect();
        for asked in self.history.iter_mut().filter(|asked| asked.lease == lease) {
            for share in &mut asked.shares {
                if windows[share.limit].is_none() && share.until > now {
                    share.until = now + HOLD;
                }
            }
        }
    }

    /// What is not named in `actual` counts as `rest`, or as before if that is `None`.
    fn end(&mut self, now: Time, lease: LeaseId, actual: &[(usize, u64)], rest: Option<u64>) {
        let Some(index) = self.history.iter().position(|asked| asked.lease == lease) else {
            return;
        };
        if self.history[index].over {
            return;
        }
        for at in 0..self.history[index].shares.len() {
            let share = self.history[index].shares[at].clone();
            let named = by_limit(actual);
            let named = named.iter().find(|(limit, _)| *limit == share.limit);
            let actual = named.map(|(_, amount)| *amount).or(rest);
            if share.until <= now || self.window(share.limit).is_none() {
                continue;
            }
            let actual = actual.unwrap_or(share.amount);
            let more = actual.saturating_sub(share.amount);
            let free = self.limits[share.limit]
                .1
                .saturating_sub(self.used(now, share.limit));
            self.grown += more;
            self.returned += share.amount.saturating_sub(actual);
            let share = &mut self.history[index].shares[at];
            share.debt = more.saturating_sub(free);
            share.amount = actual;
        }
        self.history[index].over = true;
    }
}

fn by_limit(given: &[(usize, u64)]) -> Vec<(usize, u64)> {
    let sum = |limit| given.iter().filter(|g| g.0 == limit).map(|g| g.1).sum();
    let named = (0..LIMITS).filter(|limit| given.iter().any(|g| g.0 == *limit));
    named.map(|limit| (limit, sum(limit))).collect()
}

fn typed(given: &[(usize, u64)]) -> Vec<(LimitId, u64)> {
    let typed = given.iter().map(|(limit, n)| (LimitId(*limit as u32), *n));
    typed.collect()
}

const LIMITS: usize = 4;

/// Windows shorter and longer than a hold, and two kinds of capacity.
fn declared() -> [(LimitMeasure, u64); LIMITS] {
    [
        (LimitMeasure::Requests(Duration::from_secs(20)), 6),
        (LimitMeasure::Tokens(Duration::from_secs(100)), 60),
        (LimitMeasure::Concurrency, 4),
        (LimitMeasure::Tokens(Duration::from_secs(33)), 40),
    ]
}

/// One thing that happens. A `pick` chooses one of the leases drawn so far.
#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    /// To the last retry time, or a nanosecond before it.
    ToRetry {
        early: bool,
    },
    Reserve(Vec<(usize, u64)>),
    Repeat {
        pick: usize,
        altered: bool,
    },
    Renew {
        pick: usize,
    },
    RenewAllDue,
    Settle {
        pick: usize,
        actual: Vec<(usize, u64)>,
    },
    Release {
        pick: usize,
    },
    Change {
        limit: usize,
        capacity: u64,
    },
}

fn amounts(least: u64, most: u64) -> impl Strategy<Value = Vec<(usize, u64)>> {
    prop::collection::vec((0..LIMITS, least..=most), 1..4)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pick = 0_usize..1_000;
    let step = prop_oneof![
        2 => (0_u64..9_000_000_000).prop_map(Step::Wait),
        1 => prop::sample::select(vec![0, 1, 20_000_000_000, 60_000_000_000])
            .prop_map(Step::Wait),
        2 => any::<bool>().prop_map(|early| Step::ToRetry { early }),
        6 => amounts(1, 9).prop_map(Step::Reserve),
        1 => amounts(1, 70).prop_map(Step::Reserve),
        2 => (pick.clone(), any::<bool>())
            .prop_map(|(pick, altered)| Step::Repeat { pick, altered }),
        2 => pick.clone().prop_map(|pick| Step::Renew { pick }),
        1 => Just(Step::RenewAllDue),
        3 => (pick.clone(), amounts(0, 30))
            .prop_map(|(pick, actual)| Step::Settle { pick, actual }),
        1 => pick.prop_map(|pick| Step::Release { pick }),
        1 => (0..LIMITS, 0_u64..80)
            .prop_map(|(limit, capacity)| Step::Change { limit, capacity }),
    ];
    prop::collection::vec(step, 1..120)
}

/// Both, side by side.
struct Pair {
    desk: Desk,
    model: Model,
    now: Time,
    retry_at: Option<Time>,
    /// What each drawn id asked for.
    drawn: Vec<(LeaseId, Vec<(usize, u64)>)>,
}

impl Pair {
    fn new() -> Self {
        let mut desk = Desk::default();
        for (counts, capacity) in declared() {
            desk.limits.declare(limit(counts, capacity));
        }
        Self {
            desk,
            model: Model {
                limits: declared().to_vec(),
                ..Model::default()
            },
            now: at(1_000),
            retry_at: None,
            drawn: Vec::new(),
        }
    }

    fn pick(&self, pick: usize) -> LeaseId {
        match self.drawn.len() {
            0 => LeaseId(77_777),
            count => self.drawn[pick % count].0,
        }
    }

    fn reserve(&mut self, asked: &[(usize, u64)]) {
        let untouched = self.desk.clone();
        let lease = self.desk.draw();
        let answer = self.desk.limits.reserve(self.now, lease, &typed(asked));
        assert_eq!(answer, self.model.reserve(self.now, lease, asked));
        self.drawn.push((lease, asked.to_vec()));
        match answer {
            Ok(()) => {
                for (limit, _) in asked {
                    let (_, capacity) = self.model.limits[*limit];
                    assert!(self.model.used(self.now, *limit) <= capacity);
                }
            }
            Err(Denied::Full { retry_at, .. }) => {
                self.retry_at = retry_at.or(self.retry_at);
                if let Some(retry_at) = retry_at {
                    self.exact(&untouched, retry_at, asked);
                }
            }
            Err(_) => {}
        }
    }

    /// If nothing else happens, there is room at the time and not before it.
    fn exact(&self, untouched: &Desk, retry_at: Time, asked: &[(usize, u64)]) {
        assert!(retry_at > self.now);
        for desk in [untouched, &self.desk] {
            let early = desk.clone().ask(just_before(retry_at), &typed(asked));
            assert!(matches!(early, Err(Denied::Full { retry_at: Some(t), .. }) if t == retry_at));
            assert!(desk.clone().ask(retry_at, &typed(asked)).is_ok());
        }
    }

    fn repeat(&mut self, pick: usize, altered: bool) {
        let Some((lease, mut asked)) = self.drawn.get(pick % self.drawn.len().max(1)).cloned()
        else {
            return;
        };
        if altered {
            asked[0].1 += 1;
        } else {
            asked.reverse();
        }
        let answer = self.desk.limits.reserve(self.now, lease, &typed(&asked));
        assert_eq!(answer, self.model.reserve(self.now, lease, &asked));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Wait(nanos) => self.now = self.now + Duration::from_nanos(*nanos),
            Step::ToRetry { early } => {
                let target = self.retry_at.take().unwrap_or(self.now);
                let target = if *early { just_before(target) } else { target };
                self.now = self.now.max(target);
            }
            Step::Reserve(asked) => self.reserve(asked),
            Step::Repeat { pick, altered } => self.repeat(*pick, *altered),
            Step::Renew { pick } => {
                let lease = self.pick(*pick);
                self.desk.limits.renew(self.now, lease);
                self.model.renew(self.now, lease);
            }
            Step::RenewAllDue => self.renew_all_due(),
            Step::Settle { pick, actual } => {
                let lease = self.pick(*pick);
                self.desk.limits.settle(self.now, lease, &typed(actual));
                self.model.end(self.now, lease, actual, None);
            }
            Step::Release { pick } => {
                let lease = self.pick(*pick);
                self.desk.limits.release(self.now, lease);
                self.model.end(self.now, lease, &[], Some(0));
            }
            Step::Change { limit, capacity } => {
                let id = LimitId(*limit as u32);
                self.desk.limits.change(self.now, id, *capacity);
                self.model.limits[*limit].1 = *capacity;
            }
        }
        self.compare();
    }

    /// As the machine does it; it must come to an end.
    fn renew_all_due(&mut self) {
        while let Some((due, lease)) = self.desk.limits.renewal()
            && due <= self.now
        {
            self.desk.limits.renew(self.now, lease);
            self.model.renew(self.now, lease);
        }
        assert!(
            self.desk
                .limits
                .renewal()
                .is_none_or(|(due, _)| due > self.now)
        );
    }

    fn compare(&self) {
        for limit in 0..LIMITS {
            let id = LimitId(limit as u32);
            for later in [0, 1, 20, 60, 99] {
                let time = self.now + Duration::from_secs(later);
                assert_eq!(self.desk.used(time, id), self.model.used(time, limit));
                assert_eq!(
                    self.desk.limits.debt(time, id),
                    self.model.debt(time, limit)
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn limits_say_what_an_obvious_bookkeeping_says(steps in steps()) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.step(step);
        }
    }

    #[test]
    fn what_is_reserved_is_used_returned_or_expired_and_then_forgotten(steps in steps()) {
        let mut pair = Pair::new();
        // Nothing may expire here, so that every amount has a place where it must be.
        let instant = steps.iter().filter(|step| {
            !matches!(step, Step::Wait(_) | Step::ToRetry { .. })
        });
        for step in instant {
            pair.step(step);
        }
        let rolling = [0, 1, 3].map(|n| pair.desk.used(pair.now, LimitId(n)));
        let held: u64 = pair.model.history.iter()
            .flat_map(|asked| &asked.shares)
            .filter(|share| share.limit == 2)
            .map(|share| share.amount)
            .sum();
        let Model { reserved, grown, returned, .. } = pair.model;
        prop_assert_eq!(reserved + grown, rolling.iter().sum::<u64>() + returned + held);

        let end = pair.now + Duration::from_secs(100);
        pair.desk.limits.renew(end, LeaseId(0));
        prop_assert_eq!(pair.desk.limits.leases.count(), 0);
        for (number, declared) in (0..).zip(&mut pair.desk.limits.declared) {
            if let Pool::Rolling(rolling) = &mut declared.pool {
                prop_assert_eq!(rolling.kept(end), 0, "limit {}", number);
            }
        }
        for limit in 0..LIMITS {
            prop_assert_eq!(pair.desk.used(end, LimitId(limit as u32)), 0);
        }
    }
}
