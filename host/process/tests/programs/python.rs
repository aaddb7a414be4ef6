//! Python: one call at a time, each worker kept.

use runner_process::Fault;
use serde_json::{Value, json};

use crate::world::{Code, SHORT, failure, function, gone, value};

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

/// Waits for something a number of times at once.
async fn futures<F: Future>(times: usize, make: impl Fn() -> F) -> Vec<F::Output> {
    futures_util::future::join_all((0..times).map(|_| make())).await
}
