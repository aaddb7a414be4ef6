//! How figures and texts are told to people: the same in a terminal, in a file and on a page.
//!
//! - [`figures`]: a share, a count, a time, an amount of money;
//! - [`apart`]: names that are cut and can still be told apart;
//! - [`time_left`]: how long a run takes yet;
//! - [`thresholds`]: what is asked of a run, and whether it holds;
//! - [`visible`]: a text from outside, with nothing in it that would be obeyed instead of shown.
//!
//! Pure, and without a dependency: whoever tells something uses it.

pub mod apart;
pub mod figures;
pub mod thresholds;
mod time_left;
pub mod visible;

pub use time_left::time_left;
