//! What a run says near its end, and to who asks it to stop then.

use crate::event::Event;

/// The answer to who asks a run to stop whose cases have ended and whose code has not.
pub(super) fn code_runs() -> Event {
    let message = "every case has ended; the config's code for the end of a run (derived metrics, \
                   afterAll) is still running; Ctrl-C again leaves it out"
        .to_owned();
    Event::Notice { message }
}

/// The answer to who asks a run to stop that has come to its end.
pub(super) fn closing() -> Event {
    let message = "every case has ended; the results are being written".to_owned();
    Event::Notice { message }
}

/// What is said where the code for the end of a run ended as a bug of ours, `why`.
pub(super) fn closing_failed(why: &str) -> Event {
    let message = format!(
        "the config's code for the end of a run (derived metrics, afterAll) could not be run, which is a bug: \
         {why}; every result is stored"
    );
    Event::Notice { message }
}

/// What is said where a run that goes on was stopped before it had read what it has.
pub(super) fn rows_left_out() -> Event {
    let message =
        "the run was stopped while its earlier results were read: they are kept, and some \
                   are not part of what follows"
            .to_owned();
    Event::Notice { message }
}
