//! Assertions, sets, values in files, and what is wrong.

use serde_json::{Value, json};

use crate::fixture::Folder;
use crate::plan::{Assertion, Check, SetRule};

mod rows_and_cascades;

fn folder(assertions: &str) -> Folder {
    Folder::new(&format!(
        "prompts: [p]\nproviders: [echo]\ntests: [{{ assert: {assertions} }}]"
    ))
    .file("value.txt", " text {{v}} \\ \"{% x\n#}\n")
    .file("schema.json", r#"{"type": "object"}"#)
    .file("list.yaml", "[a, b]")
}

fn checks(assertions: &str) -> Vec<Check> {
    folder(assertions)
        .plan()
        .tests
        .get(0)
        .expect("a test")
        .assertions
        .to_vec()
}

fn one(assertion: &str) -> Assertion {
    match checks(&format!("[{assertion}]")).remove(0) {
        Check::One(assertion) => assertion,
        Check::Set { .. } => panic!("no set here"),
    }
}

#[test]
fn an_assertion_is_read_whole() {
    let assertion = one(
        "{ type: not-contains, value: x, threshold: 0.5, weight: 2, metric: m, config: { c: 1 } }",
    );
    assert_eq!(
        (assertion.kind.as_str(), assertion.inverse),
        ("contains", true)
    );
    assert_eq!(
        (assertion.value, assertion.threshold, assertion.weight),
        (Some(json!("x")), Some(0.5), 2.0)
    );
    assert_eq!(
        (assertion.metric.as_deref(), json!(assertion.config)),
        (Some("m"), json!({"c": 1}))
    );
    assert_eq!(
        (assertion.at.line, assertion.at.key.as_str()),
        (3, "tests[0].assert[0]")
    );
    assert_eq!(assertion.json["type"], "not-contains");
    let plain = one("{ type: is-json }");
    assert_eq!(
        (plain.value, plain.threshold, plain.weight, plain.metric),
        (None, None, 1.0, None)
    );
    assert_eq!(
        one("{ type: equals, value: x, weight: 0 }")
            .weight
            .to_bits(),
        0.0_f64.to_bits()
    );
}

#[test]
fn values_may_be_files() {
    let value = |assertion| {
        let vars = json!({ "v": "filled in" });
        let rendered = one(assertion).render_value(vars.as_object().expect("a map"));
        rendered.expect("it can be")
    };
    assert_eq!(
        value("{ type: equals, value: file://value.txt }"),
        Some(json!("text {{v}} \\ \"{% x\n#}"))
    );
    assert_eq!(
        value("{ type: is-json, value: file://schema.json }"),
        Some(json!({"type": "object"}))
    );
    assert_eq!(
        value("{ type: contains-any, value: file://list.yaml }"),
        Some(json!(["a", "b"]))
    );
    assert_eq!(
        value("{ type: contains-any, value: ['{{ \"x\" }}', file://value.txt, 5] }"),
        Some(json!(["x", "text {{v}} \\ \"{% x\n#}", 5]))
    );
    assert_eq!(
        value("{ type: equals, value: { a: file://value.txt } }"),
        Some(json!({"a": "file://value.txt"}))
    );
}

#[test]
fn a_set_is_read_whole() {
    let checks = checks(
        "[{ type: assert-set, weight: 3, threshold: 0.5, metric: m, assert: [{ type: equals, value: a }, { type: not-is-json }] }]",
    );
    let [
        Check::Set {
            rule: SetRule::All,
            assertions,
            weight,
            threshold,
            metric,
            json,
        },
    ] = checks.as_slice()
    else {
        panic!("one set")
    };
    assert_eq!(
        assertions
            .iter()
            .map(|a| (a.kind.as_str(), a.inverse))
            .collect::<Vec<_>>(),
        [("equals", false), ("is-json", true)]
    );
    assert_eq!(
        (*weight, *threshold, metric.as_deref()),
        (3.0, Some(0.5), Some("m"))
    );
    assert_eq!(json["assert"].as_array().map(Vec::len), Some(2));
}

#[test]
fn anchors_give_several_tests_the_same_assertions() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ntests:\n  - vars: { a: 1 }\n    assert: &checks [{ type: is-json }]\n  - vars: { a: 2 }\n    assert: *checks",
    );
    let plan = folder.plan();
    let json =
        |index: usize| -> Value { plan.tests.get(index).expect("a test").json["assert"].clone() };
    assert_eq!(json(0), json(1));
}

/// Each of `cases` is (assertions, column and key under the first one, the rest of the message).
fn check_problems(cases: &[(&str, u32, &str, &str)]) {
    for (assertions, column, key, expected) in cases {
        let at = format!("promptfooconfig.yaml:3:{column}: tests[0].assert[0]{key}: ");
        let problems = folder(assertions).problems();
        assert_eq!(problems, [format!("{at}{expected}")], "{assertions}");
    }
}

const THERE: &str = "there are: answer, answer-relevance, contains, contains-any, equals, is-json, javascript, latency, llm-rubric, max-score, regex, select-best, similar";

