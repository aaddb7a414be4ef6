//! What tests take in memory, so that small files can't make gigabytes of them.
//!
//! A test that is like no other takes 2 KB for a few bytes of its file, and one row of a thousand
//! headers, or one `defaultTest` of a thousand assertions, makes such tests larger still. So no
//! single reader can promise anything about the whole: it is weighed here, and reading stops when
//! there is too much of it for what was read. Weights are estimates, from the sizes of the parts
//! and what an allocation costs, and rather too high.

use serde_json::{Map, Value};

use super::{Assertion, Check, Prompt, Provider, Question, Test};
use crate::bounds::{MAX_TESTS, TESTS};
use crate::model::Position;
use crate::read::files::VALUE;
use crate::read::node::Node;

/// What an allocation costs beside its bytes.
pub(crate) const ALLOCATION: usize = 16;

/// What a map costs beside its fields, if it has any.
const MAP: usize = 256;

/// What a key costs beside its text and its value.
const FIELD: usize = 64;

/// What the trees of tests may weigh that code is handed: a sandbox takes 16 MiB of them as JSON.
pub(crate) const MAX_HANDED: usize = 256 << 20;

/// What all prompts of a plan may weigh.
pub(crate) const MAX_PROMPTS: usize = 512 << 20;

/// What all tests of a plan may weigh that are made of so many bytes.
pub(crate) fn max_of_tests(read: usize) -> usize {
    TESTS.of(read).min(MAX_TESTS)
}

/// The weight of a test.
pub(crate) fn of_test(test: &Test) -> usize {
    let Test {
        description,
        vars,
        assertions,
        comparisons,
        metadata,
        options,
        output,
        columns,
        json,
        question,
        at,
        ..
    } = test;
    let compared = comparisons.iter().map(|one| of_assertion(&one.assertion));
    size_of::<Test>()
        + description.as_deref().map_or(0, of_text)
        + of_fields(vars)
        + assertions.iter().map(of_check).sum::<usize>()
        + compared.sum::<usize>()
        + of_fields(metadata)
        + of_fields(options)
        + output.as_ref().map_or(0, of_value)
        + columns
            .as_ref()
            .map_or(0, |columns| ALLOCATION + 4 * columns.len())
        + of_value(json)
        + question.as_deref().map_or(0, of_question)
        + of_position(at)
}

fn of_question(question: &Question) -> usize {
    let Question {
        id,
        text,
        answers,
        correct_answers,
        ..
    } = question;
    let texts = [text].into_iter().chain(id).chain(answers);
    let texts = texts.chain(correct_answers);
    let texts = texts.map(|text| size_of::<String>() + of_text(text));
    size_of::<Question>() + texts.sum::<usize>()
}

/// The weight of a prompt: its text, and the template that is made of it.
pub(crate) fn of_prompt(prompt: &Prompt) -> usize {
    /// What a tag takes, most of it for its place in the text and the names in it.
    const TAG: usize = 256;
    let Prompt {
        label,
        raw,
        code,
        config,
        at,
        ..
    } = prompt;
    let tags = raw.matches("{{").chain(raw.matches("{%"));
    let tags = if code.is_none() { tags.count() } else { 0 };
    let config = config.as_ref().map_or(0, of_fields);
    size_of::<Prompt>() + of_text(label) + of_text(raw) + TAG * tags + config + of_position(at)
}

/// What results say of a column: its prompt with what goes along with it, and its provider.
pub(crate) fn of_column(prompt: &Prompt, provider: &Provider) -> usize {
    let Prompt {
        label, raw, config, ..
    } = prompt;
    let config = config.as_ref().map_or(0, of_fields);
    let names: usize = provider.names().iter().map(|name| name.len()).sum();
    label.len() + raw.len() + config + names
}

/// The weight of a tree that a test is made of, whose texts are no more than what was read.
pub(crate) fn of_tree(node: &Node) -> usize {
    node.values() * VALUE
}

fn of_check(check: &Check) -> usize {
    let json = match check {
        Check::One(_) => 0,
        Check::Set { json, .. } => of_value(json),
    };
    size_of::<Check>() + json + check.members().iter().map(of_assertion).sum::<usize>()
}

fn of_assertion(assertion: &Assertion) -> usize {
    let Assertion {
        kind,
        value,
        metric,
        config,
        knobs,
        json,
        at,
        value_at,
        ..
    } = assertion;
    size_of::<Assertion>()
        + of_text(kind)
        + value.as_ref().map_or(0, of_value)
        + metric.as_deref().map_or(0, of_text)
        + config.as_ref().map_or(0, of_fields)
        + of_fields(knobs)
        + of_value(json)
        + of_position(at)
        + of_position(value_at)
}

fn of_position(at: &Position) -> usize {
    2 * ALLOCATION + at.file.as_os_str().len() + at.key.len()
}

fn of_fields(fields: &Map<String, Value>) -> usize {
    let field = |(key, value): (&String, &Value)| FIELD + of_text(key) + of_value(value);
    let map = if fields.is_empty() { 0 } else { MAP };
    map + fields.iter().map(field).sum::<usize>()
}

/// The weight of a value.
pub(crate) fn of_value(value: &Value) -> usize {
    let more = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => of_text(text),
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(fields) => of_fields(fields),
    };
    size_of::<Value>() + more
}

fn of_text(text: &str) -> usize {
    ALLOCATION + text.len()
}
