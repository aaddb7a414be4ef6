//! Which function of a file is meant where none is named.
//!
//! JavaScript has default exports; Python has none, so promptfoo gave each use of a file a name of
//! its own. A prompt has no such name: its file is run as a script, and what it prints is the
//! prompt.

use std::sync::Arc;

use crate::model::{Code, Script};

/// What a file of code is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodePurpose {
    /// It grades, or makes the `value` of an assertion.
    Assertion,
    /// It makes another output, other variables or a context.
    Transform,
    /// It makes the value of a variable.
    Variable,
    /// It makes a grade of named scores.
    Scoring,
    /// It makes tests.
    Tests,
    /// It answers prompts.
    Provider,
    /// It gives a config.
    Config,
}

/// The function's name; `None`: the file's default export, or the file itself.
fn entry(language: &str, usage: CodePurpose) -> Option<&'static str> {
    match (language, usage) {
        ("python", CodePurpose::Assertion) => Some("get_assert"),
        ("python", CodePurpose::Transform) => Some("get_transform"),
        ("python", CodePurpose::Variable) => Some("get_var"),
        ("python", CodePurpose::Scoring) => Some("func"),
        ("python", CodePurpose::Tests) => Some("generate_tests"),
        ("python", CodePurpose::Provider) => Some("call_api"),
        ("python", CodePurpose::Config) => Some("config"),
        _ => None,
    }
}

/// The script with the function that is meant.
pub(crate) fn meant(script: Arc<Script>, usage: CodePurpose) -> Arc<Script> {
    let Code::File { files, entry: None } = &script.code else {
        return script;
    };
    let Some(entry) = entry(&script.language, usage) else {
        return script;
    };
    let code = Code::File {
        files: files.clone(),
        entry: Some(entry.to_owned()),
    };
    Arc::new(Script {
        code,
        ..(*script).clone()
    })
}
