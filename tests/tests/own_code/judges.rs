//! Code of a config as the judge of answers: it makes vectors, and scores classes.

use runner_tests::Run;
use serde_json::{Value, json};

use crate::own_code::{rows, trusted};

/// Five grades of the first row, all passed, and its tokens; and the error of the second.
fn graded(run: Run) -> (Value, String) {
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    let rows = rows(&finished);
    let result = &rows[0]["gradingResult"];
    let grades = result["componentResults"].as_array().expect("grades");
    let passed: Vec<&Value> = grades.iter().map(|grade| &grade["pass"]).collect();
    assert_eq!(passed, [true; 5], "{}", finished.told());
    finished.expect_code(100);
    let error = rows[1]["error"].as_str().expect("an error");
    (result["tokensUsed"]["total"].clone(), error.to_owned())
}

/// A vector that says whether a text has an `x`, in JavaScript and Python, in the sandbox and out.
#[test]
fn code_makes_vectors_for_assertions() {
    const JS: &str = "class Mine { constructor(o) { this.o = o } id() { return 'mine' } async callApi() { return null } async callEmbeddingApi(text) { return { embedding: text.includes('x') ? [1, 0] : [0, 1], tokenUsage: { total: 2, prompt: 2 } }; } }\nmodule.exports = Mine;";
    const PY: &str = "def call_embedding_api(prompt, options):\n    return {'embedding': [1.0, 0.0] if 'x' in prompt else [0, 1.0], 'tokenUsage': {'total': 2}}";
    let run = trusted()
        .file("in.js", JS)
        .file("out.cjs", format!("require('fs');\n{JS}"))
        .file("in.py", PY)
        .file("out.py", format!("import subprocess\n{PY}"))
        .file("wrong.py", "def call_embedding_api(prompt, options): return {'vector': [1]}")
        .config("prompts: ['an x']\nproviders: [echo]\ntests: [{ assert: [{ type: similar, value: x too, provider: ./in.js }, { type: similar, value: x too, provider: file://out.cjs }, { type: similar, value: x too, provider: { id: file://in.py } }, { type: similar, value: x too, provider: { embedding: { id: file://out.py } } }, { type: not-similar, value: other, provider: file://in.js }] }, { assert: [{ type: similar, value: x, provider: file://wrong.py }] }]");
    let (tokens, error) = graded(run);
    assert_eq!(tokens, 20);
    assert!(
        error.contains("the code gave no `embedding`, a list of numbers"),
        "{error}"
    );
}

#[test]
fn code_sorts_answers_into_classes() {
    const JS: &str = "class Mine { async callApi() { return 'no' } async callClassificationApi(text) { return { classification: { long: text.length / 10, short: 0 } }; } }\nmodule.exports = Mine;";
    const PY: &str = "def call_classification_api(prompt, options):\n    return {'classification': {'long': len(prompt) / 10}}";
    let run = trusted()
        .file("in.js", JS)
        .file("out.cjs", format!("require('fs');\n{JS}"))
        .file("in.py", PY)
        .file("out.py", format!("import subprocess\n{PY}"))
        .file("none.js", "module.exports = class { async callApi() { return 'no' } }")
        .config("prompts: [abcdefghij]\nproviders: [echo]\ntests: [{ assert: [{ type: classifier, value: long, provider: file://in.js }, { type: classifier, value: long, provider: file://out.cjs }, { type: classifier, value: long, provider: file://in.py }, { type: classifier, value: long, provider: { classification: { id: file://out.py } } }, { type: not-classifier, value: short, provider: file://in.js }] }, { assert: [{ type: classifier, value: long, provider: file://none.js }] }]");
    let (_, error) = graded(run);
    assert!(error.contains("`callClassificationApi`"), "{error}");
}

#[test]
fn code_that_counts_its_tokens_costs_what_the_config_says_of_it() {
    let answer = "module.exports = class { id() { return 'mine' } async callApi(prompt) { \
                  return { output: prompt, tokenUsage: { prompt: 2000, completion: 500, total: 2500 } } } }";
    let costs = |stated: &str, said: &str| {
        let config = format!(
            "prompts: [p]\nproviders: [{{ id: file://mine.js, config: {{ {said} }} }}]\ntests: [{{ vars: {{ n: 1 }} }}]\n"
        );
        let code = answer.replace("output: prompt,", &format!("output: prompt,{stated}"));
        let run = Run::new().config(&config).file("mine.js", code);
        let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
        finished.expect_code(0);
        rows(&finished)[0]["cost"].clone()
    };
    let priced = "inputCost: 0.001, outputCost: 0.002";
    assert_eq!(costs("", priced), json!(3.0));
    assert_eq!(
        costs(" cost: 9,", priced),
        json!(3.0),
        "the user knows the contract"
    );
    assert_eq!(costs(" cost: 9,", ""), json!(9.0));
    assert_eq!(costs("", ""), Value::Null);
}
