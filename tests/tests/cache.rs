//! The cache of answers, as a user meets it: what is asked once, what is asked again, and what
//! the command says about it.

use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use runner_store::{Cache, CacheOptions};
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::{Value, json};

/// A run whose prompts are the words.
fn run(api: &ModelApi, words: &[&str]) -> Run {
    let tests: Vec<_> = words
        .iter()
        .map(|word| json!({ "vars": { "word": word } }))
        .collect();
    let config = json!({ "prompts": ["{{word}}"], "providers": ["openai:m"], "tests": tests });
    over(api, &config)
}

fn over(api: &ModelApi, config: &Value) -> Run {
    Run::new()
        .config(&config.to_string())
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
}

/// Evaluates once more in the same home.
fn again(before: &Finished, arguments: &[&str]) -> Finished {
    eval(before.again(), arguments)
}

fn eval(run: Run, arguments: &[&str]) -> Finished {
    let run = run.args(["eval", "--no-table", "-o", "out.json"]);
    run.args(arguments.iter().copied()).finish()
}

/// One case, which says nothing but `hi`.
fn greeting() -> Value {
    json!({ "prompts": ["hi"], "providers": ["openai:m"], "tests": [{ "vars": { "n": 1 } }] })
}

fn rows(finished: &Finished) -> Vec<Value> {
    let document = finished.json("out.json");
    let rows = document["results"]["results"].as_array().expect("rows");
    rows.clone()
}

/// What each row was answered, and whether that left the machine.
fn answers(finished: &Finished) -> Vec<(String, bool)> {
    let answer = |row: &Value| {
        let response = &row["response"];
        let output = response["output"].as_str().unwrap_or_default().to_owned();
        (output, response["cached"].as_bool().expect("a flag"))
    };
    rows(finished).iter().map(answer).collect()
}

fn cached(finished: &Finished) -> usize {
    answers(finished)
        .iter()
        .filter(|(_, cached)| *cached)
        .count()
}

#[test]
fn five_hundred_equal_cases_are_one_call() {
    let api = ModelApi::start();
    let tests = vec![json!({ "assert": [{ "type": "contains", "value": "same" }] }); 500];
    let config = json!({ "prompts": ["the same"], "providers": ["openai:m"], "tests": tests });
    let finished = eval(over(&api, &config), &["-j", "20"]);
    finished.expect_code(0);
    assert_eq!(api.requests().len(), 1);
    assert_eq!(rows(&finished).len(), 500);
    assert_eq!(cached(&finished), 499, "one row paid");
    assert_eq!(
        finished.json("out.json")["results"]["stats"]["tokenUsage"]["numRequests"],
        1
    );
}

