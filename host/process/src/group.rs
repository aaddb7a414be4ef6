//! A started program with all that it started.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::process::Child;

/// How many there are in this process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Bytes of memory that all programs of this process have now, with what they have started; 0 where
/// the system doesn't tell.
pub fn memory_of_all() -> u64 {
    if RUNNING.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    #[cfg(target_os = "linux")]
    return crate::below::memory(rustix::process::getpid());
    #[cfg(not(target_os = "linux"))]
    return 0;
}

/// A supervisor with all that is below it, ended as a whole when this is dropped.
///
/// `Child` could end the supervisor alone, which would leave what is below it without one. And a
/// signal to its process group would leave those that have made a group of their own.
#[derive(Debug)]
pub(crate) struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    /// Its leader was waited for, so that its number may soon be another's.
    is_gone: AtomicBool,
}

impl Group {
    /// The group that `child` leads.
    pub(crate) fn of(child: &Child) -> Self {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Self {
            #[cfg(unix)]
            leader: child
                .id()
                .and_then(|id| rustix::process::Pid::from_raw(id as i32)),
            is_gone: AtomicBool::new(false),
        }
    }

    /// Ends all of it at once.
    pub(crate) fn kill(&self) {
        if self.is_gone.load(Ordering::Acquire) {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Some(leader) = self.leader {
            crate::below::end(leader);
        }
        self.kill_group();
    }

    /// Ends what the leader, which was just waited for, has left behind in its group.
    pub(crate) fn kill_rest(&self) {
        self.kill_group();
        self.is_gone.store(true, Ordering::Release);
    }

    fn kill_group(&self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            // It may be empty already.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}
