//! What is run only after that was agreed to.

use super::{lines, on_this_machine, outputs, rows, trusted};

/// Agreeing to a program starts none: what it makes is asked for by who agrees once more.
#[test]
fn yes_starts_no_program_that_was_not_agreed_to_before() {
    let first = on_this_machine()
        .file(
            "tests.py",
            "import socket\nopen('started', 'w').write('yes\\n')\ndef generate_tests(): return [{'vars': {'x': 1}}]\n",
        )
        .config("prompts: ['{{x}}']\nproviders: [echo]\ntests: file://tests.py")
        .args(["trust", "--yes"])
        .finish();
    first.expect_code(2);
    let said = &first.stderr;
    assert!(
        said.starts_with(
            "error: what else is asked for is known once it has run; agreed to so far:\n"
        ),
        "{said}"
    );
    assert!(lines(&first, "started").is_empty());
    first
        .again()
        .args(["trust", "--yes"])
        .finish()
        .expect_code(0);
    assert_eq!(lines(&first, "started"), ["yes"]);
}

/// The file may say something else after it was vouched for, and nobody is asked about Node.js again.
#[test]
fn code_in_rows_stays_in_the_sandbox_whatever_vouches_for_it() {
    let value =
        "({ pass: true, score: 1, reason: typeof process + require('os').userInfo().username })";
    let row = serde_json::json!({ "assert": [{ "type": "javascript", "value": value }] });
    let run = trusted()
        .file("own.mjs", "import fs from 'node:fs'; export default () => ({ output: 'a' })")
        .file("rows.jsonl", row.to_string())
        .config("prompts: [p]\nproviders: [file://own.mjs]\ntests: [{ path: file://rows.jsonl, trust: config }]");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    let row = &rows(&finished)[0];
    assert_eq!(row["success"], false, "{row}");
    let made = "export const beforeAll = (context) => {\n  context.suite.tests = [TEST];\n  context.suite.defaultTest = TEST;\n  return context;\n};";
    let test = serde_json::json!({ "vars": { "x": 1 }, "assert": [{ "type": "javascript", "value": value }] });
    let run = finished
        .again()
        .file("hook.mjs", made.replace("TEST", &test.to_string()))
        .config("prompts: [p]\nproviders: [file://own.mjs]\nextensions: [file://hook.mjs:beforeAll]\ntests: [{ vars: { x: 2 } }]");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    let rows = rows(&finished);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["success"], false, "{}", rows[0]);
    assert_eq!(outputs(&finished), ["a"]);
    // Nor does a hook put other words in the place of code that was let out.
    let hook = "export const beforeEach = (context) => {\n  context.test.assert[0].value = \"require('fs') && true\";\n  return context;\n};";
    let run = finished
        .again()
        .file("hook.mjs", hook)
        .config("prompts: [p]\nproviders: [file://own.mjs]\nextensions: [file://hook.mjs:beforeEach]\ntests: [{ assert: [{ type: javascript, value: \"require('fs') && false\" }] }]");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    let error = &self::rows(&finished)[0]["error"];
    let why = "code outside the sandbox can't be changed here";
    assert!(
        error.as_str().is_some_and(|error| error.contains(why)),
        "{error}"
    );
}

/// Its arguments would be the row's: any file, any command.
#[test]
fn texts_of_rows_call_no_filter_that_runs_outside_the_sandbox() {
    let slurp = "import fs from 'node:fs';\nexport default (name) => fs.readFileSync(name, 'utf8').trim();\n";
    let row = |fields: serde_json::Value| fields.to_string() + "\n";
    let config = "prompts: [\"{{ 'greet.txt' | slurp }} {{q}}\"]\nproviders: [echo]\n\
                  nunjucksFilters: { slurp: file://slurp.mjs, up: file://up.js }\ntests: [file://rows.jsonl, { vars: file://v.json }, { vars: { q: file://doc.txt } }, { vars: { q: '{{d}}', d: file://doc.txt } }]\n";
    let finished = trusted()
        .file("slurp.mjs", slurp)
        .file("up.js", "module.exports = (text) => text.toUpperCase();\n")
        .file("greet.txt", "hello")
        .file("private.txt", "private-text")
        .file("v.json", r#"{"q":"{{ 'private.txt' | slurp }}"}"#)
        .file("doc.txt", "{{ 'private.txt' | slurp }}")
        .file(
            "rows.jsonl",
            row(serde_json::json!({ "vars": { "q": "{{ 'private.txt' | slurp }}" } }))
                + &row(serde_json::json!({ "vars": { "q": "{{ 'small' | up }}" } }))
                + &row(serde_json::json!({
                    "vars": { "q": 1 },
                    "assert": [{ "type": "contains", "value": "{{ 'private.txt' | slurp }}" }],
                })),
        )
        .config(config)
        .args(["eval", "-o", "out.json", "--no-table"])
        .finish();
    let outputs = outputs(&finished);
    let unfilled = "hello {{ 'private.txt' | slurp }}";
    assert_eq!(outputs[..2], [unfilled, "hello SMALL"]);
    assert_eq!(outputs[3..], [unfilled; 3]);
    let told = finished.told();
    assert!(!(told.clone() + &finished.read("out.json")).contains("private-text"));
    let said = "there is no filter 'slurp' that data files may use";
    assert!(told.contains(said), "{told}");
}

#[test]
fn what_code_makes_of_a_document_calls_no_filter_that_runs_outside_the_sandbox() {
    let finished = trusted()
        .file("slurp.mjs", "import fs from 'node:fs';\nexport default (name) => fs.readFileSync(name, 'utf8').trim();\n")
        .file("private.txt", "private-text")
        .file("doc.txt", "{{ 'private.txt' | slurp }}")
        .file("p.js", "module.exports = ({ vars }) => `Read ${vars.d} and {{ own }}`;\n")
        .file("h.js", "exports.beforeEach = (context) => { context.test.options = { suffix: context.test.vars.d }; return context; };\n")
        .config(
            "prompts: [file://p.js, say]\nproviders: [echo]\nextensions: [file://h.js:beforeEach]\n\
             nunjucksFilters: { slurp: file://slurp.mjs }\n\
             tests: [{ vars: { own: mine, d: file://doc.txt } }]\n",
        )
        .args(["eval", "-o", "out.json", "--no-table"])
        .finish();
    let told = finished.told() + &finished.read("out.json");
    assert!(!told.contains("private-text"), "{told}");
    let rows = rows(&finished);
    let output = rows[0]["response"]["output"].as_str().unwrap_or_default();
    assert!(
        output.starts_with("Read {{ 'private.txt' | slurp }} and"),
        "{output}"
    );
}

#[test]
fn a_hook_that_makes_no_text_takes_no_filter_from_the_config() {
    let finished = trusted()
        .file("slurp.mjs", "import fs from 'node:fs';\nexport default (name) => fs.readFileSync(name, 'utf8').trim();\n")
        .file("greet.txt", "hello")
        .file("doc.txt", "hello")
        .file("h.js", "exports.beforeEach = (context) => { context.test.metadata = { seen: true }; return context; };\n")
        .config(
            "prompts: ['{{d}}']\nproviders: [echo]\nextensions: [file://h.js:beforeEach]\n\
             nunjucksFilters: { slurp: file://slurp.mjs }\n\
             tests: [{ vars: { d: file://doc.txt }, assert: [{ type: equals, value: \"{{ 'greet.txt' | slurp }}\" }] }]\n",
        )
        .args(["eval", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(0);
}
