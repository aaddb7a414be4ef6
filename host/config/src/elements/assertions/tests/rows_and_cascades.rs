//! `assert-any`, `when`, and the assertions that compare rows.

use super::*;
use crate::plan::{Comparison, Earlier, HUMAN, HighestScore, Method, WhenCondition, Winner};

const ANSWERS: &str =
    "prompts: [p, q]\nproviders: [echo]\ndefaultTest: { options: { provider: 'openai:j' } }\n";

fn compared(assertions: &str) -> Folder {
    Folder::new(&format!("{ANSWERS}tests: [{{ assert: {assertions} }}]"))
}

#[test]
fn one_of_a_set_is_enough() {
    let checks = checks("[{ type: assert-any, assert: [{ type: is-json }] }]");
    let [Check::Set { rule, .. }] = checks.as_slice() else {
        panic!("one set")
    };
    assert_eq!(*rule, SetRule::Any);
    check_problems(&[
        (
            "[{ type: assert-any }]",
            20,
            "",
            "an assert-any needs `assert`, a list\nhelp: assert: [{ type: …, value: … }]",
        ),
        (
            "[{ type: assert-any, assert: [{ type: assert-set, assert: [] }] }]",
            49,
            ".assert[0]",
            "an assert-any can't hold another assert-set",
        ),
    ]);
}

#[test]
fn a_set_has_no_condition_and_one_of_nothing_can_not_pass() {
    let cases = [
        (
            "[{ type: assert-set, when: failed, assert: [{ type: contains, value: v }] }]",
            "give each of its assertions the `when`",
        ),
        ("[{ type: assert-any, assert: [] }]", "that may pass"),
    ];
    for (list, what) in cases {
        let problems = compared(list).problems();
        assert!(problems[0].contains(what), "{problems:?}");
    }
}

#[test]
fn a_condition_names_what_stands_before() {
    let when = |condition: &str| {
        let list = format!(
            "[{{ type: not-contains, value: a, metric: m }}, {{ type: llm-rubric, value: v, provider: 'openai:j', when: {condition} }}]"
        );
        let checks = checks(&list);
        checks[1].members()[0].when.clone()
    };
    let expected = |passed, of| Some(WhenCondition { passed, of });
    assert_eq!(when("passed"), expected(true, Earlier::All));
    assert_eq!(when("{ is: failed }"), expected(false, Earlier::All));
    let kind = Earlier::Kind("not-contains".to_owned());
    assert_eq!(
        when("{ type: not-contains, is: failed }"),
        expected(false, kind)
    );
    let metric = Earlier::Metric("m".to_owned());
    assert_eq!(when("{ metric: m, is: passed }"), expected(true, metric));
}

#[test]
fn a_condition_on_nothing_is_said() {
    let nothing = |list: &str, what: &str| {
        let problems = folder(list).problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(what), "{problems:?}");
    };
    nothing("[{ type: is-json, when: passed }]", "there is none");
    nothing(
        "[{ type: equals, value: a }, { type: is-json, when: { type: contains, is: failed } }]",
        "none is of the type 'contains'",
    );
    nothing(
        "[{ type: equals, value: a }, { type: assert-set, assert: [{ type: is-json, when: failed }] }]",
        "there is none",
    );
    nothing(
        "[{ type: equals, value: a }, { type: is-json, when: perhaps }]",
        "must say `passed` or `failed`",
    );
    nothing(
        "[{ type: equals, value: a }, { type: is-json, when: { type: equals, metric: m, is: passed } }]",
        "not both",
    );
    // What `defaultTest` has stands before a test's own.
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ndefaultTest: { assert: [{ type: is-json }] }\n\
         tests: [{ assert: [{ type: contains, value: a, when: failed }] }]",
    );
    assert_eq!(folder.problems(), [""; 0]);
}

#[test]
fn comparisons_stand_apart_from_what_grades_a_case() {
    let plan = compared(
        "[{ type: is-json }, { type: select-best, value: short }, { type: max-score, value: { method: sum, weights: { is-json: 2 }, threshold: 0.5 } }]",
    )
    .plan();
    let test = &plan.tests.get(0).expect("a test");
    assert_eq!(test.assertions.len(), 1);
    let [best, highest]: &[Comparison; 2] = test.comparisons[..].try_into().expect("two");
    assert_eq!(best.winner, Winner::Judged);
    assert!(best.assertion.judges.text.is_some());
    let expected = HighestScore {
        method: Method::Sum,
        weights: [("is-json".to_owned(), 2.0)].into(),
        threshold: Some(0.5),
    };
    assert_eq!(highest.winner, Winner::Highest(expected));
    assert_eq!(test.json["assert"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_comparison_that_makes_no_sense_is_said() {
    let cases = [
        ("[{ type: select-best }]", "needs its criterion"),
        ("[{ type: not-select-best, value: v }]", "has no meaning"),
        (
            "[{ type: select-best, value: v, threshold: 1 }]",
            "takes no `threshold`",
        ),
        ("[{ type: max-score }]", "there are none"),
        (
            "[{ type: is-json }, { type: max-score, value: { method: median } }]",
            "`average` or `sum`",
        ),
        (
            "[{ type: is-json }, { type: max-score, value: { weights: { is-json: -1 } } }]",
            "no number from 0 to 1e6",
        ),
        (
            "[{ type: is-json }, { type: max-score, value: { wieghts: {} } }]",
            "knows no `wieghts`",
        ),
        (
            "[{ type: assert-set, assert: [{ type: select-best, value: v }] }]",
            "can't stand in a set",
        ),
    ];
    for (list, what) in cases {
        let problems = compared(list).problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(what), "{problems:?}");
    }
    let alone = Folder::new(
        "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: select-best, value: v, provider: 'openai:j' }] }]",
    );
    let problems = alone.problems();
    assert!(problems[0].contains("has 1"), "{problems:?}");
}

#[test]
fn what_a_person_is_asked_is_a_text_and_nothing_else() {
    let human = |assertion: &str| {
        let config =
            format!("prompts: [p]\nproviders: [echo]\ntests: [{{ assert: [{assertion}] }}]\n");
        let mut folder = Folder::new(&config);
        let types = &mut folder.catalog.assertion_types;
        types.insert(HUMAN.to_owned(), "runner".to_owned());
        folder
    };
    let plan = human("{ type: human, value: Is it polite?, metric: tone, weight: 2 }").plan();
    let test = &plan.tests.get(0).expect("a test");
    assert_eq!(test.assertions[0].members()[0].kind, HUMAN);
    for (assertion, expected) in [
        ("{ type: not-human }", "a person says yes or no"),
        ("{ type: human, threshold: 0.5 }", "takes no `threshold`"),
        ("{ type: human, transform: output }", "takes no `transform`"),
        ("{ type: human, value: [a] }", "takes a text as its `value`"),
    ] {
        let problems = human(assertion).problems();
        assert!(
            problems.iter().any(|it| it.contains(expected)),
            "{assertion}: {problems:?}"
        );
    }
}

#[test]
fn a_type_without_a_plugin_has_a_way_out() {
    for kind in [
        "pi",
        "agent-rubric",
        "search-rubric",
        "trace-span-count",
        "ruby",
    ] {
        let problems = folder(&format!("[{{ type: {kind}, value: v }}]")).problems();
        assert!(problems[0].contains("is not supported yet"), "{problems:?}");
        assert!(!problems[0].contains("there are:"), "{problems:?}");
    }
}
