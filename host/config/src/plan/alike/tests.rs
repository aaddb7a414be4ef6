//! Tests come back as they were kept, and those that are alike are small.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Tests;
use crate::fixture::Folder;
use crate::plan::{Check, Test};

/// A test of a config that has everything in which tests may differ.
fn written() -> Test {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ntests:\n  - description: d\n    metadata: { m: x }\n    \
         vars: { q: a }\n    assert: [{ type: equals, value: a, metric: m }, { type: assert-set, \
         assert: [{ type: equals, value: b }] }]",
    );
    let test = folder.plan().tests.get(0);
    Test::clone(&test.expect("a test"))
}

/// The tests as they come back, in words that show the order of fields too.
fn kept(tests: &[Test]) -> (Tests, Vec<String>) {
    let mut all = Tests::default();
    for test in tests {
        all.push(test.clone());
    }
    let words = all.iter().map(|test| format!("{test:?}")).collect();
    (all, words)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z1\"\\[\u{e9}]{0,5}".prop_map(Value::from),
        "x{100,200}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let fields = prop::collection::vec(("[ab]", inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

prop_compose! {
    fn test()(
        description in prop::option::of("[a-z]{0,4}"),
        (a, b, m) in (value(), value(), value()),
        turned in any::<bool>(),
        (line, column) in (0_u32..300, 1_u32..3),
        weight in 0_u8..2,
    ) -> Test {
        let mut test = written();
        let mut fields = vec![("a".to_owned(), a.clone()), ("b".to_owned(), b)];
        if turned {
            fields.reverse();
        }
        Arc::make_mut(&mut test.json)["description"] = json!(description);
        Arc::make_mut(&mut test.json)["metadata"] = m.clone();
        test.description = description;
        test.vars = fields.into_iter().collect();
        test.metadata.insert("m".to_owned(), m);
        (test.at.line, test.at.column) = (line, column);
        if let Check::One(assertion) = &mut Arc::make_mut(&mut test.assertions)[0] {
            assertion.value = Some(a.clone());
            Arc::make_mut(&mut assertion.json)["value"] = a;
            assertion.weight = f64::from(weight);
            assertion.at.line = line;
        }
        test
    }
}

proptest! {
    #[test]
    fn tests_come_back_as_they_were(tests in prop::collection::vec(test(), 1..12)) {
        let expected: Vec<String> = tests.iter().map(|test| format!("{test:?}")).collect();
        prop_assert_eq!(kept(&tests).1, expected);
    }

    #[test]
    fn no_assertion_is_missed_among_the_tests_that_have_their_own(
        tests in prop::collection::vec((test(), 0_u8..3), 1..12),
        leaves_out in any::<u16>(),
    ) {
        let mut all = Tests::default();
        for (mut test, checks) in tests {
            let mut shared = written();
            for check in Arc::make_mut(&mut shared.assertions) {
                check.members_mut().iter_mut().for_each(|it| it.value = Some(checks.into()));
            }
            test.assertions = shared.assertions;
            all.push(test);
        }
        all.keep(|place| leaves_out & (1 << place) == 0);
        let words = |test: Arc<Test>| format!("{:?}", test.assertions);
        let own: BTreeSet<String> = all.with_own_checks().map(words).collect();
        let every: BTreeSet<String> = all.iter().map(words).collect();
        prop_assert!(every.is_subset(&own));
    }
}

#[test]
fn a_test_that_is_like_another_takes_what_tells_it_apart() {
    let mut tests = Tests::default();
    let mut test = written();
    assert!(tests.push(test.clone()) > 3000);
    test.vars.insert("q".to_owned(), json!("y".repeat(100)));
    test.at.line = 1000;
    let weight = tests.push(test.clone());
    assert!((100..180).contains(&weight), "{weight}");
    test.threshold = Some(1.0);
    assert!(tests.push(test) > 3000);
}

#[test]
fn models_are_found_again_while_forms_take_turns() {
    let forms = ["a", "b", "c", "d"].map(|name| {
        let mut test = written();
        test.vars = [(name.to_owned(), json!(1))].into_iter().collect();
        test
    });
    let (tests, words) = kept(&[forms.clone(), forms.clone()].concat());
    assert_eq!(words[..4], words[4..]);
    for index in 0..4 {
        let (one, other) = (tests.model(index), tests.model(index + 4));
        assert!(std::ptr::eq(one.expect("one"), other.expect("other")));
    }
}

#[test]
fn what_is_taken_out_or_changed_leaves_the_others_as_they_were() {
    let tests = || {
        let numbered = (0..6).map(|n| {
            let mut test = written();
            test.vars.insert("q".to_owned(), json!(n));
            test
        });
        kept(&numbered.collect::<Vec<_>>()).0
    };
    let numbers =
        |tests: &Tests| -> Vec<Value> { tests.iter().map(|test| test.vars["q"].clone()).collect() };
    let mut some = tests();
    some.keep(|index| index % 2 == 1);
    assert_eq!(numbers(&some), [1, 3, 5]);
    some.retain_mut(|test| {
        test.repeat = 2;
        test.vars["q"] != json!(3)
    });
    assert_eq!(numbers(&some), [1, 5]);
    assert!(some.models().all(|test| test.repeat == 2) && some.len() == 2);
}
