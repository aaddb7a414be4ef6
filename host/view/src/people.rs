//! What people say of cases is kept, and gives the verdict of those that wait for it (`human` assertions).
//!
//! A row with such an assertion has three grades: as it is while nobody said anything, with a thumb up, and with one
//! down. What is said chooses, a score lies between, and nothing said opens the case again. No rule of grading is
//! known here.

use std::collections::HashMap;

use runner_store::{Annotation, Outcome, Store, StoreError};
use serde_json::{Map, Value, json};

/// From this score on a person who gave no thumb says yes.
const GOOD: f64 = 0.5;

/// Keeps what a person says of cases, by the ids of their rows, and settles those that wait.
///
/// # Errors
/// [`StoreError`].
pub fn annotate<'a>(
    store: &Store,
    id: &str,
    said: impl IntoIterator<Item = (&'a str, &'a Annotation)> + Clone,
    at_ms: i64,
) -> Result<(), StoreError> {
    store.annotate(id, said.clone(), at_ms)?;
    let said: HashMap<&str, &Annotation> = said.into_iter().collect();
    let row_ids = said.keys().copied().collect();
    store.settle(id, &row_ids, |row_id, json| {
        settled(json, said.get(row_id)?)
    })
}

/// The record with what was said; `None` where it waits for nobody.
fn settled(json: &str, said: &Annotation) -> Option<(Outcome, f64, String)> {
    let mut record: Value = serde_json::from_str(json).ok()?;
    let by_people = record["gradingResult"].get("byPeople")?.clone();
    let given = said.thumb.map(|up| if up { 1.0 } else { 0.0 });
    let share = said.score.or(given).map(|it| it.clamp(0.0, 1.0));
    let says_yes = says_yes(said);
    let decides = by_people["up"]["pass"] != by_people["down"]["pass"];
    let grade = match says_yes {
        None => &by_people["open"],
        Some(true) => &by_people["up"],
        Some(false) => &by_people["down"],
    };
    let between = |name: &str| {
        let at = |side: &str| by_people[side][name].as_f64().unwrap_or_default();
        share.map_or_else(|| at("open"), |it| between_of(at("down"), at("up"), it))
    };
    // A row may be a stranger's: none passes with a thumb down, or with nothing said, that fails with one up.
    let can_pass = says_yes == Some(true) || by_people["up"]["pass"] == true;
    let (pass, score) = (grade["pass"] == true && can_pass, between("score"));
    let names = share.map_or_else(
        || map(&by_people["open"]["namedScores"]),
        |it| mixed(&by_people, it),
    );
    record["namedScores"] = json!(names);
    let grading = &mut record["gradingResult"];
    grading["namedScores"] = json!(names);
    for key in ["reason", "namedScoreWeights"] {
        grading[key] = grade[key].clone();
    }
    grading["pass"] = json!(pass);
    grading["score"] = json!(score);
    for at in by_people["assertions"].as_array().into_iter().flatten() {
        let Some(component) = grading["componentResults"].get_mut(at.as_u64()? as usize) else {
            continue;
        };
        component["pass"] = json!(says_yes == Some(true));
        component["score"] = json!(share.unwrap_or_default());
        component["reason"] = json!(reason(says_yes, said));
        component["skipped"] = json!(says_yes.is_none());
    }
    // An error of another assertion, or a limit, is not a person's to decide.
    let outcome = Outcome::ALL
        .into_iter()
        .find(|it| record["outcome"] == it.as_str())?;
    if !matches!(
        outcome,
        Outcome::Passed | Outcome::Failed | Outcome::Waiting
    ) {
        return Some((outcome, record["score"].as_f64()?, record.to_string()));
    }
    let waits = says_yes.is_none() && decides;
    let outcome = match (pass, waits) {
        (true, _) => Outcome::Passed,
        (false, true) => Outcome::Waiting,
        (false, false) => Outcome::Failed,
    };
    conclude(&mut record, outcome, score);
    Some((outcome, score, record.to_string()))
}

/// Whether a person says that it is good: the thumb, or else the score.
pub(crate) fn says_yes(said: &Annotation) -> Option<bool> {
    said.thumb.or(said.score.map(|it| it >= GOOD))
}

/// What the row says of how the case ended.
fn conclude(record: &mut Value, outcome: Outcome, score: f64) {
    let pass = outcome == Outcome::Passed;
    record["score"] = json!(score);
    record["success"] = json!(pass);
    record["failureReason"] = json!(outcome.failure_reason());
    record["outcome"] = json!(outcome.as_str());
    let reason = record["gradingResult"]["reason"].clone();
    let Some(record) = record.as_object_mut() else {
        return;
    };
    for (key, value) in [
        ("error", (!pass).then_some(reason)),
        (
            "errorCode",
            (outcome == Outcome::Waiting).then(|| json!("human")),
        ),
    ] {
        match value {
            Some(value) => drop(record.insert(key.to_owned(), value)),
            None => drop(record.remove(key)),
        }
    }
}

