//! A started program with all that it started.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::process::Child;

/// A supervisor's process group, ended as a whole when this is dropped.
///
/// `Child` could end the supervisor alone, which would leave what is below it without one.
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
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            // It may be empty already.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }

    /// Ends what the leader, which was just waited for, has left behind.
    pub(crate) fn kill_rest(&self) {
        self.kill();
        self.is_gone.store(true, Ordering::Release);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
