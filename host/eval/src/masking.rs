//! What a run tells and keeps, without secrets: finished records, and what the config calls things.
//!
//! The gateway has masked what servers sent. What is left is a secret that a config put into a
//! prompt, a variable or a name itself. Only texts are masked, never the record's own structure: a key
//! such as `provider` or `00000000` would otherwise take its fields and numbers apart.

use std::borrow::Cow;
use std::sync::Arc;

use runner_config::plan::{Plan, PlannedTask, Question};
use runner_gateway::{Masker, Secret};
use serde_json::{Map, Value};

use crate::record::{CaseRecord, size};
use crate::summary::Summary;

/// Fields whose objects have keys that a user or a server chose.
const FREE: [&str; 9] = [
    "vars",
    "testCase",
    "metadata",
    "output",
    "raw",
    "assertion",
    "config",
    "namedScores",
    "namedScoreWeights",
];

/// The record without secrets, and its JSON. One that is too large to be kept is left without its
/// large parts, as an error that says so.
pub(crate) fn masked(record: CaseRecord, masker: &Masker) -> (CaseRecord, String) {
    let (record, json) = size::bounded(record, masker);
    if matches!(masker.mask(&json), Cow::Borrowed(_)) {
        return (record, json);
    }
    let mut value: Value = serde_json::from_str(&json).expect("it was just written");
    walk(&mut value, masker, false);
    let Value::Object(fields) = &mut value else {
        unreachable!("a record is an object")
    };
    // Words of ours, not texts.
    fields.insert("id".to_owned(), record.id.clone().into());
    fields.insert("promptId".to_owned(), record.prompt_id.clone().into());
    let outcome = serde_json::to_value(record.conclusion.outcome()).expect("an outcome is a word");
    fields.insert("outcome".to_owned(), outcome);
    if let (Some(question), Some(masked)) = (&record.question, fields.get_mut("question")) {
        let words = [
            ("parseError", serde_json::to_value(question.parse_error)),
            ("runError", serde_json::to_value(question.run_error)),
        ];
        for (name, word) in words {
            let word = word.expect("an error is a word");
            if !word.is_null() {
                masked[name] = word;
            }
        }
    }
    let record = serde_json::from_value(value).expect("only texts were masked");
    size::bounded(record, masker)
}

/// JSON without secrets in its texts, and in its keys if the user chose them.
pub(crate) fn masked_json(mut value: Value, user_keys: bool, masker: &Masker) -> Value {
    walk(&mut value, masker, user_keys);
    value
}

/// Knows the secrets that the config declares, or fills into providers.
pub(crate) fn declared(plan: &Plan) -> Masker {
    let secrets: Vec<Secret> = plan.secrets().map(Secret::new).collect();
    Masker::new(&secrets)
}

/// What a plan says of itself, without the secrets that its config declares.
pub fn without_secrets(plan: &Plan, told: Value) -> Value {
    masked_json(told, false, &declared(plan))
}

/// Takes secrets out of the names in a summary. What comes from records has none.
pub(crate) fn mask_summary(summary: &mut Summary, masker: &Masker) {
    let clean = |name: &mut String| {
        if let Cow::Owned(masked) = masker.mask(name) {
            *name = masked;
        }
    };
    for (_, tally) in &mut summary.columns {
        tally.derived.iter_mut().for_each(|(name, _)| clean(name));
    }
    let budgets = summary.budgets.iter_mut();
    budgets.for_each(|statement| clean(&mut statement.owner));
    for lane in &mut summary.lanes {
        if let Cow::Owned(masked) = masker.mask(&lane.lane) {
            lane.lane = masked.into();
        }
    }
}

/// A question as it is told.
pub(crate) fn masked_question(question: &Question, masker: &Masker) -> Arc<Question> {
    let clean = |text: &String| masker.mask(text).into_owned();
    Arc::new(Question {
        task: clean_name(&question.task, masker),
        id: question.id.as_ref().map(clean),
        text: clean(&question.text),
        answers: question.answers.iter().map(clean).collect(),
        correct_answers: question.correct_answers.iter().map(clean).collect(),
        ..question.clone()
    })
}

