//! Code of a config that sends requests from the sandbox: as a plugin's, to the hosts that the config
//! grants, and to no others.

use std::time::Duration;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run};
use serde_json::{Value, json};

const KEY: &str = "acme-secret-0123456789";

/// A provider that asks a server, by a key that it does not see.
const PROVIDER: &str = r"
const headers = { 'content-type': 'application/json', 'runner-credential': 'acme' };
module.exports = async (prompt, { vars }) => {
  const body = JSON.stringify({ messages: [{ role: 'user', content: prompt }] });
  console.log('asking');
  const response = await fetch(vars.url ?? vars.base, { method: 'POST', headers, body });
  if (!response.ok) return { error: `${response.status} ${response.statusText}` };
  const answer = await response.json();
  return { output: answer.choices[0].message.content, metadata: { echoed: response.headers.get('x-echo') } };
};
";

fn origin(api: &ModelApi) -> String {
    format!("http://127.0.0.1:{}", api.port())
}

/// What a config grants its code.
fn granted(hosts: &[&str]) -> Value {
    let acme = json!({ "env": "ACME_KEY" });
    let permissions = json!({ "hosts": hosts, "credentials": { "acme": acme } });
    json!({ "javascript": { "permissions": permissions } })
}

/// A config with that provider, over the words.
fn config(api: &ModelApi, words: &[&str]) -> Value {
    let base = format!("{}/chat", origin(api));
    let tests = words
        .iter()
        .map(|word| json!({ "vars": { "word": word, "base": base } }));
    json!({
        "prompts": ["say {{word}}"],
        "providers": ["file://ask.js"],
        "tests": tests.collect::<Vec<_>>(),
        "plugins": granted(&[&origin(api)]),
    })
}

/// Nothing is agreed to, and there is no interpreter beside the sandbox.
fn run(config: &Value) -> Run {
    Run::new()
        .file("ask.js", PROVIDER)
        .config(&config.to_string())
        .env("ACME_KEY", KEY)
}

fn evaluated(run: Run, arguments: &[&str]) -> Finished {
    let run = run.args(["eval", "--no-table", "-o", "out.json"]);
    run.args(arguments.iter().copied()).finish()
}

fn rows(finished: &Finished) -> Vec<Value> {
    let rows = finished.json("out.json")["results"]["results"].clone();
    rows.as_array().expect("rows").clone()
}

fn outputs(finished: &Finished) -> Vec<Value> {
    let output = |row: &Value| row["response"]["output"].clone();
    rows(finished).iter().map(output).collect()
}

fn error(finished: &Finished) -> String {
    rows(finished)[0]["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_provider_s_requests_are_sent_for_it_with_a_key_and_remembered() {
    let api = ModelApi::start();
    let key = format!("Bearer {KEY}");
    api.rule(move |seen| {
        let has_key = seen.header("authorization") == Some(&key);
        let is_bare = seen.header("runner-credential").is_none();
        let said = seen.last_user_message()?;
        Some(Answer::text(&format!("{said} {has_key} {is_bare}")))
    });
    let first = evaluated(run(&config(&api, &["one", "two"])), &[]);
    first.expect_code(0);
    let expected = ["say one true true", "say two true true"];
    assert_eq!(outputs(&first), expected);
    let second = evaluated(first.again(), &[]);
    assert_eq!(outputs(&second), expected);
    let rows = rows(&second);
    let mut cached = rows.iter().map(|row| &row["response"]["cached"]);
    assert!(cached.all(|it| *it == true), "{rows:?}");
    assert_eq!(api.requests().len(), 2);
}

#[test]
fn its_key_is_seen_by_nobody_also_where_the_server_says_it() {
    let api = ModelApi::start();
    api.always(Answer::text(&format!("your key is {KEY}")).header("x-echo", KEY));
    let finished = evaluated(run(&config(&api, &["one"])), &["-v"]);
    finished.expect_code(0);
    let (written, output) = (finished.read("out.json"), outputs(&finished)[0].clone());
    let whole = format!("{written}{}{}", finished.stdout, finished.stderr);
    assert!(!whole.contains(KEY), "{whole}");
    let masked = output
        .as_str()
        .is_some_and(|it| it.starts_with("your key is "));
    assert!(masked, "{output}");
}

#[test]
fn a_refusal_that_asks_to_wait_is_sent_again_and_the_row_shows_both() {
    let api = ModelApi::start();
    let wait = Answer::error(429, "rate_limit", "slow down").header("retry-after-ms", "1");
    api.script([wait, Answer::text("now")]);
    let finished = evaluated(run(&config(&api, &["one"])), &["--no-cache", "-v"]);
    finished.expect_code(0);
    assert_eq!(outputs(&finished), ["now"]);
    let attempts = rows(&finished)[0]["attempts"].clone();
    assert_eq!(attempts.as_array().map(Vec::len), Some(2), "{attempts}");
    // What it prints is told once, though it ran twice.
    assert_eq!(
        finished.stderr.matches("asking").count(),
        1,
        "{}",
        finished.stderr
    );
}

#[test]
fn requests_share_the_limits_of_their_provider() {
    let api = ModelApi::start();
    api.always(Answer::text("x").after(Duration::from_millis(20)));
    let words: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut config = config(&api, &words);
    config["providers"] = json!([{ "id": "file://ask.js", "maxConcurrency": 2 }]);
    let finished = evaluated(run(&config), &["-j", "8"]);
    finished.expect_code(0);
    assert!(api.max_concurrent() <= 2, "{}", api.max_concurrent());
}

#[test]
fn what_waits_together_is_asked_together() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("x").behind(&gate));
    let source = "module.exports = async (p, { vars }) => {\n  \
        const all = [1, 2, 3].map((n) => fetch(`${vars.base}/${n}`).then((r) => r.json()));\n  \
        return (await Promise.all(all)).length;\n};";
    let running = run(&config(&api, &["one"]))
        .file("ask.js", source)
        .args(["eval", "--no-table", "-o", "out.json"])
        .start();
    api.wait_until(|view| view.in_flight == 3);
    gate.open();
    let finished = running.finish();
    assert_eq!(outputs(&finished), [3]);
}

