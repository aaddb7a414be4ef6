//! Providers that are the config's own, and code that wants more than the sandbox has: run in real
//! interpreters, as a user runs them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use insta::assert_snapshot;
use runner_tests::{Finished, Run};
use serde_json::{Value, json};

mod agreed;
mod ends;
mod judges;
mod secrets;

/// The machine's Python itself, whatever stands in front of it.
fn python() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let told = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output();
        let told = told.expect("the tests of programs need python3");
        let path = String::from_utf8(told.stdout).expect("a path of text");
        path.trim().to_owned()
    })
}

/// A run whose programs find the machine's interpreters.
fn on_this_machine() -> Run {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Run::new().env("PATH", path).env("RUNNER_PYTHON", python())
}

fn trusted() -> Run {
    on_this_machine().env("RUNNER_TRUST", "config")
}

fn rows(finished: &Finished) -> Vec<Value> {
    let results = finished.json("out.json")["results"]["results"].clone();
    results.as_array().expect("rows").clone()
}

fn outputs(finished: &Finished) -> Vec<Value> {
    let output = |row: &Value| row["response"]["output"].clone();
    rows(finished).iter().map(output).collect()
}

/// What stands in a file of the project, line by line; nothing if there is none.
fn lines(finished: &Finished, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(finished.again().project().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whether a process is there and not only waiting to be looked at.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        !state.is_some_and(|rest| rest.starts_with('Z'))
    })
}

/// Waits until all of these processes have ended.
fn all_end(pids: &[String]) {
    let begun = std::time::Instant::now();
    while pids.iter().any(|pid| is_alive(pid)) {
        let waited = begun.elapsed();
        assert!(waited.as_secs() < 30, "{pids:?} are still there");
        std::thread::yield_now();
    }
}

/// Waits for a line of a file that a program of the run writes.
fn first_line(folder: &Path, name: &str) -> String {
    let begun = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            return line.to_owned();
        }
        assert!(begun.elapsed().as_secs() < 60, "no {name} was written");
        std::thread::yield_now();
    }
}

/// A virtual environment with a package `store`, as a project has it.
fn virtual_environment(run: Run) -> (Run, PathBuf) {
    let folder = run.project().join("venv");
    let made = Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(&folder)
        .status();
    assert!(made.expect("python can be started").success());
    let packages = std::fs::read_dir(folder.join("lib")).expect("a library");
    let packages = packages.flatten().next().expect("of one version").path();
    let package = packages.join("site-packages/store.py");
    std::fs::write(package, "def find(text): return [f'fact about {text}']\n").expect("a package");
    let active = folder.to_str().expect("a path of text").to_owned();
    (run.env("VIRTUAL_ENV", active), folder)
}

const RAG: &str = r#"
import os, sys
import store

with open("started", "a") as file:
    file.write(f"{os.getpid()} {sys.prefix}\n")

def call_api(prompt, options, context):
    facts = store.find(context["vars"]["n"])
    print("found", facts[0])
    return {
        "output": f"{prompt}: {facts[0]}",
        "tokenUsage": {"total": 3, "prompt": 1, "completion": 2},
        "cost": 0.25,
        "metadata": {"facts": facts, "model": options["config"]["model"]},
    }
"#;

