//! Results in every form, and the commands around kept runs, as a user meets them.

use insta::assert_snapshot;
use runner_tests::{Finished, Run};
use serde_json::{Value, json};

const CONFIG: &str = "\
description: Greetings
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { description: Greets, vars: { name: Ada }, assert: [{ type: contains, value: Ada }] }
  - { description: Fails, vars: { name: '<b>Bob</b>' }, assert: [{ type: contains, value: nobody & \"nothing\" }] }
";

/// A run with one case that passes and one that fails.
fn evaluated() -> Finished {
    let finished = Run::new().config(CONFIG).arg("eval").finish();
    finished.expect_code(100);
    finished
}

fn id(finished: &Finished) -> String {
    let listed = finished.again().args(["list", "--json"]).finish();
    let id = listed.stdout_json()[0]["id"].clone();
    id.as_str().expect("there is a run").to_owned()
}

#[test]
fn every_format_is_written_by_a_run_and_by_an_export_of_it() {
    let names = [
        "o.json",
        "o.jsonl",
        "o.csv",
        "o.yaml",
        "o.txt",
        "o.html",
        "o.md",
        "o.junit.xml",
    ];
    let line = |command: &str, folder: &str| {
        let outputs = names
            .iter()
            .flat_map(|name| ["-o".to_owned(), format!("{folder}/{name}")]);
        std::iter::once(command.to_owned())
            .chain(outputs)
            .collect::<Vec<_>>()
    };
    let run = Run::new()
        .config(CONFIG)
        .file("a/.keep", "")
        .file("b/.keep", "");
    let finished = run.args(line("eval", "a")).finish();
    finished.expect_code(100);
    let exported = finished.again().args(line("export", "b")).finish();
    exported.expect_code(0);
    assert_eq!(exported.stderr.matches("written: ").count(), names.len());
    for name in names {
        let (first, second) = (
            finished.read(format!("a/{name}")),
            finished.read(format!("b/{name}")),
        );
        // Only the time of the export differs, which is on the last line or line of its own.
        let stable = |text: &str| {
            let lines = text.lines().filter(|line| !line.contains("exportedAt"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(stable(&first), stable(&second), "{name}");
        assert!(first.len() > 200, "{name}:\n{first}");
    }
    let report = finished.read("a/o.junit.xml");
    let reason = "<failure type=\"contains\" message=\"Expected output to contain &quot;nobody &amp; &quot;nothing&quot;&quot;";
    assert!(report.contains(reason), "{report}");
    assert!(report.contains("name=\"Greets [name=Ada]\""), "{report}");
    assert!(!finished.read("a/o.html").contains("<b>Bob"));
}

#[test]
fn an_export_without_a_file_is_json_on_standard_output() {
    let finished = evaluated();
    let id = id(&finished);
    for line in [
        vec!["export"],
        vec!["export", &id],
        vec!["export", "eval", &id],
    ] {
        let exported = finished.again().args(line).finish();
        exported.expect_code(0);
        assert_eq!(exported.stdout_json()["evalId"], id);
    }
    let refused = finished.again().args(["export", "-o", "x.pdf"]).finish();
    assert_snapshot!("a_form_that_is_not_written", refused.told());
    let nothing = finished
        .again()
        .args(["export", "nothing", "-o", "x.json"])
        .finish();
    assert_snapshot!("a_run_that_is_not_there", nothing.told());
}

#[test]
fn what_was_exported_is_imported_as_it_was() {
    let finished = evaluated();
    let id = id(&finished);
    let exported = finished
        .again()
        .args(["export", "-o", "kept.json", "-o", "kept.jsonl"])
        .finish();
    exported.expect_code(0);
    let elsewhere = Run::new()
        .file("kept.json", finished.read("kept.json"))
        .file("kept.jsonl", finished.read("kept.jsonl"));
    let imported = elsewhere.clone().args(["import", "kept.json"]).finish();
    imported.expect_code(0);
    assert_eq!(
        imported.stdout,
        format!("imported: import-{id}, 2 results\nnext: runner show import-{id}\n")
    );
    let shown = imported.again().args(["show", "--json"]).finish();
    let (old, new) = (finished.json("kept.json"), shown.stdout_json());
    assert_eq!(new["evalId"], format!("import-{id}"));
    for part in [
        "/config",
        "/results/results",
        "/results/prompts",
        "/results/timestamp",
    ] {
        assert_eq!(old.pointer(part), new.pointer(part), "{part}");
    }

    importing_again(&imported);
}

/// An id is not imported twice by accident.
fn importing_again(imported: &Finished) {
    let again = imported.again().args(["import", "kept.json"]).finish();
    assert_snapshot!(again.told());
    imported
        .again()
        .args(["import", "kept.json", "--force"])
        .finish()
        .expect_code(0);
    imported
        .again()
        .args(["import", "kept.json", "--new-id"])
        .finish()
        .expect_code(0);
    imported
        .again()
        .args(["import", "kept.jsonl"])
        .finish()
        .expect_code(0);
    let listed = imported
        .again()
        .args(["list", "--json"])
        .finish()
        .stdout_json();
    let cases: Vec<&Value> = listed
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| &run["cases"])
        .collect();
    assert_eq!(cases, [2, 2, 2]);
}

/// A row as promptfoo writes it.
fn foreign_row(test: u64, success: bool, reason: u64) -> Value {
    json!({
            "promptIdx": 0, "testIdx": test, "id": format!("row-{test}"), "promptId": "p", "success": success, "score": u8::from(success), "failureReason": reason,
            "provider": { "id": "openai:m", "label": "" }, "prompt": { "raw": "Hi", "label": "Hi {{q}}" }, "vars": { "q": test },
            "testCase": { "vars": { "q": test } }, "namedScores": {}, "latencyMs": 12, "cost": 0.25,
            "response": { "output": "yes", "tokenUsage": { "total": 3, "prompt": 1, "completion": 2 } },
            "gradingResult": { "pass": success, "score": u8::from(success), "reason": "as it was", "componentResults": [] },
    })
}

/// Results as promptfoo writes them.
fn foreign_results() -> Value {
    let row = foreign_row;
    json!({
        "evalId": "eval-abc-2024-11-20T12:00:00",
        "results": {
            "version": 3, "timestamp": "2024-11-20T12:00:00.000Z",
            "prompts": [{ "id": "p", "raw": "Hi {{q}}", "label": "Hi {{q}}", "provider": "openai:m" }],
            "results": [row(1, false, 1), row(0, true, 0), row(2, false, 2)],
            "stats": { "successes": 1, "failures": 1, "errors": 1, "durationMs": 40 },
        },
        "config": { "description": "From elsewhere" }, "shareableUrl": null,
    })
}

#[test]
fn results_of_promptfoo_are_imported_and_what_is_broken_leaves_nothing() {
    let (document, row) = (foreign_results(), foreign_row);
    let run = Run::new().file("pf.json", document.to_string()).file(
        "bad.jsonl",
        format!("{}\n{{\"promptIdx\":0}}\n", row(0, true, 0)),
    );
    let imported = run.args(["import", "pf.json"]).finish();
    imported.expect_code(0);
    let listed = imported
        .again()
        .args(["list", "--json"])
        .finish()
        .stdout_json();
    let facts = [
        "id",
        "description",
        "createdAt",
        "status",
        "cases",
        "passed",
        "failed",
        "errors",
    ];
    let facts: Vec<&Value> = facts.iter().map(|name| &listed[0][*name]).collect();
    assert_eq!(
        json!(facts),
        json!([
            "import-eval-abc-2024-11-20T12:00:00",
            "From elsewhere",
            "2024-11-20T12:00:00.000Z",
            "finished",
            3,
            1,
            1,
            1
        ])
    );
    let shown = imported
        .again()
        .args(["show", "import-eval-abc", "--test", "1"])
        .finish();
    assert_snapshot!(shown.told());

    let refused = imported.again().args(["import", "bad.jsonl"]).finish();
    refused.expect_code(2);
    assert_eq!(
        refused.stderr,
        "error: can't import bad.jsonl: result 2: it has no testIdx\n\
         help: it takes a file that `runner eval -o` or `promptfoo eval -o` wrote, .json or .jsonl\n"
    );
    let listed = imported
        .again()
        .args(["list", "--json"])
        .finish()
        .stdout_json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}

#[test]
fn a_difference_names_what_changed_and_which_cases() {
    let first = evaluated();
    let before = id(&first);
    let changed = CONFIG
        .replace("'Hello {{name}}'", "'Good day, {{name}}'")
        .replace("value: Ada }", "value: Hello }")
        .replace("value: nobody & \"nothing\"", "value: Bob");
    // A test put in front shifts all others.
    let changed = changed.replace("tests:\n", "tests:\n  - { vars: { name: Cleo } }\n");
    first
        .again()
        .config(&changed)
        .arg("eval")
        .finish()
        .expect_code(100);
    let difference = first.again().args(["diff", &before, "--json"]).finish();
    difference.expect_code(0);
    let found = difference.stdout_json();
    assert_eq!(
        found["changed"],
        json!([{ "of": "prompt", "name": "Good day, {{name}}", "before": "Hello {{name}}", "after": "Good day, {{name}}" }])
    );
    let cases = found["cases"].as_array().expect("cases");
    let told: Vec<Value> = cases
        .iter()
        .map(|case| {
            json!([
                case["kind"],
                case["description"],
                case["before"]["testIdx"],
                case["after"]["testIdx"],
                case["changed"]
            ])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["broke", "Greets", 0, 1, ["prompt", "grader"]]),
            json!(["fixed", "Fails", 1, 2, ["prompt", "grader"]]),
        ]
    );
    assert_eq!(found["onlyAfter"], 1);
    assert_eq!(found["columns"][0]["passed"], json!([1, 1]));

    let told = first.again().args(["diff", &before, "latest"]).finish();
    assert_snapshot!(told.told());
    regressions(&first, &before);
}

/// One of two cases broke.
fn regressions(first: &Finished, before: &str) {
    let gated = |gate: &str| {
        let line = ["diff", before, "--fail-on", gate, "--rows", "0"];
        first.again().args(line).finish()
    };
    assert_snapshot!("a_regression_ends_a_job", gated("regression:49%").told());
    let allowed = gated("regression:50%");
    allowed.expect_code(0);
    let last =
        "\nNo regression: 1 of 2 cases (50.0 %) passed before but not now, at most 50 % may\n";
    assert!(allowed.stdout.ends_with(last), "{}", allowed.stdout);
    let line = ["diff", before, "--fail-on", "regression", "--json"];
    let gated = first.again().args(line).finish();
    gated.expect_code(100);
    assert_eq!(
        gated.stdout_json()["failOn"],
        json!({
            "regression": { "mostPercent": 0.0, "broke": 1, "flaky": 0, "cases": 2 }, "gone": 0, "notRun": 0, "exitCode": 100,
            "reason": "1 of 2 cases (50.0 %) passed before but not now, none may",
        })
    );
}

#[test]
fn a_run_is_not_compared_with_itself_and_equal_runs_differ_in_nothing() {
    let first = evaluated();
    let before = id(&first);
    first
        .again()
        .args(["diff", "latest"])
        .finish()
        .expect_code(2);
    first.again().arg("eval").finish().expect_code(100);
    let told = first.again().args(["diff", &before]).finish();
    assert_snapshot!(told.told());
}

#[test]
fn runs_with_nothing_in_common_are_not_told_to_be_alike() {
    let config = |name: &str| {
        format!(
            "prompts: ['{{{{name}}}}']\nproviders: [echo]\ntests: [{{ vars: {{ name: {name} }} }}]\n"
        )
    };
    let first = Run::new().config(&config("Ada")).arg("eval").finish();
    let before = id(&first);
    let second = first.again().config(&config("Bob")).arg("eval").finish();
    second.expect_code(0);
    let told = second.again().args(["diff", &before]).finish();
    told.expect_code(0);
    for part in [
        "  – → –  ",
        "\nNo case is in both runs, so nothing was compared.\n",
    ] {
        assert!(told.stdout.contains(part), "{}", told.stdout);
    }
}

#[test]
fn two_columns_of_a_run_are_compared() {
    let run = Run::new()
        .config(
            "prompts: ['Hello {{name}}', 'Good day, {{name}}']\nproviders: [echo]\n\
             tests: [{ vars: { name: Ada }, assert: [{ type: contains, value: Hello }] }, { vars: { name: Bob } }]\n",
        )
        .args(["eval", "--no-table"])
        .finish();
    let diff = |columns: &str| {
        let line = ["diff", "latest", "--columns", columns];
        run.again().args(line).finish()
    };
    assert_snapshot!(diff("0,1").told());
    diff("0,2").expect_code(2);
    diff("0").expect_code(2);
    let line = ["diff", "latest", "--columns", "1,0", "--json"];
    let found = run.again().args(line).finish().stdout_json();
    let columns = found["columns"].as_array().expect("columns");
    assert_eq!(columns.len(), 1);
    assert_eq!(
        [
            &columns[0]["before"],
            &columns[0]["after"],
            &columns[0]["fixed"],
            &found["onlyAfter"]
        ],
        [&json!(1), &json!(0), &json!(1), &json!(0)]
    );
}
