//! Which texts of code are no programs, asked of the interpreters that will run them. Pure; `ahead`
//! makes the calls.
//!
//! One call has as many texts as it can hold, whatever their rows. The form that a text is asked
//! about is the one in which it will run (`script`).

use std::collections::BTreeMap;

use runner_config::{CodeForm, CodeText, Mistake};
use runner_sandbox::abi::{Argument, Form, Program};
use serde_json::{Value, json};

use crate::private_door::SYNTAX;
use crate::script::exchange::shape_of;
use crate::script::{argument, form_name, form_of, graded};

/// Text in one call, in bytes, unless a single one has more.
const MAX_PART: usize = 1 << 20;

/// Texts of one language that are asked about together.
pub(crate) struct Part {
    /// Their places among all, and what was put before them.
    texts: Vec<(usize, u32)>,
    asked: Vec<Value>,
    bytes: usize,
}

/// The texts by their languages, in parts.
pub(crate) fn parts<'a>(texts: &[CodeText<'a>]) -> BTreeMap<&'a str, Vec<Part>> {
    let mut parts: BTreeMap<&str, Vec<Part>> = BTreeMap::new();
    for (index, text) in texts.iter().enumerate() {
        let parts = parts.entry(text.language).or_default();
        let bytes = text.source.len();
        match parts.last_mut() {
            Some(last) if last.bytes + bytes <= MAX_PART => last.add(index, text),
            _ => {
                let mut part = Part {
                    texts: Vec::new(),
                    asked: Vec::new(),
                    bytes: 0,
                };
                part.add(index, text);
                parts.push(part);
            }
        }
    }
    parts
}

impl Part {
    fn add(&mut self, index: usize, text: &CodeText<'_>) {
        let (asked, added) = asked(text);
        self.texts.push((index, added));
        self.bytes += text.source.len();
        self.asked.push(asked);
    }

    /// The only argument of the call.
    pub(crate) fn argument(&self) -> Argument {
        argument(SYNTAX, json!(self.asked).to_string())
    }

    /// What the answer says.
    pub(crate) fn mistakes(&self, answer: &Value) -> Vec<Mistake> {
        let answers = answer.as_array().into_iter().flatten();
        let number = |value: &Value| value.as_u64().and_then(|it| u32::try_from(it).ok());
        let mistake = |said: &Value| {
            let index = usize::try_from(said["text"].as_u64()?).ok()?;
            let (text, added) = *self.texts.get(index)?;
            let (line, column) = (number(&said["line"])?, number(&said["column"])?);
            let added = if line == 1 { added } else { 0 };
            Some(Mistake {
                text,
                message: said["message"].as_str()?.to_owned(),
                line,
                column: column.saturating_sub(added),
            })
        };
        answers.filter_map(mistake).collect()
    }
}

/// A text as interpreters are asked about it: what will run, in its form; and how many characters its
/// first line has there that are not the user's.
fn asked(text: &CodeText<'_>) -> (Value, u32) {
    let own = text.source;
    let (form, name, source, names) = match text.form {
        CodeForm::File { path } => (Form::File, path, own.to_owned(), &[][..]),
        CodeForm::Graded { names } => {
            let source = graded(text.language, own);
            (form_of(source), "code", source.to_owned(), names)
        }
        CodeForm::Exchanged { names } => {
            let (form, source) = shape_of(own, names);
            (form, "code", source, names)
        }
        CodeForm::Inline { names } => (form_of(own), "code", own.to_owned(), names),
    };
    let added = source.len() > own.len() && source.starts_with('(');
    let asked = json!({
        "form": form_name(form),
        "name": name,
        "source": source,
        "names": names,
        "outside": text.is_outside,
    });
    (asked, u32::from(added))
}

/// What the call runs where an interpreter does not know the question: nothing.
pub(crate) fn program(language: &str) -> Program {
    Program {
        language: language.to_owned(),
        form: Form::Expression,
        name: "code".to_owned(),
        source: "0".to_owned(),
        entry: None,
        modules: Vec::new(),
        clock_ms: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(language: &'static str, source: &'static str, is_graded: bool) -> CodeText<'static> {
        CodeText {
            language,
            form: if is_graded {
                CodeForm::Graded { names: &["output"] }
            } else {
                CodeForm::Inline { names: &["output"] }
            },
            source,
            is_outside: false,
        }
    }

    #[test]
    fn texts_are_asked_about_in_the_form_in_which_they_run() {
        let file = CodeText {
            form: CodeForm::File { path: "lib/a.ts" },
            is_outside: true,
            ..text("javascript", "x", false)
        };
        let function = CodeText {
            form: CodeForm::Exchanged { names: &["json"] },
            ..text("javascript", "(json) => {\n  return json }", false)
        };
        let called = json!({ "form": "expression", "name": "code", "names": ["json"],
            "source": "((json) => {\n  return json }\n)(json)", "outside": false });
        let texts = [
            text("javascript", "output > 1\n", true),
            text("python", "return output\n", true),
            text("javascript", "return output\n", false),
            file,
            function,
        ];
        let parts = parts(&texts);
        let asked = |language: &str| json!(parts[language][0].asked);
        let one = |form: &str, source: &str| {
            json!({ "form": form, "name": "code", "source": source, "names": ["output"],
                "outside": false })
        };
        let file = json!({ "form": "file", "name": "lib/a.ts", "source": "x", "names": [],
            "outside": true });
        let javascript = [
            one("expression", "output > 1"),
            one("body", "return output\n"),
            file,
            called,
        ];
        assert_eq!(asked("javascript"), json!(javascript));
        assert_eq!(asked("python"), json!([one("body", "return output\n")]));
    }

    #[test]
    fn an_answer_names_the_texts_of_its_part() {
        let texts = [
            text("python", "a", true),
            text("javascript", "b", true),
            text("python", "c", true),
        ];
        let parts = parts(&texts);
        let answer = json!([
            { "text": 1, "message": "no", "line": 1, "column": 2 },
            { "text": 9, "message": "of no text", "line": 1, "column": 2 },
            { "message": "nothing" },
        ]);
        let mistake = Mistake {
            text: 2,
            message: "no".to_owned(),
            line: 1,
            column: 2,
        };
        assert_eq!(parts["python"][0].mistakes(&answer), [mistake]);
        assert_eq!(parts["python"][0].mistakes(&json!("what?")), []);
    }

    #[test]
    fn a_call_holds_no_more_than_its_part() {
        let long = "x".repeat(MAX_PART / 2);
        let texts: Vec<CodeText<'_>> = (0..5)
            .map(|_| CodeText {
                source: &long,
                ..text("javascript", "", true)
            })
            .collect();
        let parts = parts(&texts);
        let sizes: Vec<usize> = parts["javascript"]
            .iter()
            .map(|it| it.texts.len())
            .collect();
        assert_eq!(sizes, [2, 2, 1]);
    }
}
