//! Another process that is told what to do, and can be killed.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

const FILE: &str = "RUNNER_STORE_TEST_FILE";
const WAL: &str = "RUNNER_STORE_TEST_WAL";

/// In the child: which file it is for, and whether with a log.
pub(crate) fn orders() -> (PathBuf, bool) {
    let path = std::env::var_os(FILE).unwrap().into();
    (path, std::env::var_os(WAL).is_some())
}

/// In the child: says something on a line of its own, which the test harness may have begun.
pub(crate) fn say(line: &str) {
    println!("\n{line}");
}

/// In the parent: the child.
pub(crate) struct Child {
    process: std::process::Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Child {
    /// Starts the test with this name, which is an ignored one, and waits until it is ready.
    pub(crate) fn start(test: &str, path: &Path, wal: bool) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(FILE, path);
        if wal {
            command.env(WAL, "1");
        }
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut child = Self {
            process,
            commands,
            answers,
        };
        child.wait_for("ready");
        child
    }

    pub(crate) fn wait_for(&mut self, wanted: &str) {
        assert!(
            self.answers.any(|line| line.unwrap() == wanted),
            "the child ended without `{wanted}`"
        );
    }

    pub(crate) fn tell(&mut self, command: &str) {
        writeln!(self.commands, "{command}").unwrap();
    }

    pub(crate) fn command(&mut self, command: &str) {
        self.tell(command);
        self.wait_for("done");
    }

    /// What it says next; `None` once it has ended. The last line may be cut off.
    pub(crate) fn hear(&mut self) -> Option<String> {
        Some(self.answers.next()?.unwrap_or_default())
    }

    /// SIGKILL; what it said before can still be heard.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
