//! Code of configs, run as a user runs it: what it gets, what its results mean, and what it can't
//! do.

mod programs;
mod typescript;

use std::fmt::Write as _;

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}

/// One echo of `prompt` with these lines of YAML under the test.
fn test_of(prompt: &str, lines: &str) -> Run {
    let lines = lines.replace('\n', "\n    ");
    Run::new().config(&format!(
        "runtime: sandbox\nprompts: ['{prompt}']\nproviders: [echo]\ntests:\n  - vars: {{ word: seven }}\n    {lines}\n"
    ))
}

fn evaluated(run: Run) -> Finished {
    run.args(["eval", "-o", "out.json", "--no-table"]).finish()
}

/// The one row's components.
fn components(run: Run) -> Vec<Value> {
    let finished = evaluated(run);
    let rows = rows(&finished);
    let graded = rows[0]["gradingResult"]["componentResults"].as_array();
    graded
        .unwrap_or_else(|| panic!("not graded: {}", rows[0]))
        .clone()
}

#[test]
fn inline_assertions_give_verdicts_scores_and_grades() {
    // (the lines of an assertion) → (pass, score)
    let cases = [
        ("value: output === 'say seven'", (true, 1.0)),
        ("value: output.length > 100;", (false, 0.0)),
        ("value: \"const n = output.length; n === 9\"", (true, 1.0)),
        ("value: output.includes('{{word}}')", (true, 1.0)),
        ("value: output.length / 10", (true, 0.9)),
        ("value: output.length / 10\n  threshold: 0.95", (false, 0.9)),
        (
            "value: |\n    const n = output.length\n    return n > 3",
            (true, 1.0),
        ),
        ("value: |\n    output.length === 9\n", (true, 1.0)),
        (
            "value: \"({ pass: true, score: 0.5, reason: 'so so' })\"",
            (true, 0.5),
        ),
        (
            "value: context.vars.word === 'seven' && context.prompt === output",
            (true, 1.0),
        ),
        (
            "value: context.config.most > output.length\n  config: { most: 10 }",
            (true, 1.0),
        ),
        (
            "value: context.provider.id === 'echo' && context.providerResponse.output === output && context.test.vars.word === 'seven'",
            (true, 1.0),
        ),
        ("value: Promise.resolve(true)", (true, 1.0)),
        ("value: undefined", (false, 0.0)),
        ("value: NaN", (false, 0.0)),
        ("value: output.nothing.at.all", (false, 0.0)),
    ];
    let assertions = cases.iter().fold(String::new(), |mut yaml, (lines, _)| {
        writeln!(yaml, "- type: javascript\n  {lines}").expect("a string takes everything");
        yaml
    });
    let list = format!("assert:\n  {}", assertions.trim_end().replace('\n', "\n  "));
    let components = components(test_of("say {{word}}", &list));
    for ((lines, expected), component) in cases.iter().zip(&components) {
        let got = (component["pass"].as_bool(), component["score"].as_f64());
        assert_eq!(
            got,
            (Some(expected.0), Some(expected.1)),
            "{lines}: {component}"
        );
        assert!(component["errorCode"].is_null(), "{component}");
    }
    let reason = |index: usize| components[index]["reason"].as_str().unwrap_or_default();
    assert_eq!(reason(8), "so so");
    let thrown = cases.len() - 1;
    assert!(reason(thrown).contains("TypeError"), "{}", reason(thrown));
    assert!(
        reason(thrown).contains("tests[0].assert["),
        "{}",
        reason(thrown)
    );
}

#[test]
fn not_javascript_turns_the_verdict_and_leaves_the_score() {
    let components = components(test_of(
        "say {{word}}",
        "assert:\n  - { type: not-javascript, value: 'output === 1' }\n  - { type: not-javascript, value: '0.25' }\n  - { type: not-javascript, value: '0.25', threshold: 0.5 }",
    ));
    let got: Vec<_> = components
        .iter()
        .map(|it| (it["pass"] == true, it["score"].as_f64()))
        .collect();
    assert_eq!(
        got,
        [(true, Some(1.0)), (false, Some(0.25)), (true, Some(0.25))]
    );
}

#[test]
fn named_scores_and_parts_of_a_grade_are_kept() {
    let finished = evaluated(test_of(
        "say {{word}}",
        "assert:\n  - type: javascript\n    value: \"({ pass: true, score: 1, reason: 'r', namedScores: { tone: 0.25 }, componentResults: [{ pass: false, score: 0, reason: 'p' }] })\"",
    ));
    finished.expect_code(0);
    let rows = rows(&finished);
    assert_eq!(rows[0]["namedScores"], json!({"tone": 0.25}));
    let part = &rows[0]["gradingResult"]["componentResults"][0]["parts"][0];
    assert_eq!(
        (&part["reason"], &part["pass"]),
        (&json!("p"), &json!(false))
    );
}