/// Each metric, so far from its figure with a thumb down to that with one up.
fn mixed(by_people: &Value, share: f64) -> Map<String, Value> {
    let (up, down) = (
        map(&by_people["up"]["namedScores"]),
        map(&by_people["down"]["namedScores"]),
    );
    let of = |(name, up): (String, Value)| {
        let up = up.as_f64()?;
        let down = down.get(&name).and_then(Value::as_f64).unwrap_or(up);
        Some((name, json!(between_of(down, up, share))))
    };
    up.into_iter().filter_map(of).collect()
}

/// A figure so far from one to another. It is a number whatever these are: their difference may be none.
fn between_of(down: f64, up: f64, share: f64) -> f64 {
    down * (1.0 - share) + up * share
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn reason(says_yes: Option<bool>, said: &Annotation) -> String {
    let word = match says_yes {
        None => return "waits for a person's verdict".to_owned(),
        Some(true) => "a person says that it is good",
        Some(false) => "a person says that it is not good",
    };
    match &said.comment {
        Some(comment) => format!("{word}: {comment}"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> String {
        let grade = |pass: bool, score: f64, tone: f64| {
            json!({ "pass": pass, "score": score, "reason": if pass { "All assertions passed" } else { "no" },
                "namedScores": { "tone": tone }, "namedScoreWeights": { "tone": 1.0 } })
        };
        let mut open = grade(false, 1.0, 0.0);
        open["namedScores"] = json!({});
        json!({
            "outcome": "waiting", "success": false, "score": 1.0, "failureReason": 1, "error": "waits", "errorCode": "human",
            "namedScores": {},
            "gradingResult": { "pass": false, "score": 1.0, "reason": "waits", "namedScores": {}, "namedScoreWeights": {},
                "componentResults": [{ "pass": true, "score": 1.0 }, { "pass": false, "score": 0.0, "skipped": true }],
                "byPeople": { "assertions": [1], "open": open, "up": grade(true, 1.0, 1.0), "down": grade(false, 0.5, 0.0) } },
        })
        .to_string()
    }

    fn said(thumb: Option<bool>, score: Option<f64>) -> Annotation {
        Annotation {
            thumb,
            score,
            ..Annotation::default()
        }
    }

    #[test]
    fn a_thumb_decides_a_score_lies_between_and_nothing_opens_the_case_again() {
        for (thumb, score, outcome, expected, tone) in [
            (Some(true), None, Outcome::Passed, 1.0, 1.0),
            (Some(false), None, Outcome::Failed, 0.5, 0.0),
            (None, Some(0.8), Outcome::Passed, 0.9, 0.8),
            (None, Some(0.2), Outcome::Failed, 0.6, 0.2),
            (Some(false), Some(0.8), Outcome::Failed, 0.9, 0.8),
        ] {
            let (found, score, json) = settled(&record(), &said(thumb, score)).expect("it waits");
            assert_eq!(
                (found, (score * 1e9).round()),
                (outcome, (expected * 1e9_f64).round())
            );
            let read: Value = serde_json::from_str(&json).expect("a record");
            assert_eq!(read["success"], found == Outcome::Passed);
            assert_eq!(read.get("errorCode"), None);
            assert!((read["namedScores"]["tone"].as_f64().expect("a score") - tone).abs() < 1e-9);
            assert_eq!(
                read["gradingResult"]["componentResults"][1]["skipped"],
                false
            );
            let (again, _, json) = settled(&json, &Annotation::default()).expect("it waits");
            let read: Value = serde_json::from_str(&json).expect("a record");
            assert_eq!(
                (again, &read["errorCode"]),
                (Outcome::Waiting, &json!("human"))
            );
            assert_eq!(
                (&read["error"], &read["score"]),
                (&json!("no"), &json!(1.0))
            );
        }
    }

    #[test]
    fn a_strangers_row_turns_no_word_around_and_stays_readable() {
        let mut record: Value = serde_json::from_str(&record()).expect("a record");
        let by_people = &mut record["gradingResult"]["byPeople"];
        (by_people["up"]["pass"], by_people["down"]["pass"]) = (json!(false), json!(true));
        (by_people["up"]["score"], by_people["down"]["score"]) = (json!(1e308), json!(-1e308));
        for (thumb, expected) in [(Some(false), -1e308), (Some(true), 1e308)] {
            let (outcome, score, json) =
                settled(&record.to_string(), &said(thumb, None)).expect("it waits");
            assert_eq!((outcome, score), (Outcome::Failed, expected));
            let read: Value = serde_json::from_str(&json).expect("a record");
            assert_eq!(read["gradingResult"]["pass"], false);
            assert!(read["score"].is_f64());
        }
    }

    #[test]
    fn what_waits_for_nobody_and_what_is_an_error_keep_their_verdict() {
        assert_eq!(
            settled(
                r#"{"outcome":"failed","gradingResult":{}}"#,
                &said(Some(true), None)
            ),
            None
        );
        assert_eq!(settled("{", &said(Some(true), None)), None);
        let error = record().replace("\"outcome\":\"waiting\"", "\"outcome\":\"error\"");
        let (outcome, ..) = settled(&error, &said(Some(true), None)).expect("it waits");
        assert_eq!(outcome, Outcome::Error);
    }
}
