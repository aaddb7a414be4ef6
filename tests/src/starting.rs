//! How the tests start a program.

use std::io::ErrorKind;
use std::process::{Child, Command};

/// Starts a program. A program that a test has just copied may still be open for writing in a child that another test
/// began meanwhile and that has not yet become another program.
pub(crate) fn spawned(mut command: Command) -> Child {
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => return child.expect("the program was found and can be started"),
        }
    }
}
