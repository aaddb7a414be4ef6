//! The code of a config: from a script of the plan to a program of the contract, and back to a
//! value. Pure; `call` runs it.
//!
//! Two ways to fail, kept apart. The guest may break a limit or crash: a [`CallFailure`] with its
//! C-code, an error of whatever the code was for. Or the code itself fails, by throwing or by
//! giving nothing that can be passed on: a [`Fault`], which is a failing grade where code grades,
//! unless it lacks what it needs, and an error of the row anywhere else. What is made of results is in `made`, `verdict`
//! and `exchange`.

use std::sync::Arc;

use runner_config::plan::{Assertion, Code, CodeFile, CodeFiles, Process, Script};
use runner_sandbox::abi::{Argument, FailureKind, Form, Module, Program, ScriptFailure};
use serde_json::Value;

use crate::failure::{CallFailure, FailureCode};

pub(crate) mod exchange;
mod hooks;
pub(crate) mod made;
pub(crate) mod outside;
pub(crate) mod verdict;

pub(crate) use hooks::Hooks;

/// The language with rules of its own for what it is given and what its results mean.
pub(crate) const PYTHON: &str = "python";

/// How code failed by itself: message, place and stack; and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) String, pub(crate) Cause);

/// What is wrong where code failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The code, or what it was given.
    Code,
    /// What it needs and has not: a package, a file, the function that is meant.
    Setup,
}

/// What code gave: a value, `None` for none (JavaScript's `undefined`), or how it failed.
pub(crate) type CodeResult = Result<Option<Value>, Fault>;

/// Code that is ready to run.
pub(crate) struct Runnable {
    /// As the contract has it.
    pub(crate) program: Program,
    /// What runs it in place of the sandbox.
    pub(crate) outside: Option<Outside>,
    /// Whether it may send requests from the sandbox.
    pub(crate) sends: bool,
}

/// What runs code outside the sandbox.
pub(crate) struct Outside {
    pub(crate) process: Arc<Process>,
    /// Where its file is, if it has one.
    pub(crate) files: Option<Arc<CodeFiles>>,
}

/// A text that grades, as it is run. Blank space at its end means nothing in JavaScript; in Python a
/// line feed makes the line a body, which needs a `return`.
pub(crate) fn graded<'a>(language: &str, text: &'a str) -> &'a str {
    if language == PYTHON {
        text
    } else {
        text.trim_end()
    }
}

/// The code that grades for an assertion: its file, or `text`.
pub(crate) fn of_assertion(assertion: &Assertion, text: &str) -> Runnable {
    if let Some(script) = &assertion.script {
        return runnable(script);
    }
    let process = assertion.process.clone();
    Runnable {
        program: inline(
            &assertion.kind,
            &assertion.at.key,
            graded(&assertion.kind, text),
        ),
        outside: process.map(|process| Outside {
            process,
            files: None,
        }),
        sends: assertion.sends,
    }
}

/// Any other code of the config.
pub(crate) fn runnable(script: &Script) -> Runnable {
    let files = match &script.code {
        Code::File { files, .. } => Some(files.clone()),
        Code::Inline { .. } => None,
    };
    let process = script.process.clone();
    Runnable {
        program: program(script),
        outside: process.map(|process| Outside { process, files }),
        sends: script.sends,
    }
}

/// The program of code, files and their modules included.
pub(crate) fn program(script: &Script) -> Program {
    let (files, entry) = match &script.code {
        Code::Inline { text } => return inline(&script.language, &script.key, text),
        Code::File { files, entry } => (files, entry),
    };
    let module = |file: &CodeFile| Module {
        path: file.path.clone(),
        source: file.source.clone(),
    };
    Program {
        language: script.language.clone(),
        form: Form::File,
        name: files.main.path.clone(),
        source: files.main.source.clone(),
        entry: entry.clone(),
        modules: files.modules.iter().map(module).collect(),
        clock_ms: None,
    }
}

/// One line is an expression, several are a function's body.
pub(crate) fn form_of(text: &str) -> Form {
    if text.contains('\n') {
        Form::Body
    } else {
        Form::Expression
    }
}

/// What others are told that a text is.
pub(crate) fn form_name(form: Form) -> &'static str {
    match form {
        Form::Expression => "expression",
        Form::Body => "body",
        Form::File => "file",
    }
}

fn inline(language: &str, key: &str, text: &str) -> Program {
    let name = if key.is_empty() { "code" } else { key };
    Program {
        language: language.to_owned(),
        form: form_of(text),
        name: name.to_owned(),
        source: text.to_owned(),
        entry: None,
        modules: Vec::new(),
        clock_ms: None,
    }
}

