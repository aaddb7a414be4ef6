//! A folder with code, the workers that run it, and what came of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runner_process::{
    Answer, Fault, LogLine, NODE_DRIVER, PYTHON_DRIVER, Program, Service, Supervisor, Workers,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const LONG: Duration = Duration::from_mins(1);
pub(crate) const SHORT: Duration = Duration::from_millis(700);

pub(crate) fn supervisor() -> Supervisor {
    let test = std::env::current_exe().expect("this program has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/test");
    Supervisor {
        executable: profile.join("examples/supervisor"),
    }
}

/// A folder with code, and what the calls of it printed.
pub(crate) struct Code {
    folder: TempDir,
    printed: Arc<Mutex<Vec<LogLine>>>,
}

impl Code {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        Self {
            folder,
            printed: Arc::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn program(&self, executable: &str, arguments: &[&str]) -> Program {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Program {
            shown: executable.to_owned(),
            executable: executable.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            folder: self.folder.path().to_owned(),
            env: [
                ("PATH".into(), path),
                ("HOME".into(), std::env::var_os("HOME").unwrap_or_default()),
                ("GIVEN".into(), "yes".into()),
            ]
            .into(),
            memory: 1 << 30,
        }
    }

    pub(crate) fn python(&self, workers: usize) -> Workers {
        Self::workers(
            self.program("python3", &["-c", PYTHON_DRIVER]),
            Some(workers),
        )
    }

    pub(crate) fn node(&self) -> Workers {
        let arguments = ["--input-type=module", "-e", NODE_DRIVER];
        Self::workers(self.program("node", &arguments), None)
    }

    pub(crate) fn workers(program: Program, workers: Option<usize>) -> Workers {
        Workers::new(Service {
            program,
            supervisor: supervisor(),
            workers,
            setup: "null".into(),
        })
    }

    pub(crate) async fn call(&self, workers: &Workers, call: &Value) -> Result<Answer, Fault> {
        self.within(LONG, workers, call).await
    }

    pub(crate) async fn within(
        &self,
        limit: Duration,
        workers: &Workers,
        call: &Value,
    ) -> Result<Answer, Fault> {
        let printed = self.printed.clone();
        let log = Arc::new(move |line| printed.lock().expect("not poisoned").push(line));
        workers.call(&call.to_string(), limit, log).await
    }

    pub(crate) fn printed(&self) -> Vec<String> {
        let lines = std::mem::take(&mut *self.printed.lock().expect("not poisoned"));
        lines.into_iter().map(|line| line.text).collect()
    }
}

pub(crate) fn function(path: &Path, entry: &str, arguments: &[Value]) -> Value {
    let arguments: Vec<Value> = arguments.iter().map(|value| json!(["a", value])).collect();
    json!({ "form": "file", "path": path, "name": "x", "entry": entry, "arguments": arguments })
}

pub(crate) fn value(answer: Result<Answer, Fault>) -> Value {
    let answer = answer
        .expect("the program answers")
        .expect("the code does not fail");
    answer.map_or(Value::Null, |json| {
        serde_json::from_str(json.get()).expect("JSON")
    })
}

pub(crate) fn failure(answer: Result<Answer, Fault>) -> String {
    answer
        .expect("the program answers")
        .expect_err("the code fails")
        .message
}

/// Whether a process of this number is there and not only waiting to be looked at.
pub(crate) fn is_alive(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        !stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" Z"))
    })
}

pub(crate) async fn gone(pid: &Value) -> bool {
    for _ in 0..500 {
        if !is_alive(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
