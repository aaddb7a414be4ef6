//! Which texts are no JavaScript, before any of them runs.
//!
//! A private door of the host, which asks once for all code of a config. Code of the config itself is compiled as it will be, by the
//! engine, and not called; what runs in the user's Node.js, and files, which import others, are read
//! by oxc. It knows the newest language and looks at no scope: what it lets pass may still be refused
//! when it runs, and what it refuses runs nowhere.

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use runner_plugin::script::{Failure, FailureKind, Form, Program};
use serde_json::{Value, json};

use crate::call::Call;
use crate::erase::{Refused, erased, mistake};
use crate::failure::{self, Stage};
use crate::{context, machine, shape};

/// The name of the only argument of a call that wants to know, and no run.
pub(crate) const ASKED: &str = "$syntax";

/// A text that will run.
struct CheckedText<'a> {
    form: &'a str,
    /// Of a file, its path.
    name: &'a str,
    source: &'a str,
    /// What code of the config itself is called with.
    names: Vec<&'a str>,
    /// Whether the user's Node.js runs it.
    is_outside: bool,
}

impl<'a> CheckedText<'a> {
    fn of(asked: &'a Value) -> Option<Self> {
        let names = asked["names"].as_array().into_iter().flatten();
        Some(Self {
            form: asked["form"].as_str()?,
            name: asked["name"].as_str()?,
            source: asked["source"].as_str()?,
            names: names.filter_map(Value::as_str).collect(),
            is_outside: asked["outside"] == true,
        })
    }
}

/// What is wrong with each of the texts that can't run:
/// `[{"text": 3, "message": "…", "line": 1, "column": 9}]`, a text by its place in the list.
pub(crate) fn misread(asked: &str) -> Value {
    let texts: Vec<Value> = serde_json::from_str(asked).unwrap_or_default();
    machine::with(|ctx| {
        let mistake = |text: &CheckedText<'_>| match (text.form, text.is_outside) {
            ("file", _) => of_file(text),
            (_, true) => of_function(text),
            (_, false) => of_engine(ctx, text),
        };
        let texts = texts.iter().enumerate();
        let found = texts.filter_map(|(index, text)| {
            let Refused { message, place } = mistake(&CheckedText::of(text)?)?;
            Some(json!({ "text": index, "message": message, "line": place.0, "column": place.1 }))
        });
        found.collect()
    })
}

/// As the engine says it, which will run it.
fn of_engine(ctx: &rquickjs::Ctx<'_>, text: &CheckedText<'_>) -> Option<Refused> {
    let program = Program {
        language: String::new(),
        form: Form::Body,
        name: text.name.to_owned(),
        source: String::new(),
        entry: None,
        modules: Vec::new(),
        clock_ms: None,
    };
    Call::begin(&program, "");
    let wrapped = match text.form {
        "expression" => shape::expression(text.source, &text.names),
        _ => shape::body(text.source, &text.names),
    };
    let error = context::function(ctx, text.name, wrapped).err()?;
    let Failure {
        kind,
        message,
        position,
        ..
    } = failure::of(ctx, &error, Stage::Compiling);
    let place = position.map_or((1, 0), |at| (at.line, at.column));
    let refused = Refused { message, place };
    (kind == FailureKind::Syntax).then(|| within(text.source, refused))
}

/// What was only found in what is put behind the code was missing at its end.
fn within(source: &str, refused: Refused) -> Refused {
    let code = source.trim_end();
    let lines = code.matches('\n').count() as u32 + 1;
    if refused.place.0 <= lines {
        return refused;
    }
    let last = code.rsplit('\n').next().unwrap_or_default();
    Refused {
        message: "SyntaxError: something is missing at the end, or a bracket is too many"
            .to_owned(),
        place: (lines, last.chars().count() as u32 + 1),
    }
}

/// The function that the user's Node.js makes of code of the config.
fn of_function(text: &CheckedText<'_>) -> Option<Refused> {
    let source = text.source;
    let is_expression = text.form == "expression";
    let (head, code, tail) = if is_expression {
        ("(async function () { return (\n", source.trim(), "\n)})")
    } else {
        ("(async function () {\n", source, "\n})")
    };
    let mut refused = parsed(&format!("{head}{code}{tail}"), SourceType::cjs())?;
    refused.place.0 = refused.place.0.saturating_sub(1).max(1);
    if is_expression {
        let cut = source.len() - source.trim_start().len();
        refused.place.1 += source[..cut].chars().count() as u32;
    }
    Some(within(source, refused))
}

/// A file by its ending; what only other tools run is not looked at.
fn of_file(text: &CheckedText<'_>) -> Option<Refused> {
    let ending = text.name.rsplit_once('.').map(|(_, ending)| ending);
    match ending? {
        "ts" | "mts" | "cts" if text.is_outside => parsed(text.source, SourceType::ts()),
        "ts" | "mts" | "cts" => erased(text.source).err(),
        "mjs" => parsed(text.source, SourceType::mjs()),
        "cjs" => parsed(text.source, SourceType::cjs()),
        "js" => {
            let [common, module] =
                [SourceType::cjs(), SourceType::mjs()].map(|kind| parsed(text.source, kind));
            // Which of the two it was meant to be shows in how far it can be read.
            Some(std::cmp::max_by_key(common?, module?, |it| it.place))
        }
        _ => None,
    }
}

fn parsed(source: &str, kind: SourceType) -> Option<Refused> {
    let allocator = Allocator::default();
    mistake(source, &Parser::new(&allocator, source, kind).parse())
}
