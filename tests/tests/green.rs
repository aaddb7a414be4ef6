//! No false green: what did not run, or did not end well, is never a pass.

use std::time::Duration;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

fn over(api: &ModelApi, words: &[&str]) -> Run {
    let tests: Vec<_> = words
        .iter()
        .map(|word| json!({ "vars": { "word": word } }))
        .collect();
    let config = json!({
        "prompts": ["{{word}}"], "tests": tests,
        "providers": [{ "id": "openai:m", "maxRetries": 1 }],
    });
    Run::new()
        .config(&config.to_string())
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "--no-table", "-o", "out.json"])
}

fn rows(finished: &Finished) -> Vec<Value> {
    let document = finished.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    rows.clone()
}

fn outcomes(finished: &Finished) -> Vec<String> {
    let word = |row: &Value| row["outcome"].as_str().expect("a word").to_owned();
    rows(finished).iter().map(word).collect()
}

/// Whatever one request is answered with, or not, is that case's error and nobody else's.
#[test]
fn a_case_that_goes_wrong_costs_its_row_and_the_green() {
    let wrong = [
        (Answer::error(401, "invalid_api_key", "bad key"), "auth"),
        (Answer::error(403, "forbidden", "not yours"), "auth"),
        (
            Answer::error(404, "not_found", "no such thing"),
            "not-found",
        ),
        (
            Answer::error(501, "not_implemented", "never heard of it"),
            "transient",
        ),
        (
            Answer::error(500, "oops", "try again").header("retry-after-ms", "1"),
            "transient",
        ),
        (Answer::reset(), "transient"),
        (Answer::text("cut off").cut_after(10), "transient"),
        (Answer::raw("no JSON"), "bad-response"),
    ];
    for (answer, code) in wrong {
        let api = ModelApi::start();
        let told = format!("{answer:?}");
        api.rule(move |seen| (seen.last_user_message()? == "bad").then(|| answer.clone()));
        let words = ["one", "two", "three", "bad", "four", "five"];
        let finished = over(&api, &words).args(["-j", "2"]).finish();
        finished.expect_code(100);
        let expected = ["passed", "passed", "passed", "error", "passed", "passed"];
        assert_eq!(outcomes(&finished), expected, "{told}");
        let row = &rows(&finished)[3];
        assert_eq!(row["success"], false, "{told}");
        assert_eq!(row["failureReason"], 2, "{told}");
        let error = row["error"].as_str().unwrap_or_default();
        assert!(!error.is_empty(), "{told}: {row}");
        assert_eq!(row["errorCode"], code, "{told}: {row}");
    }
}

