//! The bounds of the queue, and that nobody waits for ever.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Wake;
use std::thread;

use super::*;
use crate::runs::samples::row;

fn of_bytes(test_idx: u32, bytes: usize) -> Row {
    Row {
        record_json: "x".repeat(bytes),
        ..row(test_idx, 0)
    }
}

fn tests_of(group: &[Row]) -> Vec<u32> {
    group.iter().map(|row| row.test_idx).collect()
}

/// Pushes rows from another thread while this one takes all groups.
fn groups_of(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let queue = Queue::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            for row in rows {
                queue.push(row).unwrap();
            }
            queue.close();
        });
        std::iter::from_fn(|| queue.take_group()).collect()
    })
}

#[test]
fn rows_come_out_in_the_order_they_came_in() {
    let groups = groups_of((0..5000).map(|test_idx| row(test_idx, 0)).collect());
    assert_eq!(tests_of(&groups.concat()), (0..5000).collect::<Vec<_>>());
    assert!(
        groups
            .iter()
            .all(|group| (1..=GROUP_ROWS).contains(&group.len()))
    );
}

#[test]
fn a_full_group_is_taken_whole() {
    let queue = Queue::default();
    for test_idx in 0..GROUP_ROWS as u32 {
        queue.push(row(test_idx, 0)).unwrap();
    }
    assert_eq!(queue.take_group().unwrap().len(), GROUP_ROWS);
}

#[test]
fn a_group_is_bounded_in_bytes_and_a_larger_row_goes_alone() {
    let groups = groups_of(
        (0..6)
            .map(|test_idx| of_bytes(test_idx, GROUP_BYTES / 2 - 1000))
            .collect(),
    );
    assert!(groups.iter().all(|group| group.len() <= 2));
    assert_eq!(tests_of(&groups.concat()), (0..6).collect::<Vec<_>>());
    let groups = groups_of(
        (0..3)
            .map(|test_idx| of_bytes(test_idx, GROUP_BYTES + 1))
            .collect(),
    );
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
}

#[test]
fn a_closed_queue_gives_what_it_has_and_then_nothing() {
    let queue = Queue::default();
    queue.push(row(0, 0)).unwrap();
    queue.close();
    assert_eq!(queue.take_group().unwrap().len(), 1);
    assert!(queue.take_group().is_none());
}

#[test]
fn who_waits_for_room_learns_of_a_failure() {
    let queue = Queue::default();
    for test_idx in 0..GROUP_ROWS as u32 {
        queue.push(row(test_idx, 0)).unwrap();
    }
    thread::scope(|scope| {
        let late = scope.spawn(|| queue.push(row(9999, 0)));
        queue.fail(WriterFailure::Panicked);
        late.join().unwrap().unwrap_err();
    });
    assert_eq!(
        queue.counts(),
        Counts {
            pushed: GROUP_ROWS as u64 + 1,
            committed: 0
        }
    );
}

#[test]
fn who_waits_for_a_flush_learns_of_a_failure() {
    let queue = Queue::default();
    queue.push(row(0, 0)).unwrap();
    thread::scope(|scope| {
        let flush = scope.spawn(|| queue.flush());
        queue.fail(WriterFailure::Panicked);
        flush.join().unwrap().unwrap_err();
    });
}

#[test]
fn a_flush_waits_for_the_commit_and_not_for_company() {
    let queue = Queue::default();
    queue.push(row(0, 0)).unwrap();
    thread::scope(|scope| {
        let flush = scope.spawn(|| queue.flush().map(|()| queue.counts().committed));
        let group = queue.take_group().unwrap();
        queue.commit(group.len() as u64);
        assert_eq!(flush.join().unwrap().unwrap(), 1);
    });
}

#[test]
fn a_flush_of_nothing_is_done() {
    Queue::default().flush().unwrap();
}

#[test]
fn who_may_not_wait_gets_its_row_back_and_is_woken_when_there_is_room() {
    let queue = Queue::default();
    for test_idx in 0..GROUP_ROWS as u32 {
        queue.try_push(row(test_idx, 0)).unwrap();
    }
    let refused = queue.try_push(row(7, 7));
    assert!(matches!(refused, Err(Refused::Full(back)) if *back == row(7, 7)));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    assert!(queue.poll_room(&mut context).is_pending());
    assert_eq!(queue.take_group().unwrap().len(), GROUP_ROWS);
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(queue.poll_room(&mut context).is_ready());
    queue.try_push(row(7, 7)).unwrap();
    assert!(queue.poll_room(&mut context).is_pending());
    assert!(queue.poll_done(&mut context).is_pending());
    queue.fail(WriterFailure::Panicked);
    assert!(queue.poll_room(&mut context).is_ready(), "to hear of it");
    assert!(matches!(queue.try_push(row(8, 8)), Err(Refused::Failed(_))));
    queue.done();
    assert!(queue.poll_done(&mut context).is_ready());
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
