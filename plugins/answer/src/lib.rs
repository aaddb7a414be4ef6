//! The assertion about the answer that a model puts between `<answer>` and `</answer>`.
//!
//! Models explain themselves before they answer, so the whole output can't be compared. Asked to
//! end with a block, they nearly always do, and what stands in it can. `block` finds it, this file
//! compares. What can't be read is a failing grade with its own word in the grade's metadata, so
//! that whoever counts can tell a wrong answer from one in the wrong form. Pure: the component
//! imports no function.

mod block;

use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input};

use block::Unread;

/// The grader.
pub struct Answer;

impl Assertion for Answer {
    fn describe() -> Info {
        runner_plugin::package_info!(
            "answer",
            "Compares what stands in the last <answer>…</answer> with the correct answers."
        )
        .assertion_type(AssertionType::new("answer").value_schema(&value_schema()))
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        let correct = correct(input)?;
        Ok(match block::last(&input.output) {
            Ok(answer) => judged(input, &answer, &correct),
            // An answer that can't be read is neither the expected one nor another one.
            Err(unread) => with_metadata(
                Grade::fail(unread.reason()),
                &json!({ "answer": null, "correct": false, "parseError": unread.word() }),
            ),
        })
    }
}

/// The grade of an answer that was read.
fn judged(input: &Input, answer: &str, correct: &[String]) -> Grade {
    // A choice may be about entities itself; a model copies it as it stands.
    let is = |one: &String| [one.clone(), block::unescaped(one)].map(|it| normal(&it));
    let is_correct = correct.iter().any(|one| is(one).contains(&normal(answer)));
    let expected = correct.join("' or '");
    let grade = input.judge(
        is_correct,
        format_args!("answer '{expected}', got '{answer}'"),
    );
    with_metadata(
        grade,
        &json!({ "answer": answer, "correct": is_correct, "parseError": null }),
    )
}

fn with_metadata(mut grade: Grade, metadata: &Value) -> Grade {
    grade.metadata_json = Some(metadata.to_string());
    grade
}

/// How answers are compared: without blank space around them, and without regard to case.
fn normal(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The correct answers that the assertion's value names.
fn correct(input: &Input) -> Result<Vec<String>, Error> {
    let value = input.value::<Value>()?.unwrap_or_default();
    let listed = value.get("correct").unwrap_or(&value);
    let texts = match listed {
        Value::Array(items) => items.iter().map(text).collect::<Option<Vec<_>>>(),
        one => text(one).map(|one| vec![one]),
    };
    let texts = texts.filter(|texts| texts.iter().any(|text| !text.trim().is_empty()));
    texts.ok_or_else(|| {
        Error::invalid_request(
            "the value of `answer` names no correct answer: it takes a text, a list of texts, or \
             { correct: [...] }",
        )
    })
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn value_schema() -> Value {
    let one = json!({ "type": ["string", "number", "boolean"] });
    let list = json!({ "type": "array", "items": one, "minItems": 1 });
    json!({ "anyOf": [
        one,
        list,
        {
            "type": "object",
            "properties": { "correct": { "anyOf": [one, list] } },
            "required": ["correct"],
            "additionalProperties": false
        }
    ] })
}

impl Unread {
    /// The word for programs.
    fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing-block",
            Self::Trailing => "trailing-text",
            Self::Empty => "empty-answer",
        }
    }

    /// The sentence for people.
    fn reason(self) -> &'static str {
        match self {
            Self::Missing => "The output has no <answer>…</answer>",
            Self::Trailing => "The output goes on after its last </answer>",
            Self::Empty => "The last <answer>…</answer> of the output is empty",
        }
    }
}

runner_plugin::export_assertion!(Answer);
