//! A part of a case's life, or of a run's end, and what may stop it: a limit on time, or an end.

use std::future::pending;

use crate::call::CallScope;
use crate::failure::CallFailure;

/// Why a case goes no further.
pub(crate) enum Stop {
    /// A part of it failed, or it had worked for as long as it may.
    Failed(CallFailure),
    /// It was cut off.
    CutOff,
}

impl From<CallFailure> for Stop {
    fn from(failure: CallFailure) -> Self {
        Self::Failed(failure)
    }
}

/// Runs a part until it is done, the case is cut off, or its time is spent. Who is done is asked first: an
/// answer that has come is never lost to a limit that passes, or an end that comes, at the same moment.
pub(crate) async fn unless_stopped<T>(
    scope: &CallScope,
    part: impl Future<Output = Result<T, CallFailure>>,
) -> Result<T, Stop> {
    let out_of_time = async {
        match scope.limit.time() {
            Some(limit) => scope.clock.spent(limit).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        done = part => Ok(done?),
        () = scope.cut.cancelled() => Err(Stop::CutOff),
        () = out_of_time => Err(scope.limit.passed().into()),
    }
}