#[test]
fn a_file_grades_with_what_it_imports() {
    let run = test_of(
        "say {{word}}",
        "assert:\n  - { type: javascript, value: file://checks/grade.js }\n  - { type: javascript, value: 'file://checks/grade.js:short' }\n  - { type: contains, value: 'file://checks/grade.js:wanted' }",
    )
    .file(
        "checks/grade.js",
        "const { least } = require('../lib/limits.json');\nconst shout = require('../lib/shout').default;\n\
         module.exports = (output, context) => ({ pass: output.length >= least, score: 0.5, reason: shout(context.vars.word) });\n\
         module.exports.short = (output) => output.length < least;\n\
         module.exports.wanted = (output, context) => context.vars.word;\n",
    )
    .file("lib/limits.json", "{ \"least\": 5 }")
    .file("lib/shout.mjs", "export default (text) => text.toUpperCase()");
    let components = components(run);
    let got: Vec<_> = components
        .iter()
        .map(|it| (it["pass"] == true, it["score"].as_f64()))
        .collect();
    assert_eq!(
        got,
        [(true, Some(0.5)), (false, Some(0.0)), (true, Some(1.0))],
        "{components:?}"
    );
    assert_eq!(components[0]["reason"], "SEVEN");
    assert_eq!(components[2]["metadata"]["renderedAssertionValue"], "seven");
}

#[test]
fn transforms_run_in_order_and_what_they_make_is_graded() {
    let run = Run::new()
        .config(
            "prompts: ['{\"n\": {{n}}}']\n\
             providers: [{ id: echo, transform: JSON.parse(output) }]\n\
             defaultTest: { options: { transform: 'file://t.js:twice' } }\n\
             tests:\n\
             \x20 - vars: { n: 3 }\n\
             \x20   assert:\n\
             \x20     - { type: equals, value: { n: 6, word: '3' } }\n\
             \x20     - { type: equals, transform: 'output.n + context.vars.n', value: '9' }\n\
             \x20     - { type: javascript, value: output.n === 6 }\n\
             \x20 - vars: { n: 4 }\n\
             \x20   options: { transform: 'String(output.n)' }\n\
             \x20   assert: [{ type: equals, value: '4' }]\n",
        )
        .file(
            "t.js",
            "export const twice = (output, { vars }) => ({ n: 2 * output.n, word: `${vars.n}` });",
        );
    let finished = evaluated(run);
    finished.expect_code(0);
    let rows = rows(&finished);
    assert_eq!(rows[0]["response"]["output"], json!({"n": 6, "word": "3"}));
    assert_eq!(rows[1]["response"]["output"], "4");
}

#[test]
fn a_transform_that_fails_is_an_error_of_its_row_which_keeps_the_answer() {
    let finished = evaluated(
        Run::new().config(
            "prompts: ['say {{word}}']\nproviders: [echo]\ntests:\n\
             \x20 - { vars: { word: a }, options: { transform: output.x.y } }\n\
             \x20 - { vars: { word: b }, options: { transform: undefined } }\n\
             \x20 - { vars: { word: c }, assert: [{ type: equals, value: x, transform: 'null' }, { type: contains, value: c }] }\n\
             \x20 - { vars: { word: d } }\n",
        ),
    );
    let rows = rows(&finished);
    let said = |row: usize| rows[row]["error"].as_str().unwrap_or_default().to_owned();
    for (row, output) in [(0, "say a"), (1, "say b"), (2, "say c")] {
        assert_eq!(rows[row]["response"]["output"], output);
        assert_eq!(rows[row]["outcome"], "error", "{}", rows[row]);
        assert_eq!(rows[row]["errorCode"], "script");
    }
    assert!(
        said(0).starts_with("tests[0].options.transform: TypeError"),
        "{}",
        said(0)
    );
    assert_eq!(
        said(1),
        "tests[1].options.transform: the code gave no value"
    );
    // The other assertion was graded all the same.
    let graded = &rows[2]["gradingResult"]["componentResults"];
    assert_eq!(
        (&graded[0]["errorCode"], &graded[1]["pass"]),
        (&json!("script"), &json!(true))
    );
    assert_eq!(rows[3]["outcome"], "passed");
}

