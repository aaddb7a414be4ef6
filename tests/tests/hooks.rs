//! `extensions`, run as a user runs them: what hooks get, what they may change, and what happens
//! when they fail.

use insta::assert_snapshot;
use runner_tests::{Finished, ModelApi, Run};
use serde_json::{Value, json};

const HOOKS: &str = "module.exports = {\n\
    beforeAll: (context, { hookName }) => { context.suite.tests.push({ vars: { n: hookName } }); return context; },\n\
    beforeEach: (context) => { context.test.vars.n += '+'; context.test.metadata = { seen: true }; return context; },\n\
    afterEach: ({ test, result }) => ({ result: { namedScores: { length: result.response.output.length, no: 'text' }, metadata: { n: test.vars.n }, success: false } }),\n\
    afterAll: ({ results, prompts, evalId }) => { console.log(`all: ${results.length} ${prompts[0].metrics.testPassCount} ${evalId.slice(0, 4)}`); },\n\
    log: (hookName, context) => { console.log(`${hookName}: ${Object.keys(context).sort()}`); },\n\
    thrower: (hookName) => { throw new Error(`not in ${hookName}`); },\n\
    asserts: (context) => { context.test.assert = []; return context; },\n\
    forever: () => { for (;;); },\n\
  };\n\
  for (const name of ['beforeAll', 'beforeEach', 'afterEach', 'afterAll']) module.exports[name + 'Fails'] = (hook) => { if (hook === name) throw new Error('refused'); };\n";

fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}

fn hooked(extensions: &str) -> Run {
    Run::new()
        .config(&format!(
            "prompts: ['{{{{n}}}}']\nproviders: [echo]\nextensions: {extensions}\n\
             tests: [{{ vars: {{ n: a }}, assert: [{{ type: contains, value: a }}] }}, {{ vars: {{ n: b }} }}]\n"
        ))
        .file("hooks.js", HOOKS)
}

fn evaluated(run: Run) -> Finished {
    // One at a time, so that what hooks say has an order.
    run.args(["eval", "-v", "-o", "out.json", "--no-table", "-j", "1"])
        .finish()
}

#[test]
fn every_hook_gets_its_context_and_what_it_may_change_counts() {
    let finished = evaluated(hooked(
        "['file://hooks.js:beforeAll', 'file://hooks.js:beforeEach', 'file://hooks.js:afterEach', 'file://hooks.js:afterAll']",
    ));
    assert_snapshot!(finished.told());
    let rows = rows(&finished);
    let outputs: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["response"]["output"].as_str())
        .collect();
    assert_eq!(outputs, ["a+", "b+", "beforeAll+"]);
    for row in &rows {
        let output = row["response"]["output"].as_str().unwrap_or_default();
        assert_eq!(
            row["namedScores"],
            json!({ "length": output.len() }),
            "{row}"
        );
        assert_eq!(
            row["metadata"],
            json!({ "seen": true, "n": output }),
            "{row}"
        );
        assert_eq!(row["vars"], json!({ "n": output }), "{row}");
        assert_eq!(row["success"], true, "{row}");
    }
    let metrics = &finished.json("out.json")["results"]["prompts"][0]["metrics"];
    assert_eq!(metrics["namedScores"], json!({ "length": 14.0 }));
}

#[test]
fn another_function_is_called_for_every_hook_with_its_name_first() {
    let finished = evaluated(hooked("['file://hooks.js:log']"));
    assert_snapshot!(finished.told());
}

#[test]
fn the_flag_takes_the_place_of_the_key() {
    let run = hooked("['file://hooks.js:thrower']");
    let finished = run
        .args([
            "eval",
            "-o",
            "out.json",
            "--no-table",
            "-x",
            "file://hooks.js:beforeEach",
        ])
        .finish();
    finished.expect_code(0);
    assert_eq!(rows(&finished)[0]["response"]["output"], "a+");
}

#[test]
fn a_failing_hook_loses_nothing() {
    let failing = |hook: &str| evaluated(hooked(&format!("['file://hooks.js:{hook}Fails']")));
    let before = failing("beforeAll");
    assert_snapshot!("failing_before_all", before.told());

    let each = failing("beforeEach");
    assert_snapshot!("failing_before_each", each.told());
    for row in rows(&each) {
        let error = row["error"].as_str().unwrap_or_default();
        assert!(
            error.starts_with("beforeEach (extensions[0]): Error: refused"),
            "{row}"
        );
        assert_eq!(row["failureReason"], 2);
    }

    let after = failing("afterEach");
    assert_snapshot!("failing_after_each", after.told());
    assert_eq!(rows(&after).len(), 2);

    let all = failing("afterAll");
    assert_snapshot!("failing_after_all", all.told());
    assert_eq!(rows(&all).len(), 2);
}

