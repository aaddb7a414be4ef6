//! How much guests may have logged that nobody has taken yet.
//!
//! Lines wait for whoever writes them, and that may be a terminal that stands still. What one
//! call logs is bounded by the sandbox; what all calls of a run do together is bounded here. A
//! line that finds no room is dropped, and how many were is said with the next that does.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes of lines that may wait: what 64 calls may log.
const MOST_WAITING: usize = 16 << 20;

/// What a line takes beside its text.
const LINE_BYTES: usize = 128;

/// The lines that wait.
#[derive(Debug, Default)]
pub(crate) struct LogRoom {
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

impl LogRoom {
    /// Takes room for a line; `None`: there is none. Gives how many lines have found none since
    /// the last that did.
    pub(crate) fn take(&self, text: &str) -> Option<u64> {
        let more = text.len() + LINE_BYTES;
        let fits = |waiting: usize| Some(waiting + more).filter(|all| *all <= MOST_WAITING);
        let taken = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        if taken.is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.dropped.swap(0, Ordering::Relaxed))
    }

    /// Takes in that a line has been taken by all who read them.
    pub(crate) fn give_back(&self, text: &str) {
        let more = text.len() + LINE_BYTES;
        self.waiting.fetch_sub(more, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_room_are_counted_until_there_is_some() {
        let room = LogRoom::default();
        let line = "x".repeat((1 << 20) - LINE_BYTES);
        for _ in 0..16 {
            assert_eq!(room.take(&line), Some(0));
        }
        assert_eq!(room.take(&line), None);
        assert_eq!(room.take(""), None);
        room.give_back(&line);
        assert_eq!(room.take(&line), Some(2));
        assert_eq!(room.take(&line), None);
    }
}
