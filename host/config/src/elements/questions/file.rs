//! A file of questions: what it may say, and what is wrong with it.
//!
//! `version: 1` stands in it so that a later form can't be taken for this one. Answers are
//! compared without regard to case and blank space at the ends, here as by the assertion.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::elements::reading::Reading;
use crate::model::{Findings, Position, TextOrigin};
use crate::read::entry::Entry;
use crate::read::node::Kind;

const KNOWN: [&str; 2] = ["version", "questions"];
const KNOWN_OF_QUESTION: [&str; 4] = ["id", "question", "answers", "correct_answers"];

/// The status of a task whose file is wrong.
const INVALID: &str = "error/invalid_questions_file";

/// The status of a task whose file is empty.
const NONE: &str = "error/no_questions";

/// The version that is read.
const VERSION: f64 = 1.0;

/// What to write.
const EXAMPLE: &str = "version: 1, questions: [{ id: capital, question: \"…?\", answers: [Paris, Rome], correct_answers: [Paris] }]";

/// A question as written.
pub(super) struct WrittenQuestion {
    pub(super) id: Option<String>,
    pub(super) text: String,
    pub(super) answers: Vec<String>,
    pub(super) correct_answers: Vec<String>,
    pub(super) at: Position,
}

/// Reads the file that `at` names; what is wrong is reported, each with its place.
pub(super) fn read(
    path: &Path,
    at: &Position,
    origin: &TextOrigin,
    reading: Reading<'_>,
) -> Vec<WrittenQuestion> {
    // A file that can't be read is reported where it is named.
    let Some(node) = reading.files.tree(path, at, origin, reading.findings) else {
        return Vec::new();
    };
    let reader = QuestionReader {
        findings: reading.findings,
    };
    reader.set(&Entry::root(&node, path, origin))
}

struct QuestionReader<'a> {
    findings: &'a Findings,
}

impl QuestionReader<'_> {
    fn set(&self, root: &Entry<'_>) -> Vec<WrittenQuestion> {
        if !root.is_map() {
            self.malformed(root, &format!("must be a map, not {}", root.what()));
            return Vec::new();
        }
        root.report_unknown(self.findings, &KNOWN);
        self.version(root);
        let Some(list) = root.get("questions") else {
            self.malformed(root, "has no `questions`");
            return Vec::new();
        };
        if !list.is_list() {
            let message = format!("must be a list, not {}", list.what());
            self.invalid(list.at(), &message);
        } else if list.items().next().is_none() {
            let message = format!("{NONE}: there are no questions in the list");
            self.findings.error_help(list.at(), message, EXAMPLE);
        }
        let mut ids = BTreeMap::new();
        list.items()
            .filter_map(|item| self.question(&item, &mut ids))
            .collect()
    }

    fn version(&self, root: &Entry<'_>) {
        match root.get("version") {
            None => self.malformed(root, "has no `version`; the one that is read is 1"),
            Some(version) if version.number() == Some(VERSION) => {}
            Some(version) => {
                let what = match version.number() {
                    Some(number) => number.to_string(),
                    None => version.what().to_owned(),
                };
                self.invalid(version.at(), &format!("must be 1, not {what}"));
            }
        }
    }

    fn question(
        &self,
        entry: &Entry<'_>,
        ids: &mut BTreeMap<String, String>,
    ) -> Option<WrittenQuestion> {
        if !entry.is_map() {
            self.invalid(entry.at(), &format!("must be a map, not {}", entry.what()));
            return None;
        }
        entry.report_unknown(self.findings, &KNOWN_OF_QUESTION);
        let id = entry.get("id").and_then(|id| self.text(&id));
        if let (Some(id), Some(at)) = (&id, entry.get("id")) {
            match ids.get(id) {
                Some(first) => self.invalid(at.at(), &format!("'{id}' is the id of {first} too")),
                None => {
                    ids.insert(id.clone(), entry.key.clone());
                }
            }
        }
        let question = self.required(entry, "question");
        let text = question.and_then(|question| self.text(&question));
        let answers = self.texts(entry, "answers");
        let correct = self.texts(entry, "correct_answers");
        let choices: Option<HashSet<String>> = answers
            .as_ref()
            .map(|answers| answers.iter().map(|(answer, _)| normal(answer)).collect());
        for (answer, at) in correct.iter().flatten() {
            if let Some(choices) = &choices
                && !choices.contains(&normal(answer))
            {
                self.invalid(at.clone(), &format!("'{answer}' is none of the `answers`"));
            }
        }
        let plain = |texts: Vec<(String, Position)>| texts.into_iter().map(|it| it.0).collect();
        Some(WrittenQuestion {
            id,
            text: text?,
            answers: plain(answers?),
            correct_answers: plain(correct?),
            at: entry.at(),
        })
    }

    fn required<'a>(&self, entry: &Entry<'a>, key: &str) -> Option<Entry<'a>> {
        let found = entry.get(key);
        if found.is_none() {
            self.invalid(entry.at(), &format!("has no `{key}`"));
        }
        found
    }

    /// A list of texts, at least one, each with its place.
    fn texts(&self, entry: &Entry<'_>, key: &str) -> Option<Vec<(String, Position)>> {
        let list = self.required(entry, key)?;
        if !list.is_list() || list.items().next().is_none() {
            self.invalid(list.at(), "must be a list with at least one text");
            return None;
        }
        let texts = list
            .items()
            .map(|item| Some((self.text(&item)?, item.at())));
        texts.collect()
    }

    /// A text with something in it. What YAML reads as a fraction or a truth value is refused: of
    /// `1.10` only 1.1 is left, and the question may be about just that.
    fn text(&self, entry: &Entry<'_>) -> Option<String> {
        if entry.is_map() || entry.is_list() || entry.what() == "nothing" {
            self.invalid(entry.at(), &format!("must be text, not {}", entry.what()));
            return None;
        }
        let is_kept = match &entry.node.kind {
            Kind::Text(_) => true,
            Kind::Number(number) => !number.is_f64(),
            _ => false,
        };
        if !is_kept {
            let message = format!("is {}, not text: put it in quotes", entry.what());
            self.invalid(entry.at(), &message);
            return None;
        }
        let text = entry.want_text(self.findings)?;
        if text.trim().is_empty() {
            self.invalid(entry.at(), "must not be empty");
            return None;
        }
        Some(text)
    }

    fn invalid(&self, at: Position, what: &str) {
        self.findings.error(at, format!("{INVALID}: {what}"));
    }

    /// Reports what is wrong with the file as a whole.
    fn malformed(&self, root: &Entry<'_>, what: &str) {
        self.findings
            .error_help(root.at(), format!("{INVALID}: {what}"), EXAMPLE);
    }
}

/// How answers are compared.
fn normal(text: &str) -> String {
    text.trim().to_lowercase()
}
