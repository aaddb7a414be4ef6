//! What is wrong with a config's code, patterns and schemas is told before anything runs: with its
//! place in the user's own file, its line, and everything else that is wrong.

use insta::assert_snapshot;
use runner_tests::{Finished, Run};

fn check(run: Run) -> Finished {
    run.args(["config", "check"]).finish()
}

const BROKEN: &str = r"prompts: ['{{word}}']
providers:
  - echo
  - id: https://api.test.example/chat
    config: { transformResponse: 'json.a +' }
  - id: https://api.test.example/other
    config: { transformResponse: '(json) => {' }
defaultTest:
  options:
    transform: |
      // Two lines above are fine.
      const a = output;
      return a b;
tests:
  - vars: { word: one }
    assert:
      - type: javascript
        value: output.length >
      - type: javascript
        value: |
          const short = output.length < 3;
          if (short) {
            return false
      - { type: javascript, value: 'const output = 1; output' }
      - type: javascript
        value: file://grade.js
      - type: javascript
        value: file://typed.ts
      - type: javascript
        value: >-
          output.length
          > ) 3
  - file://rows.csv
";

#[test]
fn code_that_is_none_is_told_with_its_place() {
    let run = Run::new()
        .config(BROKEN)
        .file("grade.js", "const { ok } = require('./lib');\nmodule.exports = (output) => ok(output);\n")
        .file("lib.js", "exports.ok = (output) => {\n  return output ==;\n};\n")
        .file("typed.ts", "export default (output: string): boolean => {\n  const a: = 1;\n  return true;\n};\n")
        .file(
            "rows.csv",
            "word,__expected\ntwo,\"javascript: f( \"\nthree,fn:output +\nfour,\"javascript: f( \"\n",
        );
    assert_snapshot!(check(run).told());
}

#[test]
fn patterns_schemas_and_lists_that_can_not_be_read_are_told_with_their_place() {
    let config = r#"prompts: ['{{word}}']
providers: [echo]
tests:
  - vars: { word: one }
    assert:
      - { type: regex, value: 'a(b' }
      - { type: not-regex, value: '[z-a]' }
      - { type: regex, value: '{{word}}(' }
      - { type: contains-any, value: 'a, "b' }
      - type: is-json
        value: { type: object, properties: { a: { $ref: '#/definitions/none' } } }
      - type: is-json
        value: { type: object, properties: { a: { type: string, pattern: '(' } } }
      - type: is-json
        value: { properties: { a: { pattern: '{{word}}(' } } }
      - { type: contains-json, value: 'no schema' }
      - { type: similar, value: x, threshold: 80, provider: { embedding: 'openai:embedding:m' } }
      - { type: rouge-n, value: x, threshold: 1.5 }
  - file://rows.csv
"#;
    let run = Run::new()
        .config(config)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .file(
            "rows.csv",
            "word,__expected\ntwo,regex: (\nthree,regex: (\n",
        );
    assert_snapshot!(check(run).told());
}

/// What promptfoo runs is no mistake, and what templates make is known only later.
#[test]
fn code_that_runs_is_no_mistake() {
    let config = r#"prompts: ['{{word}}']
providers: [echo]
defaultTest:
  options:
    transform: 'output.trim()'
    transformVars: '({ ...vars, n: 1 })'
tests:
  - vars: { word: one }
    assert:
      - { type: javascript, value: 'output.length > 2' }
      - { type: javascript, value: 'const a = output.length; a > 2' }
      - { type: javascript, value: 'output === "{{word}}"' }
      - { type: javascript, value: "'{{ word }}' {% if n %} && ((( {% endif %}", weight: 0 }
      - type: javascript
        value: |
          const a = await Promise.resolve(output);
          return { pass: a.length > 2, score: 1, reason: 'fine' };
      - type: javascript
        value: >-
          output.length > 2
          && output !== 'x'
      - { type: javascript, value: file://grade.mjs }
      - { type: javascript, value: 'file://grade.cjs:ok' }
      - { type: regex, value: '^o.e$' }
      - { type: not-regex, value: '(?<year>\d{4})-{}' }
"#;
    let run = Run::new()
        .config(config)
        .file(
            "grade.mjs",
            "#!/usr/bin/env node\nexport default async (output) => output.length > 2;\n",
        )
        .file(
            "grade.cjs",
            "exports.ok = (output) => { with (output) { return length > 2; } };\n",
        );
    let finished = check(run);
    finished.expect_code(0);
}

#[test]
fn a_cost_that_nobody_can_know_is_told_before_anything_is_paid() {
    let config = |provider: &str| {
        format!(
            "prompts: [p]\nproviders:\n  - {provider}\ntests:\n  - assert:\n      - type: cost\n        threshold: 0.01\n"
        )
    };
    let run = |provider: &str| {
        Run::new()
            .config(&config(provider))
            .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
            .env("RUNNER_TRUST", "config")
    };
    assert_snapshot!(check(run("openai:chat:nobody-knows-me")).told());
    for known in [
        "echo",
        "openai:chat:gpt-4o",
        "{ id: 'openai:chat:mine', config: { cost: 0.000001 } }",
        // A proxy may say what it costs.
        "{ id: 'openai:chat:mine', config: { apiBaseUrl: 'https://proxy.test.example/v1' } }",
        "file://own.js",
    ] {
        let own = "module.exports = class { id() { return 'own' } async callApi() { return { output: 'x' } } }";
        let finished = check(run(known).file("own.js", own));
        finished.expect_code(0);
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let config = r"prompts:
  - file://none.txt
  - '{{word'
providers:
  - ecko
  - { id: echo, labl: x }
tests:
  - vars: { word: one }
    asert: []
    assert:
      - { type: contain, value: x }
      - { type: javascript, value: 'output ===' }
      - { type: regex, value: '(' }
      - { type: contains }
  - vars: { word: '{{ word | nofilter }}' }
    threshold: -1
    assert: [{ type: equals, value: '{{' }]
evaluateOptions: { maxConcurrency: many }
";
    assert_snapshot!(check(Run::new().config(config)).told());
}
