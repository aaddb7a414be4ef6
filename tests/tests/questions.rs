//! Question sets from the file to the results: what a task says, what is told meanwhile, and what
//! stands on the other side of the wire.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run, workspace_root};
use serde_json::{Value, json};

/// A set of questions `q0`, `q1`, …, each with the choices `a` and `b`, of which `a` is correct.
fn set(count: usize) -> String {
    let question =
        |n| json!({ "question": format!("q{n}"), "answers": ["a", "b"], "correct_answers": ["A"] });
    let questions: Value = (0..count).map(question).collect();
    json!({ "version": 1, "questions": questions }).to_string()
}

const TASK: &str = "prompts: ['{{question}}']\ntasks:\n  - id: t\n    type: question_eval\n    provider: openai:m\n    questions_file: set.json\n";

/// A run of so many questions, with these keys more in the task.
fn over(api: &ModelApi, count: usize, more: &str) -> Run {
    Run::new()
        .config(&format!("{TASK}    {more}\n"))
        .file("set.json", set(count))
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "-o", "out.json", "-o", "out.html"])
}

/// A server that answers `q0` with the first of these texts and so on; the rest correctly.
fn saying(texts: &'static [&'static str]) -> ModelApi {
    saying_but(texts, |_| None)
}

/// A server that answers so, but for what `rule` answers.
fn saying_but(
    texts: &'static [&'static str],
    rule: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
) -> ModelApi {
    let api = ModelApi::start();
    api.rule(move |seen| rule(seen.last_user_message()?));
    api.rule(move |seen| {
        let number: usize = seen.last_user_message()?.strip_prefix('q')?.parse().ok()?;
        Some(Answer::text(texts.get(number).unwrap_or(&RIGHT)))
    });
    api
}

const RIGHT: &str = "I think <answer> a </answer>";
const WRONG: &str = "<answer>b</answer>";

fn results(finished: &Finished) -> Value {
    finished.json("out.json")["results"].clone()
}

/// The only task's status.
fn status(results: &Value) -> &str {
    results["tasks"][0]["status"].as_str().expect("one task")
}

/// A field of every question, in the order of the set.
fn each(results: &Value, key: &str) -> Vec<Value> {
    let rows = results["results"].as_array().expect("rows");
    rows.iter()
        .map(|row| row["question"][key].clone())
        .collect()
}

#[test]
fn a_task_of_correct_answers_passes_and_says_so_everywhere() {
    let api = saying(&[]);
    let finished = over(&api, 3, "concurrency: 2").finish();
    finished.expect_code(0);
    let results = results(&finished);
    assert_eq!(status(&results), "pass");
    let summary = &results["tasks"][0]["summary"];
    assert_eq!(
        (&summary["questionsTotal"], &summary["accuracy"]),
        (&json!(3), &json!(1.0))
    );
    assert_eq!(
        summary["tokensTotal"],
        3 * 10,
        "five words in each direction"
    );
    assert_eq!(results["stats"]["tasks"]["passRate"], 1.0);
    assert_eq!(each(&results, "answer"), ["a", "a", "a"]);
    assert_eq!(each(&results, "correct"), [true, true, true]);
    assert_eq!(each(&results, "index"), [0, 1, 2]);
    assert_eq!(each(&results, "tokensTotal"), [10, 10, 10]);
    assert!(each(&results, "wallTimeMs").iter().all(Value::is_u64));
    let table = &finished.stdout;
    for words in [
        &["task", "status", "accuracy"][..],
        &["(0) t", "pass", "100.0 %"],
    ] {
        let line = table
            .lines()
            .any(|line| words.iter().all(|word| line.contains(word)));
        assert!(line, "{words:?} in {table}");
    }
    let page = finished.read("out.html");
    assert!(page.contains("<tr><td>t</td><td>0</td><td>pass</td><td>100.0 %</td><td>3 of 3</td>"));
    let shown = finished
        .again()
        .args(["show", "--json"])
        .finish()
        .stdout_json();
    assert_eq!(
        shown["results"]["tasks"], results["tasks"],
        "sums are made from the rows"
    );
}

