//! The answers of a row, compared with each other: by a rule, or by a model that is asked.
//!
//! When a row is compared is the business of [`state`](crate::state). Nothing is lost on the way:
//! an answer that waits is in the store as well, as a row that was answered and not compared
//! ([`verdict::waiting`]), and a resumed run takes it from there without asking its provider again
//! (`resume::compared`).

pub(crate) mod ask;
pub(crate) mod verdict;
