//! Exit codes. They are API: scripts and CI decide by them.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | all cases passed, or enough of them for the threshold |
//! | 1 | internal error, also: a results file could not be written |
//! | 2 | usage or config error, or no case at all: nothing was run |
//! | 100 | pass rate below the threshold, a metric beside its own, or a comparison worse than it may be (the code can be chosen) |
//! | 130 | interrupted; what was done is kept |
//!
//! No one place decides them all, since some roads must not wait for others. In the order in which a
//! program may end:
//!
//! | road | code |
//! |---|---|
//! | `arguments`: help or the version was asked for | 0 |
//! | `arguments`: the line has no meaning, or asks for what isn't there | 2 |
//! | a [`Failure`](crate::failure::Failure) of any command | its own: 1, 2, or 130 if the person stopped it before anything was done |
//! | `commands::eval::check`: something is not agreed to | 0, or 2 |
//! | `commands::inspect`: the component can't be loaded | 0, or 2 |
//! | `commands::added`: a component that was added is not as it was, or can't be read | 0, or 2 |
//! | `commands::doctor`: something stops a run | 0, or 2 |
//! | `commands::migrate`: the config is refused | 0, or 2 |
//! | `commands::import`: a run can't be read | 0, or 2 |
//! | `commands::call`: a grade did not pass, or nothing was answered | 100 |
//! | `commands::fixtures`: something came otherwise than expected | 100 |
//! | `commands::view`: Ctrl-C, which is how it ends | 0 |
//! | `verdict`: a run has ended, or parts of one were merged | 0, 1 (the database took no more results), 2, 100 (or what the person chose), 130 |
//! | `commands::diff::gate`: two runs were compared, with `--fail-on` | 0, 2, 100 (or what the person chose) |
//! | `commands::eval`, `commands::merge`: then a file, the events or the recording is not whole | 1 in its place |
//! | `commands::eval::watch`: a signal between two runs, or in one | 130, or the last run's |
//! | `signals`, on its own thread: asked again and again, or once when all is stored | 130 |
//! | `memory_limit`, on its own thread | 1 |
//! | `main`: a panic, which is a bug | 1 |
//! | a signal before anybody listens, or one that can't be caught | none: the system says which |
//!
//! A panic in a case's task ends that case with an error and not the program.

use runner_sandbox::Explanation;

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

/// Each with what it means and what to do about it.
pub(crate) const EXPLAINED: [(u8, Explanation); 5] = [
    row(
        SUCCESS,
        "All that was asked for was done, and is good enough.",
        "Every case passed, or as many as the threshold asks for, and each metric keeps to its own. Of a command that runs nothing it means that it did its work.",
        "Nothing.",
    ),
    row(
        INTERNAL,
        "Something failed that is not in the config.",
        "A full disk, a database that can't be opened, a results file that can't be written, or a bug. Results that were stored are kept.",
        "The message says what. `runner list` shows what is kept, and `runner eval --resume` goes on.",
    ),
    row(
        USAGE,
        "Nothing was run, since something in the command, the config or a plugin is wrong.",
        "Mistakes are found before money is spent. It is also the code where something was not agreed to, and where a filter leaves no case.",
        "Mend what the messages name, with file, line and column; `runner config check` says whether all is found.",
    ),
    row(
        BELOW_THRESHOLD,
        "Too many cases did not pass.",
        "The pass rate is below the threshold (all of them, unless `--min-pass-rate` or `thresholds:` says less), a metric is beside its own, or `runner diff --fail-on` found that too much got worse. Errors and cases that were not run count as not passed.",
        "`runner show latest --failed` shows them, `runner view` in a browser. RUNNER_FAILED_TEST_EXIT_CODE chooses another number.",
    ),
    row(
        INTERRUPTED,
        "The run was interrupted.",
        "By Ctrl-C or another signal. What was done is kept.",
        "`runner eval --resume` goes on where it stopped.",
    ),
];

const fn row(
    code: u8,
    what: &'static str,
    why: &'static str,
    todo: &'static str,
) -> (u8, Explanation) {
    (code, Explanation { what, why, todo })
}
