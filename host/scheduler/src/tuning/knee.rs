//! Of `knee`. Times are logarithms to the base 2, in parts of an octave.

use std::time::Duration;

/// The parts of an octave.
pub(crate) const PARTS: i64 = 1024;

/// How much longer than the base answers take where there may be a queue: half an octave, so 1.4
/// times.
/// Pinned by the gate of "one slot, 0.3 s".
pub(crate) const LONGER: i64 = PARTS / 2;

/// How much longer where there may be one although they come in no order: 2.4 times.
/// Pinned by the test `a_server_that_works_on_all_at_once_is_found_by_how_long_it_takes`.
pub(crate) const MUCH_LONGER: i64 = PARTS * 5 / 4;

/// From which spread on answers overtake each other if the server lets them: a factor of 1.35.
/// Pinned by the gate of "8 slots, 0.3 s".
pub(crate) const VARIED: i64 = PARTS * 7 / 16;

/// Up to which spread they take the same, so that their order says nothing: a factor of 1.2.
/// Pinned by the row of "only 429, 8 s".
pub(crate) const ALIKE: i64 = PARTS / 4;

/// Answers of an octave that make a base of it for what may follow from one more.
/// Pinned by the test `a_server_that_works_on_all_at_once_is_found_by_how_long_it_takes`.
pub(crate) const KNOWN: i64 = 4;

/// Answers in order that make a queue where nobody ever overtakes; the more do, the more it takes.
/// Pinned by the gate of "one slot, 0.3 s".
pub(crate) const ORDER: u64 = 6;

/// Answers that a trial waits for, at least.
/// Pinned by the row of "one slot, 0.3 s".
pub(crate) const WANTED: u32 = 16;

/// Answers after which more than the knee are tried at first.
/// Pinned by the row of "8 slots, 0.3 s".
pub(crate) const PAUSE: u32 = 64;

/// Places that an answer earns which took no longer than the base.
/// Pinned by the row of "only 429, 8 s".
pub(crate) const PAYS: u32 = 2;

/// Answers before anything is concluded.
/// Pinned by the gate of "one slot, 0.3 s".
pub(crate) const FEWEST: u32 = 8;

/// Answers that the mean of the newest looks back on, at most.
/// Pinned by the row of "64 slots, 2 s".
pub(crate) const MOST: u32 = 32;

/// Answers that the mean of an octave looks back on.
/// Pinned by the row of "8 slots, 0.3 s".
pub(crate) const MEMORY: i64 = 32;

/// How far answers are taken to be from their mean while few have come: a factor of 1.65, as
/// answers of models are.
/// Pinned by the test `one_quick_answer_is_no_base_and_thirty_are`.
pub(crate) const SPREAD: i64 = PARTS * 18 / 25;

/// Part of the knee that may wait at the server beside it, so that it is never without work.
/// Pinned by the gate of "64 slots, 2 s".
pub(crate) const HEADROOM: u32 = 4;

/// Up to where nobody's answer is late: a queue that short is nobody's trouble, and on a busy
/// machine late answers look like one.
/// Pinned by the test `a_queue_that_takes_less_than_a_tenth_of_a_second_is_nobody_s_trouble`.
pub(crate) const WORTH: Duration = Duration::from_millis(100);
