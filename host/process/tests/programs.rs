//! Real interpreters below a real supervisor: started, asked, and ended.
#![cfg(unix)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runner_process::{
    Answer, Fault, LogLine, NODE_DRIVER, PYTHON_DRIVER, Program, Service, Supervisor, Workers, once,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_millis(700);

fn supervisor() -> Supervisor {
    let test = std::env::current_exe().expect("this program has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/test");
    Supervisor {
        executable: profile.join("examples/supervisor"),
    }
}

/// A folder with code, and what the calls of it printed.
struct Code {
    folder: TempDir,
    printed: Arc<Mutex<Vec<LogLine>>>,
}

impl Code {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        Self {
            folder,
            printed: Arc::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, executable: &str, arguments: &[&str]) -> Program {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Program {
            shown: executable.to_owned(),
            executable: executable.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            folder: self.folder.path().to_owned(),
            env: vec![
                ("PATH".into(), path),
                ("HOME".into(), std::env::var_os("HOME").unwrap_or_default()),
                ("GIVEN".into(), "yes".into()),
            ],
            memory: 1 << 30,
        }
    }

    fn python(&self, workers: usize) -> Workers {
        Self::workers(
            self.program("python3", &["-c", PYTHON_DRIVER]),
            Some(workers),
        )
    }

    fn node(&self) -> Workers {
        let arguments = ["--input-type=module", "-e", NODE_DRIVER];
        Self::workers(self.program("node", &arguments), None)
    }

    fn workers(program: Program, workers: Option<usize>) -> Workers {
        Workers::new(Service {
            program,
            supervisor: supervisor(),
            workers,
        })
    }

    async fn call(&self, workers: &Workers, call: &Value) -> Result<Answer, Fault> {
        self.within(LONG, workers, call).await
    }

    async fn within(
        &self,
        limit: Duration,
        workers: &Workers,
        call: &Value,
    ) -> Result<Answer, Fault> {
        let printed = self.printed.clone();
        let log = Arc::new(move |line| printed.lock().expect("not poisoned").push(line));
        workers.call(&call.to_string(), limit, log).await
    }

    fn printed(&self) -> Vec<String> {
        let lines = std::mem::take(&mut *self.printed.lock().expect("not poisoned"));
        lines.into_iter().map(|line| line.text).collect()
    }
}

fn function(path: &Path, entry: &str, arguments: &[Value]) -> Value {
    let arguments: Vec<Value> = arguments.iter().map(|value| json!(["a", value])).collect();
    json!({ "form": "file", "path": path, "name": "x", "entry": entry, "arguments": arguments })
}

fn value(answer: Result<Answer, Fault>) -> Value {
    let answer = answer
        .expect("the program answers")
        .expect("the code does not fail");
    answer.map_or(Value::Null, |json| {
        serde_json::from_str(json.get()).expect("JSON")
    })
}

fn failure(answer: Result<Answer, Fault>) -> String {
    answer
        .expect("the program answers")
        .expect_err("the code fails")
        .message
}

/// Whether a process of this number is there and not only waiting to be looked at.
fn is_alive(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        !stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" Z"))
    })
}

