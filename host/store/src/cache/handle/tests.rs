//! What is found, what is not, and which files are refused.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::time::Duration;

use super::*;
use crate::cache::samples::{FreshCache, key, labels, noise, response};
use crate::database::OpenOptions;
use crate::runs::Store;

fn options() -> CacheOptions {
    CacheOptions::default()
}

#[test]
fn what_was_stored_is_found_whole() {
    for wal in [true, false] {
        let fresh = FreshCache::with(CacheOptions {
            open: OpenOptions { wal },
            ..options()
        });
        let stored = CachedResponse {
            status: 203,
            headers: vec![
                ("set-cookie".to_owned(), "a=1".to_owned()),
                ("set-cookie".to_owned(), "b=ü".to_owned()),
            ],
            body: noise(1, 100_000),
            pieces: vec![(10, 7), (100_000, 9)],
            latency_ms: u64::MAX,
            stored_at_ms: 77,
        };
        assert_eq!(fresh.cache.get(&key(1), 77), None);
        fresh.store(1, stored.clone());
        assert_eq!(fresh.cache.get(&key(1), 77), Some(stored.clone()));
        assert_eq!(fresh.cache.get(&key(2), 77), None);
        let fresh = fresh.reopened();
        assert_eq!(fresh.cache.get(&key(1), 77), Some(stored));
    }
}

#[test]
fn lookups_are_counted() {
    let fresh = FreshCache::new();
    fresh.store(1, response("x", 5));
    let clone = fresh.cache.clone();
    for number in [1, 2, 1, 3, 4] {
        clone.get(&key(number), 5);
    }
    let expected = CacheCounts {
        hits: 2,
        misses: 3,
        unreadable: 0,
    };
    assert_eq!(fresh.cache.counts(), expected);
}

#[test]
fn an_answer_is_good_for_its_time_and_not_longer() {
    let ttl = Some(Duration::from_millis(100));
    let fresh = FreshCache::with(CacheOptions { ttl, ..options() });
    fresh.store(1, response("x", 1000));
    for (now_ms, good) in [(1100, true), (1101, false), (0, true), (i64::MAX, false)] {
        assert_eq!(
            fresh.cache.get(&key(1), now_ms).is_some(),
            good,
            "at {now_ms}"
        );
    }
}

#[test]
fn without_a_time_an_answer_is_good_for_ever() {
    let fresh = FreshCache::with(CacheOptions {
        ttl: None,
        ..options()
    });
    fresh.store(1, response("x", 0));
    fresh.store(2, response("x", i64::MAX));
    assert!(fresh.cache.get(&key(1), i64::MAX).is_some());
}

#[test]
fn a_time_beyond_all_times_is_for_ever() {
    let ttl = Some(Duration::MAX);
    let fresh = FreshCache::with(CacheOptions { ttl, ..options() });
    fresh.store(1, response("x", 0));
    assert!(fresh.cache.get(&key(1), i64::MAX).is_some());
    assert!(fresh.cache.get(&key(1), i64::MIN).is_some());
}

#[test]
fn keys_that_are_made_in_another_way_are_other_keys() {
    let fresh = FreshCache::new();
    fresh.store(1, response("old", 5));
    let key_version = options().key_version + 1;
    let newer = Cache::open(
        fresh.cache.path(),
        CacheOptions {
            key_version,
            ..options()
        },
    )
    .unwrap();
    assert_eq!(newer.get(&key(1), 5), None);
    newer
        .put(key(1), labels(), response("new", 5))
        .wait()
        .unwrap();
    assert_eq!(newer.get(&key(1), 5).unwrap().body, b"new");
    assert_eq!(fresh.cache.get(&key(1), 5).unwrap().body, b"old");
}

#[test]
fn a_damaged_entry_is_a_miss_and_goes() {
    let damages = [
        "UPDATE entries SET payload = x'00' WHERE key = ?1",
        "UPDATE entries SET payload = substr(payload, 1, length(payload) - 1) WHERE key = ?1",
        "UPDATE entries SET plain_bytes = -5 WHERE key = ?1",
        "UPDATE entries SET payload = (SELECT payload FROM entries WHERE key <> ?1) WHERE key = ?1",
    ];
    for damage in damages {
        let fresh = FreshCache::new();
        fresh.store(1, response("one", 5));
        fresh.store(2, response("two", 5));
        fresh.raw().execute(damage, [key(1).as_bytes()]).unwrap();
        assert_eq!(fresh.cache.get(&key(1), 5), None, "{damage}");
        assert_eq!(fresh.cache.counts().unreadable, 1);
        assert!(fresh.cache.get(&key(2), 5).is_some());
        let fresh = fresh.reopened();
        assert_eq!(fresh.cache.stats().unwrap().entries, 1, "{damage}");
    }
}

#[test]
fn a_file_that_breaks_at_work_gives_nothing_and_stops_nobody() {
    let fresh = FreshCache::new();
    fresh.store(1, response("x", 5));
    fresh
        .raw()
        .execute_batch("ALTER TABLE entries RENAME TO elsewhere")
        .unwrap();
    assert_eq!(fresh.cache.get(&key(1), 5), None);
    let counts = fresh.cache.counts();
    assert_eq!((counts.misses, counts.unreadable), (1, 1));
    fresh
        .raw()
        .execute_batch("ALTER TABLE elsewhere RENAME TO entries")
        .unwrap();
    assert!(fresh.cache.get(&key(1), 5).is_some());
}

#[test]
fn a_damaged_file_is_refused_untouched() {
    let fresh = FreshCache::new();
    for number in 0..50 {
        fresh.store(number, response(noise(number.into(), 2000), 5));
    }
    let FreshCache { folder, cache } = fresh;
    let path = cache.path().to_owned();
    drop(cache);
    let mut bytes = std::fs::read(&path).unwrap();
    // The page that says which tables there are, behind the header of the file.
    bytes[100..4000].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();
    let error = Cache::open(&path, options()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("{} is damaged", path.display()));
    assert!(std::fs::read(&path).unwrap() == bytes, "bytes differ");
    std::fs::remove_file(&path).unwrap();
    let cache = Cache::open(&path, options()).unwrap();
    assert_eq!(cache.stats().unwrap().entries, 0);
    drop(folder);
}

#[test]
fn another_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs.db");
    Store::open(&runs, OpenOptions::default()).unwrap();
    let error = Cache::open(&runs, options()).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    let fresh = FreshCache::new();
    let error = Store::open(fresh.cache.path(), OpenOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    fresh.raw().pragma_update(None, "user_version", 99).unwrap();
    let error = Cache::open(fresh.cache.path(), options()).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 99, .. }),
        "{error:?}"
    );
}

#[test]
fn many_threads_look_up_and_store() {
    let fresh = FreshCache::new();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let cache = &fresh.cache;
            scope.spawn(move || {
                for round in 0..30 {
                    let number = thread * 30 + round;
                    let stored = response(noise(number.into(), 500), 5);
                    assert_eq!(cache.get(&key(number), 5), None);
                    cache
                        .put(key(number), labels(), stored.clone())
                        .wait()
                        .unwrap();
                    assert_eq!(cache.get(&key(number), 5), Some(stored));
                }
            });
        }
    });
    assert_eq!(fresh.cache.stats().unwrap().entries, 240);
}

#[test]
fn a_closed_cache_leaves_no_journal() {
    let fresh = FreshCache::new();
    fresh.store(1, response("x", 5));
    assert!(fresh.cache.get(&key(1), 5).is_some());
    let FreshCache { folder, cache } = fresh;
    drop(cache);
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["cache.db"]);
}
