//! How programs end: by themselves, at a limit, and with the run, however that ends.

use insta::assert_snapshot;
use runner_tests::{Answer, Gate, ModelApi, Run};
use serde_json::{Value, json};

use crate::own_code::{all_end, first_line, lines, rows, trusted};

/// Ends itself by a signal at row 5, and hangs with a child at row 7.
const ILL: &str = r#"
import os, signal, subprocess, sys

def call_api(prompt, options, context):
    if prompt == "row 5":
        os.kill(os.getpid(), signal.SIGKILL)
    if prompt == "row 7":
        child = subprocess.Popen(["sleep", "1000"])
        with open("hangs", "w") as file:
            file.write(f"{os.getpid()} {child.pid}\n")
        while True:
            pass
    return {"output": prompt}
"#;

#[test]
fn a_worker_that_is_killed_or_hangs_costs_its_row_and_its_children() {
    let run = trusted()
        .file("ill.py", ILL)
        .numbered_tests(20)
        .config("prompts: ['row {{n}}']\nproviders: [{ id: file://ill.py, config: { workers: 2, timeout: 2000 } }]\ntests: tests.csv");
    let finished = run
        .args(["eval", "-j", "8", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    let wrong: Vec<(usize, &Value)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row["error"].is_null())
        .map(|(index, row)| (index, &row["error"]))
        .collect();
    let killed = json!("python ill.py: was ended by signal 9 in the middle of the call");
    let hung = json!("python ill.py: gave no answer within 2s");
    assert_eq!(wrong, [(5, &killed), (7, &hung)]);
    let pids: Vec<String> = lines(&finished, "hangs")[0]
        .split(' ')
        .map(str::to_owned)
        .collect();
    all_end(&pids);
}

#[test]
fn code_that_ends_its_process_is_told_with_what_it_said() {
    let run = trusted()
        .file("gives.mjs", "export default async () => {\n  console.error('no database: ' + process.env.PATH.length);\n  process.exit(3);\n}")
        .config("prompts: [p]\nproviders: [file://gives.mjs]");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    let error = rows(&finished)[0]["error"].clone();
    let error = error.as_str().unwrap_or_default();
    assert!(
        error.contains(
            "ended with exit code 3 in the middle of the call; its last words: no database: "
        ),
        "{error}"
    );
}

/// Waits for ever, with a child.
const WAITS: &str = r#"
import os, subprocess, time

def call_api(prompt, options, context):
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    with open("waits", "w") as file:
        file.write(f"{os.getpid()} {child.pid}\n")
    time.sleep(1000)
"#;

fn waiting() -> Run {
    let config = "prompts: [p]\nproviders: [file://waits.py]";
    trusted().file("waits.py", WAITS).config(config).arg("eval")
}

#[test]
fn ctrl_c_twice_leaves_no_process() {
    let run = waiting();
    let folder = run.clone();
    let running = run.start();
    let pids = first_line(folder.project(), "waits");
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    running.interrupt();
    running.finish().expect_code(130);
    all_end(&pids.split(' ').map(str::to_owned).collect::<Vec<_>>());
}

/// A run that drains asks no program any more. What a metric needs of one is not waited for.
#[test]
fn ctrl_c_leaves_out_metrics_that_a_program_works_out() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("late").behind(&gate));
    let metric = "import 'node:fs'; export default () => 7;";
    let config = "prompts: [p]\nproviders: [openai:m]\nderivedMetrics: [{ name: seven, value: file://seven.mjs }]";
    let run = trusted().file("seven.mjs", metric).config(config);
    let running = run
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "--no-table"])
        .start();
    api.wait_until(|view| view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    gate.open();
    assert_snapshot!(running.finish().told());
}

/// A run of one case whose code for the end of the run never ends.
fn never_closing() -> Run {
    const HOOK: &str = "import { writeFileSync } from 'node:fs';\nexport const afterAll = () => { writeFileSync('waits', `${process.pid}\\n`); return new Promise(() => setInterval(() => {}, 1000)); };";
    let config = "prompts: [p]\nproviders: [echo]\nextensions: [file://hook.mjs:afterAll]";
    trusted().file("hook.mjs", HOOK).config(config)
}