async fn gone(pid: &Value) -> bool {
    for _ in 0..500 {
        if !is_alive(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

const PYTHON: &str = r#"
import asyncio, os, subprocess, sys, time
import beside

def add(a, b):
    print("adding", a)
    print("half", end="")
    print("to standard error", file=sys.stderr)
    os.system("echo from a shell")
    return {"sum": a + b, "env": sorted(n for n in os.environ if n in ("GIVEN", "HOME", "SECRET"))}

async def later(a):
    await asyncio.sleep(0.01)
    return a

def fails(a):
    raise ValueError("no " + a)

def nothing(): pass
def pid(): return os.getpid()
def dies(): os._exit(3)
def large(): return "x" * (40 << 20)
def hungry(): return len(bytearray(3 << 30))
def hangs(path):
    child = subprocess.Popen(["sleep", "1000"])
    with open(path, "w") as file: file.write(f"[{os.getpid()}, {child.pid}]")
    while True: pass

class Model:
    def answer(prompt): return beside.NAME + prompt
"#;

fn python() -> Code {
    Code::new(&[("x.py", PYTHON), ("beside.py", "NAME = 'beside '")])
}

#[tokio::test(flavor = "multi_thread")]
async fn python_is_asked_again_and_again_and_what_it_prints_belongs_to_its_call() {
    let code = python();
    let (workers, path) = (code.python(1), code.path("x.py"));
    let call = function(&path, "add", &[json!(1), json!(2)]);
    let expected = json!({ "sum": 3, "env": ["GIVEN", "HOME"] });
    assert_eq!(value(code.call(&workers, &call).await), expected);
    let mut printed = code.printed();
    printed.sort();
    assert_eq!(
        printed,
        ["adding 1", "from a shell", "half", "to standard error"]
    );

    let later = function(&path, "later", &[json!("é")]);
    assert_eq!(value(code.call(&workers, &later).await), "é");
    let method = function(&path, "Model.answer", &[json!("p")]);
    assert_eq!(value(code.call(&workers, &method).await), "beside p");
    assert_eq!(
        value(code.call(&workers, &function(&path, "nothing", &[])).await),
        Value::Null
    );
    let pid = function(&path, "pid", &[]);
    let first = value(code.call(&workers, &pid).await);
    assert_eq!(
        value(code.call(&workers, &pid).await),
        first,
        "it is the same process"
    );
    drop(workers);
    assert!(gone(&first).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_fails_says_where_and_ends_nothing() {
    let code = python();
    let (workers, path) = (code.python(1), code.path("x.py"));
    let pid = value(code.call(&workers, &function(&path, "pid", &[])).await);
    let call = function(&path, "fails", &[json!("way")]);
    let report = code
        .call(&workers, &call)
        .await
        .expect("an answer")
        .expect_err("a failure");
    assert_eq!(report.message, "ValueError: no way");
    assert_eq!(report.file.as_deref(), path.to_str());
    assert_eq!(report.line, Some(17));
    let missing = function(&path, "mising", &[]);
    assert_eq!(
        failure(code.call(&workers, &missing).await),
        "x.py has no function `mising`"
    );
    let expression = |source: &str| json!({ "form": "expression", "name": "value", "source": source, "arguments": [["output", "a"]] });
    assert_eq!(
        value(code.call(&workers, &expression("output + 'b'")).await),
        "ab"
    );
    let nan = failure(code.call(&workers, &expression("float('nan')")).await);
    assert!(nan.starts_with("ValueError: Out of range float"), "{nan}");
    let body = json!({ "form": "body", "name": "value", "source": "import os\nreturn output * 2", "arguments": [["output", "a"]] });
    assert_eq!(value(code.call(&workers, &body).await), "aa");
    let exits = failure(code.call(&workers, &expression("exit(3)")).await);
    assert_eq!(exits, "SystemExit: 3");
    assert_eq!(
        value(code.call(&workers, &function(&path, "pid", &[])).await),
        pid
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_run_as_a_script_gives_what_it_prints() {
    let code = Code::new(&[(
        "p.py",
        "import sys, json\nprint('for', json.loads(sys.argv[1])['a'])",
    )]);
    let workers = code.python(1);
    let call = json!({ "form": "file", "path": code.path("p.py"), "name": "p.py", "arguments": [["context", { "a": 7 }]] });
    assert_eq!(value(code.call(&workers, &call).await), "for 7");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_costs_its_own_call() {
    let code = python();
    let (workers, path) = (code.python(1), code.path("x.py"));
    let died = code
        .call(&workers, &function(&path, "dies", &[]))
        .await
        .expect_err("it died");
    assert_eq!(
        died.to_string(),
        "python3: ended with exit code 3 in the middle of the call"
    );
    let large = code
        .call(&workers, &function(&path, "large", &[]))
        .await
        .expect_err("too large");
    assert!(matches!(large, Fault::TooLarge { .. }), "{large}");
    let hungry = code
        .call(&workers, &function(&path, "hungry", &[]))
        .await
        .expect_err("too much");
    assert!(matches!(hungry, Fault::OutOfMemory { .. }), "{hungry}");
    assert_eq!(
        value(
            code.call(&workers, &function(&path, "later", &[json!(1)]))
                .await
        ),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_hangs_ends_at_its_limit_with_what_it_started() {
    let code = python();
    let (workers, path) = (code.python(1), code.path("x.py"));
    let told = code.path("pids");
    let call = function(&path, "hangs", &[json!(told)]);
    // Started before, so that the limit is the call's alone.
    value(code.call(&workers, &function(&path, "pid", &[])).await);
    let hung = code
        .within(SHORT, &workers, &call)
        .await
        .expect_err("it hangs");
    assert_eq!(hung.to_string(), "python3: gave no answer within 700ms");
    let pids: Value = serde_json::from_slice(&std::fs::read(told).expect("it ran")).expect("JSON");
    assert!(gone(&pids[0]).await && gone(&pids[1]).await);
    assert_eq!(
        value(
            code.call(&workers, &function(&path, "later", &[json!(1)]))
                .await
        ),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_start_once_and_only_as_many_as_there_may_be() {
    let code = python();
    let (workers, path) = (code.python(2), code.path("x.py"));
    let call = function(&path, "pid", &[]);
    let all = futures(20, || code.call(&workers, &call)).await;
    let pids: std::collections::BTreeSet<String> =
        all.into_iter().map(|it| value(it).to_string()).collect();
    assert!((1..=2).contains(&pids.len()), "{pids:?}");
}

/// The same a number of times at once.
async fn futures<F: Future>(times: usize, make: impl Fn() -> F) -> Vec<F::Output> {
    futures_util::future::join_all((0..times).map(|_| make())).await
}

const NODE: &str = r"
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { name } from './beside.mjs';
export default class {
  constructor(options) { this.options = options; }
  id() { return 'mine'; }
  async callApi(prompt, context) {
    context.logger.info('asked', prompt);
    return { output: name + prompt + this.options.config.suffix };
  }
}
export const add = async (a, b) => { console.log('adding', a); return a + b; };
export const wait = (ms, value) => new Promise((done) => setTimeout(() => { console.log('waited', value); done(value); }, ms));
export const fails = (what) => { throw new TypeError(`no ${what}`); };
export const pid = () => process.pid;
export const dies = () => process.exit(4);
export const never = () => new Promise(() => {});
export const hangs = (path) => {
  const child = spawn('sleep', ['1000']);
  writeFileSync(path, JSON.stringify([process.pid, child.pid]));
  for (;;);
};
";

fn node() -> Code {
    Code::new(&[
        ("x.mjs", NODE),
        ("beside.mjs", "export const name = 'beside ';"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn node_runs_calls_side_by_side_and_knows_whose_lines_are_whose() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    let add = function(&path, "add", &[json!(1), json!(2)]);
    assert_eq!(value(code.call(&workers, &add).await), 3);
    assert_eq!(code.printed(), ["adding 1"]);
    let wait = |ms: u64, name: &str| function(&path, "wait", &[json!(ms), json!(name)]);
    let (slow, quick) = (wait(300, "slow"), wait(1, "quick"));
    let (one, other) = tokio::join!(code.call(&workers, &slow), code.call(&workers, &quick));
    assert_eq!((value(one), value(other)), (json!("slow"), json!("quick")));
    assert_eq!(code.printed(), ["waited quick", "waited slow"]);
    let provider = json!({ "form": "file", "role": "provider", "path": path, "entry": null,
        "setup": { "config": { "suffix": "!" } }, "arguments": [["prompt", "p"], ["context", {}]] });
    assert_eq!(
        value(code.call(&workers, &provider).await),
        json!({ "output": "beside p!" })
    );
    assert_eq!(code.printed(), ["asked p"]);
    let report = code
        .call(&workers, &function(&path, "fails", &[json!("way")]))
        .await;
    let report = report.expect("an answer").expect_err("a failure");
    assert_eq!(report.message, "TypeError: no way");
    assert_eq!(
        (report.file.as_deref(), report.line),
        (path.to_str(), Some(15))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_never_settles_costs_its_own_call_and_no_other() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    let pid = value(code.call(&workers, &function(&path, "pid", &[])).await);
    let never = function(&path, "never", &[]);
    let hung = code
        .within(SHORT, &workers, &never)
        .await
        .expect_err("it hangs");
    assert!(matches!(hung, Fault::TimedOut { .. }), "{hung}");
    assert_eq!(
        value(code.call(&workers, &function(&path, "pid", &[])).await),
        pid
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn those_beside_one_that_ends_the_process_are_made_again() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    value(code.call(&workers, &function(&path, "pid", &[])).await);
    let wait = function(&path, "wait", &[json!(200), json!("done")]);
    let ends = function(&path, "dies", &[]);
    let (waited, ended, also) = tokio::join!(
        code.call(&workers, &wait),
        code.call(&workers, &ends),
        code.call(&workers, &wait),
    );
    assert_eq!((value(waited), value(also)), (json!("done"), json!("done")));
    let ended = ended.expect_err("it died").to_string();
    assert_eq!(
        ended,
        "node: ended with exit code 4 in the middle of the call"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_blocks_the_process_ends_with_its_children_and_the_others_are_made_again() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    value(code.call(&workers, &function(&path, "pid", &[])).await);
    let told = code.path("pids");
    let hangs = function(&path, "hangs", &[json!(told)]);
    let wait = function(&path, "wait", &[json!(200), json!("done")]);
    let (waited, hung) = tokio::join!(
        code.within(4 * SHORT, &workers, &wait),
        code.within(SHORT, &workers, &hangs),
    );
    assert_eq!(value(waited), "done");
    assert!(matches!(hung, Err(Fault::TimedOut { .. })), "{hung:?}");
    let pids: Value = serde_json::from_slice(&std::fs::read(told).expect("it ran")).expect("JSON");
    assert!(gone(&pids[0]).await && gone(&pids[1]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_said_to_be_so() {
    let code = python();
    let workers = Code::workers(code.program("no-such-interpreter", &[]), Some(1));
    let fault = code
        .call(&workers, &json!({}))
        .await
        .expect_err("it is not there");
    let told = "no-such-interpreter: can't be started: no-such-interpreter: No such file or directory (os error 2)";
    assert_eq!(fault.to_string(), told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_started_for_each_call_and_its_output_taken() {
    let code = Code::new(&[]);
    let command = |script: &str| code.program("sh", &["-c", script, "sh"]);
    let run = |program: Program, limit: Duration| async move {
        once(
            &supervisor(),
            &program,
            &["one".into(), "two".into()],
            limit,
        )
        .await
    };
    let output = run(command("cat; echo $2 $1; echo odd >&2"), LONG)
        .await
        .expect("it ends");
    assert_eq!(output.stdout, b"two one\n");
    assert_eq!(
        (output.stderr.as_slice(), output.failed),
        (&b"odd\n"[..], None)
    );
    let failed = run(command("echo why >&2; exit 3"), LONG)
        .await
        .expect("it ends")
        .failed;
    assert_eq!(failed.as_deref(), Some("sh ended with exit code 3: why"));
    let hung = run(command("sleep 1000 & echo $! > pid; wait"), SHORT)
        .await
        .expect_err("it hangs");
    assert!(matches!(hung, Fault::TimedOut { .. }), "{hung}");
    let pid = std::fs::read_to_string(code.path("pid")).expect("it ran");
    assert!(gone(&json!(pid.trim().parse::<u64>().expect("a number"))).await);
    let left = run(command("sleep 1000 & echo $! > left; echo done"), LONG)
        .await
        .expect("it ends");
    assert_eq!(left.stdout, b"done\n", "who stays behind holds up nobody");
}
