//! Calls of virtual WASI that a text says. What needs a file or a stream's error is left out:
//! nobody has one. Requests are in `fetch.rs`.

use std::mem::forget;

use crate::bindings::wasi::cli::{
    environment, exit, stderr, stdin, stdout, terminal_stderr, terminal_stdin, terminal_stdout,
};
use crate::bindings::wasi::clocks::{monotonic_clock, wall_clock};
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::io::poll;
use crate::bindings::wasi::io::streams::{InputStream, OutputStream, StreamError};
use crate::bindings::wasi::random::{insecure, insecure_seed, random};
use crate::fetch;

/// Calls `import`; a figure of what came of it, the same each time. `None`: there is no such.
pub(crate) fn call(import: &str, number: u64, text: &[u8]) -> Option<u64> {
    let (stream, function) = import.split_once('.').unwrap_or(("", import));
    match stream {
        "stdin" => return read(&stdin::get_stdin(), function, number),
        "stdout" => return write(&stdout::get_stdout(), function, number, text),
        "stderr" => return write(&stderr::get_stderr(), function, number, text),
        "fetch" => return fetch::call(function, number, &String::from_utf8_lossy(text)),
        _ => {}
    }
    let sum = match function {
        "environment" => count(environment::get_environment().len()),
        "arguments" => count(environment::get_arguments().len()),
        "folder" => environment::initial_cwd().is_some().into(),
        "folders" => count(preopens::get_directories().len()),
        "exit" => {
            exit::exit(if number == 0 { Ok(()) } else { Err(()) });
            0
        }
        "terminals" => [
            terminal_stdin::get_terminal_stdin().is_some(),
            terminal_stdout::get_terminal_stdout().is_some(),
            terminal_stderr::get_terminal_stderr().is_some(),
        ]
        .into_iter()
        .map(u64::from)
        .sum(),
        "now" => monotonic_clock::now(),
        "resolution" => monotonic_clock::resolution(),
        "wall-now" => wall_clock::now().seconds,
        "wall-resolution" => wall_clock::resolution().nanoseconds.into(),
        "sleep" => {
            monotonic_clock::subscribe_duration(number).block();
            0
        }
        "sleep-until" => {
            monotonic_clock::subscribe_instant(number).block();
            0
        }
        "poll" => {
            // Which of them come first is the machine's affair.
            let timers: Vec<_> = (0..number.min(2_000))
                .map(monotonic_clock::subscribe_duration)
                .collect();
            let ready = timers.iter().filter(|timer| timer.ready()).count();
            poll::poll(&timers.iter().collect::<Vec<_>>());
            u64::from(ready > timers.len())
        }
        "keep-timer" => {
            forget(monotonic_clock::subscribe_duration(number));
            0
        }
        "keep-stream" => {
            forget(stdout::get_stdout());
            0
        }
        "random" => sum(&random::get_random_bytes(number)),
        "random-number" => random::get_random_u64(),
        "insecure" => sum(&insecure::get_insecure_random_bytes(number)),
        "insecure-number" => insecure::get_insecure_random_u64(),
        "seed" => insecure_seed::insecure_seed().0,
        _ => return None,
    };
    Some(sum)
}

fn read(stream: &InputStream, function: &str, number: u64) -> Option<u64> {
    let length = |bytes: Vec<u8>| count(bytes.len());
    Some(match function {
        "read" => figure(stream.read(number).map(length)),
        "blocking-read" => figure(stream.blocking_read(number).map(length)),
        "skip" => figure(stream.skip(number)),
        "blocking-skip" => figure(stream.blocking_skip(number)),
        "wait" => {
            stream.subscribe().block();
            0
        }
        _ => return None,
    })
}

fn write(stream: &OutputStream, function: &str, number: u64, text: &[u8]) -> Option<u64> {
    let nothing = |()| 0;
    Some(match function {
        "check" => figure(stream.check_write()),
        "write" => figure(stream.write(text).map(nothing)),
        "blocking-write" => figure(stream.blocking_write_and_flush(text).map(nothing)),
        "flush" => figure(stream.flush().map(nothing)),
        "blocking-flush" => figure(stream.blocking_flush().map(nothing)),
        "zeroes" => figure(stream.write_zeroes(number).map(nothing)),
        "blocking-zeroes" => figure(stream.blocking_write_zeroes_and_flush(number).map(nothing)),
        "splice" => figure(stream.splice(&stdin::get_stdin(), number)),
        "blocking-splice" => figure(stream.blocking_splice(&stdin::get_stdin(), number)),
        "wait" => {
            stream.subscribe().block();
            0
        }
        _ => return None,
    })
}

/// What a stream gave; an error says what it was.
fn figure(result: Result<u64, StreamError>) -> u64 {
    match result {
        Ok(number) => number,
        Err(StreamError::Closed) => 1 << 32,
        Err(StreamError::LastOperationFailed(error)) => count(error.to_debug_string().len()),
    }
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().copied().map(u64::from).sum()
}

fn count(length: usize) -> u64 {
    length as u64
}
