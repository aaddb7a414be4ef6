//! What a test may say, and what `defaultTest` adds.

use serde_json::{Value, json};

use crate::fixture::Folder;
use crate::plan::{Check, Test, TestTimeout};

fn folder(more: &str) -> Folder {
    Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{more}")).file(
        "default.yaml",
        "assert: [{ type: contains, value: from file }]\n",
    )
}

fn test(more: &str) -> Test {
    (*folder(more).plan().tests.get(0).expect("a test")).clone()
}

fn kinds(test: &Test) -> Vec<String> {
    let name = |check: &Check| match check {
        Check::One(assertion) => assertion.kind.clone(),
        Check::Set { assertions, .. } => format!("set of {}", assertions.len()),
    };
    test.assertions.iter().map(name).collect()
}

#[test]
fn a_test_is_read_whole() {
    let test = test(
        "tests:\n  - description: d\n    vars: { a: 1 }\n    assert: [{ type: equals, value: x }]\n    threshold: 0.5\n    \
         metadata: { k: [1] }\n    options: { prefix: P, temperature: 0, repeat: 3 }",
    );
    assert_eq!(test.description.as_deref(), Some("d"));
    assert_eq!((test.threshold, test.repeat), (Some(0.5), 3));
    assert_eq!(json!(test.metadata), json!({"k": [1]}));
    assert_eq!(
        json!(test.options),
        json!({"prefix": "P", "temperature": 0, "repeat": 3})
    );
    assert_eq!(
        (test.at.line, test.at.column, test.at.key.as_str()),
        (4, 5, "tests[0]")
    );
    let expected = json!({
        "description": "d", "vars": {}, "assert": [{"type": "equals", "value": "x"}],
        "options": {"prefix": "P", "temperature": 0, "repeat": 3}, "threshold": 0.5, "metadata": {"k": [1]},
    });
    assert_eq!(*test.json, expected);
}

#[test]
fn the_default_lies_under_every_test_and_its_assertions_come_first() {
    let test = test(
        "metadata: { m: 0, l: 0 }\ndefaultTest:\n  vars: { a: 1, b: 1 }\n  assert: [{ type: contains, value: x }]\n  options: { prefix: P, suffix: S }\n  \
         threshold: 0.9\n  metadata: { m: 1 }\n\
         tests: [{ vars: { b: 2, c: 2 }, assert: [{ type: equals, value: y }], options: { suffix: '' }, metadata: { n: 2 } }]",
    );
    assert_eq!(
        Value::Object(test.vars.clone()).to_string(),
        r#"{"a":1,"b":2,"c":2}"#
    );
    assert_eq!(kinds(&test), ["contains", "equals"]);
    assert_eq!(json!(test.options), json!({"prefix": "P", "suffix": ""}));
    assert_eq!(test.threshold, Some(0.9));
    assert_eq!(json!(test.metadata), json!({"m": 1, "l": 0, "n": 2}));
}

#[test]
fn the_default_may_be_a_file_and_its_assertions_may_be_left_out() {
    let default = "defaultTest: file://default.yaml\n";
    assert_eq!(
        kinds(&test(&format!("{default}tests: [{{ vars: {{ a: 1 }} }}]"))),
        ["contains"]
    );
    let without = "tests: [{ vars: { a: 1 }, options: { disableDefaultAsserts: true } }]";
    assert_eq!(
        kinds(&test(&format!("{default}{without}"))),
        Vec::<String>::new()
    );
    // Without tests, the default is the one test.
    assert_eq!(kinds(&test(default)), ["contains"]);
}

#[test]
fn what_is_wrong_is_said() {
    let at = "promptfooconfig.yaml:3:";
    let cases = [
        (
            "tests: [{ description: d }]",
            format!("{at}9: tests[0]: the test is empty\nhelp: give it `vars` or `assert`"),
        ),
        (
            "tests: [5]",
            format!("{at}9: tests[0]: must be a map with `vars`, `assert`, …, not a number"),
        ),
        (
            "tests: []",
            format!("{at}8: tests: there are no tests in the list"),
        ),
        (
            "tests: [{ vars: { a: 1 }, threshold: high }]",
            format!("{at}38: tests[0].threshold: must be a number, not text"),
        ),
        (
            "tests: [{ vars: { a: 1 }, providers: [x] }]",
            format!("{at}39: tests[0].providers[0]: there is no provider 'x'"),
        ),
        (
            "tests: [{ vars: { a: 1 }, prompts: x }]",
            format!("{at}36: tests[0].prompts: there is no prompt 'x'"),
        ),
        (
            "tests: [{ vars: { a: 1 }, options: { repeat: 0 } }]",
            format!(
                "{at}46: tests[0].options.repeat: must be a whole number from 1 to 4294967295, not 0"
            ),
        ),
        (
            "tests: [{ provider: ecco }]",
            format!(
                "{at}21: tests[0].provider: no plugin serves the provider 'ecco'\nhelp: did you mean 'echo'?"
            ),
        ),
        (
            "tests: [{ options: { timeoutMs: -1 } }]",
            format!(
                "{at}33: tests[0].options.timeoutMs: must be a whole number from 0 to 86400000, not -1"
            ),
        ),
        (
            "defaultTest: file://none.yaml",
            format!("{at}14: defaultTest: 'none.yaml': there is no such file"),
        ),
    ];
    for (more, expected) in cases {
        assert_eq!(folder(more).problems(), [expected], "{more}");
    }
}

