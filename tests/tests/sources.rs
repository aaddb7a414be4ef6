//! Where tests, prompts and outputs come from: files, flags, answers that exist already.

use std::fs;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::{Value, json};

fn rows(finished: &Finished) -> Vec<Value> {
    let document = finished.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    rows.clone()
}

fn outputs(finished: &Finished) -> Vec<Value> {
    let rows = rows(finished);
    rows.iter()
        .map(|row| row["response"]["output"].clone())
        .collect()
}

fn eval(run: Run) -> Run {
    run.args(["eval", "--no-table", "-o", "out.json"])
}

#[test]
fn saved_outputs_are_graded_without_a_config_and_without_asking() {
    let outputs_file = json!([
        "Paris is {{ nice }} {% if",
        { "output": "London", "tags": ["city", "rain"] },
        { "output": { "city": "Rome" } },
        "file:///etc/passwd",
    ]);
    let run = Run::new()
        .file("saved/outputs.json", outputs_file.to_string())
        .file("asserts.yaml", "- { type: not-icontains, value: london }\n- { type: javascript, value: 'context.vars.output !== undefined' }\n");
    let finished = eval(run)
        .args([
            "--model-outputs",
            "saved/outputs.json",
            "-a",
            "asserts.yaml",
        ])
        .finish();
    finished.expect_code(100);
    let expected = [
        json!("Paris is {{ nice }} {% if"),
        json!("London"),
        json!({ "city": "Rome" }),
        json!("file:///etc/passwd"),
    ];
    assert_eq!(outputs(&finished), expected);
    let rows = rows(&finished);
    let passed: Vec<&Value> = rows.iter().map(|row| &row["success"]).collect();
    assert_eq!(passed, [true, false, true, true]);
    assert_eq!(
        rows[1]["vars"],
        json!({ "output": "London", "tags": "city, rain" })
    );
    assert_eq!(rows[0]["provider"]["id"], "replay");
}

#[test]
fn flags_for_saved_outputs_come_together_and_name_files_that_are_there() {
    let run = Run::new().file("o.json", "[\"a\"]").file("a.yaml", "[]");
    let mut told = String::new();
    for line in [
        "--model-outputs o.json",
        "-a a.yaml",
        "-a a.yaml --model-outputs o.json -t t.csv",
        "-a none.yaml --model-outputs o.json",
        "-a a.yaml --model-outputs o.txt",
    ] {
        let finished = eval(run.clone()).args(line.split(' ')).finish();
        told += &finished.told_as(line);
    }
    assert_snapshot!(told);
}

#[test]
fn flags_take_the_place_of_prompts_providers_and_tests() {
    let run = Run::new()
        .config("prompts: ['never {{q}}']\nproviders: [{ id: echo, label: mine }, 'bedrock:x']\ntests: [{ vars: { q: never } }]\ndefaultTest: { assert: [{ type: contains, value: '{{q}}' }] }\n")
        .file("p.txt", "one {{q}}\n---\ntwo {{q}}")
        .file("t.csv", "q,__expected\na,contains: a\n");
    let finished = eval(run)
        .args([
            "-p", "p.txt", "-r", "mine", "echo:b", "-t", "t.csv", "--tag", "build=7",
        ])
        .finish();
    finished.expect_code(0);
    assert_eq!(outputs(&finished), ["one a", "two a", "one a", "two a"]);
    assert_eq!(rows(&finished)[0]["provider"]["label"], "mine");
    let config = &finished.json("out.json")["config"];
    assert_eq!(config["prompts"], json!(["p.txt"]));
}

#[test]
fn a_run_by_flags_is_resumed_from_any_folder() {
    let run = Run::new()
        .file("a/t.csv", "q\nx\n")
        .file("a/p.txt", "say {{q}}")
        .file("b/none", "");
    let first = run.clone().in_folder(run.project().join("a"));
    let first = first
        .args([
            "eval",
            "--no-table",
            "-p",
            "p.txt",
            "-r",
            "echo",
            "-t",
            "t.csv",
        ])
        .finish();
    first.expect_code(0);
    let again = first.again().in_folder(run.project().join("b"));
    let again = again.args(["retry", "latest", "--no-table"]).finish();
    again.expect_code(0);
    // The summary names the prompt's file, and is as wide as its path is long.
    assert!(
        again.stdout.contains("1 of 1 case passed"),
        "{}",
        again.stdout
    );
}

