//! What JavaScript of configs gives: one row per behaviour, run natively.
//!
//! `inline` has expressions and bodies, `files` modules, `network` requests, `locale` and
//! `world` what the prelude adds, `whole` what holds of every call.

mod files;
mod inline;
mod locale;
mod network;
mod syntax;
mod whole;
mod world;

use runner_plugin::json::{Value, json};
use runner_plugin::script::{
    Failure, FailureKind, Form, Level, Module, Outcome, Position, Program,
};
use runner_plugin::{Script, testing};

use plugin_javascript::JavaScript;

/// What a row expects.
#[derive(Debug)]
enum Is {
    /// This value.
    Json(Value),
    /// Exactly this JSON text.
    Text(&'static str),
    /// `undefined`.
    Nothing,
    /// A failure of this kind whose message contains this.
    Bad(FailureKind, &'static str),
}

use FailureKind::{BadResult, Exception, NotFound, Syntax, Unsupported};
use Is::{Bad, Json, Nothing, Text};

fn run(program: &Program) -> Outcome {
    let arguments = [
        testing::argument("output", &json!("Hello, World")),
        testing::argument(
            "context",
            &json!({ "vars": { "name": "Ada", "n": 3 }, "prompt": "Hi" }),
        ),
    ];
    JavaScript::run(program, &arguments, &testing::context())
}

fn inline(source: &str) -> Outcome {
    run(&testing::code("javascript", source))
}

/// A program of files; the first is the one that is run.
fn files(files: &[(&str, &str)], entry: Option<&str>) -> Outcome {
    let modules = files.iter().map(|(path, source)| Module {
        path: (*path).to_owned(),
        source: (*source).to_owned(),
    });
    run(&Program {
        form: Form::File,
        name: files[0].0.to_owned(),
        entry: entry.map(str::to_owned),
        modules: modules.collect(),
        ..testing::code("javascript", files[0].1)
    })
}

fn check(what: &str, outcome: &Outcome, expected: &Is) {
    let fits = match (&outcome.result, expected) {
        (Ok(Some(text)), Json(value)) => {
            serde_json::from_str::<Value>(text).is_ok_and(|found| &found == value)
        }
        (Ok(Some(text)), Text(expected)) => text == expected,
        (Ok(None), Nothing) => true,
        (Err(failure), Bad(kind, words)) => {
            failure.kind == *kind && failure.message.contains(words)
        }
        _ => false,
    };
    assert!(fits, "{what}\n  expected {expected:?}\n  found {outcome:?}");
}

fn check_inline(rows: impl IntoIterator<Item = (&'static str, Is)>) {
    for (source, expected) in rows {
        check(source, &inline(source), &expected);
    }
}

fn failure(outcome: Outcome) -> Failure {
    outcome.result.expect_err("it fails")
}