/// A wrong key and a wrong model are found out by the first few; the others are not sent.
#[test]
fn a_lane_whose_first_calls_are_refused_ends_fast() {
    let refusals = [
        (Answer::error(401, "invalid_api_key", "bad key"), "auth"),
        (
            Answer::error(404, "model_not_found", "no such model"),
            "not-found",
        ),
    ];
    for (answer, code) in refusals {
        let api = ModelApi::start();
        api.always(answer.after(Duration::from_millis(5)));
        let words: Vec<String> = (0..200).map(|n| format!("word {n}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let finished = over(&api, &words).args(["-j", "4"]).finish();
        finished.expect_code(100);
        let calls = api.requests().len();
        assert!(calls <= 12, "{calls} calls of 200 cases to learn of {code}");
        let rows = rows(&finished);
        assert_eq!(rows.len(), 200, "each case has its row");
        for row in &rows {
            assert_eq!(
                (&row["outcome"], &row["errorCode"]),
                (&json!("error"), &json!(code))
            );
        }
        let last = rows[199]["error"].as_str().expect("a reason");
        assert!(last.len() > 10, "{last}");
    }
}

/// A lane that has had a good answer goes on: a refusal is then about the request.
#[test]
fn refusals_after_a_good_answer_are_each_their_own() {
    let api = ModelApi::start();
    api.script([Answer::text("fine")]);
    api.always(Answer::error(404, "not_found", "no such thing"));
    let words: Vec<String> = (0..20).map(|n| format!("word {n}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let finished = over(&api, &words).args(["-j", "1"]).finish();
    finished.expect_code(100);
    assert_eq!(api.requests().len(), 20);
}

#[test]
fn a_run_of_no_case_is_no_success_and_says_why() {
    let api = ModelApi::start();
    let cases: [(&str, &[&str], &str); 3] = [
        (
            "n\nx\n",
            &["--filter-pattern", "nothing is called so"],
            "--filter-pattern",
        ),
        ("n\n", &[], "no cases"),
        (
            "n\nx\n",
            &["--filter-providers", "claude"],
            "--filter-providers",
        ),
    ];
    for (rows, arguments, why) in cases {
        let run = over(&api, &[])
            .config("prompts: ['{{n}}']\nproviders: ['openai:m']\ntests: tests.csv\n")
            .file("tests.csv", rows)
            .env("RUNNER_PASS_RATE_THRESHOLD", "0");
        let finished = run.args(arguments.iter().copied()).finish();
        finished.expect_code(2);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains(why), "no '{why}' in: {said}");
    }
    assert!(api.requests().is_empty());
}

#[test]
fn threshold_and_exit_code_come_from_the_environment() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let bad = seen.last_user_message()? == "bad";
        bad.then(|| Answer::error(400, "bad", "no"))
    });
    let both = |name: &'static str, value: &'static str| {
        [format!("RUNNER_{name}"), format!("PROMPTFOO_{name}")].map(|name| (name, value))
    };
    let mut cases = Vec::new();
    for pair in both("PASS_RATE_THRESHOLD", "75") {
        cases.push((vec![pair], 0));
    }
    for pair in both("PASS_RATE_THRESHOLD", "75.1") {
        cases.push((vec![pair], 100));
    }
    for pair in both("FAILED_TEST_EXIT_CODE", "7") {
        cases.push((vec![pair], 7));
    }
    for pair in both("PASS_RATE_THRESHOLD", "most") {
        cases.push((vec![pair], 2));
    }
    for pair in both("FAILED_TEST_EXIT_CODE", "0") {
        cases.push((vec![pair], 0));
    }
    let [ours, theirs] = both("PASS_RATE_THRESHOLD", "50");
    cases.push((vec![(ours.0, "100"), theirs], 100));
    for (environment, code) in cases {
        let mut run = over(&api, &["one", "two", "three", "bad"]);
        for (name, value) in &environment {
            run = run.env(name, *value);
        }
        let finished = run.finish();
        assert_eq!(
            finished.code,
            Some(code),
            "{environment:?}: {}",
            finished.stderr
        );
    }
}

/// What nothing is asserted of passes, whatever it is; that is told, and can be refused.
#[test]
fn cases_without_an_assertion_are_counted_and_can_be_refused() {
    let run = Run::new().config(
        "prompts: ['{{ n }}']\nproviders: [echo]\ntests:\n  - vars: { n: 1 }\n  - vars: { n: 2 }\n    \
         assert: [{ type: equals, value: '2' }]\n  - vars: { n: 3 }\n",
    );
    let finished = run
        .clone()
        .args(["eval", "--no-table", "-o", "out.json"])
        .finish();
    assert_snapshot!(finished.told());
    let stats = &finished.json("out.json")["results"]["stats"];
    assert_eq!(stats["successes"], 3);
    assert_eq!(stats["withoutAssertions"], 2);
    let refused = run.args(["eval", "--require-assertions"]).finish();
    assert_snapshot!(refused.told());
}

/// A file of rows could answer for another one.
#[test]
fn rows_of_one_file_don_t_make_those_of_another_green() {
    let evil =
        r#"{"vars":{"x":"row"},"providerOutput":"sorry","options":{"storeOutputAs":"gold"}}"#;
    let good = "x,gold,__expected\nfirst,Canberra,contains: {{gold}}\n";
    let config = "prompts: ['{{x}} {{gold}}']\nproviders: [echo]\ndefaultTest: { options: { transform: '\"sorry, no idea\"' } }\ntests: [file://evil.jsonl, file://good.csv]\n";
    let run = Run::new().config(config).file("evil.jsonl", evil);
    let run = run.file("good.csv", good).args(["eval", "-o", "out.json"]);
    let finished = run.finish();
    finished.expect_code(100);
    let row = &rows(&finished)[1];
    assert_eq!(row["success"], false, "{row}");
    assert_eq!(row["vars"]["gold"], "Canberra", "{row}");
}
