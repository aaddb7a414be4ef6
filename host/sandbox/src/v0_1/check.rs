//! What a returned record must hold beyond its types: JSON that parses, numbers that are
//! finite, names that are unique, lists as long as asked for (`C109`). And what a request to another
//! provider must, which is refused as invalid otherwise.

use std::collections::HashSet;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::abi::{
    Completion, ConsoleLine, Embeddings, Error, Grade, Part, ReadCompletion, ReadGrade, Request,
    ScriptFailure, ScriptOutcome,
};
use crate::limits::EXCERPT_BYTES;

/// Deepest JSON that readers further on accept (`serde_json` stops at 128).
const MAX_DEPTH: usize = 100;

/// Values in one JSON text. A value takes up to a hundred bytes more than its text, so this is what
/// keeps a text of some megabytes from becoming a gigabyte.
const MAX_VALUES: usize = 200_000;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Where, in the contract's words: `grade.metadata-json`, `completion.message.content[2]`.
    pub(crate) field: String,
    /// What is wrong, a fragment.
    pub(crate) what: String,
    /// The value's beginning, at most [`EXCERPT_BYTES`] bytes; empty where `what` says it all.
    pub(crate) excerpt: String,
}

/// What was checked, its JSON read.
pub(crate) type Checked<T = ()> = Result<T, Violation>;

/// What a program came to, as a value.
pub(crate) type ScriptResult = Result<Option<Value>, ScriptFailure>;

/// What an optional JSON text must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Any,
    Object,
}

/// Checks a provider's answer.
pub(crate) fn completion(
    answer: Result<Completion, Error>,
) -> Checked<Result<ReadCompletion, Error>> {
    let answer = match answer {
        Err(failure) => return error(&failure).map(|()| Err(failure)),
        Ok(answer) => answer,
    };
    for (at, part) in answer.message.content.iter().enumerate() {
        let text = match part {
            Part::ToolCall(call) => &call.arguments_json,
            Part::Other(json) => json,
            _ => continue,
        };
        json(
            &format!("completion.message.content[{at}]"),
            text,
            Shape::Any,
        )?;
    }
    let output = optional(
        "completion.output-json",
        answer.output_json.as_ref(),
        Shape::Any,
    )?;
    let raw = optional("completion.raw-json", answer.raw_json.as_ref(), Shape::Any)?;
    let metadata = optional(
        "completion.metadata-json",
        answer.metadata_json.as_ref(),
        Shape::Object,
    )?;
    answer
        .cost_usd
        .map_or(Ok(()), |cost| price("completion.cost-usd", cost))?;
    Ok(Ok(ReadCompletion {
        completion: answer,
        output,
        raw,
        metadata: object(metadata),
    }))
}

/// Checks a grader's answer.
pub(crate) fn grade(answer: Result<Grade, Error>) -> Checked<Result<ReadGrade, Error>> {
    let grade = match answer {
        Err(failure) => return error(&failure).map(|()| Err(failure)),
        Ok(grade) => grade,
    };
    finite("grade.score", grade.score)?;
    let mut names = HashSet::with_capacity(grade.named_scores.len());
    for (name, score) in &grade.named_scores {
        finite(&format!("grade.named-scores[{}]", excerpt(name)), *score)?;
        if !names.insert(name) {
            return Err(Violation {
                field: "grade.named-scores".into(),
                what: format!("the name '{}' appears twice", excerpt(name)),
                excerpt: String::new(),
            });
        }
    }
    for (at, component) in grade.components.iter().enumerate() {
        finite(&format!("grade.components[{at}].score"), component.score)?;
        finite(&format!("grade.components[{at}].weight"), component.weight)?;
    }
    let metadata = optional(
        "grade.metadata-json",
        grade.metadata_json.as_ref(),
        Shape::Any,
    )?;
    Ok(Ok(ReadGrade {
        pass: grade.pass,
        score: grade.score,
        reason: grade.reason,
        named_scores: grade.named_scores,
        components: grade.components,
        metadata: object(metadata),
    }))
}

/// The members of an object; of anything else there are none.
fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// Checks the vectors of `asked` inputs.
pub(crate) fn embeddings(answer: &Result<Embeddings, Error>, asked: usize) -> Checked {
    let answer = match answer {
        Err(failure) => return error(failure),
        Ok(answer) => answer,
    };
    length("embeddings.vectors", answer.vectors.len(), asked)?;
    for (at, vector) in answer.vectors.iter().enumerate() {
        if let Some(value) = vector.iter().find(|value| !value.is_finite()) {
            finite(&format!("embeddings.vectors[{at}]"), f64::from(*value))?;
        }
    }
    answer
        .cost_usd
        .map_or(Ok(()), |cost| price("embeddings.cost-usd", cost))
}

