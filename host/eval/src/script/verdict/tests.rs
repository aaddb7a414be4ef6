//! Table tests of what results of code mean.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::script::Cause;

fn rules(inverse: bool, threshold: Option<f64>) -> Rules<'static> {
    Rules {
        inverse,
        threshold,
        code: " output > 1 ",
        language: "javascript",
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the tables hold what code gives")]
fn value(value: Value) -> CodeResult {
    Ok(Some(value))
}

#[test]
fn booleans_and_numbers_are_verdicts_and_scores() {
    // (gave, not-, threshold) → (pass, score)
    let cases = [
        (json!(true), false, None, (true, 1.0)),
        (json!(false), false, None, (false, 0.0)),
        (json!(true), true, None, (false, 0.0)),
        (json!(false), true, None, (true, 1.0)),
        // A threshold is about numbers.
        (json!(true), false, Some(2.0), (true, 1.0)),
        (json!(0), false, None, (false, 0.0)),
        (json!(0.1), false, None, (true, 0.1)),
        (json!(-1), false, None, (false, -1.0)),
        (json!(7), false, None, (true, 7.0)),
        (json!(0.4), false, Some(0.5), (false, 0.4)),
        (json!(0.5), false, Some(0.5), (true, 0.5)),
        (json!(0), false, Some(0.0), (true, 0.0)),
        (json!(0.4), true, Some(0.5), (true, 0.4)),
        (json!(0.4), true, None, (false, 0.4)),
    ];
    for (gave, inverse, threshold, expected) in cases {
        let grade = grade(&value(gave.clone()), rules(inverse, threshold));
        assert_eq!((grade.pass, grade.score), expected, "{gave} {inverse}");
    }
}

#[test]
fn reasons_show_what_was_given_and_the_code() {
    let reason = |gave, threshold| grade(&value(gave), rules(false, threshold)).reason;
    assert_eq!(reason(json!(true), None), "Assertion passed");
    assert_eq!(
        reason(json!(false), None),
        "the code gave false: output > 1"
    );
    assert_eq!(
        reason(json!(0.2), Some(0.5)),
        "the code gave 0.2 (threshold 0.5): output > 1"
    );
    let long = "é".repeat(SHOWN + 1);
    let rules = Rules {
        code: &long,
        ..rules(false, None)
    };
    let reason = grade(&value(json!(false)), rules).reason;
    assert!(reason.ends_with("é…"), "{reason}");
}

#[test]
fn an_object_says_everything_itself() {
    let stated = json!({
        "pass": false, "score": 0.75, "reason": "so so",
        "namedScores": {"tone": 0.5}, "metadata": {"k": 1},
        "componentResults": [
            {"pass": true, "score": 1, "reason": "a", "assertion": {"type": "equals", "weight": 2}},
            {"pass": false, "score": 0, "reason": "b", "assertion": {"type": "x", "metric": "m"}},
            {"pass": true, "score": 1, "reason": "c"},
        ],
    });
    let turn = |inverse| grade(&value(stated.clone()), rules(inverse, Some(0.5)));
    let plain = turn(false);
    assert_eq!(
        (plain.pass, plain.score),
        (false, 0.75),
        "no threshold counts"
    );
    assert_eq!(plain.reason, "so so");
    assert_eq!(plain.named_scores, [("tone".to_owned(), 0.5)]);
    assert_eq!(Value::Object(plain.metadata), json!({ "k": 1 }));
    let parts: Vec<(&str, f64)> = plain
        .components
        .iter()
        .map(|part| (part.name.as_str(), part.weight))
        .collect();
    assert_eq!(parts, [("equals", 2.0), ("m", 1.0), ("3", 1.0)]);
    let turned = turn(true);
    assert_eq!((turned.pass, turned.score), (true, 0.75));
    assert_eq!(turned.reason, "so so");
}

#[test]
fn anything_else_fails_and_says_why() {
    let cases = [
        (json!("true"), "it gave a text"),
        (json!(null), "it gave null"),
        (json!([1]), "it gave a list"),
        (json!({}), "its `pass` is missing"),
        (json!({"pass": 1}), "its `pass` is 1"),
        (json!({"pass": true, "score": "1"}), "its `score` is a text"),
        (json!({"pass": true, "score": 1}), "its `reason` is missing"),
        (
            json!({"pass": true, "score": 1, "reason": "", "namedScores": {"a": "b"}}),
            "its namedScores.a is a text",
        ),
        (
            json!({"pass": true, "score": 1, "reason": "", "componentResults": [1]}),
            "in its componentResults[0] is 1",
        ),
    ];
    for (gave, why) in cases {
        // Not even `not-` makes a pass of it.
        for inverse in [false, true] {
            let grade = grade(&value(gave.clone()), rules(inverse, None));
            assert_eq!((grade.pass, grade.score), (false, 0.0), "{gave}");
            assert!(grade.reason.ends_with(why), "{}", grade.reason);
        }
    }
    assert!(!grade(&Ok(None), rules(true, None)).pass);
}

#[test]
fn code_that_throws_fails_with_its_stack() {
    let thrown = Err(Fault(
        "Error: no (a:1:1)\n    at a:1:1".to_owned(),
        Cause::Code,
    ));
    for inverse in [false, true] {
        let grade = grade(&thrown, rules(inverse, None));
        assert!(!grade.pass);
        assert_eq!(
            grade.reason,
            "the code failed: Error: no (a:1:1)\n    at a:1:1"
        );
    }
}

#[test]
fn a_scoring_function_gives_an_object() {
    let good = json!({"pass": true, "score": 0.5, "reason": "r"});
    let grade = stated(&value(good));
    assert_eq!((grade.pass, grade.score, &*grade.reason), (true, 0.5, "r"));
    for bad in [
        value(json!(true)),
        Ok(None),
        Err(Fault("x".to_owned(), Cause::Code)),
    ] {
        let grade = stated(&bad);
        assert_eq!((grade.pass, grade.score), (false, 0.0));
        assert!(grade.reason.contains("scoring function"));
    }
}

proptest! {
    /// Whatever code gives, the grade has a finite score, and `not-` never passes both ways.
    #[test]
    fn any_result_is_a_grade(
        is in any::<bool>(),
        number in any::<f64>().prop_filter("JSON has no others", |n| n.is_finite()),
        threshold in proptest::option::of(-2.0..2.0_f64),
    ) {
        for gave in [json!(is), json!(number), json!({"pass": is, "score": number, "reason": ""})] {
            let plain = grade(&value(gave.clone()), rules(false, threshold));
            let turned = grade(&value(gave), rules(true, threshold));
            prop_assert!(plain.score.is_finite() && turned.score.is_finite());
            prop_assert_ne!(plain.pass, turned.pass);
        }
    }
}
