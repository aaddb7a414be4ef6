//! What a config may turn about a grader.
//!
//! A knob may stand in three places, the nearest wins: beside the assertion's `type` (the host
//! hands those keys over in the input's `extra-json`), in the assertion's `config`, and in the
//! test's `options`.

use runner_plugin::json::{self, Map, Value};
use runner_plugin::{Error, Input};

/// The most votes: what a call may ask of models is limited, and more change nothing.
const MAX_VOTES: u64 = 15;

/// Turns that a window over a conversation takes in; promptfoo's figure.
const WINDOW: u64 = 5;

/// Types whose verdict comes from one question that several can be asked.
const WITH_VOTES: [&str; 8] = [
    "llm-rubric",
    "factuality",
    "model-graded-factuality",
    "model-graded-closedqa",
    "g-eval",
    "context-recall",
    "context-relevance",
    "context-faithfulness",
];

/// The knobs of one assertion, read.
#[derive(Debug)]
pub(crate) struct Knobs {
    /// The user's own question, as written.
    pub(crate) rubric_prompt: Option<Value>,
    /// Whether that question is the test's, which all its assertions share.
    pub(crate) shares_prompt: bool,
    /// How often the grader is asked; odd.
    pub(crate) votes: usize,
    /// Scores of factuality's categories, an object.
    pub(crate) factuality: Map<String, Value>,
    /// Turns per window of a conversation.
    pub(crate) window: usize,
    /// How nearness is measured, as written.
    pub(crate) measure: Option<Value>,
    /// What a `contextTransform` made, if there is one.
    pub(crate) context: Option<Value>,
    /// The answers of a row, for a type that compares them.
    pub(crate) outputs: Vec<String>,
}

impl Knobs {
    pub(crate) fn read(input: &Input) -> Result<Self, Error> {
        let beside = json::object("the assertion's keys", input.extra_json.as_deref())?;
        let config = json::object("the assertion's `config`", input.config_json.as_deref())?;
        let mut test = json::object("the test", input.test_json.as_deref())?;
        let options = match test.remove("options") {
            Some(Value::Object(options)) => options,
            _ => Map::new(),
        };
        let find = |key: &str| {
            [&beside, &config, &options]
                .into_iter()
                .find_map(|place| place.get(key).filter(|value| !value.is_null()))
        };
        let own = [&beside, &config].into_iter();
        let mut own = own.filter_map(|place| place.get("rubricPrompt"));
        Ok(Self {
            shares_prompt: own.all(Value::is_null),
            rubric_prompt: find("rubricPrompt").filter(|value| !empty(value)).cloned(),
            votes: votes(&input.type_, find("votes"))?,
            factuality: scores(find("factuality"))?,
            window: window(find("windowSize"))?,
            measure: find("measure").cloned(),
            context: beside.get("context").cloned(),
            outputs: outputs(beside.get("outputs")),
        })
    }
}

/// An empty text, list or map stands for no prompt.
fn empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn outputs(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn votes(kind: &str, value: Option<&Value>) -> Result<usize, Error> {
    let Some(value) = value else { return Ok(1) };
    let count = value
        .as_u64()
        .filter(|count| count % 2 == 1 && *count <= MAX_VOTES)
        .ok_or_else(|| {
            Error::invalid_request(format!(
                "`votes` takes an odd number from 1 to {MAX_VOTES}, not {value}"
            ))
        })?;
    if count > 1 && !WITH_VOTES.contains(&kind) {
        return Err(Error::invalid_request(format!(
            "`votes` has no meaning for `{kind}`; remove it. It is for {}",
            WITH_VOTES.join(", ")
        )));
    }
    Ok(count as usize)
}

fn scores(value: Option<&Value>) -> Result<Map<String, Value>, Error> {
    const KEYS: [&str; 5] = [
        "subset",
        "superset",
        "agree",
        "disagree",
        "differButFactual",
    ];
    match value {
        None => Ok(Map::new()),
        Some(Value::Object(scores)) => {
            let wrong = |(key, score): &(&String, &Value)| {
                !KEYS.contains(&key.as_str()) || !(score.is_number() || score.is_null())
            };
            match scores.iter().find(wrong) {
                None => Ok(scores.clone()),
                Some((key, score)) => Err(Error::invalid_request(format!(
                    "`factuality` gives a number to each of {}, not {score} to `{key}`",
                    KEYS.join(", ")
                ))),
            }
        }
        Some(other) => Err(Error::invalid_request(format!(
            "`factuality` is a map of scores, not {other}"
        ))),
    }
}

fn window(value: Option<&Value>) -> Result<usize, Error> {
    let Some(value) = value else {
        return Ok(WINDOW as usize);
    };
    let size = value.as_u64().filter(|size| (1..=1_000).contains(size));
    size.map(|size| size as usize).ok_or_else(|| {
        Error::invalid_request(format!(
            "`windowSize` takes a number of turns from 1 to 1000, not {value}"
        ))
    })
}