#[test]
fn a_python_chain_with_packages_runs_in_as_many_workers_as_it_may() {
    let (run, folder) = virtual_environment(Run::new());
    let run = run
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("RUNNER_TRUST", "config")
        .file("rag.py", RAG)
        .numbered_tests(200)
        .config("prompts: ['tell {{n}}']\nproviders: [{ id: file://rag.py, label: rag, config: { workers: 3, model: m } }]\ntests: tests.csv");
    let finished = run
        .args(["eval", "-j", "8", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(0);
    let rows = rows(&finished);
    assert_eq!(rows.len(), 200);
    assert_eq!(rows[7]["response"]["output"], "tell 7: fact about 7");
    assert_eq!(
        rows[7]["response"]["metadata"],
        json!({ "facts": ["fact about 7"], "model": "m" })
    );
    assert_eq!(rows[7]["cost"], 0.25);
    assert_eq!(rows[7]["tokenUsage"]["total"], 3);
    assert_eq!(rows[7]["provenance"]["plugin"], "python");
    let started = lines(&finished, "started");
    assert!((1..=3).contains(&started.len()), "{started:?}");
    let own = folder.to_str().expect("a path of text");
    assert!(
        started.iter().all(|line| line.ends_with(own)),
        "{started:?}"
    );
    let pids: Vec<String> = started
        .iter()
        .filter_map(|line| Some(line.split_once(' ')?.0.to_owned()))
        .collect();
    all_end(&pids);
}

const AGENT: &str = r"
import { appendFileSync } from 'node:fs';
import { greet } from 'greeter';
appendFileSync('started', `${process.pid}\n`);
export default class {
  constructor(options) { this.options = options; }
  id() { return 'agent'; }
  async callApi(prompt, context) {
    await new Promise((done) => setTimeout(done, 5));
    console.log('asked', prompt);
    return { output: greet(prompt, context.vars.n), tokenUsage: { total: 5 } };
  }
}
";

/// The Node.js agent of a project with a package.
fn agent(run: Run) -> Run {
    run.file("agent.mjs", AGENT)
        .file(
            "node_modules/greeter/package.json",
            r#"{"name": "greeter", "type": "module", "exports": "./index.js"}"#,
        )
        .file(
            "node_modules/greeter/index.js",
            "export const greet = (prompt, n) => `${prompt}, number ${n}`;",
        )
}

#[test]
fn a_node_agent_with_packages_is_one_process_in_typescript_too() {
    let typed = AGENT.replace("(options)", "(private options: object)");
    let typed = typed.replace("(prompt, context)", "(prompt: string, context: any)");
    for (file, text) in [("agent.mjs", AGENT), ("agent.ts", &typed)] {
        let run = agent(trusted())
            .file(file, text)
            .numbered_tests(200)
            .config(&format!(
                "prompts: ['hello']\nproviders: [file://{file}]\ntests: tests.csv"
            ));
        let finished = run
            .args(["eval", "-j", "8", "-o", "out.json", "--no-table"])
            .finish();
        finished.expect_code(0);
        assert_eq!(outputs(&finished)[199], "hello, number 199");
        let started = lines(&finished, "started");
        assert_eq!(started.len(), 1, "{started:?}");
        all_end(&started);
    }
}

#[test]
fn a_command_is_started_for_each_case_and_ends() {
    let run = trusted()
        .file("answer.sh", "echo \"$$\" >> started\necho \"got $1\"\n")
        .numbered_tests(200)
        .config("prompts: ['{{n}}']\nproviders: ['exec: sh ./answer.sh']\ntests: tests.csv");
    let finished = run
        .args(["eval", "-j", "8", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(0);
    assert_eq!(outputs(&finished)[199], "got 199");
    let started = lines(&finished, "started");
    assert_eq!(started.len(), 200, "{started:?}");
    all_end(&started);
}

#[test]
fn exports_of_packages_answer_and_transform() {
    const GREETER: &str = "export const tools = { Agent: class { constructor(o) { this.o = o } callApi(p) { return { output: p + this.o.config.end } } } };\nexport const loud = (output) => output.toUpperCase();";
    let run = trusted()
        .file("node_modules/@my/greeter/package.json", r#"{"name": "@my/greeter", "type": "module", "exports": "./index.js"}"#)
        .file("node_modules/@my/greeter/index.js", GREETER)
        .config("prompts: [p]\nproviders: [{ id: 'package:@my/greeter:tools.Agent', config: { end: '!' } }]\ntests: [{ options: { transform: 'package:@my/greeter:loud' } }]");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(0);
    assert_eq!(outputs(&finished), ["P!"]);
}

/// One asks for what the other does not, and has less time.
#[test]
fn node_is_one_process_whatever_its_providers_want() {
    const SAYS: &str = "import fs from 'node:fs'; export default () => String(process.pid);";
    let run = trusted()
        .env("MY_KEY", "a key of mine")
        .file("one.mjs", SAYS)
        .file("other.mjs", format!("{SAYS} process.env.MY_KEY;"))
        .config("prompts: [p]\nproviders: [file://one.mjs, { id: file://other.mjs, config: { timeout: 5000 } }]");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(0);
    let pids = outputs(&finished);
    assert_eq!(pids[0], pids[1]);
}

#[test]
fn a_check_says_where_code_runs_and_what_is_not_there() {
    let run = on_this_machine()
        .env("RUNNER_PYTHON", "python3")
        .file("rag.py", RAG)
        .file("pure.mjs", "export default (p) => p")
        .config("prompts: [p]\nproviders: [file://rag.py, file://pure.mjs, 'exec: cat x']\ntests: [{ assert: [{ type: javascript, value: \"require('fs') && true\" }, { type: javascript, value: 'true' }] }]");
    let check = ["config", "check", "--trust-config"];
    let finished = run.clone().args(check).finish();
    finished.expect_code(0);
    assert_snapshot!(finished.told());
    // No money is spent on the way to a program that isn't there.
    let folder = run.project().join("empty");
    std::fs::create_dir(&folder).expect("a folder");
    let finished = run.env("PATH", folder).args(check).finish();
    assert_snapshot!(finished.told());
}

#[test]
fn a_command_gets_prompt_options_and_context_and_prints_the_answer() {
    let script = "#!/bin/sh\necho \"$1|$2|$3\" >> asked\ntest \"$1\" = 'say 1' && { echo no >&2; exit 3; }\necho \"got $1\"\n";
    let run = trusted()
        .file("answer.sh", script)
        .numbered_tests(3)
        .config("prompts: ['say {{n}}']\nproviders: [{ id: 'exec: sh ./answer.sh', config: { k: 1 } }]\ntests: tests.csv");
    let finished = run
        .args(["eval", "-j", "1", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(100);
    assert_eq!(
        outputs(&finished),
        [json!("got say 0"), Value::Null, json!("got say 2")]
    );
    let error = &rows(&finished)[1]["error"];
    assert_eq!(
        error,
        "exec: sh ./answer.sh: sh ./answer.sh ended with exit code 3: no"
    );
    let asked = lines(&finished, "asked");
    let (prompt, rest) = asked[0].split_once('|').expect("three arguments");
    let (options, context) = rest.split_once("}|").expect("three arguments");
    let options: Value = serde_json::from_str(&format!("{options}}}")).expect("JSON");
    let context: Value = serde_json::from_str(context).expect("JSON");
    assert_eq!(prompt, "say 0");
    assert_eq!(
        options,
        json!({ "id": "exec: sh ./answer.sh", "config": { "k": 1 } })
    );
    assert_eq!(context["vars"], json!({ "n": "0" }));
    assert_eq!(context["prompt"]["raw"], "say {{n}}");
}

#[test]
fn a_command_prints_the_prompt_from_its_context() {
    let script = "#!/bin/sh\necho \"$2\" >> asked\necho \"$1:\" '{{n}}'\n";
    let run = on_this_machine()
        .file("make.sh", script)
        .numbered_tests(1)
        .config("prompts: [{ label: made, raw: 'exec:make.sh short', config: { k: 1 } }]\nproviders: [echo]\ntests: tests.csv");
    let may_run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(run.project().join("make.sh"), may_run).expect("the file is ours");
    let untrusted = run.clone().arg("eval").finish();
    untrusted.expect_code(2);
    assert!(lines(&untrusted, "asked").is_empty());
    let run = run.env("RUNNER_TRUST", "config");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(0);
    assert_eq!(outputs(&finished), [json!("short: 0")]);
    let asked: Value = serde_json::from_str(&lines(&finished, "asked")[0]).expect("JSON");
    let provider = json!({ "id": "echo" });
    assert_eq!(
        asked,
        json!({ "vars": { "n": "0" }, "provider": provider, "config": { "k": 1 } })
    );
}

#[test]
fn a_grader_that_lacks_a_package_is_an_error_and_no_failing_answer() {
    let python = "import os\nimport no_such_package_here\nreturn True";
    let run = trusted()
        .env("RUNNER_TRUST", "data")
        .file("check.mjs", "import 'no-such-package-here';\nexport default () => true")
        .file("check.ts", "import x from 'no-such-package-here';\nexport default (): boolean => x")
        .config(&format!("prompts: [p]\nproviders: [echo]\ntests: {}", json!([
            { "assert": [{ "type": "javascript", "value": "file://check.mjs" }] },
            { "assert": [{ "type": "javascript", "value": "file://check.ts" }] },
            { "assert": [{ "type": "python", "value": python }] },
            { "assert": [{ "type": "python", "value": "import os\nreturn os.path.isfile(__file__)" }] },
        ])));
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    let lacks = ["no-such-package", "no-such-package", "no_such_package"];
    for (row, lacks) in rows.iter().zip(lacks) {
        let error = row["error"].as_str().unwrap_or_default();
        assert!(error.contains("the code could not run"), "{row}");
        assert!(error.contains(lacks), "{row}");
        assert!(!error.contains("data:"), "{row}");
        assert_eq!(row["response"]["output"], "p");
    }
    assert_eq!(rows[3]["success"], true, "{}", rows[3]);
}

#[test]
fn what_was_never_trusted_starts_nothing() {
    let run = agent(on_this_machine())
        .file("rag.py", RAG)
        .file("check.py", "import requests_like_package\ndef get_assert(output, context): return True")
        .config("prompts: ['p']\nproviders: [file://rag.py, file://agent.mjs, 'exec: touch started']\ntests: [{ vars: { n: 1 }, assert: [{ type: python, value: file://check.py }] }]");
    let finished = run.arg("eval").finish();
    assert_snapshot!(finished.told().replace(python(), "python3"));
    assert!(lines(&finished, "started").is_empty());
}

#[test]
fn a_row_chooses_no_option_of_a_command() {
    let rows = "{\"vars\": {\"x\": \"-n\"}}\n{\"vars\": {\"x\": \"\"}}\n";
    let config =
        "prompts: ['{{x}}']\nproviders: ['exec: echo', 'exec: echo --']\ntests: rows.jsonl";
    let run = trusted().file("rows.jsonl", rows).config(config);
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(100);
    let outputs = outputs(&finished);
    let begins: Vec<&str> = outputs
        .iter()
        .map(|it| it.as_str().unwrap_or("none"))
        .collect();
    assert_eq!(begins[0], "none");
    assert!(begins[1].starts_with("-- -n {\"id\""), "{begins:?}");
    assert!(
        begins[2].starts_with("{\"id\""),
        "an empty prompt is empty: {begins:?}"
    );
    // Nor by what it puts before a prompt of the config that is one.
    let rows = r#"{"vars": {"x": "hi"}, "options": {"prefix": "--opt="}}"#;
    let config = "prompts: ['-a {{x}}']\nproviders: ['exec: echo']\ntests: rows.jsonl";
    let run = trusted().file("rows.jsonl", rows).config(config);
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(100);
    assert_eq!(self::outputs(&finished), [Value::Null]);
}

#[test]
fn calls_are_recorded_replayed_and_cached_where_that_is_asked() {
    let counted = "import os\ndef call_api(p, o, c):\n    with open('calls', 'a') as f: f.write('x\\n')\n    return {'output': 'once ' + p}\n";
    let run = trusted()
        .file("counted.py", counted)
        .config("prompts: [p]\nproviders: [{ id: file://counted.py, config: { cache: true } }]");
    let eval = ["eval", "-o", "out.json", "--no-table"];
    let first = run.args(eval).args(["--record", "tape.jsonl"]).finish();
    first.expect_code(0);
    let again = first.again().args(eval).finish();
    again.expect_code(0);
    assert_eq!(
        lines(&again, "calls").len(),
        1,
        "the second answer is the cache's"
    );
    assert_eq!(rows(&again)[0]["response"]["cached"], true);
    let config = "env: { MODEL: other }\nprompts: [p]\nproviders: [{ id: file://counted.py, config: { cache: true } }]";
    let other = first.again().config(config).args(eval).finish();
    assert_eq!(
        lines(&other, "calls").len(),
        2,
        "it may read its environment"
    );
    let nothing = first.again().args(eval).args(["--replay", "tape.jsonl"]);
    let replayed = nothing.env("RUNNER_PYTHON", "/no/such/python").finish();
    replayed.expect_code(0);
    assert_eq!(outputs(&replayed), ["once p"]);
    assert_eq!(lines(&replayed, "calls").len(), 2);
}

#[test]
fn code_with_packages_grades_transforms_and_makes_tests() {
    let run = trusted()
        .file("helper/__init__.py", "import subprocess\nLIMIT = 3")
        .file("check.py", "import helper\ndef get_assert(output, context): return {'pass': len(output) > helper.LIMIT, 'score': 0.5, 'reason': 'counted'}")
        .file("loud.mjs", "import fs from 'node:fs';\nexport default (output) => fs.readFileSync('loud.txt', 'utf8').trim() + output;")
        .file("loud.txt", "LOUD ")
        .file("gen.py", "import helper, os\ndef generate_tests(config=None): return [{'vars': {'n': str(i)}} for i in range(helper.LIMIT)]")
        .config("prompts: ['say {{n}}']\nproviders: [{ id: echo, transform: file://loud.mjs }]\ntests: file://gen.py\ndefaultTest: { assert: [{ type: python, value: file://check.py }, { type: python, value: \"__import__('os').getcwd() != output\" }] }");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(0);
    assert_eq!(outputs(&finished), ["LOUDsay 0", "LOUDsay 1", "LOUDsay 2"]);
    let grade = &rows(&finished)[0]["gradingResult"]["componentResults"][0];
    assert_eq!(
        (&grade["score"], &grade["reason"]),
        (&json!(0.5), &json!("counted"))
    );
}

#[test]
fn what_code_says_is_wrong_has_its_place() {
    let run = trusted()
        .file(
            "wrong.py",
            "import os.path, sqlite3\n\ndef call_api(p, o, c):\n    return {'output': p['x']}\n",
        )
        .file("lacks.py", "import nosuchpackage")
        .config(
            "prompts: [p]\nproviders: [file://wrong.py, 'python:wrong.py:gone', file://lacks.py]",
        );
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(100);
    let errors: Vec<String> = rows(&finished)
        .iter()
        .map(|row| row["error"].as_str().expect("an error").to_owned())
        .collect();
    let told = errors.join("\n---\n").replace(python(), "python3");
    assert_snapshot!(told);
}

#[test]
fn providers_without_needs_run_in_the_sandbox_and_ask_nothing() {
    let run = Run::new()
        .file("pure.js", "module.exports = class { constructor(o) { this.o = o } id() { return 'x' } callApi(p, c) { return { output: `${p} ${c.vars.n} ${this.o.config.k}` } } }")
        .file("pure.mjs", "import { n } from './n.mjs'; export const named = async (p) => ({ output: p + n });")
        .file("n.mjs", "export const n = '!';")
        .config("prompts: [p]\nproviders: [{ id: file://pure.js, config: { k: 7 } }, 'file://pure.mjs:named']\ntests: [{ vars: { n: 1 } }]");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(0);
    assert_eq!(outputs(&finished), ["p 1 7", "p!"]);
}