/// Checks what a guest asks of another provider. All JSON of a request counts together; what its
/// options say decides whether the guest may ask it, so they must be what everybody reads alike.
pub(crate) fn request(request: &Request) -> Checked {
    let parts = request.messages.iter().flat_map(|message| &message.content);
    let of_parts = parts.filter_map(|part| match part {
        Part::ToolCall(call) => Some(&call.arguments_json),
        Part::Other(json) => Some(json),
        _ => None,
    });
    let (options, tools) = (request.options_json.as_ref(), request.tools_json.as_ref());
    let schema = request.response_schema_json.as_ref();
    let (mut deepest, mut all) = (0, 0);
    for text in [options, tools, schema]
        .into_iter()
        .flatten()
        .chain(of_parts)
    {
        let (depth, values) = extent(text);
        (deepest, all) = (deepest.max(depth), all + values);
    }
    if let Some(what) = beyond(deepest, all) {
        return Err(Violation {
            field: "request".into(),
            what,
            excerpt: String::new(),
        });
    }
    optional("request.options-json", options, Shape::Object)?;
    optional("request.tools-json", tools, Shape::Any)?;
    optional("request.response-schema-json", schema, Shape::Any).map(drop)
}

/// Checks what a program came to.
pub(crate) fn script(outcome: ScriptOutcome) -> Checked<(ScriptResult, Vec<ConsoleLine>)> {
    let result = match outcome.result {
        Ok(value) => Ok(optional("outcome.result", value.as_ref(), Shape::Any)?),
        Err(failure) => Err(failure),
    };
    Ok((result, outcome.console))
}

fn error(failure: &Error) -> Checked {
    optional(
        "error.detail-json",
        failure.detail_json.as_ref(),
        Shape::Any,
    )
    .map(drop)
}

fn length(field: &str, have: usize, asked: usize) -> Checked {
    if have == asked {
        return Ok(());
    }
    Err(Violation {
        field: field.into(),
        what: format!("has {have} entries for {asked} inputs"),
        excerpt: String::new(),
    })
}

fn finite(field: &str, value: f64) -> Checked {
    if value.is_finite() {
        return Ok(());
    }
    Err(Violation {
        field: field.into(),
        what: format!("is {value}, which is not a finite number"),
        excerpt: String::new(),
    })
}

/// What something cost. Less than nothing would give a budget back.
fn price(field: &str, value: f64) -> Checked {
    finite(field, value)?;
    if value >= 0.0 {
        return Ok(());
    }
    Err(Violation {
        field: field.into(),
        what: format!("is {value}, which is negative"),
        excerpt: String::new(),
    })
}

fn optional(field: &str, text: Option<&String>, shape: Shape) -> Checked<Option<Value>> {
    text.map(|text| json(field, text, shape)).transpose()
}

fn json(field: &str, text: &str, shape: Shape) -> Checked<Value> {
    let broken = |what: String| {
        Err(Violation {
            field: field.into(),
            what,
            excerpt: excerpt(text).to_owned(),
        })
    };
    // Before it is parsed: that is what takes memory.
    let (depth, values) = extent(text);
    if let Some(what) = beyond(depth, values) {
        return broken(what);
    }
    // `IgnoredAny` would pass over numbers that no `f64` holds, which nobody could read afterwards.
    match serde_json::from_str::<Value>(text) {
        Ok(value) if shape == Shape::Any || value.is_object() => Ok(value),
        Ok(_) => broken("is not a JSON object".into()),
        Err(error) => {
            let offset = offset(text, error.line(), error.column());
            let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
            broken(if is_json {
                format!("has a number that is too large, at byte {offset}")
            } else {
                format!("is not JSON at byte {offset}")
            })
        }
    }
}

/// What is too much of JSON with so many levels and values, if anything is.
fn beyond(depth: usize, values: usize) -> Option<String> {
    if values > MAX_VALUES {
        return Some(format!("has more than {MAX_VALUES} values"));
    }
    (depth > MAX_DEPTH).then(|| format!("is nested deeper than {MAX_DEPTH} levels"))
}

/// Levels of arrays and objects in a JSON text, and about how many values it has.
fn extent(text: &str) -> (usize, usize) {
    let (mut depth, mut deepest, mut values) = (0_usize, 0, 1);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                values += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    (deepest, values)
}

/// Byte offset of a parser's line and column, both from 1; column 0 is the line's start.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (start + column.saturating_sub(1)).min(text.len())
}

fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(EXCERPT_BYTES)]
}

#[cfg(test)]
mod tests;