#[test]
fn answers_that_cannot_be_read_stop_no_other_question() {
    let api = saying(&[
        "
",
        "a",
        "<answer>a</answer>.",
        "<answer> </answer>",
        WRONG,
        RIGHT,
    ]);
    let finished = over(&api, 7, "concurrency: 3").finish();
    finished.expect_code(100);
    let results = results(&finished);
    assert_eq!(status(&results), "fail/incorrect_answers");
    let errors = each(&results, "parseError");
    assert_eq!(
        errors[1..4],
        ["missing-block", "trailing-text", "empty-answer"]
    );
    assert_eq!(errors[4..], [Value::Null, Value::Null, Value::Null]);
    assert_eq!(each(&results, "answer")[4], "b");
    assert_eq!(results["tasks"][0]["summary"]["questionsCorrect"], 2);
    assert_eq!(results["tasks"][0]["summary"]["parseErrors"], 4);
    assert_eq!(api.requests().len(), 7);
}

#[test]
fn a_question_that_uses_too_much_fails_its_task() {
    let api = saying(&[RIGHT, "let me think for a while <answer>a</answer>"]);
    let finished = over(&api, 3, "budget: { max_tokens: 10, max_steps: 1 }").finish();
    assert_snapshot!(finished.told());
    let results = results(&finished);
    assert_eq!(status(&results), "fail/budget_exceeded");
    assert_eq!(
        each(&results, "runError"),
        [Value::Null, json!("budget_exceeded"), Value::Null]
    );
    assert_eq!(results["results"][1]["outcome"], "failed");
    assert_eq!(results["results"][1]["errorCode"], "question-budget");
    assert_eq!(results["tasks"][0]["summary"]["questionsCorrect"], 2);
}

/// Its verdict is that it used too much, whichever answer of its row wins, also when the run goes
/// on.
#[test]
fn a_question_that_uses_too_much_is_not_compared() {
    let api = saying(&["let me think for a while <answer>a</answer>", RIGHT]);
    let highest = "defaultTest: { assert: [{ type: max-score }] }\n";
    let two = TASK.replace("['{{question}}']", "['{{question}}', '{{question}} ']");
    let config = format!("{highest}{two}    budget: {{ max_tokens: 10 }}\n");
    let finished = over(&api, 2, "").config(&config).finish();
    finished.expect_code(100);
    let outcomes = |finished: &Finished| -> Vec<Value> {
        let codes = results(finished)["results"]
            .as_array()
            .expect("rows")
            .clone();
        codes
            .iter()
            .map(|row| json!([row["outcome"], row["errorCode"]]))
            .collect()
    };
    let spent = json!(["failed", "question-budget"]);
    let alone = json!(["error", "nothing-to-compare"]);
    let (passed, failed) = (json!(["passed", null]), json!(["failed", null]));
    assert_eq!(outcomes(&finished), [spent, alone, passed, failed]);
    let again = finished
        .again()
        .args(["eval", "--resume", "last", "-o", "out.json"]);
    let again = again.finish();
    assert_eq!(outcomes(&again), outcomes(&finished));
}

#[test]
fn a_question_that_takes_too_long_fails_its_task_and_is_not_asked_again() {
    let never = Gate::closed();
    let behind = never.clone();
    let api = saying_but(&[], move |asked| {
        (asked == "q1").then(|| Answer::text(RIGHT).behind(&behind))
    });
    let finished = over(&api, 3, "budget: { max_seconds: 1 }").finish();
    finished.expect_code(100);
    let results = results(&finished);
    assert_eq!(status(&results), "fail/budget_exceeded");
    assert_eq!(each(&results, "runError")[1], "budget_exceeded");
    assert_eq!(each(&results, "correct"), [true, false, true]);
    let retried = finished.again().args(["retry"]).finish();
    assert_eq!(api.requests().len(), 3, "{}", retried.stderr);
}

#[test]
fn a_runtime_error_outweighs_a_spent_budget() {
    let api = saying_but(
        &["one two three four five six <answer>a</answer>"],
        |asked| {
            let refused = asked == "q1";
            refused.then(|| Answer::error(400, "invalid_request_error", "no"))
        },
    );
    let finished = over(&api, 3, "budget: { max_tokens: 10 }").finish();
    finished.expect_code(100);
    let results = results(&finished);
    let errors = each(&results, "runError");
    assert_eq!(
        errors,
        [
            json!("budget_exceeded"),
            json!("runtime_error"),
            Value::Null
        ]
    );
    assert_eq!(status(&results), "error/runtime_error");
    let page = finished.read("out.html");
    assert!(page.contains("<td>error/runtime_error</td>"));
}

