//! Code that makes tests, filters of templates and metrics of metrics, run as a user runs them.

use insta::assert_snapshot;
use runner_tests::{Finished, Run};
use serde_json::{Value, json};

fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}

fn outputs(finished: &Finished) -> Vec<String> {
    let output = |row: &Value| row["response"]["output"].as_str().map(str::to_owned);
    rows(finished)
        .iter()
        .map(|row| output(row).unwrap_or_else(|| panic!("no output: {row}")))
        .collect()
}

fn evaluated(run: Run) -> Finished {
    run.args(["eval", "-o", "out.json", "--no-table"]).finish()
}

const GENERATOR: &str = "const { word } = require('./lib/word');\n\
    module.exports = async () => [1, 2].map((n) => ({ vars: { n: word + n }, assert: [{ type: 'equals', value: `a ${word}${n}` }] }));\n\
    module.exports.counted = ({ count, from }) => Array.from({ length: count }, (_, n) => ({ vars: { n: from.first + n } }));\n\
    module.exports.list = [{ vars: { n: 'listed' } }];\n\
    module.exports.wrong = () => [{ vars: { n: 1 } }, { assert: [{ type: 'contians' }] }];\n\
    module.exports.clock = () => [{ vars: { n: `${Date.now()} ${Math.random()}` } }];\n\
    module.exports.spy = () => require('fs').readFileSync('/etc/passwd');\n\
    module.exports.forever = () => { for (;;); };\n";

fn generator(tests: &str) -> Run {
    Run::new()
        .config(&format!(
            "prompts: ['a {{{{n}}}}']\nproviders: [echo]\ntests: {tests}\nruntime: sandbox\n"
        ))
        .file("gen.js", GENERATOR)
        .file("lib/word.js", "exports.word = 'w';")
        .file("first.json", "{\"first\": 5}")
}

/// Each had a bound, and all of them none.
#[test]
fn generators_share_what_code_may_take_before_a_run() {
    let checked = generator(&format!("[{}]", "'file://gen.js:forever', ".repeat(40)))
        .args(["config", "check"])
        .finish();
    checked.expect_code(2);
    // Three of each are told, and the places of the others: ten, and six.
    for told in [
        "tests[2]: 'file://gen.js:forever' made no tests: plugin 'javascript'",
        "and 18 more places",
        "tests[31]: 'file://gen.js:forever' made no tests: the code that ran before it used up all",
        "; the same at 3:859, 3:884, 3:909, 3:934, 3:959, 3:984\n",
    ] {
        assert!(checked.stderr.contains(told), "{told}: {}", checked.stderr);
    }
}

#[test]
fn generators_make_tests_alone_in_lists_and_with_a_config() {
    let cases: [(&str, &[&str]); 4] = [
        ("file://gen.js", &["a w1", "a w2"]),
        (
            "[{ vars: { n: x } }, 'file://gen.js:list']",
            &["a x", "a listed"],
        ),
        (
            "[{ path: 'file://gen.js:counted', config: { count: 2, from: file://first.json } }]",
            &["a 5", "a 6"],
        ),
        (
            "{ path: 'gen.js:counted', config: { count: 1, from: { first: 0 } } }",
            &["a 0"],
        ),
    ];
    for (tests, expected) in cases {
        let finished = evaluated(generator(tests));
        finished.expect_code(0);
        assert_eq!(outputs(&finished), expected, "{tests}");
    }
}

#[test]
fn what_a_generator_makes_wrong_is_said_before_anything_runs() {
    let mut told = String::new();
    for tests in [
        "file://gen.js:wrong",
        "file://gen.js:none",
        "file://gen.js:spy",
        "file://gen.js:forever",
        "file://gen.rb",
    ] {
        let finished = evaluated(generator(tests).file("gen.rb", ""));
        told += &finished.told_as(tests);
    }
    assert_snapshot!(told);
}

#[test]
fn a_run_that_goes_on_finds_the_generated_tests_again() {
    let finished = evaluated(generator("['file://gen.js:clock', file://gen.js]"));
    finished.expect_code(0);
    let first = outputs(&finished);
    let again = finished
        .again()
        .args(["eval", "-o", "out.json", "--no-table"])
        .finish();
    assert_eq!(outputs(&again), first);
}