/// An argument whose value is JSON already.
pub(crate) fn argument(name: &str, value_json: String) -> Argument {
    Argument {
        name: name.to_owned(),
        value_json,
    }
}

/// The failure of code that made something wrong, or nothing.
pub(crate) fn failure(script: &Script, message: &str) -> CallFailure {
    let message = if script.key.is_empty() {
        message.to_owned()
    } else {
        format!("{}: {message}", script.key)
    };
    CallFailure::new(FailureCode::Script, message)
}

/// Message and place on the first line, the calls that led there below. Where the code was no
/// function with a name, the first of these is the place again, and left out.
pub(crate) fn fault(failure: &ScriptFailure) -> Fault {
    let place = failure.position.as_ref().map(|place| match place.column {
        0 => format!("{}:{}", place.file, place.line),
        column => format!("{}:{}:{column}", place.file, place.line),
    });
    let place = place.unwrap_or_default();
    let mut text = failure.message.clone();
    if !place.is_empty() {
        text.extend([" (", &place, ")"]);
    }
    let calls = failure.stack.as_deref().unwrap_or_default().trim_end();
    let mut calls = calls.lines().peekable();
    calls.next_if(|call| call.trim().strip_prefix("at ") == Some(&place));
    for call in calls {
        text.extend(["\n", call]);
    }
    let cause = match failure.kind {
        FailureKind::Unsupported | FailureKind::NotFound => Cause::Setup,
        _ => Cause::Code,
    };
    Fault(text, cause)
}

#[cfg(test)]
mod tests {
    use runner_config::plan::CodeNeeds;
    use runner_sandbox::abi::{FailureKind, Position};

    use super::*;

    #[test]
    fn one_line_is_an_expression_and_several_are_a_body() {
        let form_of = |kind: &str, text: &str| {
            let assertion = Assertion {
                kind: kind.to_owned(),
                ..crate::grading::tests::assertion(1.0)
            };
            of_assertion(&assertion, text).program.form
        };
        let form = |text: &str| form_of("javascript", text);
        assert_eq!(form("output > 1"), Form::Expression);
        assert_eq!(form("output > 1\n  \n"), Form::Expression);
        assert_eq!(form("const n = 1\nreturn n"), Form::Body);
        assert_eq!(form_of(PYTHON, "output > 1\n"), Form::Body);
        let script = |text: &str| Script {
            language: "javascript".to_owned(),
            key: String::new(),
            code: Code::Inline {
                text: text.to_owned(),
            },
            process: None,
            sends: false,
        };
        assert_eq!(program(&script("output")).form, Form::Expression);
        // As promptfoo has it: of a transform every line counts.
        assert_eq!(program(&script("return output\n")).form, Form::Body);
        assert_eq!(program(&script("x")).name, "code");
    }

    #[test]
    fn a_file_brings_its_modules() {
        let file = |path: &str| CodeFile {
            path: path.to_owned(),
            source: format!("// {path}"),
        };
        let files = CodeFiles::new(
            "/x/a.js".into(),
            file("a.js"),
            vec![file("lib/b.js")],
            CodeNeeds::default(),
        );
        let files = Arc::new(files);
        let script = Script {
            language: "javascript".to_owned(),
            key: "prompts[0]".to_owned(),
            code: Code::File {
                files,
                entry: Some("f".to_owned()),
            },
            process: None,
            sends: false,
        };
        let program = program(&script);
        assert_eq!(program.form, Form::File);
        assert_eq!(program.name, "a.js");
        assert_eq!(program.entry.as_deref(), Some("f"));
        assert_eq!(program.modules[0].path, "lib/b.js");
        assert_eq!(program.modules[0].source, "// lib/b.js");
    }

    #[test]
    fn a_fault_says_what_where_and_how_it_came_there() {
        let position = Position {
            file: "a.js".to_owned(),
            line: 3,
            column: 0,
        };
        let failed = ScriptFailure {
            kind: FailureKind::Exception,
            message: "Error: no".to_owned(),
            position: Some(position),
            stack: Some("    at f (a.js:3)\n".to_owned()),
        };
        assert_eq!(fault(&failed).0, "Error: no (a.js:3)\n    at f (a.js:3)");
        let bare = ScriptFailure {
            position: None,
            stack: None,
            ..failed
        };
        assert_eq!(fault(&bare).0, "Error: no");
    }
}
