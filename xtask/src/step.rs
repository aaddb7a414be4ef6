//! One step of a command: a program that is run, announced before, explained when it fails.
//!
//! Everything the tasks do to the machine goes through here, so that each prints what it does
//! and each failure ends with the line that runs the failed step again. Standard output is
//! left to the programs; what the tasks say goes to standard error.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Seconds from which on it is said how long a step took: what makes a check slow shows in its log.
const WORTH_SAYING: u64 = 10;

/// How often a bounded program is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Why a task stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    /// One sentence or several lines for the person at the terminal.
    why: String,
    /// A command line that runs the failed step alone.
    again: Option<String>,
}

impl Failure {
    /// A failure that no single command line would repeat.
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            again: None,
        }
    }

    /// Has a better command line to repeat it.
    pub(crate) fn again(mut self, line: impl Into<String>) -> Self {
        self.again = Some(line.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.why)?;
        match &self.again {
            Some(line) => write!(f, "\nto run it again: {line}"),
            None => Ok(()),
        }
    }
}

/// Says one line to the person at the terminal.
pub(crate) fn say(line: &str) {
    eprintln!("==> {line}");
}

/// A cargo of this workspace, started in `root`: the one that started us, without the
/// variables it set for us. Build scripts watch some of those, and would run again.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    forget_cargo(&mut command);
    command
}

/// Takes out of `command`'s environment what `cargo run` put into ours.
pub(crate) fn forget_cargo(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(set_by_cargo) {
            command.env_remove(name);
        }
    }
}

/// Is this a variable that cargo sets for the programs it runs?
fn set_by_cargo(name: &str) -> bool {
    let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CFG_"];
    let names = [
        "CARGO",
        "CARGO_CRATE_NAME",
        "CARGO_PRIMARY_PACKAGE",
        "OUT_DIR",
    ];
    names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Runs `command` with our terminal and waits for it; says how long that took if it was long.
pub(crate) fn run(what: &str, command: &mut Command) -> Result<(), Failure> {
    say(what);
    let begun = Instant::now();
    let status = command
        .status()
        .map_err(|error| not_started(what, command, &error))?;
    let seconds = begun.elapsed().as_secs();
    if seconds >= WORTH_SAYING {
        say(&format!("{what}: {seconds} s"));
    }
    judge(what, command, status)
}

/// Runs `command` and returns what it wrote to standard output. Says nothing before it;
/// standard error stays on the terminal.
pub(crate) fn read(what: &str, command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| not_started(what, command, &error))?;
    judge(what, command, output.status)?;
    String::from_utf8(output.stdout)
        .map_err(|_| Failure::new(format!("{what}: the output is not UTF-8")).again(line(command)))
}

/// Like [`run`], but kills the program after `limit`.
pub(crate) fn run_within(
    what: &str,
    command: &mut Command,
    limit: Duration,
) -> Result<(), Failure> {
    say(what);
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| not_started(what, command, &error))?;
    let end = Instant::now() + limit;
    loop {
        let polled = child
            .try_wait()
            .map_err(|error| not_started(what, command, &error))?;
        if let Some(status) = polled {
            return judge(what, command, status);
        }
        if Instant::now() >= end {
            // It may have ended by itself in between; either way it is gone after `wait`.
            let _ = child.kill();
            let _ = child.wait();
            let why = format!("{what}: not done after {} s", limit.as_secs());
            return Err(Failure::new(why).again(line(command)));
        }
        std::thread::sleep(POLL);
    }
}

/// Turns an exit status into a failure that says how to repeat the step.
pub(crate) fn judge(what: &str, command: &Command, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("failed: {what} ({status})")).again(line(command)))
}

/// The failure of a program that could not even be started.
pub(crate) fn not_started(what: &str, command: &Command, error: &std::io::Error) -> Failure {
    let program = command.get_program().display();
    Failure::new(format!("failed: {what}: cannot run {program}: {error}")).again(line(command))
}

/// The command as a line for a shell, with the variables that it adds.
fn line(command: &Command) -> String {
    let mut words = Vec::new();
    if let Some(folder) = command.get_current_dir() {
        words.push(format!("cd {} &&", quoted(folder.as_os_str())));
    }
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.display(), quoted(value)));
        }
    }
    let program = PathBuf::from(command.get_program());
    let is_cargo = program.file_stem() == Some(OsStr::new("cargo"));
    // A toolchain's own cargo has a long path; `cargo` alone means the same to its user.
    words.push(if is_cargo && !program.starts_with("/usr") {
        "cargo".to_owned()
    } else {
        quoted(program.as_os_str())
    });
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

/// A word that a POSIX shell reads back as it is.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Puts `folder` in front of the `PATH` that we were given.
pub(crate) fn path_with(folder: &str) -> OsString {
    let mut path = OsString::from(folder);
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_names_the_line_that_repeats_it() {
        let mut command = Command::new("/opt/toolchain/bin/cargo");
        command
            .args(["test", "--package", "a b"])
            .env("RUSTDOCFLAGS", "-D warnings");
        command.current_dir("/tmp").env_remove("CARGO_PKG_NAME");
        let expected = "cd /tmp && RUSTDOCFLAGS='-D warnings' cargo test --package 'a b'";
        assert_eq!(line(&command), expected);
    }

    #[test]
    fn words_survive_a_shell() {
        for word in ["plain-word", "two words", "it's", "", "$HOME", "a\"b"] {
            let script = format!("printf %s {}", quoted(OsStr::new(word)));
            let output = Command::new("sh").args(["-c", &script]).output();
            let printed = output.map(|output| output.stdout).unwrap_or_default();
            assert_eq!(String::from_utf8_lossy(&printed), word, "{script}");
        }
    }

    #[test]
    fn only_what_cargo_set_is_forgotten() {
        for name in [
            "CARGO",
            "CARGO_PKG_VERSION",
            "CARGO_MANIFEST_DIR",
            "OUT_DIR",
        ] {
            assert!(set_by_cargo(name), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_TERM_COLOR", "PATH"] {
            assert!(!set_by_cargo(name), "{name}");
        }
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let failure = run_within("sleep", &mut command, Duration::from_millis(100));
        let text = failure.map_or_else(|failure| failure.to_string(), |()| String::new());
        assert!(text.contains("not done after 0 s"), "{text}");
    }

    #[test]
    fn a_failing_program_fails_the_step() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let text = run("sh", &mut command).map_or_else(|f| f.to_string(), |()| String::new());
        assert_eq!(
            text,
            "failed: sh (exit status: 3)\nto run it again: sh -c 'exit 3'"
        );
    }
}