#[test]
fn variables_and_prompts_are_made_by_code() {
    let run = Run::new()
        .config(
            "prompts:\n\
             \x20 - 'file://p.js:chat'\n\
             \x20 - { id: file://p.js, label: made }\n\
             providers: [echo]\n\
             tests:\n\
             \x20 - vars: { word: seven, n: 7 }\n\
             \x20   options: { transformVars: '({ ...vars, double: 2 * vars.n })' }\n",
        )
        .file(
            "p.js",
            "exports.chat = ({ vars, provider }) => [{ role: 'user', content: `${vars.double} ${provider.id} {{word}}` }];\n\
             exports.default = async ({ vars }) => ({ prompt: 'just {{ word }}', config: { seen: vars.n } });\n",
        );
    let finished = evaluated(run);
    finished.expect_code(0);
    let rows = rows(&finished);
    let sent: Value =
        serde_json::from_str(rows[0]["prompt"]["raw"].as_str().expect("a text")).expect("a chat");
    assert_eq!(
        sent,
        json!([{ "role": "user", "content": "14 echo seven" }])
    );
    assert_eq!(rows[1]["prompt"]["raw"], "just seven");
    assert_eq!(rows[1]["prompt"]["label"], "made");
    assert_eq!(
        rows[0]["vars"],
        json!({ "word": "seven", "n": 7, "double": 14 })
    );
}

#[test]
fn a_variable_can_be_a_file_of_code() {
    let finished = evaluated(
        Run::new()
            .config(
                "prompts: ['{{a}}, {{b}}']\nproviders: [echo]\ntests:\n\
                 \x20 - vars: { a: file://v.js, b: 'from {{ a }}', n: 2 }\n\
                 \x20   options: { transformVars: '({ seen: vars.a })' }\n\
                 \x20 - vars: { a: 'file://v.js:none', b: 1 }\n",
            )
            .file(
                "v.js",
                "module.exports = (name, prompt, vars, provider) => ({ output: `${name} ${vars.n} ${provider.id}` });\n\
                 module.exports.none = () => ({ error: 'there is none' });",
            ),
    );
    let rows = rows(&finished);
    assert_eq!(rows[0]["prompt"]["raw"], "a 2 echo, from a 2 echo");
    assert_eq!(rows[0]["vars"]["seen"], "a 2 echo");
    let said = rows[1]["error"].as_str().unwrap_or_default();
    assert_eq!(said, "tests[1].vars.a: the code says: there is none");
}

#[test]
fn code_that_makes_no_prompt_or_variables_is_an_error_of_its_row() {
    let finished = evaluated(
        Run::new()
            .config(
                "prompts: [file://p.js, '{{n}}']\nproviders: [echo]\ntests:\n\
                 \x20 - { vars: { n: 1 } }\n\
                 \x20 - { vars: { n: 2 }, options: { transformVars: '[1]' } }\n",
            )
            .file("p.js", "module.exports = () => 5"),
    );
    let rows = rows(&finished);
    let said = |row: usize| rows[row]["error"].as_str().unwrap_or_default();
    assert!(
        said(0).starts_with("prompts[0]: the code must give a prompt"),
        "{}",
        said(0)
    );
    assert_eq!(rows[1]["outcome"], "passed");
    assert!(
        said(3).contains("transformVars: the code must give an object of variables, not a list"),
        "{}",
        said(3)
    );
}

#[test]
fn a_scoring_function_makes_the_grade() {
    let run = Run::new()
        .config(
            "prompts: ['{{n}}']\nproviders: [echo]\n\
             defaultTest: { assertScoringFunction: 'file://s.js:score', threshold: 0.5, assert: [{ type: javascript, value: Number(output), metric: size }, { type: equals, value: none }] }\n\
             tests: [{ vars: { n: '0.75' } }, { vars: { n: '0.25' } }, { vars: { n: '0' }, assertScoringFunction: file://bad.js }]\n",
        )
        .file(
            "s.js",
            "export const score = (scores, { threshold, componentResults }) => ({ pass: scores.size >= threshold, score: scores.size / 3, reason: `${componentResults.length} parts` });",
        )
        .file("bad.js", "module.exports = () => { throw new Error('no') }");
    let finished = evaluated(run);
    let rows = rows(&finished);
    let got: Vec<_> = rows
        .iter()
        .map(|row| (row["success"] == true, row["score"].as_f64()))
        .collect();
    assert_eq!(
        got,
        [
            (true, Some(0.25)),
            (false, Some(0.25 / 3.0)),
            (false, Some(0.0))
        ]
    );
    assert_eq!(rows[0]["gradingResult"]["reason"], "2 parts");
    assert_eq!(rows[2]["outcome"], "failed");
    assert!(
        rows[2]["error"]
            .as_str()
            .is_some_and(|why| why.contains("Error: no"))
    );
}