#[test]
fn where_it_may_not_go_it_is_told_what_to_grant() {
    let (api, other) = (ModelApi::start(), ModelApi::start());
    let mut config = config(&api, &["one"]);
    // A row names the address: it has no more than the grant.
    config["tests"][0]["vars"]["url"] = json!(format!("{}/chat", origin(&other)));
    let finished = evaluated(run(&config), &[]);
    let hosts = [origin(&api), origin(&other)]
        .map(|host| format!("\"{host}\""))
        .join(", ");
    let hosts = format!("`plugins.javascript.permissions`: hosts: [{hosts}]");
    assert!(error(&finished).contains(&hosts), "{}", error(&finished));
    // So does a redirect.
    api.always(Answer::redirect(307, &format!("{}/x", origin(&other))));
    config["tests"][0]["vars"]
        .as_object_mut()
        .expect("vars")
        .remove("url");
    let finished = evaluated(run(&config), &[]);
    assert!(
        error(&finished).contains("redirects to"),
        "{}",
        error(&finished)
    );
    // And a name of this machine's own network.
    let mut inside = config.clone();
    inside["tests"][0]["vars"]["url"] = json!("http://169.254.169.254/latest/meta-data");
    let finished = evaluated(run(&inside), &[]);
    assert!(
        error(&finished).contains("may not reach"),
        "{}",
        error(&finished)
    );
    assert_eq!((api.requests().len(), other.requests().len()), (1, 0));
}

#[test]
fn more_than_this_machine_is_asked_for_by_its_line() {
    let api = ModelApi::start();
    let text = "prompts: [hi]\nproviders: [file://ask.js]\ntests: [{ vars: { n: 1 } }]\nplugins:\n  javascript:\n    \
        permissions:\n      hosts:\n      - https://api.acme.example\n      - http://localhost:1\n      \
        credentials: { acme: { env: ACME_KEY } }\n";
    let asked = run(&config(&api, &[]))
        .config(text)
        .args(["trust", "--show"]);
    let shown = asked.clone().finish();
    let config = run(&config(&api, &["one"]))
        .args(["config", "check", "--json"])
        .finish();
    assert_snapshot!(shown.told_as("what is asked for"));
    let code = config.stdout_json()["code"].clone();
    let expected = json!([{
        "code": "ask.js", "command": null, "reason": null, "reaches": [origin(&api)],
    }]);
    assert_eq!(code, expected);
}

#[test]
fn without_a_grant_it_runs_where_it_ran() {
    let api = ModelApi::start();
    let mut config = config(&api, &["one"]);
    config.as_object_mut().expect("a config").remove("plugins");
    let finished = run(&config)
        .args(["config", "check", "--json"])
        .env("RUNNER_TRUST", "config")
        .finish();
    let code = finished.stdout_json()["code"][0].clone();
    assert_eq!(code["reason"], "uses fetch", "{code}");
    assert_ne!(code["command"], Value::Null, "{code}");
}

