//! From the engine's error to a message: why a call gave no answer.
//!
//! Decided by the engine's types, never by its words, with one exception that is pinned by a
//! test: the engine raises two plain errors without a type of their own, and one of them (too
//! much data) is told from the other (a bad pointer) by the name of its private type.

use std::fmt;

use runner_telling::figures::count;
use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi_http::FieldMapError;

use crate::limits::{CallLimits, MAX_CROSSING_BYTES, MAX_FIELDS_BYTES, MAX_LOG_LINE_BYTES};
use crate::notice::{Finding, MessageCode, bytes, one_line};

/// Raised at an epoch when the guest time is used up.
#[derive(Debug)]
pub(crate) struct OverGuestTime;

impl fmt::Display for OverGuestTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("guest time used up")
    }
}

impl std::error::Error for OverGuestTime {}

/// What is known about the call beside the error.
pub(crate) struct Circumstances {
    pub(crate) limits: CallLimits,
    /// Memory asked for when it was refused.
    pub(crate) refused: Option<u64>,
    /// First and last warnings, errors and standard error.
    pub(crate) words: Vec<String>,
}

/// The message for a call that ended in `error`.
pub(crate) fn finding(error: &wasmtime::Error, around: &Circumstances) -> Finding {
    tracing::debug!(error = ?error, "a call of a plugin failed");
    if error.is::<OverGuestTime>() {
        return over_time(around);
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Finding::new(
            MessageCode::C110,
            "found no free instance",
            "lower `-j`, or raise the number of instances (at most 4,000; each takes six memory mappings of vm.max_map_count)",
        );
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return crashed(&format!("exited with status {}", exit.0), around);
    }
    if error.is::<ResourceTableError>() {
        return crashed(
            "crashed: used a stream or timer that doesn't exist, or opened too many",
            around,
        );
    }
    if error
        .chain()
        .any(<dyn std::error::Error>::is::<FieldMapError>)
    {
        let limit = bytes(MAX_FIELDS_BYTES as u64);
        let how = format!("crashed: a message of `wasi:http` may have {limit} of headers");
        return crashed(&how, around);
    }
    match error.downcast_ref::<Trap>() {
        Some(trap) => of_trap(*trap, around),
        None if around.refused.is_some() => out_of_memory(around),
        None => of_crossing(error),
    }
}

fn of_trap(trap: Trap, around: &Circumstances) -> Finding {
    match trap {
        Trap::OutOfFuel => Finding::new(
            MessageCode::C103,
            format!(
                "used its CPU budget ({} units of fuel)",
                count(around.limits.fuel.unwrap_or(u64::MAX))
            ),
            "the plugin may loop on this input; raise `limits.cpu_ms` of the plugin if it needs more",
        ),
        Trap::Interrupt => over_time(around),
        Trap::StackOverflow => Finding::new(
            MessageCode::C105,
            "recursion too deep: its stack of 2 MiB is used up",
            "report this to the plugin's author with the input that causes it",
        ),
        Trap::StringOutOfBounds
        | Trap::ListOutOfBounds
        | Trap::InvalidDiscriminant
        | Trap::InvalidChar
        | Trap::UnalignedPointer => bad_pointer(),
        _ if around.refused.is_some() => out_of_memory(around),
        Trap::MemoryOutOfBounds => crashed(
            "crashed: read or wrote outside its memory, as endless recursion does",
            around,
        ),
        Trap::IntegerDivisionByZero => crashed("crashed: divided by zero", around),
        Trap::IntegerOverflow => crashed("crashed: integer overflow", around),
        Trap::TableOutOfBounds | Trap::IndirectCallToNull | Trap::BadSignature => {
            crashed("crashed: called a function that does not exist", around)
        }
        _ => crashed("crashed", around),
    }
}

fn over_time(around: &Circumstances) -> Finding {
    let limit = around.limits.guest_time;
    Finding::new(
        MessageCode::C104,
        format!(
            "ran or slept longer than {} s (waiting for answers doesn't count)",
            limit.as_secs_f64()
        ),
        "the plugin may loop on this input; raise `limits.cpu_ms` of the plugin if it needs more",
    )
}

fn out_of_memory(around: &Circumstances) -> Finding {
    let limit = bytes(around.limits.memory);
    let asked = around
        .refused
        .map_or_else(String::new, |asked| format!(", asked for {}", bytes(asked)));
    Finding::new(
        MessageCode::C102,
        format!("out of memory (limit {limit}{asked})"),
        "raise `limits.memory_mb` of the plugin if it needs more",
    )
}

fn crashed(how: &str, around: &Circumstances) -> Finding {
    let mut message = how.to_owned();
    let mut words: Vec<_> = around.words.iter().map(String::as_str).collect();
    if !words.is_empty() {
        // Python says what happened after where it did.
        let is_python = words[0].starts_with("Traceback ");
        let headline = words.remove(if is_python { words.len() - 1 } else { 0 });
        message.push_str(if how.contains(':') {
            "; it said: "
        } else {
            ": "
        });
        message.push_str(&one_line(headline, MAX_LOG_LINE_BYTES));
        for line in words {
            message.push_str("\n  ");
            message.push_str(&one_line(line, MAX_LOG_LINE_BYTES));
        }
    }
    Finding::new(
        MessageCode::C101,
        message,
        "report this to the plugin's author with the input that causes it",
    )
}

fn bad_pointer() -> Finding {
    Finding::new(
        MessageCode::C107,
        "passed a value that is not in its memory or not of its type",
        "the plugin's bindings are at fault; rebuild it with a current SDK",
    )
}

/// Errors while data crosses, which the engine raises without a [`Trap`].
fn of_crossing(error: &wasmtime::Error) -> Finding {
    let utf8 = error
        .chain()
        .any(|cause| cause.is::<std::str::Utf8Error>() || cause.is::<std::string::FromUtf8Error>());
    if utf8 {
        return Finding::new(
            MessageCode::C108,
            "passed text that is not UTF-8",
            "the plugin's bindings are at fault; rebuild it with a current SDK",
        );
    }
    if format!("{:?}", error.root_cause()) == "HostcallFuelExhausted" {
        return Finding::new(
            MessageCode::C106,
            format!(
                "passed or returned more than {}",
                bytes(MAX_CROSSING_BYTES as u64)
            ),
            "the plugin must answer with less; large raw responses can be left out",
        );
    }
    bad_pointer()
}
