//! Rows that would be too large to keep: each is an error that says why, and costs no other.

use std::fs;

use runner_tests::{Finished, Run};
use serde_json::{Value, json};

/// What a row has no room for is at most a few kilobytes; SQLite's files have some more.
const LITTLE: u64 = 4 << 20;

fn rows(finished: &Finished) -> Vec<Value> {
    let out = finished.json("out.json");
    out["results"]["results"].as_array().expect("rows").clone()
}

fn kept(run: &Run) -> u64 {
    let files = fs::read_dir(run.home()).expect("a folder").flatten();
    let sizes = files.filter_map(|file| file.metadata().ok());
    sizes.filter(fs::Metadata::is_file).map(|it| it.len()).sum()
}

#[test]
fn variables_that_print_variables_make_an_error_of_their_row() {
    let mut vars = json!({ "b": "x".repeat(100_000) });
    for n in 0..200 {
        vars[format!("k{n}")] = "{{b}}".repeat(100).into();
    }
    let wide = json!({ "vars": vars });
    let plain = json!({ "vars": { "b": "fine" } });
    let run = Run::new()
        .config("prompts: ['hi {{b}}']\nproviders: [echo]\ntests: file://t.jsonl\n")
        .file("t.jsonl", format!("{wide}\n{plain}\n"))
        .args(["eval", "-o", "out.json"]);
    let finished = run.clone().finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows[0]["errorCode"], "too-large");
    assert_eq!(
        rows[0]["error"],
        "t.jsonl:1:1: the case is too large: its variables make more than 32 MiB of text when they \
         are filled in, the most that a case may have ('k3' is the one beyond it)"
    );
    assert_eq!(rows[0]["vars"]["k0"], "{{b}}".repeat(100));
    assert_eq!(rows[1]["success"], true);
    assert!(kept(&run) < LITTLE, "{}", kept(&run));
}

#[test]
fn a_row_that_is_too_large_as_a_whole_is_kept_without_what_is_large() {
    // Each value twice: among the variables and in the test.
    let large = json!({ "vars": { "a": "x".repeat(40 << 20), "q": "1" }, "metadata": { "m": 1 } });
    let run = Run::new()
        .config("prompts: ['hi {{q}}']\nproviders: [echo]\ntests: file://t.jsonl\n")
        .file("t.jsonl", format!("{large}\n"))
        .args(["eval", "-o", "out.json"]);
    let finished = run.clone().finish();
    finished.expect_code(100);
    let row = &rows(&finished)[0];
    assert_eq!(row["errorCode"], "too-large");
    assert_eq!(
        row["error"],
        "the case is too large to be kept: its row would take 81 MiB, and 64 MiB is the most that one \
         may have; 81 MiB of that are its variables. Variables, prompt, answer and grades are left out"
    );
    assert_eq!(row["vars"], json!({}));
    assert!(kept(&run) < LITTLE, "{}", kept(&run));
}

#[test]
fn what_graders_say_is_cut_or_refused_together() {
    let says = |count: usize, code: &str| {
        let one = json!({ "type": "javascript", "value": code });
        json!({ "assert": vec![one; count] })
    };
    let reasons = says(20, "({pass:true,score:1,reason:'x'.repeat(4e6)})");
    let metadata = says(
        8,
        "({pass:true,score:1,reason:'',metadata:{m:'x'.repeat(3e6)}})",
    );
    let run = Run::new()
        .config("prompts: [hi]\nproviders: [echo]\ntests: file://t.jsonl\n")
        .file("t.jsonl", format!("{reasons}\n{metadata}\n"))
        .args(["eval", "-o", "out.json"]);
    let finished = run.finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows[0]["success"], true, "{}", rows[0]["error"]);
    let reason = &rows[0]["gradingResult"]["componentResults"][0]["reason"];
    let reason = reason.as_str().expect("a text");
    assert!(
        reason.ends_with("xxx… (3934464 more bytes are left out)"),
        "{} bytes",
        reason.len()
    );
    assert_eq!(rows[1]["errorCode"], "too-large");
    assert_eq!(
        rows[1]["error"],
        "the results of this case's assertions take more than 16 MiB"
    );
}

/// All columns of a test together may be more than fits.
#[test]
fn the_columns_of_a_test_are_shown_one_at_a_time() {
    let providers: Vec<Value> = (0..20)
        .map(|n| json!({ "id": "echo", "label": format!("l{n}") }))
        .collect();
    let config =
        json!({ "prompts": ["{{x}}"], "providers": providers, "tests": ["file://t.jsonl"] });
    let row = json!({ "vars": { "x": "x".repeat(2 << 20) } });
    let run = Run::new()
        .config(&config.to_string())
        .file("t.jsonl", format!("{row}\n"));
    run.clone()
        .args(["eval", "--no-table"])
        .finish()
        .expect_code(0);
    // One of them takes some 20 MiB while it is shown, all of them 400.
    let shown = run
        .env("RUNNER_MEMORY_LIMIT", "200")
        .args(["show", "latest", "--test", "0"])
        .finish();
    shown.expect_code(0);
    assert_eq!(shown.stdout.matches("\n\nTest 0, column ").count(), 19);
}