#[test]
fn wrong_shapes_are_said() {
    check_problems(&[
        ("[x]", 20, "", "must be a map with `type`, not text"),
        (
            "[{ value: x }]",
            20,
            "",
            "an assertion needs `type`\nhelp: for example: type: contains",
        ),
        (
            "[{ type: equals, weight: -1 }]",
            44,
            ".weight",
            "must be between 0 and 1e6, not -1",
        ),
        (
            "[{ type: assert-set }]",
            20,
            "",
            "an assert-set needs `assert`, a list\nhelp: assert: [{ type: …, value: … }]",
        ),
        (
            "[{ type: assert-set, assert: [{ type: assert-set, assert: [] }] }]",
            49,
            ".assert[0]",
            "an assert-set can't hold another assert-set",
        ),
    ]);
    assert_eq!(
        folder("x").problems(),
        ["promptfooconfig.yaml:3:19: tests[0].assert: must be a list of assertions, not text"]
    );
}

#[test]
fn types_that_nobody_serves_are_said() {
    let later =
        |kind: &str| format!("the assertion type '{kind}' is not supported yet\nhelp: {THERE}");
    check_problems(&[
        (
            "[{ type: containz }]",
            28,
            ".type",
            "no plugin serves the assertion type 'containz'\nhelp: did you mean 'contains'?",
        ),
        (
            "[{ type: not-factuality, value: x }]",
            28,
            ".type",
            &later("factuality"),
        ),
        (
            "[{ type: python, value: x }]",
            28,
            ".type",
            &later("python"),
        ),
        (
            "[{ type: 'trajectory:step-count' }]",
            28,
            ".type",
            "the assertion type 'trajectory:step-count' is not supported yet\nhelp: nothing records traces here; type: tool-call-f1, is-valid-openai-tools-call and skill-used look at the calls in the answer, type: javascript at its metadata",
        ),
    ]);
}

#[test]
fn values_that_can_t_be_had_are_said() {
    check_problems(&[
        (
            "[{ type: equals, value: file://x.js }]",
            43,
            ".value",
            "'x.js': there is no such file",
        ),
        (
            "[{ type: contains-any, value: [file://x.js] }]",
            50,
            ".value[0]",
            "'x.js': code can't make this value\n\
             help: it can make the whole `value` of an assertion, not an item of a list",
        ),
        (
            "[{ type: javascript }]",
            20,
            "",
            "'javascript' needs code as its `value`\n\
             help: value: an expression, the lines of a function, or file://path",
        ),
        (
            "[{ type: javascript, value: [a] }]",
            47,
            ".value",
            "must be code, a text\n\
             help: value: an expression, the lines of a function, or file://path",
        ),
        (
            "[{ type: equals, value: file://no.txt }]",
            43,
            ".value",
            "'no.txt': there is no such file",
        ),
        (
            "[{ type: equals, value: x, transform: file://y.rb:f }]",
            57,
            ".transform",
            "'y.rb': no plugin runs code of this kind\n\
             help: code can be javascript (.js, .cjs, .mjs)",
        ),
        (
            "[{ type: equals, value: '{{ a b }}' }]",
            43,
            ".value",
            "template '{{ a b }}': unexpected identifier, expected end of variable block\n\
             help: text that is not meant as a template goes between {% raw %} and {% endraw %}",
        ),
        (
            "[{ type: equals, value: '{{ env.A ~ x }}' }]",
            43,
            ".value",
            "`env` can't be mixed with other variables in one tag here\n\
             help: give it a tag of its own, {{ env.X }}, or a variable: vars: { x: \"{{ env.X }}\" }",
        ),
    ]);
}

#[test]
fn too_many_are_refused() {
    let many = vec!["{ type: is-json }"; super::MAX_ASSERTIONS + 1].join(", ");
    assert_eq!(
        folder(&format!("[{many}]")).problems(),
        ["promptfooconfig.yaml:3:19: tests[0].assert: 10001 assertions; at most 10000 per test"]
    );
}

#[test]
fn packages_as_code_run_outside_the_sandbox_or_are_refused_with_a_way_out() {
    let problems = |test: &str| {
        let config = format!("prompts: [p]\nproviders: [echo]\ntests: [{{ {test} }}]");
        Folder::new(&config).problems()
    };
    for test in [
        "assert: [{ type: javascript, value: 'package:x:y' }]",
        "options: { transform: 'package:x:y' }",
    ] {
        assert_eq!(problems(test), [""; 0]);
        let kept = problems(&format!("{test} }}]\nruntime: sandbox\nx: [{{"));
        assert!(
            kept[0].contains("'package:x:y': the sandbox has no packages\nhelp: leave out"),
            "{kept:?}"
        );
    }
    let wrong = problems("options: { transform: 'package:x' }");
    assert!(wrong[0].contains("names no export"), "{wrong:?}");
}

