//! A cache whose writer is killed, and one that several processes use at once.

use std::path::Path;

use runner_store::{
    Cache, CacheLabels, CacheOptions, CachedResponse, CommitOutcome, Digest, OpenOptions,
};

use crate::child::{Child, orders, say};

/// Room for some hundred of the responses below, so that processes push out each other's.
const SMALL: u64 = 1 << 20;

fn options(wal: bool, max_bytes: u64) -> CacheOptions {
    CacheOptions {
        open: OpenOptions { wal },
        max_bytes,
        ttl: None,
        ..CacheOptions::default()
    }
}

fn key(number: u64) -> Digest {
    let mut bytes = [0; Digest::BYTES];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Digest::new(bytes)
}

fn response(number: u64) -> CachedResponse {
    CachedResponse {
        status: 200,
        headers: vec![("x-number".to_owned(), number.to_string())],
        body: (0..(number * 53) % 4000)
            .flat_map(|word| (word * number).to_le_bytes())
            .collect(),
        pieces: Vec::new(),
        latency_ms: number,
        stored_at_ms: number as i64,
    }
}

fn store(cache: &Cache, number: u64) {
    let labels = CacheLabels::default();
    let commit = cache.put(key(number), labels, response(number));
    assert_eq!(commit.wait().unwrap(), CommitOutcome::Stored);
}

#[test]
fn what_would_fill_the_disk_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let open = |left_free| {
        let full = CacheOptions {
            left_free: Some(left_free),
            ..options(true, 1 << 30)
        };
        Cache::open(&folder.path().join("cache.db"), full).unwrap()
    };
    let kept = |cache: &Cache| {
        let commit = cache.put(key(1), CacheLabels::default(), response(1));
        commit.wait().unwrap()
    };
    let full = open(u64::MAX / 2);
    assert_eq!(kept(&full), CommitOutcome::TooLarge);
    assert!(full.get(&key(1), 0).is_none());
    assert_eq!(kept(&open(0)), CommitOutcome::Stored);
}

#[test]
#[ignore = "the other tests run this as their child"]
fn child() {
    let (path, wal) = orders();
    let cache = Cache::open(&path, options(wal, 1 << 30)).unwrap();
    let small = Cache::open(&path, options(wal, SMALL)).unwrap();
    say("ready");
    for command in std::io::stdin().lines() {
        let command = command.unwrap();
        if command == "storm" {
            for number in 0.. {
                store(&cache, number);
                println!("stored {number}");
            }
        }
        // Numbers up to here, each stored unless it is there; what is there must be right.
        let numbers = command.parse::<u64>().unwrap();
        for number in 0..numbers {
            match small.get(&key(number), 0) {
                Some(found) => assert!(found == response(number), "{number} is another one"),
                None => store(&small, number),
            }
        }
        assert_eq!(small.counts().unreadable, 0);
        say("done");
    }
}

fn integrity(path: &Path) -> String {
    let raw = rusqlite::Connection::open(path).unwrap();
    let sums: (i64, i64, i64, i64) = raw
        .query_row(
            "SELECT entries, bytes, (SELECT count(*) FROM entries),
                    (SELECT coalesce(sum(bytes), 0) FROM entries) FROM totals",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!((sums.0, sums.1), (sums.2, sums.3));
    raw.query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_killed_process_has_stored_what_it_was_told_is_stored() {
    for (wal, enough) in [(true, 0), (true, 100), (true, 900), (false, 50)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        let mut child = Child::start("cache::child", &path, wal);
        child.tell("storm");
        let mut last = None;
        let mut killed = false;
        while let Some(line) = child.hear() {
            // The last line may be cut off.
            let number = line.strip_prefix("stored ").map(str::parse::<u64>);
            let Some(Ok(number)) = number else { continue };
            last = last.max(Some(number));
            if number >= enough && !killed {
                child.kill();
                killed = true;
            }
        }
        let last = last.unwrap();
        assert!(last >= enough);
        assert_eq!(integrity(&path), "ok");
        let cache = Cache::open(&path, options(wal, 1 << 30)).unwrap();
        for number in 0..=last {
            let found = cache.get(&key(number), 0);
            assert!(found == Some(response(number)), "{number} of {last}");
        }
        store(&cache, u64::from(u32::MAX));
    }
}

#[test]
fn several_processes_share_one_cache() {
    for wal in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        let mut children: Vec<_> = (0..3)
            .map(|_| Child::start("cache::child", &path, wal))
            .collect();
        for round in [150, 300] {
            for child in &mut children {
                child.tell(&round.to_string());
            }
            for child in &mut children {
                child.wait_for("done");
            }
        }
        let cache = Cache::open(&path, options(wal, SMALL)).unwrap();
        let stats = cache.stats().unwrap();
        assert!(stats.bytes <= SMALL && stats.entries > 0, "{stats:?}");
        // The newest of all has not been pushed out.
        assert_eq!(cache.get(&key(299), 0), Some(response(299)));
        assert_eq!(integrity(&path), "ok");
        // One clears while the others are at work.
        for child in &mut children {
            child.tell("100");
        }
        cache.clear(None).unwrap();
        for child in &mut children {
            child.wait_for("done");
        }
        assert_eq!(integrity(&path), "ok");
    }
}
