//! The built program, run as a user would: by its arguments, in a folder, with signals.
//!
//! A [`Run`] is a description; clones share their folders, so that `eval` and then `list`
//! see the same home. The environment is empty but for what the test gives: a test must
//! not pass because of what happens to be set on a machine.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

mod commands;
mod told;

#[cfg(test)]
mod tests;

/// How long a program may run, or a text take to appear, before the test fails.
const PATIENCE: Duration = Duration::from_mins(2);

/// The root of the repository.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("the tests are a folder of the workspace")
        .to_owned()
}

/// A program run to be: arguments, environment, folders.
#[derive(Debug, Clone)]
pub struct Run {
    project: Arc<TempDir>,
    home: Arc<TempDir>,
    program: Option<PathBuf>,
    folder: Option<PathBuf>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    terminal: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// A run in an empty project folder with an empty home.
    pub fn new() -> Self {
        let project = TempDir::new().expect("the system has a folder for temporary files");
        Self {
            project: Arc::new(project),
            home: Arc::new(new_home()),
            program: None,
            folder: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            terminal: false,
        }
    }

    /// The project folder, in which the program runs unless told otherwise.
    pub fn project(&self) -> &Path {
        self.project.path()
    }

    /// The program's home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file of the project, folders included.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.project().join(path);
        let folder = path.parent().expect("a file of the project is in a folder");
        std::fs::create_dir_all(folder).expect("the project folder can be written to");
        std::fs::write(path, content).expect("the project folder can be written to");
        self
    }

    /// Writes `promptfooconfig.yaml`.
    #[must_use]
    pub fn config(self, yaml: &str) -> Self {
        self.file("promptfooconfig.yaml", yaml)
    }

    /// Writes `tests.csv`: so many tests with the variable `n`, from 0.
    #[must_use]
    pub fn numbered_tests(self, count: usize) -> Self {
        let rows = (0..count).fold("n\n".to_owned(), |mut text, n| {
            writeln!(text, "{n}").expect("a string takes everything");
            text
        });
        self.file("tests.csv", rows)
    }

    /// Runs this program instead of the built one.
    #[must_use]
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }

    /// Runs in this folder instead of the project.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Forgets the arguments so far.
    #[must_use]
    pub fn without_args(mut self) -> Self {
        self.arguments.clear();
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets environment variables.
    #[must_use]
    pub fn envs<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let variables = variables.into_iter();
        self.environment
            .extend(variables.map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Runs in a terminal, which [`Running::types`] types into. What the program writes to either
    /// stream, and what is typed, is its stdout.
    #[must_use]
    pub fn in_terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// The program and its arguments; in a terminal, the one that gives it one.
    fn command(&self) -> Command {
        let program = self.program.clone().map_or_else(built_program, found);
        if !self.terminal {
            let mut command = Command::new(program);
            command.args(&self.arguments).stdin(Stdio::null());
            return command;
        }
        let words = std::iter::once(program.as_os_str()).chain(self.arguments.iter().map(|a| &**a));
        let words = words.map(|word| word.to_str().expect("the tests' words are Unicode"));
        let words: Vec<String> = words
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        let mut command = Command::new("/usr/bin/script");
        command
            .args(["--quiet", "--return", "--command"])
            .arg(format!("exec {}", words.join(" ")))
            .arg("/dev/null")
            .stdin(Stdio::piped());
        command
    }

    /// Runs to the end.
    pub fn finish(self) -> Finished {
        self.start().finish()
    }

    /// Starts the program and returns while it runs.
    pub fn start(self) -> Running {
        let mut command = self.command();
        command
            .current_dir(self.folder.as_deref().unwrap_or(self.project()))
            .env_clear()
            .env("RUNNER_HOME", self.home())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = crate::starting::spawned(command);
        let stdout = Output::of(child.stdout.take().expect("it is piped"));
        let stderr = Output::of(child.stderr.take().expect("it is piped"));
        Running {
            run: self,
            child,
            stdout,
            stderr,
        }
    }
}

/// Where the built program is: what `RUNNER_BIN` says, or where cargo puts it.
pub fn built_program() -> PathBuf {
    found(where_built())
}

fn where_built() -> PathBuf {
    std::env::var_os("RUNNER_BIN").map_or_else(
        || {
            target_folder()
                .join("release")
                .join(format!("runner{}", std::env::consts::EXE_SUFFIX))
        },
        PathBuf::from,
    )
}

/// The folder that builds go to.
pub fn target_folder() -> PathBuf {
    workspace_root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// An empty home but for the compiled plugins: every program would compile them anew, and
/// what is compiled is the same for all.
fn new_home() -> TempDir {
    let home = TempDir::new().expect("the system has a folder for temporary files");
    let compiled = target_folder().join("test-home/cache/plugins");
    std::fs::create_dir_all(&compiled).expect("the target folder can be written to");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&compiled, private).expect("the folder is ours");
    let cache = home.path().join("cache");
    std::fs::create_dir(&cache).expect("the home is new");
    std::os::unix::fs::symlink(&compiled, cache.join("plugins")).expect("the cache is empty");
    home
}

fn found(path: PathBuf) -> PathBuf {
    assert!(
        path.is_file(),
        "there is no {}; build it with `cargo xtask test`",
        path.display()
    );
    path
}

/// A program that runs. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    run: Run,
    child: Child,
    stdout: Output,
    stderr: Output,
}

