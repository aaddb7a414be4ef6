//! Exit codes. They are API: scripts and CI decide by them.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | all cases passed, or enough of them for the threshold |
//! | 1 | internal error, also: a results file could not be written |
//! | 2 | usage or config error, or no case at all: nothing was run |
//! | 100 | pass rate below the threshold (the code can be chosen) |
//! | 130 | interrupted; what was done is kept |

/// Everything that was asked for was done, and is good enough.
pub(crate) const SUCCESS: u8 = 0;
/// A bug, a full disk, a database that can't be opened.
pub(crate) const INTERNAL: u8 = 1;
/// The user's to mend: arguments, config, plugins, paths.
pub(crate) const USAGE: u8 = 2;
/// Too many cases did not pass; promptfoo's number.
pub(crate) const BELOW_THRESHOLD: u8 = 100;
/// 128 + SIGINT, as shells say it.
pub(crate) const INTERRUPTED: u8 = 130;
