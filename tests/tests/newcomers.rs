//! What somebody needs who has the program alone, or comes from promptfoo: `explain`, `migrate`,
//! `import --from-promptfoo`.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use runner_tests::Run;

#[test]
fn a_code_is_explained_and_all_are_listed() {
    let run = Run::new();
    let mut told = String::new();
    for words in [&["C103"][..], &["rate-limited"], &["100"], &["C1O3"], &[]] {
        let line = ["explain"].iter().chain(words);
        let said = run.clone().args(line.copied()).finish();
        told += &said.told_as(&format!("explain {}", words.join(" ")));
    }
    assert_snapshot!(told);
    let json = run.args(["explain", "p009", "--json"]).finish();
    json.expect_code(0);
    assert_eq!(json.stdout_json()["code"], "P009");
}

/// A script reads what commands did, and never a table.
#[test]
fn what_was_done_is_told_as_json() {
    let run = Run::new().file("prices.json", "{}");
    let prices = r#"{"m": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "litellm_provider": "x", "mode": "chat"}}"#;
    let run = run.file("prices.json", prices);
    let mut told = String::new();
    for line in [
        "init --json",
        "eval --json",
        "eval --json --shard 1/1 -o part.json",
        "merge part.json --json --no-table",
        "export -o a.csv -o a.md --json",
        "prices import prices.json --json",
        "prices clear --json",
    ] {
        let finished = run.clone().args(line.split(' ')).finish();
        let json = finished.stdout_json();
        if json["columns"].is_null() {
            told += &finished.told_as(line);
        } else {
            // A run has times of its own.
            let figures = ["cases", "passed", "exitCode"].map(|name| json[name].as_u64());
            assert_eq!(figures, [Some(6), Some(6), Some(0)], "{json}");
            assert_eq!(json["columns"][1]["metrics"]["testPassCount"], 3, "{json}");
        }
    }
    assert_snapshot!(told);
}

#[test]
fn help_is_had_of_commands_within_commands() {
    for words in [
        &["eval"][..],
        &["plugin", "new"],
        &["cache", "ls"],
        &["config", "schema"],
    ] {
        let by_word = Run::new().arg("help").args(words.iter().copied()).finish();
        let by_flag = Run::new()
            .args(words.iter().copied())
            .arg("--help")
            .finish();
        by_word.expect_code(0);
        assert_eq!(by_word.stdout, by_flag.stdout, "{words:?}");
    }
}

#[test]
fn a_config_of_promptfoos_is_told_what_will_be_different() {
    let config = "prompts: ['Say {{ env.GREETING }}, {{name}}']
providers: [echo]
defaultTest: { options: { storeOutputAs: last } }
tests:
  - vars: { name: Ada, card: { a: 1 } }
    assert:
      - { type: javascript, value: output.length > 3 }
      - { type: llm-rubric, value: is polite, threshold: 5 }
";
    let run = Run::new()
        .config(config)
        .env("PROMPTFOO_STRIP_METADATA", "true");
    let told = run.clone().arg("migrate").finish();
    assert_snapshot!(told.told());
    let json = run
        .clone()
        .args(["migrate", "promptfooconfig.yaml", "--json"])
        .finish()
        .stdout_json();
    assert_eq!(json["met"][0]["what"], "templates");
    assert_eq!(json["met"][0]["at"][0], "prompts[0]");
    assert_eq!(
        json["variablesThatAreNotRead"][0],
        "PROMPTFOO_STRIP_METADATA"
    );
    assert!(json["refused"].is_string());
    // The lines that it names are those of the list.
    let list = run.args(["migrate", "--list"]).finish();
    let line = json["met"][0]["line"].as_u64().expect("a number") as usize;
    let row = list.stdout.lines().nth(line - 1);
    assert!(
        row.is_some_and(|row| row.starts_with("| templates |")),
        "{row:?}"
    );
}

