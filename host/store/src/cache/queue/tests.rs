//! What makes a group, and when.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use super::*;
use crate::cache::samples::{key, labels, response};

fn put(queue: &PutQueue, bytes: usize) -> Commit {
    queue.put(key(0), labels(), response(vec![0; bytes], 0))
}

fn lengths(queue: &PutQueue) -> Vec<usize> {
    let group = queue.take_group().unwrap();
    group
        .puts
        .iter()
        .map(|put| put.response.body.len())
        .collect()
}

#[test]
fn what_came_meanwhile_is_one_group_in_order() {
    let queue = PutQueue::default();
    let _commits = [put(&queue, 3), put(&queue, 0), put(&queue, 1)];
    assert_eq!(lengths(&queue), [3, 0, 1]);
}

#[test]
fn a_group_has_so_many_entries() {
    let queue = PutQueue::default();
    let _commits: Vec<_> = (0..GROUP_ENTRIES + 2).map(|_| put(&queue, 0)).collect();
    assert_eq!(lengths(&queue).len(), GROUP_ENTRIES);
    assert_eq!(lengths(&queue).len(), 2);
}

#[test]
fn a_group_has_so_many_bytes_but_for_one_that_is_larger() {
    let queue = PutQueue::default();
    let half = GROUP_BYTES / 2;
    let sizes = [GROUP_BYTES + 1, half, half, 1, GROUP_BYTES + 1];
    let _commits = sizes.map(|bytes| put(&queue, bytes));
    assert_eq!(lengths(&queue), [GROUP_BYTES + 1]);
    assert_eq!(lengths(&queue), [half, half]);
    assert_eq!(lengths(&queue), [1]);
    assert_eq!(lengths(&queue), [GROUP_BYTES + 1]);
}

#[test]
fn notes_go_with_the_next_response_and_the_latest_use_holds() {
    let queue = PutQueue::default();
    queue.used(7, 20);
    queue.used(7, 10);
    queue.damaged(9);
    let _commit = put(&queue, 1);
    let group = queue.take_group().unwrap();
    assert_eq!(group.puts.len(), 1);
    assert_eq!(group.used, HashMap::from([(7, 20)]));
    assert_eq!(group.damaged, [9]);
}

#[test]
fn many_notes_go_by_themselves() {
    let queue = PutQueue::default();
    for id in 0..NOTES as i64 {
        queue.used(id, 1);
    }
    assert_eq!(queue.take_group().unwrap().used.len(), NOTES);
}

#[test]
fn a_closed_queue_gives_what_is_left_and_then_nothing() {
    let queue = PutQueue::default();
    queue.used(7, 20);
    queue.close();
    assert_eq!(queue.take_group().unwrap().used.len(), 1);
    assert!(queue.take_group().is_none());
}

#[test]
fn after_a_panic_everybody_is_told() {
    let queue = PutQueue::default();
    let before = put(&queue, 1);
    queue.fail();
    before.wait().unwrap_err();
    put(&queue, 1).wait().unwrap_err();
}
