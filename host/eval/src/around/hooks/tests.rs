//! What a hook may change of a case, and what of a row counts.

use runner_config::plan::Plan;

use super::*;
use crate::fixture;

fn plan(test: &str) -> Plan {
    fixture::plan(&format!(
        "prompts: ['{{{{a}}}}']\nproviders: [echo]\ntests: [{test}]"
    ))
}

const TEST: &str = "{ description: d, vars: { a: 1, b: 2 }, options: { prefix: p, transform_not: 1 }, \
                    metadata: { m: 1 }, assert: [{ type: equals, value: x }] }";

/// The case after its test was changed by `with`.
fn changed(with: impl FnOnce(&mut Value)) -> Result<Case, String> {
    let mut case = plan(TEST).cases().next().expect("one case");
    let before = TestCase::of(&case).to_value();
    let mut after = before.clone();
    with(&mut after);
    let Value::Object(after) = after else {
        return Err("no map".to_owned());
    };
    change(&mut case, &before, after).map(|()| case)
}

#[test]
fn what_a_hook_changes_counts_and_shows() {
    let case = changed(|test| {
        test["vars"] = json!({ "a": "new" });
        test["threshold"] = json!(0.5);
        test["metadata"]["more"] = json!(2);
        test["options"]["prefix"] = json!("q ");
        test["assert"][0]["value"] = json!("y");
        test["assert"][0]["weight"] = json!(2);
    })
    .expect("all of it can be changed");
    assert_eq!(case.render().expect("renders").text, "q new");
    assert_eq!(*case.scope, *case.vars);
    assert_eq!(case.vars.len(), 1);
    assert_eq!(case.test.threshold, Some(0.5));
    assert_eq!(case.test.metadata["more"], 2);
    let assertion = &case.test.assertions[0].members()[0];
    assert_eq!(
        (&assertion.value, assertion.weight),
        (&Some(json!("y")), 2.0)
    );
    assert_eq!(TestCase::of(&case)["assert"][0]["value"], "y");
    let bare = changed(|test| {
        drop(
            test.as_object_mut()
                .and_then(|test| test.remove("description")),
        );
    });
    assert_eq!(bare.expect("it may go").test.description, None);
}

#[test]
fn what_was_read_before_the_run_can_not_be_changed() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 7] = [
        (
            |test| test["vars"] = json!(1),
            "`test.vars` must stay an object, not 1",
        ),
        (
            |test| test["provider"] = json!("x"),
            "`test.provider` can't be changed here",
        ),
        (
            |test| test["options"]["transform"] = json!("x"),
            "`test.options.transform` can't be changed",
        ),
        (
            |test| test["assert"] = json!([]),
            "assertions can't be added or removed here",
        ),
        (
            |test| test["assert"][0]["type"] = json!("x"),
            "`test.assert[0]`: `type` can't be changed here",
        ),
        (
            |test| test["assert"][0]["value"] = json!("file://x"),
            "`value` can't be changed here",
        ),
        (
            |test| test["threshold"] = json!("x"),
            "`test.threshold` can't be changed here",
        ),
    ];
    for (with, expected) in cases {
        let why = changed(with).expect_err(expected);
        assert!(why.contains(expected), "{why}");
    }
}

/// Beside the words of data a hook is the config's code all the same, and can't tell them from its own.
#[test]
fn where_others_words_are_a_hook_says_no_more_than_they_may() {
    let changed = |with: fn(&mut Value)| {
        let mut case = plan(TEST).cases().next().expect("one case");
        case.has_others_words = true;
        let before = TestCase::of(&case).to_value();
        let mut after = before.clone();
        with(&mut after);
        let after = after.as_object().cloned().unwrap_or_default();
        change(&mut case, &before, after).map(|()| case)
    };
    for with in [
        (|test| test["options"]["model"] = json!("other")) as fn(&mut Value),
        |test| test["options"]["headers"] = json!({ "x": "y" }),
        |test| test["assert"][0]["weight"] = json!(101),
    ] {
        assert!(changed(with).is_err());
    }
    let case = changed(|test| {
        test["options"]["temperature"] = json!(0);
        test["options"]["suffix"] = json!("!");
        test["assert"][0]["value"] = json!("y");
    });
    let case = case.expect("a row may say so");
    assert!(case.test.assertions[0].members()[0].of_data);
}