#[test]
fn a_config_that_runs_as_it_is_is_told_so() {
    let config = "prompts: ['Say {{name}}']\nproviders: [echo]\ntests: [{ vars: { name: Ada } }]\n";
    let told = Run::new().config(config).arg("migrate").finish();
    told.expect_code(0);
    assert!(
        told.stdout
            .starts_with("promptfooconfig.yaml shows no sign of a difference")
    );
    assert!(
        told.stdout.ends_with("\n`runner eval` accepts it.\n"),
        "{}",
        told.stdout
    );
    let none = Run::new().arg("migrate").finish();
    none.expect_code(2);
}

/// The tables as promptfoo 0.123 has them, with two runs: one of today, one whose rows an old version kept
/// in another way.
const DATABASE: &str = r#"
CREATE TABLE evals (id text PRIMARY KEY NOT NULL, created_at integer DEFAULT CURRENT_TIMESTAMP NOT NULL, description text,
  results text NOT NULL, config text NOT NULL, author text, prompts text, vars text, is_redteam integer DEFAULT false NOT NULL, runtime_options text);
CREATE TABLE eval_results (id TEXT, created_at INT, updated_at INT, eval_id TEXT, prompt_idx INT, test_idx INT, test_case TEXT,
  prompt TEXT, prompt_id TEXT, provider TEXT, latency_ms INT, cost REAL, response TEXT, error TEXT, success INT, score REAL,
  grading_result TEXT, named_scores TEXT, metadata TEXT, failure_reason integer DEFAULT 0 NOT NULL);
INSERT INTO evals (id, created_at, description, results, config, prompts) VALUES
  ('eval-old-2024-01-01T00:00:00', '2024-01-01 00:00:00', NULL, '{"version":2,"results":[]}', '{}', NULL),
  ('eval-abc-2025-11-28T01:02:31', 1764291751402, 'Greetings', '{"durationMs":154.0}', '{"description":"Greetings","tags":{"team":"blue"}}',
   '[{"id":"p","raw":"Hello {{name}}","label":"Hello {{name}}","provider":"echo","metrics":{}}]');
INSERT INTO eval_results (id, eval_id, prompt_idx, test_idx, test_case, prompt, prompt_id, provider, latency_ms, cost, response, error, success, score, grading_result, named_scores, metadata, failure_reason) VALUES
  ('r1', 'eval-abc-2025-11-28T01:02:31', 0, 0, '{"description":"Greets","vars":{"name":"Ada"},"assert":[{"type":"contains","value":"Hello"}]}',
   '{"raw":"Hello Ada","label":"Hello {{name}}"}', 'p', '{"id":"echo","label":""}', 2, 0.0, '{"output":"Hello Ada"}', NULL, 1, 1.0,
   '{"pass":true,"score":1,"reason":"fine","componentResults":[]}', '{"politeness":1}', '{}', 0),
  ('r2', 'eval-abc-2025-11-28T01:02:31', 0, 1, '{"vars":{"name":"Bob"}}',
   '{"raw":"Hello Bob","label":"Hello {{name}}"}', 'p', '{"id":"echo","label":""}', 3, NULL, '{"output":"Hello Bob"}', 'No such greeting', 0, 0.0,
   '{"pass":false,"score":0,"reason":"No such greeting","componentResults":[]}', '{}', '{}', 1);
"#;

/// Makes a database by Python, since the tests know no SQL.
fn database(path: &Path, sql: &str) {
    let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])";
    let made = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .arg(sql)
        .output()
        .expect("the tests need Python");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}

