//! The numbers of quotas that several programs use: of `shared` and `sharing`.

use std::time::Duration;

/// Part of a window that a block is meant for.
/// Pinned by the row of "our own second process, fixed 50 a second".
pub(crate) const BLOCKS: u32 = 20;

/// A block of a short window is for so long at least: each costs a question to a file.
/// Pinned by the test `blocks_are_a_twentieth_of_a_window_and_neither_too_short_nor_too_long`.
pub(crate) const SHORTEST_BLOCK: Duration = Duration::from_millis(25);

/// And of a long window at most: so long another waits for what is not used.
/// Pinned by the test `blocks_are_a_twentieth_of_a_window_and_neither_too_short_nor_too_long`.
pub(crate) const LONGEST_BLOCK: Duration = Duration::from_secs(1);

/// Between two visits of a program that is alone. Who comes waits so long for its first block.
/// Pinned by the test `who_is_alone_goes_by_its_own_count`.
pub(crate) const ALONE: Duration = Duration::from_millis(250);

/// Between two visits while there is no rule: what is found out is to be found of all.
/// Pinned by the test `what_one_has_found_out_all_go_by`.
pub(crate) const TOGETHER: Duration = Duration::from_millis(100);

/// Between two visits at least.
/// Pinned by the test `blocks_are_a_twentieth_of_a_window_and_neither_too_short_nor_too_long`.
pub(crate) const SOONEST: Duration = Duration::from_millis(5);

/// Who has not visited for so long is gone: several times the longest time between two visits.
/// Pinned by the test `a_program_that_dies_leaves_its_block_when_that_and_a_window_are_over`.
pub(crate) const LIFE: Duration = Duration::from_secs(3);

/// How long a program waits for an answer before it goes on alone. Less than [`LIFE`], and more than a
/// busy disk takes.
/// Pinned by the test `without_an_answer_it_goes_on_alone_after_a_while`.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Without a rule, what was sent is kept for so long: the usual window.
/// Pinned by the test `without_a_rule_what_was_sent_is_kept_for_a_minute`.
pub(crate) const KEPT: Duration = Duration::from_mins(1);

/// Batches of one program that a quota holds apart.
pub(crate) const MOST_BATCHES: usize = 512;

/// Batches that a program keeps to tell.
pub(crate) const MOST_FRESH: usize = 64;

/// Those sent within so long are one batch; of a window its [`GRAINS`].
pub(crate) const GRAIN: Duration = Duration::from_millis(10);

/// Parts of a window in which what was sent is told apart.
pub(crate) const GRAINS: u32 = 100;
