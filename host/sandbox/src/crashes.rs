//! How often a plugin crashes, and on whose input.
//!
//! A plugin that crashes again and again is not called again: each crash may have used up its time and
//! memory first. But an input can make it crash that was made for that. So it is tests that are counted, not calls, of which one
//! test makes as many as it likes; and those of each data file apart and of each column, so that its rows, or the
//! answers of a server, take the plugin away from each other alone.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits::MAX_CRASHES_IN_A_ROW;

/// Whose input a call works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct InputOf {
    /// Names the data file of the test; 0: the test is the config's own, or there is none.
    pub file: u64,
    /// Of the results: whose answers the call may be about.
    pub column: u32,
    /// The test's index.
    pub test: u32,
}

impl InputOf {
    /// What may be made by one stranger.
    fn source(self) -> (u64, u32) {
        (self.file, self.column)
    }
}

/// The crashes of one plugin.
#[derive(Default)]
pub(crate) struct Crashes {
    /// Whether there was one: nearly no plugin has any, and then nothing is locked.
    any: AtomicBool,
    streaks: Mutex<HashMap<(u64, u32), Streak>>,
}

/// Crashes since the last success.
#[derive(Default)]
struct Streak {
    tests: BTreeSet<u32>,
    ended_it: bool,
}

impl Crashes {
    /// Whether the plugin is not called again for such tests.
    pub(crate) fn disable(&self, input: InputOf) -> bool {
        self.any.load(Ordering::Relaxed)
            && self
                .lock()
                .get(&input.source())
                .is_some_and(|it| it.ended_it)
    }

    /// Takes in that a call came to its end.
    pub(crate) fn succeeded(&self, input: InputOf) {
        if self.any.load(Ordering::Relaxed)
            && let Some(streak) = self.lock().get_mut(&input.source())
        {
            streak.tests.clear();
        }
    }

    /// Takes in that a call crashed; says whether the plugin is not called again for such tests from now on.
    pub(crate) fn crashed(&self, input: InputOf) -> bool {
        self.any.store(true, Ordering::Relaxed);
        let mut streaks = self.lock();
        let streak = streaks.entry(input.source()).or_default();
        streak.tests.insert(input.test);
        let ends_it = streak.tests.len() >= MAX_CRASHES_IN_A_ROW as usize;
        ends_it && !std::mem::replace(&mut streak.ended_it, true)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, u32), Streak>> {
        self.streaks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_and_those_of_each_file_and_column_apart() {
        let crashes = Crashes::default();
        let of = |file, test| InputOf {
            file,
            column: 3,
            test,
        };
        let many = MAX_CRASHES_IN_A_ROW;
        assert!(!(0..3 * many).any(|_| crashes.crashed(of(1, 7))));
        assert!(!(0..many - 1).any(|test| crashes.crashed(of(0, test))));
        crashes.succeeded(of(0, 99));
        crashes.succeeded(of(1, 99));
        let ended = (0..2 * many).filter(|test| crashes.crashed(of(1, *test)));
        assert_eq!(ended.collect::<Vec<_>>(), [many - 1]);
        assert!(crashes.disable(of(1, 500)));
        let other = InputOf {
            column: 4,
            ..of(1, 500)
        };
        assert!(!crashes.disable(other));
        assert!(!crashes.disable(of(0, 500)) && !crashes.disable(of(2, 500)));
        crashes.succeeded(of(1, 500));
        assert!(crashes.disable(of(1, 500)), "one that was under way");
    }
}