#[test]
fn code_that_grades_and_changes_answers_sends_requests_too_and_rows_code_sends_none() {
    let api = ModelApi::start();
    api.always(Answer::text("7"));
    let url = format!("{}/grade", origin(&api));
    let ask = format!("fetch('{url}?o=' + output).then((r) => r.json())");
    let inline = format!("const a = await {ask}; a.choices[0].message.content === '7'");
    let mut config = config(&api, &[]);
    config["providers"] = json!(["echo"]);
    config["tests"] = json!("file://rows.jsonl");
    config["defaultTest"] = json!({
        "options": { "transform": format!("(await {ask}).choices[0].message.content + context.vars.word") },
        "assert": [{ "type": "javascript", "value": inline }],
    });
    let row =
        json!({ "vars": { "word": "w" }, "assert": [{ "type": "javascript", "value": inline }] });
    let finished = evaluated(run(&config).file("rows.jsonl", row.to_string()), &[]);
    let rows = rows(&finished);
    assert_eq!(rows[0]["response"]["output"], "7w", "{}", rows[0]);
    let graded = rows[0]["gradingResult"]["componentResults"]
        .as_array()
        .expect("grades");
    let own: Vec<bool> = graded.iter().map(|it| it["pass"] == true).collect();
    assert_eq!(own, [true, false], "{graded:?}");
    let reason = graded[1]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("`fetch` does not exist in the sandbox"),
        "{reason}"
    );
}

#[test]
fn a_server_that_fails_is_no_fault_of_the_answer() {
    let api = ModelApi::start();
    api.always(Answer::reset());
    let value = format!("await fetch('{}/x'); true", origin(&api));
    let mut config = config(&api, &["one"]);
    config["providers"] = json!(["echo"]);
    config["defaultTest"] = json!({ "assert": [{ "type": "javascript", "value": value }] });
    let finished = evaluated(run(&config), &[]);
    let row = rows(&finished)[0].clone();
    assert!(error(&finished).contains("fetch failed"), "{row}");
}

#[test]
fn answers_without_end_and_of_any_size_end_at_a_limit() {
    let api = ModelApi::start();
    let large = vec![b'x'; 33 << 20];
    api.rule(move |seen| {
        let is_large = seen.path.ends_with("large");
        is_large.then(|| Answer::raw(large.clone()))
    });
    let drip = Answer::raw(vec![b'x'; 1 << 20]).dripping(1, Duration::from_mins(1));
    api.always(drip);
    let source = "module.exports = async (prompt, { vars }) => {\n  \
        const signal = AbortSignal.timeout(200);\n  \
        if (prompt === 'say late') return fetch(vars.base, { signal }).catch((e) => e.name);\n  \
        return (await fetch(vars.base + '/large')).text();\n};";
    let run = run(&config(&api, &["late", "large"])).file("ask.js", source);
    let finished = evaluated(run, &[]);
    let rows = rows(&finished);
    assert_eq!(rows[0]["response"]["output"], "TimeoutError", "{}", rows[0]);
    let error = rows[1]["error"].as_str().unwrap_or_default();
    assert!(error.contains("is larger than 33554432 bytes"), "{error}");
}

#[test]
fn an_interrupt_lets_a_request_end_and_begins_no_other() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("late").behind(&gate));
    let source = "module.exports = async (p, { vars }) => {\n  \
        await fetch(vars.base + '/1');\n  await fetch(vars.base + '/2');\n  return 'both';\n};";
    let running = run(&config(&api, &["one", "two"]))
        .file("ask.js", source)
        .args(["eval", "--no-table", "-o", "out.json", "-j", "1"])
        .start();
    api.wait_until(|view| view.in_flight == 1);
    running.interrupt();
    running.wait_for_stderr("Ctrl-C");
    gate.open();
    running.finish().expect_code(130);
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn a_hook_puts_no_other_words_in_the_place_of_code_that_may_send() {
    let api = ModelApi::start();
    let hook = "export const beforeEach = (context) => {\n  \
        context.test.assert[0].value = 'fetch(context.vars.base)';\n  return context;\n};";
    let mut config = config(&api, &["one"]);
    config["providers"] = json!(["echo"]);
    config["extensions"] = json!(["file://hook.mjs:beforeEach"]);
    let value = format!("await fetch('{}/x'); true", origin(&api));
    config["tests"][0]["assert"] = json!([{ "type": "javascript", "value": value }]);
    let finished = evaluated(run(&config).file("hook.mjs", hook), &[]);
    let why = "code that may send requests can't be changed here";
    assert!(error(&finished).contains(why), "{}", error(&finished));
    assert_eq!(api.requests().len(), 0);
}