#[test]
fn a_test_may_bring_its_answer_and_nobody_is_asked() {
    let api = ModelApi::start();
    api.always(Answer::text("asked"));
    let config = json!({
        "prompts": ["{{q}}"],
        "providers": ["openai:m"],
        "tests": [
            { "vars": { "q": "a" }, "providerOutput": "saved {{q}}",
              "assert": [{ "type": "equals", "value": "saved {{ '{{q}}' }}" }, { "type": "cost", "threshold": 0 }] },
            { "vars": { "q": "b" }, "providerOutput": { "n": 1 },
              "options": { "transform": "output.n + 1" }, "assert": [{ "type": "equals", "value": "2" }] },
            { "vars": { "q": "c" }, "assert": [{ "type": "equals", "value": "asked" }] },
            { "providerOutput": "" },
        ],
    });
    let run = Run::new()
        .config(&config.to_string())
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url());
    let finished = eval(run).finish();
    finished.expect_code(0);
    assert_eq!(
        outputs(&finished),
        [json!("saved {{q}}"), json!(2), json!("asked"), json!("")]
    );
    assert_eq!(api.requests().len(), 1);
    let rows = rows(&finished);
    assert_eq!(rows[0]["testCase"]["providerOutput"], "saved {{q}}");
    assert_eq!(
        (&rows[0]["cost"], &rows[0]["latencyMs"]),
        (&json!(0.0), &json!(0))
    );
}

#[test]
fn a_test_may_ask_somebody_else_than_its_columns() {
    let run = Run::new()
        .config("prompts: ['{{q}}']\nproviders: [{ id: 'echo:a', label: first }, 'echo:b']\ntests:\n  - vars: { q: x }\n  - vars: { q: x, saved: y }\n    provider: replay:saved\n  - vars: { q: x, saved: z }\n    provider: { id: 'replay:saved', label: mine, transform: 'output + \"!\"' }\n  - vars: { q: x }\n    provider: first\n  - vars: { q: x, saved: f }\n    provider: file://one.yaml\n")
        .file("one.yaml", "id: replay:saved\n");
    let finished = eval(run).finish();
    finished.expect_code(0);
    let expected = ["x", "x", "y", "y", "z!", "z!", "x", "x", "f", "f"];
    assert_eq!(outputs(&finished), expected);
    let ids: Vec<Value> = rows(&finished)
        .iter()
        .map(|row| row["provider"]["id"].clone())
        .collect();
    let replay = "replay:saved";
    assert_eq!(
        ids,
        [
            "echo:a", "echo:b", replay, replay, replay, replay, "echo:a", "echo:a", replay, replay
        ]
    );
    assert_eq!(rows(&finished)[4]["provider"]["label"], "mine");
}

#[test]
fn columns_of_saved_answers_are_compared() {
    let run = Run::new()
        .config(
            "prompts: ['{{question}}']\nproviders: [replay:old, replay:new]\ntests: file://a.csv\n",
        )
        .file(
            "a.csv",
            "question,old,new,__expected\nq1,yes,no,yes\nq2,{{question}}?,{% x,\"\"\nq3,,b,\n",
        );
    let finished = eval(run).finish();
    finished.expect_code(100);
    // A template in a variable is one, as in any test; `rawVars` would leave it.
    assert_eq!(outputs(&finished), ["yes", "no", "q2?", "{% x", "", "b"]);
}

#[test]
fn a_replayed_variable_that_is_not_there_is_that_rows_error() {
    let run = Run::new().config(
        "prompts: [p]\nproviders: [replay]\ntests: [{ vars: { output: a } }, { vars: { x: a } }]\n",
    );
    let finished = eval(run).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows[0]["success"], true);
    let error = rows[1]["error"].as_str().expect("a message");
    assert!(error.contains("no variable 'output'"), "{error}");
}

#[test]
fn a_file_beyond_all_measure_is_told_before_it_is_read() {
    let run = Run::new().config("prompts: ['{{q}}']\nproviders: [echo]\ntests: file://t.csv\n");
    let file = fs::File::create(run.project().join("t.csv")).expect("a file");
    file.set_len(1 << 30)
        .expect("a file with a hole takes no room");
    let finished = eval(run).finish();
    assert_snapshot!(finished.told());
}

#[test]
fn checking_a_config_makes_no_database() {
    let run = Run::new().config("prompts: [p]\nproviders: [echo]\n");
    let finished = run.args(["config", "check"]).finish();
    finished.expect_code(0);
    let found = |folder: &std::path::Path| {
        let mut names: Vec<String> = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                }
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names
    };
    let names = found(finished.again().home());
    assert!(!names.iter().any(|name| name == "runs.db"), "{names:?}");
}

