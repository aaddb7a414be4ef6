//! The cache is a map that forgets what is too old, and what was used longest ago.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::cache::CachedResponse;
use crate::cache::samples::{FreshCache, key, labels, noise, response};
use crate::database::OpenOptions;

const HOUR: i64 = 3_600_000;
const TTL: i64 = 48 * HOUR;
const MAX_BYTES: u64 = 40_000;

fn options(wal: bool) -> CacheOptions {
    CacheOptions {
        open: OpenOptions { wal },
        max_bytes: MAX_BYTES,
        ttl: Some(Duration::from_millis(TTL as u64)),
        ..CacheOptions::default()
    }
}

/// What the cache is said to be, written down as plainly as possible.
#[derive(Default)]
struct Model {
    entries: BTreeMap<i64, Entry>,
    used: BTreeMap<i64, i64>,
    next: i64,
}

struct Entry {
    number: u8,
    used_at_ms: i64,
    bytes: u64,
    response: CachedResponse,
}

impl Model {
    fn bytes(&self) -> u64 {
        self.entries.values().map(|entry| entry.bytes).sum()
    }

    fn get(&mut self, number: u8, now_ms: i64) -> Option<CachedResponse> {
        let (id, entry) = self
            .entries
            .iter()
            .find(|(_, entry)| entry.number == number)?;
        if now_ms - entry.response.stored_at_ms > TTL {
            return None;
        }
        if now_ms - entry.used_at_ms >= HOUR {
            let last = self.used.entry(*id).or_insert(now_ms);
            *last = now_ms.max(*last);
        }
        Some(entry.response.clone())
    }

    fn note_uses(&mut self) -> Option<i64> {
        let latest = self.used.values().copied().max();
        for (id, now_ms) in std::mem::take(&mut self.used) {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.used_at_ms = entry.used_at_ms.max(now_ms);
            }
        }
        latest
    }

    fn forget_expired(&mut self, now_ms: i64) {
        self.entries
            .retain(|_, entry| now_ms - entry.response.stored_at_ms <= TTL);
    }

    fn put(&mut self, number: u8, response: CachedResponse) -> CommitOutcome {
        let sealed = seal(&key(number), &response).unwrap();
        let bytes = entry_bytes(&labels(), &sealed) as u64;
        let kept = if bytes > MAX_BYTES / 16 {
            CommitOutcome::TooLarge
        } else {
            CommitOutcome::Stored
        };
        let clock = self.note_uses();
        let stored = (kept == CommitOutcome::Stored).then_some(response.stored_at_ms);
        if let Some(now_ms) = clock.max(stored) {
            self.forget_expired(now_ms);
        }
        if kept == CommitOutcome::Stored {
            self.entries.retain(|_, entry| entry.number != number);
            self.next += 1;
            let entry = Entry {
                number,
                used_at_ms: response.stored_at_ms,
                bytes,
                response,
            };
            self.entries.insert(self.next, entry);
        }
        self.make_room();
        kept
    }

    fn make_room(&mut self) {
        if self.bytes() <= MAX_BYTES {
            return;
        }
        while self.bytes() > MAX_BYTES - MAX_BYTES / 64 {
            let oldest = self
                .entries
                .iter()
                .min_by_key(|(id, entry)| (entry.used_at_ms, **id))
                .map(|(id, _)| *id);
            self.entries.remove(&oldest.unwrap());
        }
    }

    fn close(&mut self) {
        if let Some(now_ms) = self.note_uses() {
            self.forget_expired(now_ms);
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, usize),
    Get(u8),
    Wait(i64),
    Reopen,
    Clear(i64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..40u8, prop_oneof![9 => 0..2000usize, 1 => 2000..4000usize])
            .prop_map(|(number, bytes)| Step::Put(number, bytes)),
        6 => (0..40u8).prop_map(Step::Get),
        3 => (0..6 * HOUR).prop_map(Step::Wait),
        1 => Just(Step::Reopen),
        1 => (0..2 * TTL).prop_map(Step::Clear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_a_map_with_an_age_and_a_size(
        steps in prop::collection::vec(any_step(), 0..160),
        wal in any::<bool>(),
    ) {
        let mut fresh = FreshCache::with(options(wal));
        let mut model = Model::default();
        let mut now_ms = 1_700_000_000_000;
        for (seed, step) in steps.into_iter().enumerate() {
            match step {
                Step::Put(number, bytes) => {
                    let response = response(noise(seed as u64, bytes), now_ms);
                    let commit = fresh.cache.put(key(number), labels(), response.clone());
                    prop_assert_eq!(commit.wait().unwrap(), model.put(number, response));
                }
                Step::Get(number) => {
                    let found = fresh.cache.get(&key(number), now_ms);
                    prop_assert_eq!(found, model.get(number, now_ms));
                }
                Step::Wait(time) => now_ms += time,
                Step::Reopen => {
                    fresh = fresh.reopened();
                    model.close();
                }
                Step::Clear(age) => {
                    let before = now_ms - age;
                    let cleared = fresh.cache.clear(Some(before)).unwrap();
                    let (entries, bytes) = (model.entries.len(), model.bytes());
                    model.entries.retain(|_, entry| entry.response.stored_at_ms >= before);
                    prop_assert_eq!(cleared.entries, (entries - model.entries.len()) as u64);
                    prop_assert_eq!(cleared.bytes, bytes - model.bytes());
                }
            }
            let stats = fresh.cache.stats().unwrap();
            prop_assert_eq!((stats.entries, stats.bytes), (model.entries.len() as u64, model.bytes()));
            prop_assert!(stats.bytes <= MAX_BYTES);
        }
        prop_assert_eq!(fresh.cache.counts().unreadable, 0);
    }
}

#[test]
fn many_at_once_are_all_confirmed_and_there() {
    let fresh = FreshCache::new();
    let commits: Vec<_> = (0..=255)
        .map(|number| {
            let response = response(noise(number.into(), 100), 5);
            fresh.cache.put(key(number), labels(), response)
        })
        .collect();
    for commit in commits {
        assert_eq!(commit.wait().unwrap(), CommitOutcome::Stored);
    }
    for number in 0..=255 {
        let found = fresh.cache.get(&key(number), 5).unwrap();
        assert_eq!(found.body, noise(number.into(), 100));
    }
}

#[test]
fn a_group_that_fails_is_told_and_the_next_one_is_tried() {
    let fresh = FreshCache::new();
    fresh.store(1, response("one", 5));
    let rename = |from: &str, to: &str| {
        let change = format!("ALTER TABLE {from} RENAME TO {to}");
        fresh.raw().execute_batch(&change).unwrap();
    };
    rename("totals", "elsewhere");
    let error = fresh
        .cache
        .put(key(2), labels(), response("two", 5))
        .wait()
        .unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    assert_eq!(error.to_string(), "a response could not be cached");
    assert_eq!(
        cause.to_string(),
        format!("cannot write the cache in {}", fresh.cache.path().display())
    );
    rename("elsewhere", "totals");
    fresh.store(3, response("three", 5));
    let found = [1, 2, 3].map(|number| fresh.cache.get(&key(number), 5).is_some());
    assert_eq!(found, [true, false, true]);
}

#[test]
fn the_last_handle_waits_for_what_was_handed_over() {
    let fresh = FreshCache::new();
    for number in 0..100 {
        drop(fresh.cache.put(key(number), labels(), response("x", 5)));
    }
    let fresh = fresh.reopened();
    assert_eq!(fresh.cache.stats().unwrap().entries, 100);
}
