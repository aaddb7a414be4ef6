//! The process between the run and a program: waits for the end of either.
//!
//! A run that is killed can end nobody, and a program that hangs sees no closed pipe. A signal on a
//! parent's death reaches only the child itself, and only where the system has one; this process
//! outlives neither its parent by more than a moment nor lets anything below it do so.

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

/// The first argument of a program that is to be a supervisor.
pub(crate) const SUPERVISE: &str = "__supervise";

/// What the supervisor writes as its last line when a program took too much memory.
pub(crate) const OUT_OF_MEMORY: &str =
    "runner: the program was ended: it took more memory than it may";

/// What the supervisor's line begins with when a program can't be started.
pub(crate) const NOT_STARTED: &str = "runner: the program can't be started: ";

/// How often it looks whether the run is still there, and how much memory is taken.
const LOOK: Duration = Duration::from_millis(100);

/// Exit code for a program that can't be started, as shells have it.
const NOT_FOUND: u8 = 127;

/// The exit code of a supervisor, once its program has ended; `None`: the arguments are not a
/// supervisor's. To be called before anything else in `main`.
pub fn supervised(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != SUPERVISE {
        return None;
    }
    let mut number = || arguments.next()?.to_str()?.parse::<u64>().ok();
    let (parent, memory) = (number()?, number()?);
    let program = arguments.next()?;
    let child = Command::new(&program).args(arguments).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("{NOT_STARTED}{}: {error}", program.to_string_lossy());
            return Some(ExitCode::from(NOT_FOUND));
        }
    };
    thread::spawn(move || watch(parent, memory));
    let code = match child.wait() {
        Ok(status) => code(status),
        Err(_) => NOT_FOUND,
    };
    Some(ExitCode::from(code))
}

/// As shells have it: 128 and the signal for a program that was ended by one.
fn code(status: std::process::ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128_u8.saturating_add(signal as u8);
    }
    status.code().map_or(1, |code| code as u8)
}

#[cfg(unix)]
fn watch(parent: u64, memory: u64) {
    use rustix::process::{Signal, getpgrp, getppid, kill_process_group};

    let end = || {
        let _ = kill_process_group(getpgrp(), Signal::KILL);
    };
    loop {
        let now = getppid().map_or(0, |pid| pid.as_raw_nonzero().get() as u64);
        if now != parent {
            end();
        }
        if taken(getpgrp().as_raw_nonzero().get()) > memory {
            eprintln!("\n{OUT_OF_MEMORY}");
            end();
        }
        thread::sleep(LOOK);
    }
}

#[cfg(not(unix))]
fn watch(_parent: u64, _memory: u64) {}

/// Bytes of memory that the processes of a group have; 0 where the system doesn't tell. What they
/// share with each other counts for each.
#[cfg(unix)]
fn taken(group: i32) -> u64 {
    const PAGE: u64 = 4096;
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let resident = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()?.parse::<u32>().ok()?;
        resident(
            &std::fs::read_to_string(entry.path().join("stat")).ok()?,
            group,
        )
    };
    let pages: u64 = processes.flatten().filter_map(resident).sum();
    pages * PAGE
}

/// The resident pages that a line of `/proc/PID/stat` tells, if the process is of the group. Its
/// second field is a name in brackets, which may hold anything.
fn resident(stat: &str, group: i32) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let of: i32 = fields.nth(2)?.parse().ok()?;
    // The group is the fifth field of all, resident pages the 24th.
    (of == group)
        .then(|| fields.nth(18)?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_supervisor_s_arguments_make_one() {
        let of = |arguments: &[&str]| {
            let all = arguments.iter().map(OsString::from);
            supervised(all).is_some()
        };
        assert!(!of(&["runner"]));
        assert!(!of(&["runner", "eval", SUPERVISE]));
        assert!(!of(&["runner", SUPERVISE, "no number"]));
    }

    #[test]
    fn memory_is_read_behind_a_name_that_may_hold_anything() {
        let stat = "7 (a) b (c) S 1 42 42 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 999 1000000 321 18446744073709551615 1";
        assert_eq!(resident(stat, 42), Some(321));
        assert_eq!(resident(stat, 43), None);
        assert_eq!(resident("7 (a) S", 42), None);
    }
}