#[test]
fn odd_things_warn() {
    let cases = [
        (
            "tests: [{ own: 1, vars: { a: 1 } }]",
            "promptfooconfig.yaml:3:11: tests[0].own: unknown key 'own' is ignored",
        ),
        (
            "tests: [{ vars: { a: 1 }, options: { tranform: x, transforms: [], prefix: p } }]",
            "promptfooconfig.yaml:3:48: tests[0].options.tranform: 'tranform' is no option of a run and goes to the provider\nhelp: did you mean 'transform'?",
        ),
    ];
    for (more, expected) in cases {
        assert_eq!(folder(more).warnings(), [expected], "{more}");
    }
}

#[test]
fn a_tests_own_provider_answers_in_every_column_and_is_read_once() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [{ id: 'openai:a', label: fast }, echo]\ndefaultTest: { provider: 'replay:x' }\n\
         tests: [{ description: d, vars: { a: 1 } }, { provider: fast }, { provider: { id: echo, label: own, config: { apiKey: sk-1 } } }, { provider: 'replay:x' }]",
    );
    let plan = folder.plan();
    let ids: Vec<String> = plan
        .cases()
        .map(|case| format!("{} {}", case.id.prompt_idx, case.column.provider.id))
        .collect();
    let expected = [
        "0 replay:x",
        "1 replay:x",
        "0 openai:a",
        "1 openai:a",
        "0 echo",
        "1 echo",
        "0 replay:x",
        "1 replay:x",
    ];
    assert_eq!(ids, expected);
    assert_eq!(
        plan.tests.get(0).expect("a test").provider,
        plan.tests.get(3).expect("a test").provider
    );
    let asked: std::collections::BTreeSet<_> = plan.own_providers().collect();
    assert_eq!(asked.len(), 3);
    assert_eq!(plan.tests.get(1).expect("a test").json["provider"], "fast");
    assert!(
        !plan
            .tests
            .get(2)
            .expect("a test")
            .json
            .to_string()
            .contains("sk-1")
    );
}

#[test]
fn an_answer_that_a_test_brings_is_data() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ndefaultTest: { providerOutput: d }\n\
         tests: [{ providerOutput: '{{ nice }} {{x' }, { providerOutput: { a: [1] } }, { providerOutput: '' }, { vars: { a: 1 } }]",
    );
    let outputs: Vec<Option<Value>> = folder
        .plan()
        .tests
        .iter()
        .map(|test| test.output.clone())
        .collect();
    assert_eq!(outputs[0], Some(json!("{{ nice }} {{x")));
    assert_eq!(
        outputs[1..],
        [Some(json!({ "a": [1] })), Some(json!("")), Some(json!("d"))]
    );
}

#[test]
fn a_test_has_its_own_time_or_the_runs_or_none() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ndefaultTest: { options: { timeoutMs: 5 } }\n\
         tests: [{ vars: { a: 1 } }, { options: { timeoutMs: 0 } }, { options: { timeoutMs: '70' } }]",
    );
    let ms = |ms| TestTimeout::Limited(std::time::Duration::from_millis(ms));
    let times: Vec<_> = folder
        .plan()
        .tests
        .iter()
        .map(|test| test.timeout)
        .collect();
    assert_eq!(times, [ms(5), TestTimeout::Unlimited, ms(70)]);
}

/// What the person allows holds for rows; a row can ask for less.
#[test]
fn a_row_makes_its_time_shorter_alone() {
    let folder = |default: &str| {
        Folder::new(&format!(
            "prompts: [p]\nproviders: [echo]\n{default}tests: file://t.jsonl"
        ))
        .file("d.json", "{\"options\":{\"timeoutMs\":90}}")
        .file("t.jsonl", "{\"options\":{\"timeoutMs\":0}}\n{\"options\":{\"timeoutMs\":70}}\n{\"vars\":{\"a\":1}}\n")
    };
    let times = |default: &str| -> Vec<Option<u128>> {
        let of_run = Some(std::time::Duration::from_millis(50));
        let plan = folder(default).plan();
        let times = plan.tests.iter().map(|test| test.timeout.or(of_run));
        times
            .map(|time| time.map(|time| time.as_millis()))
            .collect()
    };
    assert_eq!(times(""), [Some(50); 3]);
    let default = "defaultTest: { options: { timeoutMs: 60 } }\n";
    assert_eq!(times(default), [Some(60); 3]);
    let default = "defaultTest: file://d.json\n";
    assert_eq!(times(default), [Some(50), Some(50), Some(50)]);
}