/// Throttling is the scheduler's to wait for, not a question's error.
#[test]
fn a_refusal_by_the_server_is_no_runtime_error() {
    let api = saying(&[]);
    let slow_down = Answer::error(429, "rate_limit_exceeded", "slow down");
    api.script([slow_down.header("retry-after-ms", "20")]);
    let finished = over(&api, 3, "concurrency: 2").finish();
    finished.expect_code(0);
    assert_eq!(status(&results(&finished)), "pass");
    assert_eq!(api.requests().len(), 4);
}

/// It is refused at once, with the reason, and not tried for ever.
#[test]
fn a_question_that_no_limit_ever_holds_is_a_runtime_error_at_once() {
    let api = saying(&[]);
    let provider = "{ id: 'openai:m', limits: { tokens: 10 per 1m } }";
    let config = TASK.replace("openai:m", provider);
    let finished = over(&api, 2, "").config(&config).finish();
    finished.expect_code(100);
    let results = results(&finished);
    assert_eq!(status(&results), "error/runtime_error");
    let error = results["results"][0]["error"].as_str().expect("a message");
    assert!(error.contains("tokens") && error.contains("10"), "{error}");
    assert!(api.requests().is_empty());
}

#[test]
fn a_wrong_file_is_told_with_its_places_before_anything_is_sent() {
    let api = ModelApi::start();
    let wrong = "{ \"version\": 1, \"questions\": [{ \"question\": \"q\", \"answers\": [\"a\"], \"correct_answers\": [\"b\"] }] }";
    let finished = over(&api, 1, "").file("set.json", wrong).finish();
    assert_snapshot!("a_wrong_answer", finished.told());
    let empty = over(&api, 1, "").file("set.json", "{ \"version\": 1, \"questions\": [] }");
    assert_snapshot!("no_questions", empty.finish().told());
    assert!(api.requests().is_empty());
}

/// The stages of each question, in the order of the file of events.
fn stages(finished: &Finished) -> BTreeMap<u64, Vec<String>> {
    let mut stages: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in finished.read("events.jsonl").lines() {
        let event: Value = serde_json::from_str(line).expect("a whole line of JSON");
        let name = event["event"].as_str().expect("a name");
        if let Some(stage) = name.strip_prefix("question:") {
            let test = event["testIdx"].as_u64().expect("a number");
            stages.entry(test).or_default().push(stage.to_owned());
        }
    }
    stages
}

#[test]
fn every_stage_of_every_question_is_told_in_whole_lines() {
    let api = saying_but(&["none", WRONG], |asked| {
        let refused = asked == "q2";
        refused.then(|| Answer::error(400, "invalid_request_error", "no"))
    });
    let run = over(&api, 200, "concurrency: 40").args(["-v", "--events", "events.jsonl"]);
    let finished = run.finish();
    finished.expect_code(100);
    let stages = stages(&finished);
    assert_eq!(stages.len(), 200);
    let asked = ["queued", "reserved", "running"];
    for (test, told) in &stages {
        let rest: &[&str] = match test {
            0 => &["parsing", "parse_error"],
            1 => &["parsing", "incorrect"],
            2 => &["runtime_error"],
            _ => &["parsing", "correct"],
        };
        assert_eq!(told[..3], asked, "question {test}");
        assert_eq!(told[3..], *rest, "question {test}");
    }
    let mut told: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let lines = finished
        .stderr
        .lines()
        .filter(|line| line.starts_with("t: question"));
    for line in lines {
        let (question, stage) = line.rsplit_once(": ").expect("a stage");
        told.entry(question).or_default().push(stage);
    }
    assert_eq!(told.len(), 200, "{}", finished.stderr);
    for (test, stages) in stages {
        let name = format!("t: question {test} (test {test}, column 0)");
        assert_eq!(told[name.as_str()], stages, "the same in words");
    }
}