#[test]
fn a_list_of_types_is_told_once_and_a_description_is_a_comment() {
    let config = "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: xyzzy, description: why }, { type: plugh }] }]";
    let folder = Folder::new(config);
    let problems = folder.problems();
    assert!(problems[0].contains("help: there are: "), "{problems:?}");
    assert!(!problems[1].contains("help"), "{problems:?}");
    let warnings = folder.try_plan().expect_err("two problems").warnings;
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn an_assertion_knows_where_its_value_stands() {
    let config = "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: equals, value: 5 }, { type: is-json }] }]";
    let test = Folder::new(config).plan().tests.get(0).expect("a test");
    let place = |index: usize| {
        let assertion = &test.assertions[index].members()[0];
        let at = &assertion.value_at;
        (at.column, at.key.clone())
    };
    assert_eq!(place(0), (43, "tests[0].assert[0].value".to_owned()));
    assert_eq!(place(1), (48, "tests[0].assert[1]".to_owned()));
}

#[test]
fn no_grade_passes_by_a_number_that_makes_no_sense() {
    let thresholds = [
        ("threshold: -0.1", "tests[0].threshold"),
        (
            "assert: [{ type: contains, value: v, threshold: -1 }]",
            "tests[0].assert[0].threshold",
        ),
        (
            "assert: [{ type: assert-set, threshold: -1, assert: [{ type: contains, value: v }] }]",
            "tests[0].assert[0].threshold",
        ),
        (
            "assert: [{ type: contains, value: v, weight: 1000001 }]",
            "tests[0].assert[0].weight",
        ),
        (
            "assert: [{ type: contains, value: v, weight: -1 }]",
            "tests[0].assert[0].weight",
        ),
    ];
    for (test, key) in thresholds {
        let config = format!("prompts: [p]\nproviders: [echo]\ntests: [{{ {test} }}]");
        let problems = Folder::new(&config).problems();
        assert_eq!(problems.len(), 1, "{test}: {problems:?}");
        assert!(
            problems[0].contains(&format!(": {key}: must be ")),
            "{problems:?}"
        );
    }
    for fine in [
        "threshold: 0",
        "assert: [{ type: contains, value: v, weight: 1000000, threshold: 0 }]",
    ] {
        let config = format!("prompts: [p]\nproviders: [echo]\ntests: [{{ {fine} }}]");
        assert_eq!(Folder::new(&config).problems(), [""; 0], "{fine}");
    }
    let of_row = Folder::new("prompts: [p]\nproviders: [echo]\ntests: t.csv")
        .file("t.csv", "a,__threshold\n1,-1\n");
    let problems = of_row.problems();
    assert!(problems[0].starts_with("t.csv:2:"), "{problems:?}");
}

#[test]
fn what_reads_env_in_a_row_is_text() {
    let config = "env: { A: a }\nprompts: [p]\nproviders: [echo]\ntests: t.jsonl";
    for (value, expected) in [
        ("{{ env.A }}", "{{ env.A }}"),
        (
            "{{q}} {{ env.A ~ q }} {{ env }}",
            "1 {{ env.A ~ q }} {{ env }}",
        ),
        ("{% if env.A %}x{% endif %}{{q}}", "1"),
        (
            "{{ \\\"{% endraw %}\\\" ~ env.A }}",
            "{% endraw %}undefined",
        ),
    ] {
        let row = format!(
            r#"{{ "vars": {{ "q": 1 }}, "assert": [{{ "type": "equals", "value": "{value}" }}] }}"#
        );
        let cases = Folder::new(config).file("t.jsonl", row).cases();
        let Check::One(assertion) = &cases[0].test.assertions[0] else {
            panic!("one assertion")
        };
        let value = cases[0]
            .render_value(assertion)
            .expect("it can be filled in");
        assert_eq!(value, Some(expected.into()));
    }
}

#[test]
fn the_weight_of_a_row_stands_beside_those_of_other_rows() {
    let config = "prompts: [p]\nproviders: [echo]\ntests: t.jsonl";
    let weighs = |weight: u32| {
        let row =
            format!(r#"{{ "assert": [{{ "type": "regex", "value": ".", "weight": {weight} }}] }}"#);
        Folder::new(config).file("t.jsonl", row)
    };
    assert_eq!(weighs(100).plan().row_count(), 1);
    assert_eq!(
        weighs(101).problems(),
        ["t.jsonl:1:57: assert[0].weight: must be between 0 and 1e2, not 101"]
    );
}

/// A key that is passed over changes what is graded, and nobody sees it.
#[test]
fn knobs_of_graders_stand_beside_the_type_that_reads_them() {
    let config = |assertion: &str| {
        format!("prompts: [p]\nproviders: [echo]\ntests: [{{ assert: [{assertion}] }}]\n")
    };
    let plan = Folder::new(&config(
        "{ type: not-similar, value: a, measure: euclidean, provider: openai:m }",
    ))
    .plan();
    let test = plan.tests.iter().next().expect("a test");
    let knobs = &test.assertions[0].members()[0].knobs;
    assert_eq!(knobs["measure"], "euclidean");
    let folder = Folder::new(&config("{ type: equals, value: a, measure: euclidean }"));
    let told = match &folder.problems()[..] {
        [] => folder.warnings().join(""),
        problems => problems.join(""),
    };
    assert!(told.contains("unknown key 'measure'"), "{told}");
}