#[test]
fn raw_variables_are_what_they_say() {
    let folder = Folder::new(
        "prompts: ['{{a}}|{{l}}|{{f}}']\nproviders: [echo]\n\
         tests: [{ vars: { a: '{{l}} {% x', l: [y, z], f: 'file://none' }, options: { rawVars: true } }]",
    );
    assert_eq!(folder.texts(), ["{{l}} {% x|y,z|file://none"]);
}

#[test]
fn a_row_of_a_data_file_multiplies_itself_within_bounds() {
    let items: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let row = |options: Value, names: &[&str]| {
        let vars: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!(items)))
            .collect();
        json!({ "vars": vars, "options": options }).to_string()
    };
    let of_file = |rows: &str, more: &str| {
        folder(&format!("{more}\ntests: [rows.jsonl]")).file("rows.jsonl", rows)
    };
    let none = json!({});
    // Within the bound; and what the config says has none: its own lists, its own `repeat`.
    for (rows, more, count) in [
        (row(none.clone(), &["a", "b"]), "", 10_000),
        (row(json!({ "repeat": 10_000 }), &[]), "", 10_000),
        (
            row(none.clone(), &["a"]),
            &*format!(
                "defaultTest: {{ vars: {{ b: {0}, c: {0} }}, options: {{ repeat: 3 }} }}",
                json!(items)
            ),
            3_000_000,
        ),
        (
            row(none.clone(), &["a", "b", "c"]),
            "defaultTest: { options: { disableVarExpansion: true } }",
            1,
        ),
    ] {
        let folder = of_file(&rows, more);
        assert_eq!(folder.plan().row_count(), count, "{more}");
    }
    let lists = json!(items);
    let own = format!("tests: [{{ vars: {{ a: {lists}, b: {lists}, c: {lists} }} }}]");
    assert_eq!(folder(&own).plan().row_count(), 1_000_000);
    // Beyond it.
    for (rows, made) in [
        (row(none.clone(), &["a", "b", "c", "d"]), "100000000"),
        (row(json!({ "repeat": 10_001 }), &[]), "10001"),
        (row(json!({ "repeat": 2 }), &["a", "b"]), "20000"),
    ] {
        let problems = of_file(&format!("{{\"vars\":{{\"q\":1}}}}\n{rows}"), "").problems();
        let expected = format!(
            "rows.jsonl:2:1: the lists among its variables and its `repeat` make {made} rows of the results; \
             a row of a data file makes at most 10000\n\
             help: write rows of their own, or say it in the config, where lists and `repeat` have no such \
             bound; `disableVarExpansion: true` in the options keeps a list as one value"
        );
        assert_eq!(problems, [expected]);
    }
}

/// A file of variables that is no YAML is data, wherever it is named. What the config says over it is the config's.
#[test]
fn what_a_file_of_variables_multiplies_is_bounded_like_a_row() {
    let items: Vec<String> = (0..101).map(|item| item.to_string()).collect();
    let values = json!({ "a": items, "b": items }).to_string();
    let named = |rest: &str| {
        Folder::new(&format!(
            "prompts: ['{{{{a}}}}']\nproviders: [echo]\n{rest}"
        ))
        .file("v.json", &values)
        .file("v.yaml", &values)
    };
    for rest in [
        "tests: [{ vars: file://v.json }]",
        "defaultTest: { vars: file://v.json }\ntests: [{ vars: { c: 1 } }]",
        "scenarios: [{ config: [{ vars: file://v.json }], tests: [{ vars: { c: 1 } }] }]",
    ] {
        let problems = named(rest).problems();
        let said = problems
            .first()
            .is_some_and(|it| it.contains("make 10201 rows of the results"));
        assert!(said, "{rest}: {problems:?}");
        assert_eq!(
            named(&rest.replace("json", "yaml")).plan().row_count(),
            10_201,
            "{rest}"
        );
    }
    let own = format!(
        "defaultTest: {{ vars: file://v.json }}\ntests: [{{ vars: {{ b: {} }} }}]",
        json!(items)
    );
    assert_eq!(named(&own).plan().row_count(), 10_201);
}

/// Each row keeps its variables: one of 1 MB filled the disk with 16 GB.
#[test]
fn the_rows_that_one_row_makes_keep_no_more_than_so_much() {
    let row = |bytes: usize| {
        let row = json!({ "vars": { "a": vec!["x"; 100], "big": "y".repeat(bytes) }, "options": { "repeat": 20 } });
        folder("tests: file://rows.jsonl").file("rows.jsonl", row.to_string())
    };
    assert_eq!(row(100_000).plan().row_count(), 2000);
    let problems = row(600_000).problems();
    let said = "make 2000 rows of the results with some 1144 MiB of variables; those of a row of a data file take at most 1024 MiB";
    assert!(problems[0].contains(said), "{problems:?}");
}