/// The tasks of a plan, by the names that their records have.
pub(crate) fn masked_tasks(plan: &Plan, masker: &Masker) -> Vec<PlannedTask> {
    let mut tasks = plan.tasks();
    for task in &mut tasks {
        task.task = clean_name(&task.task, masker);
    }
    tasks
}

fn clean_name(name: &Arc<str>, masker: &Masker) -> Arc<str> {
    match masker.mask(name) {
        Cow::Borrowed(_) => name.clone(),
        Cow::Owned(clean) => clean.into(),
    }
}

fn walk(value: &mut Value, masker: &Masker, free: bool) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = masker.mask(text) {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, masker, free)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            *fields = old
                .into_iter()
                .map(|(key, mut value)| {
                    walk(&mut value, masker, free || FREE.contains(&key.as_str()));
                    let key = if free {
                        masker.mask(&key).into_owned()
                    } else {
                        key
                    };
                    (key, value)
                })
                .collect::<Map<_, _>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn record(text: &str) -> CaseRecord {
        let value = json!({
            "id": "01a1f998-1e86-74ef-bd7e-e393f82235ce", "promptIdx": 0, "testIdx": 12_345_678,
            "repeatIndex": 0, "promptId": "abc", "provider": { "id": "openai:m" },
            "prompt": { "raw": text, "label": "l" }, "vars": { text: text, "n": 0.000_000_001_23 },
            "testCase": { "vars": { text: [text] } },
            "response": { "output": { text: text }, "cached": false,
                "tokenUsage": { "total": 0, "prompt": 0, "completion": 0, "cached": 0, "numRequests": 1 } },
            "namedScores": {}, "score": 0.0, "success": false, "error": text, "failureReason": 2,
            "outcome": "budget-exceeded", "latencyMs": 100_000_000,
            "tokenUsage": { "total": 0, "prompt": 0, "completion": 0, "cached": 0, "numRequests": 1 },
            "metadata": { text: text },
        });
        serde_json::from_value(value).expect("a record")
    }

    #[test]
    fn a_secret_that_is_a_field_or_a_number_leaves_the_structure_alone() {
        for secret in [
            "provider",
            "promptIdx",
            "latencyMs",
            "00000000",
            "12345678",
            "budget-exceeded",
        ] {
            let masker = Masker::new(&[Secret::new(secret)]);
            let (clean, json) = masked(record(&format!("it is {secret}.")), &masker);
            assert_eq!(
                clean.conclusion.outcome(),
                crate::record::Outcome::BudgetExceeded
            );
            assert_eq!(
                clean.conclusion.error(),
                Some("it is [masked]."),
                "{secret}"
            );
            assert_eq!(clean.test_idx, 12_345_678);
            assert!(!json.contains(&format!("it is {secret}")), "{json}");
        }
    }

    #[test]
    fn a_question_is_told_without_secrets() {
        let question = Question {
            task: "of sk-0123456789".into(),
            index: 1,
            id: Some("sk-0123456789".to_owned()),
            text: "what is sk-0123456789?".to_owned(),
            answers: vec!["sk-0123456789".to_owned()],
            correct_answers: vec!["sk-0123456789".to_owned()],
            budget: runner_config::plan::QuestionBudget::default(),
            in_turn: false,
        };
        let told = masked_question(&question, &Masker::new(&[Secret::new("sk-0123456789")]));
        assert_eq!(&*told.task, "of [masked]");
        assert!(!format!("{told:?}").contains("sk-0123456789"));
        assert_eq!(*masked_question(&question, &Masker::default()), question);
    }

    proptest! {
        #[test]
        fn any_secret_is_masked_in_texts_and_breaks_nothing(secret in "[ -~]{8,20}") {
            let secret = secret.trim().to_owned();
            prop_assume!(secret.len() >= 8 && !"[masked]".contains(&secret));
            let masker = Masker::new(&[Secret::new(secret.clone())]);
            let (clean, _) = masked(record(&format!("<{secret}>")), &masker);
            prop_assert!(!clean.prompt.raw.contains(&secret));
            prop_assert!(clean.vars.keys().all(|key| !key.contains(&secret)));
            prop_assert!(!clean.conclusion.error().unwrap_or_default().contains(&secret));
        }
    }
}
