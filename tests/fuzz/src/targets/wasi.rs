//! Every function of virtual WASI that is linked, with anything in it, as the hostile guest calls
//! them that does what it is told (`tests/guests/hostile/src/system.rs`). Two need what nobody has,
//! a file and a stream's error, and are left out.
//!
//! Beside what holds for every import: there is no machine behind them, so the same calls give the
//! same answer. Requests of `wasi:http` (`fetch.rs` of the guest) reach the host of `imports`.

use std::time::Duration;

use runner_sandbox::CallLimits;

use super::imports::held;

/// Calls and what is in them.
pub(super) const WORDS: &[&str] = &[
    "environment\t1\n",
    "arguments\t1\n",
    "folder\t1\n",
    "folders\t1\n",
    "terminals\t1\n",
    "exit\t1\t0\n",
    "now\t9\n",
    "resolution\t1\n",
    "wall-now\t9\n",
    "wall-resolution\t1\n",
    "sleep\t2\t1000\n",
    "sleep-until\t1\t1000000\n",
    "poll\t2\t9\n",
    "keep-timer\t1000\t1\n",
    "keep-stream\t1000\n",
    "random\t3\t4096\n",
    "random-number\t3\n",
    "insecure\t3\t4097\n",
    "insecure-number\t3\n",
    "seed\t2\n",
    "stdin.read\t1\t9\n",
    "stdin.blocking-read\t1\t9\n",
    "stdin.skip\t1\t9\n",
    "stdin.blocking-skip\t1\t9\n",
    "stdin.wait\t1\n",
    "stdout.check\t1\n",
    "stdout.write\t9\t\ttext\n",
    "stdout.blocking-write\t1000\t\ttext\n",
    "stderr.write\t300\t\ttext\n",
    "stderr.blocking-write\t2\t\t\u{1b}[2K\n",
    "stdout.flush\t1\n",
    "stderr.blocking-flush\t1\n",
    "stdout.zeroes\t1\t8192\n",
    "stderr.blocking-zeroes\t1\t4096\n",
    "stdout.splice\t1\t9\n",
    "stderr.blocking-splice\t1\t9\n",
    "stdout.wait\t1\n",
    "fetch.whole\t3\t0\tGET https a.test /\n",
    "fetch.whole\t2\t70000\tPOST https a.test /x?y x:y content-length:9\n",
    "fetch.whole\t65\t1\tPOST\n",
    "fetch.unread\t2\t9\tPUT http a.test:80 /\n",
    "fetch.left\t2\t9\tPOST https a.test /\n",
    "fetch.open\t1\t9\tPOST https a.test /\n",
    " runner-credential:key",
    " runner-bucket:one",
    " host:b.test",
    "\t0",
    "\t1048577",
    "\t4294967296",
    "\t18446744073709551615",
    "\t\t",
];

pub(super) fn run(input: &[u8]) -> String {
    let limits = CallLimits {
        // Most of what sleeps sleeps for ever.
        guest_time: Duration::from_millis(100),
        ..CallLimits::provider()
    };
    let (first, second) = (held(input, limits), held(input, limits));
    match (first, second) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first, second, "the same calls gave another answer");
            "an answer".to_owned()
        }
        // Time passes also while others have the processor.
        (Err(how), _) | (_, Err(how)) => how,
    }
}
