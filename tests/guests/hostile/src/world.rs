//! Misbehaviours toward virtual WASI: what a toolchain's library would ask of a system.

use crate::bindings::wasi::cli::{environment, exit, stdin, stdout};
use crate::bindings::wasi::clocks::monotonic_clock::subscribe_duration;
use crate::bindings::wasi::filesystem::preopens;
use crate::bindings::wasi::http::types::{Fields, Method, OutgoingRequest};
use crate::bindings::wasi::io::poll;
use crate::bindings::wasi::random::random::get_random_bytes;

const MILLISECOND: u64 = 1_000_000;

/// Sleeps for three centuries.
pub(crate) fn sleep() -> String {
    subscribe_duration(u64::MAX / 2).block();
    "awake".into()
}

/// Never for long, but for ever.
pub(crate) fn sleep_in_turns() -> String {
    loop {
        subscribe_duration(10 * MILLISECOND).block();
    }
}

/// Waits for whichever of many comes first; none does.
pub(crate) fn poll_many() -> String {
    let all: Vec<_> = (0..500).map(|_| subscribe_duration(u64::MAX / 2)).collect();
    let all: Vec<_> = all.iter().collect();
    format!("{} awake", poll::poll(&all).len())
}

pub(crate) fn read_stdin() -> String {
    let read = stdin::get_stdin().blocking_read(1 << 30);
    format!("{} bytes", read.map_or(0, |bytes| bytes.len()))
}

/// Writes twenty megabytes, in lines or without end.
pub(crate) fn write_stdout(piece: &str) -> String {
    let out = stdout::get_stdout();
    let piece = piece.repeat(4_096 / piece.len());
    for _ in 0..5_000 {
        if out.blocking_write_and_flush(piece.as_bytes()).is_err() {
            return "closed".into();
        }
    }
    "written".into()
}

/// Asks the host to make four gigabytes of zeroes.
pub(crate) fn write_zeroes() -> String {
    let written = stdout::get_stdout().write_zeroes(4 << 30);
    format!("{}", written.is_ok())
}

pub(crate) fn random(bytes: u64, times: u32) -> String {
    let all = (0..times).map(|_| get_random_bytes(bytes).len());
    format!("{} bytes", all.sum::<usize>())
}

/// Opens streams and closes none.
pub(crate) fn handles() -> String {
    let all: Vec<_> = (0..1_000_000).map(|_| stdout::get_stdout()).collect();
    format!("{} open", all.len())
}

pub(crate) fn pollables() -> String {
    let all: Vec<_> = (0..1_000_000).map(|_| subscribe_duration(1)).collect();
    format!("{} open", all.len())
}

/// Makes requests that it never sends, each as large as it can be.
pub(crate) fn requests() -> String {
    let (name, value) = ("x".repeat(1 << 20), [b'x'; 1 << 10]);
    let request = |_| {
        let headers = Fields::new();
        for _ in 0..14 {
            // One more would be a crash.
            let _ = headers.append("x", &value);
        }
        let request = OutgoingRequest::new(headers);
        // Refused or not, the next is made.
        let _ = request.set_method(&Method::Other(name.clone()));
        let _ = request.set_authority(Some(&name));
        request
    };
    let all: Vec<_> = (0..1_000_000).map(request).collect();
    format!("{} made", all.len())
}

pub(crate) fn leave() -> String {
    exit::exit(Err(()));
    "still here".into()
}

/// What there is of the machine: variables, arguments and folders.
pub(crate) fn look_around() -> String {
    let (variables, arguments) = (environment::get_environment(), environment::get_arguments());
    let folders = preopens::get_directories();
    format!(
        "{} variables, {} arguments, {} folders",
        variables.len(),
        arguments.len(),
        folders.len()
    )
}
