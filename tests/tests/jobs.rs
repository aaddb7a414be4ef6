//! What a job of a CI service needs: thresholds that make its exit code, and what it shows.

use insta::assert_snapshot;
use runner_tests::{Finished, Run, workspace_root};
use serde_json::json;

/// Of three tests two pass, and the metric `tone` is 1, 0.5 and 0.
const CONFIG: &str = "\
description: Greetings
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { vars: { name: Ada }, assert: [{ type: contains, value: Ada, metric: tone }] }
  - vars: { name: Bob }
    threshold: 0.5
    assert: [{ type: contains, value: Bob, metric: tone }, { type: contains, value: nobody, metric: tone }]
  - { vars: { name: Cleo }, assert: [{ type: contains, value: nobody, metric: tone }] }
";

fn evaluated(thresholds: &str, flags: &[&str]) -> Finished {
    let run = Run::new().config(&format!("{CONFIG}{thresholds}"));
    run.args(["eval", "--no-table"]).args(flags).finish()
}

#[test]
fn thresholds_of_the_config_make_the_exit_code_and_are_told() {
    let good = evaluated(
        "thresholds: { passRate: 66, metrics: { tone: 0.5 } }\n",
        &[],
    );
    assert_snapshot!("thresholds_that_hold", good.told());
    let bad = evaluated(
        "  - { vars: { name: Dan }, assert: [{ type: contains, value: Dan, metric: taste }] }
thresholds: { passRate: 66, metrics: { tone: { min: 0.6 }, taste: { max: 1 } } }
",
        &["-o", "out.json", "--filter-first-n", "3"],
    );
    assert_snapshot!("thresholds_that_do_not_hold", bad.told());
    assert_eq!(
        bad.json("out.json")["results"]["stats"]["thresholds"],
        json!([
            { "passRate": 66.0, "holds": true, "found": "66.6 %" },
            { "metric": "tone", "min": 0.6, "max": null, "holds": false, "found": "0.5 in column 0" },
            { "metric": "taste", "min": null, "max": 1.0, "holds": false, "found": "no score in column 0" },
        ])
    );
    // A run that is looked at again says the same.
    let shown = bad.again().args(["show", "--rows", "0"]).finish();
    shown.expect_code(0);
    let told = "Thresholds:\n  held      pass rate at least 66 %: 66.6 %\n  not held  tone at least 0.6: 0.5 in column 0\n";
    assert!(shown.stdout.contains(told), "{}", shown.stdout);
}

#[test]
fn the_flag_wins_over_the_config_and_the_config_over_the_environment() {
    let of = |config: &str, flags: &[&str], variable: &str| {
        let run = Run::new().config(&format!("{CONFIG}{config}"));
        let run = run.env("PROMPTFOO_PASS_RATE_THRESHOLD", variable);
        run.args(["eval", "--no-table"]).args(flags).finish()
    };
    let config = "thresholds: { passRate: 70 }\n";
    of(config, &["--min-pass-rate", "60"], "100").expect_code(0);
    of(config, &["--min-pass-rate", "67%"], "0").expect_code(100);
    of(config, &[], "0").expect_code(100);
    of("thresholds: { metrics: { tone: 0.5 } }\n", &[], "60").expect_code(0);
    let tone = "thresholds: { passRate: 0, metrics: { tone: 0.6 } }\n";
    of(tone, &[], "0").expect_code(100);
    of(tone, &["--min-metric", "tone=0.5"], "0").expect_code(0);
    let unknown = of(tone, &["--min-metric", "taste=0.5"], "0");
    assert_snapshot!("a_metric_that_nothing_gives_is_refused", unknown.told());
    let refused = of(config, &["--min-pass-rate", "0.95"], "0");
    assert_snapshot!("a_share_is_no_percentage", refused.told());
}