#[test]
fn a_context_transform_gives_the_grader_its_context() {
    let api = ModelApi::start();
    api.script([
        Answer::text(r#"{"docs": ["Paris is the capital of France."], "answer": "Paris"}"#),
        Answer::text("Paris is the capital of France. [Attributed]"),
    ]);
    let finished = evaluated(
        Run::new()
            .config(
                "prompts: ['{{query}}']\nproviders: [openai:m]\ntests:\n\
                 \x20 - vars: { query: capital }\n\
                 \x20   options: { transform: JSON.parse(output), provider: openai:m }\n\
                 \x20   assert: [{ type: context-recall, value: Paris, contextTransform: output.docs }]\n",
            )
            .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
            .env("OPENAI_BASE_URL", format!("{}/v1", api.url())),
    );
    finished.expect_code(0);
    let asked = api.requests()[1].json.to_string();
    assert!(asked.contains("Paris is the capital of France."), "{asked}");
    assert!(!asked.contains("docs"), "{asked}");
}

/// Code that does nothing bad, after all the other.
const FINE: &str = "output === 'say seven'";

/// Code, how it errs where it gives no grade, words of the reason.
const HOSTILE: [(&str, Option<&str>, &str); 12] = [
    ("process.env.HOME", Some("script"), "`process.env"),
    (
        "require('fs').readFileSync('/etc/passwd')",
        Some("script"),
        "require('fs')",
    ),
    ("fetch('http://127.0.0.1/')", Some("script"), "`fetch`"),
    ("(() => { for (;;) {} })()", Some("C103"), "CPU"),
    (
        "(() => { const all = []; for (;;) all.push(new Array(1e6).fill(1)); })()",
        None,
        "memory",
    ),
    ("'x'.repeat(50e6)", Some("C103"), ""),
    (
        "(() => { const f = () => f() + 1; return f(); })()",
        None,
        "RangeError",
    ),
    (
        "(Object.prototype.pass = true, Object.prototype.score = 1, Object.prototype.reason = 'r', {})",
        None,
        "`pass` is missing",
    ),
    (
        "({ __proto__: { pass: true }, score: 1, reason: '' })",
        None,
        "`pass` is missing",
    ),
    ("new Promise(() => {})", None, "promise"),
    (
        "(() => { throw { toString() { throw 1 } } })()",
        None,
        "the code failed",
    ),
    (FINE, None, ""),
];

/// Each costs its own component, and says what happened.
#[test]
fn hostile_code_harms_nothing_and_is_explained() {
    let assertions: Vec<Value> = HOSTILE
        .iter()
        .map(|(code, ..)| json!({ "type": "javascript", "value": code }))
        .collect();
    let list = format!("assert: {}", Value::from(assertions));
    let finished = evaluated(test_of("say {{word}}", &list).env("HOME", "/root/of/all"));
    let rows = rows(&finished);
    let components = rows[0]["gradingResult"]["componentResults"]
        .as_array()
        .expect("graded");
    for ((code, error, words), component) in HOSTILE.iter().zip(components) {
        let reason = component["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(words), "{code}: {component}");
        assert_eq!(
            component["errorCode"].as_str(),
            *error,
            "{code}: {component}"
        );
        let is_fine = *code == FINE;
        assert_eq!(component["pass"] == true, is_fine, "{code}: {component}");
    }
    assert!(!finished.read("out.json").contains("/root/of/all"));
    assert_eq!(rows[0]["response"]["output"], "say seven");
    // A limit that is broken is no grade, and neither is code that lacks what it needs.
    assert_eq!(rows[0]["outcome"], "error");
}

#[test]
fn code_that_changes_makes_another_case() {
    let run = test_of(
        "say {{word}}",
        "assert: [{ type: javascript, value: file://a.js }]",
    )
    .file("a.js", "module.exports = require('./b.js')")
    .file("b.js", "module.exports = () => true");
    let first = evaluated(run);
    first.expect_code(0);
    let mut words = first.stdout.split_whitespace();
    let id = words
        .find(|word| word.starts_with("run-"))
        .expect("the summary names the run")
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_owned();
    let resume = |run: Run| run.args(["eval", "--resume", &id, "--no-table"]).finish();
    let same = resume(first.again());
    same.expect_code(0);
    let changed = resume(first.again().file("b.js", "module.exports = () => false"));
    assert_snapshot!(changed.told());
}