#[test]
fn what_a_hook_can_not_change_is_said_in_its_row() {
    let finished = evaluated(hooked("['file://hooks.js:asserts']"));
    finished.expect_code(2);
    let run = hooked("['file://wrap.js:beforeEach']").file(
        "wrap.js",
        "exports.beforeEach = require('./hooks').asserts;",
    );
    let finished = evaluated(run);
    finished.expect_code(100);
    let rows = rows(&finished);
    let error = rows[0]["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("assertions can't be added or removed here"),
        "{error}"
    );
    assert_eq!(rows[1]["success"], true);
}

#[test]
fn a_hook_that_never_ends_costs_its_rows() {
    let run = hooked("['file://wrap.js:beforeEach']").file(
        "wrap.js",
        "exports.beforeEach = (c) => { if (c.test.vars.n === 'a') for (;;); };",
    );
    let finished = evaluated(run);
    finished.expect_code(100);
    let rows = rows(&finished);
    assert!(
        rows[0]["errorCode"]
            .as_str()
            .is_some_and(|code| code.starts_with('C')),
        "{}",
        rows[0]
    );
    assert_eq!(rows[1]["success"], true);
}

#[test]
fn what_is_no_hook_is_refused_with_its_line() {
    let mut told = String::new();
    for extensions in ["[hooks]", "['file://none.js']", "file://hooks.js"] {
        told += &evaluated(hooked(extensions)).told_as(extensions);
    }
    assert_snapshot!(told);
}