#[test]
fn variables_of_the_environment_say_yes_or_no_and_nothing_else() {
    let mut told = String::new();
    for name in [
        "RUNNER_CACHE_ENABLED",
        "PROMPTFOO_DISABLE_VAR_EXPANSION",
        "RUNNER_DISABLE_WAL_MODE",
    ] {
        let run = Run::new()
            .config("prompts: [p]\nproviders: [echo]\n")
            .env(name, "zz");
        let finished = eval(run).finish();
        told += &finished.told_as(name);
    }
    assert_snapshot!(told);
}

#[test]
fn a_recording_is_never_replaced_in_silence_nor_read_from_a_folder() {
    let api = ModelApi::start();
    api.always(Answer::text("asked"));
    let run = Run::new()
        .config("prompts: [p]\nproviders: [openai:m]\n")
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url());
    let record = || eval(run.clone()).args(["--record", "r.tape"]).finish();
    let first = record();
    first.expect_code(0);
    assert!(
        !first.stderr.contains("older recording"),
        "{}",
        first.stderr
    );
    let second = record();
    assert_snapshot!("where_a_recording_is_already", second.told());
    let folder = eval(run.clone()).args(["--replay", "."]).finish();
    assert_snapshot!("a_folder_is_no_recording", folder.told());
}

#[test]
fn a_test_may_have_a_time_of_its_own() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| {
        let slow = seen.last_user_message()? == "slow";
        slow.then(|| Answer::text("late").behind(&behind))
    });
    api.always(Answer::text("quick"));
    let run = Run::new()
        .config("prompts: ['{{q}}']\nproviders: [openai:m]\ntests: [{ vars: { q: slow }, options: { timeoutMs: 200 } }, { vars: { q: quick }, options: { timeoutMs: 0 } }]\n")
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url());
    let finished = eval(run).finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    let error = rows[0]["error"].as_str().expect("a message");
    assert!(error.contains("worked longer than 200 ms"), "{error}");
    assert_eq!(rows[1]["response"]["output"], "quick");
    let sent = api.requests();
    assert!(
        sent.iter()
            .all(|seen| !seen.json.to_string().contains("timeoutMs"))
    );
}

/// Lines of a config; the rest is usual.
const MISSING: [&str; 12] = [
    "redteam: {}",
    "tracing: { enabled: true }",
    "tests: s3://bucket/x",
    "tests: https://docs.google.com/spreadsheets/d/x",
    "tests: t.xls",
    "tests: [{ vars: { a: file://x.docx } }]",
    "tests: [{ vars: { a: 'package:x:y' } }]",
    "tests: [{ assert: [{ type: ruby, value: x }] }]",
    "prompts: ['langfuse://x:1']",
    "providers: ['file://x.rb']",
    "providers: ['ws://localhost:1']",
    "providers: ['watsonx:x']",
];

/// What is not supported is named at load, with its place and a way out, and nothing is run.
#[test]
fn what_is_missing_is_said_with_its_place_and_a_way_out() {
    let mut told = String::new();
    for line in MISSING {
        let usual = ["prompts: [p]", "providers: [echo]"];
        let usual = usual.into_iter().filter(|usual| usual[..5] != line[..5]);
        let lines: Vec<&str> = usual.chain([line]).collect();
        let finished = eval(Run::new().config(&lines.join("\n"))).finish();
        told += &finished.told_as(line);
    }
    assert_snapshot!(told);
}

#[test]
fn options_of_a_config_hold_and_those_that_nothing_reads_are_told() {
    let config = "prompts: ['{{q}}']\nproviders: [echo]\ntests: [{ vars: { q: [a, b, c] } }, { vars: { q: d } }]\ncommandLineOptions: { filterSample: 1, filterSampleSeed: x, tags: { t: 1 }, filterPattern: a, share: true, write: true, table: false }\n";
    let run = Run::new().config(config);
    let finished = eval(run).finish();
    let first = outputs(&finished);
    assert_snapshot!(finished.told());
    let again = finished
        .again()
        .args(["eval", "--no-table", "-o", "out.json"])
        .finish();
    assert_eq!(outputs(&again), first, "the same seed draws the same");
}

#[test]
fn a_pdf_file_is_a_variable_and_what_is_none_is_said_at_load() {
    let page = include_bytes!("../../plugins/documents/tests/page.pdf");
    let config = "prompts: ['Sum up: {{paper}}']\nproviders: [echo]\ntests:\n  - vars: { paper: file://papers/a.pdf }\n    \
                  assert: [{ type: contains, value: 'is Paris' }]\n";
    let run = Run::new().config(config);
    let finished = eval(run.clone().file("papers/a.pdf", page)).finish();
    finished.expect_code(0);
    assert_snapshot!(eval(run.file("papers/a.pdf", &page[..300])).finish().told());
}