/// Answers that would mention people, open tags, end a fold, or be a command to the job.
const HOSTILE: &str = "\
description: '@everyone [x](http://evil.example) | `a`'
prompts: [{ raw: '{{answer}}', label: '<b>@octocat</b> #1' }]
providers: [{ id: echo, label: '| **bold** </table>' }]
defaultTest: { assert: [{ type: contains, value: nowhere }] }
tests:
  - { description: '<img src=x> @someone', vars: { answer: \"</pre></details>\\n\\n# Heading @someone\\n![x](http://evil.example/x.png)\" } }
  - { vars: { answer: \"::error::mine\\n##[error]mine\" } }
";

#[test]
fn hostile_answers_are_text_in_a_summary_and_no_commands_to_a_job() {
    let run = Run::new().config(HOSTILE);
    let run = run
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", "summary.md");
    let finished = run.args(["eval", "-o", "out.md"]).finish();
    finished.expect_code(100);
    let summary = finished.read("out.md");
    // The run's id and its times are in it.
    assert_eq!(finished.read("summary.md"), summary);
    let stable = summary.replace(&id(&finished), "[run]");
    let cell = |cell: &str| {
        if cell.ends_with(" ms") {
            "<td align=\"right\">[time]".to_owned()
        } else {
            cell.to_owned()
        }
    };
    let cells: Vec<String> = stable.split("</td>").map(cell).collect();
    let stable = cells.join("</td>");
    let stable: Vec<&str> = stable
        .lines()
        .filter(|line| !line.contains("at once."))
        .collect();
    assert_snapshot!("a_summary_of_hostile_answers", stable.join("\n"));
    for text in [&finished.stdout, &finished.stderr] {
        let commands: Vec<&str> = text
            .lines()
            .filter(|line| line.trim_start().starts_with("::") || line.contains("##["))
            .collect();
        let ours = |line: &&str| line.starts_with("::error title=");
        assert!(commands.iter().all(ours), "{commands:?}");
    }
    assert_snapshot!("annotations_of_a_job", finished.told());
}

/// A test at which every column fails hides no other.
#[test]
fn a_job_has_one_annotation_for_each_test() {
    let config = "prompts: [a, b]\nproviders: [echo]\n\
                  tests: [{ assert: [{ type: equals, value: c }] }, { assert: [{ type: equals, value: b }] }]\n";
    let run = Run::new().config(config).env("GITHUB_ACTIONS", "true");
    let finished = run.args(["eval", "--no-table"]).finish();
    finished.expect_code(100);
    let titles: Vec<&str> = finished
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("::error title=")?.split("::").next())
        .collect();
    assert_eq!(
        titles,
        [
            "runner",
            "test 0%2C column 0%3A FAIL (also column 1)",
            "test 1%2C column 0%3A FAIL"
        ]
    );
}

fn id(finished: &Finished) -> String {
    let listed = finished.again().args(["list", "--json"]).finish();
    let id = listed.stdout_json()[0]["id"].clone();
    id.as_str().expect("there is a run").to_owned()
}

#[test]
fn a_summary_says_what_is_worse_than_in_an_earlier_run() {
    let first = evaluated("", &[]);
    let before = id(&first);
    let worse = CONFIG.replace("value: Ada", "value: Bea");
    let line = ["eval", "--no-table", "-o", "out.md", "--baseline", &before];
    let first = first.again().config(&worse).args(line).finish();
    first.expect_code(100);
    let summary = first.read("out.md");
    let told = "<b>1 passed before but not now</b>; 0 pass now.</p>";
    assert!(summary.contains(told), "{summary}");
    let case = "<tr><td><code>test 0, column 0: name=Ada</code></td><td><code>Expected output to contain &quot;Bea&quot;</code></td></tr>";
    assert!(summary.contains(case), "{summary}");
    // An export of it says the same; a run that is not there is known before anything is run.
    let export = ["export", "latest", "--baseline", &before, "-o", "again.md"];
    let exported = first.again().args(export).finish();
    exported.expect_code(0);
    assert_eq!(exported.read("again.md"), summary);
    // Tests that are gone broke nothing, and are not gone without a word.
    let fewer = "prompts: [p]\nproviders: [echo]\ntests: [{ vars: { other: 1 } }]\n";
    let line = [
        "eval",
        "--no-table",
        "-o",
        "fewer.md",
        "--baseline",
        &before,
    ];
    let fewer = first.again().config(fewer).args(line).finish();
    let gone = format!("of <code>{before}</code> are not in this run.</b></p>");
    assert!(
        fewer.read("fewer.md").contains(&gone),
        "{}",
        fewer.read("fewer.md")
    );
    let refused = first
        .again()
        .args(["eval", "--baseline", "nothing"])
        .finish();
    refused.expect_code(2);
    assert_eq!(refused.stdout, "");
}

#[test]
fn a_command_that_can_not_begin_is_an_annotation() {
    let run = Run::new().config("prompts: [p]\nproviders: [echo]\nthresholds: 5\n");
    let refused = run.env("GITHUB_ACTIONS", "true").arg("eval").finish();
    assert_snapshot!(refused.told());
}

#[test]
fn runs_are_listed_by_what_they_are_and_deleted_for_good() {
    let first = evaluated("tags: { branch: main }\n", &[]);
    let failed = id(&first);
    let passed = first.again();
    passed
        .args(["eval", "-n", "1", "--no-table"])
        .finish()
        .expect_code(0);
    let listed = |flags: &[&str]| {
        let listed = first.again().args(["list", "--json"]).args(flags).finish();
        listed.expect_code(0);
        listed.stdout_json().as_array().expect("runs").len()
    };
    assert_eq!(listed(&["--tag", "branch=main"]), 2);
    assert_eq!(listed(&["--tag", "branch=other"]), 0);
    assert_eq!(listed(&["--status", "failed"]), 1);
    assert_eq!(listed(&["--status", "passed,failed", "--since", "1h"]), 2);
    assert_eq!(listed(&["--since", "0s"]), 0);
    let refused = first.again().args(["delete", &failed]).finish();
    assert_snapshot!("nobody_can_be_asked", refused.told());
    let unknown = ["delete", "latest", "nothing", "--yes"];
    first.again().args(unknown).finish().expect_code(2);
    assert_eq!(listed(&[]), 2);
    let deleted = first
        .again()
        .args(["delete", &failed, &failed, "--yes"])
        .finish();
    deleted.expect_code(0);
    assert_eq!(deleted.stdout, format!("deleted: {failed}\n"));
    assert_eq!(listed(&[]), 1);
}

#[test]
fn a_run_is_deleted_after_the_question_is_answered() {
    let first = evaluated("", &[]);
    for (answer, code) in [("n\n", 2), ("y\n", 0)] {
        let mut asked = first
            .again()
            .in_terminal()
            .args(["delete", "latest"])
            .start();
        asked.wait_for_stdout("Delete 1 run and all results? [y/N]");
        asked.types(answer);
        asked.finish().expect_code(code);
    }
    let listed = first.again().args(["list", "--json"]).finish();
    assert_eq!(listed.stdout_json(), json!([]));
}

#[test]
fn metrics_and_tests_with_a_word_are_shown() {
    let first = evaluated(
        "derivedMetrics: [{ name: twice, value: 'tone * 2' }]\n",
        &[],
    );
    let shown = |flags: &[&str]| first.again().arg("show").args(flags).finish();
    assert_snapshot!("the_metrics_of_a_run", shown(&["--metrics"]).told());
    let metrics = shown(&["--metrics", "--json"]).stdout_json();
    assert_eq!(metrics[0]["metrics"], json!({ "tone": 0.5, "twice": 4.0 }));
    assert_snapshot!("the_tests_with_a_word", shown(&["--grep", "BOB"]).told());
    shown(&["--grep", "x", "--test", "1"]).expect_code(2);
    let all = shown(&["--json"]).stdout_json();
    let of_test = shown(&["--test", "1", "--column", "0", "--json"]).stdout_json();
    assert_eq!(of_test, json!([all["results"]["results"][1]]));
}

/// A run, and the same in two parts.
fn whole_and_parts() -> Finished {
    let whole = evaluated("thresholds: { passRate: 66 }\n", &["-o", "whole.json"]);
    whole.expect_code(0);
    for part in ["1/2", "2/2"] {
        let file = format!("part-{}.json", &part[..1]);
        let run = whole
            .again()
            .args(["eval", "--no-table", "--shard", part, "-o", &file]);
        run.finish();
    }
    whole
}

fn merged(whole: &Finished, files: &[&str], more: &[&str]) -> Finished {
    let merge = whole.again().args(["merge", "--no-table"]);
    merge.args(files).args(more).finish()
}

#[test]
fn the_parts_of_a_run_make_the_whole() {
    let whole = whole_and_parts();
    let shard = &whole.json("part-2.json")["results"]["stats"]["shard"];
    assert_eq!(*shard, json!({ "index": 2, "count": 2, "rows": 2 }));
    let order = ["part-2.json", "part-1.json"];
    let merged = merged(&whole, &order, &["-o", "merged.json"]);
    assert_snapshot!("a_merged_run", merged.told());
    // But for ids and times, its rows are those of the whole.
    let rows = |file: &str| {
        let document = whole.json(file);
        let rows = document["results"]["results"]
            .as_array()
            .expect("rows")
            .clone();
        let facts = [
            "testIdx",
            "promptIdx",
            "vars",
            "success",
            "score",
            "testCase",
        ];
        let fact = |row: &serde_json::Value| facts.map(|name| row[name].clone());
        rows.iter().map(fact).collect::<Vec<_>>()
    };
    assert_eq!(rows("merged.json"), rows("whole.json"));
}

#[test]
fn equal_parts_are_merged_once() {
    let whole = whole_and_parts();
    let merge = |files: &[&str], more: &[&str]| merged(&whole, files, more);
    let first = merge(&["part-2.json", "part-1.json"], &[]);
    let listed = || {
        let listed = whole.again().args(["list", "--json"]).finish();
        let runs = listed.stdout_json().as_array().expect("runs").clone();
        let tag = |run: &serde_json::Value| run["tags"]["shard"].as_str().map(str::to_owned);
        runs.iter().map(tag).collect::<Vec<_>>()
    };
    let parts = listed();
    for part in ["1/2", "2/2"] {
        assert!(parts.contains(&Some(part.to_owned())), "{parts:?}");
    }
    // Whatever their order, equal files are one run.
    let again = merge(&["part-1.json", "part-2.json"], &[]);
    again.expect_code(0);
    assert!(
        again
            .stderr
            .starts_with("note: these files are merged already, as import-")
    );
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(
        listed().len(),
        4,
        "the whole, two parts, and what was merged"
    );
    merge(&["part-1.json", "part-2.json"], &["--min-pass-rate", "67"]).expect_code(100);
}

#[test]
fn what_is_no_whole_is_not_merged() {
    let whole = whole_and_parts();
    let merge = |files: &[&str]| merged(&whole, files, &[]);
    let missing = merge(&["part-1.json"]).told_as("a part is missing");
    let twice = merge(&["part-1.json", "part-1.json"]).told_as("a part is there twice");
    let no_part = merge(&["part-1.json", "whole.json"]).told_as("another is no part");
    let changed = CONFIG.replace("value: Ada", "value: Bea");
    let other = ["eval", "--shard", "2/2", "--no-table", "-o", "other.json"];
    whole.again().config(&changed).args(other).finish();
    let other = merge(&["part-1.json", "other.json"]).told_as("another config");
    assert_snapshot!(
        "parts_that_are_no_run",
        [missing, twice, no_part, other].concat()
    );
}

#[test]
fn a_part_of_a_sample_needs_the_seed_of_all() {
    let refused = evaluated("", &["--shard", "1/2", "--filter-sample", "2"]);
    assert_snapshot!(refused.told());
}

/// Whoever copies a command from the page about CI has one that there is.
#[test]
fn the_commands_of_the_page_about_ci_are_there() {
    let page = std::fs::read_to_string(workspace_root().join("docs/ci.md"));
    let page = page.expect("it is there");
    let mut commands = 0;
    for line in page.lines() {
        let line = line.trim().trim_start_matches("- run: ");
        let line = line.rsplit_once("$(").map_or(line, |(_, command)| command);
        let words = match (
            line.strip_prefix("runner "),
            line.strip_prefix("arguments: "),
        ) {
            (Some(words), _) => words.to_owned(),
            (None, Some(words)) => format!("eval {words}"),
            (None, None) => continue,
        };
        let words = words.replace("${{ matrix.part }}", "1").replace('"', "");
        let words = words.split_whitespace().take_while(|word| *word != "|");
        // What is wrong before it is said first.
        let told = Run::new().args(words).arg("--help").finish();
        assert!(told.code == Some(0), "{line}: {}", told.stderr);
        commands += 1;
    }
    assert_eq!(commands, 7, "those that are there");
}