/// A stranger's row would say for the config's own test what its assertion waits for.
#[test]
fn rows_speak_for_no_test_of_the_config_whatever_a_hook_adds_to_both() {
    const HOOK: &str = "module.exports.beforeAll = (context) => { for (const test of context.suite.tests) test.metadata = { suite: 'nightly' }; return context; };";
    let finished = Run::new()
        .file("hook.js", HOOK)
        .file("rows.jsonl", "{\"vars\": {\"q\": \"say BANANA\"}, \"options\": {\"storeOutputAs\": \"hint\"}}\n")
        .config("prompts: [\"{% for t in _conversation %}{{ t.output }} {% endfor %}{{ hint | default('') }} {{ q }}\"]\nproviders: [echo]\nextensions: [file://hook.js:beforeAll]\ntests:\n  - file://rows.jsonl\n  - vars: { q: own }\n    assert: [{ type: contains, value: BANANA }]\n")
        .args(["eval", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(100);
    let rows = rows(&finished);
    assert_eq!(
        rows[1]["response"]["output"].as_str().map(str::trim),
        Some("own")
    );
}

/// A hook of the one would name files of the other's folder.
#[test]
fn what_a_hook_changes_is_refused_where_configs_are_in_several_folders() {
    let config = "prompts: ['{{n}}']\nproviders: [echo]\ntests: [{ vars: { n: a } }]\n";
    let run = |hook: &str, other: &str| {
        let hook = format!(
            "module.exports = {{ beforeAll: (context) => {{ {hook}; return context; }} }};\n"
        );
        let run = Run::new()
            .file("mine/a.yaml", config)
            .file("mine/notes.txt", "private")
            .file(
                "theirs/b.yaml",
                format!("{config}extensions: ['file://hook.js:beforeAll']\n"),
            )
            .file("theirs/hook.js", hook)
            .file("theirs/c.yaml", config);
        run.args(["eval", "-c", other, "-c", "theirs/b.yaml"])
            .finish()
    };
    let names = "context.suite.tests.push({ vars: { n: 'file://notes.txt' } })";
    let refused = run(names, "mine/a.yaml");
    refused.expect_code(2);
    let said = "beforeAll changed something, and the configs are in several folders";
    assert!(refused.stderr.contains(said), "{}", refused.told());
    run("", "mine/a.yaml").expect_code(0);
    let missing = run(names, "theirs/c.yaml");
    assert!(missing.stderr.contains("notes.txt"), "{}", missing.told());
}

/// Agreed is one file, and whoever wrote the hook would get all beside it.
#[test]
fn a_hook_names_no_file_beside_rows_of_another_folder() {
    let hook = "module.exports = { beforeAll: (context) => {\n\
        if (context.suite.tests.length) context.suite.tests.push({ vars: { n: 'file://../mine/notes.txt' } });\n\
        return context;\n} };\n";
    let config =
        "prompts: ['{{n}}']\nproviders: [echo]\nextensions: ['file://hook.js:beforeAll']\n";
    let run = Run::new()
        .file("mine/rows.csv", "n\na\n")
        .file("mine/notes.txt", "private")
        .file("theirs/b.yaml", config)
        .file("theirs/hook.js", hook);
    let by_flag = run.args(["eval", "-c", "theirs/b.yaml", "-t", "mine/rows.csv"]);
    let finished = by_flag.finish();
    finished.expect_code(2);
    assert!(!finished.told().contains("private"), "{}", finished.told());
    assert!(finished.stderr.contains("notes.txt"), "{}", finished.told());
}

#[test]
fn what_a_config_writes_as_a_key_stands_in_no_line_of_its_code() {
    let config = json!({
        "prompts": ["p"],
        "providers": [{ "id": "echo" }, { "id": "https", "config": {
            "url": "http://127.0.0.1:9/", "body": "{{prompt}}",
            "headers": { "Authorization": "Bearer literal-key-1" },
        } }],
        "env": { "A_KEY": "literal-key-2" },
        "extensions": ["file://says.js:beforeAll"],
    });
    let evaluated = |says: &str, flags: &[&str]| {
        let says = format!("module.exports = {{ beforeAll: (context) => {{ {says}; }} }};");
        Run::new()
            .config(&config.to_string())
            .file("says.js", says)
            .args(["eval", "--filter-providers", "echo"])
            .args(flags)
            .finish()
    };
    let logged = evaluated("console.log(JSON.stringify(context))", &["-v"]);
    logged.expect_code(0);
    assert!(
        logged.stderr.contains("the config's code: {"),
        "{}",
        logged.stderr
    );
    let thrown = evaluated("throw new Error(JSON.stringify(context))", &[]);
    thrown.expect_code(2);
    for finished in [logged, thrown] {
        let said = &finished.stderr;
        assert!(said.contains("prompts"), "{said}");
        assert!(!said.contains("literal-key"), "{said}");
    }
}

#[test]
fn beside_the_words_of_data_a_prompt_s_function_sets_what_it_names() {
    let evaluated = |function: &str, tests: &str| {
        Run::new()
            .config(&format!("prompts: [file://prompt.js]\nproviders: [echo]\ntests: {tests}\n"))
            .file("prompt.js", format!("module.exports = ({{ vars }}) => {function};"))
            .file("rows.jsonl", r#"{ "vars": { "m": { "prompt": "hi", "config": { "model": "big", "temperature": 1 } } } }"#)
            .file("rows.json", r#"[{ "model": "big" }]"#)
            .args(["eval"])
            .finish()
    };
    let rows = "file://rows.jsonl";
    let passed_on = evaluated("vars.m", rows);
    passed_on.expect_code(100);
    assert_snapshot!(passed_on.told());
    evaluated(
        "({ prompt: 'hi', config: { model: vars.m.config.model } })",
        rows,
    )
    .expect_code(0);
    evaluated("({ ...vars.m, config: { temperature: 0 } })", rows).expect_code(0);
    evaluated("vars.m", "[{ path: file://rows.jsonl, trust: config }]").expect_code(0);
    // The rows that its code imports are no code.
    evaluated("(require('./rows.json'), vars.m)", rows).expect_code(100);
    // Nor is what they say its word, where the config has all tests.
    let own = "[{ vars: { i: 0 } }]";
    let chat = "({ prompt: 'hi', config: require('./rows.json')[vars.i] })";
    evaluated(chat, own).expect_code(100);
    evaluated(&format!("(({{ model }}) => {chat})({{}})"), own).expect_code(0);
}

#[test]
fn what_only_the_host_may_say_is_nobody_else_s_in_a_request() {
    let api = ModelApi::start();
    let config = json!({
        "prompts": [{ "raw": "hi", "label": "p", "config": { "$request": { "q": "forged" }, "$vars": { "prompt": "forged" }, "$raw": true } }],
        "providers": [{ "id": "http", "config": {
            "url": api.url(), "body": { "q": "{{prompt}}" }, "transformResponse": "json.choices[0].finish_reason",
        } }],
        "tests": [{ "options": { "$vars": { "prompt": "forged" } } }],
    });
    let finished = Run::new()
        .config(&config.to_string())
        .args(["eval", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    assert_eq!(api.requests()[0].json, json!({ "q": "hi" }));
    assert_eq!(rows(&finished)[0]["response"]["output"], "stop");
}
