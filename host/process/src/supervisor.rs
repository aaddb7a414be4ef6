//! The process between the run and a program: waits for the end of either.
//!
//! A run that is killed can end nobody, and a program that hangs sees no closed pipe. A signal on a
//! parent's death reaches only the child itself, and only where the system has one; this process
//! outlives neither its parent by more than a moment nor lets anything below it do so.

use std::ffi::OsString;
use std::process::{Child, Command, ExitCode, ExitStatus};
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
    #[cfg(target_os = "linux")]
    crate::terminal::let_go();
    adopt();
    let child = Command::new(&program).args(arguments).spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("{NOT_STARTED}{}: {error}", program.to_string_lossy());
            return Some(ExitCode::from(NOT_FOUND));
        }
    };
    thread::spawn(move || watch(parent, memory));
    let code = wait(child).map_or(NOT_FOUND, code);
    end_rest();
    Some(ExitCode::from(code))
}

/// As shells have it: 128 and the signal for a program that was ended by one.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128_u8.saturating_add(signal as u8);
    }
    status.code().map_or(1, |code| code as u8)
}

/// Becomes the parent of all below whose own parents end.
fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Waits for the program, and for whatever else ends meanwhile.
#[cfg(unix)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "nobody may wait for it again: its number may be another's"
)]
fn wait(child: Child) -> Option<ExitStatus> {
    use rustix::process::{WaitOptions, wait};
    use std::os::unix::process::ExitStatusExt;

    loop {
        let (pid, status) = wait(WaitOptions::empty()).ok()??;
        if pid.as_raw_nonzero().get() as u32 == child.id() {
            return Some(ExitStatus::from_raw(status.as_raw()));
        }
    }
}

#[cfg(not(unix))]
fn wait(mut child: Child) -> Option<ExitStatus> {
    child.wait().ok()
}

/// Ends what the program has left behind.
fn end_rest() {
    #[cfg(target_os = "linux")]
    crate::below::end(rustix::process::getpid());
}

#[cfg(unix)]
fn watch(parent: u64, memory: u64) {
    use rustix::process::{Signal, getpgrp, getppid, kill_process_group};

    let end = || {
        end_rest();
        let _ = kill_process_group(getpgrp(), Signal::KILL);
    };
    loop {
        let now = getppid().map_or(0, |pid| pid.as_raw_nonzero().get() as u64);
        if now != parent {
            end();
        }
        if taken() > memory {
            eprintln!("\n{OUT_OF_MEMORY}");
            end();
        }
        thread::sleep(LOOK);
    }
}

#[cfg(not(unix))]
fn watch(_parent: u64, _memory: u64) {}

/// Bytes of memory that the program has with all that it started; 0 where the system doesn't tell.
#[cfg(target_os = "linux")]
fn taken() -> u64 {
    crate::below::memory(rustix::process::getpid())
}

#[cfg(all(unix, not(target_os = "linux")))]
fn taken() -> u64 {
    0
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
}
