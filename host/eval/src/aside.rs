//! Work that blocks (reading a database, waiting for its lock), on a thread of its own.
//!
//! The runtime's own threads for that are waited for when it ends; a database that somebody else
//! keeps would hold up the end of a run that nobody waits for any more. These are not.

use std::panic::resume_unwind;
use std::thread;

use tokio::sync::oneshot;

/// Does `work` aside. Who no longer waits leaves it to itself; what it gives is dropped.
///
/// # Panics
/// If it does.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (give, given) = oneshot::channel();
    let thread = thread::spawn(move || drop(give.send(work())));
    match given.await {
        Ok(result) => result,
        // It ends without a result only by a panic.
        Err(_) => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => unreachable!("the work gives its result before it ends"),
        },
    }
}