/// What waits is let go at once, what is on the wire within two seconds; the rest is unfinished,
/// and asked when the run goes on.
#[test]
fn an_interrupted_task_has_a_runtime_error_until_it_has_gone_on() {
    let gate = Gate::closed();
    let behind = gate.clone();
    let api = saying_but(&[], move |asked| {
        (asked == "q2").then(|| Answer::text(RIGHT).behind(&behind))
    });
    let run = over(&api, 4, "concurrency: 1").args(["--events", "events.jsonl"]);
    let running = run.start();
    api.wait_until(|view| view.requests == 3 && view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("may finish within 2.0 s");
    let interrupted = running.finish();
    interrupted.expect_code(130);
    let events = interrupted.read("events.jsonl");
    let ended = events.matches("question:runtime_error").count();
    assert_eq!(ended, 1, "the one that was on the wire: {events}");
    let first = results(&interrupted);
    assert_eq!(status(&first), "error/runtime_error");
    assert_eq!(first["tasks"][0]["summary"]["unfinished"], 2);
    let shown = interrupted
        .again()
        .args(["show", "--json"])
        .finish()
        .stdout_json();
    assert_eq!(shown["results"]["tasks"], first["tasks"]);
    gate.open();
    let resumed = interrupted.again().args(["eval", "--resume"]).finish();
    resumed.expect_code(0);
    assert_eq!(status(&results(&resumed)), "pass");
    assert_eq!(api.requests().len(), 5, "q0 and q1 were not asked again");
}

#[test]
fn a_task_that_was_killed_goes_on_and_counts_each_question_once() {
    let gate = Gate::closed();
    let behind = gate.clone();
    let api = saying_but(&[WRONG], move |asked| {
        let held = asked.len() == 3;
        held.then(|| Answer::text(RIGHT).behind(&behind))
    });
    let running = over(&api, 20, "concurrency: 4").start();
    api.wait_until(|view| view.in_flight == 4);
    let killed = running.kill();
    gate.open();
    let resumed = killed.again().args(["eval", "--resume"]).finish();
    resumed.expect_code(100);
    let results = results(&resumed);
    assert_eq!(status(&results), "fail/incorrect_answers");
    let summary = &results["tasks"][0]["summary"];
    assert_eq!(
        (&summary["questionsTotal"], &summary["questionsCorrect"]),
        (&json!(20), &json!(19))
    );
    assert_eq!(each(&results, "index"), (0..20).collect::<Vec<_>>());
}

#[test]
fn a_set_among_the_tests_runs_in_every_column() {
    let config = "providers: [{ id: 'openai:m', label: one }, { id: 'openai:n', label: two }]\ntests: questions://set.json\n";
    let api = ModelApi::start();
    api.rule(|seen| {
        let text = if seen.json["model"] == "m" {
            RIGHT
        } else {
            WRONG
        };
        let asked = seen.last_user_message()?.contains("Question: q");
        asked.then(|| Answer::text(text))
    });
    let finished = over(&api, 3, "").config(config).finish();
    finished.expect_code(100);
    let results = results(&finished);
    let tasks = results["tasks"].as_array().expect("tasks");
    let told: Vec<_> = tasks
        .iter()
        .map(|task| (&task["id"], &task["status"]))
        .collect();
    let expected = [
        (&json!("set.json"), &json!("pass")),
        (&json!("set.json"), &json!("fail/incorrect_answers")),
    ];
    assert_eq!(told, expected);
}

#[test]
fn the_example_runs_offline() {
    let run = Run::new();
    let out = run.project().join("out.json");
    let folder = workspace_root().join("examples/questions");
    let finished = run
        .in_folder(&folder)
        .args(["eval", "-o"])
        .arg(&out)
        .finish();
    finished.expect_code(0);
    let results = results(&finished);
    assert_eq!(status(&results), "pass");
    assert_eq!(results["tasks"][0]["summary"]["questionsTotal"], 4);
}

/// Against OpenAI's API as the loopback server speaks it, with the declared limits of the example.
#[test]
fn the_example_with_declared_limits_asks_a_model() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let text = seen.last_user_message()?;
        let (_, choices) = text.split_once("Answer choices:\n- ")?;
        let first = choices.lines().next()?;
        Some(Answer::text(&format!(
            "<answer>{}</answer>",
            first.replace('<', "&lt;")
        )))
    });
    let run = Run::new();
    let out = run.project().join("out.json");
    let finished = run
        .in_folder(workspace_root().join("examples/questions"))
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "-c", "openai.yaml", "-o"])
        .arg(&out)
        .finish();
    finished.expect_code(100);
    let results = results(&finished);
    assert_eq!(status(&results), "pass");
    let second = &results["tasks"][1];
    assert_eq!(second["status"], "fail/incorrect_answers");
    assert_eq!(second["summary"]["questionsCorrect"], 1);
    assert_eq!(api.requests().len(), 7);
    let asked = api.requests();
    let braces = asked.iter().any(|seen| {
        let text = seen.last_user_message().unwrap_or_default();
        text.contains("What does {{ name }} print") && text.ends_with("<answer>...</answer>")
    });
    assert!(braces, "a question is data, whatever it looks like");
}