impl Running {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends what Ctrl-C sends.
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends the signal of this name, without `SIG`.
    pub fn signal(&self, name: &str) {
        // The shell has `kill` built in, on machines without the command as well.
        let sent = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("kill -{name} {}", self.child.id()))
            .status()
            .expect("every Unix has a shell");
        assert!(sent.success(), "SIG{name} could not be sent");
    }

    /// Types into its terminal.
    pub fn types(&mut self, text: &str) {
        let terminal = self.child.stdin.as_mut().expect("it runs in a terminal");
        let typed = terminal.write_all(text.as_bytes());
        typed.and_then(|()| terminal.flush()).expect("it is there");
    }

    /// Waits until the text has appeared on stderr.
    pub fn wait_for_stderr(&self, text: &str) {
        self.stderr.wait_for(text);
    }

    /// Waits until the text has appeared on stdout; gives all that has.
    pub fn wait_for_stdout(&self, text: &str) -> String {
        self.stdout.wait_for(text);
        self.stdout.so_far()
    }

    /// Calls `then` on a thread of its own when the program has ended, or closed its stdout.
    pub fn on_end(&self, then: impl FnOnce() + Send + 'static) {
        let shared = Arc::clone(&self.stdout.shared);
        std::thread::spawn(move || {
            let text = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = shared.1.wait_while(text, |text| !text.ended);
            drop(ended.unwrap_or_else(PoisonError::into_inner));
            then();
        });
    }

    /// Kills it as `kill -9` does. It may have ended by itself just before.
    pub fn kill(mut self) -> Finished {
        // Fails only when it has ended already.
        let _ = self.child.kill();
        self.finish()
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Finished {
        let status = self.wait();
        Finished {
            code: status.code(),
            stdout: self.stdout.join(),
            stderr: self.stderr.join(),
            run: Run {
                arguments: Vec::new(),
                terminal: false,
                ..self.run.clone()
            },
        }
    }

    /// A program has ended when both its streams have.
    fn wait(&mut self) -> ExitStatus {
        if !(self.stdout.ends() && self.stderr.ends()) {
            let _ = self.child.kill();
            panic!(
                "the program did not end within {PATIENCE:?}; it said:\n{}\n{}",
                self.stdout.so_far(),
                self.stderr.so_far()
            );
        }
        self.child.wait().expect("a child can be waited for")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Everything it wrote to stdout.
    pub stdout: String,
    /// Everything it wrote to stderr.
    pub stderr: String,
    run: Run,
}

impl Finished {
    /// Another run in the same folders and environment, without arguments.
    pub fn again(&self) -> Run {
        self.run.clone()
    }

    /// Asserts the exit code; shows what the program said when it differs.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// A file of the project.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<OsStr>) -> String {
        let path = self.run.project().join(path.as_ref());
        std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; stderr:\n{}", path.display(), self.stderr))
    }

    /// A JSON file of the project.
    #[track_caller]
    pub fn json(&self, path: impl AsRef<OsStr>) -> Value {
        let text = self.read(path);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
    }

    /// stdout as JSON.
    #[track_caller]
    pub fn stdout_json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{error} in:\n{}\nstderr:\n{}", self.stdout, self.stderr)
        })
    }
}

/// What a stream has brought, read by a thread of its own so that no pipe ever fills up.
#[derive(Debug)]
struct Output {
    shared: Arc<(Mutex<Text>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    ended: bool,
}

impl Output {
    fn of(mut stream: impl Read + Send + 'static) -> Self {
        let shared = Arc::new((Mutex::new(Text::default()), Condvar::new()));
        let writer = Arc::clone(&shared);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let count = stream.read(&mut buffer).unwrap_or(0);
                let mut text = writer.0.lock().unwrap_or_else(PoisonError::into_inner);
                text.bytes.extend_from_slice(&buffer[..count]);
                text.ended = count == 0;
                writer.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self {
            shared,
            reader: Some(reader),
        }
    }

    fn text(&self) -> MutexGuard<'_, Text> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text().bytes).into_owned()
    }

    /// Waits for the end of the stream; `false` when patience ran out first.
    fn ends(&self) -> bool {
        let (text, _) = self
            .shared
            .1
            .wait_timeout_while(self.text(), PATIENCE, |text| !text.ended)
            .unwrap_or_else(PoisonError::into_inner);
        text.ended
    }

    fn wait_for(&self, wanted: &str) {
        let missing = |text: &mut Text| !String::from_utf8_lossy(&text.bytes).contains(wanted);
        let (mut text, _) = self
            .shared
            .1
            .wait_timeout_while(self.text(), PATIENCE, |text| missing(text) && !text.ended)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(
            !missing(&mut text),
            "'{wanted}' did not appear in:\n{}",
            String::from_utf8_lossy(&text.bytes)
        );
    }

    fn join(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader
                .join()
                .expect("the reader has nothing to panic about");
        }
        self.so_far()
    }
}
