//! Who waits is told, in whichever way it waits.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Wake;
use std::thread;

use super::*;

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(commit: &mut Commit, woken: &Arc<Woken>) -> Poll<Result<CommitOutcome, StoreError>> {
    let waker = Waker::from(Arc::clone(woken));
    Pin::new(commit).poll(&mut Context::from_waker(&waker))
}

#[test]
fn who_polls_is_woken_once_it_is_settled() {
    let (ticket, mut commit) = pair();
    let woken = Arc::new(Woken::default());
    assert!(poll(&mut commit, &woken).is_pending());
    assert!(poll(&mut commit, &woken).is_pending());
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    ticket.settle(Ok(CommitOutcome::Stored));
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    // As often as it is asked.
    for _ in 0..2 {
        assert!(matches!(
            poll(&mut commit, &woken),
            Poll::Ready(Ok(CommitOutcome::Stored))
        ));
    }
}

#[test]
fn the_last_waker_is_the_one_that_is_woken() {
    let (ticket, mut commit) = pair();
    let (first, second) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    assert!(poll(&mut commit, &first).is_pending());
    assert!(poll(&mut commit, &second).is_pending());
    ticket.settle(Ok(CommitOutcome::TooLarge));
    assert_eq!(first.0.load(Ordering::SeqCst), 0);
    assert_eq!(second.0.load(Ordering::SeqCst), 1);
}

#[test]
fn who_blocks_is_released() {
    let (ticket, commit) = pair();
    let waiting = thread::spawn(move || commit.wait());
    ticket.settle(Ok(CommitOutcome::Stored));
    assert_eq!(waiting.join().unwrap().unwrap(), CommitOutcome::Stored);
}

#[test]
fn a_ticket_that_is_lost_is_a_failure() {
    let (ticket, commit) = pair();
    drop(ticket);
    let error = commit.wait().unwrap_err();
    assert!(
        matches!(&error, StoreError::Caching { source } if matches!(**source, WriterFailure::Panicked)),
        "{error:?}"
    );
}

#[test]
fn a_dropped_commit_is_settled_in_vain() {
    let (ticket, commit) = pair();
    drop(commit);
    ticket.settle(Ok(CommitOutcome::Stored));
}