#[test]
fn two_processes_share_the_cache() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let answer = Answer::text(seen.last_user_message()?);
        Some(answer.after(Duration::from_millis(5)))
    });
    let words: Vec<String> = (0..60).map(|n| format!("word {n}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = run(&api, &words);
    let one = run
        .clone()
        .args(["eval", "--no-table", "-o", "one.json"])
        .start();
    let other = run.args(["eval", "--no-table", "-o", "other.json"]).start();
    let (one, other) = (one.finish(), other.finish());
    for (finished, file) in [(&one, "one.json"), (&other, "other.json")] {
        finished.expect_code(0);
        let document = finished.json(file);
        let rows = document["results"]["results"].as_array().expect("rows");
        let outputs: Vec<_> = rows
            .iter()
            .map(|row| row["response"]["output"].as_str())
            .collect();
        assert!(outputs.iter().copied().eq(words.iter().copied().map(Some)));
    }
    let calls = api.requests().len();
    assert!(
        (60..=120).contains(&calls),
        "{calls} calls for 60 prompts, twice"
    );
    let third = again(&one, &[]);
    third.expect_code(0);
    assert_eq!(cached(&third), 60);
    assert_eq!(api.requests().len(), calls, "all was known by then");
}

/// The case that made the call runs out of time; another one that waits for the same answer
/// has time left, and gets it.
#[test]
fn a_timeout_of_one_caller_is_not_the_others() {
    let api = ModelApi::start();
    let late = Gate::closed();
    let behind = late.clone();
    api.rule(move |seen| {
        let word = seen.last_user_message()?;
        Some(match word {
            "shared" => Answer::text("at last").behind(&behind),
            _ => Answer::text(word).after(Duration::from_secs(2)),
        })
    });
    let running = run(&api, &["shared", "other", "shared"])
        .args(["eval", "-j", "2", "--timeout-ms", "4000", "-o", "out.json"])
        .start();
    // The other one has ended and the first has run out of time.
    running.wait_for_stderr("66 %");
    late.open();
    let finished = running.finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(rows[0]["errorCode"], "timeout");
    assert_eq!(rows[1]["response"]["output"], "other");
    assert_eq!(rows[2]["response"]["output"], "at last");
    assert_eq!(
        api.requests().len(),
        2,
        "the call went on without who made it"
    );
}

/// Evaluates two equal cases twice; each of the four must be sent, and nothing be kept.
fn unremembered(config: &Value, arguments: &[&str], environment: &[(&str, &str)]) {
    let api = ModelApi::start();
    let mut run = over(&api, config);
    for (name, value) in environment {
        run = run.env(*name, *value);
    }
    let first = eval(run, arguments);
    first.expect_code(0);
    let second = again(&first, arguments);
    second.expect_code(0);
    let way = format!("{config} {arguments:?} {environment:?}");
    assert_eq!(api.requests().len(), 4, "{way}");
    assert_eq!(cached(&second), 0, "{way}");
    let stats = second.again().args(["cache", "stats"]).finish();
    let told = stats.stderr.contains("nothing is cached");
    assert!(told, "{way}: {}", stats.stderr);
}

/// Each of the ways to say no, and that ours wins over promptfoo's.
#[test]
fn without_the_cache_nothing_is_read_and_nothing_written() {
    let mut plain = greeting();
    plain["tests"] = json!([{ "vars": { "n": 1 } }, { "vars": { "n": 2 } }]);
    let section = |name: &str| {
        let mut config = plain.clone();
        config[name] = json!({ "cache": false });
        config
    };
    unremembered(&plain, &["--no-cache"], &[]);
    unremembered(&section("evaluateOptions"), &[], &[]);
    unremembered(&section("commandLineOptions"), &[], &[]);
    let (ours, theirs) = ("RUNNER_CACHE_ENABLED", "PROMPTFOO_CACHE_ENABLED");
    unremembered(&plain, &[], &[(ours, "false")]);
    unremembered(&plain, &[], &[(theirs, "false")]);
    unremembered(&plain, &[], &[(ours, "0"), (theirs, "true")]);
    let api = ModelApi::start();
    let run = over(&api, &plain)
        .env("RUNNER_CACHE_ENABLED", "true")
        .env("PROMPTFOO_CACHE_ENABLED", "false");
    let first = eval(run, &[]);
    again(&first, &[]).expect_code(0);
    assert_eq!(api.requests().len(), 1, "ours is read first");
}

/// Makes every entry of the cache so much older.
fn age(home: &Path, by: Duration) {
    let options = CacheOptions {
        ttl: None,
        key_version: 2,
        ..CacheOptions::default()
    };
    let cache = Cache::open(&home.join("cache/cache.db"), options).expect("the cache is there");
    for item in cache.list(None, usize::MAX).expect("read") {
        let (item, mut response) = cache.show(&item.key.to_string()).expect("it is there");
        response.stored_at_ms -= by.as_millis() as i64;
        let kept = cache.put(item.key, item.labels, response).wait();
        kept.expect("written");
    }
}

#[test]
fn an_answer_is_given_for_two_weeks_or_as_long_as_the_environment_says() {
    const DAY: Duration = Duration::from_hours(24);
    let ttl = |days: u64| Some(("RUNNER_CACHE_TTL", days * 24 * 3600));
    // Days since it was stored, what the environment says, and whether it is asked for again.
    let cases = [
        (13, None, false),
        (15, None, true),
        (15, ttl(16), false),
        (15, Some(("PROMPTFOO_CACHE_TTL", 16 * 24 * 3600)), false),
        (400, ttl(0), false),
        (2, ttl(1), true),
        (2, ttl(3), false),
    ];
    for (days, variable, is_expired) in cases {
        let api = ModelApi::start();
        let first = eval(run(&api, &["hi"]), &[]);
        age(first.again().home(), DAY * days);
        let mut later = first.again();
        if let Some((name, seconds)) = variable {
            later = later.env(name, seconds.to_string());
        }
        eval(later, &[]).expect_code(0);
        let calls = 1 + usize::from(is_expired);
        assert_eq!(api.requests().len(), calls, "{days} days, {variable:?}");
    }
}

#[test]
fn what_is_no_good_answer_is_asked_for_again() {
    let refusal = json!({ "error": { "message": "overloaded", "type": "server_error" } });
    let bad = [
        Answer::error(400, "bad", "no"),
        Answer::json(&refusal),
        Answer::text("later").with_status(202),
        Answer::text("cut off in the middle").cut_after(20),
    ];
    for answer in bad {
        let api = ModelApi::start();
        api.script([answer.clone()]);
        // A retry would be a good one: the test wants to see the bad one alone.
        let mut config = greeting();
        config["providers"] = json!([{ "id": "openai:m", "maxRetries": 0 }]);
        let first = eval(over(&api, &config), &[]);
        assert_eq!(api.requests().len(), 1, "{answer:?}");
        let second = again(&first, &[]);
        second.expect_code(0);
        assert_eq!(answers(&second), [("hi".to_owned(), false)], "{answer:?}");
        assert_eq!(api.requests().len(), 2, "{answer:?}");
        assert_eq!(cached(&again(&second, &[])), 1, "the good one is kept");
    }
}

#[test]
fn repeats_vary_and_each_is_remembered_for_itself() {
    let api = ModelApi::start();
    api.script((1..=9).map(|n| Answer::text(&format!("answer {n}"))));
    let first = eval(run(&api, &["hi"]), &["--repeat", "3"]);
    first.expect_code(0);
    assert_eq!(
        api.requests().len(),
        3,
        "repeats are independent of each other"
    );
    let mut outputs: Vec<_> = answers(&first)
        .into_iter()
        .map(|(output, _)| output)
        .collect();
    let second = again(&first, &["--repeat", "3"]);
    let known: Vec<_> = outputs
        .iter()
        .map(|output| (output.clone(), true))
        .collect();
    assert_eq!(answers(&second), known);
    outputs.sort_unstable();
    assert_eq!(outputs, ["answer 1", "answer 2", "answer 3"]);
    let single = again(&first, &[]);
    assert_eq!(
        answers(&single),
        known[..1],
        "the first repeat is the plain case"
    );
    let more = again(&first, &["--repeat", "4"]);
    assert_eq!(answers(&more)[3], ("answer 4".to_owned(), false));
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn a_cached_row_keeps_what_the_original_took() {
    let api = ModelApi::start();
    api.always(Answer::text("well considered").after(Duration::from_millis(150)));
    let mut config = greeting();
    let prices = json!({ "inputCost": 0.001, "outputCost": 0.002 });
    config["providers"] = json!([{ "id": "openai:m", "config": prices }]);
    let first = eval(over(&api, &config), &[]);
    let original = &rows(&first)[0];
    let second = again(&first, &[]);
    let row = &rows(&second)[0];
    // What the server took, which is not asked this time; the plugin's own time varies.
    for row in [original, row] {
        assert!(row["latencyMs"].as_u64() >= Some(150), "{row}");
    }
    assert_eq!(row["cost"], original["cost"]);
    assert_eq!(row["response"]["cached"], true);
    assert_eq!(row["tokenUsage"]["total"], original["tokenUsage"]["total"]);
    assert_eq!(row["tokenUsage"]["numRequests"], 0);
    assert_snapshot!(second.told());
}

#[test]
fn the_command_shows_the_cache_and_clears_it() {
    let api = ModelApi::start();
    let first = eval(run(&api, &["one", "two"]), &[]);
    let cache = |words: &[&str]| {
        let finished = first
            .again()
            .arg("cache")
            .args(words.iter().copied())
            .finish();
        finished.expect_code(0);
        finished.stdout
    };
    let stats = cache(&["stats"]);
    assert!(stats.lines().any(|line| line == "answers  2"), "{stats}");
    let list = cache(&["ls"]);
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(list.contains(&api.url()), "{list}");
    assert_eq!(cache(&["ls", "-n", "1"]).lines().count(), 2);
    let key = list
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().next());
    let shown = cache(&["show", key.expect("a key")]);
    assert!(
        shown.contains("\n200\n") && shown.contains("chat.completion"),
        "{shown}"
    );
    assert!(!shown.contains("sk-test-key"), "{shown}");

    age(first.again().home(), Duration::from_hours(24 * 3));
    assert!(cache(&["clear", "--older-than", "7d"]).starts_with("cleared: 0 answers"));
    assert!(cache(&["clear", "--older-than", "2d"]).starts_with("cleared: 2 answers"));
    again(&first, &[]).expect_code(0);
    assert_eq!(api.requests().len(), 4, "they are asked for again");
    assert!(cache(&["clear"]).starts_with("cleared: 2 answers"));
    assert!(cache(&["stats"]).contains("answers  0\n"));
    let unknown = first.again().args(["cache", "show", "ffff"]).finish();
    assert_snapshot!(unknown.told());
}

/// A stranger's config, and the `.env` beside it, declare a word to be a key.
#[test]
fn what_one_config_calls_a_secret_is_missing_from_no_answer_of_another() {
    let api = ModelApi::start();
    api.always(Answer::text("The answer is FORBIDDEN-WORD, sure"));
    let own = json!({
        "prompts": ["hi"],
        "providers": ["openai:m"],
        "tests": [{ "assert": [{ "type": "not-contains", "value": "FORBIDDEN-WORD" }] }],
    });
    let mut theirs = own.clone();
    let echo = |key: &str| json!({ "id": format!("{}/echo", api.url()), "config": { "method": "POST", "body": "x", "headers": { "authorization": key } } });
    for key in ["Bearer {{env.DECOY_API_KEY}}", "Bearer FORBIDDEN-WORD"] {
        theirs["providers"] = json!(["openai:m", echo(key)]);
        let strange = over(&api, &theirs).file(".env", "DECOY_API_KEY=FORBIDDEN-WORD\n");
        let strange = eval(strange, &[]);
        assert!(rows(&strange)[0].to_string().contains("[masked]"));
        let mine = strange.again().config(&own.to_string());
        let mine = eval(mine.file(".env", ""), &[]);
        mine.expect_code(100);
        assert_eq!(
            answers(&mine),
            [("The answer is FORBIDDEN-WORD, sure".to_owned(), false)]
        );
        // The other way round its own words are missing from its own answers alone.
        let strange = eval(
            mine.again()
                .config(&theirs.to_string())
                .file(".env", "DECOY_API_KEY=FORBIDDEN-WORD\n"),
            &[],
        );
        assert_eq!(
            answers(&strange)[0],
            ("The answer is [masked], sure".to_owned(), true)
        );
    }
}
