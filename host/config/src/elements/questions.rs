//! Question sets: `questions://FILE`, `file://x.questions.yaml`, and the file of a task.
//!
//! A file holds questions with their choices and which of them are correct. Each question becomes
//! a test: variables for the prompt, and the assertion `answer`, which a plugin serves. So
//! everything that a run does with tests it does with questions. What is wrong with a file is
//! found before anything is spent, and named by the status that a task would have.
//!
//! Questions are data: no text of theirs is read as a template or as the name of a file.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::prompts;
use super::reading::{Document, Reading};
use super::test_case::{Draft, TestReader};
use crate::model::{Position, TextOrigin};
use crate::plan::{Assertion, Judges, Prompt, Question, QuestionBudget, Test};
use crate::read::entry::Entry;
use crate::read::files::{has_extension, without_scheme};

mod file;

use file::WrittenQuestion;

/// What a source of this kind begins with.
const SCHEME: &str = "questions://";

/// What the name of a file of this kind ends with, before its extension.
const SUFFIX: &str = ".questions";

/// The assertion type that reads answers.
const ANSWER: &str = "answer";

/// The prompt where the config writes none; a user's own has the same variables.
pub(crate) const PROMPT: &str = "\
Choose the answer to the question below.

Question: {{ question }}

Answer choices:
{% for answer in answers %}- {{ answer }}
{% endfor %}
You may think first. End your reply with the text of the choice that you take, word for word, between these tags, and write nothing after them:
<answer>...</answer>";

/// The variable that holds the question.
const QUESTION: &str = "question";

/// What its column is called.
const LABEL: &str = "question";

/// The path of the question set that a text of `tests` names, if it does.
pub(crate) fn file_named(text: &str) -> Option<&str> {
    if let Some(path) = text.strip_prefix(SCHEME) {
        return Some(path);
    }
    let path = without_scheme(text);
    let is_tree = has_extension(Path::new(path), &["yaml", "yml", "json"]);
    let stem = Path::new(path).file_stem()?.to_str()?;
    (is_tree && stem.ends_with(SUFFIX)).then_some(path)
}

/// The built-in prompt, if the configs hold questions, nothing but questions, and no prompts.
/// Questions beside other tests need prompts of the user's.
pub(crate) fn prompt(documents: &[Document<'_>]) -> Option<Vec<Arc<Prompt>>> {
    let has = |key: &str| documents.iter().any(|one| one.root.get(key).is_some());
    let sources: Vec<(Entry<'_>, Reading<'_>)> = documents
        .iter()
        .filter_map(|one| Some((one.root.get("tests")?, one.reading)))
        .collect();
    let named = |entry: &Entry<'_>| entry.text().and_then(file_named).is_some();
    let asks = |entry: &Entry<'_>| named(entry) || entry.items().any(|item| named(&item));
    let other = |entry: &Entry<'_>| {
        if entry.is_list() {
            entry.items().any(|item| !named(&item))
        } else {
            !named(entry)
        }
    };
    let questions = has("tasks") || sources.iter().any(|(entry, _)| asks(entry));
    if has("prompts") || !questions {
        return None;
    }
    let Document { root, reading } = documents.first()?;
    if let Some((entry, reading)) = sources.iter().find(|(entry, _)| other(entry)) {
        let help =
            "write `prompts`; for questions they have {{ question }} and the list {{ answers }}";
        let message = "questions and other tests in one config need prompts of its own";
        reading.findings.error_help(entry.at(), message, help);
    }
    let at = Position {
        key: "prompts".to_owned(),
        ..root.at()
    };
    Some(
        prompts::own(PROMPT, LABEL, at, *reading)
            .into_iter()
            .collect(),
    )
}

/// How the questions of a set are asked.
pub(crate) struct Manner {
    /// What they are counted as.
    pub(crate) task: Arc<str>,
    pub(crate) budget: QuestionBudget,
    pub(crate) in_turn: bool,
}

/// Hands the tests of a set that `tests` names to `each`.
pub(crate) fn tests(
    path: &str,
    (at, origin): (&Position, &TextOrigin),
    reader: &TestReader<'_>,
    default: &Draft,
    each: impl FnMut(Test),
) {
    let shown = reader.reading.files.shown(path);
    let manner = Manner {
        task: shown.display().to_string().into(),
        budget: QuestionBudget::default(),
        in_turn: false,
    };
    of_file(&shown, (at, origin), &manner, reader, default, each);
}

/// Hands the tests of the set in the file at `path`, which `at` names, to `each`.
pub(crate) fn of_file(
    path: &Path,
    (at, origin): (&Position, &TextOrigin),
    manner: &Manner,
    reader: &TestReader<'_>,
    default: &Draft,
    mut each: impl FnMut(Test),
) {
    let reading = reader.reading;
    if !reading.catalog.assertion_types.contains_key(ANSWER) {
        let message =
            format!("no plugin serves the assertion type '{ANSWER}', which questions need");
        return reading.findings.error(at.clone(), message);
    }
    let asked = file::read(path, at, origin, reading);
    let data = reading.files.data(path).data_file().cloned();
    for (index, asked) in (0..).zip(asked) {
        if reading.findings.has_stopped() {
            return;
        }
        let (mut draft, question) = drafted(index, asked, manner);
        draft.data.clone_from(&data);
        each(Test {
            question: Some(Arc::new(question)),
            ..reader.finish(default, draft)
        });
    }
}

/// A question as a test on its way, and as what it is.
fn drafted(index: u32, asked: WrittenQuestion, manner: &Manner) -> (Draft, Question) {
    let WrittenQuestion {
        id,
        text,
        answers,
        correct_answers,
        at,
    } = asked;
    let name = id.clone().unwrap_or_else(|| format!("question {index}"));
    let map = |fields: Value| match fields {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let options = map(json!({ "disableVarExpansion": true }));
    let metadata = map(json!({ "task": *manner.task, "question": name }));
    let mut draft = Draft::made(name, check(&correct_answers, at), metadata);
    draft.vars = map(json!({ QUESTION: text, "answers": answers }));
    draft.literal = Some(QUESTION);
    draft.options.clone_from(&options);
    draft.options_written = options;
    let question = Question {
        task: manner.task.clone(),
        index,
        id,
        text,
        answers,
        correct_answers,
        budget: manner.budget,
        in_turn: manner.in_turn,
    };
    (draft, question)
}

/// The assertion that compares the answer. Its value is a map, whose texts are no templates.
fn check(correct: &[String], at: Position) -> Assertion {
    let value = json!({ "correct": correct });
    Assertion {
        kind: ANSWER.to_owned(),
        inverse: false,
        json: Arc::new(json!({ "type": ANSWER, "value": value })),
        value: Some(value),
        script: None,
        process: None,
        sends: false,
        transform: None,
        context_transform: None,
        threshold: None,
        weight: 1.0,
        metric: None,
        config: None,
        when: None,
        knobs: Map::new(),
        judges: Judges::default(),
        of_data: true,
        value_at: at.clone(),
        at,
    }
}

#[cfg(test)]
mod tests;