#[test]
fn what_runs_after_the_last_case_is_left_out_by_who_insists() {
    let run = never_closing().args(["eval", "--no-table"]);
    let folder = run.clone();
    let running = run.start();
    let pid = first_line(folder.project(), "waits");
    running.interrupt();
    running.wait_for_stderr("Ctrl-C again leaves it out");
    running.interrupt();
    let mut finished = running.finish();
    // Two threads say the last two lines, each when it has heard of the signal.
    let mut lines: Vec<&str> = finished.stderr.lines().collect();
    lines.sort_unstable();
    finished.stderr = lines.join("\n");
    assert_snapshot!(finished.told());
    all_end(&[pid]);
}

#[test]
fn what_runs_after_the_last_case_ends_with_the_run_s_time() {
    let run = never_closing().args(["eval", "--no-table", "--max-eval-time-ms", "5000"]);
    let finished = run.finish();
    finished.expect_code(0);
    let waits = std::fs::read_to_string(finished.again().project().join("waits"));
    let pid = waits.expect("it ran").trim().to_owned();
    all_end(&[pid]);
}

#[test]
fn a_run_that_is_killed_leaves_no_process() {
    let run = waiting();
    let folder = run.clone();
    let running = run.start();
    let pids = first_line(folder.project(), "waits");
    drop(running.kill());
    all_end(&pids.split(' ').map(str::to_owned).collect::<Vec<_>>());
}

/// Between two calls a worker hears that its input has ended, and ends before anybody can end it.
#[test]
fn what_an_idle_worker_has_started_ends_with_a_run_that_is_killed() {
    const STARTS: &str = "import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs';\nexport default () => { const child = spawn('sleep', ['1000'], { stdio: 'ignore' }); writeFileSync('waits', `${process.pid} ${child.pid}\\n`); return new Promise(() => {}); };";
    let config = "prompts: [p]\nproviders: [file://starts.mjs]";
    let run = trusted().file("starts.mjs", STARTS).config(config);
    let run = run.arg("eval");
    let folder = run.clone();
    let running = run.start();
    let pids = first_line(folder.project(), "waits");
    drop(running.kill());
    all_end(&pids.split(' ').map(str::to_owned).collect::<Vec<_>>());
}

#[test]
fn programs_count_in_the_memory_of_the_run() {
    const TAKES: &str = "import time\ntext = 'x' * (900 << 20)\ntime.sleep(1000)";
    let run = trusted()
        .env("RUNNER_MEMORY_LIMIT", "800")
        .file("takes.py", TAKES)
        .config("prompts: [p]\nproviders: ['exec: python3 takes.py']");
    let finished = run.arg("eval").finish();
    finished.expect_code(1);
    assert!(
        finished
            .stderr
            .contains("takes more than 800 MiB of memory, with what it has started"),
        "{}",
        finished.stderr
    );
}

/// A key may lie across the border of what is kept.
#[test]
fn the_last_words_of_a_program_hold_no_part_of_a_secret() {
    const DIES: &str = "import os, sys\nkey = os.environ['MY_KEY']\nfor n in [1970, 1980, 1990]:\n    os.write(2, b'q' * 3000 + key.encode() + b'r' * n + b'\\n')\nos._exit(3)";
    let run = trusted()
        .env("MY_KEY", "abcdefgh-ijklmnop-qrstuvwx")
        .file("dies.py", DIES)
        .config("prompts: [p]\nproviders: ['exec: python3 dies.py MY_KEY']");
    let finished = run.args(["eval", "-v", "-o", "out.json"]).finish();
    finished.expect_code(100);
    let results = finished.json("out.json").to_string();
    for text in [results, finished.told()] {
        for part in ["abcdefgh", "ijklmnop", "qrstuvwx"] {
            assert!(!text.contains(part), "{part}");
        }
    }
}
