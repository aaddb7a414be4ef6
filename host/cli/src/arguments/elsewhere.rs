//! Flags of `eval` that commands which take its flags refuse: `retry` has its run, and `config check`
//! begins none.
//!
//! They are refused by name, with what does what was meant, rather than taken and not obeyed; the
//! help of these commands does not show them. A line that was kept with a run is read as it was
//! typed.

use clap::Arg;

use super::Eval;
use crate::failure::Failure;

/// A flag, and what a command that refuses it says does what was meant.
struct RefusedFlag {
    /// Its name, as clap knows it.
    id: &'static str,
    is_given: fn(&Eval) -> bool,
    /// What `retry` says; nothing where it takes the flag.
    on_retry: Option<&'static str>,
    /// What `config check` says.
    on_check: &'static str,
}

const ELSEWHERE: &[RefusedFlag] = &[
    RefusedFlag {
        id: "resume",
        is_given: |eval| eval.persistence.resume.is_some(),
        on_retry: Some("`runner eval --resume RUN` goes on with an interrupted run"),
        on_check: "`runner eval --resume RUN` checks the run's config before it goes on",
    },
    RefusedFlag {
        id: "retry_errors",
        is_given: |eval| eval.persistence.retry_errors,
        on_retry: Some("`runner retry RUN` runs the errors of RUN again without it"),
        on_check: "`runner retry RUN` checks the run's config before it begins",
    },
    RefusedFlag {
        id: "force",
        is_given: |eval| eval.persistence.force,
        on_retry: None,
        on_check: "a check deletes nothing; `runner eval --resume` and `runner retry` take it",
    },
    RefusedFlag {
        id: "dry_run",
        is_given: |eval| eval.dry_run,
        on_retry: Some("`runner show RUN --failed` shows the errors that would be run again"),
        on_check: "`runner eval --dry-run` says what a run would be and what it asks for",
    },
    RefusedFlag {
        id: "watch",
        is_given: |eval| eval.watch,
        on_retry: Some("`runner eval --watch` runs a config again whenever it changes"),
        on_check: "`runner eval --watch` runs a config again whenever it changes",
    },
];

/// Refuses what `retry` does not know.
///
/// # Errors
/// When a flag is another command's.
pub(super) fn check_retry(eval: &Eval) -> Result<(), Failure> {
    refuse("runner retry", |it| it.on_retry, eval)
}

/// Refuses what `config check` does not know.
///
/// # Errors
/// When a flag is another command's.
pub(super) fn check_check(eval: &Eval) -> Result<(), Failure> {
    refuse("runner config check", |it| Some(it.on_check), eval)
}

fn refuse(
    command: &str,
    help: fn(&RefusedFlag) -> Option<&'static str>,
    eval: &Eval,
) -> Result<(), Failure> {
    for it in ELSEWHERE.iter().filter(|it| (it.is_given)(eval)) {
        if let Some(help) = help(it) {
            let flag = it.id.replace('_', "-");
            let message = format!("--{flag} is not a flag of `{command}`");
            return Err(Failure::usage(message).help(help));
        }
    }
    Ok(())
}

/// The argument, hidden where `retry` refuses it.
pub(super) fn shown_by_retry(arg: Arg) -> Arg {
    hidden(arg, |it| it.on_retry.is_some())
}

/// The argument, hidden where `config check` refuses it.
pub(super) fn shown_by_check(arg: Arg) -> Arg {
    hidden(arg, |_| true)
}

fn hidden(arg: Arg, is_refused: fn(&RefusedFlag) -> bool) -> Arg {
    let id = arg.get_id();
    let is_hidden = ELSEWHERE.iter().any(|it| id == it.id && is_refused(it));
    if is_hidden { arg.hide(true) } else { arg }
}
