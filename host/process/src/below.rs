//! The processes below another one, whatever groups and sessions they have made for themselves.
//!
//! Linux only: elsewhere a program is ended with its process group, and one that left the group is
//! not found.

use std::collections::HashMap;

use rustix::process::{Pid, Signal, kill_process};

/// How often it is looked whether there are new ones: who is asked to end can start no more, but one
/// that was started a moment before was not seen.
const ROUNDS: usize = 64;

/// Bytes of a page of memory.
const PAGE: u64 = 4096;

/// Ends all processes below `top`, at once.
///
/// `top` takes in those whose parents have ended (`PR_SET_CHILD_SUBREAPER`), so that none gets out of
/// what is below it. A number that becomes another's between the look and the signal would have to be
/// given again within microseconds; the system counts up through all of them first.
pub(crate) fn end(top: Pid) {
    for _ in 0..ROUNDS {
        let all = all(top);
        if all.is_empty() {
            return;
        }
        for process in all {
            let _ = kill_process(process.pid, Signal::KILL);
        }
    }
}

/// Bytes of memory that all processes below `top` have. What they share with each other counts for
/// each.
pub(crate) fn memory(top: Pid) -> u64 {
    all(top).iter().map(|process| process.pages * PAGE).sum()
}

struct Process {
    pid: Pid,
    parent: i32,
    /// That are in memory.
    pages: u64,
}

/// All below `top` that have not ended.
fn all(top: Pid) -> Vec<Process> {
    let Ok(folders) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for folder in folders.flatten() {
        let name = folder.file_name();
        if name
            .to_str()
            .is_none_or(|name| name.parse::<u32>().is_err())
        {
            continue;
        }
        let stat = std::fs::read_to_string(folder.path().join("stat"));
        if let Some(process) = stat.ok().as_deref().and_then(read) {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = children
        .remove(&top.as_raw_nonzero().get())
        .unwrap_or_default();
    let mut at = 0;
    while let Some(process) = found.get(at) {
        let next = children.remove(&process.pid.as_raw_nonzero().get());
        found.extend(next.unwrap_or_default());
        at += 1;
    }
    found
}

/// Reads the process that a line of `/proc/PID/stat` tells of, unless it has ended and waits to be looked
/// at. Its second field is a name in brackets, which may hold anything.
fn read(stat: &str) -> Option<Process> {
    let (begin, rest) = stat.rsplit_once(')')?;
    let pid = begin.split(' ').next()?.parse().ok()?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    Some(Process {
        pid: Pid::from_raw(pid)?,
        // The fourth field of all; resident pages are the 24th.
        parent: fields.next()?.parse().ok()?,
        pages: fields.nth(19)?.parse().ok()?,
    })
    .filter(|_| !matches!(state, "Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_behind_a_name_that_may_hold_anything() {
        let stat = |state: &str| {
            format!(
                "7 (a) b (c) {state} 3 42 42 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 999 1000000 321 \
                 18446744073709551615 1"
            )
        };
        let process = read(&stat("S")).expect("a process");
        let Process { pid, parent, pages } = process;
        assert_eq!((pid.as_raw_nonzero().get(), parent, pages), (7, 3, 321));
        assert!(read(&stat("Z")).is_none());
        assert!(read("7 (a) S").is_none());
    }
}
