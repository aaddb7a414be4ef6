//! A supervisor and nothing else, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    let supervised = runner_process::supervised(std::env::args_os());
    supervised.expect("it is started as a supervisor")
}