const FILTERS: &str = "module.exports = (value, mark = '?') => String(value).toUpperCase() + mark;\n\
    module.exports.items = (text) => text.split(' ');\n\
    module.exports.fails = () => { throw new TypeError('no such thing'); };\n";

#[test]
fn filters_work_wherever_a_case_is_filled_in() {
    let finished = evaluated(
        Run::new()
            .config(
                "prompts: ['{{ a | shout(\"!\") }}{% for i in b | items %}-{{ i | shout }}{% endfor %} {{ late }}']\n\
                 providers: [echo]\n\
                 nunjucksFilters: { shout: file://f.js, items: 'file://f.js:items' }\n\
                 tests:\n  - vars: { a: x, b: p q, late: '<{{ a | shout }}>' }\n    options: { prefix: '{{ 1 | shout }} ' }\n    assert:\n\
                 \x20     - { type: equals, value: '1? {{ a | shout(\"!\") }}-P?-Q? <X?>', metric: '{{ a | shout }}' }\n",
            )
            .file("f.js", FILTERS),
    );
    finished.expect_code(0);
    assert_eq!(outputs(&finished), ["1? X!-P?-Q? <X?>"]);
    let row = &rows(&finished)[0];
    assert_eq!(row["vars"]["late"], "<X?>");
    assert_eq!(row["namedScores"], json!({ "X?": 1.0 }));
}

#[test]
fn a_filter_that_throws_costs_its_row_and_an_unknown_one_the_run() {
    let config = |prompt: &str| {
        format!(
            "prompts: ['{prompt}']\nproviders: [echo]\nnunjucksFilters: {{ fails: 'file://f.js:fails' }}\n\
             tests: [{{ vars: {{ a: 1 }} }}, {{ vars: {{ a: '' }} }}]\n"
        )
    };
    let run = Run::new()
        .config(&config(
            "{% if a %}{{ a | fails }}{% else %}fine{% endif %}",
        ))
        .file("f.js", FILTERS);
    let finished = evaluated(run);
    finished.expect_code(100);
    let rows = rows(&finished);
    let error = rows[0]["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("the filter 'fails': TypeError: no such thing"),
        "{error}"
    );
    assert_eq!(rows[1]["response"]["output"], "fine");
    let run = Run::new()
        .config(&config("{{ a | fials }}"))
        .file("f.js", FILTERS);
    let refused = evaluated(run);
    assert_snapshot!(refused.told());
}

fn metrics(finished: &Finished) -> Value {
    finished.json("out.json")["results"]["prompts"][0]["metrics"]["namedScores"].clone()
}

#[test]
fn derived_metrics_are_worked_out_of_the_sums_and_kept() {
    let finished = evaluated(
        Run::new()
            .config(
                "prompts: ['{{n}}']\nproviders: [echo]\n\
                 derivedMetrics:\n\
                 \x20 - { name: mean, value: hits / __count }\n\
                 \x20 - { name: square, value: 'mean ^ 2' }\n\
                 \x20 - { name: own, value: 'file://m.js:own' }\n\
                 \x20 - { name: safe, value: 'misses == 0 ? 1 : hits / misses' }\n\
                 \x20 - { name: nothing, value: nobody + 1 }\n\
                 defaultTest: { assert: [{ type: javascript, value: 'Number(output) / 4', metric: hits, threshold: 0 }, { type: javascript, value: '0', metric: misses, threshold: 0 }] }\n\
                 tests: [{ vars: { n: 1 } }, { vars: { n: 3 } }]\n",
            )
            .file("m.js", "exports.own = (sums) => sums.square * 100 + sums.__count;"),
    );
    assert_snapshot!(finished.told());
    let expected = json!({
        "hits": 1.0, "misses": 0.0, "mean": 0.5, "square": 0.25, "own": 27.0, "safe": 1.0, "nothing": 0.0,
    });
    assert_eq!(metrics(&finished), expected);
    // A kept run has them without its config.
    let exported = finished.again().args(["export", "-o", "out.json"]).finish();
    assert_eq!(metrics(&exported), expected);
}

#[test]
fn a_formula_that_is_none_is_refused_with_its_place() {
    let finished = evaluated(Run::new().config(
        "prompts: [p]\nproviders: [echo]\nderivedMetrics: [{ name: m, value: 'shout(1)' }]\n",
    ));
    assert_snapshot!(finished.told());
}