#[test]
fn what_promptfoo_kept_is_imported_once() {
    let run = Run::new().file("theirs/other.txt", "");
    let file = run.project().join("theirs/promptfoo.db");
    database(&file, DATABASE);
    let before = std::fs::read(&file).expect("it is there");
    let words = ["import", "--from-promptfoo", "theirs"];
    let mut told = String::new();
    let imported = run.clone().args(words).finish();
    told += &imported.told_as("the first time");
    told += &run.clone().args(words).finish().told_as("again");
    let by_variable = run.clone().args(["import", "--from-promptfoo"]);
    let by_variable = by_variable.env("PROMPTFOO_CONFIG_DIR", run.project().join("theirs"));
    told += &by_variable.finish().told_as("by promptfoo's variable");
    let nowhere = run
        .clone()
        .args(["import", "--from-promptfoo", "nowhere"])
        .finish();
    told += &nowhere.told_as("where nothing is");
    assert_snapshot!(told);
    assert_eq!(std::fs::read(&file).expect("it is there"), before);
    assert_eq!(
        std::fs::read_dir(run.project().join("theirs"))
            .expect("read")
            .count(),
        2
    );

    let shown = run.args(["show", "--json"]).finish().stdout_json();
    assert_eq!(shown["evalId"], "import-eval-abc-2025-11-28T01:02:31");
    assert_eq!(shown["config"]["tags"]["team"], "blue");
    let rows = shown["results"]["results"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["vars"]["name"], "Ada");
    assert_eq!(rows[0]["response"]["output"], "Hello Ada");
    assert_eq!(rows[1]["outcome"], "failed");
    assert_eq!(shown["results"]["stats"]["durationMs"], 154);
}

#[test]
fn a_database_of_a_stranger_does_no_harm() {
    let cases = [
        ("no tables", "CREATE TABLE x (a);"),
        ("a view", "CREATE TABLE evals (id, created_at); CREATE VIEW eval_results AS SELECT * FROM evals;"),
        (
            "a row that is none",
            "CREATE TABLE evals (id TEXT, created_at INT, results TEXT, config TEXT, prompts TEXT);
             CREATE TABLE eval_results (id TEXT, eval_id TEXT, prompt_idx INT, test_idx INT, success INT, response TEXT);
             INSERT INTO evals VALUES ('../../x', 5, '{}', 'no json', '[');
             INSERT INTO evals VALUES ('b', 5, '{}', '{}', '[]');
             INSERT INTO eval_results VALUES ('r', '../../x', 0, 0, 1, '{}'), ('s', 'b', -1, 0, 1, '{');",
        ),
    ];
    let mut told = String::new();
    for (name, sql) in cases {
        let run = Run::new();
        database(&run.project().join("promptfoo.db"), sql);
        let refused = run.args(["import", "--from-promptfoo", "."]).finish();
        refused.expect_code(2);
        told += &refused.told_as(name);
    }
    let run = Run::new().file("promptfoo.db", "this is no database");
    told += &run
        .args(["import", "--from-promptfoo", "."])
        .finish()
        .told_as("no database");
    assert_snapshot!(told);
}

#[test]
fn a_run_is_written_as_a_folder_of_pages() {
    let config = "prompts: ['Hello {{name}}', 'Bye {{name}}']\nproviders: [echo]\ntests:\n";
    let tests = (0..30).map(|number| {
        let check = "[{ type: contains, value: Hello }]";
        format!("  - {{ vars: {{ name: n{number} }}, assert: {check} }}\n")
    });
    let config = config.to_owned() + &tests.collect::<String>();
    let run = Run::new()
        .config(&config)
        .args(["eval", "--no-table"])
        .finish();
    run.expect_code(100);
    let written = run.again().args(["export", "--static", "pages"]).finish();
    written.expect_code(0);
    // Two lists of two pages, a page for each case, style, script and config.
    assert_eq!(
        written.stderr,
        "written: 69 files in pages\n".replace("pages", &pages(&written))
    );
    let first = written.read("pages/index.html");
    for part in [
        "cases/0-0.html",
        "index-2.html",
        "not-passed.html",
        "30 tests, 60 cases",
    ] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    assert!(
        written
            .read("pages/index-2.html")
            .contains("href=\"index.html\"")
    );
    let case = written.read("pages/cases/0-1.html");
    assert!(
        case.contains("Bye n0") && case.contains("href=\"../cases/1-1.html\""),
        "{case}"
    );
    for page in [&first, &case] {
        assert!(!page.contains("href=\"/") && !page.contains("src=\"/"));
        assert!(page.contains("Content-Security-Policy"));
    }
    let again = written
        .again()
        .args(["export", "--static", "pages"])
        .finish();
    again.expect_code(2);
}

fn pages(run: &runner_tests::Finished) -> String {
    run.again().project().join("pages").display().to_string()
}
