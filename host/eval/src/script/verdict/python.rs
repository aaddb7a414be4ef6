//! What a result means where code is Python: promptfoo reads more of them.
//!
//! A text is a boolean (`"True"`), an object (JSON) or a number; an object may have its keys the
//! Python way (`pass_`, `named_scores`, `component_results`), and a threshold does count for it.
//! Whatever this makes of a result is then graded as JavaScript's.

use std::borrow::Cow;

use runner_sandbox::abi::ReadGrade;
use serde_json::{Map, Value};

use super::{Rules, by_value, read, wrong};
use crate::script::CodeResult;

/// Keys as Python writes them, and what they are called here.
const KEYS: [(&str, &str); 5] = [
    ("pass_", "pass"),
    ("named_scores", "namedScores"),
    ("named_score_weights", "namedScoreWeights"),
    ("component_results", "componentResults"),
    ("tokens_used", "tokensUsed"),
];

/// A grade by what the code gave.
pub(super) fn grade(given: &CodeResult, rules: Rules<'_>) -> ReadGrade {
    let Ok(Some(value)) = given else {
        return by_value(given, rules);
    };
    match meaning(value).as_ref() {
        Value::Object(stated) => object(stated, rules),
        other => by_value(&Ok(Some(other.clone())), rules),
    }
}

/// What a text stands for; anything else as it is.
fn meaning(value: &Value) -> Cow<'_, Value> {
    let Value::String(text) = value else {
        return Cow::Borrowed(value);
    };
    let word = text.to_lowercase();
    let meant = match word.as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ if text.starts_with('{') => serde_json::from_str(text).ok(),
        _ => number(text).map(Value::from),
    };
    meant.map_or(Cow::Borrowed(value), Cow::Owned)
}

/// The number that a text begins with, as JavaScript's `parseFloat` finds it.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let end = text.find(|c| !numeric(c)).unwrap_or(text.len());
    // The longest part that is a number: `1.5.2` begins with 1.5, `1e` with 1.
    let mut ends = (1..=end).rev();
    let number = ends.find_map(|end| text[..end].parse::<f64>().ok())?;
    number.is_finite().then_some(number)
}

/// `{ pass, score, reason }` in Python's words. A score below the threshold fails, and `not-`
/// turns what comes of it.
fn object(stated: &Map<String, Value>, rules: Rules<'_>) -> ReadGrade {
    let mut grade = match read(&renamed(stated)) {
        Ok(grade) => grade,
        Err(why) => return wrong(&why),
    };
    if let Some(threshold) = rules.threshold.filter(|least| grade.score < *least) {
        grade.pass = false;
        let score = grade.score;
        let below = format!("the score {score} is below the threshold {threshold}");
        grade.reason = if grade.reason.is_empty() {
            below
        } else {
            format!("{below}: {}", grade.reason)
        };
    }
    if rules.inverse {
        grade.pass = !grade.pass;
        let gave = format!("the code gave {}", !grade.pass);
        grade.reason = if grade.pass {
            "Assertion passed".to_owned()
        } else {
            gave
        };
    }
    grade
}

/// What was stated, with its keys and those of its parts as they are called here.
fn renamed(stated: &Map<String, Value>) -> Map<String, Value> {
    let mut named = stated.clone();
    for (python, name) in KEYS {
        if let Some(value) = stated.get(python).filter(|_| !stated.contains_key(name)) {
            named.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(Value::Array(parts)) = named.get_mut("componentResults") {
        for part in parts {
            if let Value::Object(stated) = part {
                *part = Value::Object(renamed(stated));
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::script::PYTHON;

    fn graded(gave: Value, inverse: bool, threshold: Option<f64>) -> ReadGrade {
        let rules = Rules {
            inverse,
            threshold,
            code: "x",
            language: PYTHON,
        };
        super::super::grade(&Ok(Some(gave)), rules)
    }

    #[test]
    fn texts_are_booleans_numbers_and_objects() {
        let cases = [
            (json!(true), None, (true, 1.0)),
            (json!("True"), None, (true, 1.0)),
            (json!("false"), None, (false, 0.0)),
            (json!("0.5"), None, (true, 0.5)),
            (json!(" 0.5 of 1"), Some(0.6), (false, 0.5)),
            (json!("1.5.2"), None, (true, 1.5)),
            (json!("-1e"), None, (false, -1.0)),
            (json!(0), None, (false, 0.0)),
            (json!(0.5), Some(0.5), (true, 0.5)),
            (
                json!("{\"pass\": true, \"score\": 0.3, \"reason\": \"r\"}"),
                None,
                (true, 0.3),
            ),
            (json!("yes"), None, (false, 0.0)),
            (json!("{broken"), None, (false, 0.0)),
            (json!("inf"), None, (false, 0.0)),
            (json!(null), None, (false, 0.0)),
            (json!([1]), None, (false, 0.0)),
        ];
        for (gave, threshold, expected) in cases {
            let grade = graded(gave.clone(), false, threshold);
            assert_eq!((grade.pass, grade.score), expected, "{gave}");
        }
    }

    #[test]
    fn an_object_has_its_keys_the_python_way() {
        let part = json!({"pass_": true, "score": 1, "reason": "p"});
        let gave = json!({
            "pass_": true, "score": 0.75, "reason": "so so",
            "named_scores": {"tone": 0.5}, "component_results": [part],
        });
        let grade = graded(gave, false, None);
        assert!(grade.pass);
        assert_eq!(grade.named_scores, [("tone".to_owned(), 0.5)]);
        assert_eq!(grade.components[0].reason, "p");
        let both = json!({"pass": false, "pass_": true, "score": 1, "reason": ""});
        assert!(!graded(both, false, None).pass);
        let without = graded(json!({"pass_": true, "score": 1}), false, None);
        assert!(
            without.reason.ends_with("its `reason` is missing"),
            "{}",
            without.reason
        );
    }

    #[test]
    fn a_threshold_counts_for_objects() {
        let gave = |reason: &str| json!({"pass": true, "score": 0.4, "reason": reason});
        let grade = graded(gave("so so"), false, Some(0.5));
        assert_eq!((grade.pass, grade.score), (false, 0.4));
        let below = "the score 0.4 is below the threshold 0.5";
        assert_eq!(grade.reason, format!("{below}: so so"));
        assert_eq!(graded(gave(""), false, Some(0.5)).reason, below);
        assert!(graded(gave("r"), false, Some(0.4)).pass);
        let turned = graded(gave("r"), true, Some(0.5));
        assert_eq!((turned.pass, &*turned.reason), (true, "Assertion passed"));
        let turned = graded(gave("r"), true, None);
        assert_eq!(
            (turned.pass, &*turned.reason),
            (false, "the code gave true")
        );
    }

    proptest! {
        /// Whatever text code gives is a grade with a finite score.
        #[test]
        fn any_text_is_a_grade(text in "[ -~é]{0,20}|[-+.0-9eE]{0,8}", inverse in any::<bool>()) {
            let grade = graded(json!(text), inverse, None);
            prop_assert!(grade.score.is_finite());
        }
    }
}
