//! How many files the program may have open at once, and how many cases that is enough for.
//!
//! Each request in flight is one, each connection kept for the next request another, and the
//! database and the results need some as well. Where they run out, what fails is whatever asks next:
//! so there are never more cases than there are files for.

/// What the program needs beside the requests of its cases: the database, results, logs, plugins.
const OTHERS: u64 = 128;

/// Of each case: its request, and a connection that is kept.
const OF_A_CASE: u64 = 2;

/// Takes as many as the system gives without asking anybody; says how many that are. `None`: no limit.
#[cfg(unix)]
pub(crate) fn raise() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    match setrlimit(Resource::Nofile, all) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Here nothing limits them.
#[cfg(not(unix))]
pub(crate) fn raise() -> Option<u64> {
    None
}

/// For how many cases at once so many files are enough; at least one.
pub(crate) fn cases(files: u64) -> usize {
    let cases = files.saturating_sub(OTHERS) / OF_A_CASE;
    usize::try_from(cases).unwrap_or(usize::MAX).max(1)
}

/// How many files so many cases at once need.
pub(crate) fn needed(cases: usize) -> u64 {
    (cases as u64)
        .saturating_mul(OF_A_CASE)
        .saturating_add(OTHERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_needs_itself_is_left() {
        assert_eq!(cases(1024), 448);
        assert_eq!(needed(448), 1024);
        assert_eq!(cases(u64::MAX), (u64::MAX - OTHERS) as usize / 2);
        assert_eq!(cases(64), 1);
    }
}
