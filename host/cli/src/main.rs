//! The command `runner`: words in, words out, exit code.
//!
//! This crate parses arguments, calls the crates below it and renders what they say. It decides
//! nothing about a run: what runs is `runner-config`'s business, how it runs `runner-eval`'s.
//! Standard output carries data (tables, summaries, JSON), standard error carries talk
//! (progress, warnings, logs); `README.md` beside this folder says how each is decided.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

mod arguments;
mod bundle;
mod commands;
mod consent;
mod detail;
mod env_file;
mod environment;
mod events;
mod excerpt;
mod exit;
mod failure;
mod findings;
mod former;
mod home;
mod job;
mod listing;
mod lock;
mod logging;
mod memory_limit;
mod open_files;
mod output;
mod progress;
mod report;
mod results_file;
mod signals;
mod stdout;
mod stored;
mod table;
mod talk;
mod terminal;
mod thresholds;
mod verdict;

use failure::Failure;
use runner_telling::{apart, figures, visible};

fn main() -> ExitCode {
    // Programs of a config run below this one, started once more.
    if let Some(code) = runner_process::supervised(std::env::args_os()) {
        return code;
    }
    unless_it_panics(run)
}

/// What `work` gives. A panic is a bug, for which Rust's own exit code is not documented; what it says
/// itself is on standard error by then.
fn unless_it_panics(work: impl FnOnce() -> ExitCode) -> ExitCode {
    // Nothing that the panic left half done is looked at again.
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(code) => code,
        Err(_) => Failure::bug().print(),
    }
}

fn run() -> ExitCode {
    let arguments = match arguments::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(refusal) => return refusal.print(),
    };
    match commands::run(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.print(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_with_the_code_of_internal_errors() {
        let code = unless_it_panics(|| panic!("on purpose"));
        assert_eq!(code, ExitCode::from(exit::INTERNAL));
        assert_eq!(unless_it_panics(|| ExitCode::from(7)), ExitCode::from(7));
    }
}
