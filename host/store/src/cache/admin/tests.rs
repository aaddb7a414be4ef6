//! What people see of the cache, and what they can take out of it.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use super::*;
use crate::cache::samples::{FreshCache, key, labels, noise, response};

const HOUR: i64 = 3_600_000;

fn numbers(items: &[CacheItem]) -> Vec<u8> {
    items.iter().map(|item| item.key.as_bytes()[0]).collect()
}

#[test]
fn an_empty_cache_has_no_ages() {
    let fresh = FreshCache::new();
    let stats = fresh.cache.stats().unwrap();
    assert_eq!((stats.entries, stats.bytes), (0, 0));
    assert_eq!((stats.oldest_ms, stats.newest_ms), (None, None));
    assert_eq!(stats.path, fresh.cache.path());
    assert_eq!(fresh.cache.list(None, 10).unwrap(), []);
    assert_eq!(fresh.cache.clear(None).unwrap(), Cleared::default());
}

#[test]
fn the_cache_is_told_in_numbers() {
    let fresh = FreshCache::new();
    for (number, stored_at_ms) in [(1, 300), (2, 100), (3, 200)] {
        fresh.store(number, response(noise(1, 1000), stored_at_ms));
    }
    let stats = fresh.cache.stats().unwrap();
    assert_eq!(stats.entries, 3);
    assert_eq!((stats.oldest_ms, stats.newest_ms), (Some(100), Some(300)));
    let items = fresh.cache.list(None, 10).unwrap();
    let sum: u64 = items.iter().map(|item| item.bytes).sum();
    assert_eq!(stats.bytes, sum);
    assert!(stats.file_bytes >= 3000);
    assert_eq!(stats.max_bytes, fresh.cache.options().max_bytes);
}

#[test]
fn the_list_begins_with_what_was_used_last() {
    let fresh = FreshCache::new();
    for number in 1..=4 {
        fresh.store(number, response("x", number.into()));
    }
    fresh.cache.get(&key(2), 10 * HOUR).unwrap();
    let fresh = fresh.reopened();
    assert_eq!(numbers(&fresh.cache.list(None, 10).unwrap()), [2, 4, 3, 1]);
    assert_eq!(numbers(&fresh.cache.list(None, 2).unwrap()), [2, 4]);
    assert_eq!(fresh.cache.list(None, usize::MAX).unwrap().len(), 4);
    let first = fresh.cache.list(None, 1).unwrap().remove(0);
    assert_eq!(
        (first.stored_at_ms, first.used_at_ms, first.labels),
        (2, 10 * HOUR, labels())
    );
}

#[test]
fn the_list_is_narrowed_by_what_an_entry_is_for() {
    let fresh = FreshCache::new();
    let store = |number: u8, origin: &str, bucket: &str, url: &str| {
        let labels = CacheLabels {
            origin: origin.to_owned(),
            bucket: bucket.to_owned(),
            method: "GET".to_owned(),
            url: url.to_owned(),
        };
        let response = response("x", number.into());
        fresh
            .cache
            .put(key(number), labels, response)
            .wait()
            .unwrap();
    };
    store(1, "https://a.example", "small", "https://a.example/v1?q=%");
    store(2, "https://b.example", "large", "https://b.example/chat");
    for (containing, expected) in [
        ("a.ex", vec![1]),
        ("large", vec![2]),
        ("/chat", vec![2]),
        ("%", vec![1]),
        ("example", vec![2, 1]),
        ("GET", vec![]),
    ] {
        let items = fresh.cache.list(Some(containing), 10).unwrap();
        assert_eq!(numbers(&items), expected, "{containing}");
    }
}

#[test]
fn an_entry_is_shown_by_the_beginning_of_its_key() {
    let fresh = FreshCache::new();
    for number in [0x1A, 0x1B, 0xFE] {
        fresh.store(number, response(vec![number], 5));
    }
    for (wanted, number) in [("1a", 0x1A), ("1A1a1", 0x1A), ("f", 0xFE)] {
        let (item, shown) = fresh.cache.show(wanted).unwrap();
        assert_eq!((item.key, shown.body), (key(number), vec![number]));
    }
    let full = key(0x1B).to_string();
    assert_eq!(fresh.cache.show(&full).unwrap().0.key, key(0x1B));
    let error = fresh.cache.show("1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 cached responses have a key that begins with `1`"
    );
    for wanted in ["", "2", "x", "%", &format!("{full}0")] {
        let error = fresh.cache.show(wanted).unwrap_err();
        assert!(
            matches!(&error, StoreError::NoSuchEntry { wanted: w } if w == wanted),
            "{wanted}: {error:?}"
        );
    }
}

#[test]
fn a_damaged_entry_is_an_error_when_it_is_to_be_shown() {
    let fresh = FreshCache::new();
    fresh.store(1, response("x", 5));
    fresh
        .raw()
        .execute("UPDATE entries SET payload = x'00'", [])
        .unwrap();
    let error = fresh.cache.show("01").unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Unreadable {
                what: "cached response",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn clearing_takes_what_is_older() {
    let fresh = FreshCache::new();
    for number in 1..=9 {
        fresh.store(number, response(noise(1, 1000), number.into()));
    }
    let cleared = fresh.cache.clear(Some(5)).unwrap();
    assert_eq!(cleared.entries, 4);
    assert!(cleared.bytes > 4 * 1000);
    assert_eq!(
        numbers(&fresh.cache.list(None, 99).unwrap()),
        [9, 8, 7, 6, 5]
    );
    assert_eq!(fresh.cache.clear(None).unwrap().entries, 5);
    assert_eq!(fresh.cache.get(&key(9), 9), None);
    let stats = fresh.cache.stats().unwrap();
    assert_eq!((stats.entries, stats.bytes), (0, 0));
}

#[test]
fn clearing_gives_the_space_back() {
    let fresh = FreshCache::new();
    let commits: Vec<_> = (0..=255)
        .map(|number| {
            let response = response(noise(number.into(), 10_000), 5);
            fresh.cache.put(key(number), labels(), response)
        })
        .collect();
    for commit in commits {
        commit.wait().unwrap();
    }
    assert!(fresh.cache.stats().unwrap().file_bytes > 2_000_000);
    fresh.cache.clear(None).unwrap();
    assert!(fresh.cache.stats().unwrap().file_bytes < 200_000);
}

#[test]
fn clearing_goes_on_while_another_reads() {
    let fresh = FreshCache::new();
    fresh.store(1, response("x", 5));
    let mut reader = fresh.raw();
    let question = reader.transaction().unwrap();
    let count = || {
        question.query_row("SELECT count(*) FROM entries", [], |row| {
            row.get::<_, i64>(0)
        })
    };
    assert_eq!(count().unwrap(), 1);
    assert_eq!(fresh.cache.clear(None).unwrap().entries, 1);
    assert_eq!(count().unwrap(), 1);
    assert_eq!(fresh.cache.stats().unwrap().entries, 0);
}
